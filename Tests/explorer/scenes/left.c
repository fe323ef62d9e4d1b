/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * left.c: what another thread leaves to the owner between two calls: the owner drops it when it has taken the next signal. */
#include "owner.h"

static treadle_source first, second;
static struct event is_called;

static void stop_at_once(void *info) {
    (void)info;
    REQUIRE(treadle_loop_request_stop(loop, TREADLE_STOP_AT_ONCE) >= 0);
}
static void perform_first(treadle_source self, void *info) {
    (void)self, (void)info;
    set(&is_called);
}
static void perform_second(treadle_source self, void *info) {
    (void)self, (void)info;
    count(&called);
}
static void add_both(void) {
    first = make_source(perform_first, stop_at_once, NULL);
    second = make_source(perform_second, NULL, NULL);
    add(first), add(second);
    REQUIRE_OK(treadle_source_signal(first));
    REQUIRE_OK(treadle_source_signal(second));
}
static void *own_and_run_again(void *unused) {
    (void)unused;
    own_loop((void *)add_both);
    REQUIRE(result == TREADLE_RUN_STOPPED);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0) == TREADLE_RUN_TIMED_OUT);
    return NULL;
}

/* The release of a source that is over stops the run at once. It may be called when the second source's signal is used up already: then the
 * signal is given back, and the next run performs that source. */
SCENE(a_release_stops_the_run_when_the_next_signal_is_taken, "SRC0-7 STOP-9 OBJ-6") {
    pthread_t owner = start(own_and_run_again, NULL);
    await(&is_called);
    REQUIRE_OK(treadle_invalidate(first));
    REQUIRE_OK(treadle_release(first));
    join(owner);
    REQUIRE(counted(&called) == 1);
}
