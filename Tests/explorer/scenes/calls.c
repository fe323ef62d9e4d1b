/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * calls.c: invocations and closures: a call that several threads want to end, and the end of a function that is called. */
#include "owner.h"

static treadle_invocation invocation;
static void note_call(void) { count(&called); }
static void make_invocation(void) {
    treadle_invocation_config config = {
        .struct_size = sizeof config, .code = note_call, .signature = "v", .info = &invocation, .destroy = count_release};
    REQUIRE_OK(treadle_invocation_create(&config, &invocation));
}
static counter cancelled, completed, dropped;
static void note_completion(void *target, void *argument) {
    (void)target, (void)argument;
    count(&completed);
}
static void note_drop(void *info) {
    (void)info;
    count(&dropped);
}
static void *cancel(void *info) {
    treadle_status status = treadle_invocation_cancel(invocation);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    if (status == TREADLE_OK) count(&cancelled);
    return info;
}
static void stop_and_join(pthread_t owner) {
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(invocation));
    REQUIRE(counted(&freed) == 1);
}

/* Whatever ends the call, it ends once: the function, one of two cancels, or the end of the thread. */
SCENE(a_call_is_cancelled_by_two, "PERF-8, PERF-9") {
    pthread_t owner = start_owner(make_invocation);
    treadle_request completion = {.struct_size = sizeof completion, .fn = note_completion, .argument = &invocation, .release_argument = note_drop};
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .completion = &completion, .completion_loop = loop};
    REQUIRE_OK(treadle_invocation_perform(invocation, &options));
    pthread_t other = start(cancel, NULL);
    cancel(NULL);
    join(other);
    stop_and_join(owner);
    REQUIRE(counted(&called) + counted(&cancelled) <= 1);
    REQUIRE(counted(&dropped) == 1 && counted(&completed) <= 1);
}
SCENE(a_wait_for_a_call_is_cancelled, "PERF-7, PERF-8") {
    pthread_t owner = start_owner(make_invocation), other = start(cancel, NULL);
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = TREADLE_WAIT_BLOCK};
    treadle_status status = treadle_invocation_perform(invocation, &options);
    join(other);
    REQUIRE(status == (counted(&cancelled) ? TREADLE_E_CANCELLED : TREADLE_OK));
    REQUIRE(counted(&called) == (status == TREADLE_OK));
    stop_and_join(owner);
}
/* Virtual time passes when the clock is read: the time is up before, while, or after the function is called. Who has gone on without it has
 * his buffer as it was. */
static int32_t buffer;
static void fill(int32_t *out) {
    *out = 42;
    note_call();
}
static void make_one_that_fills(void) {
    treadle_invocation_config config = {
        .struct_size = sizeof config, .code = (void (*)(void))fill, .signature = "vo^i", .info = &invocation, .destroy = count_release};
    REQUIRE_OK(treadle_invocation_create(&config, &invocation));
    REQUIRE_OK(treadle_invocation_set_buffer(invocation, 0, &buffer, sizeof buffer));
}
SCENE(a_wait_for_a_call_against_its_time_limit, "PERF-7, PERF-8") {
    pthread_t owner = start_owner(make_one_that_fills);
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = TREADLE_WAIT_BLOCK, .timeout_ns = 2500};
    buffer = 0;
    treadle_status status = treadle_invocation_perform(invocation, &options);
    REQUIRE(buffer == (status == TREADLE_OK ? 42 : 0));
    uint32_t state;
    REQUIRE_OK(treadle_invocation_get_state(invocation, &state));
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_TIMEOUT);
    REQUIRE(status != TREADLE_OK || (state == TREADLE_INVOCATION_DONE && counted(&called) == 1));
    if (state == TREADLE_INVOCATION_CANCELLED) REQUIRE(counted(&called) == 0);
    stop_and_join(owner);
    REQUIRE(counted(&called) == (state != TREADLE_INVOCATION_CANCELLED) && buffer == (status == TREADLE_OK ? 42 : 0));
}
/* Of two who perform one at the same time each has it called, or is refused while the other has. */
static void *perform_it(void *info) {
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = TREADLE_WAIT_BLOCK};
    treadle_status status = treadle_invocation_perform(invocation, &options);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STATE);
    if (status == TREADLE_OK) count(&completed);
    return info;
}
SCENE(an_invocation_is_performed_by_two, "PERF-7, OBJ-6") {
    pthread_t owner = start_owner(make_invocation), other = start(perform_it, NULL);
    perform_it(NULL);
    join(other);
    REQUIRE(counted(&called) >= 1 && counted(&called) == counted(&completed));
    stop_and_join(owner);
}

/* The mode of a thread that waits for a call may be made by whoever adds something to it. */
static treadle_loop own;
static void *add_to_the_call_mode(void *info) {
    treadle_source made = make_source(NULL, NULL, NULL);
    REQUIRE_OK(treadle_loop_add(own, made, TREADLE_CALL_MODE));
    REQUIRE_OK(treadle_release(made));
    return info;
}
SCENE(the_call_mode_is_made_by_another_thread, "PERF-7, RL-7") {
    own = treadle_loop_current();
    pthread_t owner = start_owner(make_invocation), other = start(add_to_the_call_mode, NULL);
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = TREADLE_WAIT_RUNNING};
    REQUIRE_OK(treadle_invocation_perform(invocation, &options));
    REQUIRE(counted(&called) == 1);
    join(other);
    stop_and_join(owner);
}

/* --- Closures --------------------------------------------------------------------------------------- */

static treadle_closure closure;
static int (*function)(int);
static treadle_scope scope;
static counter handling;
static treadle_status answer(treadle_call *call, void *info) {
    count(&handling);
    REQUIRE(!info || counted(&freed) == 0);
    *(int *)call->result = *(const int *)call->arguments[0] + 1;
    use_released();
    count(&called);
    REQUIRE(!info || counted(&freed) == 0);
    atomic_fetch_sub_explicit(&handling, 1, memory_order_relaxed);
    return TREADLE_OK;
}
static void make_closure(uint32_t delivery) {
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "ii", .handler = answer, .info = &closure,
                                     .destroy = count_release, .delivery = delivery, .loop = delivery ? loop : NULL, .scope = scope};
    function = make_function(&config, &closure);
}
static void *call_it(void *info) {
    int result = function(7);
    REQUIRE(result == 8 || result == 0);
    return info;
}
/* Behind a close no handler runs, and destroy has been called once; calls return the default result, and each is counted. */
static void close_closure_against(pthread_t caller) {
    treadle_closure_info info = {.struct_size = sizeof info};
    REQUIRE_OK(treadle_close(closure, TREADLE_FOREVER));
    REQUIRE(counted(&handling) == 0 && counted(&freed) == 1);
    int calls = counted(&called);
    REQUIRE(function(7) == 0);
    join(caller);
    REQUIRE(counted(&called) == calls);
    REQUIRE_OK(treadle_closure_get_info(closure, &info));
    REQUIRE(info.handled == (uint64_t)calls && info.handled + info.after_invalidated == 2);
    REQUIRE_OK(treadle_release(closure));
}
SCENE(a_closure_is_closed_while_it_is_called, "OBJ-9") {
    make_closure(TREADLE_DELIVERY_INLINE);
    explore_from_here();
    close_closure_against(start(call_it, NULL));
}
static void make_closure_of_the_loop(void) { make_closure(TREADLE_DELIVERY_SYNC); }
SCENE(a_closure_is_closed_while_its_loop_handles_a_call, "OBJ-9, PERF-7") {
    pthread_t owner = start_owner(make_closure_of_the_loop);
    close_closure_against(start(call_it, NULL));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}

/* As at a plugin's unload: behind the close of the scope nothing of it runs, whoever has its function pointer. */
SCENE(a_scope_is_closed_while_its_closure_is_called, "SCOPE-2, SCOPE-3") {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = note_drop};
    REQUIRE_OK(treadle_scope_create(&config, &scope));
    make_closure(TREADLE_DELIVERY_INLINE);
    explore_from_here();
    pthread_t other = start(call_it, NULL);
    REQUIRE_OK(treadle_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&handling) == 0 && counted(&freed) == 1 && counted(&dropped) == 1);
    int calls = counted(&called);
    join(other);
    REQUIRE(counted(&called) == calls);
    REQUIRE_OK(treadle_release(scope));
}

/* Callers wait for room before a call that is handled on a loop, and then for its end. */
static void make_closure_with_room(uint32_t delivery) {
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "ii", .handler = answer, .info = &closure, .queue_limit = 1,
                                     .destroy = count_release, .delivery = delivery, .loop = loop};
    function = make_function(&config, &closure);
}
static void make_closure_with_room_for_one(void) { make_closure_with_room(TREADLE_DELIVERY_SYNC); }
static void end_closure(pthread_t owner) {
    REQUIRE_OK(treadle_closure_invalidate(closure));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(closure));
    REQUIRE(counted(&freed) == 1);
}
static void *call_it_for_sure(void *info) {
    REQUIRE(function(7) == 8);
    return info;
}
SCENE(two_callers_of_a_closure_with_room_for_one, "PERF-7") {
    pthread_t owner = start_owner(make_closure_with_room_for_one), other = start(call_it_for_sure, NULL);
    REQUIRE(function(7) == 8);
    join(other);
    REQUIRE(counted(&called) == 2);
    end_closure(owner);
}
/* A call that waits for room only: the thread that makes room tells the wait graph first that the wait is over. */
static void make_async_closure_with_room_for_one(void) {
    make_closure_with_room(TREADLE_DELIVERY_ASYNC);
    treadle_source any = make_source(NULL, NULL, NULL); /* the wait graph looks at the modes of the call where there is a call mode */
    REQUIRE_OK(treadle_loop_add(loop, any, TREADLE_CALL_MODE));
    REQUIRE_OK(treadle_release(any));
}
SCENE(a_caller_waits_for_room_for_a_call_that_is_handled_later, "PERF-7") {
    pthread_t owner = start_owner(make_async_closure_with_room_for_one);
    for (int i = 0; i < 2; i++) REQUIRE(function(7) == 0);
    end_closure(owner);
    REQUIRE(counted(&called) <= 2);
}

/* Out of a plugin and into it: its scope is closed while a routine of it is called, and while it creates a closure. */
static void run_in_scope(void) {
    REQUIRE(counted(&dropped) == 0);
    count(&called);
    use_released();
    REQUIRE(counted(&dropped) == 0);
}
static treadle_routine routine;
static void make_scope(void) {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = note_drop};
    REQUIRE_OK(treadle_scope_create(&config, &scope));
}
static void *call_routine(void *info) {
    treadle_status status = treadle_routine_call(routine, NULL, NULL, 0);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED || status == TREADLE_E_STALE);
    REQUIRE(counted(&called) == (status == TREADLE_OK));
    return info;
}
SCENE(a_scope_is_closed_while_its_routine_is_called, "SCOPE-2, SCOPE-3") {
    make_scope();
    REQUIRE_OK(treadle_scope_enter(scope));
    treadle_routine_config config = {.struct_size = sizeof config, .code = run_in_scope, .signature = "v", .destroy = count_release, .info = &routine};
    REQUIRE_OK(treadle_routine_create(&config, &routine));
    REQUIRE_OK(treadle_scope_leave(scope));
    explore_from_here();
    pthread_t other = start(call_routine, NULL);
    REQUIRE_OK(treadle_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&freed) == 1 && counted(&dropped) == 1);
    join(other);
    REQUIRE_OK(treadle_release(scope));
}
static void *create_closure(void *info) {
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "ii", .handler = answer, .info = &closure, .destroy = count_release, .scope = scope};
    treadle_status status = treadle_closure_create(&config, &closure);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED || status == TREADLE_E_STALE);
    return info;
}
SCENE(a_scope_is_closed_while_a_closure_is_created_in_it, "SCOPE-2, SCOPE-3") {
    make_scope();
    explore_from_here();
    pthread_t other = start(create_closure, NULL);
    REQUIRE_OK(treadle_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&dropped) == 1);
    join(other);
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(scope));
}
