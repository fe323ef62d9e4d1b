/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_level_test.c: timers that are fired by hand, and their end. */
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
    return armed_timer(fire, &fires, count_release, treadle_time_now() + interval_ns, repeats ? interval_ns : 0);
}
static void end(treadle_timer timer) {
    CHECK(treadle_timer_invalidate(timer) == TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
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
        treadle_timer timer = make_timer_with(TREADLE_TIMER_ENDS_AFTER_FIRING, look_inside, &fires, count_release, FAR_AWAY, 0);
        CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, MODE), TREADLE_OK);
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
    treadle_timer timer = armed_timer(look_inside, &fires, count_release, FAR_AWAY, SECONDS(1000));
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
    treadle_timer once = make_ending_timer(fire, NULL, FAR_AWAY), often = make_timer(fire, NULL, FAR_AWAY, SECONDS(1)),
                  without = make_ending_timer(NULL, NULL, FAR_AWAY);
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
    treadle_timer timer = armed_timer(invalidate_inside, &fires, count_release, FAR_AWAY, SECONDS(1000));
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
    treadle_timer timer = armed_timer(reschedule_inside, &fires, NULL, FAR_AWAY, SECONDS(1000));
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
    treadle_timer timer = armed_timer(run_inside, &fires, NULL, FAR_AWAY, SECONDS(1000));
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
    CHECK_INT(treadle_timer_get_context_info(timer, &info), TREADLE_OK);
    CHECK(info == &fires);
    on_thread(invalidate_it, timer);
    CHECK_INT(releases_counted, 1); /* what it kept is dropped */
    CHECK_INT(treadle_timer_get_context_info(timer, &info), TREADLE_OK);
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
                atomic_store(&raced_fires, 0);
        treadle_timer timer = repeats ? make_timer(be_alone, NULL, FAR_AWAY, SECONDS(1000)) : make_ending_timer(be_alone, NULL, FAR_AWAY);
        CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, MODE), TREADLE_OK);
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
