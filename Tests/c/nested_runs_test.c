/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * nested_runs_test.c: runs inside of callbacks. */
#include "scene.h"

/* Each row's callback polls mode b, whose timer is due. */
#define POLL_B {{RUN, .mode = MODE_B}}
#define INNER "( entry timers sources inner exit )timed-out "
struct row {
    const char *mode;
    actor cast;
    const char *expected;
};
static struct row rows[] = {
    {"source", {SOURCE, "x", POLL_B}, "entry timers sources x " INNER "exit handled"},
    {"descriptor", {DESCRIPTOR, "x", POLL_B}, "entry timers sources x " INNER "exit handled"},
    {"timer", {TIMER, "x", POLL_B}, "entry timers sources sleep wake x " INNER "exit finished"},
    {"block", {BLOCK, "x", POLL_B}, "entry timers sources x " INNER "exit finished"},
    {"entry", {OBSERVER, "x", POLL_B, .activities = TREADLE_ENTRY},
     "entry x " INNER "timers sources sleep wake exit stopped"},
    {"before timers", {OBSERVER, "x", POLL_B, .activities = TREADLE_BEFORE_TIMERS},
     "entry timers x " INNER "sources sleep wake exit stopped"},
    {"before sources", {OBSERVER, "x", POLL_B, .activities = TREADLE_BEFORE_SOURCES},
     "entry timers sources x " INNER "sleep wake exit stopped"},
    {"before waiting", {OBSERVER, "x", POLL_B, .activities = TREADLE_BEFORE_WAITING},
     "entry timers sources sleep x " INNER "wake exit stopped"},
    {"after waiting", {OBSERVER, "x", POLL_B, .activities = TREADLE_AFTER_WAITING},
     "entry timers sources sleep wake x " INNER "exit stopped"},
    {"exit", {OBSERVER, "x", POLL_B, .activities = TREADLE_EXIT},
        "entry timers sources sleep wake exit x " INNER "stopped"},
};

TEST(a_run_may_be_nested_in_every_callback, "RUN-12 OBS-9") {
    static actor inner = {TIMER, "inner", .interval = FAR};
    watch_mode(MODE_B);
    enter(&inner, MODE_B);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct row *row = &rows[i];
        struct outsider outsider = {.does = {{STOP}}};
        PERFORM(MOVE, &inner, .ns = -1);
        watch_mode(row->mode);
        if (row->cast.kind == BLOCK) PERFORM(QUEUE, &row->cast, row->mode);
        else enter(&row->cast, row->mode);
        if (row->cast.kind == SOURCE) PERFORM(SIGNAL, &row->cast);
        if (row->cast.kind == OBSERVER) keep_mode(row->mode), outsider_start(&outsider, row->mode);
        play(row->mode, TREADLE_FOREVER, AFTER_SOURCE);
        if (row->cast.kind == OBSERVER) outsider_join(&outsider);
        if (strcmp(trace_text, row->expected) != 0) fprintf(stderr, "%s:\n", row->mode);
        CHECK_TRACE(row->expected);
    }
}

static void run_inside_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)mode, (void)info;
    trace("schedule (");
    trace(")%s", result_word(treadle_loop_run(loop, MODE_B, 0, 0)));
}

TEST(a_run_may_be_nested_in_schedule_and_cancel, "RUN-12 OBJ-7") {
    static actor inner = {SOURCE, "inner", {{SIGNAL}}, .times = ALWAYS};
    treadle_source_context context = {
        .struct_size = sizeof context, .schedule = run_inside_schedule, .cancel = run_inside_schedule};
    treadle_source source;
    enter_signalled(&inner, MODE_B);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(the_stage(), source, MODE_A), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(the_stage(), source, MODE_A), TREADLE_OK);
    CHECK_TRACE("schedule ( inner )timed-out schedule ( inner )timed-out");
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

TEST(only_the_inner_modes_items_take_part_in_a_nested_run, "RUN-12 MODE-4") {
    static actor source_a = {SOURCE, "source-a", .order = 2}, source_b = {SOURCE, "source-b"},
        timer_b = {TIMER, "timer-b"};
    static actor timer_a = {TIMER, "timer-a"}, block_a = {BLOCK, "block-a"}, block_b = {BLOCK, "block-b"};
    static actor nester = {SOURCE, "nester", {{QUEUE, &block_a, MODE_A}, {RUN, .mode = MODE_B}}, .order = 1};
    watch_mode(MODE_A);
    enter_signalled(&nester, MODE_A);
    enter_signalled(&source_a, MODE_A);
    enter_signalled(&source_b, MODE_B);
    enter(&timer_a, MODE_A);
    enter(&timer_b, MODE_B);
    PERFORM(QUEUE, &block_b, MODE_B);
    play(MODE_A, 0, 0);
    CHECK_TRACE("entry timers sources nester ( block-b source-b timer-b )timed-out "
                "source-a block-a timer-a exit timed-out");
}

TEST(an_inner_result_does_not_end_the_outer_run, "RUN-12 STOP-2") {
    static actor finisher = {SOURCE, "finisher", {{INVALIDATE}}}, stopper = {SOURCE, "stopper", {{STOP}}};
    static actor plain = {SOURCE, "plain"};
    static actor nester = {SOURCE, "nester", {{SIGNAL, &finisher}, {SIGNAL, &stopper}, {SIGNAL, &plain},
        {RUN, .mode = "finish", .ns = TREADLE_FOREVER}, {RUN, .mode = "stop", .ns = TREADLE_FOREVER},
        {RUN, .mode = "plain"}}};
    static actor after = {SOURCE, "after", {{RUN, .mode = "plain", .ns = TREADLE_FOREVER, .flags = AFTER_SOURCE}}};
    static actor last = {SOURCE, "last", {{STOP}}};
    static actor chain = {OBSERVER, NULL, {{SIGNAL, &after}, {SIGNAL, &plain}}, TREADLE_BEFORE_TIMERS, .skip = 1};
    static actor ending = {OBSERVER, NULL, {{SIGNAL, &last}}, TREADLE_BEFORE_TIMERS, .skip = 2};
    enter(&finisher, "finish");
    enter(&stopper, "stop");
    enter(&plain, "plain");
    enter_signalled(&nester, MODE_A);
    enter(&after, MODE_A);
    enter(&last, MODE_A);
    chain.activities = ending.activities = TREADLE_BEFORE_TIMERS;
    enter(&chain, MODE_A);
    enter(&ending, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("timers timers nester ( finisher )finished ( stopper )stopped ( plain )timed-out "
                "timers timers after ( plain )handled timers timers last stopped");
}

TEST(what_an_inner_run_handles_does_not_count_outside, "RUN-12 RUN-7") {
    static actor inner = {SOURCE, "inner"}, block = {BLOCK, "block", {{RUN, .mode = MODE_B, .flags = AFTER_SOURCE}}};
    static actor timer = {TIMER, "timer", {{STOP}}};
    watch_mode(MODE_A);
    enter_signalled(&inner, MODE_B);
    enter(&timer, MODE_A);
    PERFORM(QUEUE, &block);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE);
    CHECK_TRACE("entry timers sources block ( inner )handled sleep wake timer exit stopped");
}

TEST(a_wake_up_belongs_to_its_run, "RUN-1 RUN-12 WAKE-3") {
    /* The outer run's wake-up outlives the inner run, and does not wake that. */
    static actor inner = {TIMER, "inner", .after = MILLISECONDS(20)};
    static actor block = {BLOCK, "block", {{WAKE}, {RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    watch_mode(MODE_A);
    watch_mode(MODE_B);
    enter(&inner, MODE_B);
    PERFORM(QUEUE, &block, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0); /* empty: without the wake-up it would not even sleep */
    CHECK_TRACE("entry timers sources block ( entry timers sources sleep wake inner exit )finished "
                "sleep wake exit finished");
}

TEST(an_inner_wake_up_does_not_reach_the_outer_run, "RUN-12 WAKE-1 WAKE-3") {
    static actor stopper = {BLOCK, "stopper", {{WAKE}, {STOP}}};
    static actor block = {BLOCK, "block", {{QUEUE, &stopper, MODE_B}, {RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    watch_mode(MODE_A);
    PERFORM(QUEUE, &block, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources block ( stopper )stopped exit finished");
}

TEST(an_inner_run_performs_what_the_outer_one_collected, "RUN-13 SRC0-10") {
    static actor first = {SOURCE, "first", {{RUN}}, .order = 1}, second = {SOURCE, "second", .order = 2};
    static actor third = {SOURCE, "third", .order = 3};
    enter_signalled(&first, MODE_A);
    enter_signalled(&second, MODE_A);
    enter_signalled(&third, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("first ( second third )timed-out timed-out");
    CHECK_INT(first.calls + second.calls + third.calls, 3);
}

TEST(an_inner_run_after_a_source_leaves_the_rest_to_the_outer_one, "RUN-13") {
    static actor first = {SOURCE, "first", {{RUN, .flags = AFTER_SOURCE}}, .order = 1};
    static actor second = {SOURCE, "second", .order = 2}, third = {SOURCE, "third", .order = 3};
    enter_signalled(&first, MODE_A);
    enter_signalled(&second, MODE_A);
    enter_signalled(&third, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("first ( second )handled third timed-out");
}

TEST(a_run_may_be_nested_deeply, "RUN-12 SRC0-12") {
    static actor diver = {SOURCE, NULL, {{SIGNAL}, {RUN}}, .times = 100};
    enter_signalled(&diver, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_INT(diver.calls, 101);
    char expected[4096] = "";
    for (int i = 0; i < 100; i++) strcat(expected, "( ");
    for (int i = 0; i < 100; i++) strcat(expected, ")timed-out ");
    strcat(expected, "timed-out");
    CHECK_TRACE(expected);
}

/* What the runs of a deep recursion took is given back, but for that of a few runs. */
TEST(a_deep_recursion_leaves_little_memory, "RUN-12") {
    static actor once = {SOURCE, NULL, {{SIGNAL}, {RUN}}, .times = 2}, diver = {SOURCE, NULL, {{SIGNAL}, {RUN}}, .times = 100};
    enter_signalled(&once, MODE_B);
    play(MODE_B, 0, 0);
    size_t before = bytes_in_use();
    enter_signalled(&diver, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_INT(diver.calls, 101);
    CHECK(bytes_in_use() < before + 16384);
    trace_clear();
}

TEST_MAIN()
