/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timers.c: timers that other threads set, end and close while their loop sleeps for them or fires them. */
#include "owner.h"

static treadle_timer timer;
enum { MILLISECOND = 1000000 };
static const int64_t HOUR = 3600000000000;

static void stop_in_time(treadle_timer self, void *info) {
    (void)self, (void)info;
    REQUIRE(treadle_time_now() < 1000000000000 + HOUR); /* virtual time begins at 1,000 seconds */
    stop_loop(NULL);
}
static void add_timer(treadle_timer_fn fire, int64_t delay) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire, .release = count_release, .info = &timer,
                                     .fire_at = treadle_time_now() + delay};
    REQUIRE_OK(treadle_timer_create(&context, &timer));
    add(timer);
}
static void add_a_late_one(void) { add_timer(stop_in_time, HOUR); }
static void add_a_late_one_in_epoll(void) {
    watch_a_descriptor();
    add_a_late_one();
}
static void set_and_join(pthread_t owner) {
    REQUIRE_OK(treadle_timer_set_next_fire(timer, treadle_time_now() + MILLISECOND));
    join_owner(owner);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE(counted(&called) == 1 && counted(&freed) == 1);
}
SCENE(a_date_that_comes_closer_ends_the_sleep, "TMR-11") { set_and_join(start_owner(add_a_late_one)); }
SCENE(a_date_that_comes_closer_ends_the_sleep_in_epoll, "TMR-11") { set_and_join(start_owner(add_a_late_one_in_epoll)); }

/* The mode's first: what keeps its timers is made while the owner makes a pass. */
SCENE(a_timer_is_added_by_another_thread, "TMR-11, MODE-10") {
    pthread_t owner = start_owner(NULL);
    add_timer(stop_in_time, MILLISECOND);
    join_owner(owner);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE(counted(&called) == 1 && counted(&freed) == 1);
}

/* What keeps the mode's timers is new also to who finds the dates that one on the wall clock has worked out. */
SCENE(a_timer_on_the_wall_clock_is_added_behind_another, "TMR-11, TMR-24") {
    pthread_t owner = start_owner(NULL);
    add_timer(stop_in_time, MILLISECOND);
    treadle_timer_context context = {.struct_size = sizeof context, .fire = stop_in_time, .flags = TREADLE_TIMER_WALL_CLOCK,
                                     .fire_at = TREADLE_FOREVER};
    treadle_timer late;
    REQUIRE_OK(treadle_timer_create(&context, &late));
    add(late);
    join_owner(owner);
    REQUIRE_OK(treadle_release(late));
    REQUIRE_OK(treadle_release(timer));
    REQUIRE(counted(&called) == 1 && counted(&freed) == 1);
}

static counter firing;
static void count_fire(treadle_timer self, void *info) {
    (void)self, (void)info;
    REQUIRE(counted(&freed) == 0 && count(&firing) == 1);
    count(&called);
    use_released();
    atomic_fetch_sub_explicit(&firing, 1, memory_order_relaxed);
    REQUIRE(counted(&freed) == 0);
}
static void add_one_that_is_due(void) { add_timer(count_fire, 0); }
SCENE(a_timer_is_closed_while_it_fires, "OBJ-9, TMR-7") {
    pthread_t owner = start_owner(add_one_that_is_due);
    REQUIRE_OK(treadle_close(timer, TREADLE_FOREVER));
    int calls = counted(&called);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&called) == calls && counted(&freed) == 1);
}

/* Two are due. The pass that has both finds that the second has ended, and its loop ends before that one is taken out. */
static treadle_timer first_due;
static void add_two_that_are_due(void) {
    add_timer(stop_in_time, 0);
    first_due = timer;
    add_timer(count_fire, 0);
}
SCENE(a_timer_is_invalidated_while_the_loop_that_has_collected_it_ends, "TMR-7, OBJ-5, RL-8") {
    pthread_t owner = start_owner(add_two_that_are_due);
    REQUIRE(treadle_invalidate(timer) >= 0);
    REQUIRE_OK(treadle_release(timer));
    join_owner(owner);
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(first_due));
    REQUIRE(counted(&freed) == 2);
}

/* The other way around: the pass goes on behind the one that has ended, and nobody holds the loop, whose end must find it. */
static struct event may_run;
static void *run_until_the_second_stops(void *info) {
    loop = treadle_loop_current();
    add_timer(count_fire, -MILLISECOND);
    first_due = timer;
    add_timer(stop_in_time, 0);
    set(&is_there);
    await(&may_run);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_STOPPED);
    return info;
}
SCENE(a_timer_is_invalidated_while_the_loop_that_has_passed_over_it_ends, "TMR-7, OBJ-5, RL-8") {
    pthread_t owner = start(run_until_the_second_stops, NULL);
    await(&is_there);
    explore_from_here();
    set(&may_run);
    REQUIRE(treadle_invalidate(first_due) >= 0);
    REQUIRE_OK(treadle_release(first_due));
    join(owner);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE(counted(&freed) == 2);
}

/* Of two who set a timer, the later decides: it fires once. */
static void *set_soon(void *info) {
    REQUIRE_OK(treadle_timer_set_next_fire(timer, treadle_time_now() + MILLISECOND));
    return info;
}
SCENE(a_timer_is_set_by_two, "TMR-11") {
    pthread_t owner = start_owner(add_a_late_one), other = start(set_soon, NULL);
    set_soon(NULL);
    join(other);
    join_owner(owner);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE(counted(&called) == 1 && counted(&freed) == 1);
}

static void stop_and_join(pthread_t owner) {
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE(counted(&freed) == 1);
}
static void add_a_late_one_that_counts(void) { add_timer(count_fire, HOUR); }
static void *invalidate_timer(void *info) {
    REQUIRE_OK(treadle_invalidate(timer));
    return info;
}
SCENE(a_timer_is_set_against_its_invalidation, "TMR-4, NST-4") {
    pthread_t owner = start_owner(add_a_late_one_that_counts), other = start(invalidate_timer, NULL);
    treadle_status status = treadle_timer_set_next_fire(timer, treadle_time_now() + 1000);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    join(other);
    int calls = counted(&called);
    REQUIRE(calls <= (status == TREADLE_OK));
    stop_and_join(owner);
}
/* By hand on another thread, and by the loop: never both at a time. */
SCENE(a_timer_is_fired_by_two, "NST-3, TMR-19") {
    pthread_t owner = start_owner(add_one_that_is_due);
    treadle_status status = treadle_timer_fire(timer);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    stop_and_join(owner);
    REQUIRE(counted(&called) >= 1 && counted(&called) <= 2);
}

/* A one-shot timer is given up by its loop and by its client. */
SCENE(a_timer_fires_while_it_is_released, "TMR-7, OBJ-4") {
    pthread_t owner = start_owner(add_one_that_is_due);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&called) <= 1 && counted(&freed) == 1);
}
SCENE(a_timer_fires_while_it_is_invalidated_and_released, "TMR-7, OBJ-5") {
    pthread_t owner = start_owner(add_one_that_is_due), other = start(invalidate_timer, NULL);
    join(other);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&called) <= 1 && counted(&freed) == 1);
}

static treadle_observer observer;
static void count_notice(treadle_observer self, uint32_t activity, void *info) {
    (void)self, (void)activity;
    REQUIRE(info == &observer && counted(&freed) == 0);
    count(&called);
    use_released();
    REQUIRE(counted(&freed) == 0);
}
static void add_an_observer_for_once(void) {
    treadle_observer_context context = {.struct_size = sizeof context, .notify = count_notice, .release = count_release, .info = &observer,
                                        .activities = TREADLE_BEFORE_WAITING, .once = 1};
    REQUIRE_OK(treadle_observer_create(&context, &observer));
    add(observer);
}
SCENE(an_observer_is_notified_while_it_is_released, "OBS-6, OBS-8") {
    pthread_t owner = start_owner(add_an_observer_for_once);
    REQUIRE_OK(treadle_release(observer));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&called) <= 1 && counted(&freed) == 1);
}
SCENE(an_observer_is_closed_while_it_is_notified, "OBS-8, OBJ-9") {
    pthread_t owner = start_owner(add_an_observer_for_once);
    REQUIRE_OK(treadle_close(observer, TREADLE_FOREVER));
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(observer));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}

/* A timer that nobody can set any more, and that has no date, is freed at once, not with its loop. */
static void *set_for_ever(void *unused) {
    treadle_status status = treadle_timer_set_next_fire(timer, TREADLE_FOREVER);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STALE || status == TREADLE_IGNORED);
    if (status == TREADLE_OK) count(&called);
    return unused;
}
SCENE(a_timer_gets_no_date_while_it_is_released, "TMR-7, OBJ-4") {
    pthread_t owner = start_owner(add_a_late_one_that_counts), other = start(set_for_ever, NULL);
    REQUIRE_OK(treadle_release(timer));
    join(other);
    REQUIRE(counted(&freed) == counted(&called));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&freed) == 1);
}

static void add_one_without_a_date(void) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = stop_in_time, .release = count_release, .info = &timer,
                                     .fire_at = TREADLE_FOREVER};
    REQUIRE_OK(treadle_timer_create(&context, &timer));
    add(timer);
}
SCENE(a_timer_without_a_date_gets_one, "TMR-11") { set_and_join(start_owner(add_one_without_a_date)); }

/* A timer that has no date after it has fired, and that its client has released meanwhile, is freed then, not with its loop. */
static void look_whether_it_is_freed(void *unused) {
    (void)unused;
    REQUIRE(!counted(&called) || counted(&freed) == 1);
    REQUIRE_OK(treadle_loop_stop(loop));
}
SCENE(a_timer_is_idle_by_firing_while_it_is_released, "TMR-7, OBJ-4") {
    pthread_t owner = start_owner(add_one_that_is_due);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE_OK(treadle_loop_post(loop, look_whether_it_is_freed, NULL));
    join_owner(owner);
    REQUIRE(counted(&freed) == 1);
}

/* A date that is set while the timer fires counts when its callback has returned. */
static struct event fires, is_set_again;
static void wait_for_a_date(treadle_timer self, void *info) {
    (void)self, (void)info;
    if (count(&called) == 2) REQUIRE_OK(treadle_loop_stop(loop));
    set(&fires);
    await(&is_set_again);
}
static void add_one_that_waits(void) { add_timer(wait_for_a_date, HOUR); }
SCENE(a_timer_is_set_again_while_it_fires, "TMR-17") {
    pthread_t owner = start_owner(add_one_that_waits);
    set_soon(NULL);
    await(&fires);
    set_soon(NULL);
    set(&is_set_again);
    join_owner(owner);
    REQUIRE_OK(treadle_release(timer));
    REQUIRE(counted(&called) == 2 && counted(&freed) == 1);
}

/* The same of a one-shot with nothing but a function, which nobody owns by then: it would end without the date. */
static void start_one_that_waits(void) { REQUIRE_OK(treadle_timer_start(HOUR, 0, wait_for_a_date, NULL, &timer)); }
SCENE(a_one_shot_is_set_again_and_released_while_it_fires, "TMR-17, TMR-15") {
    pthread_t owner = start_owner(start_one_that_waits);
    set_soon(NULL);
    await(&fires);
    set_soon(NULL);
    REQUIRE_OK(treadle_release(timer));
    set(&is_set_again);
    join_owner(owner);
    REQUIRE(counted(&called) == 2 && treadle_retain(timer) == TREADLE_E_STALE);
}
/* Its life ends once, whether its loop or another thread drops the last reference. */
static void fire_and_stop(treadle_timer self, void *info) {
    (void)self, (void)info;
    stop_loop(NULL);
}
static void start_one(void) { REQUIRE_OK(treadle_timer_start(0, 0, fire_and_stop, NULL, &timer)); }
SCENE(a_one_shot_is_released_while_it_fires, "OBJ-4, OBJ-11") {
    pthread_t owner = start_owner(start_one);
    REQUIRE_OK(treadle_retain(timer));
    REQUIRE_OK(treadle_release(timer));
    REQUIRE_OK(treadle_release(timer));
    join_owner(owner);
    REQUIRE(counted(&called) == 1 && treadle_retain(timer) == TREADLE_E_STALE);
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire_and_stop, .fire_at = treadle_time_now() + HOUR};
    treadle_timer first, second;
    REQUIRE_OK(treadle_timer_create(&context, &first));
    REQUIRE_OK(treadle_timer_create(&context, &second));
    REQUIRE(first != second);
    REQUIRE_OK(treadle_release(first));
    REQUIRE_OK(treadle_release(second));
}

/* The last reference of a timer in no mode goes while another thread, which has none, has it get what a tolerance needs. */
static void *give_a_tolerance(void *info) {
    treadle_status status = treadle_timer_set_tolerance(timer, MILLISECOND);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STALE);
    return info;
}
SCENE(a_timer_gets_a_tolerance_while_it_is_released, "OBJ-11, TMR-5") {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = stop_in_time, .fire_at = treadle_time_now() + HOUR};
    REQUIRE_OK(treadle_timer_create(&context, &timer));
    treadle_timer first = timer, second;
    explore_from_here();
    pthread_t other = start(give_a_tolerance, NULL);
    REQUIRE_OK(treadle_release(first));
    REQUIRE_OK(treadle_timer_create(&context, &second));
    int64_t tolerance;
    REQUIRE_OK(treadle_timer_get_tolerance(second, &tolerance));
    REQUIRE(tolerance == 0);
    join(other);
    REQUIRE(treadle_release(first) == TREADLE_E_STALE);
    REQUIRE_OK(treadle_release(second));
}
