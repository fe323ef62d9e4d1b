/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * chance.h: what a random test does: numbers for each thread, all from one seed, which is printed and may be given. */
#ifndef TREADLE_CHANCE_H
#define TREADLE_CHANCE_H

#include "helpers.h"

static uint64_t seed;
static _Thread_local uint64_t chance_state;

/* Takes the seed from TREADLE_TEST_SEED, else from the clock, and prints it, whatever becomes of the test. */
HELPER void choose_seed(void) {
    const char *wanted = getenv("TREADLE_TEST_SEED");
    seed = wanted ? strtoull(wanted, NULL, 0) : (uint64_t)treadle_time_now();
    printf("TREADLE_TEST_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
}
/* Begins this thread's numbers: others for each seed, and for each number of a thread. */
HELPER void begin_chance(uint64_t number) {
    chance_state = (seed + number) * 0x9E3779B97F4A7C15u;
    chance_state ^= chance_state >> 31;
    chance_state |= 1;
}
/* The next one, by xorshift: 0 to `below` - 1. */
HELPER unsigned chance(unsigned below) {
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (unsigned)(chance_state >> 20) % below;
}

#endif
