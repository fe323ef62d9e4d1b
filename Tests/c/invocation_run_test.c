/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_run_test.c: the run of a wait: what it runs, and that it ends when the call is over, and not before. */
#include "invocations.h"
#include "host_items.h"

#define MODE TREADLE_DEFAULT_MODE

static struct server b; /* who is called */
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
    CHECK_INT(treadle_loop_get_current_mode(treadle_loop_current(), waiting->mode, sizeof waiting->mode, &length), TREADLE_OK);
}
static void *wait_outside_of_runs(void *info) {
    struct waiting *waiting = info;
    held_loop = treadle_loop_current();
    waiting->status = invoke(waiting->invocation, b.loop, TREADLE_WAIT_RUNNING);
    return NULL;
}
static void hold_begin(struct waiting *waiting) {
    gate_make(&held.there);
    gate_make(&held.gate);
    server_start(&b);
    waiting->invocation = INVOCATION(hold, "q");
    waiting->status = 99;
}
static void hold_end(struct waiting *waiting) {
    CHECK_INT(waiting->status, TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(waiting->invocation, int64_t), 42);
    invocation_end(waiting->invocation);
    server_end(&b);
}

static void open_gate(void *gate) { gate_open(gate); }
static void post_and_await(treadle_loop loop, const char *mode) {
    struct gate gate;
    treadle_post block = {.struct_size = sizeof block, .fn = open_gate, .info = &gate, .modes = &mode, .mode_count = 1};
    gate_make(&gate);
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
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
    waiting->status = invoke(waiting->invocation, b.loop, TREADLE_WAIT_RUNNING);
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
    while (!is_asleep(&b.watch));
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
    waiting.status = invoke(waiting.invocation, b.loop, TREADLE_WAIT_RUNNING);
    CHECK_TEXT(waiting.mode, TREADLE_CALL_MODE);
    CHECK_INT(treadle_timer_invalidate(elsewhere), TREADLE_OK);
    CHECK_INT(treadle_loop_get_modes(b.loop, names, sizeof names, &length), TREADLE_OK);
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
    waiting.status = invoke(waiting.invocation, b.loop, TREADLE_WAIT_RUNNING);
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
        waiting.status = invoke(waiting.invocation, b.loop, TREADLE_WAIT_RUNNING);
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

/* Descriptors in the call mode: the wait is in the kernel's hands then, and wakes all the same. */
static void let_go(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events;
    CHECK_INT(read(*(int *)info, &(uint64_t){0}, 8), 8);
    gate_open(&held.gate);
}
TEST(the_call_mode_may_watch_descriptors, "SRC1-2 WAKE-1") {
    struct waiting waiting;
    int fd = eventfd(0, EFD_CLOEXEC);
    hold_begin(&waiting);
    treadle_descriptor descriptor = make_descriptor(let_go, &fd, fd, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), descriptor, TREADLE_CALL_MODE), TREADLE_OK);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(write(fd, &(uint64_t){1}, 8), 8);
        waiting.status = invoke(waiting.invocation, b.loop, TREADLE_WAIT_RUNNING);
        CHECK_INT(waiting.status, TREADLE_OK);
        gate_pass(&held.there);
    }
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    close(fd);
    hold_end(&waiting);
}

/* A host whose callback fails in the wait's run ends the client's run around it; the wait has its result. */
static atomic_int events;
static uint64_t fail(uint64_t ticket, const treadle_event *event) {
    (void)event;
    if (atomic_fetch_add(&events, 1) == 0) gate_pass(&held.there);
    gate_open(&held.gate);
    return ticket;
}
TEST(a_host_that_fails_in_a_wait_ends_the_run_around_it, "ABI-2 RUN-4") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = fail};
    treadle_host host = NULL;
    treadle_timer timer = NULL;
    struct waiting waiting;
    treadle_loop loop = treadle_loop_current();
    hold_begin(&waiting);
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_timer(host, 1, treadle_time_now(), 0, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_CALL_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, wait_in_a_run, &waiting), TREADLE_OK);
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(loop, keeper, MODE), TREADLE_OK);
    CHECK_ERROR(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "callback");
    CHECK_INT(events, 1);
    treadle_timer_release(timer);
    treadle_source_release(keeper);
    hold_end(&waiting);
}

/* A thread that ends in the wait's run, in a handler: the call goes on without it, and nobody looks at what was on its
 * stack. */
static atomic_int wait_is_over;
static void end_thread(treadle_timer timer, void *info) {
    (void)info;
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    gate_pass(&held.there);
    treadle_thread_exit(NULL);
}
static void *wait_and_end(void *info) {
    struct waiting *waiting = info;
    treadle_timer timer = make_timer(end_thread, NULL, treadle_time_now(), 0);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, TREADLE_CALL_MODE), TREADLE_OK);
    invoke(waiting->invocation, b.loop, TREADLE_WAIT_RUNNING);
    atomic_store(&wait_is_over, 1);
    return NULL;
}
static int64_t join_who_waited(treadle_thread thread) { /* on B, which the thread had waited for */
    return treadle_thread_join(thread, TREADLE_FOREVER, NULL);
}
TEST(a_thread_may_end_in_the_run_of_its_wait, "RL-8 PERF-7 PERF-9") {
    struct waiting waiting;
    hold_begin(&waiting);
    treadle_thread thread = thread_begin(wait_and_end, &waiting);
    while (!treadle_thread_is_finished(thread)) sched_yield();
    treadle_invocation i = INVOCATION(join_who_waited, "q^v");
    INVOCATION_SET(i, 0, void *, thread);
    gate_open(&held.gate);
    CHECK_INT(invoke(i, b.loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(i, int64_t), TREADLE_OK);
    CHECK_INT(wait_is_over, 0);
    CHECK_INT(invocation_state(waiting.invocation), TREADLE_INVOCATION_DONE);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    invocation_end(i);
    waiting.status = TREADLE_OK;
    hold_end(&waiting);
    CHECK_INT(invocations_destroyed, 2);
}

TEST_MAIN()
