/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * lines.h: the extensions of source_log.c and filter.c. Each text is a line, without its end. */
#ifndef EXAMPLE_LINES_H
#define EXAMPLE_LINES_H

#include "texts.h"

/* Every line that is appended. */
#define EXAMPLE_ALL_LINES "example.all-lines/1"
/* Those that are wanted. */
#define EXAMPLE_LINES "example.lines/1"

typedef struct example_texts example_lines;

#endif
