/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * median.h: the median of figures, which are put in order. */
#ifndef TREADLE_BENCH_MEDIAN_H
#define TREADLE_BENCH_MEDIAN_H

#include <stdlib.h>

static int by_size(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}
static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

#endif
