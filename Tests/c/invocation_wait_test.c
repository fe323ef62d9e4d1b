/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_wait_test.c: waits for calls that meet each other: cycles are refused if they are some, and
 * otherwise everything finishes. invocation_run_test.c has the run of such a wait. */
#include "invocations.h"

#define MODE TREADLE_DEFAULT_MODE

/* What a call does next: it calls the next of a list on its server, and waits in the way that the list says. */
enum { MOST = 12 };
struct step {
    int server;           /* where; -1: the end */
    uint32_t wait;        /* how its caller waits */
    const char *mode;     /* or NULL */
    bool plain;           /* a perform with wait in place of an invocation */
    treadle_status status; /* what that comes to */
};
static struct server servers[4];
static const struct step *steps;
static int64_t timeout; /* of the waits for invocations; 0: none */
static int64_t go(int64_t index);
static void go_plainly(void *target, void *unused) { (void)unused, go((intptr_t)target); }

static treadle_status take_step(int64_t index, int64_t *depth) {
    const struct step *step = &steps[index];
    const char *modes[] = {step->mode};
    if (step->plain) {
        treadle_request request = {.struct_size = sizeof request, .fn = go_plainly, .target = (void *)(intptr_t)(index + 1)};
        return perform_on(servers[step->server].thread, &request, step->mode ? modes : NULL, step->mode != NULL,
                                      TREADLE_PERFORM_WAIT);
    }
    treadle_invocation invocation = INVOCATION(go, "qq");
    INVOCATION_SET(invocation, 0, int64_t, index + 1);
    treadle_status status = treadle_invocation_perform(
        invocation, OPTIONS(.loop = servers[step->server].loop, .modes = step->mode ? modes : NULL,
                            .mode_count = step->mode != NULL, .wait = step->wait, .timeout_ns = timeout));
    if (status == TREADLE_OK) *depth = INVOCATION_RESULT(invocation, int64_t);
    invocation_end(invocation);
    return status;
}
static int64_t go(int64_t index) {
    int64_t depth = 0;
    if (steps[index].server < 0) return 1;
    treadle_status status = take_step(index, &depth);
    if (status != steps[index].status)
        check_failed(__FILE__, __LINE__, "step %d gives %s, not %s", (int)index, treadle_status_name(status),
                     treadle_status_name(steps[index].status));
    if (status == TREADLE_E_DEADLOCK) {
        treadle_error_info info = {.struct_size = sizeof info};
        treadle_last_error(&info);
        CHECK(strstr(info.message, "waits for the calling one"));
    }
    return depth + 1;
}

/* From a thread that nobody waits for. */
static void walk(int count, const struct step *list) {
    steps = list;
    for (int i = 0; i < count; i++) server_start(&servers[i]);
    go(0);
    for (int i = 0; i < count; i++) server_end(&servers[i]);
}
#define WALK(count, ...) walk(count, (const struct step[]){__VA_ARGS__, {.server = -1}})
enum { A, B, C, D };
#define BLOCK(where) {.server = where, .wait = TREADLE_WAIT_BLOCK}
#define RUN(where) {.server = where, .wait = TREADLE_WAIT_RUNNING}
#define PLAIN(where) {.server = where, .plain = true}
#define REFUSED(...) {.status = TREADLE_E_DEADLOCK, __VA_ARGS__}
#define BLOCKS .wait = TREADLE_WAIT_BLOCK
#define RUNS .wait = TREADLE_WAIT_RUNNING

TEST(two_loops_that_block_for_each_other, "PERF-7") {
    WALK(2, BLOCK(A), BLOCK(B), REFUSED(BLOCKS, .server = A));
    WALK(2, BLOCK(A), BLOCK(B), REFUSED(RUNS, .server = A)); /* A does not run its loop: that B does helps nobody */
    WALK(2, BLOCK(A), PLAIN(B), REFUSED(RUNS, .server = A));
    WALK(2, BLOCK(A), BLOCK(B), REFUSED(.plain = true, .server = A));
}
TEST(three_loops_in_a_circle, "PERF-7") {
    WALK(3, BLOCK(A), BLOCK(B), BLOCK(C), REFUSED(BLOCKS, .server = A));
    WALK(3, BLOCK(A), BLOCK(B), BLOCK(C), REFUSED(RUNS, .server = B));
    WALK(4, BLOCK(A), BLOCK(B), BLOCK(C), BLOCK(D), REFUSED(BLOCKS, .server = B));
    WALK(3, BLOCK(A), RUN(B), BLOCK(C), REFUSED(.plain = true, .server = B));
}
TEST(a_wait_that_runs_lets_calls_in, "PERF-6 PERF-4") {
    WALK(2, BLOCK(A), RUN(B), BLOCK(A));
    WALK(2, BLOCK(A), RUN(B), RUN(A));
    WALK(2, BLOCK(A), RUN(B), RUN(A), RUN(B), RUN(A), RUN(B), RUN(A), BLOCK(B));
    WALK(3, BLOCK(A), RUN(B), RUN(C), BLOCK(A));
    WALK(3, BLOCK(A), RUN(B), RUN(C), RUN(A), RUN(B), RUN(C), RUN(A), RUN(C), RUN(B), BLOCK(A));
    WALK(3, BLOCK(A), RUN(B), BLOCK(C), BLOCK(A)); /* A runs, and serves C, though B blocks */
    WALK(4, BLOCK(A), RUN(B), BLOCK(C), BLOCK(D), RUN(A), RUN(A));
}
/* The innermost wait is what counts for a call. */
TEST(who_blocks_inside_of_a_wait_that_runs_lets_nothing_in, "PERF-7") {
    WALK(3, BLOCK(A), RUN(B), BLOCK(C), REFUSED(RUNS, .server = B));
    WALK(2, BLOCK(A), RUN(B), RUN(A), BLOCK(B), REFUSED(RUNS, .server = A));
    WALK(3, BLOCK(A), RUN(B), BLOCK(A), BLOCK(C), REFUSED(RUNS, .server = A));
}
/* A plain perform is not for the call mode: it waits until all waits are over. */
TEST(plain_performs_do_not_get_into_a_wait, "PERF-7 PERF-6") {
    WALK(2, BLOCK(A), RUN(B), REFUSED(.plain = true, .server = A));
    WALK(3, BLOCK(A), RUN(B), RUN(C), REFUSED(.plain = true, .server = A));
    WALK(3, BLOCK(A), RUN(B), RUN(C), REFUSED(.plain = true, .server = B));
    WALK(2, BLOCK(A), RUN(B), {.server = A, .plain = true, .mode = TREADLE_CALL_MODE}); /* unless it says so */
    WALK(2, BLOCK(A), RUN(B), REFUSED(BLOCKS, .server = A, .mode = MODE));
    WALK(2, BLOCK(A), RUN(B), REFUSED(RUNS, .server = A, .mode = MODE));
    WALK(2, BLOCK(A), RUN(B), {.server = A, .wait = TREADLE_WAIT_BLOCK, .mode = TREADLE_CALL_MODE});
}
/* What has begun waits only for what is inside of it, and that it waits for who runs does not help. */
TEST(a_call_that_has_begun_depends_on_what_it_does, "PERF-7") {
    WALK(2, BLOCK(A), RUN(B), RUN(A), REFUSED(.plain = true, .server = B));
    WALK(2, BLOCK(A), RUN(B), RUN(A), REFUSED(RUNS, .server = B, .mode = MODE));
    WALK(3, BLOCK(A), RUN(B), RUN(C), RUN(A), REFUSED(.plain = true, .server = C));
}
/* Until its time has passed, a wait is one like any other: who would wait for it is told at once. */
TEST(waits_with_a_time_out_are_part_of_the_circle, "PERF-7") {
    timeout = SECONDS(1000000);
    WALK(2, BLOCK(A), BLOCK(B), REFUSED(BLOCKS, .server = A));
    WALK(2, BLOCK(A), BLOCK(B), REFUSED(RUNS, .server = A));
    WALK(2, BLOCK(A), BLOCK(B), REFUSED(.plain = true, .server = A));
    WALK(2, BLOCK(A), RUN(B), REFUSED(.plain = true, .server = A));
    WALK(3, BLOCK(A), BLOCK(B), BLOCK(C), REFUSED(RUNS, .server = B));
    WALK(3, BLOCK(A), RUN(B), RUN(C), REFUSED(.plain = true, .server = A));
    WALK(3, BLOCK(A), RUN(B), RUN(C), BLOCK(A));
}
/* A common mode may be the call mode itself. */
static int64_t add_call_mode(void) {
    CHECK_INT(treadle_loop_add_common_mode(treadle_loop_current(), TREADLE_CALL_MODE), TREADLE_OK);
    return 0;
}
TEST(performs_get_in_if_the_call_mode_is_common, "MODE-8 PERF-1") {
    const struct step list[] = {BLOCK(A), RUN(B), PLAIN(A), {.server = -1}};
    treadle_invocation add = INVOCATION(add_call_mode, "q");
    steps = list;
    server_start(&servers[A]);
    server_start(&servers[B]);
    CHECK_INT(invoke(add, servers[A].loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    go(0);
    server_end(&servers[A]);
    server_end(&servers[B]);
    invocation_end(add);
}

/* --- Waits at the same time ------------------------------------------------------------------------- */

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
TEST(a_plain_perform_into_a_waiter_is_refused, "PERF-7") {
    treadle_invocation i = INVOCATION(call_b, "q");
    gate_make(&inside);
    server_start(&servers[A]);
    server_start(&servers[B]);
    CHECK_INT(invoke(i, servers[A].loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(plain_status, TREADLE_E_DEADLOCK);
    server_end(&servers[A]);
    server_end(&servers[B]);
    invocation_end(i);
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
