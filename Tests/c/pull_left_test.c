/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pull_left_test.c: pulls that their host leaves there, runs of others that meet a host's events, and bad input. */
#include "invocations.h"
#include "pulls.h"

#include <sys/wait.h>

static void next(treadle_pull *run) {
    CHECK_INT(treadle_loop_next(loop, run), TREADLE_OK);
    trace("%" PRIu64, event.token);
}
static treadle_status fetch_all(const char *mode) {
    treadle_pull run = pull(mode, 0, 0);
    treadle_status status;
    while ((status = treadle_loop_next(loop, &run)) == TREADLE_OK) trace("%" PRIu64, event.token);
    return status;
}
static void take_retired(void) {
    uint64_t token;
    size_t count;
    for (;;) {
        CHECK_INT(treadle_host_take_retired(host, &token, 1, &count), TREADLE_OK);
        if (!count) return;
        trace("r%" PRIu64, token);
    }
}

/* Runs by push that meet what is another's to fetch. */
TEST(a_run_that_meets_an_event_to_be_fetched_says_so, "ABI-12 SRC0-8 TMR-15 BLK-3 PERF-4 OBS-3 SRC1-2") {
    treadle_timer timer;
    treadle_observer observer;
    treadle_descriptor descriptor;
    int bell = eventfd(3, EFD_CLOEXEC | EFD_NONBLOCK);
    start();
    CHECK_INT(treadle_loop_add(loop, make_source(NULL, NULL), M), TREADLE_OK);
    for (int round = 0; round < 3; round++) {
        add_source(1, M), add_source(2, M);
        signal_source(1), signal_source(2);
        for (int i = 0; i < 3; i++) CHECK_ERROR(poll_mode(M), TREADLE_E_STATE, "host");
        CHECK(treadle_source_is_signalled(sources[1]) && treadle_source_is_signalled(sources[2]));
        CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
        CHECK(strcmp(trace_text, "1 2") == 0 || strcmp(trace_text, "2 1") == 0);
        trace_text[0] = 0;
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);

        CHECK_INT(host_timer(host, 3, treadle_time_now(), 0, &timer), TREADLE_OK);
        CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
        for (int i = 0; i < 3; i++) CHECK_ERROR(treadle_loop_run(loop, M, SECONDS(60), 0), TREADLE_E_STATE, "host");
        CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("3");
        CHECK_INT(treadle_release(timer), TREADLE_OK);

        post(4), post(5);
        for (int i = 0; i < 3; i++) CHECK_ERROR(poll_mode(M), TREADLE_E_STATE, "host");
        CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("4 5");

        treadle_request asked = {.struct_size = sizeof asked, .host = host, .token = 6};
        CHECK_INT(treadle_perform(loop, &asked), TREADLE_OK);
        asked.token = 7;
        CHECK_INT(treadle_perform(loop, &asked), TREADLE_OK);
        for (int i = 0; i < 3; i++) CHECK_ERROR(poll_mode(M), TREADLE_E_STATE, "host");
        CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("6 7");

        uint32_t flags = round == 2 ? TREADLE_DESCRIPTOR_ACKNOWLEDGED : 0;
        CHECK_INT(host_descriptor(host, 8, bell, TREADLE_READABLE, flags, &descriptor), TREADLE_OK);
        CHECK_INT(treadle_loop_add(loop, descriptor, M), TREADLE_OK);
        for (int i = 0; i < 3; i++) CHECK_ERROR(treadle_loop_run(loop, M, SECONDS(60), 0), TREADLE_E_STATE, "host");
        CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("8");
        discard(descriptor);

        CHECK_INT(host_observer(host, 9, TREADLE_ENTRY | TREADLE_EXIT, round == 1, &observer), TREADLE_OK);
        CHECK_INT(treadle_loop_add(loop, observer, M), TREADLE_OK);
        for (int i = 0; i < 3; i++) CHECK_ERROR(treadle_loop_run(loop, M, SECONDS(60), 0), TREADLE_E_STATE, "host");
        CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE(round == 1 ? "9" : "9 9");
        discard(observer), discard(sources[1]), discard(sources[2]);
        take_retired();
        trace_text[0] = 0;
    }
}

TEST(a_message_waits_to_be_fetched, "ABI-12 ABI-10 PORT-6") {
    treadle_port port;
    start();
    CHECK_INT(host_port(host, 5, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, port, M), TREADLE_OK);
    for (uint32_t id = 1; id <= 2; id++) CHECK_INT(treadle_port_send_bytes(port, id, "text", 4, 0), TREADLE_OK);
    for (int i = 0; i < 3; i++) CHECK_ERROR(treadle_loop_run(loop, M, SECONDS(60), 0), TREADLE_E_STATE, "host");
    treadle_pull run = pull(M, TREADLE_FOREVER, 0);
    for (uint32_t id = 1; id <= 2; id++) {
        next(&run);
        treadle_message_info info = TREADLE_INIT(treadle_message_info);
        CHECK(event.kind == TREADLE_EVENT_MESSAGE && event.value == id && event.subject == port);
        CHECK_INT(treadle_message_get_info(event.argument, &info), TREADLE_OK);
        CHECK_INT(info.id, id);
    }
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_RUN_STOPPED);
    discard(port);
}

/* A thread that waits, and serves its loop meanwhile: what its host fetches has its turn later, and the wait goes on. */
static struct server other_thread;
static void do_nothing(void) {}
static void call_back(void) {
    treadle_invocation inner = INVOCATION(do_nothing, "v");
    CHECK_INT(invoke(inner, loop, TREADLE_WAIT_RUNNING), TREADLE_OK);
    invocation_end(inner);
}
TEST(a_wait_goes_on_past_a_completion_to_be_fetched, "ABI-12 PERF-3") {
    start();
    server_start(&other_thread);
    treadle_invocation first = INVOCATION(do_nothing, "v"), second = INVOCATION(call_back, "v");
    treadle_request completion = {.struct_size = sizeof completion, .host = host, .token = 7};
    CHECK_INT(treadle_invocation_perform(first, OPTIONS(.loop = other_thread.loop, .completion = &completion)), TREADLE_OK);
    CHECK_INT(invoke(second, other_thread.loop, TREADLE_WAIT_RUNNING), TREADLE_OK);
    CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("7");
    invocation_end(first), invocation_end(second);
    server_end(&other_thread);
}

TEST(a_pull_of_another_host_says_so_too, "ABI-12") {
    start();
    treadle_host first = host;
    add_source(1, M);
    host = fetching_host();
    add_source(2, M);
    signal_source(2), signal_source(1);
    treadle_pull run = pull(M, TREADLE_FOREVER, 0);
    next(&run);
    CHECK_ERROR(treadle_loop_next(loop, &run), TREADLE_E_STATE, "host");
    CHECK_INT(run.run, 0);
    host = first;
    CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("2 1");
}

/* A pull is begun in a callback, which returns without it. */
static treadle_pull left[2];
static void leave_pulls(treadle_source source, void *info) {
    (void)source, (void)info;
    trace("leaves");
    for (int i = 0; i < 2; i++) {
        left[i] = pull(OTHER, TREADLE_FOREVER, 0);
        next(&left[i]);
    }
    signal_source((add_source(7, OTHER), 7));
}
static void perform(treadle_source source, void *info) { (void)source, (void)info, trace("next"); }
static void told(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, trace("%s", (char *)info); }
TEST(a_pull_that_a_callback_leaves_ends_with_it, "ABI-10 SRC0-7 OBS-3") {
    start();
    treadle_source leaver = make_source(leave_pulls, NULL), behind = make_source(perform, NULL);
    CHECK_INT(treadle_loop_add(loop, leaver, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, behind, M), TREADLE_OK);
    for (int round = 0; round < 100; round++) {
        add_source(5, OTHER), add_source(6, OTHER);
        signal_source(5), signal_source(6);
        CHECK_INT(treadle_source_signal(leaver), TREADLE_OK);
        CHECK_INT(treadle_source_signal(behind), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("leaves 5 6 next");
        for (int i = 0; i < 2; i++) {
            CHECK_ERROR(treadle_loop_next(loop, &left[i]), TREADLE_E_STALE, "run");
            CHECK_INT(left[i].run, 0);
        }
        CHECK(treadle_loop_get_current_mode(loop, NULL, 0, &(size_t){0}) == TREADLE_E_NOT_FOUND);
        CHECK_INT(fetch_all(OTHER), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("7"); /* none had reached it */
        for (int i = 5; i <= 7; i++) discard(sources[i]);
        take_retired();
        trace_text[0] = 0;
    }
}

/* Each kind of callback leaves a pull behind; what comes after it in the same batch comes all the same. */
static treadle_pull one;
static void leave_one(void) {
    trace("leaves");
    signal_source(1);
    one = pull(OTHER, TREADLE_FOREVER, 0);
    next(&one);
}
static void leave_in_observer(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info, leave_one(); }
static void leave_in_post(void *info) { (void)info, leave_one(); }
static void plain_post(void *info) { trace("%s", (char *)info); }
static void leave_in_timer(treadle_timer timer, void *info) { (void)timer, (void)info, leave_one(); }
static void plain_timer(treadle_timer timer, void *info) { (void)timer, trace("%s", (char *)info); }
static void leave_in_request(void *target, void *argument) { (void)target, (void)argument, leave_one(); }
static void plain_request(void *target, void *argument) { (void)target, trace("%s", (char *)argument); }
static void *wait_for_request(void *info) {
    treadle_request asked = {.struct_size = sizeof asked, .fn = leave_in_request, .flags = TREADLE_PERFORM_WAIT};
    CHECK_INT(treadle_perform(info, &asked), TREADLE_OK); /* it has completed */
    return NULL;
}
static void is_over(void) { CHECK_ERROR(treadle_loop_next(loop, &one), TREADLE_E_STALE, "run"); }
TEST(what_follows_such_a_callback_comes_all_the_same, "ABI-10 OBS-3 BLK-5 TMR-12 PERF-4") {
    pthread_t thread;
    start();
    add_source(1, OTHER);
    CHECK_INT(treadle_loop_add(loop, make_source(NULL, NULL), M), TREADLE_OK);
    treadle_observer first = make_observer(leave_in_observer, NULL, TREADLE_ENTRY), second = make_observer(told, "told", TREADLE_ENTRY);
    CHECK_INT(treadle_loop_add(loop, first, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, second, M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("leaves 1 told");
    is_over();
    discard(first), discard(second);
    CHECK_INT(treadle_loop_post(loop, leave_in_post, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, plain_post, "post"), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("leaves 1 post");
    is_over();
    treadle_timer timers[] = {make_timer(leave_in_timer, NULL, 1, 0), make_timer(plain_timer, "timer", 2, 0)};
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_loop_add(loop, timers[i], M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("leaves 1 timer");
    is_over();
    CHECK_INT(pthread_create(&thread, NULL, wait_for_request, treadle_thread_current()), 0);
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(pthread_join(thread, NULL), 0);
    treadle_request asked = {.struct_size = sizeof asked, .fn = plain_request, .argument = "request"};
    CHECK_INT(treadle_perform(loop, &asked), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("leaves 1 request");
    is_over();
}

/* What a callback has put off is released behind it, at the end of the pass, or of the run: nothing else is called then. */
static void leave_in_release(void *info) { (void)info, leave_one(); }
static void put_off(void *info) {
    trace("%s", (char *)info);
    CHECK_INT(treadle_pool_add(info, leave_in_release), TREADLE_OK);
}
static void put_off_in_observer(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, put_off(info); }
static void *shut_down(void *info) {
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK); /* it waits for the runs of all other threads */
    return info;
}
static void check_left_at_the_end(const char *traced) {
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE(traced);
    trace_text[0] = 0;
    is_over();
    CHECK(treadle_loop_get_current_mode(loop, NULL, 0, &(size_t){0}) == TREADLE_E_NOT_FOUND);
}
TEST(a_pull_that_is_left_behind_a_callback_ends_with_the_run, "ABI-10 POOL-3 THR-21") {
    start();
    add_source(1, OTHER);
    CHECK_INT(treadle_loop_add(loop, make_source(NULL, NULL), M), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, put_off, "post"), TREADLE_OK);
    check_left_at_the_end("post leaves 1");
    treadle_observer observer = make_observer(put_off_in_observer, "exit", TREADLE_EXIT);
    CHECK_INT(treadle_loop_add(loop, observer, M), TREADLE_OK);
    check_left_at_the_end("exit leaves 1");
    discard(observer);
    on_thread(shut_down, NULL);
}

TEST(an_outer_pull_that_goes_on_ends_those_inside, "ABI-10 RUN-12") {
    start();
    for (uint64_t token = 1; token <= 4; token++) add_source(token, token < 3 ? M : OTHER), signal_source(token);
    treadle_pull outer = pull(M, 0, 0), inner = pull(OTHER, TREADLE_FOREVER, 0), same = pull(M, TREADLE_FOREVER, 0);
    next(&outer), next(&inner), next(&same);
    CHECK_TRACE("1 3 2");
    CHECK_INT(treadle_loop_next(loop, &outer), TREADLE_RUN_TIMED_OUT);
    CHECK_ERROR(treadle_loop_next(loop, &inner), TREADLE_E_STALE, "run");
    CHECK_ERROR(treadle_loop_next(loop, &same), TREADLE_E_STALE, "run");
    CHECK_INT(fetch_all(OTHER), TREADLE_RUN_TIMED_OUT); /* what it had not reached was put back */
    CHECK_TRACE("4");
    CHECK_INT(treadle_loop_stop(loop), TREADLE_IGNORED);
}

/* Never gone on with: a run around all that come later, until its thread ends. */
static void *leave_and_end(void *info) {
    treadle_event events[4];
    loop = treadle_loop_current();
    CHECK_INT(treadle_retain(loop), TREADLE_OK);
    for (uint64_t token = 1; token <= 6; token++) post(token);
    treadle_pull run = pull_of(host, M, TREADLE_FOREVER, 0, events, 4);
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_OK);
    CHECK_INT(run.count, 4);
    CHECK_INT(treadle_loop_run(loop, M, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
    if (info) pthread_exit(info);
    return NULL;
}
TEST(a_pull_that_is_left_ends_with_its_thread, "ABI-10 RL-8 ABI-2") {
    start();
    for (int i = 0; i < 20; i++) {
        on_thread(leave_and_end, i % 2 ? &host : NULL);
        uint64_t tokens[8], seen = 0;
        size_t count = 0;
        CHECK_INT(treadle_host_take_retired(host, tokens, 8, &count), TREADLE_OK);
        for (size_t token = 0; token < count; token++) seen |= UINT64_C(1) << tokens[token];
        CHECK(count == 6 && seen == 126);
        CHECK_INT(treadle_release(loop), TREADLE_OK);
    }
}

TEST(a_fork_between_two_calls, "ABI-10 RL-11") {
    start();
    add_source(1, M), add_source(2, M), signal_source(1), signal_source(2);
    treadle_pull run = pull(M, 0, 0);
    next(&run);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        CHECK_ERROR(treadle_loop_next(loop, &run), TREADLE_E_FORKED, "");
        treadle_pull anew = pull(M, 0, 0);
        CHECK_ERROR(treadle_loop_next(loop, &anew), TREADLE_E_FORKED, "");
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        CHECK(treadle_loop_next(loop, &run) < 0 && treadle_loop_next(treadle_loop_current(), &run) < 0);
        start();
        add_source(3, M), signal_source(3);
        CHECK_INT(fetch_all(M), TREADLE_RUN_TIMED_OUT);
        _exit(0);
    }
    int status = 1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK_INT(status, 0);
    next(&run);
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 2");
}

static void fork_in_post(void *info) {
    (void)info;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        trace("child");
        return;
    }
    int status = 1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK_INT(status, 0);
}
TEST(a_fork_in_a_callback_of_a_pull, "ABI-10 RL-11") {
    start();
    CHECK_INT(treadle_loop_post(loop, fork_in_post, NULL), TREADLE_OK);
    post(1);
    treadle_pull run = pull(M, 0, 0);
    treadle_status status = treadle_loop_next(loop, &run);
    if (strstr(trace_text, "child")) _exit(status == TREADLE_E_FORKED && run.run == 0 && run.count == 0 ? 0 : 1);
    CHECK_INT(status, TREADLE_OK);
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_RUN_TIMED_OUT);
}

TEST(a_quiet_host_and_a_shutdown_end_pulls, "ABI-5 ABI-10 THR-21") {
    uint64_t dropped = 0;
    start();
    for (uint64_t token = 1; token <= 3; token++) add_source(token, M), signal_source(token);
    treadle_pull run = pull(M, 0, 0);
    next(&run);
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK); /* nothing is in flight in a call */
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_host_get_dropped(host, &dropped), TREADLE_OK);
    CHECK_INT(dropped, 2);
    run = pull(M, 0, 0);
    CHECK_ERROR(treadle_loop_next(loop, &run), TREADLE_E_CLOSED, "host");
    signal_source(1);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT); /* dropped, and no error */
    host = fetching_host();
    add_source(4, M), signal_source(4);
    run = pull(M, TREADLE_FOREVER, 0);
    next(&run);
    CHECK_INT(treadle_shutdown(SECONDS(60)), TREADLE_OK);
    CHECK_ERROR(treadle_loop_next(loop, &run), TREADLE_E_CLOSED, "process");
    CHECK_INT(run.run, 0);
    CHECK_TRACE("1 4");
}

static treadle_pull mine;
static void *next_elsewhere(void *info) {
    (void)info;
    CHECK_ERROR(treadle_loop_next(loop, &mine), TREADLE_E_WRONG_THREAD, "loop");
    CHECK(mine.run != 0);
    treadle_pull anew = pull(M, 0, 0);
    CHECK_ERROR(treadle_loop_next(loop, &anew), TREADLE_E_WRONG_THREAD, "loop");
    CHECK_ERROR(treadle_loop_next(treadle_loop_current(), &mine), TREADLE_E_STALE, "run");
    return NULL;
}
static void reenter(void *info) {
    (void)info;
    trace("inside");
    CHECK_ERROR(treadle_loop_next(loop, &mine), TREADLE_E_STATE, "run");
    CHECK(mine.run != 0);
}
TEST(a_pull_goes_on_on_its_thread_and_not_inside_of_itself, "ABI-10") {
    start();
    for (uint64_t token = 1; token <= 2; token++) add_source(token, M), signal_source(token);
    mine = pull(M, 0, 0);
    next(&mine);
    treadle_pull before = mine;
    on_thread(next_elsewhere, NULL);
    mine = before;
    CHECK_INT(treadle_loop_post(loop, reenter, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, M, 0, 0), TREADLE_E_STATE); /* inside of a run inside of it; and source 2 is not its to tell */
    CHECK_INT(treadle_loop_post(loop, reenter, NULL), TREADLE_OK);
    next(&mine);
    CHECK_INT(treadle_loop_next(loop, &mine), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 inside 2 inside");
}

TEST(bad_input_is_refused_by_name, "ABI-10 ABI-7") {
    start();
    add_source(1, M), signal_source(1);
#define BAD(status, word, ...)                                                                                       \
    do {                                                                                                             \
        treadle_pull bad = pull(M, 0, 0);                                                                            \
        __VA_ARGS__;                                                                                                 \
        CHECK_ERROR(treadle_loop_next(loop, &bad), status, word);                                                    \
        CHECK(treadle_loop_get_current_mode(loop, NULL, 0, &(size_t){0}) == TREADLE_E_NOT_FOUND && bad.count == 0); \
    } while (0)
    CHECK_ERROR(treadle_loop_next(loop, NULL), TREADLE_E_ARG, "pull");
    BAD(TREADLE_E_ARG, "struct_size", bad.struct_size = 8);
    BAD(TREADLE_E_ARG, "struct_size", bad.struct_size = 5000);
    BAD(TREADLE_E_ARG, "events", bad.events = NULL);
    BAD(TREADLE_E_ARG, "events", bad.events = (treadle_event *)((char *)&event + 4));
    BAD(TREADLE_E_ARG, "event_size", bad.event_size = 64);
    BAD(TREADLE_E_ARG, "event_size", bad.event_size = 76);
    BAD(TREADLE_E_ARG, "event_size", bad.event_size = SIZE_MAX);
    BAD(TREADLE_E_ARG, "capacity", bad.capacity = 0);
    BAD(TREADLE_E_ARG, "capacity", bad.capacity = SIZE_MAX);
    BAD(TREADLE_E_ARG, "capacity", bad.capacity = SIZE_MAX / 100);
    BAD(TREADLE_E_ARG, "flags", bad.flags = 16);
    BAD(TREADLE_E_ARG, "flags", bad.flags = TREADLE_NEXT_IN_DISPATCH | TREADLE_RUN_WHEN_EMPTY);
    BAD(TREADLE_E_ARG, "run", bad.flags = TREADLE_NEXT_IN_DISPATCH, bad.run = 5);
    BAD(TREADLE_E_ARG, "failed", bad.failed = 1);
    BAD(TREADLE_E_ARG, "failed", bad.failed = 1, bad.flags = TREADLE_NEXT_IN_DISPATCH);
    BAD(TREADLE_E_ARG, "host", bad.host = NULL);
    BAD(TREADLE_E_KIND, "host", bad.host = (treadle_host)loop);
    BAD(TREADLE_E_STALE, "run", bad.run = 77);
    BAD(TREADLE_E_STALE, "run", bad.run = UINT64_MAX);
    CHECK_ERROR(treadle_loop_next(NULL, &(treadle_pull){.struct_size = sizeof(treadle_pull)}), TREADLE_E_ARG, "loop");
    struct { treadle_pull pull; uint64_t tail; } longer = {pull(M, 0, 0), 1};
    longer.pull.struct_size = sizeof longer;
    CHECK_ERROR(treadle_loop_next(loop, &longer.pull), TREADLE_E_TOO_NEW, "");
    longer.tail = 0;
    CHECK_INT(treadle_loop_next(loop, &longer.pull), TREADLE_OK);
    CHECK_INT(treadle_loop_next(loop, &longer.pull), TREADLE_RUN_TIMED_OUT);
    /* Events that lie further apart, as those of a later version. */
    struct { treadle_event event; uint64_t more; } wide[3] = {[0].more = 7, [1].more = 7};
    post(2), post(3);
    treadle_pull run = pull(M, 0, 0);
    run.events = &wide[0].event, run.event_size = sizeof wide[0], run.capacity = 2;
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_OK);
    CHECK(run.count == 2 && wide[0].event.token == 2 && wide[1].event.token == 3 && wide[0].more == 7 && wide[1].more == 7);
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_RUN_TIMED_OUT);
}

/* What is told by a call at once. */
static treadle_closure_config closure_config = {.struct_size = sizeof closure_config, .signature = "v"};
TEST(a_host_that_is_not_called_cannot_be_told_at_once, "ABI-12") {
    treadle_source source;
    treadle_thread thread;
    treadle_closure closure;
    treadle_timer timer;
    uint64_t token;
    start();
    CHECK_ERROR(host_source(host, 1, TREADLE_HOST_WANTS_CANCEL, 0, &source), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_ERROR(host_thread(host, 1, &thread), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_ERROR(host_notification(host, 1, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, &token), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_ERROR(host_closure(host, 1, &closure_config, &closure), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_ERROR(treadle_host_pool_add(host, 1), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_ERROR(treadle_host_run(host, loop, M, 0, 0), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_ERROR(host_perform(host, 1, treadle_thread_current(), NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_ERROR(host_perform(host, 1, loop, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_NOT_SUPPORTED, "host");
    treadle_request asked = {.struct_size = sizeof asked, .host = host, .token = 1, .flags = TREADLE_PERFORM_AFTER, .delay_ns = 5};
    CHECK_ERROR(treadle_perform(NULL, &asked), TREADLE_E_NOT_SUPPORTED, "host");
    asked.flags = TREADLE_PERFORM_IN_BACKGROUND, asked.delay_ns = 0;
    CHECK_ERROR(treadle_perform(NULL, &asked), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_INT(host_timer(host, 2, FAR_AWAY, 0, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
    CHECK_ERROR(treadle_timer_fire(timer), TREADLE_E_NOT_SUPPORTED, "host");
    CHECK_INT(*treadle_host_get_retired_count(host), 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
}

TEST_MAIN()
