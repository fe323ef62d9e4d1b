/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * waiters.c: two threads wait for the end of the same thing, and both go on. */
#include "owner.h"

static treadle_thread worker;
static void make_worker(treadle_thread_fn fn) {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = fn};
    REQUIRE_OK(treadle_thread_create(&config, &worker));
}
static void join_worker(void) {
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(worker));
}

/* A start has waited in vain; two threads go on waiting. */
static struct event may_be_ready;
static void *be_ready(void *info) {
    await(&may_be_ready);
    REQUIRE_OK(treadle_thread_declare_ready());
    return info;
}
static void *wait_until_ready(void *info) {
    if (!info) set(&may_be_ready);
    REQUIRE_OK(treadle_thread_start_and_wait(worker, TREADLE_FOREVER));
    return info;
}
SCENE(two_wait_for_a_thread_to_be_ready, "THR-18") {
    make_worker(be_ready);
    REQUIRE(treadle_thread_start_and_wait(worker, 0) == TREADLE_E_TIMEOUT);
    explore_from_here();
    pthread_t other = start(wait_until_ready, &worker);
    wait_until_ready(NULL);
    join(other);
    join_worker();
}

static void *perform_and_wait(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = (treadle_request_fn)info, .flags = TREADLE_PERFORM_WAIT, .modes = (const char *[]){"never run"},
                               .mode_count = 1, .release_argument = count_release, .argument = &worker};
    REQUIRE(treadle_perform(worker, &request) == TREADLE_E_CLOSED);
    return NULL;
}
static void never_perform(void *target, void *argument) {
    (void)target, (void)argument;
    REQUIRE(!"a request is performed in a mode that is never run");
}
SCENE(two_wait_for_performs_of_a_thread_that_ends, "PERF-7, PERF-9") {
    make_worker(NULL);
    REQUIRE_OK(treadle_thread_start(worker));
    explore_from_here();
    struct two waiters = start_two(perform_and_wait, (void *)never_perform);
    REQUIRE_OK(treadle_thread_stop(worker));
    join_two(waiters);
    join_worker();
    REQUIRE(counted(&freed) == 2);
}

/* Neither sender has room: they are told of the shutdown, or of the port's end. */
static treadle_port port;
static treadle_status send(int64_t timeout) { return treadle_port_send_bytes(port, 1, NULL, 0, timeout); }
static void fill_a_port(void) {
    treadle_port_context context = {.struct_size = sizeof context, .capacity = 1};
    REQUIRE_OK(treadle_port_create(&context, &port));
    REQUIRE_OK(send(0));
    explore_from_here();
}
static void *send_in_vain(void *info) {
    treadle_status status = send(TREADLE_FOREVER);
    REQUIRE(status == TREADLE_E_CLOSED || status == TREADLE_E_STALE);
    return info;
}
SCENE(two_wait_for_room_as_the_process_is_shut_down, "PORT-6, THR-21") {
    fill_a_port();
    struct two waiters = start_two(send_in_vain, NULL);
    REQUIRE_OK(treadle_shutdown(TREADLE_FOREVER));
    join_two(waiters);
    REQUIRE_OK(treadle_release(port));
}
SCENE(two_wait_for_room_in_a_port_that_ends, "PORT-2, PORT-6") {
    fill_a_port();
    struct two waiters = start_two(send_in_vain, NULL);
    REQUIRE_OK(treadle_invalidate(port));
    join_two(waiters);
    REQUIRE_OK(treadle_release(port));
}

/* The callback's end is told once, to both. */
static struct event is_called, are_shut;
static void stay_in_the_run(void *info) {
    (void)info;
    set(&is_called);
    while (counted(&called) < 2) treadle_thread_sleep_for(1000);
}
static void *run_until_shut(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    REQUIRE_OK(treadle_loop_post(loop, stay_in_the_run, NULL));
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_E_CLOSED);
    await(&are_shut);
    return info;
}
static void *shut_down(void *info) {
    count(&called);
    treadle_status status = treadle_shutdown(TREADLE_FOREVER);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    return info;
}
SCENE(two_shut_down_while_a_callback_runs, "THR-21") {
    pthread_t owner = start(run_until_shut, NULL);
    await(&is_called);
    explore_from_here();
    pthread_t other = start(shut_down, NULL);
    shut_down(NULL);
    join(other);
    set(&are_shut);
    join(owner);
    REQUIRE_OK(treadle_release(loop));
}
