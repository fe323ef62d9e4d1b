/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_start_test.c: timers in one call: made, added and armed. The program stands between the library and the C library's
 * clock, and counts. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static atomic_int readings;
int clock_gettime(clockid_t clock, struct timespec *now) {
    if (clock == CLOCK_MONOTONIC) atomic_fetch_add(&readings, 1);
    return (int)syscall(SYS_clock_gettime, clock, now);
}
static int fires;
static void fire(treadle_timer timer, void *info) {
    CHECK(timer && (!info || info == &fires));
    fires++;
}
static treadle_timer start(int64_t delay_ns, int64_t interval_ns) {
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_start(delay_ns, interval_ns, fire, &fires, &timer), TREADLE_OK);
    CHECK(treadle_timer_is_valid(timer));
    return timer;
}
static int64_t interval_of(treadle_timer timer) {
    int64_t interval = -1;
    CHECK_INT(treadle_timer_get_interval(timer, &interval), TREADLE_OK);
    return interval;
}

static void *start_elsewhere(void *unused) {
    treadle_timer timer = start(1000000, 0);
    CHECK(treadle_loop_contains_timer(treadle_loop_current(), timer, M));
    CHECK(!treadle_loop_contains_timer(treadle_loop_main(), timer, M));
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(fires, 1);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    return unused;
}
TEST(a_timer_in_one_call, "NST-1 NST-5 TMR-1") {
    static const int64_t intervals[] = {0, 1, 1000, 12345, SECONDS(50)};
    for (int i = 0; i < 5; i++) {
        void *info = NULL;
        int64_t before = treadle_time_recent();
        treadle_timer timer = start(SECONDS(50), intervals[i]);
        int64_t after = treadle_time_now();
        CHECK(next_fire(timer) >= before + SECONDS(50) && next_fire(timer) <= after + SECONDS(50));
        CHECK_INT(interval_of(timer), intervals[i] == 1 ? 1000 : intervals[i]);
        CHECK_INT(treadle_timer_repeats(timer), i > 0);
        CHECK(treadle_loop_contains_timer(treadle_loop_current(), timer, M));
        CHECK_INT(treadle_timer_get_context_info(timer, &info), TREADLE_OK);
        CHECK(info == &fires);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(discard(timer), TREADLE_OK);
        CHECK_INT(treadle_timer_retain(timer), TREADLE_E_STALE);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    CHECK_INT(fires, 0);
    on_thread(start_elsewhere, NULL); /* the calling thread's loop */
}

/* In a callback all that are started count from one reading of the clock, and fire in the order of their delays. */
static int64_t told;
static void check_date(treadle_timer timer, void *delay) {
    CHECK_INT(next_fire(timer), told + *(int64_t *)delay);
    CHECK(treadle_time_now() >= told + *(int64_t *)delay); /* never early */
    trace("%d", (int)*(int64_t *)delay);
}
static void start_some(void *unused) {
    static int64_t delays[] = {3000, 0, 1000, -5, 2000};
    (void)unused;
    told = treadle_time_recent();
    int before = atomic_load(&readings);
    for (int i = 0; i < 5; i++) CHECK_INT(treadle_timer_start(delays[i], 0, check_date, &delays[i], NULL), TREADLE_OK);
    for (int i = 0; i < 100; i++) CHECK_INT(discard(start(SECONDS(1), i)), TREADLE_OK);
    CHECK_INT(atomic_load(&readings) - before, 0);
    while (treadle_time_now() < told + 3000) {}
}
TEST(delays_of_a_callback_count_from_one_time, "TMR-8 TMR-22 TMR-24 RUN-14") {
    start(1, 0); /* makes the loop, and the queue */
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), start_some, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_TRACE("-5 0 1000 2000 3000");
}

TEST(a_started_timer_keeps_its_grid, "TMR-16 TMR-18") {
    treadle_timer timer = start(-SECONDS(10), SECONDS(3));
    int64_t first = next_fire(timer);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fires, 1);
    CHECK(next_fire(timer) > treadle_time_recent());
    CHECK_INT((next_fire(timer) - first) % SECONDS(3), 0);
    CHECK_INT(discard(timer), TREADLE_OK);
}

TEST(the_longest_delays, "TMR-1") {
    static const int64_t longest[] = {INT64_MAX - 1, INT64_MAX / 2, SECONDS(1000000000)};
    for (int i = 0; i < 6; i++) {
        treadle_timer timer = start(longest[i / 2], i % 2 * longest[i / 2]);
        CHECK(next_fire(timer) > treadle_time_now());
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT); /* there is something to wait for */
        CHECK_INT(discard(timer), TREADLE_OK);
    }
    treadle_timer timer = start(INT64_MIN, 0);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(fires, 1);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}

/* While the loop is torn down, and when that is over. */
static pthread_key_t key;
static void cannot_start(void) {
    treadle_timer timer = (treadle_timer)&timer;
    CHECK_ERROR(treadle_timer_start(1, 0, fire, NULL, &timer), TREADLE_E_STATE, "thread");
    CHECK(!timer);
    CHECK_ERROR(treadle_timer_start(1, 1, fire, NULL, NULL), TREADLE_E_STATE, "thread");
    fires++;
}
static void start_in_release(void *unused) {
    treadle_timer timer = (treadle_timer)&timer;
    CHECK_INT(treadle_timer_start(1, 0, fire, NULL, &timer), TREADLE_IGNORED);
    CHECK(!treadle_loop_contains_timer(treadle_loop_current(), timer, M));
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_start(1, 1, fire, NULL, NULL), TREADLE_IGNORED);
    (void)unused, fires++;
}
static void start_too_late(void *round) {
    if ((intptr_t)round > 1) CHECK_INT(pthread_setspecific(key, (void *)((intptr_t)round - 1)), 0);
    else cannot_start();
}
static void *leave_a_loop(void *unused) {
    CHECK_INT(treadle_timer_release(armed_timer(NULL, NULL, start_in_release, FAR_AWAY, 0)), TREADLE_OK);
    CHECK_INT(pthread_setspecific(key, (void *)3), 0); /* the third round of destructors comes behind the end of the loop */
    return unused;
}
TEST(a_timer_that_cannot_be_started, "NST-1 TMR-1 RL-8") {
    treadle_timer timer = (treadle_timer)&timer;
    CHECK_ERROR(treadle_timer_start(1, 0, NULL, &fires, &timer), TREADLE_E_ARG, "fire");
    CHECK(!timer);
    timer = (treadle_timer)&timer;
    CHECK_ERROR(treadle_timer_start(1, -1, fire, &fires, &timer), TREADLE_E_RANGE, "interval_ns");
    CHECK(!timer);
    CHECK_ERROR(treadle_timer_start(1, INT64_MIN, fire, &fires, NULL), TREADLE_E_RANGE, "interval_ns");
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    CHECK_INT(pthread_key_create(&key, start_too_late), 0);
    on_thread(leave_a_loop, NULL);
    CHECK_INT(fires, 2);
    CHECK_INT(pthread_key_delete(key), 0);
}

TEST(a_timer_without_a_handle_is_the_loop_s, "NST-5") {
    CHECK_INT(treadle_timer_start(1, 0, fire, NULL, NULL), TREADLE_OK);
    treadle_timer timer = start(1, 0);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK); /* or one whose handle is given back at once */
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(fires, 2);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_E_STALE);
    CHECK_INT(treadle_timer_start(SECONDS(1), 1000, fire, NULL, NULL), TREADLE_OK); /* goes with its thread */
}
static void *start_and_leave(void *info) {
    CHECK_INT(treadle_timer_start(SECONDS(1), 1, fire, &fires, info), TREADLE_OK);
    return NULL;
}
TEST(a_timer_ends_with_the_loop_that_kept_it, "NST-5 RL-8") {
    treadle_timer timer;
    on_thread(start_and_leave, NULL);
    on_thread(start_and_leave, &timer); /* one that is held is used elsewhere */
    CHECK(treadle_timer_is_valid(timer));
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    CHECK_INT(discard(timer), TREADLE_OK);
}

/* Those that fire, with a handle or without, leave their memory to the next. A handle's number is in its bits 5 to 28. */
static unsigned highest;
static void note_number(treadle_timer timer, void *info) {
    unsigned number = (unsigned)((uintptr_t)timer >> 6) & 0xFFFFFF;
    if (number > highest) highest = number;
    fire(timer, info);
}
TEST(what_has_fired_leaves_nothing, "TMR-15 OBJ-4") {
    enum { AT_ONCE = 100 };
    unsigned most = 0;
    for (int round = 0; round < scaled(100); round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            treadle_timer timer = NULL;
            CHECK_INT(treadle_timer_start(i % 7, 0, note_number, NULL, i % 2 ? &timer : NULL), TREADLE_OK);
            if (timer) CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
        }
        CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
        CHECK_INT(fires, AT_ONCE * (round + 1));
        if (round == 0) most = highest;
    }
    CHECK_INT(highest, most);
}

TEST_MAIN()
