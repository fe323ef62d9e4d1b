/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_end_test.c: requests to threads that end: nothing is lost, nobody waits for ever, everything is given
 * back once. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE

/* --- Threads that are over ------------------------------------------------------------------------ */

TEST(a_thread_that_is_over_performs_nothing, "PERF-9 PERF-8 D-22") {
    treadle_thread thread = thread_begin(nothing, NULL);
    struct job job;
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    job_make(&job, NULL, NULL);
    CHECK_ERROR(job_perform(&job, thread, 0), TREADLE_E_CLOSED, "thread");
    CHECK_ERROR(job_perform(&job, thread, TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED, "thread");
    job_check(&job, 0, 2);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    thread = thread_make(nothing, NULL); /* one that was cancelled never runs, and is over too */
    CHECK_INT(job_perform(&job, thread, 0), TREADLE_OK);
    CHECK_INT(treadle_thread_cancel(thread), TREADLE_OK);
    job_check(&job, 0, 2);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    job_check(&job, 0, 3);
    CHECK_ERROR(job_perform(&job, thread, TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED, "thread");
    job_check(&job, 0, 4);
    thread_end(thread);
}
TEST(a_thread_that_never_starts_drops_its_requests, "PERF-9 PERF-8 THR-4") {
    struct job job;
    treadle_thread thread = thread_make(nothing, NULL);
    job_make(&job, NULL, NULL);
    for (int i = 0; i < 3; i++) CHECK_INT(job_perform(&job, thread, 0), TREADLE_OK);
    job_check(&job, 0, 0);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    job_check(&job, 0, 3);
}

/* --- Waiters of a thread that ends ---------------------------------------------------------------- */

struct target { struct held held; treadle_thread thread; void (*end)(void *result); treadle_status mode_status; };
struct waiter { struct target *target; struct job job; treadle_status status; bool finished; pthread_t thread; };
static void *wait_for_target(void *info) {
    struct waiter *waiter = info;
    waiter->status = job_perform_in(&waiter->job, waiter->target->thread, "never run", TREADLE_PERFORM_WAIT);
    waiter->finished = treadle_thread_is_finished(waiter->target->thread);
    return NULL;
}
static void end_by_return(void *result) { (void)result; }
static void end_by_exit(void *result) { treadle_thread_exit(result); }
static void end_by_pthread_exit(void *result) { pthread_exit(result); }
static void *target_main(void *info) {
    struct target *target = info;
    target->thread = treadle_thread_current();
    CHECK_INT(treadle_thread_retain(target->thread), TREADLE_OK);
    CHECK(treadle_loop_current());
    held_main(&target->held);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED); /* it runs other modes only */
    target->end(NULL);
    return NULL;
}
TEST(waiters_of_a_thread_that_ends_are_released, "PERF-9 PERF-8 THR-14 D-22") {
    void (*const ends[])(void *) = {end_by_return, end_by_exit, end_by_pthread_exit};
    for (int round = 0; round < scaled(30) + 5; round++) {
        int end = round % 3, foreign = round % 2 && end != 1;
        static struct waiter waiters[3];
        struct target target = {.end = ends[end]};
        struct job unwaited;
        pthread_t thread;
        gate_make(&target.held.there);
        gate_make(&target.held.gate);
        treadle_thread started = foreign ? NULL : thread_begin(target_main, &target);
        if (foreign) CHECK_INT(pthread_create(&thread, NULL, target_main, &target), 0);
        gate_pass(&target.held.there);
        job_make(&unwaited, NULL, NULL);
        CHECK_INT(job_perform_in(&unwaited, target.thread, "never run", 0), TREADLE_OK);
        for (int i = 0; i < 3; i++) {
            waiters[i] = (struct waiter){.target = &target, .status = 1};
            job_make(&waiters[i].job, NULL, NULL);
            CHECK_INT(pthread_create(&waiters[i].thread, NULL, wait_for_target, &waiters[i]), 0);
        }
        linger(MICROSECONDS(round % 5 * 50));
        gate_open(&target.held.gate);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(pthread_join(waiters[i].thread, NULL), 0);
            CHECK_INT(waiters[i].status, TREADLE_E_CLOSED);
            CHECK(waiters[i].finished);
        }
        if (foreign) CHECK_INT(pthread_join(thread, NULL), 0);
        else thread_end(started);
        for (int i = 0; i < 3; i++) job_check(&waiters[i].job, 0, 1);
        job_check(&unwaited, 0, 1);
        CHECK_INT(treadle_thread_release(target.thread), TREADLE_OK);
    }
}

/* The function itself ends the thread. */
static void end_inside(struct job *job) { ((void (*)(void *))job->user)(NULL); }
static void *serve_until_the_end(void *info) {
    treadle_source keeper = info;
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, MODE), TREADLE_OK);
    treadle_loop_run_default(treadle_loop_current());
    CHECK(!"reached");
    return NULL;
}
TEST(a_function_that_ends_its_thread, "PERF-9 PERF-8 D-22 THR-7") {
    void (*const ends[])(void *) = {end_by_exit, end_by_pthread_exit};
    for (int round = 0; round < 4; round++) {
        struct job job, behind;
        treadle_source keeper = make_source(NULL, NULL);
        treadle_thread thread = thread_make(serve_until_the_end, keeper);
        CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
        job_make(&job, end_inside, (void *)ends[round % 2]);
        job_make(&behind, NULL, NULL);
        if (round < 2) {
            CHECK_INT(job_perform(&job, thread, TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED);
        } else { /* with another waiting behind it */
            CHECK_INT(job_perform(&job, thread, 0), TREADLE_OK);
            CHECK_INT(job_perform(&behind, thread, TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED);
        }
        CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
        job_check(&job, 0, 1);
        job_check(&behind, 0, round < 2 ? 0 : 1);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
        CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
        CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    }
}

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

/* Without waiting: each request that was accepted is performed or dropped, and given back in either case. */
static atomic_int accepted, rejected, ran, given_back;
static void run_one(void *target, void *argument) { (void)target, (void)argument, atomic_fetch_add(&ran, 1); }
static void give_back(void *object) { (void)object, atomic_fetch_add(&given_back, 1); }
static void *shower(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = run_one, .release_target = give_back};
    for (int i = *(int *)info; i > 0; i--) {
        unsigned number;
        treadle_thread thread = take_from_stage(&number);
        if (i % 31 == 0) CHECK_INT(treadle_thread_stop(thread), TREADLE_OK);
        if (i % 8 == 0) sched_yield(); /* it has its turn, too */
        treadle_status status = perform_on(thread, &request, NULL, 0, 0);
        CHECK(status == TREADLE_OK || status == TREADLE_E_CLOSED);
        atomic_fetch_add(status == TREADLE_OK ? &accepted : &rejected, 1);
        give_back_to_stage(thread, number, status);
    }
    return NULL;
}
TEST(requests_while_threads_are_stopped, "PERF-9 PERF-8") {
    int each = scaled(20000);
    pthread_t callers[3], target;
    put_on_stage(thread_begin(nothing, NULL));
    CHECK_INT(pthread_create(&target, NULL, come_and_go, NULL), 0);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&callers[i], NULL, shower, &each), 0);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_join(callers[i], NULL), 0);
    end_stage(target);
    CHECK_INT(accepted + rejected, 3 * each);
    CHECK_INT(given_back, 3 * each);
    CHECK(ran <= accepted);
}

TEST_MAIN()
