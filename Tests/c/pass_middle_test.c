/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pass_middle_test.c: several sources that signal themselves in each pass of a run that never sleeps. Whatever is done to
 * them in the middle of a pass has the same order of callbacks in an early pass and in a late one, and in some cases the
 * rules tell which. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE
#define SECOND "test.second"
enum { COUNT = 4, EARLY = 2, LATE = 3000, AFTER = 4 };

static treadle_loop loop;
static treadle_source sources[COUNT];
static long passes, scene_at;
static void (*scene)(void);
static char record[256];
static size_t length;
static bool is_recording, has_descriptor;

static void put(char what) {
    if (is_recording && length < sizeof record - 1) record[length++] = what;
}
static void signal_one(int number) { CHECK_INT(treadle_source_signal(sources[number]), TREADLE_OK); }
static void perform(treadle_source source, void *info) {
    int number = (int)(intptr_t)info;
    if (number == 0 && ++passes == scene_at) is_recording = true;
    put((char)('0' + number));
    /* The scene is played before the second of them, in the middle of the pass. */
    if (number == 0 && passes == scene_at) scene();
    if (number == 0 && passes >= scene_at + AFTER) CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    else if (treadle_source_is_valid(source)) signal_one(number);
    if (number == 0) put('.');
}
static void put_block(void *info) { (void)info, put('b'); }
static void put_ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info, put('d'); }

/* What was recorded, from the scene on, when it is played in one pass. */
static void *record_scene(void *at) {
    treadle_descriptor silent = NULL;
    loop = treadle_loop_current();
    passes = 0, length = 0, is_recording = false;
    scene_at = (long)(intptr_t)at;
    for (intptr_t i = 0; i < COUNT; i++) {
        sources[i] = make_source(perform, (void *)i);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
        signal_one((int)i);
    }
    if (has_descriptor) {
        silent = make_descriptor(put_ready, NULL, eventfd(0, EFD_CLOEXEC), TREADLE_READABLE);
        CHECK_INT(treadle_loop_add_descriptor(loop, silent, MODE), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    for (int i = 0; i < COUNT; i++) {
        CHECK(treadle_source_invalidate(sources[i]) >= 0);
        CHECK_INT(treadle_source_release(sources[i]), TREADLE_OK);
    }
    if (silent) {
        CHECK_INT(treadle_descriptor_invalidate(silent), TREADLE_OK);
        CHECK_INT(treadle_descriptor_release(silent), TREADLE_OK);
    }
    record[length] = 0;
    return NULL;
}
/* Each on a thread of its own, whose loop is a fresh one. `expected` is how it begins. */
static void play(void (*played)(void), const char *expected) {
    char early[sizeof record];
    scene = played;
    for (int i = 0; i < 2; i++) {
        has_descriptor = i == 1;
        on_thread(record_scene, (void *)(intptr_t)EARLY);
        memcpy(early, record, sizeof early);
        CHECK(strncmp(early, expected, strlen(expected)) == 0);
        on_thread(record_scene, (void *)(intptr_t)LATE);
        CHECK(strcmp(early, record) == 0);
    }
}

static void do_nothing(void) {}
static void run_inside(void) {
    put('(');
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    put(')');
}
static void return_inside(void) {
    put('(');
    CHECK_INT(treadle_loop_run(loop, MODE, SECONDS(60), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    put(')');
}
static void run_elsewhere(void) {
    treadle_source other = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(loop, other, SECOND), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, SECOND, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_source_invalidate(other), TREADLE_OK);
    CHECK_INT(treadle_source_release(other), TREADLE_OK);
}
TEST(passes_of_several_keep_their_order, "SRC0-7 SRC0-9") { play(do_nothing, "0.1230.1230.123"); }
TEST(a_run_inside_performs_what_the_pass_has_not_reached, "RUN-13 SRC0-7 SRC0-9") {
    play(run_inside, "0(123).1230.123");
    play(return_inside, "0(1).1230.123");
    play(run_elsewhere, "0.1230.123");
}

static void leave(void) { CHECK_INT(treadle_loop_remove_source(loop, sources[1], MODE), TREADLE_OK); }
static void join(void) { CHECK_INT(treadle_loop_add_source(loop, sources[1], MODE), TREADLE_OK); }
static void leave_and_join(void) { leave(), join(); }
static void leave_join_and_signal(void) { leave(), join(), signal_one(1); }
static void leave_last(void) { CHECK_INT(treadle_loop_remove_source(loop, sources[COUNT - 1], MODE), TREADLE_OK); }
static void invalidate(void) { CHECK_INT(treadle_source_invalidate(sources[1]), TREADLE_OK); }
static void replace(void) {
    /* Its place is taken by another one, which goes on as it did. */
    CHECK_INT(treadle_source_invalidate(sources[1]), TREADLE_OK);
    CHECK_INT(treadle_source_release(sources[1]), TREADLE_OK);
    sources[1] = make_source(perform, (void *)(intptr_t)1);
    join(), signal_one(1);
}
static void join_second(void) { CHECK_INT(treadle_loop_add_source(loop, sources[2], SECOND), TREADLE_OK); }
TEST(what_leaves_in_the_middle_of_a_pass_is_not_performed_in_it, "OBJ-9 D-08 SRC0-4 SRC0-10") {
    play(leave, "0.230.230.23");
    play(leave_last, "0.120.120.12");
    play(invalidate, "0.230.230.23");
    play(leave_and_join, "0.2310.23");
    play(leave_join_and_signal, "0.2310.23");
    play(replace, "0.2310.23");
    play(join_second, "0.1230.123");
}

static void *do_there(void *what) {
    (*(void (**)(void))what)();
    return NULL;
}
static void (*thing)(void);
static void do_it_there(void) { on_thread(do_there, (void *)&thing); }
static void signal_next(void) { signal_one(1); }
static void signal_first(void) { signal_one(0); }
TEST(another_thread_does_the_same_in_the_middle_of_a_pass, "OBJ-6 OBJ-9 SRC0-6 SRC0-7") {
    static void (*const things[])(void) = {leave, leave_last, invalidate, leave_and_join, join_second, signal_next, signal_first};
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        thing = things[i];
        play(do_it_there, "0");
    }
}

static void post(void) { CHECK_INT(treadle_loop_post(loop, put_block, NULL), TREADLE_OK); }
static void stop(void) { CHECK_INT(treadle_loop_stop(loop), TREADLE_OK); }
static void come_ready(void) {
    treadle_descriptor descriptor = make_descriptor(put_ready, NULL, eventfd(1, EFD_CLOEXEC), TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
}
TEST(what_comes_in_the_middle_of_a_pass_waits_for_its_end, "PASS-6 PASS-12 STOP-2 STOP-4") {
    play(post, "0.123b0.123");
    play(come_ready, "0.123d0.123");
    play(stop, "0.123");
}

TEST_MAIN()
