/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_wait_test.c: waits for calls that meet each other: cycles are refused if they are some, and
 * otherwise everything finishes. */
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
static int64_t go(int64_t index);
static void go_plainly(void *target, void *unused) { (void)unused, go((intptr_t)target); }

static treadle_status take_step(int64_t index, int64_t *depth) {
    const struct step *step = &steps[index];
    const char *modes[] = {step->mode};
    if (step->plain) {
        treadle_request request = {.struct_size = sizeof request, .fn = go_plainly, .target = (void *)(intptr_t)(index + 1)};
        return treadle_thread_perform(servers[step->server].thread, &request, step->mode ? modes : NULL, step->mode != NULL,
                                      TREADLE_PERFORM_WAIT);
    }
    treadle_invocation invocation = INVOCATION(go, "qq");
    INVOCATION_SET(invocation, 0, int64_t, index + 1);
    treadle_status status = treadle_invocation_perform(
        invocation, OPTIONS(.loop = servers[step->server].loop, .modes = step->mode ? modes : NULL,
                            .mode_count = step->mode != NULL, .wait = step->wait));
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
    plain_status = treadle_thread_perform(servers[A].thread, &request, NULL, 0, TREADLE_PERFORM_WAIT);
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
    CHECK_INT(treadle_thread_perform(servers[A].thread, &request, NULL, 0, 0), TREADLE_OK);
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
    CHECK_INT(treadle_thread_perform(servers[C].thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
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

/* --- The run of a wait ------------------------------------------------------------------------------ */

static struct held held;
static int64_t hold(void) {
    gate_open(&held.there);
    gate_pass(&held.gate);
    return 42;
}
struct waiting {
    treadle_invocation invocation;
    treadle_status status;
    char mode[64];
};
static treadle_loop held_loop; /* of who waits */
static void note_mode(struct waiting *waiting) {
    size_t length = 0;
    CHECK_INT(treadle_loop_copy_current_mode(treadle_loop_current(), waiting->mode, sizeof waiting->mode, &length), TREADLE_OK);
}
static void *wait_outside_of_runs(void *info) {
    struct waiting *waiting = info;
    held_loop = treadle_loop_current();
    waiting->status = invoke(waiting->invocation, servers[B].loop, TREADLE_WAIT_RUNNING);
    return NULL;
}
static void hold_begin(struct waiting *waiting) {
    gate_make(&held.there);
    gate_make(&held.gate);
    server_start(&servers[B]);
    waiting->invocation = INVOCATION(hold, "q");
    waiting->status = 99;
}
static void hold_end(struct waiting *waiting) {
    CHECK_INT(waiting->status, TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(waiting->invocation, int64_t), 42);
    invocation_end(waiting->invocation);
    server_end(&servers[B]);
}

static void open_gate(void *gate) { gate_open(gate); }
static void post_and_await(treadle_loop loop, const char *mode) {
    struct gate gate;
    treadle_block block = {.struct_size = sizeof block, .fn = open_gate, .info = &gate, .modes = &mode, .mode_count = 1};
    gate_make(&gate);
    CHECK_INT(treadle_loop_perform_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    gate_pass(&gate);
}
TEST(stops_do_not_end_a_wait, "STOP-1 STOP-2 STOP-9") {
    struct waiting waiting;
    hold_begin(&waiting);
    treadle_thread thread = thread_begin(wait_outside_of_runs, &waiting);
    gate_pass(&held.there);
    post_and_await(held_loop, TREADLE_CALL_MODE);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_loop_stop(held_loop), TREADLE_OK);
        CHECK_INT(treadle_loop_request_stop(held_loop, i == 2 ? TREADLE_STOP_ALL_LEVELS : 0), TREADLE_OK);
        post_and_await(held_loop, TREADLE_CALL_MODE); /* it runs, and goes on running */
        CHECK_INT(waiting.status, 99);
    }
    gate_open(&held.gate);
    thread_end(thread);
    hold_end(&waiting);
}

/* A stop that comes in a wait is for the run around it. */
static void *wait_in_a_run_body(void *info) {
    struct waiting *waiting = info;
    note_mode(waiting);
    CHECK_TEXT(waiting->mode, MODE);
    waiting->status = invoke(waiting->invocation, servers[B].loop, TREADLE_WAIT_RUNNING);
    return NULL;
}
static void wait_in_a_run(void *info) { wait_in_a_run_body(info); }
static treadle_status run_result;
static void *run_and_wait(void *info) {
    treadle_source keeper = make_source(NULL, NULL);
    held_loop = treadle_loop_current();
    CHECK_INT(treadle_loop_add_source(held_loop, keeper, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_post(held_loop, wait_in_a_run, info), TREADLE_OK);
    run_result = treadle_loop_run(held_loop, MODE, TREADLE_FOREVER, 0);
    treadle_source_release(keeper);
    return NULL;
}
TEST(a_stop_is_kept_for_the_run_around_the_wait, "STOP-2 STOP-9 RUN-4") {
    for (int how = 0; how < 3; how++) {
        struct waiting waiting;
        hold_begin(&waiting);
        treadle_thread thread = thread_begin(run_and_wait, &waiting);
        gate_pass(&held.there);
        if (how == 0) CHECK_INT(treadle_loop_stop(held_loop), TREADLE_OK);
        else CHECK_INT(treadle_loop_request_stop(held_loop, how == 2 ? TREADLE_STOP_ALL_LEVELS : 0), TREADLE_OK);
        post_and_await(held_loop, TREADLE_CALL_MODE);
        CHECK_INT(waiting.status, 99);
        gate_open(&held.gate);
        thread_end(thread);
        CHECK_INT(run_result, TREADLE_RUN_STOPPED);
        hold_end(&waiting);
    }
}

/* What a client adds to the call mode runs, and what it has in other modes does not. */
static void fire(treadle_timer timer, void *info) {
    struct waiting *waiting = info;
    (void)timer;
    note_mode(waiting);
    gate_open(&held.gate);
}
static void never(treadle_timer timer, void *info) {
    (void)timer;
    CHECK(!info);
}
static void beat(treadle_timer timer, void *info) { (void)timer, (void)info; }
/* Sleeps and wakes until B, whose call has begun, sleeps: then it has told that the call is over. */
static void run_until_b_sleeps(void) {
    treadle_loop loop = treadle_loop_current();
    treadle_timer timer = make_timer(beat, NULL, treadle_time_now() + MILLISECONDS(1), MILLISECONDS(1));
    CHECK_INT(treadle_loop_add_timer(loop, timer, "inner"), TREADLE_OK);
    do CHECK_INT(treadle_loop_run(loop, "inner", MILLISECONDS(5), 0), TREADLE_RUN_TIMED_OUT);
    while (!is_asleep(&servers[B].watch));
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}
TEST(the_call_mode_has_what_a_client_adds, "RL-7 MODE-7 RUN-13") {
    struct waiting waiting;
    char names[256];
    size_t length = 0;
    hold_begin(&waiting);
    treadle_loop loop = treadle_loop_current();
    treadle_timer here = make_timer(fire, &waiting, treadle_time_now(), 0), elsewhere = make_timer(never, &waiting, treadle_time_now(), 0);
    CHECK_INT(treadle_loop_add_timer(loop, elsewhere, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, here, TREADLE_CALL_MODE), TREADLE_OK);
    waiting.status = invoke(waiting.invocation, servers[B].loop, TREADLE_WAIT_RUNNING);
    CHECK_TEXT(waiting.mode, TREADLE_CALL_MODE);
    CHECK_INT(treadle_timer_invalidate(elsewhere), TREADLE_OK);
    CHECK_INT(treadle_loop_copy_modes(servers[B].loop, names, sizeof names, &length), TREADLE_OK);
    CHECK_INT(length, sizeof MODE); /* the mode that only a call has needed is none of the client's */
    treadle_timer_release(here);
    treadle_timer_release(elsewhere);
    hold_end(&waiting);
}

/* A handler of the wait's run may run the loop itself while the awaited call ends. The wake-up is the inner run's
 * then, and the wait must end all the same. */
static void open_and_run(treadle_timer timer, void *info) {
    (void)info;
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    gate_pass(&held.there);
    gate_open(&held.gate);
    run_until_b_sleeps();
}
TEST(the_end_is_not_lost_in_a_nested_run, "WAKE-1 RUN-13") {
    struct waiting waiting;
    hold_begin(&waiting);
    treadle_timer timer = make_timer(open_and_run, NULL, treadle_time_now(), 0);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, TREADLE_CALL_MODE), TREADLE_OK);
    waiting.status = invoke(waiting.invocation, servers[B].loop, TREADLE_WAIT_RUNNING);
    treadle_timer_release(timer);
    hold_end(&waiting);
}
/* Also just before the wait would sleep. */
static void run_in_observer(treadle_observer observer, uint32_t activity, void *info) {
    (void)activity, (void)info;
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    gate_pass(&held.there);
    gate_open(&held.gate);
    run_until_b_sleeps();
}
TEST(the_end_is_not_lost_in_an_observer, "WAKE-1 OBS-1") {
    const uint32_t observed[] = {TREADLE_ENTRY, TREADLE_BEFORE_TIMERS, TREADLE_BEFORE_SOURCES, TREADLE_BEFORE_WAITING};
    for (int i = 0; i < 4; i++) {
        struct waiting waiting;
        hold_begin(&waiting);
        treadle_observer observer = make_observer(run_in_observer, NULL, observed[i]);
        CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, TREADLE_CALL_MODE), TREADLE_OK);
        waiting.status = invoke(waiting.invocation, servers[B].loop, TREADLE_WAIT_RUNNING);
        treadle_observer_release(observer);
        hold_end(&waiting);
    }
}

/* A thread is not ready because it waits for a call. */
static void *wait_then_run(void *info) {
    wait_outside_of_runs(info);
    trace("waited");
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    return NULL;
}
static void *release_when_it_runs(void *unused) {
    gate_pass(&held.there);
    post_and_await(held_loop, TREADLE_CALL_MODE);
    trace("in the wait");
    gate_open(&held.gate);
    return unused;
}
TEST(a_wait_does_not_make_a_thread_ready, "THR-18") {
    struct waiting waiting;
    hold_begin(&waiting);
    treadle_thread helper = thread_begin(release_when_it_runs, NULL), thread = thread_make(wait_then_run, &waiting);
    CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
    CHECK_TRACE("in the wait waited");
    thread_end(thread);
    thread_end(helper);
    hold_end(&waiting);
}

TEST_MAIN()
