/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process.c: what all threads of the process share: its first thread, its shutdown, and the scopes for whose end nobody waits. */
#include "owner.h"

/* --- The first use ---------------------------------------------------------------------------------- */

static void *use_the_library(void *info) {
    REQUIRE(treadle_loop_current() != NULL);
    return info;
}
SCENE(two_use_the_library_for_the_first_time, "RL-1, RL-2") {
    explore_from_here();
    pthread_t other = start(use_the_library, NULL);
    use_the_library(NULL);
    join(other);
}

/* --- The first thread ------------------------------------------------------------------------------- */

/* Two threads start the first threads at once: each start waits until the notification's handlers have returned, and has what they wrote. */
static int told;
static void tell_of_threads(uint32_t name, void *object, void *info) {
    (void)info;
    REQUIRE(name == TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED && object == NULL && treadle_is_multithreaded());
    told++;
}
static void *look_at_told(void *info) {
    REQUIRE(told == 1);
    return info;
}
static void *start_one(void *info) {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = look_at_told};
    treadle_thread thread;
    REQUIRE_OK(treadle_thread_create(&config, &thread));
    REQUIRE_OK(treadle_thread_start(thread));
    REQUIRE(told == 1);
    REQUIRE_OK(treadle_thread_join(thread, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(thread));
    return info;
}
SCENE(two_start_the_first_threads, "THR-11, NOTE-1") {
    treadle_notification_config config = {.struct_size = sizeof config, .name = TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, .fn = tell_of_threads};
    uint64_t token;
    REQUIRE_OK(treadle_notification_add(&config, &token));
    REQUIRE(!treadle_is_multithreaded());
    explore_from_here();
    pthread_t other = start(start_one, NULL);
    start_one(NULL);
    join(other);
    REQUIRE(told == 1);
}

/* --- Its shutdown ----------------------------------------------------------------------------------- */

/* A thread uses the library for the first time meanwhile: behind the shutdown no callback of it begins. */
static struct event is_shut;
static void await_shutdown(treadle_source self, void *info) {
    (void)self, (void)info;
    REQUIRE(count(&called) == 1);
    await(&is_shut);
}
static void *shut_down_at_once(void *info) {
    treadle_status status = treadle_shutdown(0);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_TIMEOUT);
    set(&is_shut);
    return info;
}
static void add_a_signalled(treadle_perform_fn perform) {
    source = make_source(perform, NULL, NULL);
    add(source);
    REQUIRE_OK(treadle_source_signal(source));
}
SCENE(the_process_is_shut_down_while_a_thread_begins_to_use_it, "THR-21") {
    explore_from_here();
    pthread_t other = start(shut_down_at_once, NULL);
    loop = treadle_loop_current();
    add_a_signalled(await_shutdown);
    add_a_signalled(await_shutdown);
    treadle_status status = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0);
    REQUIRE(status == TREADLE_E_CLOSED);
    join(other);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0) == TREADLE_E_CLOSED);
}

/* It waits for the callbacks that run, in runs and outside of them, and has what they wrote. */
static int used_by_callbacks;
static void use_in_source(treadle_source self, void *info) {
    (void)self, (void)info;
    used_by_callbacks++;
}
static void *run_until_shut_down(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    add_a_signalled(use_in_source);
    explore_from_here();
    set(&is_there);
    result = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    await(&is_shut);
    return info;
}
SCENE(the_process_is_shut_down_while_a_loop_runs, "THR-21") {
    pthread_t owner = start(run_until_shut_down, NULL);
    await(&is_there);
    REQUIRE_OK(treadle_shutdown(TREADLE_FOREVER));
    used_by_callbacks = 2;
    set(&is_shut);
    join(owner);
    REQUIRE(result == TREADLE_E_CLOSED && used_by_callbacks == 2);
    REQUIRE_OK(treadle_release(loop));
}
static void use_in_notification(uint32_t name, void *object, void *info) {
    (void)name, (void)object, (void)info;
    used_by_callbacks++;
}
static void *end_this_thread(void *info) {
    REQUIRE(treadle_thread_current() != NULL);
    return info;
}
SCENE(the_process_is_shut_down_while_a_thread_ends, "THR-21, THR-14") {
    treadle_notification_config config = {.struct_size = sizeof config, .name = TREADLE_NOTIFY_THREAD_WILL_EXIT, .fn = use_in_notification};
    uint64_t token;
    REQUIRE_OK(treadle_notification_add(&config, &token));
    explore_from_here();
    pthread_t other = start(end_this_thread, NULL);
    REQUIRE_OK(treadle_shutdown(TREADLE_FOREVER));
    used_by_callbacks = 2;
    join(other);
    REQUIRE(used_by_callbacks == 2);
}

/* A loop that is created meanwhile is found, also in the slot of an old one, or finds the shutdown. */
static void *run_a_new_loop(void *info) {
    treadle_loop own = treadle_loop_current();
    REQUIRE(own != NULL);
    if (info) REQUIRE(treadle_loop_run(own, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_E_CLOSED);
    return info;
}
SCENE(the_process_is_shut_down_while_a_thread_creates_its_loop, "THR-21, RL-2") {
    join(start(run_a_new_loop, NULL));
    explore_from_here();
    let_the_kernel_fail(REFUSALS);
    pthread_t other = start(run_a_new_loop, &is_there);
    REQUIRE_OK(treadle_shutdown(TREADLE_FOREVER));
    join(other);
}

/* Nobody waits any longer for another thread, whether the wait begins before or behind it. */
static void perform_nothing(void *target, void *argument) {
    (void)target, (void)argument;
    count(&called);
}
static void *wait_for_a_perform(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform_nothing, .release_target = count_release, .target = &source,
                               .flags = TREADLE_PERFORM_WAIT};
    treadle_status status = treadle_perform(loop, &request);
    REQUIRE(status == (counted(&called) ? TREADLE_OK : TREADLE_E_CLOSED));
    return info;
}
static void *own_a_loop_that_rests(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    set(&is_there);
    await(&is_shut);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0) == TREADLE_E_CLOSED);
    return info;
}
static void shut_down_against_a_perform(void *(*own)(void *)) {
    pthread_t owner = start(own, NULL);
    await(&is_there);
    explore_from_here();
    pthread_t other = start(wait_for_a_perform, NULL);
    REQUIRE_OK(treadle_shutdown(TREADLE_FOREVER));
    set(&is_shut);
    join(other);
    join(owner);
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(loop));
}
SCENE(the_process_is_shut_down_against_a_perform, "THR-21, PERF-9") { shut_down_against_a_perform(own_loop); }
SCENE(the_process_is_shut_down_against_a_perform_of_a_loop_that_rests, "THR-21, PERF-9") {
    shut_down_against_a_perform(own_a_loop_that_rests);
}
static treadle_port port;
static void *send_two(void *info) {
    treadle_port_context context = {.struct_size = sizeof context, .capacity = 1};
    REQUIRE_OK(treadle_port_create(&context, &port));
    for (int i = 0; i < 2; i++) {
        treadle_status status = treadle_port_send_bytes(port, 1, NULL, 0, TREADLE_FOREVER);
        REQUIRE(status == TREADLE_E_CLOSED || (status == TREADLE_OK && i == 0));
    }
    return info;
}
SCENE(the_process_is_shut_down_against_a_sender, "THR-21, PORT-6") {
    treadle_port_context context = {.struct_size = sizeof context};
    REQUIRE_OK(treadle_port_create(&context, &port)); /* its slot is an old one from now on */
    REQUIRE_OK(treadle_release(port));
    explore_from_here();
    let_the_kernel_fail(REFUSALS);
    pthread_t other = start(send_two, NULL);
    REQUIRE_OK(treadle_shutdown(TREADLE_FOREVER));
    join(other);
    REQUIRE_OK(treadle_release(port));
}

/* --- Scopes for whose end nobody waits --------------------------------------------------------------- */

static treadle_scope scope;
static counter destroyed;
static void note_destroy(void *info) {
    (void)info;
    count(&destroyed);
}
static void use_in_scope(treadle_source self, void *info) {
    (void)self, (void)info;
    REQUIRE(counted(&destroyed) == 0);
}
static void make_scope(void) {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = note_destroy};
    REQUIRE_OK(treadle_scope_create(&config, &scope));
    REQUIRE_OK(treadle_scope_enter(scope));
    add_a_signalled(use_in_scope);
    REQUIRE_OK(treadle_release(source));
    REQUIRE_OK(treadle_scope_leave(scope));
}
/* The last of it has come to rest by then, or ends the scope: a thread that does nothing more does not have to come by. */
static void release_scope(void) {
    REQUIRE_OK(treadle_release(scope));
    for (int i = 0; i < 20 && counted(&destroyed) == 0; i++) treadle_thread_sleep_for(1000000);
    REQUIRE(counted(&destroyed) == 1);
}
SCENE(a_scope_is_released_while_its_source_is_performed, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(make_scope);
    release_scope();
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&destroyed) == 1);
}
