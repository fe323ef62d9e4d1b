/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_run_test.c: runs of hosts, which serve signals inside of the run that they have woken. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;
static const char *const INNER = "inner";

static treadle_host host;
static treadle_loop loop;
/* The interrupt descriptor: an eventfd, written to as a signal handler would. */
static int bell = -1;
static int served, entries, exits;
static uint64_t failing; /* added to the ticket */
static void (*serve)(void);

static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    if (event->kind != TREADLE_EVENT_INTERRUPT) return ~ticket;
    CHECK(event->loop == loop && event->subject == NULL && event->argument == NULL && event->mode);
    CHECK(event->token == 0 && event->value == 0 && event->late_ns == 0 && event->descriptor == -1);
    CHECK(!treadle_loop_is_waiting(loop));
    uint64_t count = 0;
    CHECK(read(bell, &count, sizeof count) == sizeof count || errno == EAGAIN);
    served++;
    if (serve) serve();
    return ~ticket + failing;
}
static void count(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)info;
    if (activity == TREADLE_ENTRY) entries++;
    else exits++;
}
static void start_host(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    loop = treadle_loop_current();
    CHECK((bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
    CHECK_INT(treadle_loop_set_interrupt_descriptor(loop, bell), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, make_source(NULL, NULL), M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, make_source(NULL, NULL), INNER), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, make_observer(count, NULL, TREADLE_ENTRY | TREADLE_EXIT), M), TREADLE_OK);
}
static void ring(void) { CHECK_INT(write(bell, &(uint64_t){1}, 8), 8); }
static treadle_status run(const char *mode, int64_t timeout) { return treadle_host_run(host, loop, mode, timeout, 0); }

static void ring_three_times(void) {
    if (served < 3) ring();
    else CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
}
TEST(a_run_goes_on_after_an_interrupt, "ABI-4 RUN-11 OBS-1") {
    start_host();
    serve = ring_three_times;
    ring();
    CHECK_INT(run(M, TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK(served == 3 && entries == 1 && exits == 1);
    serve = NULL;
    ring();
    CHECK_INT(run(M, MILLISECONDS(20)), TREADLE_RUN_TIMED_OUT); /* with the time that is left */
    served = 3;
    CHECK_INT(run(M, 0), TREADLE_RUN_TIMED_OUT); /* a poll does not sleep */
    CHECK_INT(run("unknown", TREADLE_FOREVER), TREADLE_RUN_FINISHED);
    CHECK_INT(served, 3);
}

static void stop(void) { CHECK_INT(treadle_loop_stop(loop), TREADLE_OK); }
TEST(a_stop_by_a_handler_meets_its_run, "STOP-2 STOP-3 ABI-4") {
    start_host();
    serve = stop;
    for (int i = 0; i < 100; i++) {
        ring();
        CHECK_INT(run(M, TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    }
    CHECK(served == 100 && exits == 100);
    CHECK_INT(run(M, 0), TREADLE_RUN_TIMED_OUT); /* it lives and dies with the run */
}

static int inner_stops;
static void stop_inner(void *info) {
    (void)info;
    ring();
    CHECK_INT(run(INNER, TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    inner_stops++;
    ring();
}
static void run_inner(void) {
    if (served == 3) stop_inner(NULL);
    else stop();
}
TEST(a_stop_by_a_handler_meets_the_innermost_run, "STOP-2 RUN-12 ABI-4") {
    start_host();
    serve = stop;
    CHECK_INT(treadle_loop_post(loop, stop_inner, NULL), TREADLE_OK);
    CHECK_INT(run(M, TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK(served == 2 && inner_stops == 1);
    /* A run inside of a handler is met before the one around it. */
    serve = run_inner;
    ring();
    CHECK_INT(run(M, TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    CHECK(served == 5 && inner_stops == 2);
}

static void *stop_from_outside(void *info) {
    (void)info;
    stop();
    return NULL;
}
static void let_another_stop(void) {
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, stop_from_outside, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
}
TEST(a_stop_by_another_thread_meets_the_run_whose_signal_is_served, "STOP-2 STOP-7 ABI-4") {
    start_host();
    serve = let_another_stop;
    for (int i = 0; i < 50; i++) {
        ring();
        CHECK_INT(run(M, TREADLE_FOREVER), TREADLE_RUN_STOPPED);
    }
    CHECK_INT(served, 50);
}

TEST(an_interrupt_that_is_not_completed_ends_the_run, "ABI-3 ABI-4") {
    start_host();
    failing = 1;
    ring();
    CHECK_ERROR(run(M, TREADLE_FOREVER), TREADLE_E_CALLBACK, "callback");
    CHECK(served == 1 && exits == 1);
}

TEST(a_quiet_host_is_told_by_the_return, "ABI-4 ABI-5") {
    start_host();
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
    ring();
    CHECK_INT(run(M, TREADLE_FOREVER), TREADLE_RUN_INTERRUPTED);
    CHECK_INT(served, 0);
}

static void *run_elsewhere(void *info) {
    (void)info;
    CHECK_ERROR(run(M, 0), TREADLE_E_WRONG_THREAD, "loop");
    return NULL;
}
TEST(what_a_host_run_refuses, "ABI-1 RUN-1") {
    pthread_t thread;
    start_host();
    CHECK_ERROR(treadle_host_run(host, loop, M, 0, TREADLE_RUN_RETURN_ON_INTERRUPT), TREADLE_E_ARG, "flags");
    CHECK_ERROR(treadle_host_run((treadle_host)loop, loop, M, 0, 0), TREADLE_E_KIND, "host");
    CHECK_ERROR(treadle_host_run(host, NULL, M, 0, 0), TREADLE_E_ARG, "loop");
    CHECK_INT(pthread_create(&thread, NULL, run_elsewhere, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST_MAIN()
