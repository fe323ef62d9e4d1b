/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * deadlock_test.c: threads that would wait for each other for ever: the one that would close the circle is told. */
#include "thread_jobs.h"

/* A line of servers; each performs on the next one and waits, the last one does something to the first, which
 * surely waits by then: through all the others. */
enum { MOST = 5 };
static struct server line[MOST];
static int length;
static treadle_status (*close_circle)(treadle_thread first);
static struct job jobs[MOST], first_job, second_job, third_job;
static treadle_status closing;

static void go_on(struct job *job) {
    int next = job->number + 1;
    if (next == length) {
        closing = close_circle(line[0].thread);
        return;
    }
    CHECK_INT(job_perform(&jobs[next], line[next].thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
}
static struct job last;
static treadle_status wait_for(treadle_thread first) { return job_perform(&last, first, TREADLE_PERFORM_WAIT); }
static treadle_status join_it(treadle_thread first) {
    void *result = &result;
    treadle_status status = treadle_thread_join(first, TREADLE_FOREVER, &result);
    CHECK(!result);
    return status;
}
static treadle_status stop_and_join_it(treadle_thread first) { return treadle_thread_stop_and_join(first, TREADLE_FOREVER, NULL); }
static void trace_error(const char *word) {
    treadle_error_info info = {.struct_size = sizeof info};
    treadle_last_error(&info);
    CHECK_INT(info.code, TREADLE_E_DEADLOCK);
    CHECK(strstr(info.message, word));
}
static treadle_status perform_and_look(treadle_thread first) {
    treadle_status status = wait_for(first);
    trace_error("thread");
    return status;
}

static void go_round(int count, treadle_status (*close)(treadle_thread)) {
    length = count;
    close_circle = close;
    closing = 99;
    job_make(&last, NULL, NULL);
    for (int i = 0; i < count; i++) {
        server_start(&line[i]);
        job_make(&jobs[i], go_on, NULL);
        jobs[i].number = i;
    }
    CHECK_INT(job_perform(&jobs[0], line[0].thread, TREADLE_PERFORM_WAIT), TREADLE_OK); /* at once, and nobody hangs */
    CHECK_INT(closing, TREADLE_E_DEADLOCK);
    for (int i = 0; i < count; i++) {
        server_end(&line[i]);
        job_check(&jobs[i], 1, 1);
    }
    job_check(&last, 0, close == wait_for || close == perform_and_look ? 1 : 0);
}
TEST(threads_that_perform_on_each_other, "PERF-7 PERF-8") {
    for (int count = 2; count <= MOST; count++) go_round(count, perform_and_look);
}
TEST(a_thread_that_joins_who_waits_for_it, "PERF-7 THR-17") {
    for (int count = 2; count <= MOST; count += 3) go_round(count, join_it);
}
TEST(a_thread_that_stops_who_waits_for_it, "PERF-7 THR-18 THR-17") {
    for (int count = 2; count <= MOST; count += 3) go_round(count, stop_and_join_it);
}

/* A wait with a time-out is part of the circle until its time has passed. */
static treadle_thread joined;
static treadle_status join_status;
static struct gate join_begins;
static void join_with_time_out(struct job *job) {
    (void)job;
    gate_open(&join_begins);
    join_status = treadle_thread_join(joined, SECONDS(1000000), NULL);
}
static void *perform_until_refused(void *info) {
    struct job *job = info;
    const char *const modes[] = {TREADLE_CALL_MODE}; /* which nobody runs: only a refusal ends it */
    gate_pass(&join_begins);
    while (!is_in_kernel_wait(line[0].thread_id)) sched_yield();
    treadle_request request = job_request(job);
    CHECK_INT(perform_on(line[0].thread, &request, modes, 1, TREADLE_PERFORM_WAIT), TREADLE_E_DEADLOCK);
    return NULL;
}
TEST(a_join_with_a_time_out_is_part_of_the_circle, "PERF-7 THR-17") {
    server_start(&line[0]);
    gate_make(&join_begins);
    job_make(&first_job, NULL, NULL);
    job_make(&jobs[0], join_with_time_out, NULL);
    joined = thread_begin(perform_until_refused, &first_job);
    CHECK_INT(job_perform(&jobs[0], line[0].thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
    CHECK_INT(join_status, TREADLE_OK);
    CHECK_INT(treadle_thread_release(joined), TREADLE_OK);
    server_end(&line[0]);
    job_check(&first_job, 0, 1);
}
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

/* Without waiting there is no circle. */
static treadle_status perform_without_waiting(treadle_thread first) {
    CHECK_INT(job_perform(&last, first, 0), TREADLE_OK);
    return TREADLE_E_DEADLOCK;
}
TEST(who_does_not_wait_is_not_refused, "PERF-7 PERF-3") {
    length = 2;
    close_circle = perform_without_waiting;
    job_make(&last, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        server_start(&line[i]);
        job_make(&jobs[i], go_on, NULL);
        jobs[i].number = i;
    }
    CHECK_INT(job_perform(&jobs[0], line[0].thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
    gate_pass(&last.done);
    for (int i = 0; i < 2; i++) server_end(&line[i]);
    job_check(&last, 1, 1);
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

/* The main thread waits for one that starts, which waits for the main thread. */
static treadle_status started_status;
static treadle_thread waits_for;
static void *perform_on_who_starts_me(void *info) {
    CHECK_INT(job_perform(info, waits_for, TREADLE_PERFORM_WAIT), TREADLE_E_DEADLOCK);
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    return NULL;
}
TEST(a_start_that_waits_is_part_of_the_circle, "PERF-7 THR-18") {
    struct job job;
    job_make(&job, NULL, NULL);
    waits_for = treadle_thread_current();
    treadle_thread thread = thread_make(perform_on_who_starts_me, &job);
    CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
    thread_end(thread);
    job_check(&job, 0, 1);
}
/* One starts a thread, which joins a third, which performs on the first: mixed. */
static struct job mixed_job;
static void *perform_on_the_starter(void *info) {
    struct held *held = info;
    held_main(held);
    started_status = job_perform(&mixed_job, waits_for, TREADLE_PERFORM_WAIT);
    CHECK(started_status == TREADLE_E_DEADLOCK || started_status == TREADLE_E_CLOSED || started_status == TREADLE_OK);
    return held;
}
struct mixed { struct held held; treadle_thread third; treadle_status join, start; };
static void *join_the_third(void *info) {
    struct mixed *mixed = info;
    gate_open(&mixed->held.gate);
    mixed->join = treadle_thread_join(mixed->third, TREADLE_FOREVER, NULL);
    CHECK(mixed->join == TREADLE_OK || mixed->join == TREADLE_E_DEADLOCK);
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    return NULL;
}
static void *start_and_serve(void *info) {
    struct mixed *mixed = info;
    treadle_thread second = thread_make(join_the_third, mixed);
    waits_for = treadle_thread_current();
    mixed->start = treadle_thread_start_and_wait(second, TREADLE_FOREVER);
    CHECK(mixed->start == TREADLE_OK || mixed->start == TREADLE_E_DEADLOCK); /* it was started in either case */
    /* If this or the join was refused, the third waits for this thread still. */
    while (!treadle_thread_is_finished(mixed->third)) poll_mode(TREADLE_DEFAULT_MODE);
    CHECK_INT(treadle_thread_join(second, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_INT(treadle_thread_release(second), TREADLE_OK);
    return NULL;
}
TEST(a_circle_of_a_start_a_join_and_a_perform, "PERF-7 THR-17 THR-18") {
    for (int round = scaled(300); round > 0; round--) {
        struct mixed mixed = {.join = 99};
        job_make(&mixed_job, NULL, NULL);
        gate_make(&mixed.held.there);
        gate_make(&mixed.held.gate);
        mixed.third = thread_begin(perform_on_the_starter, &mixed.held);
        gate_pass(&mixed.held.there);
        treadle_thread first = thread_begin(start_and_serve, &mixed);
        thread_end(first);
        /* Exactly one of the three was refused. */
        CHECK_INT((mixed.join == TREADLE_E_DEADLOCK) + (mixed.start == TREADLE_E_DEADLOCK) + (started_status == TREADLE_E_DEADLOCK), 1);
        if (mixed.join == TREADLE_E_DEADLOCK) CHECK_INT(treadle_thread_join(mixed.third, TREADLE_FOREVER, NULL), TREADLE_OK);
        CHECK_INT(treadle_thread_release(mixed.third), TREADLE_OK);
        job_check(&mixed_job, started_status == TREADLE_OK, 1);
    }
}

/* All at once: each of a ring performs on the next one. Whoever comes last is refused, and serves the others. */
static struct ring { treadle_thread threads[MOST]; pthread_barrier_t barrier; treadle_status status[MOST]; atomic_int left; int size; } ring;
static void *wait_in_ring(void *info) {
    struct job *job = info;
    int next = (job->number + 1) % ring.size;
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    pthread_barrier_wait(&ring.barrier);
    ring.status[job->number] = job_perform(job, ring.threads[next], TREADLE_PERFORM_WAIT);
    atomic_fetch_sub(&ring.left, 1);
    while (atomic_load(&ring.left)) poll_mode(TREADLE_DEFAULT_MODE); /* until nobody waits any more */
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    return NULL;
}
TEST(rings_that_close_at_any_moment, "PERF-7 PERF-8 OBJ-6") {
    for (int round = scaled(400); round > 0; round--) {
        ring.size = 2 + round % (MOST - 1);
        ring.left = ring.size;
        pthread_barrier_init(&ring.barrier, NULL, (unsigned)ring.size);
        int refused = 0;
        for (int i = 0; i < ring.size; i++) {
            job_make(&jobs[i], NULL, NULL);
            jobs[i].number = i;
            ring.threads[i] = thread_make(wait_in_ring, &jobs[i]);
        }
        for (int i = 0; i < ring.size; i++) CHECK_INT(treadle_thread_start(ring.threads[i]), TREADLE_OK);
        for (int i = 0; i < ring.size; i++) thread_end(ring.threads[i]);
        for (int i = 0; i < ring.size; i++) {
            CHECK(ring.status[i] == TREADLE_OK || ring.status[i] == TREADLE_E_DEADLOCK);
            refused += ring.status[i] == TREADLE_E_DEADLOCK;
            job_check(&jobs[i], ring.status[i] == TREADLE_OK, 1);
        }
        CHECK_INT(refused, 1);
        pthread_barrier_destroy(&ring.barrier);
    }
}

TEST_MAIN()
