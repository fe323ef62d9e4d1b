/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleNames.h: the exported names, each of which is one jump to a function of the process's first copy of Treadle. */
#ifndef CTREADLE_NAMES_H
#define CTREADLE_NAMES_H

#include <stddef.h>

/* This copy's own function behind an exported name, by its place in list.h. */
void *libtreadle_own_function(size_t index);

#endif
