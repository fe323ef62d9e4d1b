/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_end_test.c: calls that are cancelled, given up, dropped: they are over once, and whoever waits or is to
 * be told is told. */
#include "invocation_calls.h"

#define MODE TREADLE_DEFAULT_MODE

/* --- Cancelled while somebody waits ---------------------------------------------------------------- */

TEST(who_waits_for_a_cancelled_call_is_told, "PERF-9 PERF-7") {
    treadle_loop loop = treadle_loop_current(); /* does not run */
    for (uint32_t wait = TREADLE_WAIT_BLOCK; wait <= TREADLE_WAIT_RUNNING; wait++) {
        struct caller caller = {.invocation = INVOCATION(count_call, "i"), .loop = loop, .wait = wait};
        treadle_thread thread = call_elsewhere(&caller, TREADLE_INVOCATION_QUEUED);
        CHECK_INT(treadle_invocation_cancel(caller.invocation), TREADLE_OK);
        thread_end(thread);
        CHECK_INT(caller.status, TREADLE_E_CANCELLED);
        CHECK_INT(invocation_state(caller.invocation), TREADLE_INVOCATION_CANCELLED);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
        CHECK_INT(invoke(caller.invocation, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK); /* it may be performed again */
        invocation_end(caller.invocation);
    }
    CHECK_INT(calls, 2);
}
TEST(a_cancelled_call_completes, "PERF-8") {
    treadle_invocation i = INVOCATION(count_call, "i");
    const char *never[] = {"never"};
    struct completion c;
    completion_make(&c, i);
    treadle_request request = completion_request(&c);
    CHECK_INT(treadle_invocation_perform(i, OPTIONS(.completion = &request, .modes = never, .mode_count = 1)), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_invocation_cancel(i), TREADLE_OK);
    completion_check(&c, 0, 0);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    completion_check(&c, 1, 1);
    CHECK_INT(c.state, TREADLE_INVOCATION_CANCELLED);
    CHECK_INT(calls, 0);
    invocation_end(i);
}

/* --- Timeouts -------------------------------------------------------------------------------------- */

TEST(a_call_that_has_not_begun_in_time_never_will, "PERF-7 PERF-9") {
    treadle_loop loop = treadle_loop_current();
    for (uint32_t wait = TREADLE_WAIT_BLOCK; wait <= TREADLE_WAIT_RUNNING; wait++) {
        struct caller caller = {.invocation = INVOCATION(count_call, "i"), .loop = loop, .wait = wait, .timeout = MILLISECONDS(2)};
        on_thread(call, &caller); /* not joined by Treadle's means: that would be a circle */
        CHECK_INT(caller.status, TREADLE_E_TIMEOUT);
        CHECK_INT(invocation_state(caller.invocation), TREADLE_INVOCATION_CANCELLED);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
        invocation_end(caller.invocation);
    }
    CHECK_INT(calls, 0);
    CHECK_INT(invocations_destroyed, 2);
}
TEST(a_call_that_runs_goes_on_without_its_caller, "PERF-7 PERF-8") {
    for (uint32_t wait = TREADLE_WAIT_BLOCK; wait <= TREADLE_WAIT_RUNNING; wait++) {
        struct server server;
        treadle_invocation i = INVOCATION(hold, "qN^q");
        int64_t *out = malloc(sizeof *out);
        *out = 1;
        hold_begin();
        server_start(&server);
        CHECK_INT(treadle_invocation_set_buffer(i, 0, out, sizeof *out), TREADLE_OK);
        /* The timeout may pass before it has begun; then it is cancelled. */
        treadle_status status;
        int64_t patience = MILLISECONDS(1);
        do {
            status = treadle_invocation_perform(i, OPTIONS(.loop = server.loop, .wait = wait, .timeout_ns = patience));
            CHECK_INT(status, TREADLE_E_TIMEOUT);
            patience *= 2;
        } while (invocation_state(i) == TREADLE_INVOCATION_CANCELLED);
        must_be_busy(i, true);
        free(out); /* nobody writes there any more */
        gate_open(&held.gate);
        server_end(&server);
        CHECK_INT(invocation_state(i), TREADLE_INVOCATION_DONE);
        CHECK_INT(INVOCATION_RESULT(i, int64_t), 42);
        int64_t seen = 0;
        CHECK_INT(treadle_invocation_get_buffer(i, 0, &seen, sizeof seen), TREADLE_OK);
        CHECK_INT(seen, 42);
        invocation_end(i);
    }
}
TEST(a_call_that_runs_outlives_its_invocation_s_last_reference, "PERF-8 OBJ-4") {
    struct server server;
    treadle_invocation i = INVOCATION(hold, "qN^q");
    hold_begin();
    server_start(&server);
    while (treadle_invocation_perform(i, OPTIONS(.loop = server.loop, .wait = TREADLE_WAIT_BLOCK, .timeout_ns = MILLISECONDS(5))) ==
               TREADLE_E_TIMEOUT && invocation_state(i) == TREADLE_INVOCATION_CANCELLED) {}
    invocation_end(i);
    CHECK_INT(invocations_destroyed, 0);
    gate_open(&held.gate);
    server_end(&server);
    CHECK_INT(invocations_destroyed, 1);
}
TEST(a_long_timeout_does_not_matter, "PERF-7") {
    struct server server;
    server_start(&server);
    const int64_t timeouts[] = {0, TREADLE_FOREVER, TREADLE_FOREVER - 1, SECONDS(100000)};
    for (uint32_t wait = TREADLE_WAIT_BLOCK; wait <= TREADLE_WAIT_RUNNING; wait++)
        for (int n = 0; n < 4; n++) {
            treadle_invocation i = INVOCATION(count_call, "i");
            CHECK_INT(treadle_invocation_perform(i, OPTIONS(.loop = server.loop, .wait = wait, .timeout_ns = timeouts[n])), TREADLE_OK);
            invocation_end(i);
        }
    CHECK_INT(calls, 8);
    server_end(&server);
}

/* --- Threads that end ------------------------------------------------------------------------------ */

struct ending {
    struct gate there, go;
    treadle_loop loop;
};
static void *end_later(void *info) { /* a thread with a loop that it never runs */
    struct ending *ending = info;
    ending->loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(ending->loop), TREADLE_OK);
    gate_open(&ending->there);
    gate_pass(&ending->go);
    return NULL;
}
static treadle_thread ending_begin(struct ending *ending) {
    gate_make(&ending->there);
    gate_make(&ending->go);
    treadle_thread thread = thread_begin(end_later, ending);
    gate_pass(&ending->there);
    return thread;
}
/* --- The end of everything ------------------------------------------------------------------------- */

/* Who runs its loop while a call of it runs elsewhere is not held up by that. */
TEST(a_shutdown_ends_a_wait_that_runs, "THR-21") {
    struct ending ending;
    struct server server;
    treadle_thread thread = ending_begin(&ending);
    hold_begin();
    server_start(&server);
    struct caller caller = {.invocation = INVOCATION(hold, "qN^q"), .loop = server.loop, .wait = TREADLE_WAIT_RUNNING};
    treadle_thread waiter = call_elsewhere(&caller, TREADLE_INVOCATION_RUNNING);
    CHECK_ERROR(treadle_shutdown(0), TREADLE_E_TIMEOUT, "callbacks");
    thread_end(waiter);
    CHECK_INT(caller.status, TREADLE_E_CLOSED);
    CHECK_INT(invocation_state(caller.invocation), TREADLE_INVOCATION_RUNNING);
    gate_open(&held.gate);
    server_end_with(&server, TREADLE_E_CLOSED);
    CHECK_INT(invocation_state(caller.invocation), TREADLE_INVOCATION_DONE);
    invocation_end(caller.invocation);
    gate_open(&ending.go);
    thread_end(thread);
    CHECK_INT(treadle_loop_release(ending.loop), TREADLE_OK);
}

/* --- Hosts ----------------------------------------------------------------------------------------- */

static atomic_int events;
static treadle_event last_event;
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    last_event = *event;
    atomic_fetch_add(&events, 1);
    return ~ticket;
}
static treadle_host make_host(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_host host = NULL;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    return host;
}
static void check_retired(treadle_host host, uint64_t token) {
    uint64_t tokens[4] = {0};
    size_t count = 0;
    CHECK_INT(treadle_host_take_retired(host, tokens, 4, &count), TREADLE_OK);
    CHECK_INT(count, token ? 1 : 0);
    CHECK_INT(tokens[0], token);
}
TEST(a_host_s_completion_is_an_event, "ABI-2 PERF-8") {
    treadle_host host = make_host();
    treadle_invocation i = INVOCATION(count_call, "i");
    const char *modes[] = {MODE};
    struct ending ending;
    treadle_thread thread = ending_begin(&ending);
    CHECK_INT(host_perform_invocation(host, 7, i, OPTIONS(.loop = NULL)), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(events, 1);
    CHECK(last_event.kind == TREADLE_EVENT_REQUEST && last_event.token == 7 && !last_event.subject && !last_event.argument);
    check_retired(host, 0); /* the event has used it up */
    CHECK_INT(host_perform_invocation(host, 8, i, OPTIONS(.modes = modes)), TREADLE_IGNORED);
    check_retired(host, 8);
    gate_open(&ending.go);
    thread_end(thread);
    CHECK_INT(host_perform_invocation(host, 9, i, OPTIONS(.loop = ending.loop)), TREADLE_E_CLOSED);
    check_retired(host, 9);
    CHECK_ERROR(host_perform_invocation(host, 10, i, OPTIONS(.wait = 1)), TREADLE_E_ARG, "completion");
    CHECK_ERROR(host_perform_invocation(host, 10, NULL, OPTIONS(.wait = 0)), TREADLE_E_ARG, "invocation");
    CHECK_ERROR(host_perform_invocation(NULL, 10, i, OPTIONS(.wait = 0)), TREADLE_E_ARG, "fn");
    check_retired(host, 0);
    CHECK_INT(treadle_host_quiesce(host, 0), TREADLE_OK);
    CHECK_ERROR(host_perform_invocation(host, 10, i, OPTIONS(.wait = 0)), TREADLE_E_CLOSED, "host");
    check_retired(host, 0);
    CHECK_INT(events, 1);
    CHECK_INT(calls, 1);
    CHECK_INT(treadle_loop_release(ending.loop), TREADLE_OK);
    invocation_end(i);
}

TEST_MAIN()
