/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_delayed_test.c: performing a function on the calling thread after a delay, and cancelling that. */
#include "thread_jobs.h"

#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

static void trace_number(struct job *job) { trace("%d", job->number); }
static treadle_status after(struct job *job, int64_t delay_ns, const char *mode) {
    treadle_request request = job_request(job);
    return perform_after(delay_ns, &request, mode ? &mode : NULL, mode != NULL);
}
static void make_numbered(struct job *jobs, int count) {
    for (int i = 0; i < count; i++) {
        job_make(&jobs[i], trace_number, NULL);
        jobs[i].number = i;
    }
}
static void count_pass(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    trace("|");
}
static void trace_passes(void) {
    treadle_observer observer = make_observer(count_pass, NULL, TREADLE_BEFORE_TIMERS);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, MODE), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
}

/* --- When ----------------------------------------------------------------------------------------- */

TEST(without_a_delay_it_waits_for_the_next_pass, "PERF-12 PERF-13") {
    static const int64_t delays[] = {0, -1, -SECONDS(1), INT64_MIN};
    static struct job jobs[4];
    make_numbered(jobs, 4);
    for (int i = 0; i < 4; i++) CHECK_INT(after(&jobs[i], delays[i], NULL), TREADLE_OK);
    for (int i = 0; i < 4; i++) job_check(&jobs[i], 0, 0); /* not at once */
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    for (int i = 0; i < 4; i++) job_check(&jobs[i], 1, 1);
}
static struct job again;
static int repeats;
static void delay_again(struct job *job) {
    trace("%d", job->number);
    if (repeats-- > 0) CHECK_INT(after(job, 0, NULL), TREADLE_OK);
}
TEST(one_that_a_function_delays_comes_in_a_later_pass, "PERF-13 PERF-12") {
    repeats = 2;
    job_make(&again, delay_again, NULL);
    trace_passes();
    CHECK_INT(after(&again, 0, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    /* At least a pass between two of them. */
    char previous = 0;
    for (const char *at = trace_text; *at; at++) {
        if (*at == ' ') continue;
        CHECK(*at == '|' || previous == '|');
        previous = *at;
    }
    job_check(&again, 3, 3);
}
TEST(equal_delays_keep_their_order, "PERF-13") {
    enum { MANY = 200 };
    static struct job jobs[MANY];
    char expected[2048] = "";
    make_numbered(jobs, MANY);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(after(&jobs[i], 0, NULL), TREADLE_OK);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%d", i ? " " : "", i);
    }
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_TRACE(expected);
    for (int i = 0; i < MANY; i++) CHECK_INT(after(&jobs[i], 1000, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_TRACE(expected);
}
TEST(a_delay_is_not_cut_short, "PERF-12 PERF-14") {
    static struct job jobs[3];
    make_numbered(jobs, 3);
    CHECK_INT(after(&jobs[0], SECONDS(100000), NULL), TREADLE_OK);
    int64_t begin = treadle_time_now();
    CHECK_INT(after(&jobs[1], MILLISECONDS(30), NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_TIMED_OUT);
    while (!jobs[1].calls) /* it does not count as a handled source */
        CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, MILLISECONDS(1), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_TIMED_OUT);
    CHECK(treadle_time_now() - begin >= MILLISECONDS(30));
    CHECK_TRACE("1"); /* the later one, which was asked for before, keeps the mode alive */
    CHECK_INT(cancel_target(&jobs[0]), TREADLE_OK);
    CHECK_INT(after(&jobs[2], 1000, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_FINISHED);
    CHECK_TRACE("2");
}
TEST(the_longest_delays, "PERF-12 PERF-15") {
    static const int64_t delays[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, SECONDS(1000000000)};
    static struct job jobs[4];
    make_numbered(jobs, 4);
    for (int i = 0; i < 4; i++) CHECK_INT(after(&jobs[i], delays[i], NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    for (int i = 0; i < 4; i++) {
        job_check(&jobs[i], 0, 0);
        CHECK_INT(cancel_target(&jobs[i]), TREADLE_OK);
        job_check(&jobs[i], 0, 1);
    }
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}

/* --- Modes ---------------------------------------------------------------------------------------- */

TEST(delayed_requests_have_the_default_mode_or_others, "PERF-12") {
    static struct job jobs[4];
    const char *two[] = {"a", "b"};
    treadle_loop loop = treadle_loop_current();
    make_numbered(jobs, 4);
    CHECK_INT(treadle_loop_add_common_mode(loop, "a"), TREADLE_OK);
    CHECK_INT(after(&jobs[0], 0, NULL), TREADLE_OK);
    CHECK_INT(after(&jobs[1], 0, "b"), TREADLE_OK);
    treadle_request request = job_request(&jobs[2]);
    CHECK_INT(perform_after(0, &request, two, 2), TREADLE_OK);
    request = job_request(&jobs[3]);
    CHECK_INT(perform_after(0, &request, two, 0), TREADLE_IGNORED); /* an empty list */
    job_check(&jobs[3], 0, 1);
    CHECK_INT(treadle_loop_run(loop, "c", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_run(loop, "a", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_TRACE("2"); /* the default mode alone is not the common modes */
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_TRACE("0");
    CHECK_INT(treadle_loop_run(loop, "b", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_TRACE("1"); /* late, as the mode was not run */
    for (int i = 0; i < 3; i++) job_check(&jobs[i], 1, 1);
    CHECK_INT(after(&jobs[0], 0, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, "a", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_TRACE("0");
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}

/* --- Cancelling ----------------------------------------------------------------------------------- */

static void other_function(void *target, void *argument) { (void)target, (void)argument, check_failed(__FILE__, __LINE__, "performed"); }
static treadle_status cancel(struct job *job, treadle_request_fn fn, void *argument) {
    treadle_request like = {.struct_size = sizeof like, .fn = fn, .target = job, .argument = argument,
                            .release_target = job_release_target, .release_argument = job_release_argument};
    return treadle_perform_cancel(&like);
}
TEST(requests_of_a_target_are_cancelled, "PERF-15 PERF-8") {
    static struct job jobs[2];
    make_numbered(jobs, 2);
    for (int i = 0; i < 6; i++) CHECK_INT(after(&jobs[i % 2], i * 1000, i < 2 ? "other" : NULL), TREADLE_OK);
    CHECK_INT(cancel_target(&jobs[0]), TREADLE_OK);
    job_check(&jobs[0], 0, 3); /* all of them, in all modes */
    job_check(&jobs[1], 0, 0);
    CHECK_INT(cancel_target(&jobs[0]), TREADLE_IGNORED);
    CHECK_INT(cancel_target(NULL), TREADLE_IGNORED); /* an identity like any other */
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_TRACE("1 1");
    CHECK_INT(cancel_target(&jobs[1]), TREADLE_OK); /* the one in the other mode */
    job_check(&jobs[1], 2, 3);
    CHECK_INT(poll_mode("other"), TREADLE_RUN_FINISHED);
}
TEST(requests_are_cancelled_by_function_and_argument, "PERF-15 PERF-8") {
    static struct job jobs[3];
    int another = 0;
    make_numbered(jobs, 3);
    for (int i = 0; i < 6; i++) CHECK_INT(after(&jobs[i % 3], 0, NULL), TREADLE_OK);
    CHECK_INT(cancel(&jobs[0], other_function, &jobs[0].number), TREADLE_IGNORED);
    CHECK_INT(cancel(&jobs[0], job_function, &another), TREADLE_IGNORED); /* by identity, not by value */
    CHECK_INT(cancel(&jobs[0], job_function, &jobs[1].number), TREADLE_IGNORED);
    CHECK_INT(cancel(&jobs[0], job_function, NULL), TREADLE_IGNORED);
    for (int i = 0; i < 3; i++) job_check(&jobs[i], 0, 0);
    CHECK_INT(cancel(&jobs[1], job_function, &jobs[1].number), TREADLE_OK);
    job_check(&jobs[1], 0, 2); /* both; the releases of `like` are not called */
    CHECK_INT(cancel(&jobs[1], job_function, &jobs[1].number), TREADLE_IGNORED);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_TRACE("0 2 0 2");
}
static int equal_calls;
static int32_t equal_numbers(void *one, void *two) {
    equal_calls++;
    return *(int *)one == *(int *)two;
}
static int32_t equal_never(void *one, void *two) { return (void)one, (void)two, check_failed(__FILE__, __LINE__, "like's own equal"), 0; }
static int target;
static void count_argument(void *unused, void *argument) { (void)unused, trace("%d", *(int *)argument); }
TEST(arguments_may_be_compared_by_a_function, "PERF-15") {
    int numbers[] = {5, 6, 5, 7}, five = 5, nine = 9;
    treadle_request request = {.struct_size = sizeof request, .fn = count_argument, .target = &target, .equal = equal_numbers};
    for (int i = 0; i < 4; i++) {
        request.argument = &numbers[i];
        CHECK_INT(perform_after(0, &request, NULL, 0), TREADLE_OK);
    }
    request.equal = NULL; /* one that is compared by identity */
    request.argument = &numbers[0];
    CHECK_INT(perform_after(0, &request, NULL, 0), TREADLE_OK);
    treadle_request like = {.struct_size = sizeof like, .fn = count_argument, .target = &target, .equal = equal_never, .argument = &nine};
    CHECK_INT(treadle_perform_cancel(&like), TREADLE_IGNORED);
    like.argument = &five;
    CHECK_INT(treadle_perform_cancel(&like), TREADLE_OK);
    CHECK(equal_calls >= 2);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_TRACE("6 7 5");
}
static void routine_body(void *unused, void *argument) { count_argument(unused, argument); }
TEST(requests_with_routines_are_cancelled_by_them, "PERF-15 PERF-12") {
    treadle_routine routines[2];
    int number = 3;
    treadle_request request = {.struct_size = sizeof request, .target = &target, .argument = &number};
    for (int i = 0; i < 2; i++) {
        treadle_argument arguments[] = {{.kind = TREADLE_ARGUMENT_SUBJECT}, {.kind = TREADLE_ARGUMENT_ARGUMENT}};
        treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))routine_body, .signature = "v^v^v",
                                         .arguments = arguments, .argument_count = 2, .destroy = count_release};
        CHECK_INT(treadle_routine_create(&config, &routines[i]), TREADLE_OK);
        request.routine = routines[i];
        CHECK_INT(perform_after(0, &request, NULL, 0), TREADLE_OK);
    }
    request.routine = routines[0];
    CHECK_INT(treadle_perform_cancel(&request), TREADLE_OK);
    CHECK_INT(treadle_perform_cancel(&request), TREADLE_IGNORED);
    CHECK_INT(treadle_routine_release(routines[0]), TREADLE_OK);
    CHECK_INT(releases_counted, 1); /* the cancelled request keeps nothing */
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_TRACE("3");
    CHECK_INT(treadle_routine_release(routines[1]), TREADLE_OK);
    CHECK_INT(releases_counted, 2);
}
static struct job victims[3];
static void cancel_the_others(struct job *job) {
    trace("%d", job->number);
    for (int i = 0; i < 3; i++) cancel_target(&victims[i]);
    CHECK_INT(job->target_releases, 0); /* its own is called when it has returned */
}
TEST(a_performed_function_cancels_those_that_have_not_begun, "PERF-15 TMR-19") {
    make_numbered(victims, 3);
    for (int i = 0; i < 3; i++) victims[i].run = cancel_the_others;
    for (int i = 0; i < 3; i++) CHECK_INT(after(&victims[i], 0, NULL), TREADLE_OK); /* due in the same pass */
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_TRACE("0");
    job_check(&victims[0], 1, 1);
    job_check(&victims[1], 0, 1);
    job_check(&victims[2], 0, 1);
}
static struct job chained;
static void cancel_in_release(void *unused) {
    (void)unused;
    cancel_target(&target);
    cancel_target(&chained);
}
TEST(a_release_may_cancel, "PERF-15 OBJ-7") {
    make_numbered(&chained, 1);
    for (int i = 0; i < 3; i++) {
        treadle_request request = {.struct_size = sizeof request, .fn = other_function, .target = &target, .release_target = cancel_in_release};
        CHECK_INT(perform_after(0, &request, NULL, 0), TREADLE_OK);
        CHECK_INT(after(&chained, 0, NULL), TREADLE_OK);
    }
    CHECK_INT(cancel_target(&target), TREADLE_OK);
    job_check(&chained, 0, 3);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}

/* --- What is not cancelled ------------------------------------------------------------------------ */

static void *delay_and_run(void *info) {
    struct held *held = info;
    CHECK_INT(after(held->result, 0, NULL), TREADLE_OK);
    held_main(held);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    return NULL;
}
TEST(cancelling_touches_no_other_requests, "PERF-15") {
    static struct job here, there;
    struct held held;
    make_numbered(&here, 1);
    make_numbered(&there, 1);
    CHECK_INT(job_perform(&here, treadle_thread_current(), 0), TREADLE_OK); /* not a delayed one */
    CHECK_INT(cancel_target(&here), TREADLE_IGNORED);
    CHECK_INT(cancel(&here, job_function, &here.number), TREADLE_IGNORED);
    gate_make(&held.there);
    gate_make(&held.gate);
    held.result = &there;
    treadle_thread thread = thread_begin(delay_and_run, &held);
    gate_pass(&held.there);
    CHECK_INT(cancel_target(&there), TREADLE_IGNORED); /* another thread's */
    CHECK_INT(cancel(&there, job_function, &there.number), TREADLE_IGNORED);
    gate_open(&held.gate);
    thread_end(thread);
    job_check(&there, 1, 1);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    job_check(&here, 1, 1);
}
TEST(cancellations_that_are_refused, "PERF-15 ABI-7") {
    treadle_request like = {.struct_size = sizeof like, .fn = other_function};
    CHECK_ERROR(treadle_perform_cancel(NULL), TREADLE_E_ARG, "like");
    like.struct_size = 0;
    CHECK_ERROR(treadle_perform_cancel(&like), TREADLE_E_ARG, "struct_size");
    like = (treadle_request){.struct_size = sizeof like, .fn = other_function};
    like.routine = (treadle_routine)&like;
    CHECK(treadle_perform_cancel(&like) < 0);
}

TEST_MAIN()
