/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pull_test.c: a host that is not called, but fetches its events: in which order they come, and what each result is. */
#include "pulls.h"

#include <signal.h>

static bool next(treadle_pull *run) {
    CHECK_INT(treadle_loop_next(loop, run), TREADLE_OK);
    CHECK(run->count == 1 && run->run != 0 && event.loop == loop && is_size(event.struct_size, sizeof event));
    trace("%" PRIu64, event.token);
    return true;
}
static void end(treadle_pull *run, treadle_status result) {
    CHECK_INT(treadle_loop_next(loop, run), result);
    CHECK(run->count == 0 && run->run == 0);
}
/* A run in which every event is fetched, with its result. */
static treadle_status fetch_all(const char *mode, int64_t timeout_ns, uint32_t flags, void (*handle)(void)) {
    treadle_pull run = pull(mode, timeout_ns, flags);
    treadle_status status;
    while ((status = treadle_loop_next(loop, &run)) == TREADLE_OK) {
        trace("%" PRIu64, event.token);
        if (handle) handle();
    }
    CHECK(run.count == 0 && run.run == 0);
    return status;
}

/* Everything at once: what a dispatch function is told, a host that fetches gets. */
static void told(const treadle_event *now) {
    trace("%u:%" PRIu64 "/%u%s%s", now->kind, now->token, now->value, now->descriptor >= 0 ? "d" : "", now->subject ? "s" : "");
    CHECK_TEXT(now->mode, M);
    CHECK(now->kind == TREADLE_EVENT_TIMER ? now->late_ns > 0 : now->late_ns == 0);
}
static uint64_t dispatch(uint64_t ticket, const treadle_event *now) { return told(now), ~ticket; }
static void plain(void *info) { trace("%s", (const char *)info); }
static void plain_perform(treadle_source source, void *info) { (void)source, plain(info); }
static treadle_object items[8];
static void set_scene(treadle_host of) {
    treadle_source source;
    treadle_timer timer;
    treadle_observer observer;
    treadle_descriptor descriptor;
    host = of, loop = treadle_loop_current();
    for (uint64_t i = 0; i < 2; i++) {
        CHECK_INT(host_source(of, 10 + i, 0, 1 - (int64_t)i, &source), TREADLE_OK);
        CHECK_INT(host_timer(of, 20 + i, 1 + (int64_t)i, 0, &timer), TREADLE_OK);
        items[i] = source, items[2 + i] = timer;
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    }
    CHECK_INT(host_observer(of, 30, TREADLE_ALL_ACTIVITIES, 0, &observer), TREADLE_OK);
    CHECK_INT(host_descriptor(of, 40, eventfd(1, EFD_CLOEXEC), TREADLE_READABLE, 0, &descriptor), TREADLE_OK);
    items[4] = observer, items[5] = descriptor, items[6] = make_source(plain_perform, "source");
    CHECK_INT(treadle_source_signal(items[6]), TREADLE_OK);
    for (int i = 0; i < 7; i++) CHECK_INT(treadle_loop_add(loop, items[i], M), TREADLE_OK);
    treadle_request asked = {.struct_size = sizeof asked, .host = of, .token = 60};
    CHECK_INT(treadle_perform(loop, &asked), TREADLE_OK);
    post(50);
    CHECK_INT(treadle_loop_post(loop, plain, "post"), TREADLE_OK);
    post(51);
}
static char expected[4096];
static treadle_status seen;
static void *play_by_push(void *info) {
    treadle_host of;
    CHECK_INT(treadle_host_register(&(treadle_host_config){.struct_size = sizeof(treadle_host_config), .dispatch = dispatch}, &of), TREADLE_OK);
    set_scene(of);
    seen = treadle_loop_run(loop, M, 0, 0);
    CHECK_INT(treadle_loop_run(loop, M, 0, 0), TREADLE_RUN_TIMED_OUT);
    return info;
}
static void *play_by_pull(void *info) {
    set_scene(fetching_host());
    for (int i = 0; i < 2; i++) {
        treadle_pull run = pull(M, 0, 0);
        treadle_status status;
        while ((status = treadle_loop_next(loop, &run)) == TREADLE_OK) told(&event);
        CHECK_INT(status, seen);
    }
    return info;
}
TEST(events_come_as_they_would_be_told, "ABI-10 PASS-4 PASS-5 PASS-12 SRC0-7 TMR-12 OBS-9 PERF-5") {
    on_thread(play_by_push, NULL);
    CHECK(strlen(trace_text) > 100 && strlen(trace_text) < sizeof expected);
    strcpy(expected, trace_text);
    trace_text[0] = 0;
    on_thread(play_by_pull, NULL);
    CHECK_TRACE(expected);
}

static void change_others(void) {
    if (event.token != 1) return;
    CHECK_INT(treadle_invalidate(sources[2]), TREADLE_OK);
    CHECK_INT(treadle_loop_remove(loop, sources[3], M), TREADLE_OK);
    CHECK(!treadle_source_is_signalled(sources[1]));
    signal_source(1);
    signal_source(5);
}
TEST(what_a_host_does_counts_before_the_next_event, "ABI-10 SRC0-7 SRC0-9") {
    start();
    for (uint64_t token = 1; token <= 5; token++) add_source(token, M);
    for (uint64_t token = 1; token <= 4; token++) signal_source(token);
    CHECK_INT(fetch_all(M, 0, 0, change_others), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 4");
    CHECK_INT(fetch_all(M, 0, 0, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 5");
    CHECK_INT(*treadle_host_get_retired_count(host), 0);
    CHECK_INT(treadle_release(sources[2]), TREADLE_OK);
    CHECK_INT(*treadle_host_get_retired_count(host), 1);
}

static void stop(void) { CHECK_INT(treadle_loop_stop(loop), TREADLE_OK); }
static void *stop_from_outside(void *info) { return stop(), info; }
static void let_another_stop(void) { on_thread(stop_from_outside, NULL); }
static void do_nothing(int number) { (void)number; }
static void *interrupt(void *thread) {
    while (!treadle_loop_is_waiting(loop)) sched_yield();
    for (int i = 0; i < 200; i++) usleep(100), pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}
TEST(each_result_ends_a_pull, "ABI-10 RUN-1 RUN-4 RUN-6 RUN-16 STOP-2 STOP-9 ABI-4") {
    start();
    CHECK_INT(fetch_all(NULL, 0, 0, NULL), TREADLE_RUN_FINISHED);
    CHECK_INT(fetch_all("unknown", 0, 0, NULL), TREADLE_RUN_FINISHED);
    CHECK_INT(fetch_all(TREADLE_COMMON_MODES, 0, 0, NULL), TREADLE_RUN_FINISHED);
    post(1);
    CHECK_INT(fetch_all(M, TREADLE_FOREVER, 0, NULL), TREADLE_RUN_FINISHED); /* it became empty */
    CHECK_INT(fetch_all(M, MILLISECONDS(5), TREADLE_RUN_WHEN_EMPTY, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1");
    add_source(2, M), add_source(3, M);
    signal_source(2), signal_source(3);
    CHECK_INT(fetch_all(M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE, NULL), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("2");
    CHECK_INT(fetch_all(M, TREADLE_FOREVER, 0, stop), TREADLE_RUN_STOPPED);
    CHECK_TRACE("3");
    signal_source(2);
    CHECK_INT(fetch_all(M, TREADLE_FOREVER, 0, let_another_stop), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_loop_stop(loop), TREADLE_IGNORED);
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    signal_source(2);
    CHECK_INT(fetch_all(M, TREADLE_FOREVER, 0, NULL), TREADLE_RUN_STOPPED);
    CHECK_TRACE("2");
    CHECK_INT(fetch_all(M, 0, 0, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("2");
    int64_t before = treadle_time_now();
    CHECK_INT(fetch_all(M, MILLISECONDS(20), 0, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK(treadle_time_now() - before >= MILLISECONDS(20));
    /* A signal. */
    pthread_t self = pthread_self(), other;
    CHECK_INT(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = do_nothing}, NULL), 0);
    CHECK_INT(pthread_create(&other, NULL, interrupt, &self), 0);
    CHECK_INT(fetch_all(M, TREADLE_FOREVER, TREADLE_RUN_RETURN_ON_INTERRUPT, NULL), TREADLE_RUN_INTERRUPTED);
    CHECK_INT(pthread_join(other, NULL), 0);
}

static void block_here(void *info) { (void)info, trace("plain"); }
TEST(posts_come_together_up_to_what_stands_between, "ABI-11 BLK-3 BLK-4 BLK-5") {
    treadle_event events[4];
    const char *other = OTHER;
    start();
    add_source(1, OTHER);
    for (uint64_t token = 1; token <= 6; token++) post(token);
    CHECK_INT(treadle_loop_post(loop, block_here, NULL), TREADLE_OK);
    post(7);
    CHECK_INT(host_post_block(host, 20, loop, &other, 1), TREADLE_OK); /* not admitted */
    post(8), post(9);
    treadle_pull run = pull_of(host, M, 0, TREADLE_RUN_WHEN_EMPTY, events, 4);
    treadle_status status;
    while ((status = treadle_loop_next(loop, &run)) == TREADLE_OK) {
        trace("(");
        for (size_t i = 0; i < run.count; i++) {
            CHECK(events[i].kind == TREADLE_EVENT_POST && events[i].loop == loop && events[i].subject == NULL);
            trace("%" PRIu64, events[i].token);
            if (events[i].token == 2) post(10);
        }
        trace(")");
    }
    CHECK_INT(status, TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 2 3 4 ) ( 5 6 ) plain ( 7 ) ( 8 9 ) ( 10 )");
    CHECK_INT(fetch_all(OTHER, 0, 0, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("20");
    CHECK_INT(*treadle_host_get_retired_count(host), 0); /* each event has used its token up */
}

static void begin_retired(void) {
    uint64_t token;
    size_t count;
    CHECK_INT(treadle_host_take_retired(host, &token, 1, &count), TREADLE_OK);
    if (count) trace("r%" PRIu64, token);
}
TEST(posts_that_had_not_begun_go_back, "ABI-11 ABI-3 BLK-3") {
    treadle_event events[8];
    start();
    for (uint64_t token = 1; token <= 9; token++) post(token);
    treadle_pull run = pull_of(host, M, 0, TREADLE_RUN_WHEN_EMPTY, events, 8);
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_OK);
    CHECK_INT(run.count, 8);
    run.failed = 9;
    CHECK_ERROR(treadle_loop_next(loop, &run), TREADLE_E_ARG, "failed");
    CHECK(run.run != 0);
    run.failed = 3;
    CHECK_ERROR(treadle_loop_next(loop, &run), TREADLE_E_CALLBACK, "callback");
    CHECK(run.run == 0 && run.failed == 0);
    begin_retired();
    begin_retired();
    CHECK_TRACE("r3");
    post(10);
    CHECK_INT(fetch_all(M, 0, TREADLE_RUN_WHEN_EMPTY, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("4 5 6 7 8 9 10");
}

TEST(an_event_that_failed_ends_the_run, "ABI-10 ABI-3 RUN-8") {
    treadle_observer observer;
    start();
    for (uint64_t token = 1; token <= 3; token++) add_source(token, M), signal_source(token);
    CHECK_INT(host_observer(host, 9, TREADLE_EXIT, 0, &observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, observer, M), TREADLE_OK);
    treadle_pull run = pull(M, TREADLE_FOREVER, 0);
    next(&run), next(&run);
    run.failed = 1;
    next(&run);
    CHECK(event.kind == TREADLE_EVENT_OBSERVER && event.value == TREADLE_EXIT);
    end(&run, TREADLE_E_CALLBACK);
    CHECK(!treadle_source_is_signalled(sources[2]) && treadle_source_is_signalled(sources[3]));
    CHECK_INT(fetch_all(M, 0, 0, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 2 9 3 9");
}

static void nested_pull(void) {
    if (event.token != 1) return;
    signal_source(4);
    CHECK_INT(fetch_all(OTHER, 0, 0, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fetch_all(M, 0, 0, NULL), TREADLE_RUN_TIMED_OUT); /* what the outer one has collected, too */
    trace("back");
}
TEST(pulls_nest, "ABI-10 RUN-12 RUN-13") {
    start();
    for (uint64_t token = 1; token <= 5; token++) add_source(token, token < 4 ? M : OTHER);
    for (uint64_t token = 1; token <= 3; token++) signal_source(token);
    CHECK_INT(fetch_all(M, 0, 0, nested_pull), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 4 2 3 back");
}

static void plain_source(treadle_source source, void *info) { (void)source, (void)info, trace("plain"); }
static void nested_run(void) {
    CHECK_INT(treadle_loop_run(loop, OTHER, 0, 0), TREADLE_RUN_TIMED_OUT);
    char mode[64];
    size_t length;
    CHECK_INT(treadle_loop_get_current_mode(loop, mode, sizeof mode, &length), TREADLE_OK);
    CHECK_TEXT(mode, M);
}
TEST(a_run_by_push_nests_in_a_pull, "ABI-10 RUN-12") {
    start();
    treadle_source source = make_source(plain_source, NULL);
    CHECK_INT(treadle_loop_add(loop, source, OTHER), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    add_source(1, M), add_source(2, M);
    signal_source(1), signal_source(2);
    CHECK_INT(fetch_all(M, 0, 0, nested_run), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 plain 2");
}

static void *ask(void *info) {
    CHECK_INT(host_perform(host, 5, info, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    trace("over");
    return NULL;
}
static void *ask_in_vain(void *info) {
    CHECK_ERROR(host_perform(host, 6, info, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_CALLBACK, "callback");
    return NULL;
}
TEST(requests_are_fetched_and_those_who_wait_go_on, "ABI-10 PERF-3 PERF-9") {
    pthread_t thread;
    start();
    add_source(1, M);
    treadle_thread self = treadle_thread_current();
    CHECK_INT(pthread_create(&thread, NULL, ask, self), 0);
    treadle_pull run = pull(M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE);
    next(&run);
    CHECK(event.kind == TREADLE_EVENT_REQUEST && event.token == 5);
    end(&run, TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_TRACE("5 over");
    CHECK_INT(pthread_create(&thread, NULL, ask_in_vain, self), 0);
    run = pull(M, TREADLE_FOREVER, 0);
    next(&run);
    run.failed = 1;
    end(&run, TREADLE_E_CALLBACK);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(*treadle_host_get_retired_count(host), 0);
}

/* Any host may pull: its own events it gets so, those of others are told. */
static uint64_t told_of_other(uint64_t ticket, const treadle_event *now) {
    trace("told-%" PRIu64, now->token);
    return ~ticket;
}
TEST(a_host_with_dispatch_may_pull, "ABI-10") {
    treadle_host other;
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = told_of_other};
    CHECK_INT(treadle_host_register(&config, &other), TREADLE_OK);
    start();
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    for (uint64_t token = 1; token <= 4; token++) {
        treadle_host mine = host;
        if (token == 3) host = other;
        signal_source((add_source(token, M), token));
        host = mine;
    }
    CHECK_INT(fetch_all(M, 0, 0, NULL), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 2 told-3 4");
    signal_source(1);
    CHECK_INT(treadle_loop_run(loop, M, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("told-1");
}

enum { PRODUCERS = 8, EACH = 12500 };
static uint64_t last_of[PRODUCERS];
static void *produce(void *number) {
    for (uint64_t i = 1; i <= (uint64_t)scaled(EACH); i++) post((uint64_t)(uintptr_t)number << 32 | i);
    return NULL;
}
static void pull_from_threads(size_t capacity) {
    treadle_event events[64];
    pthread_t threads[PRODUCERS];
    start();
    memset(last_of, 0, sizeof last_of);
    for (uintptr_t i = 0; i < PRODUCERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, produce, (void *)i), 0);
    treadle_pull run = pull_of(host, M, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY, events, capacity);
    for (int left = PRODUCERS * scaled(EACH); left > 0; left -= (int)run.count) {
        CHECK_INT(treadle_loop_next(loop, &run), TREADLE_OK);
        for (size_t i = 0; i < run.count; i++) CHECK_INT(events[i].token & 0xFFFFFFFF, ++last_of[events[i].token >> 32]);
    }
    stop();
    end(&run, TREADLE_RUN_STOPPED);
    for (int i = 0; i < PRODUCERS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(*treadle_host_get_retired_count(host), 0);
}
TEST(no_post_of_eight_threads_is_lost, "ABI-10 ABI-11 BLK-3") {
    pull_from_threads(1);
    pull_from_threads(64);
}

TEST(what_is_made_in_a_scope_is_fetched, "ABI-10 SCOPE-2 SCOPE-3") {
    treadle_scope scope;
    treadle_event events[4];
    start();
    CHECK_INT(treadle_scope_create(&(treadle_scope_config){.struct_size = sizeof(treadle_scope_config)}, &scope), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    post(1), post(2), post(3);
    treadle_request asked = {.struct_size = sizeof asked, .host = host, .token = 4};
    CHECK_INT(treadle_perform(loop, &asked), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    treadle_pull run = pull_of(host, M, 0, TREADLE_RUN_WHEN_EMPTY, events, 2);
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_OK);
    CHECK(run.count == 2 && events[0].token == 1 && events[1].token == 2);
    CHECK_ERROR(treadle_scope_close(scope, 0), TREADLE_E_TIMEOUT, ""); /* two have begun; the others are over now */
    CHECK_INT(treadle_loop_next(loop, &run), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_scope_close(scope, SECONDS(60)), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
    for (int i = 0; i < 4; i++) begin_retired();
    CHECK(strcmp(trace_text, "r3 r4") == 0 || strcmp(trace_text, "r4 r3") == 0);
}

/* A release leaves a run behind, between two callbacks of a batch: that goes on where it was. */
static treadle_pull left;
static void leave_one(void *info) {
    (void)info;
    trace("leaves");
    signal_source(1);
    left = pull(OTHER, TREADLE_FOREVER, 0);
    next(&left);
}
static void end_itself(treadle_source source, void *info) {
    (void)info;
    trace("ends");
    CHECK_INT(discard(source), TREADLE_OK);
}
static void tell_of_the_end(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, plain(info); }
TEST(what_follows_a_release_that_leaves_a_run_comes_all_the_same, "ABI-10 SRC0-7 OBJ-4") {
    start();
    add_source(1, OTHER);
    treadle_source ending = NULL, behind = make_source(plain_perform, "next");
    treadle_source_context context = {.struct_size = sizeof context, .perform = end_itself, .release = leave_one};
    treadle_observer observer = make_observer(tell_of_the_end, "over", TREADLE_EXIT);
    CHECK_INT(treadle_source_create(&context, &ending), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, ending, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, behind, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, observer, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(ending), TREADLE_OK);
    CHECK_INT(treadle_source_signal(behind), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("ends leaves 1 next over");
    CHECK_ERROR(treadle_loop_next(loop, &left), TREADLE_E_STALE, "run");
}

/* A host that is called with a post takes the others at once, and then completes all of them, or none. */
static bool completes;
static uint64_t take_all(uint64_t ticket, const treadle_event *now) {
    treadle_event others[8];
    trace("( %" PRIu64, now->token);
    size_t count = host_next(host, others, 8, 0);
    for (size_t i = 0; i < count; i++) trace("%" PRIu64, others[i].token);
    trace(")");
    return completes ? ~ticket : ticket;
}
TEST(posts_that_a_call_takes_at_once_are_completed_by_its_return, "ABI-11 ABI-3 ABI-2") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = take_all};
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    loop = treadle_loop_current();
    add_source(7, M);
    for (int round = 0; round < 2; round++) {
        completes = round == 0;
        for (uint64_t token = 1; token <= 4; token++) post(token);
        if (completes) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        else CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
        CHECK_TRACE("( 1 2 3 4 )");
        CHECK_INT(*treadle_host_get_retired_count(host), completes ? 0 : 3); /* the first was over when it asked */
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("");
}

TEST_MAIN()
