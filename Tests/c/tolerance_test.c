/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * tolerance_test.c: timers that may be late share wake-ups, are never early, and keep their grid. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static int64_t tolerance(treadle_timer timer) {
    int64_t nanoseconds = -1;
    CHECK_INT(treadle_timer_get_tolerance(timer, &nanoseconds), TREADLE_OK);
    return nanoseconds;
}
static treadle_timer add_timer(treadle_timer_fn fire, int64_t fire_at, int64_t interval_ns, int64_t tolerance_ns) {
    treadle_timer_context context = {
        .struct_size = sizeof context, .fire = fire, .fire_at = fire_at, .interval_ns = interval_ns, .tolerance_ns = tolerance_ns};
    treadle_timer timer;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    return timer;
}
static treadle_status run(int64_t timeout) { return treadle_loop_run(treadle_loop_current(), M, timeout, 0); }

static int wakes;
static void count_wake(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    wakes++;
    trace("wake");
}
static void count_wakes(void) {
    treadle_observer observer = make_observer(count_wake, NULL, TREADLE_AFTER_WAITING);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, M), TREADLE_OK);
}
static void fire(treadle_timer timer, void *info) {
    (void)info;
    CHECK(treadle_time_now() >= next_fire(timer));
    trace("fire");
}
static void stop(treadle_timer timer, void *info) {
    (void)info;
    CHECK(treadle_time_now() >= next_fire(timer));
    trace("stop");
    treadle_loop_stop(treadle_loop_current());
}

TEST(the_setter_limits, "TMR-5 D-14") {
    treadle_timer once = make_timer(NULL, NULL, FAR_AWAY, 0), repeating = make_timer(NULL, NULL, FAR_AWAY, 1001);
    CHECK_INT(tolerance(once), 0);
    CHECK_INT(tolerance(repeating), 0);
    CHECK_INT(treadle_timer_set_tolerance(once, 123456789012), TREADLE_OK);
    CHECK_INT(tolerance(once), 123456789012);
    CHECK_INT(treadle_timer_set_tolerance(once, -1), TREADLE_OK);
    CHECK_INT(tolerance(once), 0);
    CHECK_INT(treadle_timer_set_tolerance(once, INT64_MIN), TREADLE_OK);
    CHECK_INT(tolerance(once), 0);
    CHECK_INT(treadle_timer_set_tolerance(repeating, 400), TREADLE_OK);
    CHECK_INT(tolerance(repeating), 400);
    CHECK_INT(treadle_timer_set_tolerance(repeating, 501), TREADLE_OK);
    CHECK_INT(tolerance(repeating), 500);
    CHECK_INT(treadle_timer_set_tolerance(repeating, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(tolerance(repeating), 500);
    CHECK_INT(treadle_timer_set_tolerance(repeating, -5), TREADLE_OK);
    CHECK_INT(tolerance(repeating), 0);
    CHECK_INT(tolerance(add_timer(NULL, FAR_AWAY, 0, -7)), 0); /* the context's, too */
    CHECK_INT(tolerance(add_timer(NULL, FAR_AWAY, SECONDS(2), SECONDS(5))), SECONDS(1));
    CHECK_INT(tolerance(add_timer(NULL, FAR_AWAY, SECONDS(2), 5)), 5);
}

TEST(two_timers_share_a_wake, "TMR-5 D-14") {
    count_wakes();
    int64_t now = treadle_time_now();
    add_timer(fire, now + MILLISECONDS(20), 0, SECONDS(1000));
    add_timer(stop, now + MILLISECONDS(60), 0, 0);
    CHECK_INT(run(TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK_TRACE("wake fire stop");
}

TEST(windows_that_overlap_share_a_wake, "TMR-5 D-14") {
    count_wakes();
    int64_t now = treadle_time_now();
    for (int i = 0; i < 5; i++) add_timer(i == 4 ? stop : fire, now + MILLISECONDS(20 + 5 * i), 0, MILLISECONDS(40) - i);
    CHECK_INT(run(TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK_TRACE("wake fire fire fire fire stop");
}

TEST(the_end_of_a_window_ends_the_sleep, "TMR-5") {
    /* The first date has the last end: neither the first date nor the first timer alone decides. */
    int64_t now = treadle_time_now();
    add_timer(fire, now + MILLISECONDS(10), 0, SECONDS(100000));
    add_timer(fire, now + MILLISECONDS(15), 0, INT64_MAX); /* no overflow */
    add_timer(stop, now + MILLISECONDS(20), 0, MILLISECONDS(10));
    CHECK_INT(run(TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK_TRACE("fire fire stop");
    add_timer(stop, treadle_time_now() + MILLISECONDS(1), 0, MILLISECONDS(10)); /* alone, it fires too */
    CHECK_INT(run(TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK_TRACE("stop");
}

TEST(without_delay_when_awake, "TMR-5") {
    add_timer(fire, 5, 0, SECONDS(100000));
    add_timer(fire, treadle_time_now(), 0, TREADLE_FOREVER);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("fire fire");
}

struct waker {
    struct sleep_watch watch;
    int64_t date;
    treadle_timer timer;
};
static void *wake_after_the_date(void *info) {
    struct waker *waker = info;
    await_sleep(&waker->watch);
    struct timespec date = {(waker->date + 1) / SECONDS(1), (waker->date + 1) % SECONDS(1)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &date, NULL) == EINTR) {}
    CHECK_INT(treadle_loop_wake(waker->watch.loop), TREADLE_OK);
    return NULL;
}
TEST(any_wake_after_the_date_will_do, "TMR-5") {
    struct waker waker = {.date = treadle_time_now() + MILLISECONDS(20)};
    pthread_t thread;
    add_timer(stop, waker.date, 0, SECONDS(100000));
    watch_sleep(&waker.watch, treadle_loop_current(), M);
    CHECK_INT(pthread_create(&thread, NULL, wake_after_the_date, &waker), 0);
    CHECK_INT(run(TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK_TRACE("stop");
    CHECK_INT(pthread_join(thread, NULL), 0);
}

static void *take_tolerance_away(void *info) {
    struct waker *waker = info;
    await_sleep(&waker->watch);
    CHECK_INT(treadle_timer_set_tolerance(waker->timer, 0), TREADLE_OK);
    return NULL;
}
TEST(a_smaller_tolerance_reaches_a_sleeping_loop, "TMR-5 MODE-10") {
    struct waker waker = {.timer = add_timer(stop, treadle_time_now() + MILLISECONDS(20), 0, SECONDS(100000))};
    pthread_t thread;
    watch_sleep(&waker.watch, treadle_loop_current(), M);
    CHECK_INT(pthread_create(&thread, NULL, take_tolerance_away, &waker), 0);
    CHECK_INT(run(TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK_TRACE("stop");
    CHECK_INT(pthread_join(thread, NULL), 0);
}

static int64_t anchor;
static int fires_left;
static void stay_on_the_grid(treadle_timer timer, void *info) {
    (void)info;
    CHECK(treadle_time_now() >= next_fire(timer));
    CHECK_INT((next_fire(timer) - anchor) % MILLISECONDS(4), 0);
    if (--fires_left == 0) treadle_loop_stop(treadle_loop_current());
}
TEST(the_grid_does_not_move, "TMR-5 TMR-16") {
    anchor = treadle_time_now() + 54321;
    fires_left = 10;
    treadle_timer timer = add_timer(stay_on_the_grid, anchor, MILLISECONDS(4), MILLISECONDS(2));
    CHECK_INT(treadle_timer_set_tolerance(timer, MILLISECONDS(1)), TREADLE_OK);
    CHECK_INT(run(TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK_INT((next_fire(timer) - anchor) % MILLISECONDS(4), 0);
}

TEST(a_deadline_does_not_wait_for_a_tolerance, "TMR-5 RUN-9") {
    add_timer(fire, treadle_time_now() + SECONDS(100000), 0, SECONDS(100000));
    CHECK_INT(run(MILLISECONDS(5)), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("");
}

TEST_MAIN()
