/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * recent_time_test.c: the time that a loop has read last: how old it is, when it is read again, and what reads the clock
 * at all. The program stands between the library and the C library's clock, and counts. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static atomic_int readings;
int clock_gettime(clockid_t clock, struct timespec *now) {
    if (clock == CLOCK_MONOTONIC) atomic_fetch_add(&readings, 1);
    return (int)syscall(SYS_clock_gettime, clock, now);
}
static int64_t tick(void) {
    struct timespec t;
    CHECK_INT(clock_gettime(CLOCK_MONOTONIC_COARSE, &t), 0);
    return SECONDS(t.tv_sec) + t.tv_nsec;
}
static void let_pass(int64_t time) {
    while (treadle_time_now() <= time) {}
}
/* A reading, and the clock has gone on since. */
static int64_t read_and_go_on(void) {
    int64_t time = treadle_time_recent();
    CHECK(time <= treadle_time_now());
    let_pass(time);
    return time;
}
static treadle_source add_source(treadle_perform_fn perform, void *info, const char *mode) {
    treadle_source source = make_source(perform, info);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, mode), TREADLE_OK);
    return source;
}
static void add_observer(treadle_observer_fn notify, uint32_t activities, const char *mode) {
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), make_observer(notify, NULL, activities), mode), TREADLE_OK);
}
static void run_until_stopped(const char *mode) {
    CHECK_INT(treadle_loop_run(treadle_loop_current(), mode, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
}
static void stop(void) { CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK); }

static int64_t seen[64];
static int count;
static void note(void *info) {
    (void)info;
    seen[count++] = read_and_go_on();
}
static void on_source(treadle_source source, void *info) { (void)source, note(info); }

TEST(each_callback_has_its_own_reading, "RUN-14") {
    treadle_loop loop = treadle_loop_current();
    treadle_source sources[] = {add_source(on_source, NULL, M), add_source(on_source, NULL, M)};
    for (int pass = 0; pass < 3; pass++) {
        int64_t before = treadle_time_now();
        count = 0;
        CHECK_INT(treadle_loop_post(loop, note, NULL), TREADLE_OK);
        for (int i = 0; i < 2; i++) CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(count, 3);
        CHECK(seen[0] >= before);
        CHECK(seen[1] > seen[0]);
        CHECK(seen[2] > seen[1]);
    }
}

/* Each pass of a run takes its own, also one that only performs what its sources have signalled, or others. */
static sem_t wanted, given;
static void *signal_when_wanted(void *source) {
    for (int i = 0; i < 8; i++) {
        await(&wanted);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        sem_post(&given);
    }
    return NULL;
}
static void signal_again(treadle_source source, void *by_another) {
    note(NULL);
    CHECK_INT(treadle_time_recent(), seen[count - 1]);
    if (count > 1) CHECK(seen[count - 1] > seen[count - 2]);
    if (count == 9) {
        stop();
    } else if (*(bool *)by_another) {
        sem_post(&wanted);
        await(&given);
    } else {
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(treadle_loop_wake(treadle_loop_current()), TREADLE_OK);
    }
}
TEST(each_pass_takes_its_own, "RUN-14") {
    for (int with_observer = 0; with_observer < 2; with_observer++) {
        for (int by_another = 0; by_another < 2; by_another++) {
            bool is_by_another = by_another;
            pthread_t thread;
            treadle_source source = add_source(signal_again, &is_by_another, M);
            CHECK_INT(sem_init(&wanted, 0, 0), 0);
            CHECK_INT(sem_init(&given, 0, 0), 0);
            if (by_another) CHECK_INT(pthread_create(&thread, NULL, signal_when_wanted, source), 0);
            count = 0;
            CHECK_INT(treadle_source_signal(source), TREADLE_OK);
            run_until_stopped(M);
            CHECK_INT(count, 9);
            if (by_another) CHECK_INT(pthread_join(thread, NULL), 0);
            CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
        }
        if (!with_observer) add_observer(NULL, TREADLE_ALL_ACTIVITIES, M); /* the second time */
    }
}

static void read_around_the_sleep(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    note(info);
}
static void stop_fired(treadle_timer timer, void *info) {
    (void)timer;
    note(info);
    stop();
}
TEST(a_sleep_ends_a_reading, "RUN-14") {
    treadle_timer timer = make_timer(stop_fired, NULL, treadle_time_now() + MILLISECONDS(20), 0);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    add_observer(read_around_the_sleep, TREADLE_BEFORE_WAITING | TREADLE_AFTER_WAITING, M);
    run_until_stopped(M);
    CHECK(count >= 3); /* more, if the machine was so slow that the timer was due already */
    for (int i = 1; i < count; i++) CHECK(seen[i] > seen[i - 1]);
}

/* In its pass somebody has read before the date. */
static int64_t date;
static void check_date(treadle_timer timer, void *info) {
    int64_t served = 0;
    CHECK_INT(treadle_timer_get_next_fire(timer, &served), TREADLE_OK);
    CHECK_INT(served, date);
    CHECK(treadle_time_recent() >= served);
    note(info);
}
static void arm_and_let_pass(treadle_source source, void *info) {
    (void)source;
    note(info);
    date = treadle_time_now() + 1000;
    for (int i = 0; i < 2; i++) armed_timer(check_date, NULL, NULL, date, 0);
    let_pass(date);
    CHECK_INT(treadle_time_recent(), seen[0]); /* still the one before the date */
}
TEST(a_timer_is_not_told_a_time_before_its_date, "TMR-22 RUN-14") {
    treadle_source source = add_source(arm_and_let_pass, NULL, M);
    for (int i = 0; i < 20; i++) {
        count = 0;
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(count, 3);
        CHECK(seen[1] > seen[0]);
        CHECK(seen[2] > seen[1]);
    }
}

static void run_inside(treadle_source source, void *info) {
    (void)source, (void)info;
    int64_t outer = read_and_go_on();
    CHECK_INT(treadle_source_signal(add_source(on_source, NULL, "inside")), TREADLE_OK);
    CHECK_INT(poll_mode("inside"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(count, 2);
    CHECK(seen[0] > outer); /* from the entry observer on */
    CHECK(seen[1] > seen[0]);
    CHECK(treadle_time_recent() >= seen[1]);
}
TEST(a_run_inside_takes_its_own, "RUN-12 RUN-14") {
    add_observer(read_around_the_sleep, TREADLE_ENTRY, "inside");
    CHECK_INT(treadle_source_signal(add_source(run_inside, NULL, M)), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(count, 2);
}

TEST(a_run_begins_with_none, "RUN-14") {
    treadle_source source = add_source(on_source, NULL, M);
    add_observer(read_around_the_sleep, TREADLE_ENTRY, M);
    for (int i = 0; i < 3; i++) {
        int64_t before = read_and_go_on();
        count = 0;
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(count, 2);
        CHECK(seen[0] > before);
        CHECK(seen[1] >= seen[0]);
    }
}

TEST(outside_of_runs_it_lasts_a_tick, "RUN-14") {
    CHECK(treadle_loop_current());
    for (int ticks = 0; ticks < 5;) {
        int64_t begun = tick(), first = treadle_time_recent();
        int before = atomic_load(&readings);
        for (int i = 0; i < 100; i++) CHECK(treadle_time_recent() >= first);
        int after = atomic_load(&readings);
        bool has_ticked = tick() != begun;
        CHECK(first >= begun);
        CHECK(has_ticked || after == before);
        if (has_ticked) continue;
        while (tick() == begun) {}
        begun = tick();
        CHECK(treadle_time_recent() > first);
        CHECK(treadle_time_recent() >= begun);
        ticks++;
    }
}

static void *read_without_loop(void *info) {
    for (int i = 0; i < 10; i++) {
        int64_t before = treadle_time_now();
        CHECK(treadle_time_recent() >= before);
        read_and_go_on();
    }
    return info;
}
TEST(a_thread_without_a_loop_gets_the_present, "RUN-14") { on_thread(read_without_loop, NULL); }

static int64_t last;
static void check_order(void *info) {
    (void)info;
    int64_t time = treadle_time_recent();
    CHECK(time >= last);
    last = time;
}
TEST(it_never_goes_back, "RUN-14") {
    unsigned seed = 5;
    check_order(NULL); /* without a loop */
    treadle_loop loop = treadle_loop_current();
    for (int i = 0; i < scaled(20000); i++) {
        int64_t before = tick();
        check_order(NULL);
        CHECK(last >= before);
        if (rand_r(&seed) % 3 == 0) let_pass(last);
        if (rand_r(&seed) % 2) CHECK_INT(treadle_loop_post(loop, check_order, NULL), TREADLE_OK);
        CHECK(poll_mode(M) >= 0);
    }
}

static void read_often(treadle_source source, void *info) {
    (void)source, (void)info;
    int before = atomic_load(&readings);
    for (int i = 0; i < 100; i++) treadle_time_recent();
    CHECK_INT(atomic_load(&readings) - before, 1);
}
TEST(a_callback_reads_the_clock_once, "RUN-14") {
    CHECK_INT(treadle_source_signal(add_source(read_often, NULL, M)), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
}

static int passes;
static void go_on(treadle_source source, void *info) {
    (void)info;
    if (++passes == 1000) stop();
    else CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
TEST(a_pass_that_nobody_asks_reads_no_clock, "RUN-14") {
    CHECK_INT(treadle_source_signal(add_source(go_on, NULL, M)), TREADLE_OK);
    int before = atomic_load(&readings);
    run_until_stopped(M);
    CHECK_INT(atomic_load(&readings) - before, 0);
    CHECK_INT(passes, 1000);
}

TEST(who_gives_a_date_reads_no_clock, "TMR-17 NST-1") {
    enum { TIMERS = 100 };
    treadle_timer timers[TIMERS];
    int64_t base = FAR_AWAY;
    armed_timer(stop_fired, NULL, NULL, base, 0); /* the first one makes the loop, and the queue */
    int before = atomic_load(&readings);
    for (int i = 0; i < TIMERS; i++) {
        timers[i] = armed_timer(stop_fired, NULL, NULL, base + i, i % 2 * SECONDS(1));
    }
    for (int i = 0; i < TIMERS; i++) {
        CHECK_INT(treadle_timer_set_next_fire(timers[i], base + SECONDS(1)), TREADLE_OK); /* later, and earlier */
        CHECK_INT(treadle_timer_set_next_fire(timers[i], base - SECONDS(1)), TREADLE_OK);
    }
    for (int i = 0; i < TIMERS; i++) CHECK_INT(discard(timers[i]), TREADLE_OK);
    CHECK_INT(atomic_load(&readings) - before, 0);
}

TEST_MAIN()
