/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * watcher.h: the extension of watcher.c. Each text is the name of a file in the directory that is watched, without the
 * directory, after somebody has written to it and closed it, or moved it there. An empty text says that names were lost,
 * because more has happened than the kernel keeps: look at every file then. */
#ifndef EXAMPLE_WATCHER_H
#define EXAMPLE_WATCHER_H

#include "texts.h"

#define EXAMPLE_WATCHER "example.watcher/1"

typedef struct example_texts example_watcher;

#endif
