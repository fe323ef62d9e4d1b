/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_cancel_test.c: delayed requests whose functions do more than they are asked for while others are cancelled: a client's
 * equal or release cancels, asks again, runs the loop. Nothing is half done then. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE

static int performed, released;
static void perform_nothing(void *target, void *argument) { (void)target, (void)argument, performed++; }
static void note_release(void *target) { (void)target, released++; }
static treadle_status ask(void *target, void *argument, treadle_equal_fn equal, treadle_release_fn release) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform_nothing, .target = target, .argument = argument,
                               .release_target = release, .equal = equal};
    return perform_after(SECONDS(100000), &request, NULL, 0);
}
static treadle_status cancel_like(void *target, void *argument) {
    treadle_request like = {.struct_size = sizeof like, .fn = perform_nothing, .target = target, .argument = argument};
    return treadle_perform_cancel(&like);
}

/* --- A client's equal ------------------------------------------------------------------------------ */

enum { REQUESTS = 100 };
static int targets[4], arguments[REQUESTS], asked;
static int32_t cancel_all_and_match(void *one, void *other) {
    (void)one, (void)other;
    asked++;
    cancel_target(&targets[0]);
    return 1;
}
TEST(an_equal_that_cancels_all_requests, "PERF-15 OBJ-6 OBJ-7") {
    for (int i = 0; i < REQUESTS; i++) CHECK_INT(ask(&targets[0], &arguments[i], cancel_all_and_match, note_release), TREADLE_OK);
    treadle_status status = cancel_like(&targets[0], NULL);
    CHECK(status == TREADLE_OK || status == TREADLE_IGNORED); /* whoever has cancelled them */
    CHECK_INT(asked, 1);
    CHECK_INT(released, REQUESTS);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, 0), TREADLE_RUN_FINISHED);
}

static bool is_asking;
static int32_t cancel_next_and_match(void *one, void *other) {
    (void)other;
    if (is_asking) return 0; /* by the cancelling in here */
    is_asking = true;
    int next = (int)((int *)one - arguments) + 1;
    if (next < REQUESTS) CHECK_INT(cancel_like(&targets[0], &arguments[next]), TREADLE_OK);
    is_asking = false;
    return 1;
}
TEST(an_equal_that_cancels_the_request_that_would_be_next, "PERF-15 OBJ-6") {
    for (int i = 0; i < REQUESTS; i++)
        CHECK_INT(ask(&targets[0], &arguments[i], cancel_next_and_match, note_release), TREADLE_OK);
    CHECK_INT(cancel_like(&targets[0], NULL), TREADLE_OK);
    CHECK_INT(released, REQUESTS);
    CHECK_INT(cancel_target(&targets[0]), TREADLE_IGNORED);
}

static int32_t ask_and_run(void *one, void *other) {
    (void)one, (void)other;
    asked++;
    CHECK_INT(ask(&targets[0], NULL, ask_and_run, note_release), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    return asked % 2;
}
TEST(an_equal_that_makes_requests_and_runs_the_loop, "PERF-15 OBJ-6") {
    for (int i = 0; i < REQUESTS; i++) CHECK_INT(ask(&targets[0], &arguments[i], ask_and_run, note_release), TREADLE_OK);
    CHECK_INT(cancel_like(&targets[0], &targets[1]), TREADLE_OK);
    CHECK_INT(asked, REQUESTS); /* of the new ones none is asked */
    CHECK_INT(released, REQUESTS / 2);
    CHECK_INT(cancel_target(&targets[0]), TREADLE_OK);
    CHECK_INT(released, 2 * REQUESTS);
    CHECK_INT(performed, 0);
}

/* --- A client's release ---------------------------------------------------------------------------- */

static bool releases_cancel;
static void ask_again(void *target) {
    treadle_status expected = released++ == 0 ? TREADLE_OK : TREADLE_IGNORED;
    if (releases_cancel) CHECK_INT(cancel_target(&targets[1]), expected);
    ask(target, NULL, NULL, ask_again);
}
TEST(a_release_that_asks_again_is_called_once_for_each_request, "PERF-15 PERF-8") {
    for (int i = 0; i < REQUESTS; i++) CHECK_INT(ask(&targets[0], NULL, NULL, ask_again), TREADLE_OK);
    for (int round = 1; round <= 3; round++) {
        CHECK_INT(cancel_target(&targets[0]), TREADLE_OK);
        CHECK_INT(released, round * REQUESTS);
    }
    CHECK_INT(cancel_like(&targets[0], NULL), TREADLE_OK);
    CHECK_INT(released, 4 * REQUESTS);
    CHECK_INT(performed, 0);
}
TEST(all_are_cancelled_when_the_first_release_is_called, "PERF-15 OBJ-7") {
    static int others;
    releases_cancel = true;
    for (int i = 0; i < REQUESTS; i++) {
        CHECK_INT(ask(&targets[0], NULL, NULL, ask_again), TREADLE_OK);
        CHECK_INT(ask(&targets[1], NULL, NULL, note_release), TREADLE_OK);
        CHECK_INT(ask(&others, NULL, NULL, note_release), TREADLE_OK);
    }
    CHECK_INT(cancel_target(&targets[0]), TREADLE_OK);
    CHECK_INT(released, 2 * REQUESTS);
    CHECK_INT(cancel_target(&others), TREADLE_OK);
    CHECK_INT(released, 3 * REQUESTS);
}

/* --- The end of the thread -------------------------------------------------------------------------- */

static void *leave_with_requests(void *unused) {
    for (int i = 0; i < REQUESTS; i++) CHECK_INT(ask(&targets[i % 4], NULL, NULL, ask_again), TREADLE_OK);
    return unused;
}
TEST(a_release_that_asks_again_and_again_does_not_keep_a_thread_from_ending, "PERF-16 PERF-8 RL-8") {
    on_thread(leave_with_requests, NULL);
    /* Each of the first is released; how often one that asks again is, has an end. */
    CHECK(released >= REQUESTS && released <= 100 * REQUESTS);
    CHECK_INT(performed, 0);
}

static int left;
static void ask_again_while_any_are_left(void *target) {
    released++;
    if (left-- > 0) ask(target, NULL, NULL, ask_again_while_any_are_left);
}
static void *leave_with_one(void *unused) {
    CHECK_INT(ask(&targets[0], NULL, NULL, ask_again_while_any_are_left), TREADLE_OK);
    return unused;
}
TEST(what_a_release_asks_for_at_the_end_is_released_as_well, "PERF-16 PERF-8") {
    left = 5;
    on_thread(leave_with_one, NULL);
    CHECK_INT(released, 6);
    CHECK_INT(performed, 0);
}

/* A cancelled request in several modes, one of them running. */
static void cancel_own_target(void *target, void *argument) {
    (void)argument;
    performed++;
    cancel_target(target);
}
TEST(one_of_several_that_are_due_cancels_the_others, "PERF-15 PERF-8") {
    const char *modes[] = {MODE, "another", TREADLE_COMMON_MODES};
    treadle_request request = {.struct_size = sizeof request, .fn = cancel_own_target, .target = targets, .release_target = note_release};
    for (int i = 0; i < REQUESTS; i++) CHECK_INT(perform_after(0, &request, modes, 3), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(performed, 1);
    CHECK_INT(released, REQUESTS);
}

TEST_MAIN()
