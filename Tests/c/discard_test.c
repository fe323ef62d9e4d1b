/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * discard_test.c: many timers that are invalidated and released in one call: what they leave, their place in the queue and their
 * memory, serves others. What happens to one item: item_states_test.c. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static atomic_int fired;
static void fire(treadle_timer timer, void *info) { (void)timer, (void)info, atomic_fetch_add(&fired, 1); }

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
        CHECK_INT(atomic_exchange(&fired, 0), left);
        CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    }
}

/* Loops come and go, and with each the memory that it has kept for its next timers. A handle's number, bits 5 to 28, tells
 * how much there is. */
enum { LOOPS = 20, HELD = 100, KEPT = 96 /* two groups of free ones, and one that nobody has had yet */ };
static atomic_uint highest;
static pthread_barrier_t barrier;
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
enum { RACERS = 2 };
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

TEST_MAIN()
