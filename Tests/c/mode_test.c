/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * mode_test.c: modes, their names, what is in them, when they are empty. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

TEST(modes_are_told_apart_by_their_text, "MODE-1 D-20") {
    treadle_loop loop = treadle_loop_current();
    char name[64], copy[64], common[] = TREADLE_COMMON_MODES;
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        strcpy(name, "a mode of text");
        strcpy(copy, name);
        CHECK_INT(kinds[k]->add(loop, probe.item, name), TREADLE_OK);
        memset(name, 'x', sizeof name - 1); /* the name was copied */
        CHECK(kinds[k]->contains(loop, probe.item, copy));
        CHECK(!kinds[k]->contains(loop, probe.item, "a mode of tex") && !kinds[k]->contains(loop, probe.item, "A mode of text"));
        CHECK_INT(kinds[k]->add(loop, probe.item, copy), TREADLE_IGNORED);
        CHECK_INT(kinds[k]->remove(loop, probe.item, copy), TREADLE_OK);
        /* The common modes too are known by their text, in another place of memory. */
        CHECK_INT(kinds[k]->add(loop, probe.item, common), TREADLE_OK);
        CHECK(kinds[k]->contains(loop, probe.item, common) && kinds[k]->contains(loop, probe.item, TREADLE_COMMON_MODES));
        CHECK(kinds[k]->contains(loop, probe.item, MODE) && !mode_exists(loop, TREADLE_COMMON_MODES));
        CHECK_INT(kinds[k]->remove(loop, probe.item, common), TREADLE_OK);
        CHECK(!kinds[k]->contains(loop, probe.item, MODE));
        probe_end(&probe);
    }
}

TEST(names_may_be_long_and_in_any_script, "MODE-1 RL-7 RL-6") {
    static char name[3000], read[4000];
    treadle_source source = make_source(NULL, NULL);
    size_t length = 0;
    for (int i = 0; i < 999; i++) memcpy(name + 3 * i, "\xe2\x82\xac", 3);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, name), TREADLE_OK);
    CHECK(treadle_loop_contains_source(treadle_loop_current(), source, name));
    CHECK_INT(treadle_loop_get_modes(treadle_loop_current(), read, sizeof read, &length), TREADLE_OK);
    CHECK_INT(length, strlen(name) + 1 + sizeof MODE);
    CHECK(mode_exists(treadle_loop_current(), name));
    CHECK_INT(poll_mode(name), TREADLE_RUN_TIMED_OUT);
    treadle_source_invalidate(source);
    treadle_source_release(source);
}

TEST(the_constants_are_the_documented_ones, "MODE-2 ABI-6") {
    treadle_loop loop = treadle_loop_current();
    static const char *const ordinary[] = {"NSModalPanelRunLoopMode", "NSEventTrackingRunLoopMode", "NSConnectionReplyMode"};
    CHECK_TEXT(TREADLE_DEFAULT_MODE, "kCFRunLoopDefaultMode");
    CHECK_TEXT(TREADLE_COMMON_MODES, "kCFRunLoopCommonModes");
    for (int i = 0; i < 3; i++) {
        treadle_source source = keep_mode(ordinary[i]);
        CHECK(mode_exists(loop, ordinary[i]) && !treadle_loop_is_common_mode(loop, ordinary[i]));
        CHECK(!treadle_loop_contains_source(loop, source, MODE));
        treadle_source_invalidate(source);
        treadle_source_release(source);
    }
}

static void count(void *info) { ++*(int *)info; }
TEST(null_as_a_mode_has_no_effect, "MODE-3 RUN-1") {
    treadle_loop loop = treadle_loop_current();
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_ERROR(kinds[k]->add(loop, probe.item, NULL), TREADLE_E_ARG, "mode");
        CHECK_ERROR(kinds[k]->remove(loop, probe.item, NULL), TREADLE_E_ARG, "mode");
        CHECK(!kinds[k]->contains(loop, probe.item, NULL) && !kinds[k]->contains(loop, probe.item, MODE));
        probe_end(&probe);
    }
    int destroyed = 0;
    int64_t time = 1;
    const char *modes[] = {MODE, NULL};
    treadle_post block = {.struct_size = sizeof block, .modes = modes, .mode_count = 2, .fn = count, .info = &destroyed, .destroy = count};
    CHECK_INT(poll_mode(NULL), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_run(loop, NULL, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_ERROR(treadle_loop_add_common_mode(loop, NULL), TREADLE_E_ARG, "mode");
    CHECK(!treadle_loop_is_common_mode(loop, NULL));
    CHECK_ERROR(treadle_loop_get_next_fire(loop, NULL, &time), TREADLE_E_ARG, "mode");
    CHECK_INT(time, 0);
    CHECK_ERROR(post_block(loop, &block), TREADLE_E_ARG, "mode");
    CHECK_INT(destroyed, 1);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}

TEST(only_items_of_the_running_mode_take_part, "MODE-4 SRC0-6 SRC1-9 TMR-16") {
    treadle_loop loop = treadle_loop_current();
    treadle_source keeper = keep_mode("other");
    CHECK_INT(treadle_loop_add_source(loop, keeper, "mine"), TREADLE_OK);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(loop, probe.item, "mine"), TREADLE_OK);
        for (int i = 0; i < 3; i++) CHECK_INT(poll_mode("other"), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(probe.calls, 0);
        if (k == 0) CHECK(treadle_source_is_signalled(probe.item));
        CHECK_INT(poll_mode("mine"), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(probe.calls, 1);
        CHECK_INT(poll_mode("mine"), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(probe.calls, k < 2 ? 1 : 2); /* the observer is told again, the descriptor still ready */
        probe_end(&probe);
    }
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

static treadle_loop loop_a;
static void *add_to_second_loop(void *info) {
    struct probe *probe = info;
    treadle_loop mine = treadle_loop_current();
    bool moves = probe->kind == &timer_kind || probe->kind == &observer_kind;
    /* In two modes of the first loop; a timer and an observer must have left both. */
    CHECK_INT(probe->kind->add(mine, probe->item, MODE), moves ? TREADLE_IGNORED : TREADLE_OK);
    CHECK_INT(probe->kind->contains(mine, probe->item, MODE), !moves);
    CHECK_INT(probe->kind->add(mine, probe->item, TREADLE_COMMON_MODES), moves ? TREADLE_IGNORED : TREADLE_OK);
    CHECK_INT(probe->kind->remove(loop_a, probe->item, "one"), TREADLE_OK);
    CHECK_INT(probe->kind->add(mine, probe->item, "two"), moves ? TREADLE_IGNORED : TREADLE_OK);
    CHECK_INT(probe->kind->remove(loop_a, probe->item, "two"), TREADLE_OK);
    if (moves) CHECK_INT(probe->kind->add(mine, probe->item, MODE), TREADLE_OK);
    CHECK(probe->kind->contains(mine, probe->item, MODE));
    CHECK(!mode_exists(mine, TREADLE_COMMON_MODES) && mode_exists(mine, "two") == !moves);
    return NULL;
}
TEST(an_item_in_several_modes_and_loops, "MODE-5 OBS-7 TMR-6 SRC0-11") {
    loop_a = treadle_loop_current();
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(loop_a, probe.item, "one"), TREADLE_OK);
        CHECK_INT(kinds[k]->add(loop_a, probe.item, "two"), TREADLE_OK);
        CHECK(kinds[k]->contains(loop_a, probe.item, "one") && kinds[k]->contains(loop_a, probe.item, "two"));
        on_thread(add_to_second_loop, &probe);
        CHECK(kinds[k]->is_valid(probe.item) && !kinds[k]->contains(loop_a, probe.item, "one"));
        probe_end(&probe);
    }
}

TEST(adding_twice_and_removing_nothing, "MODE-6 SRC0-3 RL-7") {
    treadle_loop loop = treadle_loop_current();
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->remove(loop, probe.item, "never made"), TREADLE_IGNORED);
        CHECK_INT(kinds[k]->remove(loop, probe.item, MODE), TREADLE_IGNORED);
        CHECK_INT(kinds[k]->remove(loop, probe.item, TREADLE_COMMON_MODES), TREADLE_IGNORED);
        CHECK(!mode_exists(loop, "never made"));
        CHECK_INT(probe.cancels, 0);
        for (int i = 0; i < 3; i++) CHECK_INT(kinds[k]->add(loop, probe.item, MODE), i ? TREADLE_IGNORED : TREADLE_OK);
        CHECK_INT(probe.schedules, k == 0);
        for (int i = 0; i < 3; i++) CHECK_INT(kinds[k]->remove(loop, probe.item, MODE), i ? TREADLE_IGNORED : TREADLE_OK);
        CHECK_INT(probe.cancels, k == 0);
        CHECK_INT(kinds[k]->invalidate(probe.item), TREADLE_OK);
        CHECK_INT(kinds[k]->add(loop, probe.item, "for the invalid"), TREADLE_IGNORED);
        CHECK_INT(kinds[k]->add(loop, probe.item, TREADLE_COMMON_MODES), TREADLE_IGNORED);
        CHECK(!mode_exists(loop, "for the invalid"));
        CHECK_INT(probe.schedules, k == 0);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        probe_end(&probe);
    }
}

static void told(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    ++*(int *)info;
}
/* A run of an empty mode returns Finished without a notification: the observer counts none. */
static bool is_empty(const char *mode) {
    int notifications = 0;
    treadle_observer observer = make_observer(told, &notifications, TREADLE_ALL_ACTIVITIES);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, mode), TREADLE_OK);
    treadle_status result = poll_mode(mode);
    treadle_observer_invalidate(observer);
    treadle_observer_release(observer);
    CHECK(result == TREADLE_RUN_FINISHED || result == TREADLE_RUN_TIMED_OUT);
    CHECK_INT(notifications == 0, result == TREADLE_RUN_FINISHED);
    return result == TREADLE_RUN_FINISHED;
}
TEST(what_makes_a_mode_empty, "MODE-7 RUN-1 BLK-4") {
    treadle_loop loop = treadle_loop_current();
    int blocks = 0, fd = eventfd(0, EFD_CLOEXEC);
    const char *there = "there", *common = TREADLE_COMMON_MODES;
    treadle_post block = {.struct_size = sizeof block, .modes = &there, .mode_count = 1, .fn = count, .info = &blocks};
    treadle_source source = make_source(NULL, NULL);
    treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, 0);
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
    CHECK(is_empty("here") && is_empty(MODE)); /* an observer does not count */
    /* Neither need be ready. */
    CHECK_INT(treadle_loop_add_source(loop, source, "here"), TREADLE_OK);
    CHECK(!is_empty("here"));
    CHECK_INT(treadle_loop_remove_source(loop, source, "here"), TREADLE_OK);
    CHECK(is_empty("here"));
    CHECK_INT(treadle_loop_add_timer(loop, timer, "here"), TREADLE_OK);
    CHECK(!is_empty("here"));
    CHECK_INT(treadle_loop_remove_timer(loop, timer, "here"), TREADLE_OK);
    CHECK(is_empty("here"));
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, "here"), TREADLE_OK);
    CHECK(!is_empty("here"));
    CHECK_INT(treadle_descriptor_set_events(descriptor, 0), TREADLE_OK); /* paused, but there */
    CHECK(!is_empty("here"));
    CHECK_INT(treadle_loop_remove_descriptor(loop, descriptor, "here"), TREADLE_OK);
    CHECK(is_empty("here"));
    /* Blocks: only where they may run. */
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK(is_empty("here") && is_empty(MODE) && blocks == 0);
    CHECK(!is_empty("there") && blocks == 1);
    CHECK(is_empty("there"));
    block.modes = &common;
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK(is_empty("here") && blocks == 1);
    CHECK_INT(treadle_loop_add_common_mode(loop, "here"), TREADLE_OK); /* common by now */
    CHECK(!is_empty("here") && blocks == 2);
    CHECK(is_empty("here"));
    treadle_source_release(source);
    treadle_timer_release(timer);
    treadle_descriptor_release(descriptor);
    close(fd);
}

TEST(the_common_modes_are_not_run, "MODE-9 RUN-1 D-20") {
    treadle_loop loop = treadle_loop_current();
    char common[] = TREADLE_COMMON_MODES;
    struct probe source = {0}, observer = {0};
    int notifications = 0, posts = 0;
    treadle_observer all = make_observer(told, &notifications, TREADLE_ALL_ACTIVITIES);
    probe_make(&source, &source_kind);
    probe_make(&observer, &observer_kind);
    CHECK_INT(source_kind.add(loop, source.item, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(observer_kind.add(loop, observer.item, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, all, TREADLE_COMMON_MODES), TREADLE_OK);
    treadle_post block = {.struct_size = sizeof block, .fn = count, .info = &posts};
    CHECK_INT(treadle_loop_post(loop, count, &posts), TREADLE_OK);
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_loop_run(loop, i ? common : TREADLE_COMMON_MODES, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(notifications + source.calls + observer.calls + posts, 0);
    CHECK(!mode_exists(loop, TREADLE_COMMON_MODES));
    CHECK_ERROR(treadle_loop_add_common_mode(loop, common), TREADLE_E_ARG, "mode");
    CHECK(!treadle_loop_is_common_mode(loop, common));
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK(notifications > 0 && source.calls == 1 && posts == 2);
    probe_end(&source);
    probe_end(&observer);
    treadle_observer_invalidate(all);
    treadle_observer_release(all);
}

static void nothing(void *info) { (void)info; }
static void request_nothing(void *target, void *argument) { (void)target, (void)argument; }

/* Wherever a mode is named: one that there is none of, and never can be. */
TEST(a_name_that_is_not_utf8_is_refused, "MODE-1 RL-7") {
    static const char *const malformed[] = {"\xff", "a\xc0\x80", "\xed\xa0\x80", "cut \xe2\x9a"};
    treadle_loop loop = treadle_loop_current();
    treadle_source source = keep_mode(MODE);
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        const char *mode = malformed[i];
        treadle_post block = {.struct_size = sizeof block, .modes = &mode, .mode_count = 1, .fn = nothing};
        treadle_request request = {.struct_size = sizeof request, .fn = request_nothing};
        size_t count;
        int64_t date;
        CHECK_ERROR(treadle_loop_run(loop, mode, 0, 0), TREADLE_E_ARG, "mode is not UTF-8");
        CHECK_ERROR(treadle_loop_add(loop, source, mode), TREADLE_E_ARG, "mode is not UTF-8");
        CHECK_ERROR(treadle_loop_remove(loop, source, mode), TREADLE_E_ARG, "mode is not UTF-8");
        CHECK_ERROR(treadle_loop_add_common_mode(loop, mode), TREADLE_E_ARG, "mode is not UTF-8");
        CHECK_ERROR(treadle_loop_get_next_fire(loop, mode, &date), TREADLE_E_ARG, "mode is not UTF-8");
        CHECK_ERROR(treadle_loop_copy_items(loop, mode, NULL, 0, &count), TREADLE_E_ARG, "mode is not UTF-8");
        CHECK_ERROR(post_block(loop, &block), TREADLE_E_ARG, "modes contains a name that is not UTF-8");
        CHECK_ERROR(perform_on(treadle_thread_current(), &request, &mode, 1, 0), TREADLE_E_ARG, "modes contains a name that is not UTF-8");
        CHECK_ERROR(perform_after(1, &request, &mode, 1), TREADLE_E_ARG, "modes contains a name that is not UTF-8");
        CHECK(!treadle_loop_contains(loop, source, mode) && !treadle_loop_is_common_mode(loop, mode));
    }
    char names[256];
    size_t length;
    CHECK_INT(treadle_loop_get_modes(loop, names, sizeof names, &length), TREADLE_OK);
    CHECK_INT(length, sizeof MODE);
    CHECK_INT(treadle_loop_add(loop, source, "\xe2\x9a\x99"), TREADLE_OK);
    CHECK_INT(poll_mode("\xe2\x9a\x99"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

TEST_MAIN()
