/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_stop_test.c: ready when the start returns, gone when the stop returns, and no stop is ever lost. */
#include "thread_jobs.h"

/* --- Ready ---------------------------------------------------------------------------------------- */

static atomic_int prepared;
static void *prepare_and_declare(void *info) {
    linger(MICROSECONDS(50));
    atomic_store(&prepared, 1);
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK); /* again: no effect */
    gate_pass(info);
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    return info;
}
TEST(a_thread_declares_itself_ready, "THR-18") {
    for (int i = 0; i < scaled(100); i++) {
        struct gate gate;
        gate_make(&gate);
        atomic_store(&prepared, 0);
        treadle_thread thread = thread_make(prepare_and_declare, &gate);
        CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(prepared, 1);
        CHECK(treadle_thread_is_executing(thread));
        gate_open(&gate);
        CHECK(thread_end(thread) == &gate);
    }
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK); /* of a thread that nobody waits for */
}

struct runner { treadle_source source; treadle_observer observer; atomic_int entries; treadle_status result; };
static void on_entry(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    atomic_fetch_add(&((struct runner *)info)->entries, 1);
}
static void *run_with_entry(void *info) {
    struct runner *runner = info;
    treadle_loop loop = treadle_loop_current();
    runner->source = make_source(NULL, NULL);
    runner->observer = make_observer(on_entry, runner, TREADLE_ENTRY);
    /* A run of an empty mode makes no pass. */
    CHECK_INT(treadle_loop_run(loop, "empty", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    linger(MICROSECONDS(50));
    CHECK_INT(treadle_loop_add_source(loop, runner->source, "mode"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, runner->observer, "mode"), TREADLE_OK);
    runner->result = treadle_loop_run(loop, "mode", TREADLE_FOREVER, 0);
    CHECK_INT(treadle_source_invalidate(runner->source), TREADLE_OK);
    CHECK_INT(treadle_source_release(runner->source), TREADLE_OK);
    CHECK_INT(treadle_observer_invalidate(runner->observer), TREADLE_OK);
    CHECK_INT(treadle_observer_release(runner->observer), TREADLE_OK);
    return runner;
}
TEST(a_thread_is_ready_in_the_first_pass_of_its_loop, "THR-18") {
    for (int i = 0; i < scaled(100); i++) {
        struct runner runner = {0};
        treadle_thread thread = thread_make(run_with_entry, &runner);
        CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(runner.entries, 1);
        void *result = NULL;
        CHECK_INT(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
        CHECK(result == &runner);
        CHECK_INT(runner.result, TREADLE_RUN_STOPPED);
        CHECK(treadle_thread_is_cancelled(thread) && treadle_thread_is_finished(thread));
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
}

static void *end_unready(void *info) { return info; }
static void *exit_unready(void *info) {
    treadle_thread_exit(info);
    return NULL;
}
static void *leave_unready(void *info) { pthread_exit(info); }
static void *run_nothing(void *info) {
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    return info;
}
TEST(a_thread_that_ends_before_it_is_ready, "THR-18") {
    treadle_thread_fn functions[] = {end_unready, exit_unready, leave_unready, run_nothing};
    for (int i = 0; i < 4; i++) {
        treadle_thread thread = thread_make(functions[i], &i);
        CHECK_ERROR(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_E_STATE, "thread");
        CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
    treadle_thread thread = thread_make(end_unready, NULL);
    CHECK_INT(treadle_thread_cancel(thread), TREADLE_OK);
    CHECK_ERROR(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_E_STATE, "thread");
    CHECK(treadle_thread_is_finished(thread));
    CHECK(thread_end(thread) == NULL);
}
TEST(who_starts_does_not_wait_for_ever, "THR-18") {
    const int64_t timeouts[] = {0, -1, INT64_MIN, 1, MILLISECONDS(2)};
    for (int i = 0; i < 5; i++) {
        struct held held;
        gate_make(&held.there);
        gate_make(&held.gate);
        held.result = &held;
        treadle_thread thread = thread_make(held_main, &held);
        CHECK_ERROR(treadle_thread_start_and_wait(thread, timeouts[i]), TREADLE_E_TIMEOUT, "");
        gate_pass(&held.there); /* and goes on */
        CHECK_ERROR(treadle_thread_start(thread), TREADLE_E_STATE, "thread"); /* it was started */
        CHECK_ERROR(treadle_thread_start_and_wait(thread, timeouts[i]), TREADLE_E_TIMEOUT, ""); /* and is waited for again */
        gate_open(&held.gate);
        CHECK_ERROR(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_E_STATE, "thread"); /* it ended */
        CHECK(thread_end(thread) == &held);
    }
}

static void trace_nothing(void *target, void *argument) { (void)target, (void)argument; }
/* Declares itself ready when it is told to, and then has its starter call something. */
static void *declare_and_ask(void *info) {
    struct held *held = info;
    gate_pass(&held->gate);
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    treadle_request request = {.struct_size = sizeof request, .fn = trace_nothing, .flags = TREADLE_PERFORM_WAIT};
    CHECK_INT(treadle_perform(treadle_thread_main(), &request), TREADLE_OK);
    CHECK_INT(treadle_loop_request_stop(treadle_loop_main(), 0), TREADLE_OK);
    return info;
}
TEST(a_wait_for_readiness_may_be_continued, "THR-18 PERF-7") {
    for (int i = 0; i < scaled(100); i++) {
        struct held held;
        gate_make(&held.gate);
        treadle_thread thread = thread_make(declare_and_ask, &held);
        CHECK_ERROR(treadle_thread_start_and_wait(thread, 1), TREADLE_E_TIMEOUT, "");
        CHECK_ERROR(treadle_thread_start_and_wait(thread, 1000), TREADLE_E_TIMEOUT, "");
        gate_open(&held.gate);
        CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY),
                  TREADLE_RUN_STOPPED);
        CHECK(thread_end(thread) == &held);
    }
}

/* --- Stop ----------------------------------------------------------------------------------------- */

TEST(a_stop_before_the_start, "THR-18 THR-5 STOP-9") {
    void *result = &result;
    treadle_thread thread = thread_make(nothing, &thread);
    CHECK_INT(treadle_thread_stop(thread), TREADLE_OK);
    CHECK(treadle_thread_is_cancelled(thread));
    CHECK_ERROR(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, &result), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
    CHECK(!result); /* it never ran */
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}
struct late { struct gate there, gate; treadle_status result; };
static void *make_the_loop_late(void *info) {
    struct late *late = info;
    gate_open(&late->there);
    gate_pass(&late->gate);
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    late->result = treadle_loop_run_default(treadle_loop_current());
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return NULL;
}
TEST(a_stop_before_there_is_a_loop, "THR-18 STOP-9") {
    struct late late;
    gate_make(&late.there);
    gate_make(&late.gate);
    treadle_thread thread = thread_begin(make_the_loop_late, &late);
    gate_pass(&late.there);
    CHECK_INT(treadle_thread_stop(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_stop(thread), TREADLE_OK);
    gate_open(&late.gate);
    thread_end(thread);
    CHECK_INT(late.result, TREADLE_RUN_STOPPED);
}
static int depth, unwound;
static struct gate deep;
/* Runs a mode of its own, whose first block does the same; the fifth tells that all run. */
static void run_deeper(void *source) {
    char mode[2] = {(char)('a' + depth), 0};
    const char *modes[] = {mode};
    treadle_post block = {.struct_size = sizeof block, .fn = run_deeper, .info = source, .modes = modes, .mode_count = 1};
    if (depth++ == 5) {
        gate_open(&deep);
        return;
    }
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, mode), TREADLE_OK);
    CHECK_INT(post_block(treadle_loop_current(), &block), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), mode, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    unwound++;
}
static void *run_nested(void *info) {
    treadle_source source = make_source(NULL, NULL);
    run_deeper(source);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), "a", 0, 0), TREADLE_RUN_TIMED_OUT); /* the stop is consumed */
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return info;
}
TEST(a_stop_ends_all_levels, "THR-18 STOP-9") {
    gate_make(&deep);
    treadle_thread thread = thread_begin(run_nested, NULL);
    gate_pass(&deep);
    CHECK_INT(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_INT(unwound, 5);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}
TEST(a_stop_ends_a_sleep, "THR-18") {
    struct server server;
    server_start(&server);
    await_sleep(&server.watch);
    server_end(&server);
}
TEST(a_stop_and_join_may_time_out, "THR-18 THR-17") {
    struct held held;
    treadle_thread thread = held_begin(&held, &held);
    CHECK_ERROR(treadle_thread_stop_and_join(thread, 0, NULL), TREADLE_E_TIMEOUT, "");
    CHECK(treadle_thread_is_cancelled(thread)); /* the stop was given */
    CHECK_ERROR(treadle_thread_stop_and_join(thread, MILLISECONDS(1), NULL), TREADLE_E_TIMEOUT, "");
    gate_open(&held.gate);
    void *result = NULL;
    CHECK_INT(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
    CHECK(result == &held);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}
static void *stop_oneself(void *info) {
    treadle_source source = make_source(NULL, NULL);
    CHECK_ERROR(treadle_thread_stop_and_join(treadle_thread_current(), TREADLE_FOREVER, NULL), TREADLE_E_DEADLOCK, "thread");
    CHECK(treadle_thread_is_cancelled(treadle_thread_current()));
    gate_open(info);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return info;
}
TEST(a_thread_may_stop_itself, "THR-18 THR-17") {
    struct gate tried;
    gate_make(&tried);
    treadle_thread thread = thread_begin(stop_oneself, &tried);
    gate_pass(&tried);
    CHECK(thread_end(thread) == &tried);
}
static void *stop_main(void *info) {
    CHECK_INT(treadle_thread_stop(treadle_thread_main()), TREADLE_OK);
    return info;
}
TEST(the_main_thread_s_loop_is_stopped_so_too, "THR-18 THR-10") {
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    treadle_thread thread = thread_begin(stop_main, NULL);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_STOPPED);
    thread_end(thread);
    CHECK(treadle_thread_is_cancelled(treadle_thread_main()));
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

TEST_MAIN()
