/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * mutation_test.c: what one callback does to the items that the same pass or notification has
 * collected: every cell of the matrix of section 12, and what a callback does to its own item. */
#include "scene.h"

/* The matrix's three columns. In each, a comes before b, and both are ready. Observers hear of one
 * activity only, so that a call of anybody is one word. */
enum { COLUMNS = 3 };
static const enum kind columns[COLUMNS] = {SOURCE, TIMER, OBSERVER};
static actor a, b;
static void set_column(int column) {
    enum kind kind = columns[column];
    a = (actor){kind, "a", .order = 1, .activities = TREADLE_BEFORE_SOURCES, .after = -SECONDS(2), .interval = FAR};
    b = (actor){kind, "b", .order = 2, .activities = TREADLE_BEFORE_SOURCES, .after = -SECONDS(1), .interval = FAR,
        .loud = true};
}
static void signal_if_source(actor *self) {
    if (self->kind == SOURCE) PERFORM(SIGNAL, self);
}
/* b is added and signalled first if it is a source: its order decides, not its place. */
static void open_scene(const char *mode_of_b) {
    keep_mode(MODE_A);
    enter(&b, mode_of_b);
    enter(&a, MODE_A);
    signal_if_source(&b);
    signal_if_source(&a);
    trace_clear();
}
static void end(actor *self) {
    PERFORM(INVALIDATE, self);
    PERFORM(RELEASE, self);
    CHECK_INT(self->releases, self->retains);
    CHECK_INT(self->cancels, self->schedules);
    if (self->kind == DESCRIPTOR) close(self->fd);
    trace_clear();
}
static void close_scene(void) {
    end(&a);
    end(&b);
}

TEST(an_invalidated_item_is_not_called, "OBJ-9 SRC0-7 TMR-13 OBS-4") {
    static const char *expected[COLUMNS] = {"a b.cancel timed-out timed-out", "a b.gone timed-out timed-out",
        "a b.gone timed-out a timed-out"};
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        a.does[0] = (deed){INVALIDATE, &b};
        open_scene(MODE_A);
        play(MODE_A, 0, 0);
        play(MODE_A, 0, 0);
        CHECK_TRACE(expected[i]);
        close_scene();
    }
}

TEST(an_item_removed_from_its_only_mode_is_not_called, "OBJ-9 SRC0-3 TMR-13 OBS-4 D-08") {
    /* In particular, no perform follows a cancel, which may have freed what perform needs. */
    static const char *expected[COLUMNS] = {"a b.cancel timed-out timed-out", "a timed-out timed-out",
        "a timed-out a timed-out"};
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        a.does[0] = (deed){REMOVE, &b};
        open_scene(MODE_A);
        play(MODE_A, 0, 0);
        play(MODE_A, 0, 0);
        CHECK_TRACE(expected[i]);
        close_scene();
    }
}

TEST(an_item_removed_from_the_running_mode_is_not_called, "OBJ-9 TMR-13 OBS-4 D-08") {
    /* It is in another mode too, and is called when that is run. */
    static const char *expected[COLUMNS] = {"a b.cancel timed-out b timed-out", "a timed-out b timed-out",
        "a timed-out b timed-out"};
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        a.does[0] = (deed){REMOVE, &b, MODE_A};
        keep_mode(MODE_B);
        open_scene(MODE_A);
        enter(&b, MODE_B);
        trace_clear();
        play(MODE_A, 0, 0);
        play(MODE_B, 0, 0);
        CHECK_TRACE(expected[i]);
        close_scene();
    }
}

TEST(an_item_removed_from_the_common_modes_is_not_called, "OBJ-9 MODE-8 D-08") {
    static const char *expected[COLUMNS] = {"a b.cancel timed-out timed-out", "a timed-out timed-out",
        "a timed-out a timed-out"};
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        a.does[0] = (deed){REMOVE, &b, COMMON};
        open_scene(COMMON);
        play(MODE_A, 0, 0);
        play(MODE_A, 0, 0);
        CHECK_TRACE(expected[i]);
        close_scene();
    }
}

TEST(a_new_ready_item_waits_for_the_next_pass, "SRC0-9 TMR-11 OBS-3") {
    static const char *expected[COLUMNS] = {"a b timed-out c timed-out", "a b timed-out c timed-out",
        "a b timed-out a b c timed-out"};
    static actor newcomers[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        newcomers[i] = (actor){columns[i], "c", .order = 3, .activities = TREADLE_BEFORE_SOURCES};
        a.does[0] = (deed){ADD, &newcomers[i]};
        if (columns[i] == SOURCE) a.does[1] = (deed){SIGNAL, &newcomers[i]};
        open_scene(MODE_A);
        play(MODE_A, 0, 0);
        play(MODE_A, 0, 0);
        CHECK_TRACE(expected[i]);
        end(&newcomers[i]);
        close_scene();
    }
}

TEST(an_item_served_by_a_nested_run, "RUN-13 SRC0-10 TMR-11 OBS-5") {
    /* Skipped outside; but an observer is told of the outer run's activity as well. */
    static const char *expected[COLUMNS] = {"a ( b )timed-out timed-out", "a ( b )timed-out timed-out",
        "a ( b )timed-out b timed-out"};
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        a.does[0] = (deed){RUN};
        open_scene(MODE_A);
        play(MODE_A, 0, 0);
        CHECK_TRACE(expected[i]);
        close_scene();
    }
}

TEST(the_last_client_reference_may_go, "OBJ-3 OBJ-4") {
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        a.does[0] = (deed){RELEASE, &b};
        open_scene(MODE_A);
        play(MODE_A, 0, 0);
        CHECK_TRACE("a b timed-out"); /* the mode holds it still */
        CHECK_INT(b.releases, b.retains - 1);
        PERFORM(REMOVE, &b);
        CHECK_INT(b.releases, b.retains);
        CHECK_INT(perform_deed(&(deed){RELEASE, &b}, NULL), TREADLE_E_STALE);
        end(&a);
    }
}

TEST(the_last_reference_may_go, "OBJ-3 OBJ-4 D-08") {
    static const char *expected[COLUMNS] = {"a b.cancel b.gone timed-out", "a b.gone timed-out", "a b.gone timed-out"};
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        a.does[0] = (deed){REMOVE, &b};
        a.does[1] = (deed){RELEASE, &b};
        open_scene(MODE_A);
        play(MODE_A, 0, 0);
        CHECK_TRACE(expected[i]);
        CHECK_INT(b.releases, b.retains);
        end(&a);
    }
}

/* What a callback does to its own item. */
static void write_return(actor *self) {
    (void)self;
    trace("returns");
}

TEST(an_item_may_give_itself_up, "OBJ-3 SRC0-2 TMR-7 OBS-8 D-17") {
    /* The last reference of all goes inside the callback; what it needs lives until it has returned. */
    static const char *expected[COLUMNS] = {"b b.cancel returns b.gone timed-out", "b returns b.gone timed-out",
        "b returns b.gone timed-out"};
    for (int i = 0; i < COLUMNS; i++) {
        set_column(i);
        b.does[0] = (deed){REMOVE}, b.does[1] = (deed){RELEASE}, b.does[2] = (deed){CALL, .call = write_return};
        enter(&b, MODE_A);
        signal_if_source(&b);
        keep_mode(MODE_A);
        trace_clear();
        play(MODE_A, 0, 0);
        CHECK_TRACE(expected[i]);
        CHECK_INT(b.releases, b.retains);
    }
}

TEST(an_item_that_ends_itself_is_not_called_again, "OBJ-9 SRC0-4 RUN-8") {
    /* It makes itself ready again first. A mode emptied that way ends the run. */
    static const char *expected[2 * COLUMNS] = {
        "b b.cancel returns finished", "b returns b.gone finished", "b returns b.gone timed-out timed-out",
        "b b.cancel returns finished", "b returns finished", "b returns timed-out timed-out"};
    for (int i = 0; i < 2 * COLUMNS; i++) {
        set_column(i % COLUMNS);
        const char *mode = b.kind == OBSERVER ? MODE_B : MODE_A;
        if (b.kind == SOURCE) b.does[0] = (deed){SIGNAL};
        else if (b.kind == TIMER) b.does[0] = (deed){MOVE, .ns = -1};
        else b.does[0] = (deed){WAKE};
        b.does[1] = (deed){i < COLUMNS ? INVALIDATE : REMOVE, .mode = mode};
        b.does[2] = (deed){CALL, .call = write_return};
        enter(&b, mode);
        signal_if_source(&b);
        trace_clear();
        if (b.kind == OBSERVER) {
            keep_mode(mode);
            play(mode, 0, 0);
            play(mode, 0, 0);
        } else {
            play(mode, TREADLE_FOREVER, 0);
        }
        CHECK_TRACE(expected[i]);
        end(&b);
    }
}

/* Across the kinds: whoever comes earlier in the pass takes away what comes later in it. */
TEST(an_earlier_callback_takes_away_a_later_item, "OBJ-9 D-08") {
    static const enum kind killers[] = {OBSERVER, BLOCK, SOURCE}, victims[] = {SOURCE, TIMER, DESCRIPTOR};
    for (int i = 0; i < 18; i++) {
        a = (actor){killers[i % 3], "a", {{i < 9 ? REMOVE : INVALIDATE, &b}}, .order = -1,
            .activities = TREADLE_BEFORE_SOURCES};
        b = (actor){victims[i / 3 % 3], "b", .order = 1};
        keep_mode(MODE_A);
        enter(&b, MODE_A);
        signal_if_source(&b);
        if (a.kind == BLOCK) PERFORM(QUEUE, &a);
        else enter(&a, MODE_A);
        signal_if_source(&a);
        play(MODE_A, 0, 0);
        CHECK_TRACE("a timed-out");
        end(&b);
        if (a.kind != BLOCK) end(&a);
    }
}

TEST(of_two_ready_descriptors_one_takes_the_other_away, "OBJ-9 D-08") {
    /* They may come out of the kernel together; the second must not be called all the same. */
    for (int i = 0; i < 2; i++) {
        enum verb verb = i ? REMOVE : INVALIDATE;
        a = (actor){DESCRIPTOR, "", {{verb, &b}}, .permanent = true};
        b = (actor){DESCRIPTOR, "", {{verb, &a}}, .permanent = true};
        enter(&a, MODE_A);
        enter(&b, MODE_A);
        for (int pass = 0; pass < 5; pass++) play(MODE_A, 0, 0);
        CHECK_TRACE("timed-out timed-out timed-out timed-out timed-out");
        CHECK(a.calls + b.calls == 5 && (a.calls == 0 || b.calls == 0));
        close_scene();
    }
}

enum { CROWD = 40 };
static actor crowd[CROWD];
static int crowd_calls(void) {
    int calls = 0;
    for (int i = 0; i < CROWD; i++) calls += crowd[i].calls;
    return calls;
}
static int calls_until_then;
static void invalidate_the_others(actor *self) {
    for (int i = 0; i < CROWD; i++)
        if (&crowd[i] != self) PERFORM(INVALIDATE, &crowd[i]);
    calls_until_then = crowd_calls();
}

TEST(a_callback_may_invalidate_everybody_else, "OBJ-9 OBJ-7 D-08") {
    static const enum kind kinds[] = {SOURCE, TIMER, DESCRIPTOR, OBSERVER};
    static const deed killing[] = {{CALL, .call = invalidate_the_others}, {STOP}};
    for (int killer = 0; killer < 4; killer++) {
        for (int i = 0; i < CROWD; i++) {
            crowd[i] = (actor){kinds[i % 4], "", .activities = TREADLE_BEFORE_SOURCES, .after = -1 - i,
                .interval = FAR};
            if (i == killer) memcpy(crowd[i].does, killing, sizeof killing);
            enter(&crowd[i], MODE_A);
            signal_if_source(&crowd[i]);
        }
        play(MODE_A, TREADLE_FOREVER, 0);
        CHECK_TRACE("stopped");
        CHECK_INT(crowd_calls(), calls_until_then);
        CHECK_INT(crowd[killer].calls, 1);
        for (int i = 0; i < CROWD; i++) end(&crowd[i]);
    }
}

TEST_MAIN()
