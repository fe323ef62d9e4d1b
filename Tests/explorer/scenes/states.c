/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * states.c: a thread against others that start it, look at its state, join or detach it, ask for its loop, and wait for it. */
#include "owner.h"

static treadle_thread worker;
static int before, told; /* plain: known by the library's order alone */
static treadle_thread make_thread(treadle_thread_fn fn) {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = fn, .info = &told, .destroy = count_release};
    treadle_thread made;
    REQUIRE_OK(treadle_thread_create(&config, &made));
    return made;
}
/* The first start of all is announced, which takes steps. */
static void *end_at_once(void *info) { return info; }
static void be_multithreaded(void) {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = end_at_once};
    treadle_thread first;
    REQUIRE_OK(treadle_thread_create(&config, &first));
    REQUIRE_OK(treadle_thread_start(first));
    REQUIRE_OK(treadle_thread_join(first, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(first));
}
static void *start_it(void *unused) {
    before = 1;
    REQUIRE_OK(treadle_thread_start(worker));
    return unused;
}

/* A reader that sees the thread execute sees its ids, and one that sees it finished sees what its function wrote. */
static struct event may_end;
static void *write_when_told(void *info) {
    await(&may_end);
    told = 2;
    return info;
}
SCENE(a_thread_is_seen_to_execute_and_to_finish, "THR-1, THR-13, THR-20") {
    worker = make_thread(write_when_told);
    REQUIRE_OK(treadle_thread_set_name(worker, "first"));
    explore_from_here();
    pthread_t other = start(start_it, NULL);
    while (!treadle_thread_is_executing(worker)) treadle_thread_sleep_for(1000000);
    REQUIRE(before == 1);
    int32_t id = 0;
    uintptr_t pthread = 0;
    REQUIRE_OK(treadle_thread_get_id(worker, &id));
    REQUIRE_OK(treadle_thread_get_pthread(worker, &pthread));
    REQUIRE(id != 0 && pthread != 0);
    REQUIRE_OK(treadle_thread_set_name(worker, "second"));
    set(&may_end);
    while (!treadle_thread_is_finished(worker)) treadle_thread_sleep_for(1000000);
    REQUIRE(told == 2);
    join(other);
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(worker));
}
/* A thread that was cancelled before its start never runs; a reader that sees it finished sees what the starter wrote. */
static void *cancel_and_start_it(void *unused) {
    REQUIRE_OK(treadle_thread_cancel(worker));
    return start_it(unused);
}
SCENE(a_cancelled_start_is_seen_to_finish, "THR-5") {
    worker = make_thread(write_when_told);
    explore_from_here();
    pthread_t other = start(cancel_and_start_it, NULL);
    while (!treadle_thread_is_finished(worker)) treadle_thread_sleep_for(1000000);
    REQUIRE(before == 1 && treadle_thread_is_cancelled(worker));
    join(other);
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(worker));
}
static void *poll_its_flag(void *info) {
    while (!treadle_thread_is_cancelled(treadle_thread_current())) treadle_thread_sleep_for(1000000);
    REQUIRE(before == 1);
    return info;
}
SCENE(a_thread_sees_that_it_is_cancelled, "THR-6") {
    worker = make_thread(poll_its_flag);
    REQUIRE_OK(treadle_thread_start(worker));
    explore_from_here();
    before = 1;
    REQUIRE_OK(treadle_thread_cancel(worker));
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(worker));
}

/* A join returns when the thread is gone, however early it begins. */
static void *write_at_once(void *info) {
    told = 2;
    return info;
}
static void *join_it(void *is_again) {
    void *value;
    treadle_status status = treadle_thread_join(worker, TREADLE_FOREVER, &value);
    if (status == TREADLE_E_STATE && !is_again) return &worker; /* not started yet */
    REQUIRE_OK(status);
    REQUIRE(value == &told && told == 2 && counted(&freed) == 1);
    return NULL;
}
/* The worker is started while another thread uses it. */
static pthread_t start_worker_against(void *(*body)(void *), void *(*use)(void *)) {
    worker = make_thread(body);
    be_multithreaded();
    explore_from_here();
    pthread_t other = start(use, NULL);
    start_it(NULL);
    return other;
}
static counter released;
static void release_slowly(void *number) {
    treadle_thread_sleep_for(1000000);
    count(number);
}
static void *tell_and_start_it(void *unused) {
    set(&is_there);
    return start_it(unused);
}
SCENE(a_thread_is_joined_while_it_is_started, "THR-17") {
    worker = make_thread(write_at_once);
    REQUIRE_OK(treadle_thread_set_value(worker, "key", &released, release_slowly)); /* released when the worker has finished */
    be_multithreaded();
    explore_from_here();
    pthread_t other = start(tell_and_start_it, NULL);
    await(&is_there);
    void *is_left = join_it(NULL);
    if (!is_left) REQUIRE(counted(&released) == 1);
    join(other);
    if (is_left) join_it(is_left);
    REQUIRE_OK(treadle_release(worker));
}
/* A start for which the system has no room is tried again: the join is for that, or refused. */
static void *join_if_started(void *unused) {
    treadle_status status = treadle_thread_join(worker, TREADLE_FOREVER, NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STATE);
    if (status == TREADLE_OK) count(&called);
    return unused;
}
SCENE(a_thread_is_joined_while_its_start_fails, "THR-2, THR-17") {
    worker = make_thread(end_at_once);
    be_multithreaded();
    explore_from_here();
    pthread_t other = start(join_if_started, NULL);
    refuse_threads(1);
    REQUIRE(treadle_thread_start(worker) == TREADLE_E_SYSTEM);
    REQUIRE_OK(treadle_thread_start(worker));
    join(other);
    if (!counted(&called)) REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(worker));
}
static void *detach_it(void *unused) {
    REQUIRE_OK(treadle_thread_detach(worker));
    return unused;
}
SCENE(a_thread_is_detached_while_it_is_started, "THR-17") {
    join(start_worker_against(end_at_once, detach_it));
    REQUIRE_OK(treadle_release(worker));
}

/* The thread and another get the same loop. */
static void *run_its_loop(void *info) {
    result = treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    return info;
}
SCENE(a_thread_and_another_ask_for_its_loop, "RL-1, RL-9") {
    worker = make_thread(run_its_loop);
    explore_from_here();
    REQUIRE_OK(treadle_thread_start(worker));
    char text[128];
    size_t length;
    REQUIRE_OK(treadle_describe(worker, text, sizeof text, &length));
    REQUIRE_OK(treadle_thread_copy_loop(worker, &loop));
    REQUIRE_OK(treadle_loop_post(loop, stop_loop, NULL));
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE(result == TREADLE_RUN_STOPPED && counted(&called) == 1);
    REQUIRE_OK(treadle_release(loop));
    REQUIRE_OK(treadle_release(worker));
}

static void *ask_for_the_main_thread(void *info) {
    treadle_thread initial = treadle_thread_main();
    treadle_loop its_loop;
    REQUIRE(treadle_thread_is_main(initial) && treadle_thread_is_executing(initial));
    REQUIRE_OK(treadle_thread_copy_loop(initial, &its_loop));
    char text[128];
    size_t length;
    REQUIRE_OK(treadle_describe(its_loop, text, sizeof text, &length));
    REQUIRE(its_loop == treadle_loop_main());
    REQUIRE_OK(treadle_release(its_loop));
    return info;
}
SCENE(the_main_thread_and_another_ask_for_it, "THR-10, RL-3") {
    explore_from_here();
    pthread_t other = start(ask_for_the_main_thread, NULL);
    treadle_loop its_loop = treadle_loop_current();
    treadle_thread initial = treadle_thread_current();
    join(other);
    REQUIRE(initial == treadle_thread_main() && its_loop == treadle_loop_main());
}

/* If two threads join each other, one is refused, and its end then ends the wait of the other. */
static treadle_thread workers[2];
static counter refused, done;
static struct event are_started;
static void *join_the_other(void *info) {
    await(&are_started);
    treadle_status status = treadle_thread_join(workers[treadle_thread_current() == workers[0]], TREADLE_FOREVER, NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_DEADLOCK);
    if (status == TREADLE_E_DEADLOCK) count(&refused);
    count(&done);
    return info;
}
SCENE(two_threads_join_each_other, "THR-17") {
    for (int i = 0; i < 2; i++) {
        workers[i] = make_thread(join_the_other);
        REQUIRE_OK(treadle_thread_start(workers[i]));
    }
    explore_from_here();
    set(&are_started);
    while (counted(&done) < 2) treadle_thread_sleep_for(1000000);
    int joined = 0;
    for (int i = 0; i < 2; i++) {
        joined += treadle_thread_join(workers[i], TREADLE_FOREVER, NULL) == TREADLE_OK;
        REQUIRE_OK(treadle_release(workers[i]));
    }
    REQUIRE(joined == 1 && counted(&refused) == 1);
}

/* A loop's call mode is created by its own thread, which waits in it, or by another that queues a call. */
static treadle_loop own;
static treadle_invocation calls[2];
static void note_call(void) { count(&called); }
static void *queue_a_call(void *info) {
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = own};
    REQUIRE_OK(treadle_invocation_perform(calls[1], &options));
    return info;
}
SCENE(two_threads_create_a_call_mode, "PERF-7, RL-7") {
    own = treadle_loop_current();
    treadle_invocation_config config = {.struct_size = sizeof config, .code = note_call, .signature = "v"};
    for (int i = 0; i < 2; i++) REQUIRE_OK(treadle_invocation_create(&config, &calls[i]));
    pthread_t owner = start_owner(NULL), other = start(queue_a_call, NULL);
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = TREADLE_WAIT_RUNNING};
    REQUIRE_OK(treadle_invocation_perform(calls[0], &options));
    join(other);
    treadle_loop_run(own, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    REQUIRE(counted(&called) == 2);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    for (int i = 0; i < 2; i++) REQUIRE_OK(treadle_release(calls[i]));
}
