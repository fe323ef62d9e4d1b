/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * membership.c: what is in a mode while its loop makes a pass, and while other threads add and remove. */
#include "owner.h"

static counter performed;
static void count_perform(treadle_source self, void *info) {
    (void)self, (void)info;
    REQUIRE(counted(&freed) == 0);
    if (count(&performed) == 2) stop_loop(NULL);
}
static treadle_source second;
static void make_two(void) {
    source = make_source(count_perform, NULL, NULL);
    second = make_source(count_perform, count_release, NULL);
    add(source);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
    REQUIRE_OK(treadle_source_signal_and_wake(second));
}
SCENE(a_signalled_source_is_added_during_the_pass, "SRC0-6, MODE-7") {
    pthread_t owner = start_owner(make_two);
    add(second);
    REQUIRE_OK(treadle_loop_wake(loop));
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
    REQUIRE_OK(treadle_release(second));
    REQUIRE(counted(&performed) == 2 && counted(&freed) == 1);
}

static void add_one(void) {
    source = make_source(count_perform, count_release, NULL);
    add(source);
}
static void *remove_it(void *info) {
    treadle_status status = treadle_loop_remove(loop, source, TREADLE_DEFAULT_MODE);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    return info;
}
static void remove_against(void *(*other_thread)(void *)) {
    pthread_t owner = start_owner(add_one), other = start(other_thread, source);
    remove_it(NULL);
    join(other);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
}
SCENE(two_remove_a_source, "OBJ-3, SRC0-2") { remove_against(remove_it); }
static void *invalidate_it(void *item) {
    REQUIRE_OK(treadle_invalidate(item));
    return NULL;
}
SCENE(removal_against_invalidation, "OBJ-5, SRC0-2") { remove_against(invalidate_it); }

/* What signal handlers may call takes no lock of a loop: it comes anywhere between the owner's entry of its lock and its leave, while
 * another thread visits the loop. */
static void add_and_remove(treadle_source self, void *info) {
    (void)self, (void)info;
    add(second);
    REQUIRE_OK(treadle_loop_remove(loop, second, TREADLE_DEFAULT_MODE));
    count(&performed);
}
static void make_one_that_adds(void) {
    source = make_source(add_and_remove, NULL, NULL);
    second = make_source(count_perform, NULL, NULL);
    add(source);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
}
static void *visit(void *item) {
    treadle_status status = treadle_loop_add(loop, item, TREADLE_DEFAULT_MODE);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_CLOSED);
    return NULL;
}
SCENE(a_loop_is_woken_and_stopped_while_its_owner_enters_its_lock, "OBJ-10, WAKE-1, STOP-9") {
    treadle_source visitor = make_source(count_perform, NULL, NULL);
    pthread_t owner = start_owner(make_one_that_adds), other = start(visit, visitor);
    REQUIRE_OK(treadle_loop_wake(loop));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join(other);
    join_owner(owner);
    REQUIRE(counted(&performed) <= 1);
    REQUIRE_OK(treadle_release(source));
    REQUIRE_OK(treadle_release(second));
    REQUIRE_OK(treadle_release(visitor));
}

/* Behind a run that has ended since its mode is empty, its thread knows what came before that. */
static int before_removal;
static void *run_until_empty(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    add_one();
    explore_from_here();
    set(&is_there);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED);
    REQUIRE(before_removal == 1);
    return info;
}
SCENE(the_last_source_is_removed, "RUN-10, MODE-7") {
    pthread_t owner = start(run_until_empty, NULL);
    await(&is_there);
    before_removal = 1;
    remove_it(NULL);
    REQUIRE_OK(treadle_loop_wake(loop));
    join(owner);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(loop));
}

/* An observer that was added before a wake-up is told of the pass that follows. */
static void stop_when_told(treadle_observer self, uint32_t activity, void *info) {
    (void)self, (void)activity;
    stop_loop(info);
}
SCENE(an_observer_is_added_during_the_pass, "OBS-3") {
    pthread_t owner = start_owner(NULL);
    treadle_observer observer;
    treadle_observer_context context = {.struct_size = sizeof context, .notify = stop_when_told, .release = count_release,
                                        .activities = TREADLE_BEFORE_TIMERS};
    REQUIRE_OK(treadle_observer_create(&context, &observer));
    add(observer);
    REQUIRE_OK(treadle_loop_wake(loop));
    join_owner(owner);
    REQUIRE_OK(treadle_release(observer));
    REQUIRE(counted(&called) >= 1 && counted(&freed) == 1);
}

/* A post for the common modes is called in a mode that has become one before it. */
static void *run_in_another_mode(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    explore_from_here();
    set(&is_there);
    result = treadle_loop_run(loop, "other", TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    return info;
}
SCENE(a_mode_becomes_common_during_its_run, "MODE-8, BLK-4") {
    pthread_t owner = start(run_in_another_mode, NULL);
    await(&is_there);
    REQUIRE_OK(treadle_loop_add_common_mode(loop, "other"));
    REQUIRE_OK(treadle_loop_post(loop, stop_loop, NULL));
    join_owner(owner);
    REQUIRE(counted(&called) == 1);
}

/* A descriptor that is ready as long as anybody looks. Behind its end no pass finds it ready, however far the thread has come that ends
 * it. The mark of its end is set first, and the callback waits for that. */
int __wrap_sched_yield(void);
static treadle_descriptor always_ready;
static counter turns;
static void yield_until_invalid(treadle_descriptor self, uint32_t events, void *info) {
    (void)events, (void)info;
    while (treadle_is_valid(self)) __wrap_sched_yield();
}
static void count_turns(treadle_observer self, uint32_t activity, void *info) {
    (void)self, (void)activity, (void)info;
    if (!treadle_is_valid(always_ready)) REQUIRE(count(&turns) <= 3);
}
static void watch_one_that_is_always_ready(void) {
    treadle_observer observer;
    treadle_observer_context context = {.struct_size = sizeof context, .notify = count_turns, .activities = TREADLE_BEFORE_TIMERS};
    REQUIRE_OK(treadle_descriptor_start(__wrap_eventfd(1, 0), TREADLE_READABLE, yield_until_invalid, NULL, &always_ready));
    REQUIRE_OK(treadle_observer_create(&context, &observer));
    add(observer);
    REQUIRE_OK(treadle_release(observer));
}
SCENE(a_descriptor_that_is_being_ended_does_not_keep_its_loop_awake, "SRC1-11, OBJ-5") {
    pthread_t owner = start_owner(watch_one_that_is_always_ready);
    REQUIRE_OK(treadle_invalidate(always_ready));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(always_ready));
}

/* While a source is being invalidated, the loop's pass removes it, and a second source takes over its descriptor. If the events of the
 * first source are changed after that, the error is that it is invalid, not that the second one watches the descriptor. */
static void *change_its_events(void *info) {
    set(&is_there);
    treadle_status status = treadle_descriptor_set_events(always_ready, TREADLE_READABLE | TREADLE_WRITABLE);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STATE);
    return info;
}
SCENE(events_are_changed_of_a_source_that_is_being_ended, "SRC1-7, SRC1-11, OBJ-5") {
    treadle_descriptor successor = NULL;
    int number = __wrap_eventfd(1, 0);
    REQUIRE_OK(treadle_descriptor_start(number, TREADLE_READABLE, do_nothing_with, NULL, &always_ready));
    explore_from_here();
    pthread_t changing = start(change_its_events, NULL), ending = start(invalidate_it, always_ready);
    await(&is_there);
    REQUIRE(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) > 0);
    treadle_status status = treadle_descriptor_start(number, TREADLE_READABLE, do_nothing_with, NULL, &successor);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_EXISTS);
    join(changing);
    join(ending);
    REQUIRE_OK(treadle_release(always_ready));
    if (successor) REQUIRE_OK(treadle_release(successor));
}

/* The loop has watched nothing before. Another thread gives it its first descriptor, which is ready. */
static void stop_when_ready(treadle_descriptor self, uint32_t events, void *info) {
    (void)self, (void)events;
    stop_loop(info);
}
SCENE(another_thread_adds_the_first_descriptor, "SRC1-11, MODE-7") {
    treadle_descriptor_context context = {
        .struct_size = sizeof context, .ready = stop_when_ready, .fd = __wrap_eventfd(1, 0), .events = TREADLE_READABLE};
    REQUIRE_OK(treadle_descriptor_create(&context, &always_ready));
    pthread_t owner = start_owner(NULL);
    add(always_ready);
    join_owner(owner);
    REQUIRE(treadle_invalidate(always_ready) >= 0);
    REQUIRE_OK(treadle_release(always_ready));
}

/* Who sees that the loop waits sees what it did before. It does not sleep here: it asks the kernel, and goes on. */
static int done_before;
static void *look_whether_it_waits(void *info) {
    if (treadle_loop_is_waiting(loop)) REQUIRE(done_before == 1);
    return info;
}
SCENE(a_loop_is_seen_as_it_asks_for_descriptors, "WAKE-6") {
    loop = treadle_loop_current();
    watch_a_descriptor();
    explore_from_here();
    pthread_t other = start(look_whether_it_waits, NULL);
    done_before = 1;
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_TIMED_OUT);
    join(other);
}
