/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * counters_test.c: what a loop says that it has done, and why its last run finished. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

static treadle_loop_counters counters_of(treadle_loop loop) {
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    CHECK_INT(treadle_loop_get_counters(loop, &counters), TREADLE_OK);
    CHECK_INT(counters.struct_size, sizeof counters);
    return counters;
}
static treadle_loop_counters here(void) { return counters_of(treadle_loop_current()); }

TEST(a_new_loop_has_done_nothing, "RL-1") {
    treadle_loop_counters zero = TREADLE_INIT(treadle_loop_counters), counters = here();
    CHECK(memcmp(&zero, &counters, sizeof zero) == 0);
}

TEST(a_finished_run_tells_why, "RUN-1 RUN-10 MODE-9") {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_loop_run(loop, "unknown", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(here().last_finish, TREADLE_FINISH_UNKNOWN_MODE);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(here().last_finish, TREADLE_FINISH_EMPTY_AT_ONCE);
    CHECK_INT(treadle_loop_run(loop, NULL, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(here().last_finish, TREADLE_FINISH_UNKNOWN_MODE);
    CHECK_INT(here().passes, 0);
    treadle_timer timer = make_timer(NULL, NULL, 1, 0);
    CHECK_INT(treadle_loop_add(loop, timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(here().last_finish, TREADLE_FINISH_BECAME_EMPTY);
    CHECK_INT(treadle_loop_run(loop, TREADLE_COMMON_MODES, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(here().last_finish, TREADLE_FINISH_UNKNOWN_MODE);
    /* A run that ends otherwise leaves it. */
    treadle_source keeper = keep_mode(MODE);
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(here().last_finish, TREADLE_FINISH_UNKNOWN_MODE);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

static void nothing(void *info) { (void)info; }
static void request_nothing(void *target, void *argument) { (void)target, (void)argument; }
TEST(what_was_called_is_counted, "BLK-5 SRC0-7 TMR-11 SRC1-5 PERF-4") {
    enum { SOURCES = 5, TIMERS = 7, POSTS = 11 };
    treadle_loop loop = treadle_loop_current();
    treadle_source sources[SOURCES];
    treadle_timer timers[TIMERS];
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(write(ends[1], "x", 1), 1);
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, ends[0], TREADLE_READABLE);
    CHECK_INT(treadle_loop_add(loop, descriptor, MODE), TREADLE_OK);
    for (int i = 0; i < SOURCES; i++) {
        sources[i] = make_source(NULL, NULL);
        CHECK_INT(treadle_loop_add(loop, sources[i], MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK); /* coalesces */
    }
    for (int i = 0; i < TIMERS; i++) {
        timers[i] = make_timer(NULL, NULL, i < TIMERS - 1 ? 1 : FAR_AWAY, 0);
        CHECK_INT(treadle_loop_add(loop, timers[i], MODE), TREADLE_OK);
    }
    for (int i = 0; i < POSTS; i++) CHECK_INT(treadle_loop_post(loop, nothing, NULL), TREADLE_OK);
    while (here().timers < TIMERS - 1 || here().descriptors < 2) CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    treadle_loop_counters counters = here();
    CHECK_INT(counters.posts, POSTS);
    CHECK_INT(counters.signals, SOURCES);
    CHECK_INT(counters.timers, TIMERS - 1);
    CHECK(counters.passes >= 3 && counters.requests == 0 && counters.sleeps == 0);
    treadle_request request = {.struct_size = sizeof request, .fn = request_nothing};
    CHECK_INT(treadle_perform(treadle_thread_current(), &request), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(here().requests, 1);
    for (int i = 0; i < SOURCES; i++) CHECK_INT(discard(sources[i]), TREADLE_OK);
    for (int i = 0; i < TIMERS; i++) CHECK_INT(discard(timers[i]), TREADLE_OK);
    CHECK_INT(discard(descriptor), TREADLE_OK);
    close(ends[0]), close(ends[1]);
}

/* What is taken for a batch, and not called, does not count. */
static treadle_source others[3];
static void end_the_others(treadle_source source, void *info) {
    (void)source, (void)info;
    for (int i = 0; i < 3; i++) treadle_source_invalidate(others[i]);
}
static treadle_timer other_timers[2];
static void end_the_timers(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    treadle_timer_invalidate(other_timers[0]);
    treadle_timer_set_next_fire(other_timers[1], FAR_AWAY);
}
TEST(what_was_taken_and_not_called_is_not_counted, "OBJ-9 TMR-13 BLK-4") {
    treadle_loop loop = treadle_loop_current();
    const char *mode = "another";
    treadle_post block = {.struct_size = sizeof block, .modes = &mode, .mode_count = 1, .fn = nothing};
    treadle_source first = make_source(end_the_others, NULL);
    CHECK_INT(treadle_loop_add(loop, first, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(first), TREADLE_OK);
    for (int i = 0; i < 3; i++) {
        others[i] = make_source(NULL, NULL);
        CHECK_INT(treadle_loop_add(loop, others[i], MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal(others[i]), TREADLE_OK);
    }
    treadle_timer timer = make_timer(end_the_timers, NULL, 1, 0);
    CHECK_INT(treadle_loop_add(loop, timer, MODE), TREADLE_OK);
    for (int i = 0; i < 2; i++) {
        other_timers[i] = make_timer(NULL, NULL, 2, 0);
        CHECK_INT(treadle_loop_add(loop, other_timers[i], MODE), TREADLE_OK);
    }
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, nothing, NULL), TREADLE_OK);
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(here().signals, 1);
    CHECK_INT(here().timers, 1);
    CHECK_INT(here().posts, 1);
    treadle_source keeper = keep_mode(mode);
    CHECK_INT(poll_mode(mode), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(here().posts, 3);
    CHECK_INT(discard(first), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    for (int i = 0; i < 3; i++) CHECK_INT(discard(others[i]), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(discard(other_timers[i]), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

/* A run that returns after its first source leaves the others to the next. */
TEST(sources_that_are_left_to_a_later_run_are_counted_once, "RUN-7") {
    treadle_loop loop = treadle_loop_current();
    treadle_source sources[4];
    for (int i = 0; i < 4; i++) {
        sources[i] = make_source(NULL, NULL);
        CHECK_INT(treadle_loop_add(loop, sources[i], MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_INT(treadle_loop_run(loop, MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        CHECK_INT(here().signals, i + 1);
    }
    for (int i = 0; i < 4; i++) CHECK_INT(discard(sources[i]), TREADLE_OK);
}

TEST(sleeps_and_wakes_are_counted, "WAKE-1 PASS-10") {
    struct worker worker;
    worker_start(&worker);
    worker_await_sleep(&worker);
    treadle_loop_counters before = counters_of(worker.loop);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        while (counters_of(worker.loop).wakes < before.wakes + (uint64_t)i + 1) sched_yield();
        worker_await_sleep(&worker);
    }
    treadle_loop_counters after = counters_of(worker.loop);
    CHECK(after.passes >= before.passes + 3 && after.wakes >= before.wakes + 3);
    CHECK_INT(treadle_loop_retain(worker.loop), TREADLE_OK);
    worker_stop(&worker);
    CHECK(counters_of(worker.loop).passes >= after.passes); /* also of a loop whose thread is gone */
    CHECK_INT(treadle_loop_release(worker.loop), TREADLE_OK);
}

TEST_MAIN()
