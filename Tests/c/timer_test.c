/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_test.c: timers as objects: dates, intervals, validity, context, loops, and how changes reach a
 * loop that sleeps. The clock of the calendar can be moved here: see clock_gettime below. */
#include "helpers.h"
#include <math.h>

static const char *const M = TREADLE_DEFAULT_MODE;

/* Takes the place of the C library's, for Treadle too, so that a test can move the wall clock. */
static _Atomic int64_t wall_clock_shift;
int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += atomic_load(&wall_clock_shift);
    return result;
}

static int64_t interval(treadle_timer timer) {
    int64_t nanoseconds = -1;
    CHECK_INT(treadle_timer_get_interval(timer, &nanoseconds), TREADLE_OK);
    return nanoseconds;
}
static treadle_timer make_absolute(double date, double seconds, treadle_timer_fn fire) {
    int64_t time, step;
    CHECK_INT(treadle_time_from_absolute(date, &time), TREADLE_OK);
    CHECK_INT(treadle_time_from_seconds(seconds, &step), TREADLE_OK);
    return make_timer(fire, NULL, time, step > 0 ? step : 0);
}
static void add(treadle_timer timer, const char *mode) {
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, mode), TREADLE_OK);
}

TEST(intervals, "TMR-1") {
    treadle_timer timer;
    timer = make_timer(NULL, NULL, FAR_AWAY, 0);
    CHECK(!treadle_timer_repeats(timer));
    CHECK_INT(interval(timer), 0);
    timer = make_timer(NULL, NULL, FAR_AWAY, 1);
    CHECK(treadle_timer_repeats(timer));
    CHECK_INT(interval(timer), 1000);
    CHECK_INT(interval(make_timer(NULL, NULL, FAR_AWAY, 999)), 1000);
    CHECK_INT(interval(make_timer(NULL, NULL, FAR_AWAY, 1001)), 1001);
    CHECK_INT(interval(make_absolute(0, 0, NULL)), 0);
    CHECK_INT(interval(make_absolute(0, -1.5, NULL)), 0);
    CHECK_INT(interval(make_absolute(0, -INFINITY, NULL)), 0);
    CHECK_INT(interval(make_absolute(0, 1e-12, NULL)), 1000);
    CHECK_INT(interval(make_absolute(0, 0.25, NULL)), 250000000);
    const int64_t year = SECONDS(31556952);
    int64_t longest = interval(make_timer(NULL, NULL, FAR_AWAY, INT64_MAX));
    CHECK(longest > 15 * year && longest < 17 * year);
    CHECK_INT(interval(make_absolute(0, 1e300, NULL)), longest);
    CHECK_INT(interval(make_absolute(0, INFINITY, NULL)), longest);
    treadle_timer_context context = {.struct_size = sizeof context, .interval_ns = -1};
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_RANGE, "interval");
    CHECK(timer == NULL);
    context.interval_ns = 0;
    CHECK_ERROR(treadle_timer_create(NULL, &timer), TREADLE_E_ARG, "context");
    CHECK_ERROR(treadle_timer_create(&context, NULL), TREADLE_E_ARG, "timer");
    context.struct_size = 8;
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_ARG, "struct_size");
}

TEST(dates_are_limited, "TMR-1") {
    double year = 31556952;
    for (int i = 0; i < 2; i++) {
        treadle_timer timer = make_absolute(i ? INFINITY : 1e300, 1, NULL);
        double date = treadle_time_to_absolute(next_fire(timer));
        CHECK(date > 118 * year && date < 138 * year); /* 2129, give or take */
        add(timer, M);
    }
    add(make_timer(NULL, NULL, TREADLE_FOREVER, 0), M);
    add(make_timer(NULL, NULL, TREADLE_FOREVER, 1), M);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(5), 0), TREADLE_RUN_TIMED_OUT);
}

static void stop_loop(treadle_timer timer, void *info) {
    (void)info;
    CHECK(treadle_time_now() >= next_fire(timer));
    treadle_loop_stop(treadle_loop_current());
}
TEST(the_wall_clock_does_not_move_a_timer, "TMR-2") {
    double now = treadle_time_to_absolute(treadle_time_now());
    treadle_timer later = make_absolute(now + 500, 0, NULL), soon = make_absolute(now + 0.02, 0, stop_loop);
    int64_t date = next_fire(later);
    CHECK(date >= treadle_time_now() + SECONDS(400) && date <= treadle_time_now() + SECONDS(500) + MILLISECONDS(1));
    add(later, M);
    atomic_store(&wall_clock_shift, 1000);
    CHECK(treadle_time_to_absolute(treadle_time_now()) > now + 900); /* the clock did move */
    CHECK_INT(next_fire(later), date);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK(treadle_timer_is_valid(later));
    atomic_store(&wall_clock_shift, -1000000);
    CHECK_INT(next_fire(later), date);
    add(soon, M);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK(next_fire(later) == date && next_fire(soon) == 0);
}

TEST(the_requested_date_is_reported_bit_for_bit, "TMR-2 TMR-17") {
    const int64_t dates[] = {0, 1, -1, 123456789, INT64_MIN, treadle_time_now() - 1, treadle_time_now() + SECONDS(77) + 3};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        treadle_timer timer = make_timer(NULL, NULL, dates[i], i % 2 ? 1000 : 0);
        CHECK_INT(next_fire(timer), dates[i]);
        add(timer, M);
        CHECK_INT(next_fire(timer), dates[i]);
        CHECK_INT(treadle_timer_set_next_fire(timer, dates[i] / 2), TREADLE_OK);
        CHECK_INT(next_fire(timer), dates[i] / 2);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    int64_t kept = FAR_AWAY + 17; /* on an unscheduled timer it is just stored */
    treadle_timer timer = make_timer(NULL, NULL, 5, 0);
    CHECK_INT(treadle_timer_set_next_fire(timer, kept), TREADLE_OK);
    CHECK_INT(next_fire(timer), kept);
    add(timer, "x");
    CHECK_INT(next_fire(timer), kept);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_set_next_fire(timer, kept), TREADLE_IGNORED);
}

static void check_valid(treadle_timer timer, void *info) {
    CHECK(treadle_timer_is_valid(timer));
    ++*(int *)info;
}
TEST(validity, "TMR-4 OBJ-5") {
    int fired = 0;
    int64_t order = 1;
    void *info = &fired;
    treadle_timer_context context = {.struct_size = sizeof context, .fire = check_valid, .info = &fired, .fire_at = 5,
                                     .flags = TREADLE_TIMER_ENDS_AFTER_FIRING};
    treadle_timer timer;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK(treadle_timer_is_valid(timer));
    add(timer, M);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fired, 1);
    CHECK(!treadle_timer_is_valid(timer));
    CHECK_INT(next_fire(timer), 0);
    CHECK(!treadle_loop_contains_timer(treadle_loop_current(), timer, M));
    CHECK_INT(treadle_timer_get_order(timer, &order), TREADLE_OK);
    CHECK_INT(order, 0); /* a timer has none (TMR-3) */
    CHECK_INT(treadle_timer_get_context_info(timer, &info), TREADLE_OK);
    CHECK(info == NULL);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_IGNORED);
    treadle_timer repeating = make_timer(check_valid, &fired, 5, SECONDS(1));
    CHECK_INT(treadle_timer_invalidate(repeating), TREADLE_OK);
    CHECK_INT(next_fire(repeating), 0);
    CHECK(treadle_timer_repeats(repeating));
    CHECK_INT(interval(repeating), SECONDS(1));
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    CHECK_INT(fired, 1);
}

TEST(one_loop_at_a_time, "TMR-6 MODE-5") {
    struct worker worker;
    treadle_loop loop = treadle_loop_current();
    int64_t date = FAR_AWAY;
    treadle_timer timer = make_timer(NULL, NULL, date, SECONDS(3));
    worker_start(&worker);
    add(timer, M), add(timer, "x");
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_IGNORED);
    CHECK(!treadle_loop_contains_timer(worker.loop, timer, M));
    CHECK_INT(treadle_loop_remove_timer(loop, timer, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_IGNORED); /* one mode is left */
    CHECK_INT(treadle_loop_remove_timer(loop, timer, "x"), TREADLE_OK);
    CHECK(treadle_timer_is_valid(timer));
    CHECK_INT(next_fire(timer), date);
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_OK);
    CHECK_INT(next_fire(timer), date);
    CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_IGNORED);
    worker_stop(&worker); /* the thread's end detaches it too */
    CHECK(treadle_timer_is_valid(timer));
    CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
    CHECK_INT(next_fire(timer), date);
}

struct counted {
    int retains, releases, fires;
    bool invalidates, releases_handle;
};
static void *retain(void *info) { return ((struct counted *)info)->retains++, info; }
static void release(void *info) { ((struct counted *)info)->releases++; }
static void fire_counted(treadle_timer timer, void *info) {
    struct counted *counted = info;
    void *seen = info;
    counted->fires++;
    CHECK_INT(counted->retains - counted->releases, 2); /* its own, and one for the callback */
    if (counted->releases_handle) CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    if (!counted->invalidates) return;
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK(counted->retains - counted->releases >= 1); /* the info lives until the callback is over */
    CHECK_INT(treadle_timer_get_context_info(timer, &seen), TREADLE_OK);
    CHECK(seen == NULL);
}
static treadle_timer make_counted(struct counted *counted, int64_t fire_at, int64_t interval_ns) {
    treadle_timer_context context = {.struct_size = sizeof context, .info = counted, .retain = retain, .release = release,
                                     .fire = fire_counted, .fire_at = fire_at, .interval_ns = interval_ns};
    treadle_timer timer;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    return timer;
}
TEST(context_around_callbacks, "TMR-7") {
    struct counted repeating = {0}, once = {.releases_handle = true}, ended = {.invalidates = true}, unused = {0};
    treadle_timer timer = make_counted(&repeating, 0, SECONDS(1000));
    CHECK_INT(repeating.retains, 1);
    add(timer, M);
    for (int fires = 1; fires <= 3; fires++) {
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(repeating.fires, fires);
        CHECK_INT(repeating.retains, 1 + fires);
        CHECK_INT(repeating.releases, fires);
        CHECK_INT(treadle_timer_set_next_fire(timer, 0), TREADLE_OK);
    }
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(repeating.releases, 4); /* at invalidation */
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(repeating.releases, 4); /* and only then */
    add(make_counted(&once, 0, 0), M); /* releases its last handle in its callback */
    timer = make_counted(&ended, 0, SECONDS(1));
    add(timer, M);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(once.fires * 100 + once.retains * 10 + once.releases, 122);
    CHECK_INT(ended.fires * 100 + ended.retains * 10 + ended.releases, 122);
    CHECK_INT(treadle_timer_release(make_counted(&unused, 0, 0)), TREADLE_OK); /* OBJ-4: never in a mode */
    CHECK_INT(unused.releases, 1);
}

static void post(treadle_timer timer, void *info) {
    (void)timer;
    sem_post(info);
}
TEST(due_timers_fire_in_a_sleeping_loop, "TMR-8 TMR-17 MODE-10") {
    struct worker worker;
    sem_t fired;
    sem_init(&fired, 0, 0);
    worker_start(&worker);
    treadle_timer repeating = make_timer(post, &fired, FAR_AWAY, SECONDS(100000));
    CHECK_INT(treadle_loop_add_timer(worker.loop, repeating, M), TREADLE_OK);
    for (int i = 0; i < scaled(100); i++) {
        treadle_timer timer = make_timer(post, &fired, i % 2 ? 1 : treadle_time_now(), 0);
        worker_await_sleep(&worker);
        CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_OK);
        await(&fired);
        worker_await_sleep(&worker);
        CHECK_INT(treadle_timer_set_next_fire(repeating, i % 2 ? 1 : treadle_time_now() + 50000), TREADLE_OK);
        await(&fired);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
    worker_stop(&worker);
}

TEST(the_next_date_of_a_mode, "TMR-9") {
    treadle_loop loop = treadle_loop_current();
    int64_t date = 5, far = FAR_AWAY;
    treadle_timer early = make_timer(NULL, NULL, far, 0), late = make_timer(NULL, NULL, far + 5, 0);
    CHECK_INT(treadle_loop_get_next_fire(loop, M, &date), TREADLE_OK);
    CHECK_INT(date, 0);
    CHECK_INT(treadle_loop_get_next_fire(loop, "unknown", &date), TREADLE_OK);
    CHECK_INT(date, 0);
    CHECK_ERROR(treadle_loop_get_next_fire(loop, NULL, &date), TREADLE_E_ARG, "mode");
    add(late, M), add(early, M), add(late, "x");
    CHECK_INT(treadle_loop_get_next_fire(loop, M, &date), TREADLE_OK);
    CHECK_INT(date, far);
    CHECK_INT(treadle_loop_get_next_fire(loop, "x", &date), TREADLE_OK);
    CHECK_INT(date, far + 5);
    CHECK_INT(treadle_timer_set_next_fire(late, -3), TREADLE_OK); /* the requested date, also a past one */
    CHECK_INT(treadle_loop_get_next_fire(loop, M, &date), TREADLE_OK);
    CHECK_INT(date, -3);
    CHECK_INT(treadle_timer_invalidate(late), TREADLE_OK);
    CHECK_INT(treadle_loop_get_next_fire(loop, M, &date), TREADLE_OK);
    CHECK_INT(date, far);
    CHECK_INT(treadle_loop_get_next_fire(loop, "x", &date), TREADLE_OK);
    CHECK_INT(date, 0);
    CHECK_INT(treadle_loop_remove_timer(loop, early, M), TREADLE_OK);
    CHECK_INT(treadle_loop_get_next_fire(loop, M, &date), TREADLE_OK);
    CHECK_INT(date, 0);
}

static int released_alone;
static void count_release(void *info) {
    (void)info;
    released_alone++;
}
static void fire_nothing(treadle_timer timer, void *info) { (void)timer, (void)info; }
TEST(release_without_retain_is_called_once, "TMR-7") {
    treadle_loop loop = treadle_loop_current();
    treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
    context.release = count_release;
    context.fire = fire_nothing;
    context.info = &released_alone;
    context.fire_at = 1;
    context.interval_ns = 1000;
    treadle_timer timer;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, "mode"), TREADLE_OK);
    for (int i = 0; i < 100; i++) CHECK_INT(treadle_loop_run(loop, "mode", 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(released_alone, 0);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(released_alone, 1);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(released_alone, 1);
}
TEST_MAIN()
