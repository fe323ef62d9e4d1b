/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * counter.h: an extension that begins with its size and an instance, as many do, and its descriptor. The plugin "store" provides it, by
 * a struct that ends before its last function. */
#ifndef TREADLE_TEST_COUNTER_H
#define TREADLE_TEST_COUNTER_H

#include <stddef.h>
#include <treadle.h>
#include <treadle/plugin.h>

#define COUNTER_ID "example.counter/1"

struct counter {
    size_t struct_size;
    void *instance;
    int32_t (*add)(void *instance, int32_t by); /* how much it is then */
    treadle_status (*reset)(void *instance);
    treadle_status (*later)(void *instance);
};

static const treadle_extension_argument counter_arguments[] = {{.pass = TREADLE_PASS_INSTANCE}, {.pass = TREADLE_PASS_VALUE}};
static const treadle_extension_function counter_functions[] = {
    {"counter.add", "i^vi", counter_arguments, 2, TREADLE_PASS_VALUE, 0, 0},
    {"counter.reset", "i^v", counter_arguments, 1, TREADLE_PASS_STATUS, 0, 0},
    {"counter.later", "i^v", counter_arguments, 1, TREADLE_PASS_STATUS, 0, 0},
};
#define COUNTER_DESCRIPTOR                                                                                                           \
    {.struct_size = sizeof(treadle_extension_descriptor), .name = COUNTER_ID, .functions = counter_functions, .function_count = 3, \
     .flags = TREADLE_EXTENSION_HAS_SIZE | TREADLE_EXTENSION_HAS_INSTANCE}

#endif
