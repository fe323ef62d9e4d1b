/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * filter.h: the filter of system calls of an isolated plugin's process, by libseccomp. */
#ifndef FILTER_H
#define FILTER_H

#include <treadle.h>

/* A treadle_plugin_filter_fn. libseccomp is looked for when this is called, so that the program runs without it. */
treadle_status filter_calls(const treadle_plugin_rights *rights, char *reason, size_t capacity);

/* The names of the calls that programs make in general, of all processors; NULL at the end (usual_calls.c). */
extern const char *const usual_calls[];

#endif
