/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * one_loop.h: the shortest life of a loop: it is made, runs one task, and is freed. */
#ifndef TREADLE_BENCH_ONE_LOOP_H
#define TREADLE_BENCH_ONE_LOOP_H

#include "../harness/support.h"

static inline void run_one_task(void *count) {
    void *loop = new_loop();
    library.post(loop, add_one, count);
    library.post(loop, stop_loop, loop);
    library.loop_run(loop);
    library.loop_free(loop);
}

#endif
