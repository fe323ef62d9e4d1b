/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_grid_test.c: the grid of repeating timers, missed dates, removal without a wake, and large
 * numbers of timers. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static void add(treadle_timer timer) { CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK); }

struct grid {
    int64_t anchor, interval, served; /* served: what the timer must report in its callback */
    int fires;
};
static void serve(treadle_timer timer, void *info) {
    struct grid *grid = info;
    grid->fires++;
    CHECK_INT(next_fire(timer), grid->served);
}
/* Fires once in a poll, however many dates were missed, and is then on the next point of its grid. */
static void check_one_fire(struct grid *grid, treadle_timer timer) {
    int fires = grid->fires;
    grid->served = next_fire(timer);
    int64_t before = treadle_time_now();
    CHECK(grid->served <= before);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    int64_t after = treadle_time_now(), next = next_fire(timer);
    CHECK_INT(grid->fires, fires + 1);
    CHECK(next > before);                      /* later than the callback, which came after `before` */
    CHECK(next - grid->interval <= after);     /* the first such point */
    CHECK_INT((__int128)(next - (__int128)grid->anchor) % grid->interval, 0);
}
static void check_missed(int64_t anchor, int64_t interval_ns) {
    struct grid grid = {.anchor = anchor, .interval = interval_ns};
    treadle_timer timer = make_timer(serve, &grid, anchor, interval_ns);
    add(timer);
    check_one_fire(&grid, timer);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}

TEST(missed_dates_are_one_fire, "TMR-16 TMR-18 D-10") {
    int64_t now = treadle_time_now(), day = SECONDS(86400);
    check_missed(now - SECONDS(25) / 10, SECONDS(1)); /* a first date that was past when it was set */
    check_missed(now - 1, SECONDS(1000));
    check_missed(now, SECONDS(1000));
    check_missed(now - SECONDS(3000), SECONDS(1000));
    check_missed(now - day, 1000);          /* a microsecond timer after a day */
    check_missed(now - 3650 * day, 1000);   /* after ten years: 10^14 dates, not to be counted one by one */
    check_missed(now - 3650 * day, 7777777);
    check_missed(-5, 1000003);
    check_missed(INT64_MIN, SECONDS(1000));
    check_missed(INT64_MIN + 1, 1000);
    check_missed(INT64_MIN, INT64_MAX / 100 * 5); /* about 15 years */
}

TEST(the_grid_does_not_drift, "TMR-16") {
    struct grid grid = {.anchor = treadle_time_now() + 12345, .interval = 777777};
    treadle_timer timer = make_timer(serve, &grid, grid.anchor, grid.interval);
    add(timer);
    for (int i = 0; i < 50; i++) {
        while (treadle_time_now() < next_fire(timer) + i * 50000) {} /* always late, and ever more */
        check_one_fire(&grid, timer);
    }
}

TEST(a_moved_timer_has_a_new_grid, "TMR-17 TMR-16") {
    struct grid grid = {.anchor = treadle_time_now() - SECONDS(7), .interval = SECONDS(2)};
    treadle_timer timer = make_timer(serve, &grid, FAR_AWAY, grid.interval);
    add(timer);
    for (int i = 0; i < 5; i++) {
        grid.anchor += 99 + i;
        CHECK_INT(treadle_timer_set_next_fire(timer, grid.anchor), TREADLE_OK);
        CHECK_INT(next_fire(timer), grid.anchor);
        check_one_fire(&grid, timer);
    }
}

TEST(a_timer_in_two_modes_fires_once_a_date, "TMR-16 MODE-8") {
    struct grid grid = {.anchor = treadle_time_now() - SECONDS(7), .interval = SECONDS(2000)};
    treadle_loop loop = treadle_loop_current();
    treadle_timer timer = make_timer(serve, &grid, grid.anchor, grid.interval);
    CHECK_INT(treadle_loop_add_common_mode(loop, "x"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_COMMON_MODES), TREADLE_OK);
    check_one_fire(&grid, timer);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(grid.fires, 1);
}

static atomic_int wakes, fires;
static void count_wake(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    atomic_fetch_add(&wakes, 1);
}
static void count_fire(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    atomic_fetch_add(&fires, 1);
}

/* Takes a timer out of a loop that sleeps on it. */
struct removal {
    struct sleep_watch watch;
    treadle_timer timer;
    void (*end)(struct removal *);
    atomic_bool over;
    bool removed;
};
static void by_removal(struct removal *removal) {
    CHECK(treadle_loop_remove_timer(removal->watch.loop, removal->timer, M) >= 0); /* ignored if it fired */
}
static void by_invalidation(struct removal *removal) { CHECK_INT(treadle_timer_invalidate(removal->timer), TREADLE_OK); }
static void by_postponing(struct removal *removal) {
    CHECK(treadle_timer_set_next_fire(removal->timer, FAR_AWAY) >= 0);
}
static void *remove_from_a_sleeper(void *info) {
    struct removal *removal = info;
    while (!is_fast_asleep(&removal->watch) && !atomic_load(&removal->over)) sched_yield();
    if (atomic_load(&removal->over)) return NULL;
    removal->end(removal);
    removal->removed = true;
    return NULL;
}
static void end_while_asleep(void (*end)(struct removal *)) {
    treadle_loop loop = treadle_loop_current();
    treadle_observer observer = make_observer(count_wake, NULL, TREADLE_AFTER_WAITING);
    struct removal removal = {.end = end};
    CHECK_INT(treadle_loop_add_observer(loop, observer, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, make_source(NULL, NULL), M), TREADLE_OK);
    watch_sleep(&removal.watch, loop, M);
    do { /* again if the other thread came too late, and the timer fired */
        pthread_t thread;
        removal.removed = false;
        atomic_store(&removal.over, false), atomic_store(&wakes, 0), atomic_store(&fires, 0);
        removal.timer = make_timer(count_fire, NULL, treadle_time_now() + MILLISECONDS(100), 0);
        add(removal.timer);
        CHECK_INT(pthread_create(&thread, NULL, remove_from_a_sleeper, &removal), 0);
        CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(200), 0), TREADLE_RUN_TIMED_OUT);
        atomic_store(&removal.over, true);
        CHECK_INT(pthread_join(thread, NULL), 0);
        treadle_timer_invalidate(removal.timer);
    } while (!removal.removed || fires > 0);
    CHECK_INT(wakes, 1); /* the end of the run, and nothing at the old date */
}
TEST(removal_from_a_sleeping_loop_wakes_nothing, "TMR-10 D-15") { end_while_asleep(by_removal); }
TEST(invalidation_in_a_sleeping_loop_wakes_nothing, "TMR-10 D-15") { end_while_asleep(by_invalidation); }
TEST(postponing_in_a_sleeping_loop_wakes_nothing, "TMR-10 D-15") { end_while_asleep(by_postponing); }

static void remove_timer(treadle_source source, void *info) {
    (void)source;
    CHECK(treadle_loop_remove_timer(treadle_loop_current(), *(treadle_timer *)info, M) >= 0);
}
TEST(removal_before_the_sleep_disarms, "TMR-10 D-15") {
    treadle_loop loop = treadle_loop_current();
    treadle_timer timer;
    treadle_observer observer = make_observer(count_wake, NULL, TREADLE_AFTER_WAITING);
    treadle_source source = make_source(remove_timer, &timer);
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    do { /* again if the test was so slow that the timer fired, or the time of the run was over before its sleep */
        timer = make_timer(count_fire, NULL, treadle_time_now() + MILLISECONDS(30), 0);
        fires = wakes = 0;
        add(timer);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT); /* whatever a poll arms */
        treadle_loop_add_observer(loop, observer, M);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(60), 0), TREADLE_RUN_TIMED_OUT);
    } while (fires > 0 || wakes == 0);
    CHECK_INT(wakes, 1);
}

static int64_t last_date;
static int fired_in_order;
static void fire_in_order(treadle_timer timer, void *info) {
    (void)info;
    CHECK(next_fire(timer) >= last_date);
    last_date = next_fire(timer);
    fired_in_order++;
}
TEST(a_hundred_thousand_timers, "TMR-23 TMR-11") {
    int count = scaled(100000);
    unsigned seed = 4711;
    treadle_timer *timers = malloc((size_t)count * sizeof *timers);
    for (int i = 0; i < count; i++) {
        timers[i] = make_timer(fire_in_order, NULL, i % 2 ? 1 + rand_r(&seed) : FAR_AWAY + rand_r(&seed), 0);
        add(timers[i]);
    }
    for (int i = count - 1; i > 0; i--) { /* in random order */
        int other = rand_r(&seed) % (i + 1);
        treadle_timer timer = timers[i];
        timers[i] = timers[other], timers[other] = timer;
    }
    for (int i = 0; i < count / 2; i++) CHECK_INT(treadle_timer_set_next_fire(timers[i], 1 + rand_r(&seed)), TREADLE_OK);
    int expected = 0;
    for (int i = 0; i < count; i++) expected += next_fire(timers[i]) <= treadle_time_now();
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fired_in_order, expected);
    for (int i = 0; i < count; i++) CHECK_INT(treadle_timer_invalidate(timers[i]), TREADLE_OK); /* those that fired too */
    for (int i = 0; i < count; i++) CHECK_INT(treadle_timer_release(timers[i]), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    free(timers);
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
        CHECK_INT(treadle_loop_add_timer(loop, timers[i], M), TREADLE_OK);
    }
    for (int i = 0; i < MANY; i += 3) CHECK_INT(treadle_timer_set_next_fire(timers[i], dates[i]), TREADLE_OK);
    while (treadle_time_now() < base + 3000000) sched_yield();
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
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
    CHECK_INT(treadle_loop_remove_timer(info, timer, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(new_home.loop, timer, M), TREADLE_OK);
    worker_await_sleep(&new_home);
}
TEST(a_timer_that_its_callback_moves_fires_in_the_other_loop, "MODE-5 MODE-10 TMR-16") {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(sem_init(&moved_fires, 0, 0), 0);
    worker_start(&new_home);
    for (int round = scaled(100); round > 0; round--) {
        treadle_timer timer = make_timer(move_once, loop, 1, MILLISECONDS(1));
        CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
        worker_await_sleep(&new_home);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        await(&moved_fires);
        CHECK_INT(treadle_timer_close(timer, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
    worker_stop(&new_home);
}

TEST_MAIN()
