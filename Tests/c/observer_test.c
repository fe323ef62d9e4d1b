/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * observer_test.c: what observers are told, in which order, how often, and what they may do then. */
#include "scene.h"

TEST(the_activities_and_their_values, "OBS-1 ABI-6") {
    CHECK_INT(TREADLE_ENTRY, 0x1);
    CHECK_INT(TREADLE_BEFORE_TIMERS, 0x2);
    CHECK_INT(TREADLE_BEFORE_SOURCES, 0x4);
    CHECK_INT(TREADLE_BEFORE_WAITING, 0x20);
    CHECK_INT(TREADLE_AFTER_WAITING, 0x40);
    CHECK_INT(TREADLE_EXIT, 0x80);
    CHECK_INT(TREADLE_ALL_ACTIVITIES, 0x0FFFFFFF);
    uint32_t activities = 0;
    treadle_observer observer = make_observer(NULL, NULL, TREADLE_EXIT | TREADLE_ENTRY);
    CHECK_INT(treadle_observer_get_activities(observer, &activities), TREADLE_OK);
    CHECK_INT(activities, 0x81);
    CHECK(treadle_observer_repeats(observer));
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
}

TEST(an_observer_hears_only_what_it_asked_for, "OBS-1") {
    /* One at a time: the mask is never passed on whole, and an unknown bit asks for nothing. */
    static actor timer = {TIMER, NULL};
    static actor ends = {OBSERVER, "ends", .activities = TREADLE_ENTRY | TREADLE_EXIT};
    static actor sleeps = {OBSERVER, "sleeps", .activities = TREADLE_BEFORE_WAITING | TREADLE_AFTER_WAITING};
    static actor all = {OBSERVER, "all", .activities = TREADLE_ALL_ACTIVITIES},
        none = {OBSERVER, "none", .activities = 0x8};
    enter(&ends, MODE_A);
    enter(&sleeps, MODE_A);
    enter(&all, MODE_A);
    enter(&none, MODE_A);
    enter(&timer, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("ends.entry all.entry all.timers all.sources sleeps.sleep all.sleep sleeps.wake all.wake ends.exit "
                "all.exit finished");
}

TEST(observers_are_called_in_their_order, "OBS-2") {
    static actor c = {OBSERVER, "c", .activities = TREADLE_EXIT, .order = 5},
        a = {OBSERVER, "a", .activities = TREADLE_EXIT, .order = INT64_MIN};
    static actor d1 = {OBSERVER, "d1", .activities = TREADLE_EXIT, .order = INT64_MAX},
        d2 = {OBSERVER, "d2", .activities = TREADLE_EXIT, .order = INT64_MAX};
    static actor b1 = {OBSERVER, "b1", .activities = TREADLE_EXIT}, b2 = {OBSERVER, "b2", .activities = TREADLE_EXIT};
    actor *cast[] = {&c, &d1, &b1, &a, &b2, &d2};
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    for (int i = 0; i < 6; i++) enter(cast[i], MODE_A);
    /* Equal orders go by the order of adding to that mode, whatever it was in another. */
    enter(&b2, MODE_B);
    enter(&b1, MODE_B);
    play(MODE_A, 0, 0);
    CHECK_TRACE("a b1 b2 c d1 d2 timed-out");
    play(MODE_B, 0, 0);
    CHECK_TRACE("b2 b1 timed-out");
    /* One that leaves and returns is the last of its equals. */
    PERFORM(REMOVE, &b1);
    enter(&b1, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("a b2 b1 c d1 d2 timed-out");
    int64_t order = 0;
    CHECK_INT(treadle_observer_get_order(d1.handle, &order), TREADLE_OK);
    CHECK(order == INT64_MAX);
}

TEST(an_observer_added_in_a_notification_is_not_part_of_it, "OBS-3") {
    static actor late = {OBSERVER, "late", .activities = TREADLE_BEFORE_TIMERS | TREADLE_BEFORE_SOURCES, .order = 10};
    static actor adder = {OBSERVER, "adder", {{ADD, &late}}, .activities = TREADLE_BEFORE_TIMERS};
    enter(&adder, MODE_A);
    keep_mode(MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("adder late.sources timed-out");
    play(MODE_A, 0, 0);
    CHECK_TRACE("adder late.timers late.sources timed-out");
}

TEST(an_observer_that_left_is_not_called_any_more, "OBS-3 OBS-4 OBJ-9 D-08") {
    static actor invalidated = {OBSERVER, "invalidated", .order = 2, .activities = TREADLE_BEFORE_TIMERS};
    static actor removed = {OBSERVER, "removed", .order = 3, .activities = TREADLE_BEFORE_TIMERS};
    static actor elsewhere = {OBSERVER, "elsewhere", .order = 4, .activities = TREADLE_BEFORE_TIMERS};
    static actor stays = {OBSERVER, "stays", .order = 5, .activities = TREADLE_BEFORE_TIMERS};
    static actor a = {OBSERVER, "a", {{INVALIDATE, &invalidated}, {REMOVE, &removed}, {REMOVE, &elsewhere}},
        .order = 1, .activities = TREADLE_BEFORE_TIMERS};
    actor *cast[] = {&stays, &elsewhere, &removed, &invalidated, &a};
    for (int i = 0; i < 5; i++) enter(cast[i], MODE_A);
    enter(&elsewhere, MODE_B);
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    play(MODE_A, 0, 0);
    play(MODE_B, 0, 0);
    CHECK_TRACE("a stays timed-out elsewhere timed-out");
    CHECK(treadle_observer_is_valid(removed.handle) && !treadle_observer_is_valid(invalidated.handle));
}

TEST(an_observer_is_not_reentered, "OBS-3 OBS-5") {
    /* The nester is not called in its nested run, for any activity; the other one is, and for all. */
    static actor nester = {OBSERVER, "nester", {{RUN}, {RUN, .mode = MODE_B}}, TREADLE_BEFORE_SOURCES, .order = 1};
    static actor other = {OBSERVER, "other", .order = 2};
    enter(&nester, MODE_A);
    enter(&other, MODE_A);
    enter(&nester, MODE_B);
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    play(MODE_A, 0, 0);
    CHECK_TRACE("nester.entry other.entry nester.timers other.timers nester.sources "
                "( other.entry other.timers other.sources other.exit )timed-out ( )timed-out "
                "other.sources nester.exit other.exit timed-out");
    CHECK_INT(nester.calls, 4);
}

TEST(mutual_nesting_ends, "OBS-5") {
    /* Each runs the loop inside of the other; both are executing then, and nobody is left to call. */
    static actor one = {OBSERVER, "one", {{RUN}}, .times = ALWAYS, .activities = TREADLE_BEFORE_TIMERS};
    static actor two = {OBSERVER, "two", {{RUN}}, .times = ALWAYS, .activities = TREADLE_BEFORE_TIMERS};
    enter(&one, MODE_A);
    enter(&two, MODE_A);
    keep_mode(MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("one ( two ( )timed-out )timed-out two ( one ( )timed-out )timed-out timed-out");
}

static void check_valid(actor *self) {
    CHECK(treadle_observer_is_valid(self->handle));
    CHECK(treadle_loop_contains_observer(the_stage(), self->handle, MODE_A));
    CHECK(!treadle_observer_repeats(self->handle));
}

TEST(a_one_shot_observer_is_called_once_in_all, "OBS-6") {
    static actor once = {OBSERVER, "once", {{CALL, .call = check_valid}}, .once = 1, .loud = true};
    enter(&once, COMMON);
    enter(&once, MODE_B);
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    play(MODE_A, 0, 0); /* the first activity that comes */
    play(MODE_B, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("once.entry once.gone timed-out timed-out timed-out");
    CHECK(!treadle_observer_is_valid(once.handle));
    CHECK(!treadle_loop_contains_observer(the_stage(), once.handle, MODE_A));
    CHECK(!treadle_loop_contains_observer(the_stage(), once.handle, MODE_B));
    CHECK(!treadle_loop_contains_observer(the_stage(), once.handle, COMMON));
    CHECK_INT(perform_deed(&(deed){ADD, &once}, NULL), TREADLE_IGNORED);
}

TEST(a_one_shot_observer_is_not_called_by_nested_runs, "OBS-6 OBS-5") {
    static actor once = {OBSERVER, "once", {{RUN}, {RUN, .mode = MODE_B}, {CALL, .call = check_valid}},
        .activities = TREADLE_BEFORE_SOURCES | TREADLE_EXIT, .once = 1};
    enter(&once, MODE_A);
    enter(&once, MODE_B);
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    play(MODE_A, 0, 0);
    CHECK_TRACE("once.sources ( )timed-out ( )timed-out timed-out");
    CHECK(!treadle_observer_is_valid(once.handle));
}

TEST(a_one_shot_observer_is_not_started_by_two_runs, "OBS-6 OBS-3") {
    /* Collected by the outer notification, called by the inner one: its turn outside finds it used up. */
    static actor once = {OBSERVER, "once", .activities = TREADLE_BEFORE_TIMERS, .once = 1, .order = 2};
    static actor nester = {OBSERVER, "nester", {{RUN}}, .activities = TREADLE_BEFORE_TIMERS, .order = 1};
    enter(&once, MODE_A);
    enter(&nester, MODE_A);
    keep_mode(MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("nester ( once )timed-out timed-out");
}

static void *add_to_own_loop(void *info) {
    actor *observer = info;
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_loop_add_observer(loop, observer->handle, MODE_B), TREADLE_IGNORED);
    CHECK(!treadle_loop_contains_observer(loop, observer->handle, MODE_B));
    PERFORM(REMOVE, observer, MODE_A);
    CHECK_INT(treadle_loop_add_observer(loop, observer->handle, MODE_B), TREADLE_OK);
    CHECK(treadle_loop_contains_observer(loop, observer->handle, MODE_B));
    CHECK_INT(treadle_loop_remove_observer(loop, observer->handle, MODE_B), TREADLE_OK);
    return NULL;
}

TEST(an_observer_is_in_one_loop_at_a_time, "OBS-7 MODE-5") {
    static actor observer = {OBSERVER, "observer", .activities = TREADLE_BEFORE_TIMERS};
    enter(&observer, MODE_A);
    keep_mode(MODE_A);
    on_thread(add_to_own_loop, &observer);
    enter(&observer, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("observer timed-out");
}

TEST(the_info_is_released_once_at_the_end, "OBS-8 OBJ-4") {
    static actor many = {OBSERVER, "many", .activities = TREADLE_BEFORE_TIMERS, .loud = true};
    static actor unused = {OBSERVER, "unused", .loud = true};
    enter(&many, MODE_A);
    enter(&many, MODE_B);
    keep_mode(MODE_A);
    for (int i = 0; i < 3; i++) play(MODE_A, 0, 0);
    CHECK_TRACE("many timed-out many timed-out many timed-out");
    CHECK_INT(many.retains, 1); /* not around each call */
    PERFORM(REMOVE, &many);
    PERFORM(REMOVE, &many, MODE_B);
    CHECK_TRACE("");
    PERFORM(INVALIDATE, &many);
    PERFORM(INVALIDATE, &many);
    PERFORM(RELEASE, &many);
    create(&unused);
    PERFORM(RELEASE, &unused);
    CHECK_TRACE("many.gone unused.gone");
}

static void trace_end_of_callback(actor *self) { trace("%s.returns", self->name); }

TEST(the_info_outlives_the_callback_that_ends_its_observer, "OBS-8 D-17") {
    static actor suicide = {OBSERVER, "suicide", {{INVALIDATE}, {CALL, .call = trace_end_of_callback}},
        .activities = TREADLE_BEFORE_TIMERS, .loud = true};
    enter(&suicide, MODE_A);
    keep_mode(MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("suicide suicide.returns suicide.gone timed-out");
    /* Ended by somebody else, while its callback is on the stack below. */
    static actor killer = {SOURCE, "killer"};
    static actor victim = {OBSERVER, "victim", {{SIGNAL, &killer}, {RUN}, {CALL, .call = trace_end_of_callback}},
        .activities = TREADLE_BEFORE_TIMERS, .loud = true};
    killer.does[0] = (deed){INVALIDATE, &victim};
    enter(&killer, MODE_A);
    enter(&victim, MODE_A);
    play(MODE_A, 0, 0);
    CHECK_TRACE("victim ( killer )timed-out victim.returns victim.gone timed-out");
}

TEST(entry_and_exit_come_once_a_run, "OBS-9") {
    static actor ends = {OBSERVER, NULL, .activities = TREADLE_ENTRY | TREADLE_EXIT};
    static actor source = {SOURCE, "source", {{SIGNAL}, {RUN}}, .times = 2};
    enter(&ends, MODE_A);
    enter_signalled(&source, MODE_A);
    play(MODE_A, MILLISECONDS(5), 0); /* several passes */
    CHECK_TRACE("entry source ( entry source ( entry source exit )timed-out exit )timed-out exit timed-out");
}

TEST(what_observers_do_to_the_run, "OBS-10 STOP-3 WAKE-4") {
    static const uint32_t activities[] = {TREADLE_ENTRY, TREADLE_BEFORE_TIMERS, TREADLE_BEFORE_SOURCES,
        TREADLE_BEFORE_WAITING, TREADLE_AFTER_WAITING};
    static const char *modes[] = {"1", "2", "3", "4", "5"};
    static const char *expected[] = {"entry exit stopped", "entry timers sources sleep wake exit stopped",
        "entry timers sources sleep wake exit stopped", "entry timers sources sleep wake exit stopped",
        "entry timers sources sleep wake exit stopped"};
    for (int i = 0; i < 5; i++) {
        static actor stoppers[5], wakers[5];
        stoppers[i] = (actor){OBSERVER, NULL, {{STOP}}, activities[i]};
        wakers[i] = (actor){OBSERVER, "", {{WAKE}}, .activities = TREADLE_BEFORE_WAITING};
        enter(&stoppers[i], modes[i]);
        if (activities[i] == TREADLE_AFTER_WAITING) enter(&wakers[i], modes[i]);
        keep_mode(modes[i]);
        play(modes[i], TREADLE_FOREVER, 0);
        CHECK_TRACE(expected[i]);
    }
}

TEST_MAIN()
