/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_release_test.c: what a client does in the release of a timer's info, between that timer's callback and the next
 * one's: it ends the next timer, makes another in its place, runs the loop. And a timer that is closed while it is fired by
 * hand. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static treadle_timer next; /* due behind the one whose info is released */
static int next_calls, other_calls, releases;
static void (*in_release)(void);

static void count_call(treadle_timer timer, void *info) { (void)timer, ++*(int *)info; }
static void fire_nothing(treadle_timer timer, void *info) { (void)timer, (void)info; }
static void release_first(void *info) {
    (void)info;
    releases++;
    in_release();
}
static void end_first(treadle_timer timer, void *info) {
    (void)info;
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
}

/* The first timer belongs to its mode alone, so that its info is released when it has fired, or what its callback did is
 * done. The second one is due, too. */
static void add_both(treadle_timer_fn fire, int64_t interval, int64_t next_interval) {
    treadle_timer_context context = {
        .struct_size = sizeof context, .fire = fire, .release = release_first, .fire_at = 1, .interval_ns = interval};
    treadle_timer first = NULL;
    CHECK_INT(treadle_timer_create(&context, &first), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), first, M), TREADLE_OK);
    CHECK_INT(treadle_timer_release(first), TREADLE_OK);
    next = make_timer(count_call, &next_calls, 2, next_interval);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), next, M), TREADLE_OK);
    treadle_timer last = make_timer(count_call, &other_calls, FAR_AWAY, 0);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), last, M), TREADLE_OK);
    releases = next_calls = other_calls = 0;
}
/* The first fires once, or ends in its callback. */
static void for_each_first(void (*test)(treadle_timer_fn fire, int64_t interval)) {
    test(fire_nothing, 0);
    test(end_first, SECONDS(1000));
}

static void invalidate_next(void) { CHECK_INT(treadle_timer_invalidate(next), TREADLE_OK); }
static void must_not_fire_invalid(treadle_timer_fn fire, int64_t interval) {
    in_release = invalidate_next;
    add_both(fire, interval, 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(releases, 1);
    CHECK_INT(next_calls, 0);
    CHECK_INT(treadle_timer_release(next), TREADLE_OK);
}
TEST(a_timer_that_the_release_of_another_ends_is_not_fired, "OBJ-9 TMR-13") { for_each_first(must_not_fire_invalid); }

static void remove_next(void) { CHECK_INT(treadle_loop_remove_timer(treadle_loop_current(), next, M), TREADLE_OK); }
static void must_not_fire_removed(treadle_timer_fn fire, int64_t interval) {
    in_release = remove_next;
    add_both(fire, interval, 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(releases, 1);
    CHECK_INT(next_calls, 0);
    /* It is at rest, and fires where it is added again. */
    CHECK(treadle_timer_is_valid(next));
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), next, M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(next_calls, 1);
    CHECK_INT(treadle_timer_release(next), TREADLE_OK);
}
TEST(a_timer_that_the_release_of_another_removes_is_not_fired, "OBJ-9 TMR-13") { for_each_first(must_not_fire_removed); }

static void run_and_replace_next(void) {
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), make_source(NULL, NULL), "inside"), TREADLE_OK);
    CHECK_INT(poll_mode("inside"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(discard(next), TREADLE_OK);
    CHECK_INT(poll_mode("inside"), TREADLE_RUN_TIMED_OUT);
    for (int i = 0; i < 4; i++) { /* one of them where the other was */
        treadle_timer timer = make_timer(count_call, &other_calls, FAR_AWAY, 0);
        CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    }
}
static void must_not_fire_replaced(treadle_timer_fn fire, int64_t interval) {
    in_release = run_and_replace_next;
    add_both(fire, interval, 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(releases, 1);
    CHECK_INT(next_calls, 0);
    CHECK_INT(other_calls, 0);
    CHECK(!treadle_timer_is_valid(next));
}
TEST(a_run_inside_of_a_release_may_free_the_timer_that_is_next, "OBJ-3 OBJ-9 RUN-12") { for_each_first(must_not_fire_replaced); }

static void run_same_mode(void) { CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT); }
static void must_fire_once(treadle_timer_fn fire, int64_t interval) {
    for (int repeats = 0; repeats < 2; repeats++) {
        in_release = run_same_mode;
        add_both(fire, interval, repeats ? SECONDS(1000) : 0);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(releases, 1);
        CHECK_INT(next_calls, 1);
        CHECK_INT(other_calls, 0);
        CHECK_INT(discard(next), TREADLE_OK);
    }
}
TEST(a_run_inside_of_a_release_does_not_fire_the_next_timer_twice, "TMR-19 RUN-12") { for_each_first(must_fire_once); }

/* --- By hand -------------------------------------------------------------------------------------- */

static treadle_status own_close;
static void close_itself(treadle_timer timer, void *info) {
    (void)info;
    own_close = treadle_timer_close(timer, TREADLE_FOREVER);
}
static void *close_by_hand(void *interval) {
    treadle_timer timer = make_timer(close_itself, NULL, FAR_AWAY, interval ? SECONDS(1) : 0);
    own_close = TREADLE_OK;
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
    CHECK_INT(own_close, TREADLE_E_DEADLOCK);
    CHECK(!treadle_timer_is_valid(timer)); /* ended all the same */
    CHECK_INT(treadle_timer_close(timer, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    return NULL;
}
TEST(close_in_a_timer_fired_by_hand_would_deadlock, "OBJ-9 NST-3") {
    close_by_hand(NULL); /* on a thread without a loop, and on one that has one */
    on_thread(close_by_hand, "repeats");
    CHECK(treadle_loop_current());
    close_by_hand("repeats");
}

TEST_MAIN()
