/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * nested.c: runs inside of callbacks, and stops from other threads for one of them or for all. */
#include "owner.h"

static treadle_status inner_result;
static struct event is_nested, is_back;
static void tell(void *info) {
    (void)info;
    set(&is_nested);
}
static void run_inside(void *info) {
    REQUIRE_OK(treadle_loop_post(loop, tell, info)); /* called by the nested run */
    inner_result = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    if (inner_result == TREADLE_RUN_STOPPED) use_before_stop();
    set(&is_back);
}
static pthread_t start_nested(void) {
    pthread_t owner = start_owner(NULL);
    REQUIRE_OK(treadle_loop_post(loop, run_inside, NULL));
    await(&is_nested);
    return owner;
}
static void join_both(pthread_t owner) {
    join_owner(owner);
    REQUIRE(inner_result == TREADLE_RUN_STOPPED);
}
static void *request_stop(void *flags) {
    REQUIRE_OK(treadle_loop_request_stop(loop, (uint32_t)(uintptr_t)flags));
    return NULL;
}
static void *const all_levels = (void *)TREADLE_STOP_ALL_LEVELS;

/* A stop belongs to the run that is innermost when it comes. */
SCENE(a_nested_run_and_then_the_outer_one_are_stopped, "STOP-2, STOP-7, RUN-12") {
    pthread_t owner = start_nested();
    REQUIRE_OK(treadle_loop_stop(loop));
    await(&is_back);
    REQUIRE_OK(treadle_loop_stop(loop));
    join_both(owner);
}
SCENE(all_levels_are_stopped_by_two, "STOP-9, RUN-12") {
    pthread_t owner = start_nested(), other = start(request_stop, all_levels);
    request_stop(all_levels);
    join(other);
    join_both(owner);
}
/* A post that the nested run has not called is left to the outer one. */
static void count_post(void *info) {
    (void)info;
    count(&called);
}
SCENE(a_post_against_the_end_of_a_nested_run, "BLK-2, STOP-3, STOP-9") {
    pthread_t owner = start_nested(), other = start(request_stop, NULL);
    treadle_post post = {.struct_size = sizeof post, .fn = count_post, .destroy = count_release};
    REQUIRE_OK(treadle_loop_post_in(loop, &post));
    join(other);
    await(&is_back);
    request_stop(NULL);
    join_both(owner);
    REQUIRE(counted(&freed) == 1 && counted(&called) <= 1);
}

/* A nested run that begins behind a stop of all levels ends at once. */
SCENE(all_levels_are_stopped_before_a_nested_run, "STOP-9, RUN-12") {
    pthread_t owner = start_owner(NULL);
    REQUIRE_OK(treadle_loop_post(loop, run_inside, NULL));
    before_stop = 1;
    request_stop(all_levels);
    join_owner(owner);
}

/* A stop that comes before a nested run begins is still there when that has ended, and one that comes before the nested run's last
 * callback stops that run, which stops the outer one. One that comes later may be used up as the nested run ends. */
static _Atomic int inside;
static void note_inside(void *info) {
    (void)info;
    inside = 1;
}
static void run_inside_once(void *info) {
    REQUIRE_OK(treadle_loop_post(loop, note_inside, info));
    if (treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) != TREADLE_RUN_STOPPED) return;
    use_before_stop();
    REQUIRE_OK(treadle_loop_stop(loop));
}
static void tell_end(void *info) {
    (void)info;
    set(&is_back);
}
SCENE(a_stop_against_the_beginning_of_a_nested_run, "STOP-2, STOP-7, RUN-12") {
    pthread_t owner = start_owner(NULL);
    treadle_post post = {.struct_size = sizeof post, .fn = run_inside_once, .destroy = tell_end};
    REQUIRE_OK(treadle_loop_post_in(loop, &post));
    before_stop = 1;
    treadle_status status = treadle_loop_stop(loop);
    if (status == TREADLE_IGNORED) request_stop(NULL);
    else if (inside) {
        await(&is_back);
        request_stop(NULL);
    }
    join_owner(owner);
}

/* The mode of a run that has just begun was made behind the look of who adds. */
static void run_in_a_new_mode(void *info) {
    (void)info;
    REQUIRE(treadle_loop_run(loop, "new", 0, TREADLE_RUN_WHEN_EMPTY) > 0);
}
SCENE(a_source_is_added_while_a_run_of_a_new_mode_begins, "RUN-12, RUN-16") {
    pthread_t owner = start_owner(NULL);
    REQUIRE_OK(treadle_loop_post(loop, run_in_a_new_mode, NULL));
    source = make_source(NULL, count_release, NULL);
    add(source);
    request_stop(all_levels);
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
}

/* A post that the nested run has not called any more is called by the outer one, which nobody wakes again. */
static void run_inside_shortly(void *info) {
    (void)info;
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) > 0);
}
static void stop_all_levels(void *info) {
    count_post(info);
    request_stop(all_levels);
}
static void post_a_short_run(void) { REQUIRE_OK(treadle_loop_post(loop, run_inside_shortly, NULL)); }
SCENE(a_post_while_a_nested_run_ends_is_called, "WAKE-3, BLK-2, RUN-12") {
    pthread_t owner = start_owner(post_a_short_run);
    REQUIRE_OK(treadle_loop_post(loop, stop_all_levels, NULL));
    join_owner(owner);
    REQUIRE(counted(&called) == 1);
}
