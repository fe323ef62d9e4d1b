/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pass_test.c: the steps of a pass, their order, and what each of them sees. */
#include "scene.h"

TEST(the_ten_steps_in_their_order,
    "PASS-1 PASS-2 PASS-3 PASS-4 PASS-5 PASS-9 PASS-10 PASS-11 PASS-12 PASS-13 PASS-14 RUN-1") {
    static actor last_block = {BLOCK, "last-block"}, block = {BLOCK, "block"};
    static actor timer = {TIMER, "timer", {{QUEUE, &last_block}, {STOP}}, .after = MILLISECONDS(20)};
    static actor source = {SOURCE, "source", {{QUEUE, &block}}};
    static actor first_block = {BLOCK, "first-block"};
    watch_mode(MODE_A);
    enter_signalled(&source, MODE_A);
    enter(&timer, MODE_A);
    PERFORM(QUEUE, &first_block);
    play(MODE_A, TREADLE_FOREVER, 0);
    /* The first pass handled a source and so polls; if the machine was slow, the timer was due by then. */
    if (!strstr(trace_text, "sleep"))
        CHECK_TRACE("entry timers sources first-block source block timer last-block exit stopped");
    else
        CHECK_TRACE("entry timers sources first-block source block timers sources "
                    "sleep wake timer last-block exit stopped");
}

TEST(each_pass_notifies_timers_and_sources, "PASS-2 PASS-3 RUN-5") {
    /* Neither a timer nor a signalled source is there. */
    static actor block = {BLOCK, "block"};
    static actor waker = {OBSERVER, "", {{QUEUE, &block}, {WAKE}}, .times = 2, .activities = TREADLE_BEFORE_WAITING};
    static actor stopper = {OBSERVER, "", {{STOP}}, .skip = 2, .activities = TREADLE_BEFORE_WAITING};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    enter(&waker, MODE_A);
    enter(&stopper, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources sleep wake block timers sources sleep wake block "
                "timers sources sleep wake exit stopped");
}

TEST(sources_signalled_on_the_way_to_them_are_performed, "PASS-4 PASS-5") {
    static actor by_timers = {SOURCE, "by-timers", .order = 1}, by_sources = {SOURCE, "by-sources", .order = 2};
    static actor by_block = {SOURCE, "by-block", .order = 3}, block = {BLOCK, "block", {{SIGNAL, &by_block}}};
    static actor one = {OBSERVER, NULL, {{SIGNAL, &by_timers}}, .activities = TREADLE_BEFORE_TIMERS};
    static actor two = {OBSERVER, NULL, {{SIGNAL, &by_sources}, {QUEUE, &block}}, .activities = TREADLE_BEFORE_SOURCES};
    enter(&by_timers, MODE_A);
    enter(&by_sources, MODE_A);
    enter(&by_block, MODE_A);
    enter(&one, MODE_A);
    enter(&two, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("timers sources block by-timers by-sources by-block timed-out");
}

TEST(a_source_signalled_too_late_waits_for_the_next_pass, "PASS-5 PASS-7 SRC0-9") {
    static actor early = {SOURCE, "early", .order = -1};
    static actor source = {SOURCE, "source", {{SIGNAL, &early}}};
    watch_mode(MODE_A);
    enter(&early, MODE_A);
    enter_signalled(&source, MODE_A);
    struct outsider outsider = {.does = {{STOP}}};
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources source timers sources early timers sources sleep wake exit stopped");
}

TEST(blocks_are_drained_again_only_after_a_source, "PASS-4 PASS-6 PASS-13 BLK-5") {
    static actor second = {BLOCK, "second"}, first = {BLOCK, "first", {{QUEUE, &second}}};
    static actor timer = {TIMER, "timer", .interval = FAR};
    watch_mode(MODE_A);
    enter(&timer, MODE_A);
    PERFORM(QUEUE, &first);
    play(MODE_A, 0, 0); /* no source: the second waits for the last drain */
    CHECK_TRACE("entry timers sources first timer second exit timed-out");
    static actor source = {SOURCE, "source"};
    enter_signalled(&source, MODE_A);
    PERFORM(MOVE, &timer, .ns = -1);
    first.matches = 0;
    PERFORM(QUEUE, &first);
    play(MODE_A, 0, 0); /* a source: the second runs before the timers */
    CHECK_TRACE("entry timers sources first source second timer exit timed-out");
}

TEST(a_pass_that_handled_a_source_polls, "PASS-7 PASS-9 PASS-11") {
    static actor source = {SOURCE, "source"}, timer = {TIMER, "timer", {{STOP}}, .interval = FAR};
    watch_mode(MODE_A);
    enter_signalled(&source, MODE_A);
    enter(&timer, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources source timer exit stopped");
}

TEST(a_ready_descriptor_skips_the_sleep, "PASS-8 PASS-12 RUN-8 D-01") {
    static actor descriptor = {DESCRIPTOR, "descriptor", {{STOP}}, .skip = 1, .permanent = true};
    watch_mode(MODE_A);
    enter(&descriptor, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources descriptor timers sources descriptor exit stopped");
    /* The same when it became ready on the way. */
    static actor fed = {DESCRIPTOR, "fed", {{STOP}}, .idle = true};
    static actor feeder = {OBSERVER, "feeder", {{FEED, &fed}}, .activities = TREADLE_BEFORE_SOURCES};
    watch_mode(MODE_B);
    enter(&fed, MODE_B);
    enter(&feeder, MODE_B);
    play(MODE_B, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources feeder fed exit stopped");
}

TEST(a_descriptor_of_another_mode_does_not_skip_the_sleep, "PASS-8 MODE-4") {
    static actor other = {DESCRIPTOR, "other"};
    struct outsider outsider = {.does = {{STOP}}};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    enter(&other, MODE_B);
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources sleep wake exit stopped");
    play(MODE_B, 0, 0);
    CHECK_TRACE("other timed-out");
}

TEST(what_ends_a_sleep, "PASS-10 PASS-12 MODE-10") {
    static actor descriptor = {DESCRIPTOR, "descriptor", .idle = true},
        timer = {TIMER, "timer", .after = FAR, .interval = FAR};
    static actor late_timer = {TIMER, "late-timer"}, late_descriptor = {DESCRIPTOR, "late-descriptor"};
    struct outsider outsider = {.does = {{FEED, &descriptor}, {MOVE, &timer, .ns = -1}, {WAKE}, {ADD, &late_timer},
        {ADD, &late_descriptor}, {STOP}}};
    watch_mode(MODE_A);
    enter(&descriptor, MODE_A);
    enter(&timer, MODE_A);
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources sleep wake descriptor timers sources sleep wake timer timers sources sleep wake "
                "timers sources sleep wake late-timer timers sources sleep wake late-descriptor "
                "timers sources sleep wake exit stopped");
    play_through_a_sleep(MODE_A, MILLISECONDS(20)); /* and the deadline */
    CHECK_TRACE("entry timers sources sleep wake exit timed-out");
}

/* Neither a signal nor a block wakes: some time later the loop is in the same sleep. */
static actor unheard = {SOURCE, "unheard"}, late_block = {BLOCK, "late-block"},
    ender = {TIMER, "ender", {{STOP}}, .after = FAR};
static struct outsider quiet_outsider;
static void signal_and_queue_without_a_wake_up(actor *self) {
    (void)self;
    PERFORM(SIGNAL, &unheard);
    PERFORM(QUEUE, &late_block);
    idle_until(treadle_time_now() + MILLISECONDS(30));
    CHECK_INT(atomic_load(&quiet_outsider.watch.sleeps), 1);
    CHECK(is_asleep(&quiet_outsider.watch));
    PERFORM(MOVE, &ender, .ns = -1);
}

TEST(a_sleeping_loop_stays_asleep_without_a_reason, "PASS-10 SRC0-6 BLK-2") {
    quiet_outsider.does[0] = (deed){CALL, .call = signal_and_queue_without_a_wake_up};
    watch_mode(MODE_A);
    enter(&unheard, MODE_A);
    enter(&ender, MODE_A);
    outsider_start(&quiet_outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&quiet_outsider);
    CHECK_TRACE("entry timers sources sleep wake ender late-block exit stopped");
}

TEST(a_pass_handles_one_class_of_events, "PASS-12 RUN-5 SRC1-5") {
    static actor timer = {TIMER, "t", .interval = 1}, one = {DESCRIPTOR, "1", .permanent = true},
        two = {DESCRIPTOR, "2", .permanent = true};
    static actor pass = {OBSERVER, "|", .activities = TREADLE_BEFORE_TIMERS};
    enter(&timer, MODE_A);
    enter(&one, MODE_A);
    enter(&two, MODE_A);
    enter(&pass, MODE_A);
    for (int i = 0; i < 30; i++) {
        idle_until(treadle_time_now() + 2000); /* the timer is due in every pass */
        play(MODE_A, 0, 0);
        bool alone = strcmp(trace_text, "| t timed-out") == 0 || strcmp(trace_text, "| 1 timed-out") == 0 ||
                     strcmp(trace_text, "| 2 timed-out") == 0;
        if (!alone) CHECK_TRACE("| and one of: t 1 2");
        trace_clear();
    }
    /* Each poll is a run of its own, and still nobody is passed over for ever. */
    CHECK(timer.calls >= 10 && one.calls >= 5 && two.calls >= 5);
}

/* The trace is a string of the letters t (timers) and 1 to 4 (descriptors). Between two turns of one
 * descriptor each other one has exactly one turn; between two turns of the timer, each descriptor at most
 * one; and the timer has at most one turn for each descriptor's. */
static void check_fairness(int descriptors, bool with_timer) {
    int since_timer[5] = {0}, since[5][5] = {{0}}, turns = 0, timers_since[5] = {0};
    for (const char *c = trace_text; *c && strncmp(c, "stopped", 7) != 0; c++) {
        if (*c == 't') {
            memset(since_timer, 0, sizeof since_timer);
            for (int i = 0; i < descriptors; i++) CHECK(++timers_since[i] <= descriptors + 1);
        } else if (*c >= '1' && *c <= '4') {
            int me = *c - '1';
            CHECK(++since_timer[me] <= 1 || !with_timer);
            for (int other = 0; other < descriptors; other++) CHECK(other == me || ++since[other][me] <= 1);
            memset(since[me], 0, sizeof since[me]);
            timers_since[me] = 0;
            turns++;
        }
    }
    CHECK(turns >= 40);
}

TEST(descriptors_take_turns, "PASS-12 SRC1-5") {
    static actor descriptors[] = {{DESCRIPTOR, "1", .permanent = true}, {DESCRIPTOR, "2", .permanent = true},
        {DESCRIPTOR, "3", .permanent = true}, {DESCRIPTOR, "4", {{STOP}}, .skip = 20, .permanent = true}};
    for (int i = 0; i < 4; i++) enter(&descriptors[i], MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    check_fairness(4, false);
}

static void wait_until_due(actor *self) { idle_until(self->called_at + 2000); }

TEST(timers_and_descriptors_take_turns, "PASS-12") {
    static actor timer = {TIMER, "t", .interval = 1};
    static actor descriptors[] = {{DESCRIPTOR, "1", .permanent = true}, {DESCRIPTOR, "2", .permanent = true},
        {DESCRIPTOR, "3", {{STOP}}, .skip = 30, .permanent = true}};
    static actor delay = {OBSERVER, "", {{CALL, .call = wait_until_due}}, .times = ALWAYS,
        .activities = TREADLE_BEFORE_SOURCES};
    enter(&timer, MODE_A);
    for (int i = 0; i < 3; i++) enter(&descriptors[i], MODE_A);
    enter(&delay, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK(timer.calls >= 20);
    check_fairness(3, true);
}

TEST(a_descriptor_that_joins_is_not_passed_over, "PASS-12") {
    static actor late = {DESCRIPTOR, "2", {{STOP}}, .permanent = true};
    static actor first = {DESCRIPTOR, "1", {{ADD, &late}}, .skip = 10, .permanent = true};
    enter(&first, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK(first.calls >= 11 && first.calls <= 12);
}

TEST(a_poll_with_a_pending_wake_up_fires_the_due_timer, "PASS-12 WAKE-3 D-18") {
    static actor timer = {TIMER, "timer", .interval = FAR};
    static actor waker = {OBSERVER, NULL, {{WAKE}}, .times = ALWAYS, .activities = TREADLE_BEFORE_SOURCES};
    enter(&timer, MODE_A);
    enter(&waker, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("sources timer timed-out");
    PERFORM(MOVE, &timer, .ns = -1);
    static actor source = {SOURCE, "source", {{WAKE}}};
    enter_signalled(&source, MODE_A);
    play(MODE_A, -1, AFTER_SOURCE);
    CHECK_TRACE("sources source timer handled");
    /* The same with a descriptor. */
    static actor descriptor = {DESCRIPTOR, "descriptor"};
    enter(&descriptor, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("sources descriptor timed-out");
}

TEST(a_pure_wake_up_handles_nothing, "PASS-12 WAKE-5") {
    static actor block = {BLOCK, "block"}, source = {SOURCE, "source", {{STOP}}};
    static actor waker = {OBSERVER, "x", {{WAKE}, {QUEUE, &block}, {SIGNAL, &source}},
        .activities = TREADLE_BEFORE_WAITING};
    watch_mode(MODE_A);
    enter(&source, MODE_A);
    enter(&waker, MODE_A);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE);
    CHECK_TRACE("entry timers sources sleep x wake block timers sources source exit stopped");
}

TEST(the_result_that_comes_first, "PASS-14 STOP-4 D-02") {
    /* Everything at once: stopped, a source handled, timed out, emptied. Then one reason less each time. */
    static actor all = {SOURCE, "all", {{INVALIDATE}, {STOP}}}, handled = {SOURCE, "handled", {{INVALIDATE}}};
    static actor timed = {SOURCE, "timed", {{INVALIDATE}}}, finished = {SOURCE, "finished", {{INVALIDATE}}};
    enter_signalled(&all, MODE_A);
    play(MODE_A, 0, AFTER_SOURCE);
    CHECK_TRACE("all stopped");
    enter_signalled(&handled, MODE_A);
    play(MODE_A, 0, AFTER_SOURCE);
    CHECK_TRACE("handled handled");
    enter_signalled(&timed, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("timed timed-out");
    enter_signalled(&finished, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("finished finished");
}

TEST_MAIN()
