/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * seeds.h: programs that are made from seeds, whose traces are compared; see scripts/test-cf-differential.
 * Usage: program FIRST-SEED COUNT; one line a seed. */
#ifndef CF_DIFFERENTIAL_SEEDS_H
#define CF_DIFFERENTIAL_SEEDS_H

#include "trace.h"

static uint64_t state;
HELPER unsigned any(unsigned below) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (unsigned)((z ^ (z >> 31)) >> 33) % below;
}

/* Each program has a thread, and so a loop, of its own. */
HELPER int run_seeds(int count, char **arguments, void *(*program)(void *)) {
    if (count != 3) return 2;
    unsigned first = (unsigned)atoi(arguments[1]), many = (unsigned)atoi(arguments[2]);
    for (unsigned seed = first; seed < first + many; seed++) {
        pthread_t thread;
        printf("%u: ", seed);
        state = seed * UINT64_C(0x100000001B3) + 1;
        if (pthread_create(&thread, NULL, program, NULL) != 0) return 1;
        pthread_join(thread, NULL);
        putchar('\n');
        fflush(stdout);
    }
    _exit(0);
}

#endif
