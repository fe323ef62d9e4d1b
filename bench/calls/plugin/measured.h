/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * measured.h: what the plugin of the benchmark does for it. */
#ifndef TREADLE_BENCH_MEASURED_H
#define TREADLE_BENCH_MEASURED_H

#include <treadle.h>

#define MEASURED "bench.measured/1"

struct measured {
    /* Asks `count` times whether an object is valid; how often it was. */
    size_t (*ask)(treadle_object object, size_t count);
};

#endif
