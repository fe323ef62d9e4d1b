/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_wait_test.c: what gets into a wait for a call, and what does not wait for it. waits_test.c has waits that are refused,
 * invocation_run_test.c the run of such a wait. */
#include "invocations.h"

static struct server servers[4];
enum { A, B, C, D };

/* B's function performs plainly on A, which waits for B. */
static struct gate inside;
static void open_target(void *target, void *unused) { (void)unused, gate_open(target); }
static treadle_status plain_status;
static int64_t perform_plainly(void) {
    treadle_request request = {.struct_size = sizeof request, .fn = open_target, .target = &inside};
    plain_status = perform_on(servers[A].thread, &request, NULL, 0, TREADLE_PERFORM_WAIT);
    return 0;
}
static int64_t call_b(void) { /* on A */
    treadle_invocation i = INVOCATION(perform_plainly, "q");
    CHECK_INT(invoke(i, servers[B].loop, TREADLE_WAIT_RUNNING), TREADLE_OK);
    invocation_end(i);
    return 0;
}
/* A common mode may be the call mode itself: then it gets in. */
static int64_t add_call_mode(void) {
    CHECK_INT(treadle_loop_add_common_mode(treadle_loop_current(), TREADLE_CALL_MODE), TREADLE_OK);
    return 0;
}
TEST(performs_get_in_if_the_call_mode_is_common, "MODE-8 PERF-1") {
    treadle_invocation i = INVOCATION(call_b, "q"), add = INVOCATION(add_call_mode, "q");
    gate_make(&inside);
    server_start(&servers[A]);
    server_start(&servers[B]);
    CHECK_INT(invoke(add, servers[A].loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(invoke(i, servers[A].loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(plain_status, TREADLE_OK);
    gate_pass(&inside);
    server_end(&servers[A]);
    server_end(&servers[B]);
    invocation_end(i);
    invocation_end(add);
}

/* A perform that does not wait stays queued while its thread waits, and comes after. */
static int64_t queue_and_return(void) {
    trace("queued");
    treadle_request request = {.struct_size = sizeof request, .fn = open_target, .target = &inside};
    CHECK_INT(perform_on(servers[A].thread, &request, NULL, 0, 0), TREADLE_OK);
    return 0;
}
static int64_t call_b_and_look(void) {
    treadle_invocation i = INVOCATION(queue_and_return, "q");
    CHECK_INT(invoke(i, servers[B].loop, TREADLE_WAIT_RUNNING), TREADLE_OK);
    CHECK(sem_trywait(&inside.semaphore) != 0);
    invocation_end(i);
    return 0;
}
TEST(a_queued_perform_waits_for_the_wait_s_end, "PERF-4 PERF-6") {
    treadle_invocation i = INVOCATION(call_b_and_look, "q");
    gate_make(&inside);
    server_start(&servers[A]);
    server_start(&servers[B]);
    CHECK_INT(invoke(i, servers[A].loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    gate_pass(&inside);
    CHECK_TRACE("queued");
    server_end(&servers[A]);
    server_end(&servers[B]);
    invocation_end(i);
}

/* What a call waits for that has begun is what it does itself, and not the waits around it: C waits for B, whose
 * outer wait is for D, which waits for C. Nothing of that is a circle. */
static struct gate c_has_begun, c_may_end;
static int64_t be_begun(void) { /* on B, in its wait for D */
    gate_open(&c_has_begun);
    gate_pass(&c_may_end);
    return 0;
}
static atomic_int d_goes_on;
static int64_t call_c(void) { /* on D, for B */
    gate_pass(&c_has_begun);
    atomic_store(&d_goes_on, 1);
    treadle_request request = {.struct_size = sizeof request, .fn = open_target, .target = &inside};
    CHECK_INT(perform_on(servers[C].thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    return 0;
}
static int64_t wait_for_d(void) { /* on B */
    treadle_invocation i = INVOCATION(call_c, "q");
    CHECK_INT(invoke(i, servers[D].loop, TREADLE_WAIT_RUNNING), TREADLE_OK);
    invocation_end(i);
    return 0;
}
static int64_t wait_for_b(void) { /* on C */
    treadle_invocation i = INVOCATION(be_begun, "q");
    CHECK_INT(invoke(i, servers[B].loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    invocation_end(i);
    return 0;
}
TEST(waits_around_a_call_that_has_begun_do_not_count, "PERF-7") {
    treadle_invocation b = INVOCATION(wait_for_d, "q"), c = INVOCATION(wait_for_b, "q");
    struct gate *gates[] = {&inside, &c_has_begun, &c_may_end};
    for (int i = 0; i < 3; i++) gate_make(gates[i]);
    for (int i = B; i <= D; i++) server_start(&servers[i]);
    CHECK_INT(invoke(b, servers[B].loop, TREADLE_WAIT_NONE), TREADLE_OK);
    CHECK_INT(invoke(c, servers[C].loop, TREADLE_WAIT_NONE), TREADLE_OK);
    while (!atomic_load(&d_goes_on) || !is_in_kernel_wait(servers[D].thread_id)) sched_yield();
    gate_open(&c_may_end);
    gate_pass(&inside);
    for (int i = B; i <= D; i++) server_end(&servers[i]);
    CHECK_INT(invocation_state(b), TREADLE_INVOCATION_DONE);
    CHECK_INT(invocation_state(c), TREADLE_INVOCATION_DONE);
    invocation_end(b);
    invocation_end(c);
}

TEST_MAIN()
