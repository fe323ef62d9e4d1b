/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_end_test.c: requests to threads that end: nothing is lost, nobody waits for ever, everything is given
 * back once. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE

/* Requests that come while the end is being told are accepted or not, but not kept for ever. */
static struct job last_job;
static treadle_status last_status;
static void *perform_at_the_end(void *thread) {
    last_status = job_perform(&last_job, thread, 0);
    CHECK(last_status == TREADLE_OK || last_status == TREADLE_E_CLOSED);
    return NULL;
}
static void let_another_perform(struct listener *listener) {
    if (listener->object != listener->user) return;
    on_thread(perform_at_the_end, listener->object);
    CHECK(job_perform(&last_job, listener->object, 0) == last_status);
    CHECK_INT(job_perform(&last_job, listener->object, TREADLE_PERFORM_WAIT), TREADLE_OK); /* a call, while it executes */
}
TEST(requests_during_the_last_notification, "PERF-9 THR-14 PERF-2") {
    struct held held;
    treadle_thread thread = held_begin(&held, NULL);
    struct listener exits = {.run = let_another_perform, .user = thread};
    job_make(&last_job, NULL, NULL);
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    gate_open(&held.gate);
    thread_end(thread);
    job_check(&last_job, 1, 3);
}

/* --- Delayed requests ----------------------------------------------------------------------------- */

static struct job delayed[3];
static void *delay_and_leave(void *info) {
    for (int i = 0; i < 3; i++) {
        const char *mode = "never run";
        job_make(&delayed[i], NULL, NULL);
        treadle_request request = job_request(&delayed[i]);
        CHECK_INT(perform_after(i * SECONDS(1000), &request, i == 2 ? &mode : NULL, i == 2), TREADLE_OK);
    }
    for (int i = 0; i < 3; i++) job_check(&delayed[i], 0, 0);
    return info;
}
TEST(delayed_requests_end_with_their_thread, "PERF-16 PERF-9 PERF-12") {
    thread_end(thread_begin(delay_and_leave, NULL));
    for (int i = 0; i < 3; i++) job_check(&delayed[i], 0, 1);
    on_thread(delay_and_leave, NULL);
    for (int i = 0; i < 3; i++) job_check(&delayed[i], 0, 1);
}

/* --- Raced ---------------------------------------------------------------------------------------- */

/* Threads come and go all the time; others perform on whichever is there. */
static struct { pthread_mutex_t lock; treadle_thread current; atomic_bool over; atomic_uint targets; } stage = {
    .lock = PTHREAD_MUTEX_INITIALIZER};
static void *serve(void *info) {
    treadle_timer keeper = make_timer(NULL, NULL, FAR_AWAY, SECONDS(1000));
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), keeper, MODE), TREADLE_OK);
    treadle_status status = treadle_loop_run_default(treadle_loop_current());
    CHECK_INT(status, TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_timer_release(keeper), TREADLE_OK);
    return info;
}
static void put_on_stage(treadle_thread thread) {
    pthread_mutex_lock(&stage.lock);
    treadle_thread old = stage.current;
    stage.current = thread;
    atomic_fetch_add(&stage.targets, 1);
    pthread_mutex_unlock(&stage.lock);
    if (old) CHECK_INT(treadle_thread_release(old), TREADLE_OK);
}
static treadle_thread take_from_stage(unsigned *number) {
    pthread_mutex_lock(&stage.lock);
    treadle_thread thread = stage.current;
    *number = atomic_load(&stage.targets);
    CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
    pthread_mutex_unlock(&stage.lock);
    return thread;
}
/* Whoever was refused leaves the thread alone and goes to the next one. */
static void give_back_to_stage(treadle_thread thread, unsigned number, treadle_status status) {
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    while (status != TREADLE_OK && atomic_load(&stage.targets) == number) sched_yield();
}
/* One thread after the other, each until somebody stops it. */
static void *come_and_go(void *unused) {
    for (unsigned i = 0; !atomic_load(&stage.over); i++) {
        treadle_thread thread = thread_make(serve, NULL);
        CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
        if (i % 2) put_on_stage(thread); /* requests and stops may come before the start, too */
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        if (i % 2 == 0) put_on_stage(thread);
        if (atomic_load(&stage.over)) CHECK_INT(treadle_thread_stop(thread), TREADLE_OK);
        CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
    return unused;
}
static void end_stage(pthread_t target) {
    unsigned number;
    atomic_store(&stage.over, true);
    treadle_thread thread = take_from_stage(&number);
    CHECK_INT(treadle_thread_stop(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(pthread_join(target, NULL), 0);
    put_on_stage(NULL);
}
static atomic_int performed, refused;
static void *round_trips(void *info) {
    for (int i = *(int *)info; i > 0; i--) {
        struct job job;
        unsigned number;
        job_make(&job, NULL, NULL);
        treadle_thread thread = take_from_stage(&number);
        if (i % 7 == 0) CHECK_INT(treadle_thread_stop(thread), TREADLE_OK);
        treadle_status status = job_perform(&job, thread, TREADLE_PERFORM_WAIT);
        CHECK(status == TREADLE_OK || status == TREADLE_E_CLOSED);
        CHECK_INT(job.calls, status == TREADLE_OK); /* its result, or the error: not both, not neither */
        job_await_releases(&job, 1);
        job_check(&job, status == TREADLE_OK, 1);
        atomic_fetch_add(status == TREADLE_OK ? &performed : &refused, 1);
        give_back_to_stage(thread, number, status);
    }
    return NULL;
}
TEST(round_trips_while_threads_are_stopped, "PERF-9 PERF-7 PERF-8 STOP-9 D-22") {
    int each = scaled(10000) / 3 + 1;
    pthread_t callers[3], target;
    put_on_stage(thread_begin(nothing, NULL));
    CHECK_INT(pthread_create(&target, NULL, come_and_go, NULL), 0);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&callers[i], NULL, round_trips, &each), 0);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_join(callers[i], NULL), 0);
    end_stage(target);
    CHECK_INT(performed + refused, 3 * each);
}

TEST_MAIN()
