/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * discard_test.c: a timer that is invalidated and released in one call, in whatever state it is, by whomever; and timers
 * that are armed at a date in one call. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static atomic_int fired, released;
static void fire(treadle_timer timer, void *info) { (void)timer, (void)info, atomic_fetch_add(&fired, 1); }
static void count_release(void *info) { (void)info, atomic_fetch_add(&released, 1); }
static int take(atomic_int *counter) { return atomic_exchange(counter, 0); }

/* --- In every state ------------------------------------------------------------------------------- */

enum { HAS_RELEASE = 1, REPEATS = 2, IS_TOLERANT = 4, VARIANTS = 8 };
static treadle_timer make(int variant, int64_t fire_at) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire, .fire_at = fire_at};
    treadle_timer timer = NULL;
    if (variant & HAS_RELEASE) context.release = count_release;
    if (variant & REPEATS) context.interval_ns = SECONDS(1000);
    if (variant & IS_TOLERANT) context.tolerance_ns = SECONDS(1);
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    return timer;
}
static void add(treadle_timer timer, const char *mode) {
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, mode), TREADLE_OK);
}
static void be_left_alone(treadle_timer timer) { (void)timer; }
static void be_added(treadle_timer timer) { add(timer, M); }
static void be_added_twice(treadle_timer timer) { add(timer, "another"), add(timer, M); }
static void be_common(treadle_timer timer) { add(timer, TREADLE_COMMON_MODES); }
static void be_removed(treadle_timer timer) {
    add(timer, M);
    CHECK_INT(treadle_loop_remove_timer(treadle_loop_current(), timer, M), TREADLE_OK);
}
static void be_invalid(treadle_timer timer) {
    add(timer, M);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
}
static void (*const states[])(treadle_timer timer) = {be_left_alone, be_added, be_added_twice, be_common, be_removed, be_invalid};
enum { STATES = sizeof states / sizeof *states };

TEST(it_is_invalid_then_released, "OBJ-4 OBJ-5 TMR-7 MODE-7") {
    for (int variant = 0; variant < VARIANTS; variant++) {
        for (int state = 0; state < STATES; state++) {
            for (int is_shared = 0; is_shared < 2; is_shared++) {
                treadle_timer timer = make(variant, FAR_AWAY), neighbour = make(0, FAR_AWAY);
                int64_t at;
                add(neighbour, M);
                states[state](timer);
                if (is_shared) CHECK_INT(treadle_timer_retain(timer), TREADLE_OK);
                CHECK_INT(discard(timer), TREADLE_OK);
                CHECK_INT(take(&released), variant & HAS_RELEASE ? 1 : 0);
                CHECK(!treadle_timer_is_valid(timer));
                CHECK_INT(treadle_timer_get_next_fire(timer, &at), is_shared ? TREADLE_OK : TREADLE_E_STALE);
                if (is_shared) CHECK_INT(discard(timer), TREADLE_OK);
                CHECK_ERROR(discard(timer), TREADLE_E_STALE, "is not the handle");
                CHECK(treadle_timer_is_valid(neighbour) && treadle_loop_contains_timer(treadle_loop_current(), neighbour, M));
                CHECK_INT(discard(neighbour), TREADLE_OK);
                CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
                CHECK_INT(poll_mode("another"), TREADLE_RUN_FINISHED);
                CHECK_INT(take(&released), 0);
            }
        }
    }
    CHECK_INT(take(&fired), 0);
}
TEST(it_may_have_fired, "OBJ-4 TMR-15") {
    for (int variant = 0; variant < VARIANTS; variant++) {
        treadle_timer timer = make(variant, 1);
        add(timer, M);
        CHECK(poll_mode(M) >= 0);
        CHECK_INT(take(&fired), 1);
        CHECK_INT(discard(timer), TREADLE_OK);
        CHECK_INT(take(&released), variant & HAS_RELEASE ? 1 : 0);
        CHECK_ERROR(discard(timer), TREADLE_E_STALE, "is not the handle");
        CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    }
}
TEST(who_owns_no_reference_ends_it_all_the_same, "OBJ-2 OBJ-5") {
    for (int variant = 0; variant < VARIANTS; variant++) {
        for (int state = 1; state < 4; state++) {
            treadle_timer timer = make(variant, FAR_AWAY);
            states[state](timer);
            CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
            CHECK(treadle_timer_is_valid(timer)); /* its modes keep it */
            CHECK_ERROR(discard(timer), TREADLE_E_STALE, "is not the handle");
            CHECK(!treadle_timer_is_valid(timer));
            CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
            CHECK_INT(take(&released), variant & HAS_RELEASE ? 1 : 0);
        }
    }
}
/* Many: each one's neighbours in the queue stay in order, and its memory serves others. */
TEST(many_come_and_go_in_any_order, "TMR-11 TMR-23") {
    enum { TIMERS = 1000 };
    static treadle_timer timers[TIMERS];
    unsigned seed = 3;
    for (int round = 0; round < scaled(50); round++) {
        int64_t base = treadle_time_now() - SECONDS(1);
        int left = TIMERS;
        for (int i = 0; i < TIMERS; i++) {
            int64_t at = base + (rand_r(&seed) % 2 ? SECONDS(100) : 0) + rand_r(&seed) % 1000 * MILLISECONDS(1) / 2;
            timers[i] = armed_timer(fire, NULL, NULL, at, 0);
        }
        for (int i = 0; i < TIMERS; i++) {
            if (rand_r(&seed) % 3 == 0) continue;
            CHECK_INT(discard(timers[i]), TREADLE_OK);
            timers[i] = NULL;
            left--;
        }
        CHECK(poll_mode(M) >= 0);
        for (int i = 0; i < TIMERS; i++) {
            if (!timers[i]) continue;
            if (next_fire(timers[i]) != 0) left--;
            CHECK_INT(discard(timers[i]), TREADLE_OK);
        }
        CHECK_INT(take(&fired), left);
        CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    }
}

/* --- From callbacks ------------------------------------------------------------------------------- */

static treadle_timer others[3];
static void discard_itself_and_next(treadle_timer timer, void *info) {
    atomic_fetch_add(&fired, 1);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK(!treadle_timer_is_valid(timer));
    CHECK_INT(take(&released), 0); /* not before its callback is over */
    if (info) CHECK_INT(discard(*(treadle_timer *)info), TREADLE_OK);
}
TEST(a_callback_discards_its_own_timer_and_one_that_is_due, "TMR-7 TMR-13 OBJ-9") {
    for (int repeats = 0; repeats < 2; repeats++) {
        for (int i = 0; i < 3; i++) {
            treadle_timer_context context = {.struct_size = sizeof context, .fire = discard_itself_and_next, .fire_at = i + 1,
                                             .interval_ns = repeats * SECONDS(1000), .release = i == 2 ? count_release : NULL,
                                             .info = i == 0 ? &others[1] : NULL};
            CHECK_INT(treadle_timer_create(&context, &others[i]), TREADLE_OK);
            add(others[i], M);
        }
        CHECK(poll_mode(M) >= 0);
        CHECK_INT(take(&fired), 2);
        CHECK_INT(take(&released), 1);
        for (int i = 0; i < 3; i++) CHECK_INT(treadle_timer_retain(others[i]), TREADLE_E_STALE);
        CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    }
}
/* The client's release is called with no lock held: it makes a timer, and discards another. */
static void discard_in_release(void *info) {
    treadle_timer timer = NULL;
    atomic_fetch_add(&released, 1);
    timer = armed_timer(fire, NULL, NULL, FAR_AWAY, 0);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(discard(info), TREADLE_OK);
}
TEST(a_release_discards_another, "TMR-7 OBJ-4") {
    treadle_timer other = make(HAS_RELEASE, FAR_AWAY), timer = NULL;
    add(other, M);
    timer = armed_timer(fire, other, discard_in_release, FAR_AWAY, 0);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(take(&released), 2);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
}

/* --- From other threads --------------------------------------------------------------------------- */

/* Two threads have a reference each to timers that fire about now on a third one's loop. */
enum { RACERS = 2, SHARED = 16 };
static treadle_timer shared[SHARED];
static struct { atomic_int fired, released; } counts[SHARED];
static pthread_barrier_t barrier;
static void race_fire(treadle_timer timer, void *info) { (void)timer, atomic_fetch_add(&counts[(intptr_t)info].fired, 1); }
static void race_release(void *info) { atomic_fetch_add(&counts[(intptr_t)info].released, 1); }
static void *discard_all(void *number) {
    for (int round = scaled(300); round > 0; round--) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < SHARED; i++) {
            int k = number ? i : SHARED - 1 - i;
            CHECK_INT(discard(shared[k]), TREADLE_OK);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}
TEST(threads_discard_what_fires, "OBJ-4 OBJ-5 TMR-7 TMR-13") {
    pthread_t threads[RACERS];
    CHECK_INT(pthread_barrier_init(&barrier, NULL, RACERS + 1), 0);
    for (intptr_t i = 0; i < RACERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, discard_all, (void *)i), 0);
    for (int round = scaled(300); round > 0; round--) {
        for (intptr_t i = 0; i < SHARED; i++) {
            atomic_store(&counts[i].fired, 0);
            atomic_store(&counts[i].released, 0);
            int64_t at = treadle_time_now() + i * 1000;
            treadle_release_fn release = i % 2 ? race_release : NULL;
            shared[i] = armed_timer(race_fire, (void *)i, release, at, i % 4 == 3 ? 1000 : 0);
            CHECK_INT(treadle_timer_retain(shared[i]), TREADLE_OK);
        }
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 10; i++) CHECK(poll_mode(M) >= 0);
        pthread_barrier_wait(&barrier);
        CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
        for (int i = 0; i < SHARED; i++) {
            CHECK(i % 4 == 3 || atomic_load(&counts[i].fired) <= 1);
            CHECK_INT(atomic_load(&counts[i].released), i % 2);
            CHECK_INT(treadle_timer_retain(shared[i]), TREADLE_E_STALE);
        }
    }
    for (int i = 0; i < RACERS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&barrier);
}

/* Loops come and go, and with each the memory that it has kept for its next timers. A handle's number, bits 5 to 28, tells
 * how much there is. */
enum { LOOPS = 20, HELD = 100, KEPT = 96 /* two groups of free ones, and one that nobody has had yet */ };
static atomic_uint highest;
static treadle_timer arm(void) {
    treadle_timer timer = armed_timer(fire, NULL, NULL, FAR_AWAY, 0);
    unsigned number = (unsigned)((uintptr_t)timer >> 6) & 0xFFFFFF, known = atomic_load(&highest);
    while (number > known && !atomic_compare_exchange_weak(&highest, &known, number)) {}
    return timer;
}
static void *arm_and_discard(void *info) {
    treadle_timer timers[HELD];
    for (int i = 0; i < HELD; i++) timers[i] = arm();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < HELD; i++) CHECK_INT(discard(timers[i]), TREADLE_OK);
    pthread_barrier_wait(&barrier); /* all loops are there at a time */
    return info;
}
TEST(what_a_loop_has_kept_serves_others, "RL-8 OBJ-4") {
    pthread_t threads[LOOPS];
    CHECK_INT(pthread_barrier_init(&barrier, NULL, LOOPS), 0);
    for (int i = 0; i < LOOPS; i++) CHECK_INT(pthread_create(&threads[i], NULL, arm_and_discard, NULL), 0);
    for (int i = 0; i < LOOPS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    unsigned number = atomic_load(&highest);
    CHECK(number < 4096 + LOOPS * (HELD + KEPT)); /* the first ones are 4,093 and so on */
    for (int i = 0; i < LOOPS * HELD; i++) arm();
    CHECK(atomic_load(&highest) <= number + KEPT);
}
/* Timers of one loop that others discard: each is used once at a time, wherever its memory goes. */
static treadle_timer crowd[RACERS][HELD];
static atomic_int owners[1 << 16];
static void own(treadle_timer timer, int change) {
    CHECK_INT(atomic_fetch_add(&owners[((uintptr_t)timer >> 6) & 0xFFFF], change), change > 0 ? 0 : 1);
}
static void *discard_of_others(void *number) {
    treadle_timer *mine = crowd[(intptr_t)number], *theirs = crowd[1 - (intptr_t)number];
    for (int round = scaled(300); round > 0; round--) {
        for (int i = 0; i < HELD; i++) {
            mine[i] = armed_timer(fire, NULL, NULL, FAR_AWAY + i, 0);
            own(mine[i], 1);
        }
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < HELD; i++) {
            own(theirs[i], -1);
            CHECK_INT(discard(theirs[i]), TREADLE_OK);
        }
        pthread_barrier_wait(&barrier);
        CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    }
    return NULL;
}
TEST(threads_discard_timers_of_other_loops, "OBJ-4 OBJ-5") {
    pthread_t threads[RACERS];
    CHECK_INT(pthread_barrier_init(&barrier, NULL, RACERS), 0);
    for (intptr_t i = 0; i < RACERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, discard_of_others, (void *)i), 0);
    for (int i = 0; i < RACERS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&barrier);
}

/* Somebody waits for the end of a callback; the timer is discarded meanwhile. */
static sem_t in_callback, may_return;
static void stay(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    sem_post(&in_callback);
    await(&may_return);
}
static void *discard_it(void *timer) {
    CHECK_INT(discard(timer), TREADLE_OK);
    sem_post(&may_return);
    return NULL;
}
TEST(who_waits_for_a_callback_is_told, "OBJ-5 ABI-5") {
    struct worker worker;
    treadle_timer timer = NULL;
    CHECK_INT(sem_init(&in_callback, 0, 0), 0);
    CHECK_INT(sem_init(&may_return, 0, 0), 0);
    worker_start(&worker);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        timer = make_timer(stay, NULL, 1, 0);
        CHECK_INT(treadle_timer_retain(timer), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_OK);
        await(&in_callback);
        CHECK_INT(pthread_create(&thread, NULL, discard_it, timer), 0);
        CHECK_INT(treadle_timer_close(timer, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(discard(timer), TREADLE_OK);
        CHECK_INT(treadle_timer_retain(timer), TREADLE_E_STALE);
    }
    worker_stop(&worker);
}

/* --- Armed at a date ------------------------------------------------------------------------------ */

TEST(a_timer_at_a_date, "NST-5 TMR-1 TMR-2 TMR-8") {
    const int64_t dates[] = {INT64_MIN, -1, 0, 1, treadle_time_now() - 5, FAR_AWAY + 3, INT64_MAX - 1};
    const int64_t intervals[] = {0, 1, 999, 1000, 12345, INT64_MAX};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        for (size_t k = 0; k < sizeof intervals / sizeof *intervals; k++) {
            treadle_timer timer = NULL;
            int64_t interval = -1;
            treadle_release_fn release = i % 2 ? count_release : NULL;
            timer = armed_timer(fire, NULL, release, dates[i], intervals[k]);
            CHECK_INT(next_fire(timer), dates[i]);
            CHECK(treadle_loop_contains_timer(treadle_loop_current(), timer, M));
            CHECK_INT(treadle_timer_get_interval(timer, &interval), TREADLE_OK);
            if (intervals[k] < SECONDS(1)) CHECK_INT(interval, intervals[k] && intervals[k] < 1000 ? 1000 : intervals[k]);
            CHECK_INT(treadle_timer_repeats(timer), k > 0);
            CHECK(poll_mode(M) >= 0);
            CHECK_INT(take(&fired), dates[i] < treadle_time_now());
            CHECK_INT(next_fire(timer) != 0, k > 0 || dates[i] > treadle_time_now());
            CHECK_INT(discard(timer), TREADLE_OK);
            CHECK_INT(take(&released), i % 2);
        }
    }
}
TEST(a_timer_at_a_date_keeps_its_grid, "TMR-16 TMR-18") {
    int64_t first = treadle_time_now() - SECONDS(10) - 7, step = SECONDS(3);
    treadle_timer timer = armed_timer(fire, NULL, NULL, first, step);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(take(&fired), 1);
    CHECK(next_fire(timer) > first + 3 * step);
    CHECK_INT((next_fire(timer) - first) % step, 0);
}
TEST_MAIN()
