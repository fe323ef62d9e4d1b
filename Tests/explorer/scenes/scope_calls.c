/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_calls.c: a scope is closed while what is in it is about to be queued for a loop that does not come to it: neither the close
 * nor who waits for the call waits for ever. */
#include "owner.h"

static treadle_scope scope;
static counter closed;
static void note_close(void *info) {
    (void)info;
    count(&closed);
}
static const char *const never_run[] = {"never run"};

/* What the close has ended stays so: no call is there that could begin. */
static void close_against(void (*prepare)(void), void *(*call)(void *), void *info) {
    pthread_t owner = start_owner(prepare), caller = start(call, info);
    REQUIRE_OK(treadle_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&closed) == 1 && counted(&freed) == 1);
    join(caller);
    REQUIRE(counted(&called) == 0);
    REQUIRE_OK(treadle_release(scope));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}
static void make_scope(void) {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = note_close};
    REQUIRE_OK(treadle_scope_create(&config, &scope));
}

static treadle_invocation invocation;
static void note_call(void) { count(&called); }
static void make_invocation(void) {
    make_scope();
    treadle_invocation_config config = {
        .struct_size = sizeof config, .code = note_call, .signature = "v", .info = &invocation, .destroy = count_release, .scope = scope};
    REQUIRE_OK(treadle_invocation_create(&config, &invocation));
}
static void *perform(void *wait) {
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = *(const uint32_t *)wait, .modes = never_run, .mode_count = 1};
    treadle_status status = treadle_invocation_perform(invocation, &options);
    REQUIRE(status == TREADLE_E_CANCELLED || status == TREADLE_E_CLOSED || status == TREADLE_E_STALE || (status == TREADLE_OK && !options.wait));
    return NULL;
}
static void close_against_invocation(uint32_t wait) { close_against(make_invocation, perform, &wait); }
SCENE(a_scope_is_closed_while_its_invocation_is_performed, "SCOPE-2, PERF-7") { close_against_invocation(TREADLE_WAIT_BLOCK); }
SCENE(a_scope_is_closed_while_its_invocation_is_performed_by_a_run, "SCOPE-2, PERF-7") { close_against_invocation(TREADLE_WAIT_RUNNING); }
SCENE(a_scope_is_closed_while_its_invocation_is_performed_later, "SCOPE-2, PERF-7") { close_against_invocation(TREADLE_WAIT_NONE); }

static treadle_closure closure;
static int (*function)(int);
static treadle_status answer(treadle_call *call, void *info) {
    (void)call, (void)info;
    count(&called);
    return TREADLE_OK;
}
static void make_closure(uint32_t delivery, uint32_t on_full) {
    make_scope();
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "ii", .handler = answer, .info = &closure, .destroy = count_release, .scope = scope,
                                     .delivery = delivery, .loop = loop, .modes = never_run, .mode_count = 1, .queue_limit = 1, .on_full = on_full};
    function = make_function(&config, &closure);
}
/* The second call of one that is not waited for finds no room. */
static void *call(void *count_of_calls) {
    for (int i = 0; i < *(int *)count_of_calls; i++) REQUIRE(function(7) == 0);
    return NULL;
}
static void close_against_calls(void (*prepare)(void), int calls) { close_against(prepare, call, &calls); }
static void make_one_that_waits(void) { make_closure(TREADLE_DELIVERY_SYNC, TREADLE_FULL_BLOCK); }
SCENE(a_scope_is_closed_while_its_closure_is_called_for_a_loop, "SCOPE-2, PERF-7") { close_against_calls(make_one_that_waits, 1); }
static void make_one_with_room(void) { make_closure(TREADLE_DELIVERY_ASYNC, TREADLE_FULL_BLOCK); }
SCENE(a_scope_is_closed_while_a_call_of_its_closure_waits_for_room, "SCOPE-2, PERF-7") { close_against_calls(make_one_with_room, 2); }
static void make_one_that_drops(void) { make_closure(TREADLE_DELIVERY_ASYNC, TREADLE_FULL_DROP_OLDEST); }
SCENE(a_scope_is_closed_while_a_call_of_its_closure_replaces_another, "SCOPE-2, PERF-7") { close_against_calls(make_one_that_drops, 2); }
static void make_one_that_coalesces(void) { make_closure(TREADLE_DELIVERY_ASYNC, TREADLE_FULL_COALESCE); }
SCENE(a_scope_is_closed_while_calls_of_its_closure_coalesce, "SCOPE-2, PERF-7") { close_against_calls(make_one_that_coalesces, 2); }

/* The timer of a delayed request goes as well, whether the close came before it was there or after: the run does not go on for it. */
static counter accepted;
static void note_request(void *target, void *argument) {
    (void)target, (void)argument;
    count(&called);
}
static const int64_t delay = 3600000000000;
static void *run_until_empty(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = note_request, .release_target = count_release, .target = &scope,
                               .flags = TREADLE_PERFORM_AFTER, .delay_ns = delay};
    int64_t date = treadle_time_now() + delay;
    if (treadle_scope_enter(scope) == TREADLE_OK) {
        treadle_status status = treadle_perform(NULL, &request);
        REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
        count(&accepted);
        REQUIRE_OK(treadle_scope_leave(scope));
    }
    REQUIRE(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED);
    REQUIRE(treadle_time_now() < date);
    return info;
}
SCENE(a_scope_is_closed_while_a_delayed_request_is_made, "SCOPE-2, PERF-12") {
    make_scope();
    explore_from_here();
    pthread_t other = start(run_until_empty, NULL);
    REQUIRE_OK(treadle_close(scope, TREADLE_FOREVER));
    join(other);
    REQUIRE(counted(&called) == 0 && counted(&freed) == counted(&accepted));
    REQUIRE_OK(treadle_release(scope));
}
