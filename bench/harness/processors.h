/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * processors.h: where threads run decides what they cost each other, so that it is laid down. */
#ifndef TREADLE_BENCH_PROCESSORS_H
#define TREADLE_BENCH_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>

/* The first two processors that the process may use; the same one twice where only one is allowed. */
static inline bool two_processors(int *first, int *second) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    int found = 0;
    for (int processor = 0; processor < CPU_SETSIZE && found < 2; processor++) {
        if (!CPU_ISSET(processor, &allowed)) continue;
        if (found++ == 0) *first = processor;
        *second = processor;
    }
    return true;
}

/* Binds the calling thread to one processor. */
static inline bool bind_to(int processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    return sched_setaffinity(0, sizeof only, &only) == 0;
}

#endif
