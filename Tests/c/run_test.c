/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * run_test.c: what a run accepts, how it begins and ends, its results, its deadline. */
#include "scene.h"

static size_t mode_bytes(void) {
    size_t length = 0;
    CHECK_INT(treadle_loop_get_modes(the_stage(), NULL, 0, &length), TREADLE_OK);
    return length;
}
static const char *current_mode(void) {
    static char name[64];
    size_t length;
    treadle_status status = treadle_loop_get_current_mode(the_stage(), name, sizeof name, &length);
    return status == TREADLE_E_NOT_FOUND ? "none" : name;
}
static void trace_mode(actor *self) {
    (void)self;
    trace("in:%s", current_mode());
}

TEST(a_run_of_no_mode_is_finished, "RUN-1 MODE-3 MODE-9") {
    static actor unheard = {OBSERVER}, signalled = {SOURCE, "source"};
    enter(&unheard, COMMON);
    enter_signalled(&signalled, COMMON);
    size_t before = mode_bytes();
    play(NULL, TREADLE_FOREVER, 0);
    play(COMMON, TREADLE_FOREVER, 0);
    /* An equal name at another address is the same pseudo-mode. */
    char common[] = COMMON;
    play(common, 0, AFTER_SOURCE);
    CHECK_TRACE("finished finished finished");
    CHECK_INT(mode_bytes(), before);
}

TEST(a_run_of_an_unknown_or_empty_mode_is_finished, "RUN-1 RUN-8 MODE-7 D-04") {
    CHECK(treadle_loop_main() == the_stage()); /* the main thread's loop is not special */
    play(MODE_A, TREADLE_FOREVER, 0);
    play("never heard of", TREADLE_FOREVER, 0);
    watch_mode(MODE_A);
    watch_mode(MODE_B);
    size_t before = mode_bytes();
    play(MODE_A, TREADLE_FOREVER, 0);
    play(MODE_A, 0, 0);
    play(MODE_B, SECONDS(1000), AFTER_SOURCE);
    CHECK_INT(treadle_loop_run_default(the_stage()), TREADLE_RUN_FINISHED);
    CHECK_TRACE("finished finished finished finished finished");
    CHECK_INT(mode_bytes(), before);
}

TEST(a_run_makes_its_mode_the_current_one_and_restores_it, "RUN-1 RUN-12 RL-6") {
    static actor inner = {SOURCE, "inner", {{CALL, .call = trace_mode}}};
    static actor outer = {
        SOURCE, "outer", {{CALL, .call = trace_mode}, {RUN, .mode = MODE_B}, {CALL, .call = trace_mode}}};
    static actor at_entry = {OBSERVER, "entry", {{CALL, .call = trace_mode}}, .activities = TREADLE_ENTRY};
    static actor at_exit = {OBSERVER, "exit", {{CALL, .call = trace_mode}}, .activities = TREADLE_EXIT};
    enter_signalled(&inner, MODE_B);
    enter_signalled(&outer, MODE_A);
    enter(&at_entry, MODE_B);
    enter(&at_exit, MODE_B);
    CHECK_TEXT(current_mode(), "none");
    play(MODE_A, 0, 0);
    CHECK_TEXT(current_mode(), "none");
    CHECK_TRACE("outer in:" MODE_A " ( entry in:mode b inner in:mode b exit in:mode b )timed-out "
                "in:" MODE_A " timed-out");
}

TEST(a_stop_by_an_entry_observer_leaves_no_pass, "RUN-1 RUN-8 STOP-3") {
    static actor stopper = {OBSERVER, NULL, {{STOP}}, TREADLE_ENTRY};
    static actor signalled = {SOURCE, "source"}, block = {BLOCK, "block"};
    enter(&stopper, MODE_A);
    enter_signalled(&signalled, MODE_A);
    PERFORM(QUEUE, &block);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry exit stopped");
    CHECK(treadle_source_is_signalled(signalled.handle));
}

static void overrun(actor *self) { idle_until(self->called_at + MILLISECONDS(60)); }

TEST(the_deadline_counts_from_the_return_of_the_entry_observers, "RUN-1 RUN-11") {
    static actor slow = {OBSERVER, NULL, {{CALL, .call = overrun}}, TREADLE_ENTRY};
    enter(&slow, MODE_A);
    keep_mode(MODE_A);
    int64_t before = treadle_time_now();
    play(MODE_A, MILLISECONDS(40), 0);
    CHECK(treadle_time_now() >= before + MILLISECONDS(60 + 40));
    CHECK(strstr(trace_text, "exit timed-out"));
}

TEST(no_timeout_means_one_pass_that_does_not_block, "RUN-2 RUN-5 RUN-8") {
    static const int64_t timeouts[] = {0, -1, -SECONDS(5), INT64_MIN};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        play(MODE_A, timeouts[i], 0);
        CHECK_TRACE("entry timers sources exit timed-out");
    }
}

TEST(an_enormous_timeout_means_no_deadline, "RUN-2") {
    static const int64_t timeouts[] = {TREADLE_FOREVER, TREADLE_FOREVER - 1, INT64_MAX / 2};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        struct outsider outsider = {.does = {{WAKE}, {STOP}}};
        outsider_start(&outsider, MODE_A);
        play(MODE_A, timeouts[i], 0);
        outsider_join(&outsider);
        CHECK_TRACE("entry timers sources sleep wake timers sources sleep wake exit stopped");
    }
}

TEST(a_positive_timeout_is_never_cut_short, "RUN-2 RUN-8 RUN-11 RUN-14") {
    static const int64_t timeouts[] = {1, 999, 1000001, 2499999, 7000001};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        int64_t before = treadle_time_now();
        play(MODE_A, timeouts[i], 0);
        CHECK(treadle_time_now() >= before + timeouts[i]);
        /* A short one may be over before the sleep; but no wait is cut to fewer milliseconds, which would
         * show as a second sleep. */
        if (strcmp(trace_text, "entry timers sources exit timed-out") == 0) trace_clear();
        else CHECK_TRACE("entry timers sources sleep wake exit timed-out");
    }
}

TEST(run_default_goes_on_until_stopped_or_finished, "RUN-3 STOP-6") {
    static actor source = {SOURCE, "source", {{INVALIDATE}}};
    static actor first = {TIMER, "first"}, second = {TIMER, "second", {{STOP}}, .after = 1};
    enter_signalled(&source, MODE_A);
    enter(&first, MODE_A);
    enter(&second, MODE_A);
    trace("%s", result_word(treadle_loop_run_default(the_stage())));
    CHECK_TRACE("source first second stopped");
    static actor third = {TIMER, "third"};
    enter(&third, MODE_A);
    trace("%s", result_word(treadle_loop_run_default(the_stage())));
    CHECK_TRACE("third finished");
}

TEST(results_have_the_values_of_cfrunloop, "RUN-4 ABI-6") {
    CHECK_INT(TREADLE_RUN_FINISHED, 1);
    CHECK_INT(TREADLE_RUN_STOPPED, 2);
    CHECK_INT(TREADLE_RUN_TIMED_OUT, 3);
    CHECK_INT(TREADLE_RUN_HANDLED_SOURCE, 4);
    keep_mode(MODE_A);
    CHECK_ERROR(treadle_loop_run(the_stage(), MODE_A, 0, 0x80), TREADLE_E_ARG, "flag");
}

TEST(a_polled_pass_does_all_its_work, "RUN-5 PASS-12") {
    static actor block = {BLOCK, "block"}, one = {SOURCE, "one"}, two = {SOURCE, "two"}, late = {BLOCK, "late"};
    static actor early = {TIMER, "early", {{QUEUE, &late}}, .after = -SECONDS(2)}, later = {TIMER, "later", .after = -SECONDS(1)};
    watch_mode(MODE_A);
    enter_signalled(&one, MODE_A);
    enter_signalled(&two, MODE_A);
    enter(&later, MODE_A);
    enter(&early, MODE_A);
    PERFORM(QUEUE, &block);
    play(MODE_A, 0, 0);
    CHECK_TRACE("entry timers sources block one two early later late exit timed-out");
    /* Either the due timers or one descriptor source. */
    static actor descriptor = {DESCRIPTOR, "descriptor"}, other = {DESCRIPTOR, "other"};
    enter(&descriptor, MODE_A);
    enter(&other, MODE_A);
    for (int i = 1; i <= 2; i++) {
        play(MODE_A, 0, 0);
        CHECK_INT(descriptor.calls + other.calls, i);
    }
}

TEST(a_source_ends_the_run_after_the_rest_of_the_pass, "RUN-6 RUN-8 SRC0-7") {
    static actor by_source = {BLOCK, "block"}, by_timer = {BLOCK, "late-block"};
    static actor first = {SOURCE, "first", {{QUEUE, &by_source}}, .order = 1}, second = {SOURCE, "second", .order = 2};
    static actor timer = {TIMER, "timer", {{QUEUE, &by_timer}}};
    watch_mode(MODE_A);
    enter_signalled(&second, MODE_A);
    enter_signalled(&first, MODE_A);
    enter(&timer, MODE_A);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE);
    CHECK_TRACE("entry timers sources first block timer late-block exit handled");
    CHECK(treadle_source_is_signalled(second.handle)); /* it stays signalled for the next run */
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE);
    CHECK_TRACE("entry timers sources second exit handled");
}

TEST(what_counts_as_a_handled_source, "RUN-7 SRC1-10") {
    keep_mode(MODE_A);
    treadle_source mute = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(the_stage(), mute, MODE_A), TREADLE_OK);
    CHECK_INT(treadle_source_signal(mute), TREADLE_OK);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE);
    static actor descriptor = {DESCRIPTOR, "descriptor"};
    enter(&descriptor, MODE_A);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE);
    CHECK_TRACE("handled descriptor handled");
    CHECK_INT(treadle_source_invalidate(mute), TREADLE_OK);
    CHECK_INT(treadle_source_release(mute), TREADLE_OK);
}

TEST(what_does_not_count_as_a_handled_source, "RUN-7 TMR-21 BLK-7 WAKE-5") {
    static actor gone = {SOURCE, "gone"}, timer = {TIMER, "timer"}, block = {BLOCK, "block", {{WAKE}}};
    static actor killer = {OBSERVER, NULL, {{INVALIDATE, &gone}}, TREADLE_BEFORE_SOURCES};
    enter(&killer, MODE_A);
    keep_mode(MODE_A);
    enter_signalled(&gone, MODE_A);
    enter(&timer, MODE_A);
    PERFORM(QUEUE, &block);
    struct outsider outsider = {.does = {{STOP}}};
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE);
    outsider_join(&outsider);
    CHECK(strstr(trace_text, "exit stopped"));
    CHECK_INT(timer.calls + block.calls + 10 * gone.calls, 2);
}

TEST(a_handled_source_is_not_forgotten, "RUN-7 PASS-6 PASS-7 D-13") {
    static actor last = {SOURCE, "last", .order = 2}, block = {BLOCK, "block", {{STOP}}};
    static actor first = {SOURCE, "first", {{INVALIDATE, &last}, {QUEUE, &block}}, .order = 1};
    watch_mode(MODE_A);
    enter_signalled(&first, MODE_A);
    enter_signalled(&last, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources first block exit stopped");
}

TEST(the_rest_of_a_pass_is_not_cut_by_the_deadline, "RUN-11") {
    static actor block = {BLOCK, "block"}, second = {TIMER, "second", {{QUEUE, &block}}, .after = -SECONDS(1), .interval = FAR};
    static actor first = {TIMER, "first", {{CALL, .call = overrun}}, .after = -SECONDS(2), .interval = FAR};
    enter(&first, MODE_A);
    enter(&second, MODE_A);
    play(MODE_A, MILLISECONDS(30), 0);
    CHECK_TRACE("first second block timed-out");
}

TEST(events_do_not_extend_the_deadline, "RUN-11") {
    static actor timer = {TIMER, NULL, .interval = MILLISECONDS(1)}, descriptor = {DESCRIPTOR, NULL, .permanent = true};
    enter(&timer, MODE_A);
    enter(&descriptor, MODE_A);
    int64_t before = treadle_time_now();
    play(MODE_A, MILLISECONDS(50), 0);
    CHECK(treadle_time_now() >= before + MILLISECONDS(50));
    CHECK_TRACE("timed-out");
    CHECK(timer.calls + descriptor.calls > 0);
}

TEST(the_clock_is_the_monotonic_one, "RUN-14 RUN-15") {
    struct timespec before, after;
    for (int i = 0; i < 100; i++) {
        clock_gettime(CLOCK_MONOTONIC, &before);
        int64_t now = treadle_time_now();
        clock_gettime(CLOCK_MONOTONIC, &after);
        CHECK(now >= SECONDS(before.tv_sec) + before.tv_nsec && now <= SECONDS(after.tv_sec) + after.tv_nsec);
    }
}

TEST(a_wait_is_rounded_up, "RUN-14") {
    watch_mode(MODE_A);
    for (int i = 0; i < 20; i++) {
        static actor timers[20];
        timers[i] = (actor){TIMER, "timer", .after = 1000000 + 123457 * i};
        enter(&timers[i], MODE_A);
        play(MODE_A, TREADLE_FOREVER, 0);
        CHECK_TRACE("entry timers sources sleep wake timer exit finished");
    }
}

TEST_MAIN()
