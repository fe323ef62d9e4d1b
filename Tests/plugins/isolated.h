/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated.h: the extension of the plugin "isolated": functions that do what its setting says of "call" and "each". */
#ifndef TREADLE_TEST_ISOLATED_H
#define TREADLE_TEST_ISOLATED_H

#include <treadle.h>
#include <treadle/plugin.h>

#define ISOLATED_ID "example.isolated/1"

typedef void (*visit_fn)(void *info, int32_t process);
struct isolated {
    treadle_status (*call)(void);
    treadle_status (*each)(visit_fn visit, void *info); /* calls visit with the number of its process first */
};

static const treadle_extension_argument isolated_visit_arguments[] = {{.pass = TREADLE_PASS_INFO}, {.pass = TREADLE_PASS_VALUE}};
static const treadle_extension_function isolated_visit = {"isolated.visit", "v^vi", isolated_visit_arguments, 2, TREADLE_PASS_VALUE, 0, 0};
static const treadle_extension_argument isolated_each_arguments[] = {
    {.pass = TREADLE_PASS_CALLBACK, .other = 1 + 1, .callback = &isolated_visit}, {.pass = TREADLE_PASS_INFO}};
static const treadle_extension_function isolated_functions[] = {
    {"isolated.call", "i", NULL, 0, TREADLE_PASS_STATUS, 0, 0},
    {"isolated.each", "i^?^v", isolated_each_arguments, 2, TREADLE_PASS_STATUS, 0, 0},
};
#define ISOLATED_DESCRIPTOR \
    {.struct_size = sizeof(treadle_extension_descriptor), .name = ISOLATED_ID, .functions = isolated_functions, .function_count = 2}

#endif
