/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal.c: signals of a source against its perform, its end, and its way into and out of a mode. */
#include "owner.h"

static counter given;
/* Each signal leads to a perform that sees what was written before it. */
static void stop_behind_the_last(treadle_source self, void *info) {
    (void)self;
    count(&called);
    if (counted(&given) == (int)(intptr_t)info) REQUIRE_OK(treadle_loop_stop(loop));
}
static void add_a_source(void) {
    source = make_source(stop_behind_the_last, count_release, (void *)2);
    add(source);
}
static void *signal_once(void *info) {
    count(&given);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
    return info;
}
SCENE(two_signals_of_one_thread, "SRC0-6") {
    pthread_t owner = start_owner(add_a_source);
    signal_once(NULL);
    signal_once(NULL);
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
}
SCENE(signals_of_two_threads, "SRC0-6") {
    pthread_t owner = start_owner(add_a_source), other = start(signal_once, NULL);
    signal_once(NULL);
    join(other);
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
}

/* Who signals without waking, and who only wakes, are two. */
static void *signal_silently(void *info) {
    count(&given);
    REQUIRE_OK(treadle_source_signal(source));
    return info;
}
SCENE(one_signals_and_another_wakes, "SRC0-6, SRC0-13") {
    pthread_t owner = start_owner(add_a_source), other = start(signal_silently, NULL);
    signal_once(NULL);
    join(other);
    REQUIRE_OK(treadle_loop_wake(loop));
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
}

static void count_call(treadle_source self, void *info) {
    (void)self, (void)info;
    REQUIRE(counted(&freed) == 0);
    use_released();
    count(&called);
    REQUIRE(counted(&freed) == 0);
}
static void add_one_that_counts(void) {
    source = make_source(count_call, count_release, NULL);
    add(source);
}
static void *signal_whatever_is_there(void *info) {
    treadle_status status = treadle_source_signal_and_wake(source);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STALE);
    return info;
}
SCENE(a_signal_against_invalidation_and_release, "OBJ-5, OBJ-11, SRC0-2") {
    pthread_t owner = start_owner(add_one_that_counts), other = start(signal_whatever_is_there, NULL);
    REQUIRE_OK(treadle_invalidate(source));
    REQUIRE_OK(treadle_release(source));
    join(other);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&freed) == 1 && counted(&called) <= 1);
}
SCENE(a_signal_against_removal, "SRC0-4, SRC0-6") {
    pthread_t owner = start_owner(add_one_that_counts), other = start(signal_whatever_is_there, NULL);
    REQUIRE_OK(treadle_loop_remove(loop, source, TREADLE_DEFAULT_MODE));
    join(other);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&called) <= 1);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
}

static void stop_at_once(treadle_source self, void *info) {
    (void)self, (void)info;
    stop_loop(NULL);
}
static void make_one_that_stops(void) { source = make_source(stop_at_once, count_release, NULL); }
static void *add_the_source(void *info) {
    add(source);
    return info;
}
SCENE(a_signal_against_adding, "SRC0-6") {
    pthread_t owner = start_owner(make_one_that_stops), other = start(add_the_source, NULL);
    REQUIRE_OK(treadle_source_signal(source));
    join(other);
    end_by_the_signal(owner);
}

/* Of two signals that become one, the wake-up of either counts, whichever thread queues the source. */
static counter woken;
static void stop_once_woken(treadle_source self, void *info) {
    (void)self, (void)info;
    if (counted(&woken)) stop_loop(NULL);
}
static void add_one_that_stops_once_woken(void) {
    source = make_source(stop_once_woken, NULL, NULL);
    add(source);
}
static void add_one_to_two_modes(void) {
    add_one_that_stops_once_woken();
    REQUIRE_OK(treadle_loop_add(loop, source, "second"));
}
static void wake_beside_a_silent_signal(void (*prepare)(void)) {
    pthread_t owner = start_owner(prepare), other = start(signal_silently, NULL);
    REQUIRE_OK(treadle_loop_wake(loop)); /* by which the second signal may find a wake-up noted */
    count(&woken);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
    join(other);
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
}
SCENE(a_wake_up_beside_a_silent_signal, "SRC0-6, SRC0-13") { wake_beside_a_silent_signal(add_one_that_stops_once_woken); }
SCENE(a_wake_up_beside_a_silent_signal_in_two_modes, "SRC0-6, SRC0-13") { wake_beside_a_silent_signal(add_one_to_two_modes); }

/* The same, where the first of a run clears the wake-up that may be found. */
static struct event is_prepared, may_run;
static void prepare_and_wait(void (*prepare)(void)) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    prepare();
    set(&is_prepared);
    await(&may_run);
}
static void run(void) { result = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY); }
static void *own_a_woken_loop(void *unused) {
    prepare_and_wait(add_one_that_stops_once_woken);
    run();
    return unused;
}
static void *signal_and_wake_once(void *unused) {
    count(&woken);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
    return unused;
}
SCENE(a_silent_signal_beside_a_wake_up, "SRC0-6, SRC0-13, WAKE-1") {
    pthread_t owner = start(own_a_woken_loop, NULL);
    await(&is_prepared);
    REQUIRE_OK(treadle_loop_wake(loop)); /* the run that begins clears it */
    pthread_t other = start(signal_and_wake_once, NULL);
    explore_from_here();
    set(&may_run);
    signal_silently(NULL);
    join(other);
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
}

/* A run performs a source that a caller saw as signalled, or signalled, before it began, also while another signal of the source
 * is in progress. */
static void add_one_that_stops(void) {
    make_one_that_stops();
    add(source);
}
static void *run_once_seen(void *unused) {
    prepare_and_wait(add_one_that_stops);
    if (!treadle_source_is_signalled(source)) REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    run();
    return unused;
}
static void *signal_and_run(void *unused) {
    prepare_and_wait(add_one_that_stops);
    REQUIRE_OK(treadle_source_signal(source));
    run();
    return unused;
}
static void run_beside_a_silent_signal(void *(*body)(void *)) {
    pthread_t owner = start(body, NULL);
    await(&is_prepared);
    explore_from_here();
    set(&may_run);
    signal_silently(NULL);
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
}
SCENE(a_run_after_the_source_was_seen_as_signalled, "SRC0-6") { run_beside_a_silent_signal(run_once_seen); }
SCENE(a_run_after_a_signal_beside_another, "SRC0-6") { run_beside_a_silent_signal(signal_and_run); }
