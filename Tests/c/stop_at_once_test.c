/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * stop_at_once_test.c: stops that leave the rest of a pass uncalled, and what becomes of it. */
#include "scene.h"
#include "thread_jobs.h"

#define AT_ONCE TREADLE_STOP_AT_ONCE

/* The next run calls what was left, in the same order. */
TEST(the_rest_of_the_sources_is_left, "STOP-9 STOP-5") {
    static actor first = {SOURCE, "first", {{REQUEST_STOP, .flags = AT_ONCE}}, .order = 1}, second = {SOURCE, "second", .order = 2};
    static actor third = {SOURCE, "third", .order = 3};
    watch_mode(MODE_A);
    enter_signalled(&first, MODE_A);
    enter_signalled(&second, MODE_A);
    enter_signalled(&third, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources first exit stopped");
    play(MODE_A, 0, 0);
    CHECK_TRACE("entry timers sources second third exit timed-out");
}

TEST(the_rest_of_the_timers_is_left, "STOP-9 STOP-5") {
    static actor one = {TIMER, "one", {{REQUEST_STOP, .flags = AT_ONCE}}, .after = -SECONDS(2)}, two = {TIMER, "two", .after = -SECONDS(1)};
    enter(&one, MODE_A);
    enter(&two, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("one stopped");
    play(MODE_A, 0, 0);
    CHECK_TRACE("two timed-out");
}

TEST(the_rest_of_the_posts_is_left, "STOP-9 STOP-5 BLK-5") {
    static actor first = {BLOCK, "first", {{REQUEST_STOP, .flags = AT_ONCE}}}, second = {BLOCK, "second"}, third = {BLOCK, "third"};
    static actor source = {SOURCE, "source"};
    enter_signalled(&source, MODE_A);
    PERFORM(QUEUE, &first);
    PERFORM(QUEUE, &second);
    play(MODE_A, TREADLE_FOREVER, 0);
    PERFORM(QUEUE, &third);
    CHECK_TRACE("first stopped");
    play(MODE_A, 0, 0);
    CHECK_TRACE("second third source timed-out");
}

TEST(a_descriptor_ends_its_pass, "STOP-9") {
    static actor block = {BLOCK, "block"};
    static actor ready = {DESCRIPTOR, "ready", {{QUEUE, &block}, {REQUEST_STOP, .flags = AT_ONCE}}};
    watch_mode(MODE_A);
    enter(&ready, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("entry timers sources ready exit stopped");
    play(MODE_A, 0, 0);
    CHECK_TRACE("entry timers sources block exit timed-out");
}

/* Each observer that was told of the beginning is told of the end, also behind the one that stops. */
TEST(a_stop_by_an_entry_observer_leaves_no_pass, "STOP-9 STOP-3") {
    static actor stopper = {OBSERVER, "stopper", {{REQUEST_STOP, .flags = AT_ONCE}}, TREADLE_ENTRY, .order = -1};
    static actor source = {SOURCE, "source"};
    enter(&stopper, MODE_A);
    watch_mode(MODE_A);
    enter_signalled(&source, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry stopper.entry exit stopper.exit stopped");
}

TEST(an_observer_ends_the_pass_that_it_is_told_of, "STOP-9") {
    static actor stopper = {OBSERVER, "stopper", {{REQUEST_STOP, .flags = AT_ONCE}}, .activities = TREADLE_BEFORE_TIMERS};
    static actor source = {SOURCE, "source"};
    enter(&stopper, MODE_A);
    enter_signalled(&source, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("stopper stopped");
    play(MODE_A, 0, 0);
    CHECK_TRACE("stopper source timed-out");
}

/* The stop is for the next run: there is nothing to leave. */
TEST(a_stop_without_a_run_is_remembered, "STOP-9") {
    static actor source = {SOURCE, "source"};
    enter_signalled(&source, MODE_A);
    CHECK_INT(treadle_loop_request_stop(the_stage(), AT_ONCE), TREADLE_OK);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("stopped");
    play(MODE_A, 0, 0);
    CHECK_TRACE("source timed-out");
}

TEST(one_level_ends_without_the_next, "STOP-9 STOP-2") {
    static actor stopper = {SOURCE, "stopper", {{REQUEST_STOP, .flags = AT_ONCE}}}, other = {SOURCE, "other", .order = 1};
    static actor nester = {SOURCE, "nester", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}}, next = {SOURCE, "next", .order = 1};
    enter_signalled(&stopper, MODE_B);
    enter_signalled(&other, MODE_B);
    enter_signalled(&nester, MODE_A);
    enter_signalled(&next, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("nester ( stopper )stopped next timed-out");
}

TEST(all_levels_end_without_the_rest_of_theirs, "STOP-9 STOP-5") {
    static actor stopper = {SOURCE, "stopper", {{REQUEST_STOP, .flags = AT_ONCE | TREADLE_STOP_ALL_LEVELS}}};
    static actor other = {SOURCE, "other", .order = 1};
    static actor nester = {SOURCE, "nester", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}, {RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    static actor next = {SOURCE, "next", .order = 1};
    watch_mode(MODE_A);
    watch_mode(MODE_B);
    enter_signalled(&stopper, MODE_B);
    enter_signalled(&other, MODE_B);
    enter_signalled(&nester, MODE_A);
    enter_signalled(&next, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0); /* and no run begins within */
    CHECK_TRACE("entry timers sources nester ( entry timers sources stopper exit )stopped ( )stopped exit stopped");
    play(MODE_A, 0, 0);
    CHECK_TRACE("entry timers sources next exit timed-out");
}

TEST(a_slice_of_a_guest_ends, "STOP-9 ABI-13") {
    static actor first = {SOURCE, "first", {{REQUEST_STOP, .flags = AT_ONCE}}}, second = {SOURCE, "second", .order = 1};
    enter_signalled(&first, MODE_A);
    enter_signalled(&second, MODE_A);
    CHECK_INT(treadle_loop_dispatch(the_stage(), MODE_A, TREADLE_FOREVER, SIZE_MAX) < 0, 0);
    CHECK_TRACE("first");
    play(MODE_A, 0, 0);
    CHECK_TRACE("second timed-out");
}

TEST(flags_that_are_unknown_are_refused, "STOP-9 ABI-5") {
    CHECK_INT(treadle_loop_request_stop(the_stage(), 4), TREADLE_E_ARG);
    CHECK_ERROR(treadle_thread_request_stop(treadle_thread_current(), 4), TREADLE_E_ARG, "flags");
    CHECK(!treadle_thread_is_cancelled(treadle_thread_current()));
    play(MODE_A, 0, 0);
    CHECK_TRACE("finished");
}

/* --- Threads -------------------------------------------------------------------------------------- */

struct queue { struct gate begun, gate; atomic_int calls, destroys; };
static void first_post(void *info) {
    struct queue *queue = info;
    queue->calls++;
    gate_open(&queue->begun);
    gate_pass(&queue->gate);
}
static void other_post(void *info) { ((struct queue *)info)->calls++; }
static void destroy_post(void *info) { ((struct queue *)info)->destroys++; }
static void never_called(void *target, void *argument) {
    (void)argument;
    ((struct queue *)target)->calls++;
}

/* Forty posts, taken by one pass, and a request: with AT_ONCE none begins behind the one that runs. */
static void stop_with_a_queue(uint32_t flags, int calls) {
    struct queue queue = {0};
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    treadle_thread worker = NULL;
    treadle_loop loop = NULL;
    gate_make(&queue.begun);
    gate_make(&queue.gate);
    treadle_thread_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_thread_create(&config, &worker), TREADLE_OK);
    CHECK_INT(treadle_thread_copy_loop(worker, &loop), TREADLE_OK);
    for (int i = 0; i < 40; i++) {
        treadle_post post = {.struct_size = sizeof post, .fn = i ? other_post : first_post, .info = &queue, .destroy = destroy_post};
        CHECK_INT(post_block(loop, &post), TREADLE_OK);
    }
    CHECK_INT(treadle_thread_start(worker), TREADLE_OK);
    gate_pass(&queue.begun);
    treadle_request request = {.struct_size = sizeof request, .fn = never_called, .target = &queue};
    CHECK_INT(treadle_perform(worker, &request), TREADLE_OK);
    if (flags) CHECK_INT(treadle_thread_request_stop(worker, flags), TREADLE_OK);
    else CHECK_INT(treadle_thread_stop(worker), TREADLE_OK);
    CHECK(treadle_thread_is_cancelled(worker));
    gate_open(&queue.gate);
    CHECK_INT(treadle_thread_join(worker, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_INT(queue.calls, calls);
    CHECK_INT(queue.destroys, 40);
    CHECK_INT(treadle_loop_get_counters(loop, &counters), TREADLE_OK);
    CHECK_INT(counters.discarded, 41 - calls);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_release(worker), TREADLE_OK);
}
TEST(a_thread_ends_after_the_callback_that_runs, "THR-18 STOP-9 RL-8") { stop_with_a_queue(AT_ONCE, 1); }
TEST(a_thread_that_is_stopped_finishes_its_pass, "THR-18 STOP-3 RL-8") { stop_with_a_queue(0, 41); }

/* A wait inside of a callback is not cut short: the answer comes, and then the run ends. Nor does the waiter go round and round
 * meanwhile, which a run does that looks at a stop and does not heed it. */
struct waiting { treadle_thread worker; atomic_int answers; treadle_status result; uint64_t passes; };
static void answer(void *target, void *argument) {
    (void)argument;
    linger(MILLISECONDS(1));
    ((struct waiting *)target)->answers++;
}
static uint64_t own_passes(void) {
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    CHECK_INT(treadle_loop_get_counters(treadle_loop_current(), &counters), TREADLE_OK);
    return counters.passes;
}
static void wait_for_an_answer(void *info) {
    struct waiting *waiting = info;
    treadle_request request = {.struct_size = sizeof request, .fn = answer, .target = waiting, .flags = TREADLE_PERFORM_WAIT};
    CHECK_INT(treadle_thread_request_stop(treadle_thread_current(), AT_ONCE), TREADLE_OK);
    uint64_t before = own_passes();
    waiting->result = treadle_perform(waiting->worker, &request);
    waiting->passes = own_passes() - before;
}
TEST(a_wait_in_a_callback_is_completed, "STOP-9 PERF-7") {
    struct waiting waiting = {0};
    struct server server;
    treadle_thread worker = NULL;
    server_start(&server);
    waiting.worker = server.thread;
    treadle_thread_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_thread_create(&config, &worker), TREADLE_OK);
    CHECK_INT(treadle_thread_start_and_wait(worker, TREADLE_FOREVER), TREADLE_OK);
    treadle_loop loop = NULL;
    CHECK_INT(treadle_thread_copy_loop(worker, &loop), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, wait_for_an_answer, &waiting), TREADLE_OK);
    CHECK_INT(treadle_thread_join(worker, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_INT(waiting.result, TREADLE_OK);
    CHECK_INT(waiting.answers, 1);
    CHECK(waiting.passes < 100);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_release(worker), TREADLE_OK);
    server_end(&server);
}

TEST_MAIN()
