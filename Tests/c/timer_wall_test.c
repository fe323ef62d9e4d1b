/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_wall_test.c: timers on the wall clock, and what becomes of them when that is set. The program stands between the
 * library and the C library: its clock of the calendar can be moved, and what the kernel would say then is said by it. One
 * test sets the real clock, where TREADLE_TEST_SET_CLOCK is set and the machine permits it. */
#include "helpers.h"
#include <sys/timerfd.h>

static const char *const M = TREADLE_DEFAULT_MODE;

static _Atomic int64_t shift;
int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += atomic_load(&shift) / SECONDS(1);
    return result;
}
/* In place of a timer that is cancelled when the clock is set: a descriptor that is readable anew when the test says so. */
enum { WATCHES = 64 };
static atomic_int watches[WATCHES], watch_count, watch_error;
static bool is_real;
int timerfd_create(int clock, int flags) {
    if (clock != CLOCK_REALTIME || is_real) return (int)syscall(SYS_timerfd_create, clock, flags);
    if (watch_error) return errno = watch_error, -1;
    CHECK_INT(flags, TFD_NONBLOCK | TFD_CLOEXEC);
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}
int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    if (!(flags & TFD_TIMER_CANCEL_ON_SET) || is_real) return (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
    CHECK_INT(flags, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
    int number = atomic_fetch_add(&watch_count, 1);
    CHECK(number < WATCHES);
    atomic_store(&watches[number], fd);
    return 0;
}
/* A watch that was closed is another descriptor now, or none: only what is an eventfd still is told. */
static void set_clock(int64_t seconds) {
    atomic_fetch_add(&shift, SECONDS(seconds));
    for (int i = 0; i < watch_count; i++) eventfd_write(watches[i], 1);
}
static int64_t wall(void) {
    struct timespec now;
    CHECK_INT(clock_gettime(CLOCK_REALTIME, &now), 0);
    return SECONDS(now.tv_sec) + now.tv_nsec;
}

static atomic_int fires;
static void fire(treadle_timer timer, void *info) {
    (void)info;
    CHECK(wall() >= next_fire(timer)); /* never early */
    atomic_fetch_add(&fires, 1);
}
static int take(void) { return atomic_exchange(&fires, 0); }
static treadle_timer make_on_wall(treadle_timer_fn fn, void *info, int64_t fire_at, int64_t interval_ns) {
    return make_timer_with(TREADLE_TIMER_WALL_CLOCK, fn, info, NULL, fire_at, interval_ns);
}
static void add(treadle_timer timer, const char *mode) {
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, mode), TREADLE_OK);
}
static treadle_timer armed_on_wall(int64_t fire_at, int64_t interval_ns) {
    treadle_timer timer = make_on_wall(fire, NULL, fire_at, interval_ns);
    add(timer, M);
    return timer;
}
static void run(void) { CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED); }
/* The first looks at the kernel, behind its timers; the second fires what is due by that. */
static void poll_twice(void) {
    for (int i = 0; i < 2; i++) CHECK(poll_mode(M) >= 0);
}

TEST(a_date_on_the_wall_clock, "TMR-24 TMR-2 TMR-22") {
    for (int i = 0; i < 50; i++) {
        int64_t date = wall() + i * 20000;
        treadle_timer timer = armed_on_wall(date, 0);
        CHECK_INT(next_fire(timer), date);
        run();
        CHECK_INT(take(), 1);
        CHECK_INT(next_fire(timer), 0);
        date = wall() + 1000;
        CHECK_INT(treadle_timer_set_next_fire(timer, date), TREADLE_OK);
        CHECK_INT(next_fire(timer), date);
        run();
        CHECK_INT(take(), 1);
        int64_t before = wall();
        CHECK_INT(treadle_timer_arm(timer, SECONDS(5)), TREADLE_OK);
        CHECK(next_fire(timer) >= before + SECONDS(5) && next_fire(timer) <= wall() + SECONDS(5));
        CHECK_INT(discard(timer), TREADLE_OK);
    }
}

TEST(the_longest_dates_on_the_wall_clock, "TMR-24 TMR-1") {
    static const int64_t past[] = {0, -1, INT64_MIN, 1}, far[] = {TREADLE_FOREVER - 1, TREADLE_FOREVER - SECONDS(2000000000)};
    for (int i = 0; i < 4; i++) {
        treadle_timer timer = armed_on_wall(past[i], 0);
        run();
        CHECK_INT(take(), 1);
        CHECK_INT(discard(timer), TREADLE_OK);
    }
    for (int i = 0; i < 2; i++) {
        treadle_timer timer = armed_on_wall(far[i], i);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(next_fire(timer), far[i]);
        CHECK_INT(discard(timer), TREADLE_OK);
    }
    treadle_timer timer = armed_on_wall(TREADLE_FOREVER, 0);
    run(); /* idle */
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(fires, 0);
}

TEST(a_sleeping_loop_follows_the_clock, "TMR-24 TMR-8") {
    struct worker worker;
    treadle_timer timer = make_on_wall(fire, NULL, wall() + SECONDS(3600), 0), other = make_timer(NULL, NULL, FAR_AWAY, 0);
    worker_start(&worker);
    worker_await_sleep(&worker); /* on a word: the timer is what makes it watch descriptors */
    for (int i = 0; i < 20; i++) {
        if (i == 10) CHECK_INT(treadle_loop_add_timer(worker.loop, other, M), TREADLE_OK);
        int64_t date = wall() + SECONDS(3600);
        CHECK_INT(treadle_timer_set_next_fire(timer, date), TREADLE_OK);
        if (i == 0) CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_OK);
        worker_await_sleep(&worker);
        set_clock(i % 2 ? 3500 : -7200); /* not yet */
        worker_await_sleep(&worker);
        CHECK_INT(fires, 0);
        CHECK_INT(next_fire(timer), date);
        set_clock(i % 2 ? 200 : 10900);
        while (take() != 1) sched_yield();
        if (i == 15) CHECK_INT(treadle_loop_remove_timer(worker.loop, other, M), TREADLE_OK);
    }
    CHECK_INT(discard(timer), TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(discard(other), TREADLE_OK);
}

/* A loop that does not sleep sees it when it asks the kernel, which each pass without due timers does. */
TEST(a_loop_that_polls_follows_the_clock, "TMR-24 PASS-12") {
    treadle_timer timer = armed_on_wall(wall() + SECONDS(3600), 0);
    poll_twice();
    set_clock(3500);
    poll_twice();
    CHECK_INT(fires, 0);
    set_clock(100);
    poll_twice();
    CHECK_INT(take(), 1);
    CHECK_INT(treadle_timer_set_next_fire(timer, wall() + SECONDS(10)), TREADLE_OK);
    set_clock(-20); /* what would have been due by the old clock */
    poll_twice();
    CHECK_INT(treadle_timer_set_next_fire(timer, wall() + 1000), TREADLE_OK);
    run();
    CHECK_INT(take(), 1);
    CHECK_INT(discard(timer), TREADLE_OK);
}

TEST(its_grid_is_on_the_wall_clock, "TMR-24 TMR-16") {
    int64_t first = wall() - SECONDS(5), step = SECONDS(60);
    treadle_timer timer = armed_on_wall(first, step);
    poll_twice();
    CHECK_INT(take(), 1);
    CHECK_INT(next_fire(timer), first + step);
    set_clock(60 * 10);
    poll_twice();
    CHECK_INT(take(), 1); /* once for all dates that were missed */
    CHECK_INT(next_fire(timer), first + 11 * step);
    set_clock(-60 * 10);
    poll_twice();
    CHECK_INT(take(), 0);
    CHECK_INT(next_fire(timer), first + 11 * step);
    set_clock(60 * 11);
    poll_twice();
    CHECK_INT(take(), 1);
    CHECK_INT(next_fire(timer), first + 12 * step);
    CHECK_INT(discard(timer), TREADLE_OK);
}

static void note(treadle_timer timer, void *name) {
    (void)timer;
    trace("%s", (const char *)name);
}
TEST(they_fire_in_the_order_of_their_dates, "TMR-24 TMR-11 TMR-12") {
    for (int tolerant = 0; tolerant < 2; tolerant++) {
        int64_t base = wall() + SECONDS(3600);
        static const char *const names[] = {"a", "b", "c", "d"};
        treadle_timer timers[6];
        for (int i = 0; i < 4; i++) {
            timers[i] = make_on_wall(note, (void *)names[i], base + i, 0);
            if (tolerant) CHECK_INT(treadle_timer_set_tolerance(timers[i], SECONDS(1) * (4 - i)), TREADLE_OK);
        }
        for (int i = 3; i >= 0; i--) add(timers[i], M);
        timers[4] = armed_timer(note, "soon", NULL, treadle_time_now() - SECONDS(1), 0);
        timers[5] = armed_timer(note, "far", NULL, FAR_AWAY, 0);
        poll_twice();
        CHECK_TRACE("soon");
        set_clock(7200);
        /* On a machine that has been up for less than an hour, the dates on the wall clock are before 0 on the other. */
        CHECK_INT(treadle_timer_set_next_fire(timers[4], INT64_MIN), TREADLE_OK);
        poll_twice();
        CHECK_TRACE("soon a b c d");
        for (int i = 0; i < 6; i++) CHECK_INT(discard(timers[i]), TREADLE_OK);
    }
}

TEST(it_follows_in_every_mode_and_loop, "TMR-24 TMR-6 MODE-8") {
    static const char *const modes[] = {"a", "b", TREADLE_DEFAULT_MODE};
    treadle_timer timer = make_on_wall(fire, NULL, wall() + SECONDS(3600), 0);
    add(timer, "a");
    add(timer, "b");
    add(timer, M);
    for (int i = 0; i < 3; i++) {
        set_clock(3600);
        for (int k = 0; k < 2; k++) CHECK(poll_mode(modes[i]) >= 0);
        CHECK_INT(take(), 1);
        CHECK_INT(treadle_timer_set_next_fire(timer, wall() + SECONDS(3600)), TREADLE_OK);
        set_clock(3500);
        for (int k = 0; k < 3; k++) CHECK_INT(poll_mode(modes[k]), TREADLE_RUN_TIMED_OUT);
        set_clock(-3500);
    }
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_loop_remove_timer(treadle_loop_current(), timer, modes[i]), TREADLE_OK);
    set_clock(3600); /* nobody looks */
    add(timer, M);
    poll_twice();
    CHECK_INT(take(), 1);
    CHECK_INT(treadle_timer_arm(timer, SECONDS(1)), TREADLE_OK);
    set_clock(2);
    poll_twice();
    CHECK_INT(take(), 1);
    CHECK_INT(discard(timer), TREADLE_OK);
}

static void *add_one(void *error) {
    watch_error = (int)(intptr_t)error;
    treadle_timer timer = make_on_wall(fire, NULL, wall() + 1000, 0);
    if (watch_error == EMFILE) {
        CHECK_ERROR(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_E_SYSTEM, "timerfd");
        CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    } else { /* without being told, it fires by the clock as it was */
        add(timer, M);
        set_clock(3600);
        run();
        CHECK_INT(take(), 1);
    }
    CHECK_INT(discard(timer), TREADLE_OK);
    return NULL;
}
TEST(what_the_kernel_refuses, "TMR-24") {
    static const int errors[] = {0, ENOSYS, EPERM, EMFILE};
    int before = count_descriptors();
    for (int i = 0; i < 4; i++) on_thread(add_one, (void *)(intptr_t)errors[i]);
    watch_error = 0;
    CHECK_INT(count_descriptors(), before);
}

/* The clock of the machine goes ahead for as long as the loop needs to see it. */
static int64_t shown(void) {
    struct timespec now;
    CHECK_INT(syscall(SYS_clock_gettime, CLOCK_REALTIME, &now), 0);
    return SECONDS(now.tv_sec) + now.tv_nsec;
}
static bool move_real_clock(int64_t nanoseconds) {
    int64_t date = shown() + nanoseconds;
    struct timespec at = {.tv_sec = date / SECONDS(1), .tv_nsec = date % SECONDS(1)};
    return clock_settime(CLOCK_REALTIME, &at) == 0;
}
TEST(the_real_clock_is_set, "TMR-24") {
    struct worker worker;
    is_real = true;
    if (!getenv("TREADLE_TEST_SET_CLOCK") || !move_real_clock(0)) {
        printf("the_real_clock_is_set: skipped, since the clock may not be set here\n");
        return;
    }
    treadle_timer timer = make_on_wall(fire, NULL, shown() + SECONDS(30), 0);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_OK);
    worker_await_sleep(&worker);
    CHECK(move_real_clock(SECONDS(30)));
    while (fires == 0) sched_yield();
    CHECK(move_real_clock(-SECONDS(30)));
    CHECK_INT(treadle_timer_set_next_fire(timer, shown() + 1000), TREADLE_OK);
    while (fires == 1) sched_yield();
    CHECK_INT(discard(timer), TREADLE_OK);
    worker_stop(&worker);
}

TEST_MAIN()
