/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_fork_test.c: forks while calls are on their way: the child has none of them, can make its own, and
 * the parent's go on. */
#include "invocations.h"

#define MODE TREADLE_DEFAULT_MODE

const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

/* Ends the child at once, lest a leak checker looks for what other threads had on their stacks. */
static int pipe_ends[2];
static void child_ends(void) {
    if (write(pipe_ends[1], "+", 1) == 1) kill(getpid(), SIGKILL);
    _exit(1);
}
static void await_child(pid_t child) {
    char answer = 0;
    CHECK(child > 0);
    close(pipe_ends[1]);
    while (waitpid(child, &(int){0}, 0) < 0 && errno == EINTR) {}
    if (read(pipe_ends[0], &answer, 1) != 1 || answer != '+') check_failed(__FILE__, __LINE__, "the child has failed");
    close(pipe_ends[0]);
}
static pid_t fork_child(void) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) alarm(100);
    return child;
}

static atomic_int calls;
static int32_t count_call(void) { return atomic_fetch_add(&calls, 1) + 1; }

static void be_refused(treadle_invocation i) {
    uint32_t state = 9;
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_E_FORKED);
    CHECK_INT(treadle_invocation_cancel(i), TREADLE_E_FORKED);
    CHECK_INT(treadle_invocation_release(i), TREADLE_E_FORKED);
    CHECK_INT(treadle_invocation_get_state(i, &state), TREADLE_E_FORKED);
    CHECK_INT(state, 0);
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    CHECK_INT(treadle_invocation_cancel(i), TREADLE_E_STALE);
    CHECK_INT(treadle_invocation_release(i), TREADLE_E_STALE);
    CHECK_INT(invocations_destroyed, 0);
}
static void begin_anew(void) {
    struct server server;
    treadle_invocation i = INVOCATION(count_call, "i");
    int before = calls;
    server_start(&server);
    for (uint32_t wait = 1; wait <= 2; wait++) CHECK_INT(invoke(i, server.loop, wait), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(i, int32_t), before + 2);
    server_end(&server);
    invocation_end(i);
    CHECK_INT(invocations_destroyed, 1);
}
TEST(a_child_has_none_of_the_calls, "RL-11 PERF-8") {
    treadle_invocation i = INVOCATION(count_call, "i");
    struct completion c;
    completion_make(&c, i);
    treadle_request request = completion_request(&c);
    CHECK_INT(treadle_invocation_perform(i, OPTIONS(.completion = &request)), TREADLE_OK);
    CHECK_INT(pipe(pipe_ends), 0);
    pid_t child = fork_child();
    if (child == 0) {
        be_refused(i);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
        completion_check(&c, 0, 0);
        begin_anew();
        child_ends();
    }
    await_child(child);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(calls, 1);
    completion_check(&c, 1, 1);
    invocation_end(i);
    CHECK_INT(invocations_destroyed, 1);
}

/* The function itself forks, and in the child returns into a run whose caller waits in the parent: the run ends. */
static pid_t child_of_function;
static struct completion *untold; /* NULL: none */
static int32_t fork_in_function(void) {
    atomic_fetch_add(&calls, 1);
    child_of_function = fork_child();
    return 7;
}
static void *serve_or_live_anew(void *info) {
    struct server *server = server_main(info);
    if (child_of_function != 0) return server;
    CHECK_INT(server->result, TREADLE_E_FORKED);
    if (untold) completion_check(untold, 0, 0);
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    begin_anew();
    return child_ends(), server;
}
TEST(a_function_may_fork, "RL-11 PERF-7 PERF-8") {
    for (uint32_t wait = 0; wait < 3; wait++) {
        struct server server;
        treadle_invocation i = INVOCATION(fork_in_function, "i");
        struct completion c;
        atomic_store(&calls, 0);
        atomic_store(&invocations_destroyed, 0);
        CHECK_INT(pipe(pipe_ends), 0);
        completion_make(&c, i);
        treadle_request request = completion_request(&c);
        untold = wait ? NULL : &c;
        server = (struct server){.mode = MODE, .thread = thread_make(serve_or_live_anew, &server)};
        CHECK_INT(treadle_thread_start_and_wait(server.thread, TREADLE_FOREVER), TREADLE_OK);
        if (wait) {
            CHECK_INT(invoke(i, server.loop, wait), TREADLE_OK);
        } else {
            CHECK_INT(treadle_invocation_perform(i, OPTIONS(.loop = server.loop, .completion = &request, .completion_loop = server.loop)), TREADLE_OK);
            await(&c.done);
            completion_check(&c, 1, 1);
        }
        CHECK_INT(INVOCATION_RESULT(i, int32_t), 7);
        await_child(child_of_function);
        server_end(&server);
        invocation_end(i);
    }
}

/* A handler in a wait that runs forks: in the child the wait ends with the news. */
static struct held held;
static int64_t hold(void) {
    gate_open(&held.there);
    gate_pass(&held.gate);
    return 42;
}
static pid_t child_of_timer;
static void fork_in_timer(treadle_timer timer, void *info) {
    (void)info;
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    gate_pass(&held.there);
    child_of_timer = fork_child();
    if (child_of_timer) gate_open(&held.gate);
}
TEST(a_fork_in_a_wait_that_runs, "RL-11 PERF-7") {
    struct server server;
    treadle_invocation i = INVOCATION(hold, "q");
    gate_make(&held.there);
    gate_make(&held.gate);
    CHECK_INT(pipe(pipe_ends), 0);
    server_start(&server);
    treadle_timer timer = make_timer(fork_in_timer, NULL, treadle_time_now(), 0);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, TREADLE_CALL_MODE), TREADLE_OK);
    treadle_status status = invoke(i, server.loop, TREADLE_WAIT_RUNNING);
    if (child_of_timer == 0) {
        CHECK_INT(status, TREADLE_E_FORKED);
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        begin_anew();
        child_ends();
    }
    CHECK_INT(status, TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(i, int64_t), 42);
    await_child(child_of_timer);
    treadle_timer_release(timer);
    server_end(&server);
    invocation_end(i);
}

/* Children while other threads are in the middle of waits, with every lock of theirs. */
static atomic_int quit;
static struct server busy;
static void *keep_invoking(void *unused) {
    treadle_invocation i = INVOCATION(count_call, "i");
    for (uint32_t n = 0; !atomic_load(&quit); n++) CHECK_INT(invoke(i, busy.loop, 1 + n % 2), TREADLE_OK);
    invocation_end(i);
    return unused;
}
TEST(forks_while_others_wait, "RL-11 OBJ-6") {
    if (skips_fork_among_calls("forks_while_others_wait")) return;
    treadle_thread threads[2];
    server_start(&busy);
    for (int i = 0; i < 2; i++) threads[i] = thread_begin(keep_invoking, NULL);
    for (int round = scaled(30); round; round--) {
        CHECK_INT(pipe(pipe_ends), 0);
        pid_t child = fork_child();
        if (child == 0) {
            CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
            begin_anew();
            child_ends();
        }
        await_child(child);
    }
    atomic_store(&quit, 1);
    for (int i = 0; i < 2; i++) thread_end(threads[i]);
    server_end(&busy);
}

TEST_MAIN()
