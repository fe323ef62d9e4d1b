/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * callee.c: the item of the running callback, which another thread takes out of its mode, or closes. */
#include "owner.h"

static counter running;
static void run_for_a_while(treadle_source self, void *info) {
    (void)self;
    count(&running);
    REQUIRE(!info || counted(&freed) == 0);
    count(&called);
    if (info) use_released();
    REQUIRE(!info || counted(&freed) == 0);
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
}
static treadle_source second;
static void add_two_signalled_ones(void) {
    source = make_source(run_for_a_while, count_release, &source);
    add(source);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
    second = make_source(run_for_a_while, NULL, NULL);
    add(second);
    REQUIRE_OK(treadle_source_signal_and_wake(second));
}
static void end(pthread_t owner) {
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(second));
}

/* The info is released once, and never while a callback has it. */
SCENE(the_source_of_a_callback_is_removed, "SRC0-2, OBJ-4") {
    pthread_t owner = start_owner(add_two_signalled_ones);
    REQUIRE_OK(treadle_release(source));
    treadle_status status = treadle_loop_remove(loop, source, TREADLE_DEFAULT_MODE);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STALE);
    end(owner);
}
SCENE(the_source_of_a_callback_is_invalidated, "OBJ-4, OBJ-5") {
    pthread_t owner = start_owner(add_two_signalled_ones);
    REQUIRE_OK(treadle_invalidate(source));
    REQUIRE_OK(treadle_release(source));
    end(owner);
}

/* Behind a close no callback runs, nor begins. */
SCENE(the_source_of_a_callback_is_closed, "OBJ-9") {
    pthread_t owner = start_owner(add_two_signalled_ones);
    REQUIRE_OK(treadle_invalidate(second));
    REQUIRE_OK(treadle_close(second, TREADLE_FOREVER));
    REQUIRE_OK(treadle_close(source, TREADLE_FOREVER));
    int calls = counted(&called);
    REQUIRE(counted(&running) == 0);
    REQUIRE_OK(treadle_release(source));
    end(owner);
    REQUIRE(counted(&called) == calls);
}

/* A callback that runs its loop: its item is kept by a reference from before it is not published any more. */
static void run_its_loop(treadle_source self, void *info) {
    (void)self, (void)info;
    treadle_status status = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    REQUIRE(status == TREADLE_RUN_TIMED_OUT || status == TREADLE_RUN_STOPPED);
    REQUIRE(counted(&freed) == 0);
    use_released();
}
static void add_one_that_runs_its_loop(void) {
    source = make_source(run_its_loop, count_release, NULL);
    add(source);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
}
SCENE(the_source_of_a_callback_that_runs_its_loop_is_removed, "SRC0-2, OBJ-4, RUN-12") {
    pthread_t owner = start_owner(add_one_that_runs_its_loop);
    REQUIRE_OK(treadle_release(source));
    treadle_status status = treadle_loop_remove(loop, source, TREADLE_DEFAULT_MODE);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STALE);
    REQUIRE_OK(treadle_loop_request_stop(loop, TREADLE_STOP_ALL_LEVELS));
    join_owner(owner);
    REQUIRE(counted(&freed) == 1);
}
