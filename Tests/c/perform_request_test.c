/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_request_test.c: requests as structs: what is refused and given back, routines in place of functions,
 * what an event says of a request. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE

/* --- Requests that are refused -------------------------------------------------------------------- */

static struct job job;
/* Each way of a request refuses this one, and gives back what it could read. */
static void must_refuse(treadle_request *request, treadle_status status, const char *word, bool readable) {
    treadle_thread self = treadle_thread_current();
    int before = job.target_releases;
    CHECK_ERROR(perform_on(self, request, NULL, 0, 0), status, word);
    CHECK_ERROR(perform_on(self, request, NULL, 0, TREADLE_PERFORM_WAIT), status, word);
    CHECK_ERROR(perform_on_main(request, NULL, 0, 0), status, word);
    CHECK_ERROR(perform_after(0, request, NULL, 0), status, word);
    CHECK_ERROR(perform_in_background(request), status, word);
    job_check(&job, 0, before + (readable ? 5 : 0));
}
TEST(requests_that_cannot_be_read, "PERF-1 PERF-8 ABI-7") {
    struct { treadle_request request; uint64_t more[2]; } large;
    job_make(&job, NULL, NULL);
    treadle_request request = job_request(&job);
    must_refuse(NULL, TREADLE_E_ARG, "request", false);
    const size_t sizes[] = {0, 1, sizeof request - 9, offsetof(treadle_request, fn)};
    for (int i = 0; i < 4; i++) {
        request.struct_size = sizes[i];
        must_refuse(&request, TREADLE_E_ARG, "struct_size", false);
    }
    memset(&large, 0, sizeof large);
    large.request = job_request(&job);
    large.request.struct_size = sizeof large;
    large.more[1] = 1;
    int before = job.target_releases;
    CHECK_INT(perform_on(treadle_thread_current(), &large.request, NULL, 0, 0), TREADLE_E_TOO_NEW);
    CHECK_INT(perform_after(0, &large.request, NULL, 0), TREADLE_E_TOO_NEW);
    CHECK_INT(treadle_perform_cancel(&large.request), TREADLE_E_TOO_NEW);
    CHECK(job.target_releases == before || job.target_releases == before + 2); /* its first part can be read, or not */
    large.more[1] = 0; /* what is zero means the default */
    before = job.target_releases;
    CHECK_INT(perform_on(treadle_thread_current(), &large.request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    job_check(&job, 1, before + 1);
}
static void routine_body(void *a) { (void)a; }
static treadle_routine make_routine(void (*code)(void), const char *signature, const treadle_argument *arguments, size_t count) {
    treadle_routine_config config = {.struct_size = sizeof config, .code = code, .signature = signature, .arguments = arguments,
                                     .argument_count = count, .destroy = count_release};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    return routine;
}
TEST(requests_that_are_refused_give_back, "PERF-1 PERF-8") {
    treadle_argument argument = {.kind = TREADLE_ARGUMENT_SUBJECT};
    job_make(&job, NULL, NULL);
    treadle_request request = job_request(&job);
    request.fn = NULL;
    must_refuse(&request, TREADLE_E_ARG, "fn", true); /* neither */
    request.fn = job_function;
    request.routine = make_routine((void (*)(void))routine_body, "v^v", &argument, 1);
    must_refuse(&request, TREADLE_E_ARG, "routine", true); /* nor both */
    CHECK_INT(treadle_routine_release(request.routine), TREADLE_OK);
    CHECK_INT(releases_counted, 1); /* nobody kept it */
    request.fn = NULL; /* and now a handle that is gone */
    must_refuse(&request, TREADLE_E_STALE, "routine", true);
}
TEST(modes_flags_and_threads_that_are_refused, "PERF-1 PERF-8 PERF-12") {
    static const char *many[65536];
    const char *with_null[] = {"a", NULL, "b"};
    treadle_thread self = treadle_thread_current();
    int releases = 0;
    for (int i = 0; i < 65536; i++) many[i] = "m";
    job_make(&job, NULL, NULL);
    treadle_request request = job_request(&job);
    CHECK_ERROR(perform_on(self, &request, with_null, 3, 0), TREADLE_E_ARG, "modes");
    CHECK_ERROR(perform_on(self, &request, with_null, 3, TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "modes");
    CHECK_ERROR(perform_after(0, &request, with_null, 3), TREADLE_E_ARG, "modes");
    job_check(&job, 0, releases += 3);
    CHECK_ERROR(perform_on(self, &request, many, 65536, 0), TREADLE_E_ARG, "mode");
    CHECK_ERROR(perform_after(0, &request, many, 65536), TREADLE_E_ARG, "mode");
    job_check(&job, 0, releases += 2);
    for (uint32_t flag = TREADLE_PERFORM_UNTIL_WORD << 1; flag; flag <<= 1) {
        CHECK_ERROR(perform_on(self, &request, NULL, 0, flag), TREADLE_E_ARG, "flags");
        CHECK_ERROR(perform_on_main(&request, NULL, 0, flag | TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "flags");
        job_check(&job, 0, releases += 2);
    }
    for (uint32_t flags = TREADLE_PERFORM_AFTER; flags <= TREADLE_PERFORM_IN_BACKGROUND; flags <<= 1) {
        CHECK_ERROR(perform_on(self, &request, NULL, 0, flags), TREADLE_E_ARG, "on");
        CHECK_ERROR(perform_on(NULL, &request, NULL, 0, flags | TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "flags");
        job_check(&job, 0, releases += 2);
    }
    CHECK_ERROR(perform_on(NULL, &request, many, 1, TREADLE_PERFORM_IN_BACKGROUND), TREADLE_E_ARG, "modes");
    uint32_t flag = TREADLE_PERFORM_UNTIL_WORD;
    CHECK_ERROR(perform_on(self, &request, NULL, 0, flag | TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "flags");
    CHECK_ERROR(perform_on(self, &request, NULL, 0, flag), TREADLE_E_ARG, "host is NULL");
    request.delay_ns = 1, request.flags = 0;
    CHECK_ERROR(treadle_perform(self, &request), TREADLE_E_ARG, "delay_ns");
    request.delay_ns = 0, request.token = 5;
    CHECK_ERROR(treadle_perform(self, &request), TREADLE_E_ARG, "token");
    request.token = 0, request.reserved = 1;
    CHECK_ERROR(treadle_perform(self, &request), TREADLE_E_ARG, "reserved");
    request.reserved = 0;
    job_check(&job, 0, releases += 6);
    treadle_source source = make_source(NULL, NULL);
    CHECK_ERROR(perform_on(NULL, &request, NULL, 0, 0), TREADLE_E_ARG, "on");
    CHECK_ERROR(perform_on((treadle_thread)&job, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_STALE, "on");
    CHECK_ERROR(perform_on((treadle_thread)source, &request, NULL, 0, 0), TREADLE_E_KIND, "on");
    job_check(&job, 0, releases += 3);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED); /* nothing was queued */
    CHECK_INT(perform_on(self, &request, many, 65535, TREADLE_PERFORM_WAIT), TREADLE_OK);
    job_check(&job, 1, releases + 1);
}
TEST(a_request_without_releases, "PERF-8") {
    job_make(&job, NULL, NULL);
    treadle_request request = job_request(&job);
    request.release_target = request.release_argument = NULL;
    CHECK_INT(perform_on(treadle_thread_current(), &request, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(perform_after(0, &request, NULL, 0), TREADLE_OK);
    CHECK_ERROR(perform_on(NULL, &request, NULL, 0, 0), TREADLE_E_ARG, "on");
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    job_check(&job, 2, 0);
}

/* --- Routines ------------------------------------------------------------------------------------- */

static int target_cell, argument_cell;
static struct { void *target, *argument; int64_t bound; double other; int calls; const char *mode; } got;
static void five_arguments(int64_t bound, void *target, double other, void *argument, const char *mode) {
    got.bound = bound, got.target = target, got.other = other, got.argument = argument, got.mode = mode, got.calls++;
    if (got.mode) CHECK_TEXT(got.mode, MODE);
}
static treadle_routine routine_of_five(void) {
    int64_t bound = -5000000000;
    double other = 2.5;
    treadle_argument arguments[] = {{.value = &bound, .size = sizeof bound}, {.kind = TREADLE_ARGUMENT_SUBJECT},
                                    {.value = &other, .size = sizeof other}, {.kind = TREADLE_ARGUMENT_ARGUMENT},
                                    {.kind = TREADLE_ARGUMENT_MODE}};
    return make_routine((void (*)(void))five_arguments, "vq^vd^v*", arguments, 5);
}
static void check_five(int calls) {
    CHECK_INT(got.calls, calls);
    CHECK(got.target == &target_cell && got.argument == &argument_cell && got.other == 2.5);
    CHECK_INT(got.bound, -5000000000);
}
TEST(a_routine_is_performed_with_bound_arguments, "PERF-1 PERF-2 PERF-3 PERF-8 PERF-12") {
    struct server server;
    treadle_request request = {.struct_size = sizeof request, .target = &target_cell, .argument = &argument_cell};
    request.routine = routine_of_five();
    CHECK_INT(perform_on(treadle_thread_current(), &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    check_five(1);
    CHECK_INT(perform_on(treadle_thread_current(), &request, NULL, 0, 0), TREADLE_OK);
    check_five(1);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    check_five(2);
    CHECK(got.mode);
    CHECK_INT(perform_after(0, &request, NULL, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    check_five(3);
    server_start(&server);
    CHECK_INT(perform_on(server.thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    check_five(4);
    server_end(&server);
    CHECK_INT(perform_on(treadle_thread_current(), &request, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(treadle_routine_release(request.routine), TREADLE_OK);
    CHECK_INT(releases_counted, 0); /* the request keeps it */
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    check_five(5);
    CHECK_INT(releases_counted, 1);
}

static void take_event(const treadle_event *event) {
    CHECK(event && is_size(event->struct_size, sizeof *event));
    CHECK_INT(event->kind, TREADLE_EVENT_REQUEST);
    CHECK_INT(event->value, 0);
    CHECK_INT(event->token, 0);
    CHECK_INT(event->descriptor, -1);
    CHECK_INT(event->late_ns, 0);
    CHECK(event->subject == &target_cell && event->argument == &argument_cell);
    CHECK(!event->loop || event->loop == treadle_loop_current());
    CHECK(!event->mode || strcmp(event->mode, MODE) == 0);
    got.calls++;
}
TEST(the_event_of_a_request, "PERF-1 PERF-3") {
    treadle_argument argument = {.kind = TREADLE_ARGUMENT_EVENT};
    treadle_request request = {.struct_size = sizeof request, .target = &target_cell, .argument = &argument_cell};
    request.routine = make_routine((void (*)(void))take_event, "v^v", &argument, 1);
    CHECK_INT(perform_on(treadle_thread_current(), &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    CHECK_INT(perform_on(treadle_thread_current(), &request, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(got.calls, 2);
    CHECK_INT(treadle_routine_release(request.routine), TREADLE_OK);
    CHECK_INT(releases_counted, 1);
}

/* --- In the background ---------------------------------------------------------------------------- */

static struct gate told;
static void look_around(struct job *mine) {
    size_t size;
    treadle_thread self = treadle_thread_current();
    CHECK(!treadle_thread_is_main(NULL) && treadle_thread_is_detached(self) && treadle_thread_is_executing(self));
    CHECK_INT(treadle_thread_get_stack_size(self, &size), TREADLE_OK);
    CHECK_INT(size, 524288);
    gate_pass(&told);
    (void)mine;
}
TEST(a_function_is_performed_in_the_background, "PERF-17 THR-3 PERF-8") {
    job_make(&job, look_around, NULL);
    gate_make(&told);
    treadle_request request = job_request(&job);
    CHECK_INT(perform_in_background(&request), TREADLE_OK);
    gate_open(&told);
    gate_pass(&job.done);
    job_await_releases(&job, 1);
    job_check(&job, 1, 1);
    CHECK(job.thread_id != thread_id());
    CHECK(treadle_is_multithreaded());
}
static void tell_background(void *target, void *argument) {
    CHECK(target == &target_cell && argument == &argument_cell && !treadle_thread_is_main(NULL));
    gate_open(&told);
}
TEST(a_routine_is_performed_in_the_background, "PERF-17") {
    treadle_argument arguments[] = {{.kind = TREADLE_ARGUMENT_SUBJECT}, {.kind = TREADLE_ARGUMENT_ARGUMENT}};
    treadle_request request = {.struct_size = sizeof request, .target = &target_cell, .argument = &argument_cell};
    gate_make(&told);
    request.routine = make_routine((void (*)(void))tell_background, "v^v^v", arguments, 2);
    CHECK_INT(perform_in_background(&request), TREADLE_OK);
    CHECK_INT(treadle_routine_release(request.routine), TREADLE_OK);
    gate_pass(&told);
    while (!atomic_load(&releases_counted)) sched_yield();
}

TEST_MAIN()
