/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_thread_test.c: performing functions on other threads, with and without waiting, and on the main thread. */
#include "perform_jobs.h"

/* --- On another thread ---------------------------------------------------------------------------- */

TEST(another_thread_is_woken, "PERF-3 PERF-7 PERF-8") {
    struct server server;
    struct job job;
    server_start(&server);
    job_make(&job, NULL, NULL);
    for (int i = 1; i <= 20; i++) {
        await_sleep(&server.watch);
        CHECK_INT(job_perform(&job, server.thread, 0), TREADLE_OK);
        gate_pass(&job.done);
        job_await_releases(&job, i);
        job_check(&job, i, i);
        CHECK_INT(job.thread_id, server.thread_id);
    }
    server_end(&server);
}
static void write_plainly(struct job *job) {
    int *cells = job->user;
    for (int i = 0; i < 1000; i++) cells[i] = job->number + i;
}
TEST(a_waiter_sees_what_the_function_wrote, "PERF-7 PERF-3") {
    struct server server;
    struct job job;
    static int cells[1000];
    server_start(&server);
    job_make(&job, write_plainly, cells);
    for (int round = 1; round <= scaled(500); round++) {
        job.number = round;
        CHECK_INT(job_perform(&job, server.thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
        for (int i = 0; i < 1000; i++) CHECK_INT(cells[i], round + i);
        CHECK_INT(job.calls, round);
        CHECK_INT(job.thread_id, server.thread_id);
    }
    server_end(&server);
    job_check(&job, scaled(500), scaled(500));
}
static void fire_never(treadle_timer timer, void *info) { (void)timer, (void)info, check_failed(__FILE__, __LINE__, "the waiter's loop was run"); }
static void perform_never(treadle_source source, void *info) { (void)source, fire_never(NULL, info); }
static void take_time(struct job *job) {
    (void)job;
    linger(MILLISECONDS(1));
}
TEST(a_waiter_s_own_loop_is_not_run, "PERF-7") {
    struct server server;
    struct job job, own;
    begin();
    treadle_timer timer = make_timer(fire_never, NULL, 1, 0);
    treadle_source source = make_source(perform_never, NULL);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    queue(&own, 1, NULL);
    server_start(&server);
    job_make(&job, take_time, NULL);
    CHECK_INT(job_perform(&job, server.thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
    job_check(&own, 0, 0);
    server_end(&server);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    job_check(&own, 1, 1);
}
static void *perform_one(void *info) {
    CHECK_INT(job_perform(info, self, 0), TREADLE_OK);
    return NULL;
}
TEST(requests_of_several_threads_keep_their_order, "PERF-4 PERF-3") {
    static struct job jobs[8];
    begin();
    for (int i = 0; i < 8; i++) {
        job_make(&jobs[i], trace_number, NULL);
        jobs[i].number = i;
        if (i % 2) on_thread(perform_one, &jobs[i]);
        else perform_one(&jobs[i]);
    }
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("0 1 2 3 4 5 6 7");
}
/* No lock is held: while the function runs, others use the same target. */
static struct job inner;
static void *perform_inner(void *unused) {
    CHECK_INT(job_perform(&inner, self, 0), TREADLE_OK);
    CHECK_INT(treadle_thread_set_name(self, "inside"), TREADLE_OK);
    return unused;
}
static void let_others_perform(struct job *job) {
    (void)job;
    on_thread(perform_inner, NULL);
}
TEST(others_perform_while_a_function_runs, "OBJ-7 PERF-4 PERF-7") {
    struct server server;
    struct job job;
    server_start(&server);
    self = server.thread;
    job_make(&job, let_others_perform, NULL);
    job_make(&inner, NULL, NULL);
    CHECK_INT(job_perform(&job, self, TREADLE_PERFORM_WAIT), TREADLE_OK);
    gate_pass(&inner.done);
    server_end(&server);
    job_check(&job, 1, 1);
    job_check(&inner, 1, 1);
}

/* --- On the main thread --------------------------------------------------------------------------- */

static void check_main(struct job *job) {
    CHECK(treadle_thread_is_main(NULL));
    trace("%d", job->number);
}
static void *ask_the_main_thread(void *info) {
    struct job *jobs = info;
    for (int i = 0; i < 3; i++) {
        job_make(&jobs[i], check_main, NULL);
        jobs[i].number = i;
        treadle_request request = job_request(&jobs[i]);
        CHECK_INT(perform_on_main(&request, NULL, 0, i == 2 ? TREADLE_PERFORM_WAIT : 0), TREADLE_OK);
    }
    CHECK_INT(jobs[2].calls, 1);
    return NULL;
}
TEST(the_main_thread_performs, "PERF-10 PERF-3 PERF-2") {
    static struct job jobs[3], direct;
    begin();
    pthread_t thread;
    treadle_source keeper = keep_mode(MODE);
    CHECK_INT(pthread_create(&thread, NULL, ask_the_main_thread, jobs), 0);
    while (!jobs[2].calls) CHECK(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE) == TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_TRACE("0 1 2");
    for (int i = 0; i < 3; i++) job_check(&jobs[i], 1, 1);
    job_make(&direct, check_main, NULL);
    treadle_request request = job_request(&direct);
    CHECK_INT(perform_on_main(&request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    job_check(&direct, 1, 1); /* from the main thread: a call */
    CHECK_INT(perform_on_main(&request, NULL, 0, 0), TREADLE_OK);
    job_check(&direct, 1, 1);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    job_check(&direct, 2, 2);
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

TEST_MAIN()
