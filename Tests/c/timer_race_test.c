/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_race_test.c: several threads make, add, move, invalidate and fire the same timers, each with a loop of its own. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE
enum { THREADS = 3, TIMERS = 6, STEPS = 60 };

struct shared {
    treadle_timer timer;
    atomic_int fired, released;
};
static struct shared shared[TIMERS];
static treadle_loop loops[THREADS];
static pthread_barrier_t barrier;

static void fire(treadle_timer timer, void *info) {
    (void)timer;
    atomic_fetch_add(&((struct shared *)info)->fired, 1);
}
static void count_release(void *info) { atomic_fetch_add(&((struct shared *)info)->released, 1); }

/* Every other timer has a release, which makes it one that more is to be known of. */
static bool has_release(int i) { return i % 2 != 0; }
/* Half end after firing; the others fire again when they are moved again (TMR-24). */
static bool ends(int i) { return i % 4 < 2; }
static void make_shared(int i) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire, .info = &shared[i], .fire_at = FAR_AWAY};
    if (ends(i)) context.flags = TREADLE_TIMER_ENDS_AFTER_FIRING;
    if (has_release(i)) context.release = count_release;
    atomic_store(&shared[i].fired, 0);
    atomic_store(&shared[i].released, 0);
    CHECK_INT(treadle_timer_create(&context, &shared[i].timer), TREADLE_OK);
}

static void do_something(unsigned *seed, treadle_loop own) {
    treadle_timer timer = shared[rand_r(seed) % TIMERS].timer;
    treadle_loop other = loops[rand_r(seed) % THREADS];
    int64_t date;
    switch (rand_r(seed) % 10) {
    case 0:
    case 1:
    case 2: CHECK(treadle_loop_add_timer(own, timer, MODE) >= 0); break;
    case 3: CHECK(treadle_loop_add_timer(other, timer, rand_r(seed) % 2 ? TREADLE_COMMON_MODES : "elsewhere") >= 0); break;
    case 4: CHECK(treadle_loop_remove_timer(other, timer, rand_r(seed) % 2 ? MODE : TREADLE_COMMON_MODES) >= 0); break;
    case 5: CHECK(treadle_timer_set_next_fire(timer, treadle_time_now() + rand_r(seed) % 20000) >= 0); break;
    case 6: CHECK(treadle_timer_set_next_fire(timer, rand_r(seed) % 2 ? FAR_AWAY : TREADLE_FOREVER) >= 0); break;
    case 7:
        if (rand_r(seed) % 4 == 0) CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
        break;
    case 8: CHECK(treadle_timer_get_next_fire(timer, &date) >= 0); break;
    default: CHECK(treadle_loop_run(own, MODE, 0, 0) >= 0);
    }
}

static void *race(void *info) {
    intptr_t number = (intptr_t)info;
    unsigned seed = (unsigned)number * 7919 + 17;
    loops[number] = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(loops[number]), TREADLE_OK);
    for (int round = scaled(400); round > 0; round--) {
        if (number == 0) {
            for (int i = 0; i < TIMERS; i++) make_shared(i);
        }
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < STEPS; i++) do_something(&seed, loops[number]);
        pthread_barrier_wait(&barrier);
        if (number == 0) {
            for (int i = 0; i < TIMERS; i++) {
                int in = 0;
                for (int k = 0; k < THREADS; k++) in += treadle_loop_contains_timer(loops[k], shared[i].timer, MODE);
                CHECK(in <= (treadle_timer_is_valid(shared[i].timer) ? 1 : 0));
                CHECK_INT(treadle_timer_invalidate(shared[i].timer), TREADLE_OK);
            }
        }
        pthread_barrier_wait(&barrier);
        /* Whatever the loop still counted would keep it from being empty. */
        CHECK_INT(treadle_loop_run(loops[number], MODE, 0, 0), TREADLE_RUN_FINISHED);
        CHECK_INT(treadle_loop_run(loops[number], "elsewhere", 0, 0), TREADLE_RUN_FINISHED);
        pthread_barrier_wait(&barrier);
        if (number == 0) {
            for (int i = 0; i < TIMERS; i++) {
                int64_t date;
                CHECK(!ends(i) || atomic_load(&shared[i].fired) <= 1);
                CHECK_INT(atomic_load(&shared[i].released), has_release(i));
                CHECK_INT(treadle_timer_release(shared[i].timer), TREADLE_OK);
                CHECK_INT(treadle_timer_get_next_fire(shared[i].timer, &date), TREADLE_E_STALE);
            }
        }
    }
    pthread_barrier_wait(&barrier);
    CHECK_INT(treadle_loop_release(loops[number]), TREADLE_OK);
    return NULL;
}

TEST(threads_that_share_timers_agree_what_becomes_of_them, "MODE-5 OBJ-4 OBJ-5 TMR-4 TMR-7 TMR-13 TMR-17 TMR-24") {
    pthread_t threads[THREADS];
    CHECK_INT(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (intptr_t i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, race, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&barrier);
}

/* One loop, whose own thread and others add to it and take away at once: nothing is counted twice, or not at all. */
enum { EACH = 200 };
static atomic_int gone;
static void never_fire(treadle_timer timer, void *info) { (void)timer, (void)info, atomic_fetch_add(&gone, 1); }

static void come_and_go(treadle_loop loop) {
    treadle_timer timers[EACH];
    for (int round = scaled(20); round > 0; round--) {
        for (int i = 0; i < EACH; i++) {
            timers[i] = make_timer(never_fire, NULL, FAR_AWAY + i * MILLISECONDS(1), 0);
            CHECK_INT(treadle_loop_add_timer(loop, timers[i], MODE), TREADLE_OK);
        }
        for (int i = 0; i < EACH; i++) {
            int k = (int)((unsigned)i * 77 % EACH);
            CHECK_INT(treadle_timer_invalidate(timers[k]), TREADLE_OK);
            CHECK_INT(treadle_timer_release(timers[k]), TREADLE_OK);
        }
    }
}
static void *come_and_go_elsewhere(void *loop) {
    come_and_go(loop);
    return NULL;
}

TEST(timers_come_and_go_from_all_sides, "MODE-7 OBJ-5 TMR-6 TMR-23") {
    pthread_t threads[THREADS];
    treadle_loop loop = treadle_loop_current();
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, come_and_go_elsewhere, loop), 0);
    come_and_go(loop);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(atomic_load(&gone), 0);
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_FINISHED);
}

/* Many timers of one date and of few dates: all due at once, in the order of their dates, then of their coming. */
enum { MANY = 5000 };
static int64_t dates[MANY];
static int turns[MANY], next_turn;
static void take_turn(treadle_timer timer, void *info) {
    (void)timer;
    turns[next_turn++] = (int)(intptr_t)info;
}
TEST(thousands_that_are_due_at_once_keep_their_order, "TMR-11 TMR-12 TMR-15 TMR-22") {
    treadle_loop loop = treadle_loop_current();
    static treadle_timer timers[MANY];
    unsigned seed = 5;
    int64_t base = treadle_time_now() + MILLISECONDS(1);
    for (int i = 0; i < MANY; i++) {
        /* Some slots of the wheel full, others with one; every third moved afterwards, half of these to an earlier date. */
        dates[i] = base + (i % 2 ? rand_r(&seed) % 8 : rand_r(&seed) % 3000000);
        timers[i] = make_timer(take_turn, (void *)(intptr_t)i, i % 3 ? dates[i] : dates[i] + (i % 2 ? 900000 : -900000), 0);
        CHECK_INT(treadle_loop_add_timer(loop, timers[i], MODE), TREADLE_OK);
    }
    for (int i = 0; i < MANY; i += 3) CHECK_INT(treadle_timer_set_next_fire(timers[i], dates[i]), TREADLE_OK);
    while (treadle_time_now() < base + 3000000) sched_yield();
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(next_turn, MANY);
    for (int i = 1; i < MANY; i++) {
        int one = turns[i - 1], other = turns[i];
        CHECK(dates[one] <= dates[other]);
        /* What was moved came later than all that were not. */
        if (dates[one] == dates[other]) CHECK((one % 3 == 0) == (other % 3 == 0) ? one < other : other % 3 == 0);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(next_fire(timers[i]), 0);
        CHECK_INT(treadle_timer_release(timers[i]), TREADLE_OK);
    }
}

/* A timer that its callback moves to another loop is queued there when the callback is over, and the loop sleeps. */
static struct worker new_home;
static sem_t moved_fires;
static void move_once(treadle_timer timer, void *info) {
    if (thread_id() == new_home.thread_id) {
        CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
        sem_post(&moved_fires);
        return;
    }
    CHECK_INT(treadle_loop_remove_timer(info, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(new_home.loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    worker_await_sleep(&new_home);
}
TEST(a_timer_that_its_callback_moves_fires_in_the_other_loop, "MODE-5 MODE-10 TMR-16") {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(sem_init(&moved_fires, 0, 0), 0);
    worker_start(&new_home);
    for (int round = scaled(100); round > 0; round--) {
        treadle_timer timer = make_timer(move_once, loop, 1, MILLISECONDS(1));
        CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
        worker_await_sleep(&new_home);
        CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
        await(&moved_fires);
        CHECK_INT(treadle_timer_close(timer, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
    worker_stop(&new_home);
}

TEST_MAIN()
