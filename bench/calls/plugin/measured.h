/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * measured.h: what the plugin of the benchmark does for it. */
#ifndef TREADLE_BENCH_MEASURED_H
#define TREADLE_BENCH_MEASURED_H

#include <treadle.h>
#include <treadle/plugin.h>

#define MEASURED "bench.measured/1"

struct measured {
    /* Asks `count` times whether an object is valid; how often it was. */
    size_t (*ask)(treadle_object object, size_t count);
};

/* What can be called from another process. */
#define ISOLATED "bench.isolated/1"

struct isolated {
    int64_t (*next)(int64_t number); /* that and 1 */
    int64_t (*process)(void);        /* the number of the process that it runs in */
    treadle_status (*crash)(void);
};
static const treadle_extension_function isolated_functions[] = {
    {.name = "next", .signature = "qq", .argument_count = 1},
    {.name = "process", .signature = "q"},
    {.name = "crash", .signature = "i", .result = TREADLE_PASS_STATUS},
};
#define ISOLATED_DESCRIPTOR \
    {.struct_size = sizeof(treadle_extension_descriptor), .name = ISOLATED, .functions = isolated_functions, .function_count = 3}

#endif
