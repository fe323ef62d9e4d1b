/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * deadlock_test.c: what looks like threads that wait for each other, and is none: waits that are over, looks, and calls that were begun
 * inside of a wait. waits_test.c has those that are refused. */
#include "thread_jobs.h"

enum { MOST = 3 };
static struct server line[MOST];
static struct job first_job, second_job, third_job, last;

/* Who only looks whether it has ended does not wait, and stands in nobody's way. */
static void *perform_many_times(void *info) {
    struct job *job = info;
    for (int i = scaled(5000); i > 0; i--) CHECK_INT(job_perform(job, job->user, TREADLE_PERFORM_WAIT), TREADLE_OK);
    return NULL;
}
TEST(a_poll_is_not_part_of_a_circle, "PERF-7 THR-17") {
    treadle_status status;
    job_make(&first_job, NULL, treadle_thread_current());
    treadle_thread thread = thread_begin(perform_many_times, &first_job);
    while ((status = treadle_thread_join(thread, 0, NULL)) != TREADLE_OK) {
        CHECK(status == TREADLE_E_TIMEOUT || status == TREADLE_E_DEADLOCK);
        poll_mode(TREADLE_DEFAULT_MODE);
    }
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

/* A wait that is over is none, even if the waiter has not run again yet. */
static void perform_back(struct job *job) { CHECK_INT(job_perform(&third_job, job->user, TREADLE_PERFORM_WAIT), TREADLE_OK); }
static void perform_soon(struct job *job) { CHECK_INT(job_perform(&second_job, job->user, 0), TREADLE_OK); }
static void wait_for_the_other(struct job *job) { CHECK_INT(job_perform(job->user, line[1].thread, TREADLE_PERFORM_WAIT), TREADLE_OK); }
TEST(a_wait_that_is_over_does_not_count, "PERF-7") {
    struct job start;
    for (int i = 0; i < 2; i++) server_start(&line[i]);
    for (int round = scaled(2000); round > 0; round--) {
        job_make(&start, wait_for_the_other, &first_job);
        job_make(&first_job, perform_soon, line[1].thread); /* line 0 waits for line 1, which then has a job of its own: */
        job_make(&second_job, perform_back, line[0].thread); /* to wait for line 0, at once */
        job_make(&third_job, NULL, NULL);
        CHECK_INT(job_perform(&start, line[0].thread, 0), TREADLE_OK);
        gate_pass(&third_job.done);
        gate_pass(&second_job.done);
        struct job *const all[] = {&start, &first_job, &second_job, &third_job};
        for (int i = 0; i < 4; i++) {
            job_await_releases(all[i], 1);
            job_check(all[i], 1, 1);
        }
    }
    for (int i = 0; i < 2; i++) server_end(&line[i]);
}
static void *be_ready_and_perform_back(void *info) {
    struct job *job = info;
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    CHECK_INT(job_perform(job, job->user, TREADLE_PERFORM_WAIT), TREADLE_OK);
    return NULL;
}
TEST(a_start_that_is_over_does_not_count, "PERF-7 THR-18") {
    for (int round = scaled(1000); round > 0; round--) {
        struct job job;
        job_make(&job, NULL, treadle_thread_current());
        treadle_thread thread = thread_make(be_ready_and_perform_back, &job);
        CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
        while (!job.calls) poll_mode(TREADLE_DEFAULT_MODE);
        thread_end(thread);
        job_check(&job, 1, 1);
    }
}

/* What a thread has begun inside of a wait of its own ends without that: whoever waits for it waits for nobody else. Line 0
 * waits for line 1, which performs that inside of its wait for line 2, which then waits for line 0. */
static struct job outer_job, inner_job;
static struct gate has_begun;
static atomic_bool tries, is_answered;
static treadle_status answer_status;
static void wait_for_line_0(void) {
    const char *const modes[] = {TREADLE_CALL_MODE};
    treadle_request request = job_request(&inner_job);
    CHECK_INT(perform_on(line[1].thread, &request, modes, 1, 0), TREADLE_OK);
    gate_pass(&has_begun);
    tries = true;
    answer_status = job_perform(&last, line[0].thread, TREADLE_PERFORM_WAIT);
    is_answered = true;
}
static void run_default_mode(struct job *job) {
    (void)job;
    CHECK_INT(job_perform(&first_job, line[0].thread, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run(line[1].loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
}
static void last_until_line_2_waits(struct job *job) {
    (void)job;
    gate_open(&has_begun);
    while (!is_answered && !(tries && is_in_kernel_wait(line[2].thread_id))) sched_yield();
}
static void invoke_there(struct job *job) {
    (void)job;
    treadle_invocation_config config = {.struct_size = sizeof config, .code = wait_for_line_0, .signature = "v"};
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = line[2].loop, .wait = TREADLE_WAIT_RUNNING};
    treadle_invocation invocation = NULL;
    CHECK_INT(treadle_invocation_create(&config, &invocation), TREADLE_OK);
    CHECK_INT(treadle_invocation_perform(invocation, &options), TREADLE_OK);
    CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
}
TEST(what_was_begun_inside_of_a_wait_does_not_wait_for_it, "PERF-7 PERF-8") {
    for (int i = 0; i < 3; i++) server_start(&line[i]);
    for (int round = scaled(100); round > 0; round--) {
        tries = is_answered = false;
        gate_make(&has_begun);
        job_make(&outer_job, invoke_there, NULL);
        job_make(&inner_job, run_default_mode, NULL);
        job_make(&first_job, wait_for_the_other, &second_job);
        job_make(&second_job, last_until_line_2_waits, NULL);
        job_make(&last, NULL, NULL);
        CHECK_INT(job_perform(&outer_job, line[1].thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
        CHECK_INT(answer_status, TREADLE_OK);
        struct job *const all[] = {&outer_job, &inner_job, &first_job, &second_job, &last};
        for (int i = 0; i < 5; i++) {
            job_await_releases(all[i], 1);
            gate_pass(&all[i]->done);
            job_check(all[i], 1, 1);
        }
    }
    for (int i = 0; i < 3; i++) server_end(&line[i]);
}

TEST_MAIN()
