/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * rawspin.c: the floor for two processors: as raw.c, but with a short spin before a sleep. What has nothing to do with
 * other threads would be the same, and is left out. */
#define FLOOR_SPIN_NS 20000
#include "floor/loop.h"

const struct operations library = {
    .name = "rawspin",
    .role = ROLE_FLOOR,
    .loop_make = make_loop,
    .loop_run = run,
    .loop_stop = stop,
    .loop_free = free_loop,
    .post = post,
    .perform_and_wait = perform_and_wait,
    .source_make = make_source,
    .source_signal = signal_source,
};
