/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_fire_test.c: which timers fire in a pass, in which order, and what their callbacks may do. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static treadle_timer add_timer(treadle_timer_fn fire, void *info, int64_t fire_at, int64_t interval_ns) {
    treadle_timer timer = make_timer(fire, info, fire_at, interval_ns);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    return timer;
}
static void keep_mode(void) {
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), make_source(NULL, NULL), M), TREADLE_OK);
}
static void poll_default(void) { CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT); }
static void note(treadle_timer timer, void *info) {
    CHECK(treadle_time_now() >= next_fire(timer));
    trace("%s", (const char *)info);
}

TEST(a_timer_has_no_order, "TMR-3 TMR-11") {
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        int64_t order = 5;
        treadle_timer timer = armed_timer(note, (void *)names[i], NULL, 1000, 0);
        CHECK_INT(treadle_timer_get_order(timer, &order), TREADLE_OK);
        CHECK_INT(order, 0);
    }
    poll_default();
    CHECK_TRACE("a b c"); /* ties in order of insertion */
}

/* Both are due when the first one's callback moves the second, to a date that has passed as well. */
static treadle_timer moved;
static int64_t moved_to;
static int times_moved_fired;
static int64_t next_of_mode(void) {
    int64_t date = -1;
    CHECK_INT(treadle_loop_get_next_fire(treadle_loop_current(), M, &date), TREADLE_OK);
    return date;
}
static void move_the_other(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    CHECK_INT(treadle_timer_set_next_fire(moved, moved_to), TREADLE_OK);
}
static void fire_moved(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    times_moved_fired++;
    next_of_mode(); /* has the queue put what is due in order */
}
TEST(a_timer_moved_before_its_turn_is_queued_once, "TMR-11 TMR-16 TMR-17") {
    int64_t begun = treadle_time_now();
    moved_to = begun + MILLISECONDS(3);
    add_timer(move_the_other, NULL, begun + MILLISECONDS(1), 0);
    moved = add_timer(fire_moved, NULL, begun + MILLISECONDS(1) + 1, SECONDS(1000));
    while (treadle_time_now() < begun + MILLISECONDS(5)) {}
    for (int i = 0; i < 3; i++) poll_default();
    CHECK_INT(times_moved_fired, 1);
    CHECK_INT(next_fire(moved), moved_to + SECONDS(1000));
    CHECK_INT(next_of_mode(), moved_to + SECONDS(1000));
    CHECK_INT(treadle_timer_invalidate(moved), TREADLE_OK);
    CHECK_INT(next_of_mode(), 0);
}

TEST(due_timers_fire_by_date_then_insertion, "TMR-11 TMR-14 TMR-12") {
    int64_t now = treadle_time_now();
    add_timer(note, "late", now - 1, 0);
    add_timer(note, "tie1", now - SECONDS(1), 0);
    add_timer(note, "first", now - SECONDS(100), 0);
    add_timer(note, "tie2", now - SECONDS(1), 0);
    add_timer(note, "middle", now - SECONDS(50), SECONDS(1000)); /* past dates: by date, not by creation */
    add_timer(note, "never", FAR_AWAY, 0);
    poll_default();
    CHECK_TRACE("first middle tie1 tie2 late");
    poll_default();
    CHECK_TRACE("");
}

/* Dates some nanoseconds apart, armed long before: they are put in order together when their turn comes. */
static int64_t last_date;
static int in_order;
static void fire_in_order(treadle_timer timer, void *info) {
    int64_t date;
    (void)info;
    CHECK_INT(treadle_timer_get_next_fire(timer, &date), TREADLE_OK);
    CHECK(date >= last_date);
    last_date = date;
    in_order++;
}
TEST(timers_that_are_close_together_fire_by_date, "TMR-11 TMR-22") {
    enum { COUNT = 300, CLOSE = 40000 };
    unsigned seed = 3;
    int64_t base = treadle_time_now() + MILLISECONDS(30);
    treadle_timer timers[COUNT];
    keep_mode();
    for (int i = 0; i < COUNT; i++) timers[i] = add_timer(fire_in_order, NULL, base + rand_r(&seed) % CLOSE, 0);
    /* Some leave again, and some move within the others. */
    for (int i = 0; i < COUNT; i += 10) {
        CHECK_INT(treadle_timer_invalidate(timers[i]), TREADLE_OK);
        CHECK_INT(treadle_timer_set_next_fire(timers[i + 1], base + rand_r(&seed) % CLOSE), TREADLE_OK);
    }
    while (in_order < COUNT - COUNT / 10) CHECK(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(10), 0) >= 0);
    CHECK(treadle_time_now() >= last_date);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(in_order, COUNT - COUNT / 10);
}

static void outlast(treadle_timer timer, void *info) {
    (void)timer;
    trace("outlast");
    while (treadle_time_now() <= *(int64_t *)info) {}
}
TEST(becoming_due_during_a_callback_waits_for_the_next_pass, "TMR-11") {
    keep_mode();
    int64_t date = treadle_time_now() + MILLISECONDS(20);
    add_timer(outlast, &date, 0, 0);
    add_timer(note, "b", date, 0);
    poll_default();
    if (strcmp(trace_text, "outlast b") == 0) return; /* the first pass began late: nothing to see */
    CHECK_TRACE("outlast");
    poll_default();
    CHECK_TRACE("b");
}

static void add_due(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    trace("adds");
    add_timer(note, "added", 1, 0); /* earlier than those collected already */
}
TEST(added_due_in_a_callback_waits_for_the_next_pass, "TMR-11") {
    keep_mode();
    add_timer(add_due, NULL, 5, 0);
    add_timer(note, "collected", 6, 0);
    poll_default();
    CHECK_TRACE("adds collected");
    poll_default();
    CHECK_TRACE("added");
}

static void note_block(void *info) { trace("%s", (const char *)info); }
static void note_source(treadle_source source, void *info) {
    (void)source;
    trace("%s", (const char *)info);
}
static void note_activity(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)info;
    trace("%s", activity == TREADLE_BEFORE_TIMERS ? "timers" : activity == TREADLE_BEFORE_SOURCES ? "sources" : "other");
}
static void make_work(treadle_timer timer, void *info) {
    treadle_post block = {.struct_size = sizeof block, .fn = note_block, .info = "block"};
    (void)timer;
    trace("work");
    CHECK_INT(post_block(treadle_loop_current(), &block), TREADLE_OK);
    CHECK_INT(treadle_source_signal(info), TREADLE_OK);
}
TEST(nothing_runs_between_due_timers, "TMR-12 PASS-13") {
    treadle_source source = make_source(note_source, "source");
    treadle_observer observer = make_observer(note_activity, NULL, TREADLE_ALL_ACTIVITIES & ~(TREADLE_ENTRY | TREADLE_EXIT));
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, M), TREADLE_OK);
    add_timer(make_work, source, 1, 0);
    add_timer(note, "b", 2, 0);
    add_timer(note, "c", 3, 0);
    poll_default();
    CHECK_TRACE("timers sources work b c block");
    poll_default();
    CHECK_TRACE("timers sources source");
}

/* A timer whose callback does something to another that was collected for the same pass. */
static treadle_timer target;
static void invalidate_target(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    CHECK_INT(treadle_timer_invalidate(target), TREADLE_OK);
}
static void remove_target(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    CHECK_INT(treadle_loop_remove_timer(treadle_loop_current(), target, M), TREADLE_OK);
}
static void postpone_target(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    CHECK_INT(treadle_timer_set_next_fire(target, FAR_AWAY), TREADLE_OK);
}
TEST(what_a_callback_does_to_a_collected_timer, "TMR-13 OBJ-9") {
    keep_mode();
    const treadle_timer_fn actions[] = {invalidate_target, remove_target, postpone_target, remove_target};
    for (int i = 0; i < 4; i++) {
        add_timer(actions[i], NULL, 1, 0);
        target = add_timer(note, "target", 2, i == 3 ? SECONDS(10) : 0);
        add_timer(note, "next", 3, 0);
        if (i == 3) CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), target, "x"), TREADLE_OK);
        poll_default();
        CHECK_TRACE("next");
        CHECK(treadle_timer_is_valid(target) == (i > 0));
    }
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("target"); /* still due in its other mode */
}

static void once(treadle_timer timer, void *info) {
    treadle_loop loop = treadle_loop_current();
    ++*(int *)info;
    CHECK(treadle_timer_is_valid(timer));
    CHECK(treadle_loop_contains_timer(loop, timer, M));
    CHECK_INT(next_fire(timer), 7);
    CHECK_INT(treadle_timer_set_next_fire(timer, FAR_AWAY), TREADLE_OK);
    CHECK(treadle_timer_is_valid(timer));
}
TEST(a_one_shot_ends_after_its_callback, "TMR-15 TMR-17") {
    int fires = 0;
    treadle_timer timer = make_ending_timer(once, &fires, 7);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    poll_default();
    CHECK_INT(fires, 1);
    CHECK(!treadle_timer_is_valid(timer)); /* the new date does not save it */
    CHECK_INT(next_fire(timer), 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
}

static int64_t moved_to;
static void move(treadle_timer timer, void *info) {
    ++*(int *)info;
    CHECK_INT(treadle_timer_set_next_fire(timer, moved_to), TREADLE_OK);
}
TEST(a_date_set_in_the_callback_wins_over_the_grid, "TMR-17") {
    int fires = 0;
    treadle_timer timer = add_timer(move, &fires, 1, MILLISECONDS(1));
    moved_to = FAR_AWAY;
    poll_default();
    CHECK_INT(next_fire(timer), moved_to);
    CHECK_INT(treadle_timer_set_next_fire(timer, 1), TREADLE_OK);
    moved_to = 9; /* past: again in the next pass */
    for (int pass = 2; pass < 6; pass++) {
        poll_default();
        CHECK_INT(fires, pass);
        CHECK_INT(next_fire(timer), 9);
    }
}

static void nest(treadle_timer timer, void *info) {
    trace("(");
    CHECK_INT(treadle_timer_set_next_fire(timer, 3), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    trace(")");
    if (info) CHECK_INT(treadle_timer_set_next_fire(timer, *(int64_t *)info), TREADLE_OK);
}
TEST(a_timer_does_not_fire_within_its_own_callback, "TMR-19") {
    int64_t far = FAR_AWAY;
    treadle_timer timer = add_timer(nest, &far, 1, 1000); /* misses many dates in the nested runs */
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, "x"), TREADLE_OK);
    add_timer(note, "other", 2, 0);
    poll_default();
    CHECK_TRACE("( other )"); /* others do, and are not fired again by the outer pass */
    treadle_timer again = add_timer(nest, NULL, 1, MILLISECONDS(1));
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), again, "x"), TREADLE_OK);
    poll_default();
    CHECK_TRACE("( )");
    poll_default(); /* one fire afterwards for all that was missed */
    CHECK_TRACE("( )");
}

static treadle_status nested_result;
static void run_nested(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    nested_result = treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(2), 0);
}
TEST(a_firing_timer_keeps_its_mode_from_being_empty, "TMR-20 MODE-7") {
    for (int repeats = 0; repeats < 2; repeats++) {
        treadle_timer timer = add_timer(run_nested, NULL, 1, repeats ? SECONDS(1000) : 0);
        nested_result = 0;
        poll_default();
        CHECK_INT(nested_result, TREADLE_RUN_TIMED_OUT);
        CHECK((next_fire(timer) != 0) == repeats);
    }
}

static void count(treadle_timer timer, void *info) {
    (void)timer;
    ++*(int *)info;
}
TEST(timers_are_not_handled_sources, "TMR-21 RUN-7") {
    int fires = 0;
    keep_mode();
    add_timer(count, &fires, 1, 0);
    add_timer(count, &fires, 1, MILLISECONDS(1));
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(20), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_TIMED_OUT);
    CHECK(fires >= 2);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_TIMED_OUT);
}

static int left;
static void never_early(treadle_timer timer, void *info) {
    int64_t *asked = info, now = treadle_time_now();
    CHECK(now >= *asked);
    CHECK_INT(next_fire(timer), *asked);
    if (--left == 0) treadle_loop_stop(treadle_loop_current());
}
TEST(never_early, "TMR-22 TMR-5") {
    static int64_t dates[2000];
    unsigned seed = 12345;
    left = scaled(2000) < 2000 ? scaled(2000) : 2000;
    for (int i = 0; i < left; i++) {
        dates[i] = treadle_time_now() + rand_r(&seed) % MILLISECONDS(60);
        treadle_timer timer = add_timer(never_early, &dates[i], dates[i], 0);
        if (i % 3 == 0) CHECK_INT(treadle_timer_set_tolerance(timer, rand_r(&seed) % MILLISECONDS(5)), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(left, 0);
}

static void wake_loop(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    CHECK_INT(treadle_loop_wake(treadle_loop_current()), TREADLE_OK);
}
TEST(a_pending_wake_does_not_cost_a_poll_its_timer, "D-18 PASS-12 RUN-5") {
    int fires = 0;
    treadle_observer observer = make_observer(wake_loop, NULL, TREADLE_ENTRY | TREADLE_BEFORE_TIMERS | TREADLE_BEFORE_SOURCES);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, M), TREADLE_OK);
    treadle_timer timer = add_timer(count, &fires, 1, SECONDS(1000));
    for (int i = 1; i <= 3; i++) {
        treadle_loop_wake(treadle_loop_current());
        poll_default();
        CHECK_INT(fires, i);
        CHECK_INT(treadle_timer_set_next_fire(timer, 1), TREADLE_OK);
    }
}

/* The loop's next date, asked for between two timers that are both due, is the second one's. */
static int64_t next_dates[2];
static void note_next_date(treadle_timer timer, void *info) {
    (void)timer;
    CHECK_INT(treadle_loop_get_next_fire(treadle_loop_current(), M, info), TREADLE_OK);
}
TEST(a_timer_that_is_due_is_the_next_one_until_it_fires, "TMR-9") {
    add_timer(note_next_date, &next_dates[0], 1000, 0);
    add_timer(note_next_date, &next_dates[1], 2000, 0);
    poll_mode(M);
    CHECK_INT(next_dates[0], 2000);
    CHECK_INT(next_dates[1], 0);
}

TEST_MAIN()
