/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_state_test.c: the states of calls, their turns and modes, their completions. invocation_end_test.c has
 * those that end in other ways. */
#include "invocation_calls.h"

#define MODE TREADLE_DEFAULT_MODE

TEST(the_states_of_a_call, "PERF-2 PERF-3 OBJ-6") {
    struct server server;
    treadle_invocation i = INVOCATION(hold, "qN^q");
    int64_t out = 0;
    hold_begin();
    CHECK_INT(treadle_invocation_set_buffer(i, 0, &out, sizeof out), TREADLE_OK);
    CHECK_INT(invocation_state(i), TREADLE_INVOCATION_IDLE);
    CHECK_INT(treadle_invocation_cancel(i), TREADLE_IGNORED);
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_NONE), TREADLE_OK);
    must_be_busy(i, false);
    gate_open(&held.gate);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(invocation_state(i), TREADLE_INVOCATION_DONE);
    CHECK_INT(INVOCATION_RESULT(i, int64_t), 42);
    gate_pass(&held.there);

    server_start(&server);
    CHECK_INT(invoke(i, server.loop, TREADLE_WAIT_NONE), TREADLE_OK); /* again */
    gate_pass(&held.there);
    must_be_busy(i, true);
    CHECK_INT(treadle_invocation_cancel(i), TREADLE_IGNORED);
    gate_open(&held.gate);
    server_end(&server);
    CHECK_INT(invocation_state(i), TREADLE_INVOCATION_DONE);
    CHECK_INT(treadle_invocation_cancel(i), TREADLE_IGNORED);
    CHECK_INT(calls, 2);
    invocation_end(i);
}

/* A function that looks at its own invocation. */
static treadle_invocation itself;
static void look(void) {
    CHECK_INT(invocation_state(itself), TREADLE_INVOCATION_RUNNING);
    CHECK_ERROR(invoke(itself, NULL, TREADLE_WAIT_BLOCK), TREADLE_E_STATE, "invocation");
    CHECK_INT(treadle_invocation_cancel(itself), TREADLE_IGNORED);
    CHECK_INT(treadle_invocation_release(itself), TREADLE_OK);
    CHECK_INT(invocations_destroyed, 0);
}
TEST(a_function_may_release_its_invocation, "OBJ-7 PERF-8") {
    itself = INVOCATION(look, "v");
    CHECK_INT(invoke(itself, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(invocations_destroyed, 1);
    itself = INVOCATION(look, "v");
    invocations_destroyed = 0;
    CHECK_INT(invoke(itself, NULL, TREADLE_WAIT_NONE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(invocations_destroyed, 1);
}
TEST(a_queued_call_goes_on_without_its_maker, "OBJ-4 PERF-8") {
    treadle_invocation i = INVOCATION(count_call, "i");
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_NONE), TREADLE_OK);
    invocation_end(i);
    CHECK_INT(invocations_destroyed, 0);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(calls, 1);
    CHECK_INT(invocations_destroyed, 1);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED); /* nothing is left that would keep the mode from being empty */
}

/* --- Modes and turns ------------------------------------------------------------------------------- */

static void say(int32_t number) { trace("%d", number); }
static treadle_invocation sayer(int32_t number) {
    treadle_invocation i = INVOCATION(say, "vi");
    INVOCATION_SET(i, 0, int32_t, number);
    return i;
}
TEST(calls_take_turns_with_performs_in_their_modes, "PERF-1 PERF-4 PERF-5 PERF-6") {
    const char *b[] = {"b"}, *both[] = {"b", MODE}, *common[] = {TREADLE_COMMON_MODES}, *call[] = {TREADLE_CALL_MODE};
    const struct { const char **modes; size_t count; } modes[] = {{NULL, 0}, {b, 1}, {both, 2}, {common, 1}, {call, 1}, {NULL, 0}};
    treadle_invocation all[6];
    treadle_loop loop = treadle_loop_current();
    for (int i = 0; i < 6; i++) {
        all[i] = sayer(i);
        CHECK_INT(treadle_invocation_perform(all[i], OPTIONS(.modes = modes[i].modes, .mode_count = modes[i].count)), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_run(loop, "b", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_TRACE("1 2");
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("0 3 5");
    CHECK_INT(poll_mode(TREADLE_CALL_MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("4");
    CHECK_INT(invoke(all[0], NULL, TREADLE_WAIT_NONE), TREADLE_OK);
    CHECK_INT(poll_mode(TREADLE_CALL_MODE), TREADLE_RUN_TIMED_OUT); /* without modes it may be the call mode too */
    CHECK_TRACE("0");
    CHECK_INT(poll_mode(TREADLE_CALL_MODE), TREADLE_RUN_FINISHED);
    for (int i = 0; i < 6; i++) invocation_end(all[i]);
}

static treadle_invocation to_cancel[4];
static void cancel_next(int32_t number) {
    trace("%d", number);
    if (number < 4) CHECK_INT(treadle_invocation_cancel(to_cancel[number]), TREADLE_OK);
}
TEST(a_cancelled_call_leaves_the_others_in_their_turn, "PERF-4 PERF-15 OBJ-7") {
    treadle_invocation all[6];
    for (int which = 0; which < 6; which++) { /* from outside: each, first and last as well */
        char expected[32] = "";
        for (int i = 0; i < 6; i++) {
            all[i] = sayer(i);
            CHECK_INT(invoke(all[i], NULL, TREADLE_WAIT_NONE), TREADLE_OK);
            if (i != which) sprintf(expected + strlen(expected), expected[0] ? " %d" : "%d", i);
        }
        CHECK_INT(treadle_invocation_cancel(all[which]), TREADLE_OK);
        CHECK_INT(treadle_invocation_cancel(all[which]), TREADLE_IGNORED);
        CHECK_INT(invocation_state(all[which]), TREADLE_INVOCATION_CANCELLED);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE(expected);
        for (int i = 0; i < 6; i++) invocation_end(all[i]);
    }
    /* From within the pass: 0 cancels 3, 1 cancels 2, so that 4 is next. */
    for (int i = 0; i < 5; i++) {
        all[i] = INVOCATION(cancel_next, "vi");
        INVOCATION_SET(all[i], 0, int32_t, i);
        CHECK_INT(invoke(all[i], NULL, TREADLE_WAIT_NONE), TREADLE_OK);
    }
    to_cancel[0] = all[3], to_cancel[1] = all[2];
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("0 1 4");
    for (int i = 0; i < 5; i++) invocation_end(all[i]);
    CHECK_INT(invocations_destroyed, 41);
}

/* --- Completions ----------------------------------------------------------------------------------- */

TEST(a_completion_is_performed_where_it_is_wanted, "PERF-1 PERF-8 PERF-6") {
    struct server target, other;
    treadle_invocation i = INVOCATION(count_call, "i");
    struct completion c;
    server_start(&target);
    server_start(&other);
    treadle_request request;
    for (int where = 0; where < 3; where++) {
        completion_make(&c, i);
        request = completion_request(&c);
        treadle_loop loop = where == 0 ? NULL : where == 1 ? target.loop : other.loop;
        CHECK_INT(treadle_invocation_perform(i, OPTIONS(.loop = target.loop, .completion = &request, .completion_loop = loop)), TREADLE_OK);
        if (where == 0) {
            while (invocation_state(i) != TREADLE_INVOCATION_DONE) sched_yield();
            completion_check(&c, 0, 0);
            while (atomic_load(&c.releases) == 0) poll_mode(TREADLE_CALL_MODE); /* it may be for the call mode */
        }
        await(&c.done);
        completion_check(&c, 1, 1);
        CHECK_INT(c.state, TREADLE_INVOCATION_DONE);
        CHECK_INT(c.thread_id, where == 0 ? thread_id() : where == 1 ? target.thread_id : other.thread_id);
        CHECK_INT(INVOCATION_RESULT(i, int32_t), where + 1);
    }
    server_end(&target);
    server_end(&other);
    invocation_end(i);
}

/* A completion may perform its invocation again. */
static void perform_again(void *target, void *argument) {
    struct completion *completion = target;
    (void)argument;
    if (atomic_fetch_add(&completion->calls, 1) == 9) return;
    treadle_request request = completion_request(completion);
    request.fn = perform_again;
    CHECK_INT(treadle_invocation_perform(completion->invocation, OPTIONS(.completion = &request)), TREADLE_OK);
}
TEST(a_completion_may_perform_again, "OBJ-7 PERF-4") {
    treadle_invocation i = INVOCATION(count_call, "i");
    struct completion c;
    completion_make(&c, i);
    treadle_request request = completion_request(&c);
    request.fn = perform_again;
    CHECK_INT(treadle_invocation_perform(i, OPTIONS(.completion = &request)), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    completion_check(&c, 10, 10);
    CHECK_INT(calls, 10);
    invocation_end(i);
}

static void *be_loop(void *info) {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    *(treadle_loop *)info = loop;
    return NULL;
}
TEST(a_completion_whose_loop_is_gone_is_only_released, "PERF-9") {
    treadle_invocation i = INVOCATION(count_call, "i");
    struct completion c;
    treadle_loop gone = NULL;
    on_thread(be_loop, &gone);
    completion_make(&c, i);
    treadle_request request = completion_request(&c);
    CHECK_INT(treadle_invocation_perform(i, OPTIONS(.completion = &request, .completion_loop = gone)), TREADLE_OK);
    completion_check(&c, 0, 0);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    completion_check(&c, 0, 1);
    CHECK_INT(calls, 1);
    CHECK_INT(treadle_loop_release(gone), TREADLE_OK);
    invocation_end(i);
}

TEST_MAIN()
