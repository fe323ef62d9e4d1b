/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_calls.h: functions that the tests of states and ends have called, and who calls them elsewhere. */
#ifndef TREADLE_TEST_INVOCATION_CALLS_H
#define TREADLE_TEST_INVOCATION_CALLS_H

#include "invocations.h"

static atomic_int calls;
HELPER int32_t count_call(void) { return atomic_fetch_add(&calls, 1) + 1; }

/* A function that is held until somebody lets it go, and tells when it has begun. */
static struct held held;
HELPER int64_t hold(int64_t *out) {
    atomic_fetch_add(&calls, 1);
    gate_open(&held.there);
    gate_pass(&held.gate);
    if (out) *out = 42;
    return 42;
}
HELPER void hold_begin(void) {
    gate_make(&held.there);
    gate_make(&held.gate);
}

HELPER void must_be_busy(treadle_invocation i, bool is_running) {
    int64_t *pointer = NULL, value = 5;
    CHECK_INT(invocation_state(i), is_running ? TREADLE_INVOCATION_RUNNING : TREADLE_INVOCATION_QUEUED);
    CHECK_ERROR(treadle_invocation_set_buffer(i, 0, &value, 8), TREADLE_E_STATE, "invocation");
    CHECK_ERROR(treadle_invocation_get_buffer(i, 0, &value, 0), TREADLE_E_STATE, "invocation");
    CHECK_ERROR(treadle_invocation_get_result(i, &value, 8), TREADLE_E_STATE, "invocation");
    CHECK_ERROR(invoke(i, NULL, TREADLE_WAIT_NONE), TREADLE_E_STATE, "invocation");
    CHECK_ERROR(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_E_STATE, "invocation");
    if (is_running) CHECK_ERROR(treadle_invocation_get_argument(i, 0, &pointer, 8), TREADLE_E_STATE, "invocation");
    else CHECK_INT(treadle_invocation_get_argument(i, 0, &pointer, 8), TREADLE_OK);
}

/* Somebody who performs on a thread of his own. */
struct caller {
    treadle_invocation invocation;
    treadle_loop loop;
    treadle_thread on;
    uint32_t wait;
    int64_t timeout;
    treadle_status status;
};
HELPER void *call(void *info) {
    struct caller *caller = info;
    caller->status = treadle_invocation_perform(
        caller->invocation, OPTIONS(.loop = caller->loop, .thread = caller->on, .wait = caller->wait, .timeout_ns = caller->timeout));
    return NULL;
}
HELPER treadle_thread call_elsewhere(struct caller *caller, uint32_t state) {
    treadle_thread thread = thread_begin(call, caller);
    while (invocation_state(caller->invocation) != state) sched_yield();
    return thread;
}

#endif
