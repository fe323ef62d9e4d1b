/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_system_test.c: what the system is asked for, and what happens when it refuses. The program's own
 * pthread_create takes the place of the C library's, for Treadle too. Not under a sanitizer: there the function
 * belongs to it. */
#include "thread_jobs.h"

#include <dlfcn.h>

/* What the next calls do. */
static struct {
    int error, failures;      /* so many calls fail so */
    bool hold;                /* the new thread waits before it does anything */
    bool follow;              /* the call returns when the thread has opened `there` */
    void (*before_failure)(void);
    atomic_int calls;
    size_t stack_size;        /* of the last call */
    int detached;
    struct gate there, go;
} creation;

#if !SANITIZER
struct start { void *(*function)(void *); void *info; };
static void *hold_first(void *info) {
    struct start start = *(struct start *)info;
    free(info);
    gate_open(&creation.there);
    gate_pass(&creation.go);
    return start.function(start.info);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *info) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &symbol, sizeof real);
    atomic_fetch_add(&creation.calls, 1);
    creation.stack_size = 0;
    if (attributes) {
        pthread_attr_getstacksize(attributes, &creation.stack_size);
        pthread_attr_getdetachstate(attributes, &creation.detached);
    }
    if (creation.failures > 0 && creation.failures--) {
        if (creation.before_failure) creation.before_failure();
        return creation.error;
    }
    if (!creation.hold) {
        int error = real(thread, attributes, function, info);
        if (creation.follow && !error) gate_pass(&creation.there);
        return error;
    }
    struct start *start = malloc(sizeof *start);
    *start = (struct start){function, info};
    return real(thread, attributes, hold_first, start);
}
#endif

static void check_errno(treadle_status status, int error) {
    treadle_error_info info = {.struct_size = sizeof info};
    treadle_last_error(&info);
    CHECK_INT(info.code, status);
    CHECK_INT(info.os_errno, error);
}

/* --- Refusals ------------------------------------------------------------------------------------- */

TEST(a_system_without_room_for_a_thread, "THR-2 THR-1") {
    if (SANITIZER) return;
    const int errors[] = {EAGAIN, ENOMEM, EPERM};
    treadle_thread thread;
    int value;
    CHECK_INT(create_thread(nothing, &value, count_release, &thread), TREADLE_OK);
    for (int i = 0; i < 3; i++) {
        for (int waits = 0; waits < 2; waits++) {
            creation.error = errors[i];
            creation.failures = 10; /* however often it is tried */
            CHECK_INT(waits ? treadle_thread_start_and_wait(thread, TREADLE_FOREVER) : treadle_thread_start(thread), TREADLE_E_SYSTEM);
            check_errno(TREADLE_E_SYSTEM, errors[i]);
            check_state(thread, TREADLE_THREAD_CREATED); /* back where it was */
            CHECK_ERROR(treadle_thread_join(thread, 0, NULL), TREADLE_E_STATE, "thread");
            CHECK_INT(releases_counted, 0);
        }
    }
    creation.failures = 0;
    CHECK_INT(treadle_thread_set_stack_size(thread, 65536), TREADLE_OK); /* and may be changed still */
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK(thread_end(thread) == &value);
    CHECK_INT(releases_counted, 1);
}
/* The first start is told before it can fail, and not again. */
static treadle_thread other;
static void start_another(struct listener *listener) {
    CHECK(treadle_is_multithreaded() && listener->user);
    treadle_thread *started = listener->user;
    if (started != &other) return;
    int failures = creation.failures;
    creation.failures = 0;
    CHECK_INT(treadle_thread_start(other), TREADLE_OK);
    creation.failures = failures;
}
TEST(starts_that_failed_make_no_process_multithreaded, "THR-11 THR-2") {
    if (SANITIZER) return;
    struct listener listener = {.run = start_another, .user = &creation};
    treadle_thread thread = thread_make(nothing, NULL);
    listen_to(&listener, TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, NULL);
    creation.error = EAGAIN;
    for (int i = 0; i < 3; i++) {
        creation.failures = 10;
        CHECK_INT(treadle_thread_start(thread), TREADLE_E_SYSTEM);
        CHECK(!treadle_is_multithreaded());
        CHECK_INT(listener.calls, 1);
    }
    creation.failures = 0;
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK(treadle_is_multithreaded());
    thread_end(thread);
    creation.failures = 10;
    CHECK_INT(treadle_thread_detach_new(nothing, NULL, NULL, NULL), TREADLE_E_SYSTEM);
    CHECK(treadle_is_multithreaded()); /* for ever */
    CHECK_INT(listener.calls, 1);
}
TEST(a_start_inside_the_notification_counts_where_the_first_fails, "THR-11") {
    if (SANITIZER) return;
    struct listener listener = {.run = start_another, .user = &other};
    treadle_thread thread = thread_make(nothing, NULL);
    other = thread_make(nothing, NULL);
    listen_to(&listener, TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, NULL);
    creation.error = EAGAIN;
    creation.failures = 10;
    CHECK_INT(treadle_thread_start(thread), TREADLE_E_SYSTEM);
    CHECK(treadle_is_multithreaded());
    creation.failures = 0;
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    thread_end(other);
    CHECK_INT(listener.calls, 1);
}
TEST(what_is_queued_survives_a_refused_start, "THR-2 PERF-3 RL-9") {
    if (SANITIZER) return;
    struct server server = {.mode = TREADLE_DEFAULT_MODE};
    struct job job;
    job_make(&job, NULL, NULL);
    server.thread = thread_make(server_main, &server);
    CHECK_INT(job_perform(&job, server.thread, 0), TREADLE_OK);
    creation.error = EAGAIN;
    creation.failures = 10;
    CHECK_INT(treadle_thread_start(server.thread), TREADLE_E_SYSTEM);
    job_check(&job, 0, 0);
    creation.failures = 0;
    CHECK_INT(treadle_thread_start(server.thread), TREADLE_OK);
    gate_pass(&job.done);
    server_end(&server);
    job_check(&job, 1, 1);
}
TEST(detached_threads_that_the_system_refuses, "THR-2 THR-3 PERF-17 PERF-8") {
    if (SANITIZER) return;
    treadle_thread thread = (treadle_thread)&thread;
    struct job job;
    creation.error = EAGAIN;
    creation.failures = 100;
    CHECK_INT(treadle_thread_detach_new(nothing, NULL, count_release, &thread), TREADLE_E_SYSTEM);
    check_errno(TREADLE_E_SYSTEM, EAGAIN);
    CHECK(!thread);
    CHECK_INT(releases_counted, 1);
    job_make(&job, NULL, NULL);
    treadle_request request = job_request(&job);
    CHECK_INT(perform_in_background(&request), TREADLE_E_SYSTEM);
    check_errno(TREADLE_E_SYSTEM, EAGAIN);
    job_check(&job, 0, 1);
    creation.failures = 0;
    CHECK_INT(perform_in_background(&request), TREADLE_OK);
    gate_pass(&job.done);
}
/* A thread that never runs is no reason for its scope to wait. */
static treadle_thread in_scope;
static treadle_scope scope;
static pthread_t closer;
static void *close_scope(void *info) {
    CHECK_INT(treadle_close(scope, TREADLE_FOREVER), TREADLE_OK);
    return info;
}
static void close_meanwhile(void) {
    CHECK_INT(pthread_create(&closer, NULL, close_scope, NULL), 0);
    while (!treadle_thread_is_cancelled(in_scope)) sched_yield();
}
static void make_thread_in_scope(void) {
    treadle_scope_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    CHECK_INT(create_thread(nothing, NULL, count_release, &in_scope), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
}
TEST(a_scope_is_closed_while_the_system_refuses_its_thread, "SCOPE-2 THR-2") {
    if (SANITIZER) return;
    make_thread_in_scope();
    creation.error = EAGAIN;
    creation.failures = 1;
    creation.before_failure = close_meanwhile;
    CHECK_INT(treadle_thread_start(in_scope), TREADLE_E_SYSTEM);
    CHECK_INT(pthread_join(closer, NULL), 0);
    CHECK_INT(releases_counted, 1);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}
TEST(a_thread_that_was_cancelled_before_its_start_ends_with_its_scope, "SCOPE-2 THR-5") {
    for (int starts = 0; starts < 2; starts++) {
        make_thread_in_scope();
        CHECK_INT(treadle_thread_cancel(in_scope), TREADLE_OK);
        if (starts) CHECK_INT(treadle_thread_start(in_scope), TREADLE_OK);
        CHECK_INT(treadle_close(scope, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(releases_counted, starts + 1);
        CHECK_ERROR(treadle_thread_start(in_scope), TREADLE_E_STALE, "thread");
        CHECK_INT(treadle_release(scope), TREADLE_OK);
    }
}
static void *know_the_refusal(void *info) {
    int32_t applied = -1;
    double priority = -1;
    CHECK_INT(treadle_thread_get_priority(treadle_thread_current(), &priority, &applied), TREADLE_OK);
    CHECK_INT(applied, 0);
    CHECK(priority == *(double *)info);
    gate_open(&creation.there);
    return info;
}
TEST(a_policy_that_the_system_refuses_at_the_start, "THR-13 THR-2") {
    if (SANITIZER) return;
    gate_make(&creation.there);
    creation.follow = true; /* whichever of the two is quicker */
    for (int i = 0; i < 2; i++) {
        double priority = i ? 0.25 : 0.5;
        int32_t applied = -1;
        treadle_thread thread = thread_make(know_the_refusal, &priority);
        CHECK_INT(treadle_thread_set_policy(thread, TREADLE_POLICY_FIFO), TREADLE_OK);
        if (i) CHECK_INT(treadle_thread_set_priority(thread, priority), TREADLE_OK);
        creation.error = EPERM;
        creation.failures = 1; /* the second attempt has the default policy */
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK_INT(creation.failures, 0);
        CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
        CHECK(thread_end(thread) == &priority);
        CHECK_INT(treadle_thread_get_priority(thread, &priority, &applied), TREADLE_OK);
        CHECK_INT(applied, 0);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
}

/* --- What is asked for ---------------------------------------------------------------------------- */

TEST(a_cancelled_thread_costs_no_system_thread, "THR-5") {
    if (SANITIZER) return;
    treadle_thread thread = thread_make(nothing, NULL);
    CHECK_INT(treadle_thread_cancel(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(creation.calls, 0);
    thread_end(thread);
    thread_end(thread_begin(nothing, NULL));
    CHECK_INT(creation.calls, 1); /* and no other one but the one that is asked for */
}
TEST(the_stack_that_the_system_is_asked_for, "THR-13 D-16") {
    if (SANITIZER) return;
    const size_t sizes[] = {16384, 524288, 1 << 20};
    for (int i = 0; i < 3; i++) {
        treadle_thread thread = thread_make(nothing, NULL);
        CHECK_INT(treadle_thread_set_stack_size(thread, sizes[i]), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK(creation.stack_size >= sizes[i] && creation.stack_size < sizes[i] + (1 << 20));
        thread_end(thread);
    }
}

/* --- Between the start and the first instruction -------------------------------------------------- */

static treadle_thread starting_begin(treadle_thread_fn fn, void *info) {
    gate_make(&creation.there);
    gate_make(&creation.go);
    creation.hold = true;
    treadle_thread thread = thread_begin(fn, info);
    gate_pass(&creation.there);
    return thread;
}
TEST(a_thread_that_has_not_reached_its_function, "THR-1 THR-13 THR-17") {
    if (SANITIZER) return;
    int value;
    uintptr_t native;
    treadle_thread thread = starting_begin(nothing, &value);
    check_state(thread, TREADLE_THREAD_STARTING);
    CHECK_INT(treadle_thread_start(thread), TREADLE_E_STATE);
    CHECK_INT(treadle_thread_get_pthread(thread, &native), TREADLE_E_STATE); /* it does not execute */
    CHECK_INT(treadle_thread_set_stack_size(thread, 65536), TREADLE_E_STATE);
    CHECK_INT(treadle_thread_set_policy(thread, 0), TREADLE_E_STATE);
    CHECK_INT(treadle_thread_set_priority(thread, 0), TREADLE_E_STATE);
    CHECK_INT(treadle_thread_set_name(thread, "a name"), TREADLE_OK);
    CHECK_INT(treadle_thread_join(thread, 0, NULL), TREADLE_E_TIMEOUT);
    gate_open(&creation.go);
    CHECK(thread_end(thread) == &value);
}
static void *be_ready(void *info) {
    struct held *held = info;
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    return held_main(held);
}
TEST(a_start_that_times_out_while_the_thread_starts, "THR-18 THR-1") {
    if (SANITIZER) return;
    struct held held = {.result = &held};
    gate_make(&held.there);
    gate_make(&held.gate);
    gate_make(&creation.there);
    gate_make(&creation.go);
    creation.hold = true;
    treadle_thread thread = thread_make(be_ready, &held);
    CHECK_INT(treadle_thread_start_and_wait(thread, MILLISECONDS(1)), TREADLE_E_TIMEOUT);
    check_state(thread, TREADLE_THREAD_STARTING);
    gate_open(&creation.go);
    gate_pass(&held.there);
    check_state(thread, TREADLE_THREAD_EXECUTING);
    gate_open(&held.gate);
    CHECK(thread_end(thread) == &held);
}
static atomic_int stopped_runs;
static void *run_once(void *info) {
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    if (treadle_loop_run_default(treadle_loop_current()) == TREADLE_RUN_STOPPED) atomic_fetch_add(&stopped_runs, 1);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return info;
}
TEST(a_stop_while_the_thread_starts, "THR-18 STOP-9 THR-5") {
    if (SANITIZER) return;
    treadle_thread thread = starting_begin(run_once, &thread);
    CHECK_INT(treadle_thread_stop(thread), TREADLE_OK);
    CHECK(treadle_thread_is_cancelled(thread));
    gate_open(&creation.go);
    CHECK(thread_end(thread) == &thread); /* it was started, so it runs */
    CHECK_INT(stopped_runs, 1);
}
TEST(a_thread_that_is_let_go_while_it_starts, "THR-4 THR-17") {
    if (SANITIZER) return;
    struct held held = {.result = NULL};
    gate_make(&held.there);
    gate_make(&held.gate);
    gate_open(&held.gate);
    treadle_thread thread = starting_begin(held_main, &held);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    gate_open(&creation.go);
    gate_pass(&held.there);
}

TEST_MAIN()
