/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_level_test.c: timers in one call, and timers that are fired by hand. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE

static int fires;
static void fire(treadle_timer timer, void *info) {
    CHECK(timer && (!info || info == &fires));
    fires++;
}
static int64_t interval_of(treadle_timer timer) {
    int64_t interval = -1;
    CHECK_INT(treadle_timer_get_interval(timer, &interval), TREADLE_OK);
    return interval;
}
static treadle_timer schedule(int64_t interval_ns, bool repeats) {
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_schedule(interval_ns, repeats, fire, &fires, count_release, &timer), TREADLE_OK);
    CHECK(timer && treadle_timer_is_valid(timer));
    return timer;
}
static void end(treadle_timer timer) {
    CHECK(treadle_timer_invalidate(timer) == TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}

/* --- Scheduling ----------------------------------------------------------------------------------- */

static void *schedule_elsewhere(void *unused) {
    treadle_timer timer = schedule(1000000, false);
    CHECK(treadle_loop_contains_timer(treadle_loop_current(), timer, MODE));
    CHECK(!treadle_loop_contains_timer(treadle_loop_main(), timer, MODE));
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(fires, 1);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    return unused;
}
TEST(a_timer_in_one_call, "NST-1 NST-5") {
    for (int repeats = 0; repeats < 2; repeats++) {
        int64_t before = treadle_time_now();
        treadle_timer timer = schedule(SECONDS(50), repeats);
        int64_t after = treadle_time_now();
        CHECK(next_fire(timer) >= before + SECONDS(50) && next_fire(timer) <= after + SECONDS(50));
        CHECK_INT(interval_of(timer), repeats ? SECONDS(50) : 0);
        CHECK(treadle_timer_repeats(timer) == (repeats != 0));
        CHECK(treadle_loop_contains_timer(treadle_loop_current(), timer, MODE));
        end(timer);
        CHECK_INT(releases_counted, repeats + 1);
    }
    on_thread(schedule_elsewhere, NULL); /* the calling thread's loop */
}
TEST(a_timer_with_no_interval_has_a_short_one, "NST-2 D-21") {
    static const int64_t shorter[] = {0, -1, 1, 99999, -SECONDS(1), INT64_MIN};
    for (int i = 0; i < 6; i++) {
        int64_t before = treadle_time_now();
        treadle_timer timer = schedule(shorter[i], true);
        CHECK_INT(interval_of(timer), 100000);
        CHECK(treadle_timer_repeats(timer));
        CHECK(next_fire(timer) >= before + 100000);
        end(timer);
        before = treadle_time_now();
        timer = schedule(shorter[i], false);
        CHECK_INT(interval_of(timer), 0); /* one that does not repeat has none */
        CHECK(next_fire(timer) >= before + 100000);
        CHECK(!treadle_timer_repeats(timer));
        end(timer);
    }
    treadle_timer timer = schedule(100001, true);
    CHECK_INT(interval_of(timer), 100001);
    end(timer);
    timer = schedule(0, true); /* and it does repeat */
    while (fires < 5) CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, MILLISECONDS(1), 0), TREADLE_RUN_TIMED_OUT);
    CHECK(treadle_timer_is_valid(timer));
    end(timer);
}
TEST(the_longest_intervals, "NST-1 NST-2") {
    static const int64_t longest[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, SECONDS(1000000000)};
    for (int i = 0; i < 8; i++) {
        treadle_timer timer = schedule(longest[i / 2], i % 2);
        CHECK(next_fire(timer) > treadle_time_now());
        CHECK(interval_of(timer) >= 0);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        end(timer);
    }
    CHECK_INT(fires, 0);
}
TEST(a_timer_that_cannot_be_scheduled, "NST-1") {
    treadle_timer timer = (treadle_timer)&timer;
    CHECK_ERROR(treadle_timer_schedule(1, true, NULL, &fires, count_release, &timer), TREADLE_E_ARG, "fire");
    CHECK(!timer);
    CHECK_INT(releases_counted, 1);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}
TEST(the_loop_keeps_the_timer_and_the_timer_its_info, "NST-5 NST-4") {
    CHECK_INT(treadle_timer_schedule(1, false, fire, &fires, count_release, NULL), TREADLE_OK); /* no handle */
    treadle_timer timer = schedule(1, false);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK); /* or one that is given back at once */
    CHECK_INT(releases_counted, 0);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(fires, 2);
    CHECK_INT(releases_counted, 2);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_E_STALE);
    CHECK_INT(treadle_timer_schedule(SECONDS(1), true, fire, NULL, NULL, NULL), TREADLE_OK); /* goes with its thread */
}
static void *schedule_and_leave(void *info) {
    CHECK_INT(treadle_timer_schedule(SECONDS(1), true, fire, &fires, count_release, info), TREADLE_OK);
    return NULL;
}
TEST(a_timer_ends_with_the_loop_that_kept_it, "NST-5 RL-8") {
    treadle_timer timer;
    thread_end(thread_begin(schedule_and_leave, NULL));
    CHECK_INT(releases_counted, 1);
    thread_end(thread_begin(schedule_and_leave, &timer)); /* one that is held is used elsewhere */
    CHECK_INT(releases_counted, 1);
    CHECK(treadle_timer_is_valid(timer));
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, MODE), TREADLE_OK);
    end(timer);
    CHECK_INT(releases_counted, 2);
}

/* --- Firing by hand ------------------------------------------------------------------------------- */

static int64_t date_inside;
static int32_t fired_on;
static void look_inside(treadle_timer timer, void *info) {
    fire(timer, info);
    fired_on = thread_id();
    CHECK(treadle_timer_is_valid(timer));
    CHECK_INT(treadle_timer_fire(timer), TREADLE_IGNORED); /* it runs already */
    date_inside = next_fire(timer);
}
static void *fire_it(void *timer) {
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
    CHECK_INT(fired_on, thread_id()); /* here and now */
    return NULL;
}
TEST(a_one_shot_that_is_fired_is_over, "NST-3 NST-5") {
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        treadle_timer timer;
        CHECK_INT(treadle_timer_schedule(SECONDS(1000), false, look_inside, &fires, count_release, &timer), TREADLE_OK);
        if (elsewhere) on_thread(fire_it, timer);
        else fire_it(timer);
        CHECK_INT(fires, elsewhere + 1);
        CHECK(!treadle_timer_is_valid(timer));
        CHECK_INT(releases_counted, elsewhere + 1);
        CHECK_INT(treadle_timer_fire(timer), TREADLE_IGNORED);
        CHECK_INT(fires, elsewhere + 1);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED); /* it has left its loop */
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
}
TEST(a_repeating_timer_keeps_its_dates, "NST-3") {
    treadle_timer timer;
    CHECK_INT(treadle_timer_schedule(SECONDS(1000), true, look_inside, &fires, count_release, &timer), TREADLE_OK);
    int64_t date = next_fire(timer);
    for (int i = 1; i <= 4; i++) {
        if (i % 2) fire_it(timer);
        else on_thread(fire_it, timer);
        CHECK_INT(fires, i);
        CHECK_INT(next_fire(timer), date);
        CHECK(treadle_timer_is_valid(timer));
    }
    CHECK_INT(releases_counted, 0);
    end(timer);
    CHECK_INT(treadle_timer_fire(timer), TREADLE_E_STALE);
}
TEST(a_due_timer_fires_at_its_date_too, "NST-3 TMR-17") {
    treadle_timer timer = schedule(SECONDS(1000), true);
    int64_t now = treadle_time_now();
    CHECK_INT(treadle_timer_set_next_fire(timer, now), TREADLE_OK); /* NST-4 */
    CHECK_INT(next_fire(timer), now);
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
    CHECK_INT(next_fire(timer), now);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fires, 2);
    CHECK_INT(next_fire(timer), now + SECONDS(1000));
    end(timer);
}
TEST(a_timer_in_no_loop_is_fired, "NST-3 NST-1") {
    treadle_timer once = make_timer(fire, NULL, FAR_AWAY, 0), often = make_timer(fire, NULL, FAR_AWAY, SECONDS(1)),
                  without = make_timer(NULL, NULL, FAR_AWAY, 0);
    CHECK_INT(treadle_timer_fire(once), TREADLE_OK);
    CHECK_INT(treadle_timer_fire(often), TREADLE_OK);
    CHECK_INT(treadle_timer_fire(often), TREADLE_OK);
    CHECK_INT(treadle_timer_fire(without), TREADLE_OK); /* without a callback there is only the end */
    CHECK_INT(fires, 3);
    CHECK(!treadle_timer_is_valid(once) && treadle_timer_is_valid(often) && !treadle_timer_is_valid(without));
    end(once);
    end(often);
    end(without);
}
static void invalidate_inside(treadle_timer timer, void *info) {
    fire(timer, info);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(releases_counted, 0); /* after the callback */
    CHECK_INT(treadle_timer_fire(timer), TREADLE_IGNORED);
}
TEST(a_timer_may_end_in_its_callback, "NST-3 NST-4 TMR-7") {
    treadle_timer timer;
    CHECK_INT(treadle_timer_schedule(SECONDS(1000), true, invalidate_inside, &fires, count_release, &timer), TREADLE_OK);
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
    CHECK_INT(releases_counted, 1);
    CHECK_INT(fires, 1);
    CHECK_INT(next_fire(timer), 0);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}
static void reschedule_inside(treadle_timer timer, void *info) {
    fire(timer, info);
    CHECK_INT(treadle_timer_set_next_fire(timer, treadle_time_now() + SECONDS(7)), TREADLE_OK);
    date_inside = next_fire(timer);
}
TEST(a_fired_timer_may_be_moved_in_its_callback, "NST-3 TMR-17") {
    treadle_timer timer;
    CHECK_INT(treadle_timer_schedule(SECONDS(1000), true, reschedule_inside, &fires, NULL, &timer), TREADLE_OK);
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
    CHECK_INT(next_fire(timer), date_inside);
    end(timer);
}
static void run_inside(treadle_timer timer, void *info) {
    fire(timer, info);
    CHECK_INT(treadle_timer_set_next_fire(timer, 1), TREADLE_OK); /* due at once */
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fires, 1); /* but not inside itself */
    CHECK_INT(treadle_timer_set_next_fire(timer, FAR_AWAY), TREADLE_OK);
}
TEST(a_fired_timer_does_not_fire_inside_itself, "NST-3 TMR-19") {
    treadle_timer timer;
    CHECK_INT(treadle_timer_schedule(SECONDS(1000), true, run_inside, &fires, NULL, &timer), TREADLE_OK);
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fires, 1);
    end(timer);
}

/* --- Dates and the end ---------------------------------------------------------------------------- */

static void *invalidate_it(void *timer) {
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    return NULL;
}
TEST(any_thread_may_end_a_timer, "NST-4 NST-5") {
    treadle_timer timer = schedule(SECONDS(1000), true);
    int64_t date = treadle_time_now() + SECONDS(20);
    void *info = NULL;
    CHECK_INT(treadle_timer_set_next_fire(timer, date), TREADLE_OK);
    CHECK_INT(next_fire(timer), date);
    CHECK_INT(treadle_timer_get_info(timer, &info), TREADLE_OK);
    CHECK(info == &fires);
    on_thread(invalidate_it, timer);
    CHECK_INT(releases_counted, 1); /* what it kept is dropped */
    CHECK_INT(treadle_timer_get_info(timer, &info), TREADLE_OK);
    CHECK(!info);
    CHECK_INT(next_fire(timer), 0);
    CHECK_INT(interval_of(timer), SECONDS(1000));
    CHECK_INT(treadle_timer_set_next_fire(timer, date), TREADLE_IGNORED);
    CHECK_INT(treadle_timer_fire(timer), TREADLE_IGNORED);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(fires, 0);
}

/* Fired by many at once: never two calls at a time, and a one-shot is called once. */
static atomic_int inside, raced_fires;
static pthread_barrier_t together;
static void be_alone(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    CHECK_INT(atomic_fetch_add(&inside, 1), 0);
    atomic_fetch_add(&raced_fires, 1);
    sched_yield();
    atomic_fetch_sub(&inside, 1);
}
static void *fire_together(void *timer) {
    pthread_barrier_wait(&together);
    treadle_status status = treadle_timer_fire(timer);
    CHECK(status == TREADLE_OK || status == TREADLE_IGNORED);
    return (void *)(intptr_t)(status == TREADLE_OK);
}
TEST(a_timer_that_several_threads_fire, "NST-3 TMR-19 OBJ-6") {
    pthread_barrier_init(&together, NULL, 4);
    for (int round = 0; round < scaled(500); round++) {
        bool repeats = round % 2;
        pthread_t threads[4];
        int fired = 0;
        treadle_timer timer;
        atomic_store(&raced_fires, 0);
        CHECK_INT(treadle_timer_schedule(SECONDS(1000), repeats, be_alone, NULL, NULL, &timer), TREADLE_OK);
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, fire_together, timer), 0);
        for (int i = 0; i < 4; i++) {
            void *result;
            CHECK_INT(pthread_join(threads[i], &result), 0);
            fired += result != NULL;
        }
        CHECK_INT(raced_fires, fired);
        CHECK(repeats ? fired >= 1 : fired == 1);
        CHECK(treadle_timer_is_valid(timer) == repeats);
        end(timer);
    }
}

TEST_MAIN()
