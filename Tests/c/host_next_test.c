/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_next_test.c: a host that handles many events in one dispatch: what it is handed, in which order, and what it
 * is not; the tokens of posts and requests. */
#include "helpers.h"
#include "host_items.h"

static const char *const M = TREADLE_DEFAULT_MODE;

/* The host of a test: handles all that it can in one go. "(" begins a dispatch in the trace, ")" ends it. */
static treadle_host host;
static uint64_t failing;
static bool is_quiet; /* writes no trace */
static void (*during)(uint64_t token, const treadle_event *event);

static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    treadle_event now = *event;
    if (!is_quiet) trace("(");
    for (size_t count = 1; count; count = host_next(host, &now, 1, 0)) {
        uint64_t token = now.token;
        CHECK_INT(now.kind, event->kind);
        CHECK(now.loop == event->loop && is_size(now.struct_size, sizeof now));
        if (!is_quiet) trace("%" PRIu64, token);
        if (during) during(token, &now);
        if (token == failing) return ticket;
    }
    if (!is_quiet) trace(")");
    return ~ticket;
}
static treadle_loop start_host(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    return treadle_loop_current();
}
static treadle_source add_source(uint64_t token, int64_t order) {
    treadle_source source;
    CHECK_INT(host_source(host, token, 0, order, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, M), TREADLE_OK);
    return source;
}
static void signal_source(treadle_source source) { CHECK_INT(treadle_source_signal(source), TREADLE_OK); }
static void post(uint64_t token) { CHECK_INT(treadle_host_post(host, token, treadle_loop_current()), TREADLE_OK); }
static void queue(uint64_t token, const char *mode) {
    CHECK_INT(host_post_block(host, token, treadle_loop_current(), mode ? &mode : NULL, mode ? 1 : 0), TREADLE_OK);
}
static uint64_t retired_count(void) { return *treadle_host_get_retired_count(host); }

static treadle_source sources[8];
static void check_subject(uint64_t token, const treadle_event *event) {
    CHECK(event->subject == sources[token]);
    CHECK(!treadle_source_is_signalled(sources[token]));
    CHECK(token == 1 || treadle_source_is_signalled(sources[token - 1]));
}
TEST(signalled_sources_are_performed_in_one_go, "SRC0-7 SRC0-8 ABI-3") {
    start_host();
    for (uint64_t token = 1; token <= 4; token++) {
        sources[token] = add_source(token, 4 - (int64_t)token);
        signal_source(sources[token]);
    }
    during = check_subject; /* the signal of each is used up at its turn, not before */
    sources[0] = sources[4];
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 4 3 2 1 )");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("");
    CHECK_INT(host_next(host, &(treadle_event){0}, 1, 0), 0); /* outside of a dispatch */
}

static void change_others(uint64_t token, const treadle_event *event) {
    (void)event;
    if (token != 1) return;
    CHECK_INT(treadle_source_invalidate(sources[2]), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(treadle_loop_current(), sources[3], M), TREADLE_OK);
    signal_source(sources[1]);
    signal_source(sources[5]); /* not collected by this pass, and so not in its turn */
}
TEST(what_one_does_to_the_others_counts, "SRC0-7 SRC0-9") {
    treadle_loop loop = start_host();
    for (uint64_t token = 1; token <= 5; token++) sources[token] = add_source(token, 0);
    for (uint64_t token = 1; token <= 4; token++) signal_source(sources[token]);
    during = change_others;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 4 )");
    CHECK_INT(retired_count(), 0);
    during = NULL;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 5 )");
    CHECK(treadle_source_is_signalled(sources[3])); /* it was removed, and is not forgotten */
    CHECK_INT(treadle_loop_add_source(loop, sources[3], M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 3 )");
}

static void give_up(uint64_t token, const treadle_event *event) {
    (void)event;
    if (token == 1) {
        CHECK_INT(treadle_source_invalidate(sources[1]), TREADLE_OK);
        CHECK_INT(treadle_source_release(sources[1]), TREADLE_OK);
        CHECK_INT(retired_count(), 0); /* not before it is over */
    } else {
        CHECK_INT(retired_count(), 1);
    }
}
TEST(a_source_that_ends_itself_is_retired_when_the_next_begins, "ABI-2 OBJ-4") {
    start_host();
    for (uint64_t token = 1; token <= 2; token++) signal_source(sources[token] = add_source(token, 0));
    during = give_up;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 2 )");
}

static void plain_perform(treadle_source source, void *info) {
    (void)source, (void)info;
    CHECK_INT(host_next(host, &(treadle_event){0}, 1, 0), 0);
    trace("plain");
}
TEST(others_have_their_turn_in_between, "SRC0-7") {
    start_host();
    treadle_source plain = make_source(plain_perform, NULL);
    treadle_host first = host, other;
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    CHECK_INT(treadle_host_register(&config, &other), TREADLE_OK);
    for (uint64_t token = 1; token <= 7; token++) {
        host = token == 5 ? other : first;
        sources[token] = token == 3 ? plain : add_source(token, 0);
        if (token == 3) CHECK_INT(treadle_loop_add_source(treadle_loop_current(), plain, M), TREADLE_OK);
        signal_source(sources[token]);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 2 ) plain ( 4 ) ( 5 ) ( 6 7 )");
}

static void request(void *target, void *argument) {
    (void)target, (void)argument;
    trace("request");
}
TEST(requests_have_their_turn_in_between, "PERF-5") {
    start_host();
    signal_source(sources[1] = add_source(1, -1));
    signal_source(sources[2] = add_source(2, 0));
    treadle_request asked = {.struct_size = sizeof asked, .fn = request};
    CHECK_INT(perform_on(treadle_thread_current(), &asked, NULL, 0, 0), TREADLE_OK);
    signal_source(sources[3] = add_source(3, 0));
    signal_source(sources[4] = add_source(4, 1));
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 ) ( 2 ) request ( 3 4 )");
}

TEST(a_run_that_returns_after_a_source_performs_one, "RUN-7") {
    treadle_loop loop = start_host();
    for (uint64_t token = 1; token <= 2; token++) signal_source(add_source(token, 0));
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("( 1 )");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 2 )");
}

TEST(a_failed_source_is_the_last, "ABI-3 SRC0-7") {
    treadle_loop loop = start_host();
    for (uint64_t token = 1; token <= 4; token++) signal_source(sources[token] = add_source(token, 0));
    failing = 2;
    CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    CHECK_TRACE("( 1 2");
    CHECK(!treadle_source_is_signalled(sources[2]) && treadle_source_is_signalled(sources[3]));
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 3 4 )");
}

static void plain_block(void *info) {
    (void)info;
    CHECK_INT(host_next(host, &(treadle_event){0}, 1, 0), 0);
    trace("plain");
}
static void post_more(uint64_t token, const treadle_event *event) {
    CHECK(event->kind == TREADLE_EVENT_POST && event->subject == NULL);
    CHECK_TEXT(event->mode, M);
    if (token == 1) post(8);
}
TEST(blocks_run_in_one_go_and_in_their_order, "BLK-3 BLK-4 BLK-5 PASS-4") {
    treadle_loop loop = start_host();
    add_source(100, 0);
    post(1);
    queue(2, NULL);
    queue(3, "elsewhere");
    post(4);
    CHECK_INT(treadle_loop_post(loop, plain_block, NULL), TREADLE_OK);
    queue(5, M);
    queue(6, "elsewhere");
    queue(7, TREADLE_COMMON_MODES);
    during = post_more; /* what is queued during a drain waits for the next one */
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 2 4 ) plain ( 5 7 ) ( 8 )");
    during = NULL;
    CHECK_INT(poll_mode("elsewhere"), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 3 6 )");
    post(9); /* for the common modes */
    CHECK_INT(poll_mode("elsewhere"), TREADLE_RUN_FINISHED);
    CHECK_TRACE("");
    CHECK_INT(treadle_loop_add_common_mode(loop, "elsewhere"), TREADLE_OK);
    CHECK_INT(poll_mode("elsewhere"), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 9 )");
}

TEST(a_failed_block_leaves_the_others_queued, "ABI-3 BLK-3") {
    treadle_loop loop = start_host();
    add_source(100, 0);
    for (uint64_t token = 1; token <= 4; token++) post(token);
    failing = 2;
    CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    CHECK_TRACE("( 1 2");
    uint64_t token = 0;
    size_t count = 0;
    CHECK_INT(treadle_host_take_retired(host, &token, 1, &count), TREADLE_OK);
    CHECK(count == 1 && token == 2); /* the one that was not completed, and no other */
    post(5);
    failing = 0;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 3 4 5 )");
    CHECK_INT(retired_count(), 0);
}

static treadle_status inner;
static void run_inner(uint64_t token, const treadle_event *event) {
    if (token == 2) {
        post(7);
        inner = treadle_loop_run(event->loop, M, 0, 0);
        trace("after");
    }
}
TEST(a_nested_run_begins_anew, "BLK-6 RUN-13 SRC0-7") {
    start_host();
    for (uint64_t token = 1; token <= 3; token++) post(token);
    for (uint64_t token = 4; token <= 5; token++) signal_source(add_source(token, 0));
    during = run_inner;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(inner, TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 2 ( 7 ) ( 4 5 ) after 3 )");
}

static void ask_inside(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    CHECK_INT(host_next(host, &(treadle_event){0}, 1, 0), 0);
    trace("observer");
}
static void run_other_mode(uint64_t token, const treadle_event *event) {
    if (token == 1) CHECK_INT(treadle_loop_run(event->loop, "inner", 0, 0), TREADLE_RUN_TIMED_OUT);
}
TEST(only_the_innermost_callback_can_ask, "ABI-3 RUN-13") {
    treadle_loop loop = start_host();
    for (uint64_t token = 1; token <= 2; token++) signal_source(add_source(token, 0));
    treadle_source keeper = make_source(NULL, NULL);
    treadle_observer observer = make_observer(ask_inside, NULL, TREADLE_BEFORE_SOURCES);
    CHECK_INT(treadle_loop_add_source(loop, keeper, "inner"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, observer, "inner"), TREADLE_OK);
    during = run_other_mode;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 observer 2 )");
}

TEST(other_kinds_of_events_come_one_by_one, "ABI-3 TMR-12") {
    treadle_loop loop = start_host();
    treadle_timer timer;
    treadle_source source;
    for (uint64_t token = 1; token <= 2; token++) {
        CHECK_INT(host_timer(host, token, 1, 0, &timer), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
        CHECK_INT(host_source(host, 10 + token, TREADLE_HOST_WANTS_SCHEDULE, 0, &source), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    }
    CHECK_TRACE("( 11 ) ( 12 )");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 ) ( 2 )");
}

static void close_gate(uint64_t token, const treadle_event *event) {
    (void)event;
    if (token == 2) CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
}
TEST(a_closed_gate_ends_it, "ABI-5") {
    start_host();
    for (uint64_t token = 1; token <= 4; token++) signal_source(add_source(token, 0));
    during = close_gate;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 2 )");
    uint64_t dropped = 0;
    CHECK_INT(treadle_host_get_dropped(host, &dropped), TREADLE_OK);
    CHECK_INT(dropped, 2);
    CHECK_ERROR(treadle_host_post(host, 5, treadle_loop_current()), TREADLE_E_CLOSED, "host");
    CHECK_ERROR(host_perform(host, 6, treadle_thread_current(), NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED, "host");
    CHECK_INT(retired_count(), 0);
}

static void shut_down(uint64_t token, const treadle_event *event) {
    (void)event;
    if (token == 1) CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
}
TEST(a_shutdown_ends_it, "THR-21") {
    treadle_loop loop = start_host();
    for (uint64_t token = 1; token <= 2; token++) post(token);
    during = shut_down;
    CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CLOSED, "");
    CHECK_TRACE("( 1 )");
}

static treadle_loop gone;
static void *leave_posts_behind(void *info) {
    (void)info;
    gone = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(gone), TREADLE_OK);
    for (uint64_t token = 1; token <= 3; token++) post(token);
    return NULL;
}
TEST(posts_that_never_run_are_retired, "RL-8 ABI-2") {
    start_host();
    on_thread(leave_posts_behind, NULL);
    uint64_t tokens[8], seen = 0;
    size_t count = 0;
    CHECK_INT(treadle_host_take_retired(host, tokens, 8, &count), TREADLE_OK);
    CHECK_INT(count, 3);
    for (size_t i = 0; i < count; i++) seen |= UINT64_C(1) << tokens[i];
    CHECK_INT(seen, 14);
    CHECK_ERROR(treadle_host_post(host, 4, gone), TREADLE_E_CLOSED, "loop");
    CHECK_INT(retired_count(), 0);
    CHECK_INT(treadle_loop_release(gone), TREADLE_OK);
    CHECK_TRACE("");
}

TEST(bad_arguments_are_refused, "ABI-7") {
    treadle_loop loop = start_host();
    CHECK_ERROR(treadle_host_post(NULL, 1, loop), TREADLE_E_ARG, "host");
    CHECK_ERROR(treadle_host_post(host, 1, NULL), TREADLE_E_ARG, "loop");
    CHECK_ERROR(treadle_host_post(host, 1, (treadle_loop)host), TREADLE_E_KIND, "loop");
    CHECK_ERROR(host_perform(NULL, 1, treadle_thread_current(), NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "fn");
    CHECK_ERROR(host_perform(host, 1, NULL, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "on");
    CHECK_INT(retired_count(), 0);
}

static _Atomic(int32_t) performed_on;
static void note_thread(uint64_t token, const treadle_event *event) {
    (void)token;
    CHECK_INT(event->kind, TREADLE_EVENT_REQUEST);
    atomic_store(&performed_on, thread_id());
}
static void *serve(void *info) {
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, M), TREADLE_OK);
    treadle_status result = treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0);
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    CHECK(result == TREADLE_RUN_STOPPED || result == TREADLE_E_CALLBACK);
    return info;
}
TEST(a_waited_perform_needs_no_token_back, "PERF-2 PERF-7 PERF-9 ABI-2") {
    start_host();
    treadle_thread thread;
    during = note_thread;
    for (int i = 0; i < 2; i++) {
        failing = 0;
        CHECK_INT(create_thread(serve, NULL, NULL, &thread), TREADLE_OK);
        CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
        int32_t number = 0;
        CHECK_INT(treadle_thread_get_id(thread, &number), TREADLE_OK);
        CHECK_INT(host_perform(host, 1, thread, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
        CHECK_INT(atomic_load(&performed_on), number);
        CHECK_INT(host_perform(host, 2, treadle_thread_current(), NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
        CHECK_INT(atomic_load(&performed_on), thread_id());
        if (i == 0) {
            failing = 3;
            CHECK_ERROR(host_perform(host, 3, thread, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_CALLBACK, "");
        }
        CHECK_INT(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
        CHECK_ERROR(host_perform(host, 4, thread, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED, "");
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
    CHECK_INT(retired_count(), 0);
}

/* Posts of two threads, which also make sources, signal them and take them away while they may be performed. */
enum { POSTS = 20000, SOURCES = 2000 };
static treadle_loop target;
static uint64_t last_post[2]; /* by the target's thread alone */
static void check_order(uint64_t token, const treadle_event *event) {
    if (event->kind != TREADLE_EVENT_POST) return;
    CHECK_INT(token & 0xFFFFFFFF, last_post[token >> 32] + 1);
    last_post[token >> 32]++;
}
static void *produce(void *info) {
    uint64_t producer = (uint64_t)(uintptr_t)info;
    int posts = scaled(POSTS), each = POSTS / SOURCES;
    for (int i = 0; i < posts; i++) {
        treadle_source source = NULL;
        if (i % each == 0) {
            CHECK_INT(host_source(host, 1000000 + (uint64_t)i, 0, 0, &source), TREADLE_OK);
            CHECK_INT(treadle_loop_add_source(target, source, M), TREADLE_OK);
            CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        }
        CHECK_INT(treadle_host_post(host, producer << 32 | (uint64_t)(i + 1), target), TREADLE_OK);
        if (source) CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
        if (source) CHECK_INT(treadle_source_release(source), TREADLE_OK);
    }
    return NULL;
}
static void count_end(void *info) { sem_post(info); }
TEST(from_many_threads, "BLK-3 SRC0-10 ABI-2") {
    struct worker worker;
    pthread_t threads[2];
    sem_t end;
    start_host();
    is_quiet = true, during = check_order;
    worker_start(&worker);
    target = worker.loop;
    for (uintptr_t i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, produce, (void *)i), 0);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(sem_init(&end, 0, 0), 0);
    CHECK_INT(treadle_loop_post(target, count_end, &end), TREADLE_OK);
    await(&end);
    worker_stop(&worker);
    for (int i = 0; i < 2; i++) CHECK_INT(last_post[i], scaled(POSTS));
    int each = POSTS / SOURCES;
    CHECK_INT(retired_count(), 2 * ((scaled(POSTS) + each - 1) / each)); /* of the sources, each once; of no post */
}

struct wait {
    uint32_t word;
    int written; /* before the end, without a lock */
};
static void end_word(void *info) {
    struct wait *wait = info;
    wait->written = 7;
    CHECK_INT(treadle_host_end_wait(&wait->word), TREADLE_OK);
}
static struct wait ended;
static void end_in_event(uint64_t token, const treadle_event *event) {
    CHECK_INT(event->kind, TREADLE_EVENT_REQUEST);
    if (token == 5) end_word(&ended);
}
TEST(a_request_that_ends_a_wait, "PERF-3 PERF-7 PERF-9 ABI-2") {
    treadle_thread thread;
    uint32_t never = 0;
    start_host();
    is_quiet = true, during = end_in_event;
    CHECK_INT(create_thread(serve, NULL, NULL, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
    treadle_loop loop;
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    CHECK_INT(host_perform(host, 5, thread, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(treadle_host_wait(loop, &ended.word, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(ended.written, 7);
    CHECK_INT(host_perform(host, 6, loop, NULL, 0, 0), TREADLE_OK); /* a loop stands for its thread */
    CHECK_ERROR(treadle_host_wait(loop, &never, 0), TREADLE_E_TIMEOUT, "");
    CHECK_INT(host_perform(host, 7, thread, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK); /* by then the one before is over */

    /* Queued and waited for by one call, which is refused before anything is queued. */
    treadle_request asked = request_of_host(host, 5);
    ended = (struct wait){0};
    asked.flags = TREADLE_PERFORM_UNTIL_WORD, asked.target = &ended.word, asked.delay_ns = TREADLE_FOREVER;
    CHECK_INT(treadle_perform(loop, &asked), TREADLE_OK);
    CHECK_INT(ended.written, 7);
    asked.token = 6, asked.target = &never, asked.delay_ns = 0;
    CHECK_ERROR(treadle_perform(thread, &asked), TREADLE_E_TIMEOUT, "");
    asked.delay_ns = MILLISECONDS(1);
    CHECK_ERROR(treadle_perform(thread, &asked), TREADLE_E_TIMEOUT, "");
    CHECK_INT(host_perform(host, 7, thread, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK); /* both were performed */
    CHECK_INT(retired_count(), 0);
    CHECK_ERROR(treadle_perform(treadle_loop_current(), &asked), TREADLE_E_DEADLOCK, "thread");
    CHECK_INT(retired_count(), 1);
    asked.target = NULL;
    CHECK_ERROR(treadle_perform(thread, &asked), TREADLE_E_ARG, "target is NULL");
    CHECK_INT(retired_count(), 1);
    CHECK_ERROR(treadle_host_wait(loop, NULL, 0), TREADLE_E_ARG, "word");
    CHECK_INT(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_INT(retired_count(), 1);
    CHECK_ERROR(host_perform(host, 8, thread, NULL, 0, 0), TREADLE_E_CLOSED, "");
    CHECK_INT(retired_count(), 2);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

static void (*inner_code)(int);
static void call_closure(uint64_t token, const treadle_event *event) {
    if (event->kind == TREADLE_EVENT_POST && token == 1) inner_code(0);
}
TEST(an_event_inside_of_an_event_ends_only_itself, "ABI-2 ABI-3") {
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "vi"};
    treadle_closure closure;
    start_host();
    during = call_closure;
    CHECK_INT(host_closure(host, 9, &config, &closure), TREADLE_OK);
    CHECK_INT(treadle_closure_get_code(closure, (void (**)(void))&inner_code), TREADLE_OK);
    queue(1, NULL), queue(2, NULL);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( 1 ( 9 ) 2 )");
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    CHECK_INT(retired_count(), 1);
}

TEST_MAIN()
