/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_owner_test.c: a thread owns its loop and its object, also when others asked for them first. Each
 * test is a process of its own, whose first call is the one that matters. */
#include "helpers.h"

TEST(the_main_loop_is_run_by_those_who_never_asked_for_theirs, "RL-3 RL-1") {
    treadle_loop loop = treadle_loop_main();
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_FINISHED);
    CHECK(treadle_loop_is_current(loop));
    CHECK(treadle_loop_current() == loop);
}
TEST(the_main_loop_is_current_on_the_main_thread_alone, "RL-3") {
    CHECK(treadle_loop_is_current(treadle_loop_main()));
}

static void note(void *ran) { ++*(int *)ran; }
static void *run_given(void *loop) {
    /* The first call that this thread makes. */
    treadle_status result = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    return treadle_loop_current() == loop ? (void *)(intptr_t)result : NULL;
}
TEST(a_loop_that_was_made_for_a_thread_before_its_start_is_its_own, "RL-1 RL-9 THR-18") {
    int ran = 0;
    treadle_loop loop = NULL;
    treadle_thread thread = NULL;
    CHECK_INT(create_thread(run_given, NULL, NULL, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    CHECK(!treadle_loop_is_current(loop));
    CHECK_ERROR(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_E_WRONG_THREAD, "loop");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK); /* never started: its loop ends with it */
    CHECK_INT(treadle_loop_post(loop, note, &ran), TREADLE_E_CLOSED);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}

static void *run_handed(void *slot) { return run_given(*(treadle_loop *)slot); }
TEST(a_thread_runs_the_loop_that_was_filled_before_its_start, "RL-1 PERF-3") {
    int ran = 0;
    treadle_loop loop = NULL;
    treadle_thread thread = NULL;
    void *result = NULL;
    CHECK_INT(create_thread(run_handed, &loop, NULL, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_loop_post(loop, note, &ran), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
    CHECK_INT((intptr_t)result, TREADLE_RUN_FINISHED);
    CHECK_INT(ran, 3);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

TEST(the_main_thread_may_set_its_own_priority_at_once, "THR-10 THR-13") {
    CHECK_INT(treadle_thread_set_priority(treadle_thread_main(), 0.5), TREADLE_OK);
}

TEST_MAIN()
