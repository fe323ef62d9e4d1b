/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closures.c: the end of closures, and their function pointers after it: a close against calls, late calls, and pointers that are used
 * again. */
#include "owner.h"

enum { DEFAULT = 5, NEXT_DEFAULT = 6 };
static int (*function)(int);
static treadle_closure closure, others[2];
static treadle_status answer(treadle_call *call, void *info) {
    (void)info;
    *(int *)call->result = *(const int *)call->arguments[0] + 1;
    use_released();
    count(&called);
    return TREADLE_OK;
}
static treadle_closure_config config_of(treadle_closure_fn handler, const int *default_result) {
    return (treadle_closure_config){.struct_size = sizeof(treadle_closure_config), .signature = "ii", .handler = handler,
                                    .info = &closure, .destroy = count_release, .default_result = default_result,
                                    .default_result_size = sizeof *default_result};
}
static int (*make_one(treadle_closure *made, uint32_t flags))(int) {
    treadle_closure_config config = config_of(answer, &(int){DEFAULT});
    config.flags = flags;
    return make_function(&config, made);
}

/* --- The end ---------------------------------------------------------------------------------------- */

/* The last call ends while the close begins to wait for it: one of the two sees the other. */
static struct event is_inside, is_invalid;
static treadle_status wait_for_the_end(treadle_call *call, void *info) {
    set(&is_inside);
    await(&is_invalid);
    return answer(call, info);
}
static void *call_it(void *info) {
    REQUIRE(function(7) == 8);
    return info;
}
SCENE(a_closure_is_closed_as_its_last_call_ends, "OBJ-9") {
    treadle_closure_config config = config_of(wait_for_the_end, &(int){DEFAULT});
    function = make_function(&config, &closure);
    explore_from_here();
    pthread_t other = start(call_it, NULL);
    await(&is_inside);
    REQUIRE_OK(treadle_closure_invalidate(closure));
    set(&is_invalid);
    REQUIRE_OK(treadle_close(closure, TREADLE_FOREVER));
    REQUIRE(counted(&called) == 1 && counted(&freed) == 1);
    use_released();
    REQUIRE_OK(treadle_release(closure));
    join(other);
}

/* A call that waits for the thread that closes: the close finds it, or it finds no closure any more. */
static treadle_status answer_and_stop(treadle_call *call, void *info) {
    REQUIRE_OK(treadle_loop_stop(loop));
    return answer(call, info);
}
static void *call_it_or_be_late(void *info) {
    int result = function(7);
    REQUIRE(result == 8 || result == DEFAULT);
    return info;
}
SCENE(a_loop_closes_a_closure_whose_calls_it_handles, "OBJ-9, PERF-7") {
    loop = treadle_loop_current();
    treadle_closure_config config = config_of(answer_and_stop, &(int){DEFAULT});
    config.delivery = TREADLE_DELIVERY_SYNC;
    config.loop = loop;
    function = make_function(&config, &closure);
    explore_from_here();
    pthread_t other = start(call_it_or_be_late, NULL);
    treadle_status status = treadle_close(closure, TREADLE_FOREVER);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_DEADLOCK);
    if (status != TREADLE_OK) {
        REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
        REQUIRE_OK(treadle_close(closure, TREADLE_FOREVER));
    }
    REQUIRE(counted(&called) == (status != TREADLE_OK) && counted(&freed) == 1);
    join(other);
    REQUIRE_OK(treadle_release(closure));
}

/* Time passes when the clock is read: a caller gets room, or gives up, and its call is handled or not. */
static void make_one_with_room_for_one(void) {
    treadle_closure_config config = config_of(answer, &(int){DEFAULT});
    config.delivery = TREADLE_DELIVERY_ASYNC;
    config.loop = loop;
    config.queue_limit = 1;
    config.timeout_ns = 2500;
    function = make_function(&config, &closure);
}
SCENE(a_wait_for_room_against_its_time_limit, "PERF-7") {
    pthread_t owner = start_owner(make_one_with_room_for_one);
    for (int i = 0; i < 3; i++) REQUIRE(function(7) == DEFAULT);
    treadle_closure_info info = {.struct_size = sizeof info};
    REQUIRE_OK(treadle_closure_invalidate(closure));
    REQUIRE_OK(treadle_close(closure, TREADLE_FOREVER));
    REQUIRE_OK(treadle_closure_get_info(closure, &info));
    REQUIRE(info.state == TREADLE_CLOSURE_DRAINED && info.waiting == 0);
    REQUIRE(info.handled + info.timed_out == 3 && info.handled == (uint64_t)counted(&called));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(closure));
}

/* A caller looks for the newest call, and finds that of another thread, which the end of the loop's thread has just ended. */
static struct event may_end;
static void *end_with_its_loop(void *info) {
    loop = treadle_loop_current();
    treadle_closure_config config = config_of(answer, &(int){DEFAULT});
    config.delivery = TREADLE_DELIVERY_ASYNC;
    config.loop = loop;
    config.queue_limit = 1;
    config.on_full = TREADLE_FULL_COALESCE;
    function = make_function(&config, &closure);
    explore_from_here();
    set(&is_there);
    await(&may_end);
    return info;
}
static void *call_for_later(void *info) {
    REQUIRE(function(7) == DEFAULT);
    return info;
}
SCENE(a_thread_ends_while_calls_for_its_loop_coalesce, "PERF-9") {
    pthread_t owner = start(end_with_its_loop, NULL);
    await(&is_there);
    pthread_t other = start(call_for_later, NULL);
    call_for_later(NULL);
    set(&may_end);
    join(other);
    join(owner);
    REQUIRE_OK(treadle_close(closure, TREADLE_FOREVER));
    treadle_closure_info info = {.struct_size = sizeof info};
    REQUIRE_OK(treadle_closure_get_info(closure, &info));
    REQUIRE(info.dropped == 2 && counted(&called) == 0 && counted(&freed) == 1);
    REQUIRE_OK(treadle_release(closure));
}

/* --- Behind it -------------------------------------------------------------------------------------- */

static void *call_late(void *info) {
    for (int i = 0; i < 2; i++) REQUIRE(function(7) == DEFAULT);
    return info;
}
SCENE(a_pointer_that_is_kept_is_called_while_its_closure_is_released, "OBJ-5") {
    function = make_one(&closure, TREADLE_CLOSURE_KEEP_CODE);
    REQUIRE_OK(treadle_closure_invalidate(closure));
    explore_from_here();
    pthread_t other = start(call_late, NULL);
    REQUIRE_OK(treadle_release(closure));
    join(other);
    REQUIRE(counted(&called) == 0 && counted(&freed) == 1);
}

/* What is left of both closures is one thing, which one of the two threads makes. */
static void *release_it(void *one) {
    REQUIRE_OK(treadle_release(*(treadle_closure *)one));
    return one;
}
SCENE(two_closures_of_one_signature_are_released, "OBJ-5, OBJ-6") {
    int (*functions[2])(int);
    for (int i = 0; i < 2; i++) {
        functions[i] = make_one(&others[i], 0);
        REQUIRE_OK(treadle_closure_invalidate(others[i]));
    }
    explore_from_here();
    pthread_t other = start(release_it, &others[0]);
    release_it(&others[1]);
    REQUIRE(functions[1](7) == DEFAULT);
    join(other);
    REQUIRE(functions[0](7) == DEFAULT);
}

/* A new closure gets the pointer while the former one is released and its pointer called. A call gets the result of either, or
 * zero between the two. The pool of the explorer has two pointers. */
static void *use_the_pointer_again(void *info) {
    treadle_closure_config config = config_of(answer, &(int){NEXT_DEFAULT});
    treadle_status status = treadle_closure_create(&config, &others[0]);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_NOMEM);
    if (status != TREADLE_OK) return info;
    void (*code)(void);
    REQUIRE_OK(treadle_closure_get_code(others[0], &code));
    REQUIRE((int (*)(int))code == function && function(7) == 8);
    REQUIRE_OK(treadle_close(others[0], TREADLE_FOREVER));
    return info;
}
static void *call_late_or_the_next(void *info) {
    int result = function(7);
    REQUIRE(result == DEFAULT || result == NEXT_DEFAULT || result == 8 || result == 0);
    return info;
}
static void *call_late_and_use_again(void *info) {
    REQUIRE(function(7) == DEFAULT);
    return use_the_pointer_again(info);
}
static void release_against(void *(*use)(void *), void *(*call)(void *)) {
    make_one(&others[1], 0);
    function = make_one(&closure, 0);
    REQUIRE_OK(treadle_closure_invalidate(closure));
    explore_from_here();
    pthread_t other = start(release_it, &closure), late = call ? start(call, NULL) : other;
    use(NULL);
    join(other);
    if (call) join(late);
    if (others[0]) REQUIRE_OK(treadle_release(others[0]));
}
SCENE(a_pointer_is_used_again_while_its_closure_is_released, "OBJ-5, OBJ-6") { release_against(call_late_and_use_again, NULL); }
SCENE(a_pointer_is_used_again_while_it_is_called_and_its_closure_released, "OBJ-5, OBJ-6") {
    release_against(use_the_pointer_again, call_late_or_the_next);
}

/* --- The first of all ------------------------------------------------------------------------------- */

static treadle_signature first;
static void *parse(void *unused) {
    REQUIRE_OK(treadle_signature_parse("v^v", &first));
    return unused;
}
SCENE(two_threads_parse_the_first_signature, "OBJ-6") {
    REQUIRE(treadle_loop_current() != NULL);
    explore_from_here();
    pthread_t other = start(parse, NULL);
    treadle_signature signature;
    REQUIRE_OK(treadle_signature_parse("v^v", &signature));
    join(other);
    REQUIRE(signature == first);
}

/* The pool of the child: one thread takes over what its parent had used. */
static void *make_and_call(void *one) {
    REQUIRE(make_one(one, 0)(7) == 8);
    return one;
}
SCENE(two_threads_make_the_first_closures_of_a_child, "RL-11, OBJ-6") {
    make_one(&closure, 0);
    become_child();
    REQUIRE_OK(treadle_after_fork_child());
    explore_from_here();
    pthread_t other = start(make_and_call, &others[0]);
    make_and_call(&others[1]);
    join(other);
    REQUIRE(counted(&called) == 2);
}

/* The child's first closure gets a pointer of its parent, which another thread calls, and ends. */
static struct event is_made;
static void *make_the_childs(void *info) {
    treadle_closure_config config = config_of(answer, &(int){NEXT_DEFAULT});
    others[0] = NULL;
    treadle_status status = treadle_closure_create(&config, &others[0]);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_NOMEM); /* without: a call is inside of the pointer */
    set(&is_made);
    return info;
}
static void *end_the_childs(void *info) {
    await(&is_made);
    if (!others[0]) return info;
    REQUIRE_OK(treadle_close(others[0], TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(others[0]));
    return info;
}
SCENE(a_parents_pointer_is_called_while_its_child_uses_it_again, "RL-11, OBJ-5") {
    make_one(&others[1], 0);
    function = make_one(&closure, 0);
    become_child();
    REQUIRE_OK(treadle_after_fork_child());
    make_one(&others[1], 0); /* the signature is there: a stub's code orders it for its calls, which the explorer does not see */
    explore_from_here();
    pthread_t one = start(make_the_childs, NULL), other = start(end_the_childs, NULL);
    call_late_or_the_next(NULL);
    join(one);
    join(other);
}
