/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routines.c: a routine of a scope as the callback of an item outside of it, and called by a thread. When the scope is closed, no call
 * of it goes on, none begins, and what came with it has gone back. */
#include "owner.h"

static treadle_scope scope;
static treadle_routine routine;
int __wrap_sched_yield(void);
static void note_call(void) {
    REQUIRE(counted(&freed) == 0);
    count(&called);
    __wrap_sched_yield();
    use_released();
    REQUIRE(counted(&freed) == 0);
}
static void release_slowly(void *info) {
    __wrap_sched_yield();
    count_release(info);
}
static void make_routine(void) {
    treadle_scope_config config = {.struct_size = sizeof config};
    REQUIRE_OK(treadle_scope_create(&config, &scope));
    REQUIRE_OK(treadle_scope_enter(scope));
    treadle_routine_config call = {.struct_size = sizeof call, .code = note_call, .signature = "v", .destroy = release_slowly};
    REQUIRE_OK(treadle_routine_create(&call, &routine));
    REQUIRE_OK(treadle_scope_leave(scope));
}
static void signal_one_with_a_routine(void) {
    make_routine();
    treadle_source_context context = {.struct_size = sizeof context, .perform_routine = routine};
    REQUIRE_OK(treadle_source_create(&context, &source));
    add(source);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
}
static void *close_scope(void *unused) {
    REQUIRE_OK(treadle_scope_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&freed) == 1);
    use_released();
    return unused;
}
static void end(pthread_t owner, int calls) {
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&called) == calls && calls <= 1 && counted(&freed) == 1);
    REQUIRE_OK(treadle_release(source));
    REQUIRE_OK(treadle_release(scope));
}
SCENE(a_scope_is_closed_while_an_item_calls_its_routine, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(signal_one_with_a_routine);
    close_scope(NULL);
    end(owner, counted(&called));
}
SCENE(a_scope_is_closed_by_two_while_an_item_calls_its_routine, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(signal_one_with_a_routine), other = start(close_scope, NULL);
    close_scope(NULL);
    int calls = counted(&called);
    join(other);
    end(owner, calls);
}
static void *call_it(void *unused) {
    treadle_status status = treadle_routine_call(routine, NULL, NULL, 0);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED || status == TREADLE_E_STALE);
    return unused;
}
static void close_scope_against(void *(*use)(void *)) {
    make_routine();
    explore_from_here();
    pthread_t other = start(use, NULL);
    close_scope(NULL);
    join(other);
    REQUIRE_OK(treadle_release(scope));
}
SCENE(a_scope_is_closed_while_a_thread_calls_its_routine, "SCOPE-2, SCOPE-3") { close_scope_against(call_it); }
SCENE(a_scope_with_a_routine_is_closed_by_two, "SCOPE-2, SCOPE-3") { close_scope_against(close_scope); }
