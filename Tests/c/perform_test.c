/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_test.c: performing functions on one's own thread: when, in which order and mode, and what it means for the
 * run. perform_thread_test.c has other threads, perform_end_test.c those that end meanwhile. */
#include "perform_jobs.h"

static void count_pass(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    trace("|");
}
/* Every pass of the mode begins with a bar in the trace. */
static void trace_passes(const char *mode) {
    treadle_observer observer = make_observer(count_pass, NULL, TREADLE_BEFORE_TIMERS);
    CHECK_INT(treadle_loop_add_observer(loop, observer, mode), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
}

/* --- On one's own thread -------------------------------------------------------------------------- */

static void must_be_direct(struct job *job) {
    CHECK_INT(job->target_releases, job->calls);
    CHECK_INT(thread_id(), *(int32_t *)job->user);
}
static void perform_directly(void *unused) {
    int32_t id = thread_id();
    struct job job;
    (void)unused;
    job_make(&job, must_be_direct, &id);
    for (int i = 1; i <= 3; i++) { /* whatever the loop does, and in whatever mode it would be */
        CHECK_INT(i == 2 ? job_perform_in(&job, treadle_thread_current(), "never run", TREADLE_PERFORM_WAIT)
                         : job_perform(&job, treadle_thread_current(), TREADLE_PERFORM_WAIT), TREADLE_OK);
        job_check(&job, i, i);
    }
}
static void perform_directly_in_a_job(struct job *job) { perform_directly(job); }
static void *perform_directly_on_a_thread(void *info) { return perform_directly(NULL), info; }
TEST(waiting_on_one_s_own_thread_is_a_call, "PERF-2 PERF-8 PERF-7") {
    struct job outer;
    begin();
    perform_directly(NULL); /* before there is a loop */
    on_thread(perform_directly_on_a_thread, NULL);
    thread_end(thread_begin(perform_directly_on_a_thread, NULL));
    CHECK_INT(treadle_loop_post(loop, perform_directly, NULL), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    job_make(&outer, perform_directly_in_a_job, NULL);
    CHECK_INT(job_perform(&outer, self, TREADLE_PERFORM_WAIT), TREADLE_OK); /* also inside itself */
    CHECK_INT(job_perform(&outer, self, 0), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    job_check(&outer, 2, 2);
}
TEST(without_waiting_it_is_queued_for_a_later_pass, "PERF-2 PERF-4 PERF-8") {
    static struct job jobs[6];
    begin();
    trace_passes(MODE);
    for (int i = 0; i < 6; i++) {
        queue(&jobs[i], i, NULL);
        job_check(&jobs[i], 0, 0);
    }
    CHECK_TRACE("");
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("| 0 1 2 3 4 5"); /* in their order, all in one pass */
    for (int i = 0; i < 6; i++) {
        job_check(&jobs[i], 1, 1);
        CHECK_INT(jobs[i].thread_id, thread_id());
    }
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}
TEST(a_direct_call_does_not_wait_for_the_queue, "PERF-2 PERF-4") {
    static struct job queued, direct;
    begin();
    queue(&queued, 1, NULL);
    job_make(&direct, trace_number, NULL);
    direct.number = 2;
    CHECK_INT(job_perform(&direct, self, TREADLE_PERFORM_WAIT), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("2 1");
}

static int requeues;
static void requeue(struct job *job) {
    trace("%d", job->number);
    if (requeues-- > 0) CHECK_INT(job_perform(job, treadle_thread_current(), 0), TREADLE_OK);
}
TEST(what_a_job_queues_waits_for_the_next_pass, "PERF-4") {
    static struct job jobs[2];
    begin();
    trace_passes(MODE);
    requeues = 5;
    for (int i = 0; i < 2; i++) {
        job_make(&jobs[i], requeue, NULL);
        jobs[i].number = i;
        CHECK_INT(job_perform(&jobs[i], self, 0), TREADLE_OK);
    }
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("| 0 1");
    CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_FINISHED);
    CHECK_TRACE("| 0 1 | 0 1 | 0");
    CHECK_INT(jobs[0].calls + jobs[1].calls, 7);
    CHECK_INT(jobs[0].target_releases + jobs[1].target_releases, 7);
}

/* --- Modes ---------------------------------------------------------------------------------------- */

TEST(a_job_waits_for_one_of_its_modes, "PERF-4 PERF-1 PERF-3") {
    static struct job jobs[5];
    const char *two[] = {"a", "b"};
    begin();
    trace_passes("a");
    trace_passes("b");
    queue(&jobs[0], 0, "b");
    queue(&jobs[1], 1, "a");
    queue(&jobs[2], 2, "b");
    queue(&jobs[3], 3, "a");
    job_make(&jobs[4], trace_number, NULL);
    jobs[4].number = 4;
    treadle_request request = job_request(&jobs[4]);
    CHECK_INT(perform_on(self, &request, two, 2, 0), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
    CHECK_INT(poll_mode("a"), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("| 1 3 4"); /* those that wait for b do not block the others */
    CHECK_INT(poll_mode("a"), TREADLE_RUN_FINISHED);
    CHECK_INT(poll_mode("b"), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("| 0 2"); /* 4 was for both, and is performed once */
    CHECK_INT(poll_mode("b"), TREADLE_RUN_FINISHED);
    for (int i = 0; i < 5; i++) job_check(&jobs[i], 1, 1);
}
TEST(without_modes_the_common_ones_count, "PERF-1 MODE-8") {
    static struct job jobs[4];
    const char *names[] = {"x", TREADLE_COMMON_MODES}, *twice[] = {"x", "x"};
    begin();
    queue(&jobs[0], 0, NULL);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_FINISHED); /* not common yet */
    CHECK_INT(treadle_loop_add_common_mode(loop, "x"), TREADLE_OK);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("0");
    queue(&jobs[1], 1, NULL);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1");
    job_make(&jobs[2], trace_number, NULL);
    treadle_request request = job_request(&jobs[2]);
    jobs[2].number = 2;
    CHECK_INT(perform_on(self, &request, names + 1, 1, 0), TREADLE_OK); /* by their name */
    CHECK_INT(perform_on(self, &request, names, 2, 0), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("2 2");
    job_check(&jobs[2], 2, 2);
    job_make(&jobs[3], trace_number, NULL);
    request = job_request(&jobs[3]);
    jobs[3].number = 3;
    CHECK_INT(perform_on(self, &request, twice, 2, 0), TREADLE_OK);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_FINISHED);
    CHECK_TRACE("3");
    job_check(&jobs[3], 1, 1);
}
TEST(a_list_without_modes_performs_nothing, "PERF-1 PERF-8") {
    const char *none[1] = {NULL};
    struct server server;
    struct job job;
    begin();
    job_make(&job, trace_number, NULL);
    treadle_request request = job_request(&job);
    server_start(&server);
    CHECK_INT(perform_on(self, &request, none, 0, 0), TREADLE_IGNORED);
    CHECK_INT(perform_on(self, &request, none, 0, TREADLE_PERFORM_WAIT), TREADLE_IGNORED);
    CHECK_INT(perform_on(server.thread, &request, none, 0, 0), TREADLE_IGNORED);
    CHECK_INT(perform_on(server.thread, &request, none, 0, TREADLE_PERFORM_WAIT), TREADLE_IGNORED);
    CHECK_INT(perform_on_main(&request, none, 0, TREADLE_PERFORM_WAIT), TREADLE_IGNORED);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
    job_check(&job, 0, 5);
    server_end(&server);
    job_check(&job, 0, 5);
}

/* --- What it means for the run -------------------------------------------------------------------- */

TEST(jobs_keep_a_mode_alive_while_they_are_pending, "PERF-6 D-05") {
    static struct job jobs[3];
    begin();
    for (int round = 0; round < 2; round++) { /* not longer either, however often it was used */
        CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
        queue(&jobs[0], 0, "other");
        CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
        CHECK_TRACE("");
        queue(&jobs[1], 1, MODE);
        CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
        CHECK_TRACE("1");
        CHECK_INT(treadle_loop_run(loop, "other", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
        CHECK_TRACE("0");
    }
}
TEST(jobs_count_as_a_handled_source, "PERF-5 RUN-7 PERF-4") {
    static struct job jobs[3];
    begin();
    treadle_source keeper = keep_mode(MODE);
    for (int i = 0; i < 3; i++) queue(&jobs[i], i, NULL);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("0 1 2"); /* once for the pass, not for each */
    CHECK_INT(treadle_loop_run(loop, MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_TIMED_OUT);
    queue(&jobs[0], 0, "other"); /* one that is not performed is not handled */
    CHECK_INT(treadle_loop_run(loop, MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_run(loop, "other", TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}
static void trace_text_of(void *text) { trace("%s", (char *)text); }
static void perform_text(treadle_source source, void *text) { (void)source, trace_text_of(text); }
static void block_after(struct job *job) {
    trace("job");
    CHECK_INT(treadle_loop_post(loop, trace_text_of, job->user), TREADLE_OK);
}
TEST(jobs_are_performed_as_a_source_of_order_0, "PERF-5 PASS-5 PASS-6") {
    struct job job;
    treadle_source sources[2];
    begin();
    for (int i = 0; i < 2; i++) {
        treadle_source_context context = {.struct_size = sizeof context, .perform = perform_text, .info = i ? "high" : "low", .order = i ? 1 : -1};
        CHECK_INT(treadle_source_create(&context, &sources[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
    }
    trace_passes(MODE);
    job_make(&job, block_after, "block");
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 2; i++) CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        CHECK_INT(job_perform(&job, self, 0), TREADLE_OK);
        CHECK_INT(treadle_loop_post(loop, trace_text_of, "first"), TREADLE_OK);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("| first low job high block"); /* and the blocks that they queue follow in the same pass */
        job_check(&job, round, round);
    }
    /* A run that returns after a source leaves the sources behind them to the next one (SRC0-7). */
    CHECK_INT(treadle_source_signal(sources[1]), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(job_perform(&job, self, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("| job job block block");
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("| high");
    for (int i = 0; i < 2; i++) {
        CHECK_INT(treadle_source_invalidate(sources[i]), TREADLE_OK);
        CHECK_INT(treadle_source_release(sources[i]), TREADLE_OK);
    }
}
static void run_nested(struct job *job) {
    trace("%d(", job->number);
    treadle_status status = poll_mode(MODE);
    CHECK(status == TREADLE_RUN_TIMED_OUT || status == TREADLE_RUN_FINISHED);
    trace(")");
}
TEST(a_job_may_run_the_loop, "PERF-4 PERF-5 RUN-12") {
    static struct job jobs[3];
    begin();
    for (int i = 0; i < 3; i++) {
        job_make(&jobs[i], run_nested, NULL);
        jobs[i].number = i;
        CHECK_INT(job_perform(&jobs[i], self, 0), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_FINISHED);
    for (int i = 0; i < 3; i++) job_check(&jobs[i], 1, 1); /* each once, whichever run it was */
}
static void stop_the_loop(struct job *job) {
    trace_number(job);
    CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
TEST(a_stop_by_a_job_completes_the_pass, "PERF-4 STOP-3 STOP-4") {
    static struct job stopper, next;
    begin();
    job_make(&stopper, stop_the_loop, NULL);
    CHECK_INT(job_perform(&stopper, self, 0), TREADLE_OK);
    queue(&next, 1, NULL);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_STOPPED);
    CHECK_TRACE("0 1");
}

TEST_MAIN()
