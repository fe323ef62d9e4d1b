/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * ends.c: the end of a thread and of its loop against what others want of it. */
#include "owner.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Each post is called or discarded, and its info given back once. */
static counter ran;
static void note_run(void *info) {
    (void)info;
    count(&ran);
}
static void *own_loop_shortly(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    explore_from_here();
    set(&is_there);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    return info;
}
SCENE(a_post_against_the_loops_teardown, "BLK-5, RL-8") {
    pthread_t owner = start(own_loop_shortly, NULL);
    await(&is_there);
    treadle_post post = {.struct_size = sizeof post, .fn = note_run, .destroy = count_release};
    treadle_status status = treadle_loop_post_in(loop, &post);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    join(owner);
    REQUIRE(counted(&freed) == 1 && counted(&ran) <= 1);
    REQUIRE(status == TREADLE_OK || counted(&ran) == 0);
    REQUIRE_OK(treadle_release(loop));
}
SCENE(a_signal_against_the_loops_teardown, "RL-8, SRC0-6") {
    source = make_source(NULL, count_release, NULL);
    pthread_t owner = start(own_loop_shortly, NULL);
    await(&is_there);
    treadle_status status = treadle_loop_add(loop, source, TREADLE_DEFAULT_MODE);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
    join(owner);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(loop));
}

/* The memory of the loop's mode may be that of another loop's when the signal or message gets there. */
static void *own_the_loop_of(void *item) {
    loop = treadle_loop_current();
    add(item);
    explore_from_here();
    set(&is_there);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    return NULL;
}
static struct event may_end;
static void *own_the_next_loop(void *owner) {
    join(*(pthread_t *)owner);
    REQUIRE(treadle_loop_current() != NULL);
    await(&may_end);
    return NULL;
}
static void use_against_the_next_loop(treadle_object item, void (*use)(treadle_object)) {
    pthread_t owner = start(own_the_loop_of, item);
    await(&is_there);
    pthread_t other = start(own_the_next_loop, &owner);
    use(item);
    set(&may_end);
    join(other);
    REQUIRE_OK(treadle_release(item));
    REQUIRE(counted(&freed) == 1);
}
static void signal_and_wake(treadle_object item) { REQUIRE_OK(treadle_source_signal_and_wake(item)); }
SCENE(a_signal_against_the_loops_teardown_and_the_next_loop, "RL-8, SRC0-6") {
    use_against_the_next_loop(make_source(NULL, count_release, NULL), signal_and_wake);
}
static void receive(treadle_port self, treadle_message message, void *info) { (void)self, (void)message, (void)info; }
static void send_nothing(treadle_object item) { REQUIRE_OK(treadle_port_send_bytes(item, 1, NULL, 0, 0)); }
SCENE(a_message_against_the_loops_teardown_and_the_next_loop, "RL-8, PORT-5") {
    treadle_port_context context = {.struct_size = sizeof context, .receive = receive, .release = count_release, .info = (void *)1};
    treadle_port port;
    REQUIRE_OK(treadle_port_create(&context, &port));
    use_against_the_next_loop(port, send_nothing);
}

/* A worker, which runs its loop until it is stopped. */
static treadle_thread worker;
static void start_worker(void) {
    treadle_thread_config config = {.struct_size = sizeof config};
    REQUIRE_OK(treadle_thread_create(&config, &worker));
    REQUIRE_OK(treadle_thread_start(worker));
}
static void join_worker(void) {
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(worker));
}
static void *stop_worker(void *info) {
    REQUIRE_OK(treadle_thread_stop(worker));
    return info;
}
static void note_perform(void *target, void *argument) {
    (void)target, (void)argument;
    count(&called);
}
SCENE(a_stop_against_a_workers_start, "THR-18, STOP-9") {
    explore_from_here();
    start_worker();
    stop_worker(NULL);
    join_worker();
}
/* One with a function of its own, which another thread stops: before its start, before it has a loop, or while it runs that. */
static void *run_until_stopped(void *info) {
    treadle_source keeper = make_source(NULL, NULL, NULL);
    count(&called);
    REQUIRE_OK(treadle_loop_add(treadle_loop_current(), keeper, TREADLE_DEFAULT_MODE));
    REQUIRE(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_STOPPED);
    REQUIRE_OK(treadle_invalidate(keeper));
    REQUIRE_OK(treadle_release(keeper));
    return info;
}
static void start_against_a_stop(bool waits) {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = run_until_stopped, .info = &worker};
    void *result = &result;
    REQUIRE_OK(treadle_thread_create(&config, &worker));
    explore_from_here();
    pthread_t other = start(stop_worker, NULL);
    treadle_status status = waits ? treadle_thread_start_and_wait(worker, TREADLE_FOREVER) : treadle_thread_start(worker);
    REQUIRE(status == TREADLE_OK || (waits && status == TREADLE_E_STATE));
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, &result));
    REQUIRE(counted(&called) <= 1 && result == (counted(&called) ? &worker : NULL));
    REQUIRE(status != TREADLE_OK || !waits || counted(&called) == 1);
    join(other);
    REQUIRE_OK(treadle_release(worker));
}
SCENE(a_thread_is_stopped_while_it_is_started, "THR-18, THR-5, STOP-9") { start_against_a_stop(false); }
SCENE(a_thread_is_stopped_while_another_waits_until_it_is_ready, "THR-18, THR-5, STOP-9") { start_against_a_stop(true); }
SCENE(a_wait_for_a_perform_against_the_targets_end, "PERF-7, PERF-8, PERF-9") {
    start_worker();
    explore_from_here();
    pthread_t other = start(stop_worker, NULL);
    treadle_request request = {.struct_size = sizeof request, .fn = note_perform, .release_argument = count_release, .argument = &worker,
                               .flags = TREADLE_PERFORM_WAIT};
    treadle_status status = treadle_perform(worker, &request);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
    REQUIRE(counted(&called) == (status == TREADLE_OK));
    join(other);
    join_worker();
    REQUIRE(counted(&freed) == 1);
}
SCENE(a_wait_for_a_perform, "PERF-7") {
    start_worker();
    explore_from_here();
    treadle_request request = {.struct_size = sizeof request, .fn = note_perform, .flags = TREADLE_PERFORM_WAIT};
    REQUIRE_OK(treadle_perform(worker, &request));
    REQUIRE(counted(&called) == 1);
    stop_worker(NULL);
    join_worker();
}

/* The descriptor by which a loop is woken is not closed while another thread writes to it. */
static void *wake_it(void *info) {
    REQUIRE_OK(treadle_loop_wake(loop));
    return info;
}
SCENE(a_wake_up_against_the_end_of_a_loop_that_sleeps_in_epoll, "RL-8, RL-9") {
    pthread_t owner = start_owner(watch_a_descriptor), other = start(wake_it, NULL);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join(other);
    join_owner(owner);
}
/* The loop ends by itself, while a thread that has claimed its sleep has not written yet. */
static int readable;
static void stop_when_ready(treadle_descriptor self, uint32_t events, void *info) {
    (void)self, (void)events;
    stop_loop(info);
}
static void watch_one_that_stops(void) {
    readable = __wrap_eventfd(0, 0);
    REQUIRE_OK(treadle_descriptor_start(readable, TREADLE_READABLE, stop_when_ready, NULL, NULL));
}
SCENE(a_wake_up_against_the_end_of_a_loop_that_a_descriptor_stops, "RL-8, RL-9") {
    pthread_t owner = start_owner(watch_one_that_stops), other = start(wake_it, NULL);
    REQUIRE(syscall(SYS_write, readable, &(uint64_t){1}, sizeof(uint64_t)) == sizeof(uint64_t));
    join(other);
    join_owner(owner);
}
/* As that, of a loop that sleeps when schedules begin to differ. */
SCENE(a_wake_up_against_the_loops_teardown, "RL-8, RL-9") {
    pthread_t owner = start_sleeping_owner(watch_one_that_stops);
    pthread_t other = start(wake_it, NULL);
    REQUIRE(syscall(SYS_write, readable, &(uint64_t){1}, sizeof(uint64_t)) == sizeof(uint64_t));
    join(other);
    join_owner(owner);
}
SCENE(two_wake_up_a_loop_that_sleeps_in_epoll_and_ends, "RL-8, RL-9") {
    pthread_t owner = start_owner(watch_a_descriptor), first = start(wake_it, NULL), second = start(wake_it, NULL);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join(first);
    join(second);
    join_owner(owner);
}
