/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * moves.c: items that leave one loop and join another, by different threads. */
#include "owner.h"

static treadle_loop second;
static void *add_to_second(void *item) {
    REQUIRE_OK(treadle_loop_add(second, item, TREADLE_DEFAULT_MODE));
    return NULL;
}
static void count_perform(treadle_source self, void *info) { (void)self, (void)info, use_released(); }
static void add_one_to_each(void) {
    treadle_source others;
    source = make_source(count_perform, count_release, NULL);
    add(source);
    others = make_source(count_perform, NULL, NULL);
    add(others);
    REQUIRE_OK(treadle_release(others));
}
/* The thread that adds it may find that it has left its first loop, or not. */
SCENE(a_source_leaves_a_loop_while_it_is_added_to_another, "MODE-3, OBJ-3") {
    second = treadle_loop_current();
    pthread_t owner = start_owner(add_one_to_each), other = start(add_to_second, source);
    REQUIRE_OK(treadle_loop_remove(loop, source, TREADLE_DEFAULT_MODE));
    join(other);
    REQUIRE(treadle_loop_contains(second, source, TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_loop_remove(second, source, TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}

/* An observer that leaves its loop in its callback is not called by another loop while that goes on, and sees what it has done. */
static treadle_observer observer;
static struct event has_left;
static counter running;
static int written; /* plain */
static void write_down(treadle_observer self, uint32_t activity, void *info) {
    (void)activity, (void)info;
    REQUIRE(count(&running) == 1);
    if (count(&called) == 1) {
        REQUIRE_OK(treadle_loop_remove(loop, self, TREADLE_DEFAULT_MODE));
        set(&has_left);
    }
    written++;
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
}
static void add_observer(void) {
    treadle_observer_context context = {.struct_size = sizeof context, .notify = write_down, .activities = TREADLE_BEFORE_SOURCES};
    REQUIRE_OK(treadle_observer_create(&context, &observer));
    add(observer);
}
SCENE(an_observer_joins_another_loop_while_it_is_notified, "OBS-3, MODE-5") {
    second = treadle_loop_current();
    pthread_t owner = start_owner(add_observer);
    await(&has_left);
    REQUIRE_OK(treadle_loop_add(second, observer, TREADLE_DEFAULT_MODE));
    treadle_loop_run(second, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    REQUIRE_OK(treadle_invalidate(observer));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(observer));
    REQUIRE(counted(&called) <= 2 && counted(&running) == 0);
}
