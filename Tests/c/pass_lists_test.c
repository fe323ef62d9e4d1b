/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pass_lists_test.c: the lists that a pass walks: their order, and what becomes of them when callbacks
 * and nested runs get ahead of them. */
#include "scene.h"

TEST(sources_go_by_order_then_by_their_first_signal, "SRC0-6 SRC0-7") {
    static actor a = {SOURCE, "a"}, b = {SOURCE, "b"}, c = {SOURCE, "c"}, early = {SOURCE, "early", .order = -1};
    enter(&a, MODE_A);
    enter(&b, MODE_A);
    enter(&c, MODE_A);
    enter(&early, MODE_A);
    actor *signals[] = {&c, &a, &b, &early, &a, &c, &b};
    for (int i = 0; i < 7; i++) PERFORM(SIGNAL, signals[i]);
    play(MODE_A, 0, 0);
    CHECK_TRACE("early c a b timed-out");
}

TEST(a_source_keeps_the_place_of_its_first_signal, "SRC0-6 SRC0-7") {
    /* Through every change of its modes. */
    static actor a = {SOURCE, "a"}, b = {SOURCE, "b"};
    keep_mode(MODE_A);
    create(&b);
    PERFORM(SIGNAL, &b);
    enter_signalled(&a, MODE_A);
    enter(&b, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("b a timed-out");
    PERFORM(SIGNAL, &b);
    PERFORM(REMOVE, &b);
    PERFORM(SIGNAL, &a);
    enter(&b, MODE_A);
    enter(&b, MODE_B);
    play(MODE_A, 0, 0);
    CHECK_TRACE("b a timed-out");
    PERFORM(SIGNAL, &a);
    PERFORM(SIGNAL, &b);
    PERFORM(REMOVE, &a);
    enter(&a, COMMON);
    play(MODE_A, 0, 0);
    CHECK_TRACE("a b timed-out");
}

TEST(a_source_is_performed_once_a_pass, "SRC0-8 SRC0-9 RUN-13") {
    /* However often it is signalled, and whoever was ahead of the pass. */
    static actor again = {SOURCE, "again", {{SIGNAL}}, .order = 2, .times = 3};
    static actor nester = {SOURCE, "nester", {{RUN}}, .order = 1};
    enter_signalled(&again, MODE_A);
    enter_signalled(&nester, MODE_A);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("nester ( again )timed-out again timed-out again timed-out again timed-out timed-out");
}

TEST(a_collected_source_that_is_signalled_again_has_its_turn, "SRC0-7 SRC0-10 SRC0-12 RUN-13") {
    /* A run inside has used the signal up, and the source has given itself another. */
    for (int i = 0; i < 2; i++) {
        static actor sources[2], nesters[2];
        sources[i] = (actor){SOURCE, "again", {{SIGNAL}}, .order = 2};
        nesters[i] = (actor){SOURCE, "nester", {{RUN, .mode = i ? MODE_B : MODE_A}}, .order = 1};
        enter_signalled(&sources[i], MODE_A);
        enter(&sources[i], MODE_B);
        enter_signalled(&nesters[i], MODE_A);
        play(MODE_A, 0, 0);
        play(MODE_A, 0, 0);
        CHECK_TRACE("nester ( again )timed-out again timed-out timed-out");
    }
}

TEST(a_signal_that_was_used_up_further_out_keeps_no_place, "SRC0-7 SRC0-8 RUN-13") {
    /* Performed inside, signalled and queued, performed outside, signalled again: it goes behind b. */
    static actor b = {SOURCE, "b"}, a = {SOURCE, "a", {{SIGNAL}}, .skip = 1};
    static actor nester = {SOURCE, "nester", {{RUN}, {SIGNAL, &a}, {SIGNAL, &b}}};
    enter_signalled(&nester, MODE_A);
    enter_signalled(&a, MODE_A);
    enter(&b, MODE_A);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("nester ( a )timed-out a timed-out b a timed-out");
}

TEST(a_source_that_was_collected_further_out_is_not_collected_without_a_signal, "SRC0-9 RUN-13") {
    /* c was, and its signal is used up; b's signal for it comes too late for the pass that performs b. */
    static actor c = {SOURCE, "c", .order = 2}, b = {SOURCE, "b", {{SIGNAL, &c}}, .order = 1};
    static actor nester = {SOURCE, "nester", {{RUN}, {RUN}, {SIGNAL, &b}, {RUN}, {RUN}}};
    enter(&b, MODE_A);
    enter_signalled(&c, MODE_A);
    enter_signalled(&nester, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("nester ( c )timed-out ( )timed-out ( b )timed-out ( c )timed-out timed-out");
}

TEST(a_signal_that_another_mode_used_up_leaves_nothing_behind, "SRC0-9 SRC0-11") {
    static actor shared = {SOURCE, "shared"}, a = {SOURCE, "a", {{SIGNAL, &shared}}};
    enter(&shared, MODE_A);
    enter(&shared, MODE_B);
    enter(&a, MODE_A);
    PERFORM(SIGNAL, &shared);
    play(MODE_B, 0, 0);
    PERFORM(SIGNAL, &a);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("shared timed-out a timed-out shared timed-out");
}

TEST(new_signals_inside_are_in_their_own_order, "SRC0-7 RUN-13") {
    static actor a = {SOURCE, "a", {{RUN}}}, b = {SOURCE, "b"}, c = {SOURCE, "c"};
    static actor d = {SOURCE, "d", {{SIGNAL, &c}, {SIGNAL, &b}, {RUN}}};
    enter_signalled(&a, MODE_A);
    enter_signalled(&b, MODE_A);
    enter_signalled(&c, MODE_A);
    enter_signalled(&d, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("a ( b c d ( c b )timed-out )timed-out timed-out");
}

TEST(what_is_left_after_a_source_comes_before_newer_signals, "SRC0-7 RUN-6") {
    static actor newest = {SOURCE, "newest"}, first = {SOURCE, "first", {{SIGNAL, &newest}, {SIGNAL}}};
    static actor second = {SOURCE, "second"}, third = {SOURCE, "third"};
    enter(&newest, MODE_A);
    enter_signalled(&first, MODE_A);
    enter_signalled(&second, MODE_A);
    enter_signalled(&third, MODE_A);
    for (int i = 0; i < 6; i++) play(MODE_A, 0, AFTER_SOURCE);
    CHECK_TRACE("first handled second handled third handled newest handled first handled timed-out");
}

TEST(due_timers_fire_in_the_order_of_their_dates, "TMR-11 TMR-12 TMR-14") {
    static actor block = {BLOCK, "block"}, source = {SOURCE, "source"};
    static actor timers[4] = {{TIMER, "3", .after = -SECONDS(1)},
                              {TIMER, "1", {{QUEUE, &block}, {SIGNAL, &source}}, .after = -SECONDS(3)},
                              {TIMER, "4", .after = -MILLISECONDS(1), .order = -5}, {TIMER, "2", .after = -SECONDS(2)}};
    enter(&source, MODE_A);
    for (int i = 0; i < 4; i++) enter(&timers[i], MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("1 2 3 4 block timed-out");
}

TEST(a_due_timer_that_is_moved_keeps_its_turn, "TMR-11 TMR-13") {
    /* As long as it is still due then. */
    static actor b = {TIMER, "b", .after = -SECONDS(3), .interval = FAR},
        c = {TIMER, "c", .after = -SECONDS(2), .interval = FAR};
    static actor d = {TIMER, "d", .after = -SECONDS(1), .interval = FAR};
    static actor a = {TIMER, "a", {{MOVE, &b, .ns = -MILLISECONDS(500)}, {MOVE, &c, .ns = FAR}}, .after = -SECONDS(4),
        .interval = FAR};
    enter(&d, MODE_A);
    enter(&c, MODE_A);
    enter(&b, MODE_A);
    enter(&a, MODE_A);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("a b d timed-out timed-out");
}

TEST(an_inner_run_fires_the_timers_that_are_due_then, "TMR-11 TMR-19 RUN-12") {
    /* Those that the outer pass has still before it, and those that came since; none of them twice. */
    static actor newcomer = {TIMER, "newcomer", .after = -SECONDS(9), .interval = FAR};
    static actor a = {TIMER, "a", {{ADD, &newcomer}}, .after = -SECONDS(4), .interval = FAR};
    static actor b = {TIMER, "b", {{RUN}}, .after = -SECONDS(3), .interval = FAR};
    static actor c = {TIMER, "c", .after = -SECONDS(2), .interval = FAR};
    enter(&a, MODE_A);
    enter(&b, MODE_A);
    enter(&c, MODE_A);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("a b ( newcomer c )timed-out timed-out timed-out");
}

TEST(an_inner_run_fires_a_timer_that_joined_the_outer_pass, "TMR-11 RUN-12") {
    static actor newcomer = {TIMER, "newcomer", .after = -SECONDS(2), .interval = FAR};
    static actor a = {TIMER, "a", {{ADD, &newcomer}}, .after = -SECONDS(3), .interval = FAR};
    static actor b = {TIMER, "b", {{RUN}}, .after = -SECONDS(1), .interval = FAR};
    enter(&a, MODE_A);
    enter(&b, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("a b ( newcomer )timed-out timed-out");
}

TEST(a_timer_that_joins_the_pass_waits_for_the_next, "TMR-11 TMR-17") {
    static actor newcomer = {TIMER, "newcomer", .after = -SECONDS(9)},
        again = {TIMER, "again", {{MOVE, .ns = -1}}, .interval = FAR};
    static actor a = {TIMER, "a", {{ADD, &newcomer}}, .after = -SECONDS(4)},
        pass = {OBSERVER, "|", .activities = TREADLE_BEFORE_TIMERS};
    enter(&a, MODE_A);
    enter(&again, MODE_A);
    enter(&pass, MODE_A);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("| a again timed-out | newcomer again timed-out");
}

TEST_MAIN()
