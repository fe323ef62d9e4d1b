/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * fork.c: forks while other threads are in the middle of calls. Whatever they held, the child neither waits for it nor has it. */
#include "owner.h"

static void count_call(treadle_source self, void *info) {
    (void)self, (void)info;
    count(&called);
}
static void add_a_source(void) {
    source = make_source(count_call, count_release, NULL);
    add(source);
}
static void count_post(void *info) {
    (void)info;
    count(&called);
}
static void *use_the_loop(void *info) {
    REQUIRE_OK(treadle_set_last_resort(say_nothing, NULL, NULL));
    REQUIRE_OK(treadle_loop_post(loop, count_post, NULL));
    REQUIRE_OK(treadle_source_signal_and_wake(source));
    treadle_source other = make_source(count_call, NULL, NULL);
    REQUIRE_OK(treadle_loop_add(loop, other, TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_release(other));
    return info;
}
/* A life of the child's own: what the parent's threads have left behind is not there. */
static void begin_again(void) {
    treadle_loop parents = loop;
    REQUIRE(treadle_loop_current() == NULL);
    REQUIRE(treadle_loop_wake(loop) == TREADLE_E_FORKED && treadle_source_signal(source) == TREADLE_E_FORKED);
    REQUIRE_OK(treadle_after_fork_child());
    REQUIRE(treadle_after_fork_child() == TREADLE_IGNORED);
    REQUIRE(treadle_loop_wake(loop) == TREADLE_E_STALE && treadle_release(source) == TREADLE_E_STALE);
    int calls = counted(&called);
    REQUIRE_OK(treadle_set_last_resort(say_nothing, NULL, NULL));
    loop = treadle_loop_current();
    REQUIRE(loop != NULL && loop != parents);
    REQUIRE_OK(treadle_loop_post(loop, count_post, NULL));
    source = make_source(count_call, NULL, NULL);
    add(source);
    REQUIRE_OK(treadle_source_signal(source));
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0) == TREADLE_RUN_TIMED_OUT);
    REQUIRE(counted(&called) == calls + 2);
    REQUIRE_OK(treadle_release(source));
}
SCENE(a_fork_while_others_use_a_loop, "RL-11, OBJ-6") {
    start_owner(add_a_source);
    start(use_the_loop, NULL);
    become_child();
    begin_again();
}

/* In a callback: what the parent's run had left to do is not done in the child. */
static void fork_inside(void *info) {
    (void)info;
    become_child();
    begin_again();
}
SCENE(a_fork_inside_a_callback_while_others_use_the_loop, "RL-11") {
    loop = treadle_loop_current();
    add_a_source();
    REQUIRE_OK(treadle_loop_post(loop, fork_inside, NULL));
    treadle_post post = {.struct_size = sizeof post, .fn = stop_loop, .destroy = count_release};
    REQUIRE_OK(treadle_loop_post_in(loop, &post));
    explore_from_here();
    start(use_the_loop, NULL);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_E_FORKED);
    REQUIRE(counted(&freed) == 0);
}

/* In a call outside of runs, and inside of a scope that another thread has closed: the child is in neither. */
static treadle_scope scope;
static void begin_again_and_end(void *info) {
    (void)info;
    become_child();
    begin_again();
    REQUIRE_OK(treadle_shutdown(0)); /* none of the calls that others were in goes on */
}
static struct event is_called, never;
static bool stay(treadle_thread thread, const char *kind, const char *message, void *info) {
    set(&is_called);
    await(&never);
    return say_nothing(thread, kind, message, info);
}
static void *close_scope_and_stay_in_a_call(void *info) {
    REQUIRE_OK(treadle_scope_close(scope, TREADLE_FOREVER));
    treadle_report_error("kind", "message");
    return info;
}
SCENE(a_fork_inside_of_a_call_and_a_scope, "RL-11, SCOPE-2, THR-21") {
    loop = treadle_loop_current();
    source = make_source(count_call, begin_again_and_end, NULL);
    REQUIRE_OK(treadle_scope_create(&(treadle_scope_config){.struct_size = sizeof(treadle_scope_config)}, &scope));
    REQUIRE_OK(treadle_scope_enter(scope));
    REQUIRE_OK(treadle_set_last_resort(stay, NULL, NULL));
    explore_from_here();
    start(close_scope_and_stay_in_a_call, NULL);
    await(&is_called);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(treadle_scope_leave(scope) == TREADLE_E_STALE);
}
