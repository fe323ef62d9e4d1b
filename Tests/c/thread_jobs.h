/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_jobs.h: what the tests of threads and performs share: threads that are made and ended in one line, a
 * gate, a server that runs its loop until it is stopped, requests that count what happens to them. */
#ifndef TREADLE_TEST_THREAD_JOBS_H
#define TREADLE_TEST_THREAD_JOBS_H

#include "helpers.h"

/* Both sanitizers bring their own pthread functions, and need more stack than a program. */
#define SANITIZER (THREAD_SANITIZER || ADDRESS_SANITIZER)

HELPER treadle_thread thread_make(treadle_thread_fn fn, void *info) {
    treadle_thread thread = NULL;
    CHECK_INT(create_thread(fn, info, NULL, &thread), TREADLE_OK);
    CHECK(thread);
    return thread;
}
HELPER treadle_thread thread_begin(treadle_thread_fn fn, void *info) {
    treadle_thread thread = thread_make(fn, info);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    return thread;
}
/* Waits until it is gone, releases it and gives its result. */
HELPER void *thread_end(treadle_thread thread) {
    void *result = &result;
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    return result;
}
HELPER uint32_t thread_state(treadle_thread thread) {
    uint32_t state = UINT32_MAX;
    CHECK_INT(treadle_thread_get_state(thread, &state), TREADLE_OK);
    return state;
}
HELPER void *nothing(void *info) { return info; }

/* What holds of every thread in its state. */
HELPER void check_state(treadle_thread thread, uint32_t state) {
    CHECK_INT(thread_state(thread), state);
    CHECK(treadle_thread_is_executing(thread) == (state == TREADLE_THREAD_EXECUTING));
    CHECK(treadle_thread_is_finished(thread) == (state == TREADLE_THREAD_FINISHED));
}

HELPER void must_have_no_system_thread(treadle_thread thread) {
    uintptr_t native = 1;
    int32_t id = 1;
    CHECK_INT(treadle_thread_get_id(thread, &id), TREADLE_OK);
    CHECK_INT(id, 0);
    CHECK_INT(treadle_thread_get_pthread(thread, &native), TREADLE_E_STATE);
    CHECK_INT(native, 0);
}

/* Something that is opened once, and waited for by one thread. */
struct gate { sem_t semaphore; };
HELPER void gate_make(struct gate *gate) { CHECK_INT(sem_init(&gate->semaphore, 0, 0), 0); }
HELPER void gate_open(struct gate *gate) { CHECK_INT(sem_post(&gate->semaphore), 0); }
HELPER void gate_pass(struct gate *gate) { await(&gate->semaphore); }

/* A thread that waits at a gate; result: what it returns. It tells when it has got there. */
struct held { struct gate there, gate; void *result; };
HELPER void *held_main(void *info) {
    struct held *held = info;
    gate_open(&held->there);
    gate_pass(&held->gate);
    return held->result;
}
HELPER treadle_thread held_begin(struct held *held, void *result) {
    gate_make(&held->there);
    gate_make(&held->gate);
    held->result = result;
    treadle_thread thread = thread_begin(held_main, held);
    gate_pass(&held->there);
    return thread;
}

/* A thread of Treadle's that runs one mode of its loop until server_end. */
struct server {
    treadle_thread thread;
    treadle_loop loop;
    const char *mode;
    treadle_source keeper;
    struct sleep_watch watch;
    int32_t thread_id;
    treadle_status result;
};
HELPER void *server_main(void *info) {
    struct server *server = info;
    server->loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(server->loop), TREADLE_OK);
    server->thread_id = thread_id();
    server->keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(server->loop, server->keeper, server->mode), TREADLE_OK);
    watch_sleep(&server->watch, server->loop, server->mode);
    server->result = treadle_loop_run(server->loop, server->mode, TREADLE_FOREVER, 0);
    return server;
}
HELPER void server_start_in_mode(struct server *server, const char *mode) {
    memset(server, 0, sizeof *server);
    server->mode = mode;
    server->thread = thread_make(server_main, server);
    CHECK_INT(treadle_thread_start_and_wait(server->thread, TREADLE_FOREVER), TREADLE_OK);
}
HELPER void server_start(struct server *server) { server_start_in_mode(server, TREADLE_DEFAULT_MODE); }
HELPER void server_end_with(struct server *server, treadle_status result) {
    CHECK_INT(treadle_thread_stop(server->thread), TREADLE_OK);
    CHECK(thread_end(server->thread) == server);
    CHECK_INT(server->result, result);
    unwatch_sleep(&server->watch);
    CHECK_INT(treadle_source_invalidate(server->keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(server->keeper), TREADLE_OK);
    CHECK_INT(treadle_loop_release(server->loop), TREADLE_OK);
}
HELPER void server_end(struct server *server) { server_end_with(server, TREADLE_RUN_STOPPED); }

/* A request that knows what became of it. The target is the job, the argument its second half. */
struct job {
    void (*run)(struct job *job); /* may be NULL */
    void *user;
    int number;
    atomic_int thread_id; /* of the performing thread */
    atomic_int calls, target_releases, argument_releases;
    atomic_bool late; /* something was given back while the function ran */
    struct gate done;
};
HELPER void job_function(void *target, void *argument) {
    struct job *job = target;
    int targets = atomic_load(&job->target_releases), arguments = atomic_load(&job->argument_releases);
    CHECK(argument == &job->number);
    atomic_store(&job->thread_id, thread_id());
    if (job->run) job->run(job);
    if (atomic_load(&job->target_releases) != targets || atomic_load(&job->argument_releases) != arguments) atomic_store(&job->late, true);
    atomic_fetch_add(&job->calls, 1);
    gate_open(&job->done);
}
HELPER void job_release_target(void *target) { atomic_fetch_add(&((struct job *)target)->target_releases, 1); }
HELPER void job_release_argument(void *argument) {
    struct job *job = (struct job *)((char *)argument - offsetof(struct job, number));
    atomic_fetch_add(&job->argument_releases, 1);
}
HELPER treadle_request job_request(struct job *job) {
    return (treadle_request){.struct_size = sizeof(treadle_request), .fn = job_function, .target = job,
                             .argument = &job->number, .release_target = job_release_target,
                             .release_argument = job_release_argument};
}
HELPER void job_make(struct job *job, void (*run)(struct job *job), void *user) {
    memset(job, 0, sizeof *job);
    job->run = run;
    job->user = user;
    gate_make(&job->done);
}
HELPER treadle_status job_perform(struct job *job, treadle_thread thread, uint32_t flags) {
    treadle_request request = job_request(job);
    return perform_on(thread, &request, NULL, 0, flags);
}
HELPER treadle_status job_perform_in(struct job *job, treadle_thread thread, const char *mode, uint32_t flags) {
    treadle_request request = job_request(job);
    return perform_on(thread, &request, &mode, 1, flags);
}
/* Exactly so often performed, and each reference given back as often as it was handed over. */
HELPER void job_check(struct job *job, int calls, int releases) {
    CHECK_INT(atomic_load(&job->calls), calls);
    CHECK_INT(atomic_load(&job->target_releases), releases);
    CHECK_INT(atomic_load(&job->argument_releases), releases);
    CHECK(!atomic_load(&job->late));
}
/* The releases of a request that nobody waits for may come a moment after the function. */
HELPER void job_await_releases(struct job *job, int releases) {
    while (atomic_load(&job->target_releases) < releases || atomic_load(&job->argument_releases) < releases) sched_yield();
}

/* Releases that only count. */
static atomic_int releases_counted;
HELPER void count_release(void *info) {
    (void)info;
    atomic_fetch_add(&releases_counted, 1);
}

/* Counts notifications, with the object and the thread of the last one. */
struct listener {
    uint64_t token;
    atomic_int calls;
    treadle_thread object;
    int32_t thread_id;
    void (*run)(struct listener *listener);
    void *user;
};
HELPER void listener_hear(uint32_t name, void *object, void *info) {
    struct listener *listener = info;
    (void)name;
    listener->object = object;
    listener->thread_id = thread_id();
    if (listener->run) listener->run(listener);
    atomic_fetch_add(&listener->calls, 1);
}
HELPER void listen_to(struct listener *listener, uint32_t name, void *object) {
    CHECK_INT(add_notification(name, object, listener_hear, listener, NULL, &listener->token), TREADLE_OK);
}

#endif
