/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * stop_test.c: stops: which run they end and when, what they outrank, and the sticky ones. */
#include "scene.h"

TEST(a_stop_without_a_run_is_not_remembered, "STOP-1 STOP-8") {
    static actor source = {SOURCE, "source"};
    CHECK_INT(treadle_loop_stop(the_stage()), TREADLE_IGNORED);
    enter_signalled(&source, MODE_A);
    CHECK_INT(treadle_loop_stop(the_stage()), TREADLE_IGNORED);
    play(MODE_A, 0, 0);
    CHECK_TRACE("source timed-out"); /* neither the loop nor a mode has kept it */
}

TEST(a_stop_ends_the_innermost_run_alone, "STOP-2 RUN-12") {
    static actor stopper = {SOURCE, "stopper", {{STOP}, {STOP}}};
    static actor nester = {SOURCE, "nester", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}, .order = 1};
    static actor next = {SOURCE, "next", .order = 2}, timer = {TIMER, "timer"};
    enter_signalled(&stopper, MODE_B);
    enter_signalled(&nester, MODE_A);
    enter_signalled(&next, MODE_A);
    enter(&timer, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("nester ( stopper )stopped next timer timed-out");
    /* The flag died with the inner run: the same mode again is not stopped, by one stop or by two. */
    play(MODE_B, 0, 0);
    CHECK_TRACE("timed-out");
}

TEST(a_stop_after_the_inner_run_ends_the_outer_one, "STOP-2") {
    static actor stopper = {SOURCE, "stopper", {{STOP}}};
    static actor nester = {SOURCE, "nester", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}, {STOP}}};
    enter_signalled(&stopper, MODE_B);
    enter_signalled(&nester, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("nester ( stopper )stopped stopped");
}

TEST(a_stop_before_the_inner_run_waits_for_the_outer_one, "STOP-2") {
    static actor inner = {SOURCE, "inner"}, last = {SOURCE, "last", {{STOP}}};
    static actor again = {OBSERVER, "", {{SIGNAL, &last}}, .skip = 1, .activities = TREADLE_BEFORE_TIMERS};
    static actor nester = {SOURCE, "nester", {{STOP}, {RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    watch_mode(MODE_B);
    enter_signalled(&inner, MODE_B);
    enter(&last, MODE_B);
    enter(&again, MODE_B);
    enter_signalled(&nester, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0); /* the inner run makes two whole passes */
    CHECK_TRACE("nester ( entry timers sources inner timers sources last exit )stopped stopped");
}

TEST(the_pass_that_is_stopped_is_completed, "STOP-3 STOP-5 PASS-13") {
    static actor block = {BLOCK, "block"}, late_block = {BLOCK, "late-block"};
    static actor first = {SOURCE, "first", {{STOP}, {QUEUE, &block}}, .order = 1},
        second = {SOURCE, "second", .order = 2};
    static actor one = {TIMER, "one", {{QUEUE, &late_block}, {STOP}}, .after = -SECONDS(2)}, two = {TIMER, "two", .after = -SECONDS(1)};
    watch_mode(MODE_A);
    enter_signalled(&first, MODE_A);
    enter_signalled(&second, MODE_A);
    enter(&one, MODE_A);
    enter(&two, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources first second block one two late-block exit stopped");
}

TEST(the_sleep_of_a_stopped_pass_does_not_block, "STOP-3 STOP-5") {
    /* The timer that was due is still fired in that pass. */
    static actor block = {BLOCK, "block", {{STOP}}}, timer = {TIMER, "timer", .interval = FAR};
    watch_mode(MODE_A);
    enter(&timer, MODE_A);
    PERFORM(QUEUE, &block);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources block sleep wake timer exit stopped");
}

TEST(a_stop_by_an_exit_observer_has_no_effect, "STOP-3 STOP-1") {
    static actor source = {SOURCE, "source"}, stopper = {OBSERVER, NULL, {{STOP}}, TREADLE_EXIT};
    enter(&stopper, MODE_A);
    enter_signalled(&source, MODE_A);
    play(MODE_A, 0, AFTER_SOURCE);
    CHECK_TRACE("entry timers sources source exit handled");
    play(MODE_A, 0, 0);
    CHECK_TRACE("entry timers sources exit timed-out");
}

TEST(an_explicit_stop_wins, "STOP-4 PASS-14 D-02") {
    /* Over a handled source, a timeout, an emptied mode, and all of them. */
    static const struct { int64_t timeout_ns; uint32_t flags; bool empties; } cases[] = {
        {TREADLE_FOREVER, AFTER_SOURCE, false}, {0, 0, false}, {TREADLE_FOREVER, 0, true},
        {0, AFTER_SOURCE, true}, {1, 0, false}};
    for (int i = 0; i < 5; i++) {
        static actor stoppers[5];
        stoppers[i] = (actor){SOURCE, "source", {{STOP}, {cases[i].empties ? INVALIDATE : NOTHING}}};
        enter_signalled(&stoppers[i], MODE_A);
        play(MODE_A, cases[i].timeout_ns, cases[i].flags);
        CHECK_TRACE("source stopped");
        PERFORM(INVALIDATE, &stoppers[i]);
    }
    static actor descriptor = {DESCRIPTOR, "descriptor", {{STOP}}}, timer = {TIMER, "timer", {{STOP}}};
    enter(&descriptor, MODE_A);
    play(MODE_A, 0, AFTER_SOURCE);
    CHECK_TRACE("descriptor stopped");
    PERFORM(INVALIDATE, &descriptor);
    enter(&timer, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("timer stopped");
}

TEST(a_caller_may_run_again_after_a_stop, "STOP-6") {
    static actor source = {SOURCE, "source", {{STOP}}, .times = 2};
    enter_signalled(&source, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    PERFORM(SIGNAL, &source);
    play(MODE_A, TREADLE_FOREVER, 0);
    PERFORM(SIGNAL, &source);
    play(MODE_A, 0, 0);
    CHECK_TRACE("source stopped source stopped source timed-out");
}

TEST(a_stop_by_another_thread_hits_the_innermost_run, "STOP-7 STOP-2") {
    struct outsider inside = {.does = {{STOP}}}, outside = {.does = {{STOP}}};
    static actor block = {BLOCK, "block", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    watch_mode(MODE_A);
    watch_mode(MODE_B);
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    PERFORM(QUEUE, &block, MODE_A);
    outsider_start(&inside, MODE_B);
    outsider_start(&outside, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&inside);
    outsider_join(&outside);
    CHECK_TRACE("entry timers sources block ( entry timers sources sleep wake exit )stopped sleep wake exit stopped");
}

TEST(a_requested_stop_is_remembered, "STOP-9") {
    static actor source = {SOURCE, "source"}, block = {BLOCK, "block"};
    watch_mode(MODE_A);
    enter_signalled(&source, MODE_A);
    PERFORM(QUEUE, &block);
    PERFORM(REQUEST_STOP);
    PERFORM(REQUEST_STOP);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE); /* notifies and handles nothing */
    CHECK_TRACE("stopped");
    play(MODE_A, 0, AFTER_SOURCE); /* consumed */
    CHECK_TRACE("entry timers sources block source exit handled");
    PERFORM(REQUEST_STOP, .flags = TREADLE_STOP_ALL_LEVELS);
    play(MODE_A, TREADLE_FOREVER, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("stopped entry timers sources exit timed-out");
}

TEST(a_requested_stop_comes_before_an_empty_mode, "STOP-9") {
    /* Who asked for the stop must not depend on what the mode has. */
    PERFORM(REQUEST_STOP);
    play(MODE_A, TREADLE_FOREVER, 0);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("stopped finished");
}

TEST(a_stop_requested_too_late_for_a_run_is_remembered, "STOP-9 STOP-3") {
    static actor late = {OBSERVER, "exit", {{REQUEST_STOP}}, .activities = TREADLE_EXIT};
    enter(&late, MODE_A);
    keep_mode(MODE_A);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("exit timed-out stopped exit timed-out");
}

TEST(a_requested_stop_ends_run_default, "STOP-9 RUN-3") {
    keep_mode(MODE_A);
    PERFORM(REQUEST_STOP);
    CHECK_INT(treadle_loop_run_default(the_stage()), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_loop_request_stop(the_stage(), 4), TREADLE_E_ARG);
    play(MODE_A, 0, 0);
    CHECK_TRACE("timed-out");
}

TEST(a_requested_stop_ends_a_run_in_progress, "STOP-9 STOP-3") {
    static actor source = {SOURCE, "source", {{REQUEST_STOP}}}, other = {SOURCE, "other", .order = 1};
    watch_mode(MODE_A);
    enter_signalled(&source, MODE_A);
    enter_signalled(&other, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources source other exit stopped");
    struct outsider outsider = {.does = {{REQUEST_STOP}}};
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources sleep wake exit stopped");
    play(MODE_A, 0, 0); /* both are consumed */
    CHECK_TRACE("entry timers sources exit timed-out");
}

/* Three runs, each inside of the other, the innermost asleep. */
static actor level_2 = {BLOCK, "2", {{RUN, .mode = "mode 3", .ns = TREADLE_FOREVER}}};
static actor level_1 = {BLOCK, "1", {{QUEUE, &level_2, "mode 2"}, {RUN, .mode = "mode 2", .ns = TREADLE_FOREVER}}};
static void run_three_levels(uint32_t flags, const char *next_sleep) {
    struct outsider inner = {.does = {{REQUEST_STOP, .flags = flags}}},
        outer = {.does = {{REQUEST_STOP, .flags = TREADLE_STOP_ALL_LEVELS}}};
    keep_mode(MODE_A);
    keep_mode("mode 2");
    keep_mode("mode 3");
    PERFORM(QUEUE, &level_1, MODE_A);
    outsider_start(&inner, "mode 3");
    if (next_sleep) outsider_start(&outer, next_sleep);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&inner);
    if (next_sleep) outsider_join(&outer);
    CHECK_TRACE("1 ( 2 ( )stopped )stopped stopped");
    play(MODE_A, 0, 0);
    CHECK_TRACE("timed-out");
}
TEST(a_requested_stop_may_unwind_all_levels, "STOP-9") { run_three_levels(TREADLE_STOP_ALL_LEVELS, NULL); }
TEST(a_requested_stop_ends_one_level, "STOP-9 STOP-2") {
    /* The level above goes on, and falls asleep, where it meets the next stop. */
    run_three_levels(0, "mode 2");
}

static void request_stop_from_handler(int number) {
    if (treadle_loop_request_stop(the_stage(), number == SIGUSR2 ? TREADLE_STOP_ALL_LEVELS : 0) != TREADLE_OK) abort();
}
static void raise_in_callback(actor *self) {
    (void)self;
    raise(SIGUSR1);
}
static pthread_t stage_thread;
static void signal_the_stage(actor *self) {
    (void)self;
    CHECK_INT(pthread_kill(stage_thread, SIGUSR2), 0);
}

TEST(a_stop_may_be_requested_by_a_signal_handler, "STOP-9 OBJ-10") {
    static actor block = {BLOCK, "block", {{CALL, .call = raise_in_callback}}};
    struct sigaction action = {.sa_handler = request_stop_from_handler};
    stage_thread = pthread_self();
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_INT(sigaction(SIGUSR2, &action, NULL), 0);
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    raise(SIGUSR1);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("stopped");
    PERFORM(QUEUE, &block);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources block sleep wake exit stopped");
    struct outsider outsider = {.does = {{CALL, .call = signal_the_stage}}};
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0); /* the handler interrupts the sleep, or the way into it */
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources sleep wake exit stopped");
}

/* Starting and stopping a thread's loop at once: the stop comes before, at or after the run's start. */
struct runner {
    treadle_loop loop;
    sem_t ready;
};
static void *runner_main(void *info) {
    struct runner *runner = info;
    runner->loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(runner->loop), TREADLE_OK);
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(runner->loop, keeper, MODE_A), TREADLE_OK);
    sem_post(&runner->ready);
    CHECK_INT(treadle_loop_run(runner->loop, MODE_A, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    return NULL;
}

TEST(a_requested_stop_cannot_be_lost, "STOP-9 RL-9") {
    for (int i = 0; i < scaled(500); i++) {
        struct runner runner;
        pthread_t thread;
        CHECK_INT(sem_init(&runner.ready, 0, 0), 0);
        CHECK_INT(pthread_create(&thread, NULL, runner_main, &runner), 0);
        await(&runner.ready);
        for (int spin = 0; spin < i % 50 * 20; spin++) atomic_signal_fence(memory_order_seq_cst);
        CHECK_INT(treadle_loop_request_stop(runner.loop, 0), TREADLE_OK);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(treadle_loop_release(runner.loop), TREADLE_OK);
    }
}

TEST_MAIN()
