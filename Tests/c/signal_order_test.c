/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal_order_test.c: the loop's own signals and those of other threads are queued apart; they are performed in the
 * order in which they were given all the same, and each once. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;
enum { MANY = 10000 }; /* more than the owner's signals between two of others have numbers for */

static treadle_source *sources;
static int *order, performed;

static void note(treadle_source source, void *info) {
    (void)source;
    order[performed++] = (int)(intptr_t)info;
}
static void *signal_there(void *source) {
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    return NULL;
}
static void make_all(int count, const char *mode) {
    sources = calloc((size_t)count, sizeof *sources);
    order = calloc((size_t)count * 2, sizeof *order);
    for (int i = 0; i < count; i++) {
        sources[i] = make_source(note, (void *)(intptr_t)i);
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), sources[i], mode), TREADLE_OK);
    }
}
static void check_order(int count) {
    CHECK_INT(performed, count);
    for (int i = 0; i < count; i++) CHECK_INT(order[i], i);
    performed = 0;
}

TEST(own_signals_and_others_take_turns, "SRC0-7") {
    make_all(MANY, M);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            /* The first, one in between, two in a row, and the last are another thread's. */
            if (i % 5000 == 0 || i == 5001 || i == MANY - 1) on_thread(signal_there, sources[i]);
            else CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        }
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        check_order(MANY);
    }
}

/* The first of another thread's signals is queued apart from those that follow it. */
TEST(signals_of_another_thread_keep_their_order, "SRC0-6 SRC0-7") {
    enum { COUNT = 6 };
    make_all(COUNT, M);
    for (int count = 1; count <= COUNT; count++) {
        for (int i = 0; i < count; i++) on_thread(signal_there, sources[i]);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        check_order(count);
    }
    /* One that has left since is forgotten, first or not. */
    for (int gone = 0; gone < COUNT; gone++) {
        for (int i = 0; i < COUNT; i++) on_thread(signal_there, sources[i]);
        CHECK_INT(treadle_loop_remove_source(treadle_loop_current(), sources[gone], M), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(performed, COUNT - 1);
        for (int i = 0; i < COUNT - 1; i++) CHECK_INT(order[i], i < gone ? i : i + 1);
        performed = 0;
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), sources[gone], M), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(performed, 1); /* its signal was kept */
        performed = 0;
    }
    /* A run that returns after each leaves the others in their order, and those that come meanwhile behind them. */
    for (int i = 0; i < COUNT; i++) {
        on_thread(signal_there, sources[i]);
        if (i % 2 == 0) continue;
        CHECK_INT(treadle_loop_run(treadle_loop_current(), M, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    }
    CHECK_INT(performed, COUNT / 2);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    check_order(COUNT);
}

TEST(an_order_goes_before_the_time_of_own_signals, "SRC0-7") {
    treadle_source_context context = {.struct_size = sizeof context, .perform = note, .info = (void *)0, .order = -1};
    treadle_source first;
    order = calloc(4, sizeof *order);
    CHECK_INT(treadle_source_create(&context, &first), TREADLE_OK);
    treadle_source second = make_source(note, (void *)1), third = make_source(note, (void *)2);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), first, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), second, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), third, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(second), TREADLE_OK);
    CHECK_INT(treadle_source_signal(third), TREADLE_OK);
    CHECK_INT(treadle_source_signal(first), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    check_order(3);
    /* Two of them, in the next run. */
    CHECK_INT(treadle_source_signal(third), TREADLE_OK);
    CHECK_INT(treadle_source_signal(first), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performed, 2);
    CHECK_INT(order[0], 0);
    CHECK_INT(order[1], 2);
}

/* A source that the owner has signalled, and that has left its mode since. */
TEST(an_own_signal_goes_with_its_source, "SRC0-6 SRC0-11") {
    treadle_loop loop = treadle_loop_current();
    make_all(2, "here");
    CHECK_INT(treadle_source_signal(sources[0]), TREADLE_OK);
    CHECK_INT(treadle_source_signal(sources[1]), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(loop, sources[1], "here"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, sources[1], "there"), TREADLE_OK);
    CHECK_INT(poll_mode("here"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performed, 1);
    CHECK_INT(order[0], 0);
    CHECK_INT(poll_mode("there"), TREADLE_RUN_TIMED_OUT);
    check_order(2);
    /* There and back again: once. */
    CHECK_INT(treadle_source_signal(sources[0]), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(loop, sources[0], "here"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, sources[0], "here"), TREADLE_OK);
    CHECK_INT(poll_mode("here"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(poll_mode("here"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performed, 1);
}

/* Each of them signals itself, in a run inside of the first one's callback as well: the outer run finds signals there
 * that belong to the next pass. */
static int inner_runs;
static void note_and_nest(treadle_source source, void *info) {
    note(source, info);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    if (info == (void *)0 && inner_runs++ == 0) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
}
TEST(each_is_performed_once_a_pass, "SRC0-8 SRC0-9 RUN-13") {
    order = calloc(16, sizeof *order);
    for (int i = 0; i < 3; i++) {
        treadle_source source = make_source(note_and_nest, (void *)(intptr_t)i);
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, M), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    /* The first one; inside of it the rest of its pass and its own new signal, in the order of their times. */
    CHECK_INT(order[0], 0);
    CHECK_INT(order[1], 1);
    CHECK_INT(order[2], 2);
    CHECK_INT(order[3], 0);
    CHECK(performed <= 6);
    for (int round = 0; round < 3; round++) {
        int times[3] = {0};
        performed = 0;
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(performed, 3);
        for (int i = 0; i < 3; i++) times[order[i]]++;
        for (int i = 0; i < 3; i++) CHECK_INT(times[i], 1);
    }
}

/* A source is signalled in its only mode, behind another source, then comes into a second mode and is performed there.
 * When the other one signals it in the first mode, that is a new signal, which belongs to the next pass there. */
static void note_and_signal(treadle_source source, void *info) {
    note(source, info);
    if (info == (void *)0) CHECK_INT(treadle_source_signal(sources[1]), TREADLE_OK);
}
static void *join_and_poll(void *mode) {
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), sources[1], mode), TREADLE_OK);
    CHECK_INT(poll_mode(strcmp(mode, TREADLE_COMMON_MODES) == 0 ? M : mode), TREADLE_RUN_TIMED_OUT);
    return NULL;
}
static void check_used_up_later(const char *first, const char *second, bool is_elsewhere, bool is_given_there) {
    make_all(2, first);
    CHECK_INT(treadle_source_invalidate(sources[0]), TREADLE_OK);
    CHECK_INT(treadle_source_release(sources[0]), TREADLE_OK);
    sources[0] = make_source(note_and_signal, (void *)0);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), sources[0], first), TREADLE_OK);
    for (int i = 0; i < 2; i++) {
        if (is_given_there) on_thread(signal_there, sources[i]);
        else CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
    }
    if (is_elsewhere) on_thread(join_and_poll, (void *)second);
    else join_and_poll((void *)second);
    CHECK_INT(performed, 1);
    CHECK_INT(order[0], 1);
    CHECK(!treadle_source_is_signalled(sources[1]));
    performed = 0;
    CHECK_INT(poll_mode(first), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performed, 1);
    CHECK_INT(order[0], 0);
    CHECK(treadle_source_is_signalled(sources[1]));
    CHECK_INT(poll_mode(first), TREADLE_RUN_TIMED_OUT);
    check_order(2);
    free(sources);
    free(order);
}
TEST(a_signal_that_a_later_mode_used_up_leaves_nothing_behind, "SRC0-7 SRC0-9 SRC0-11") {
    for (int there = 0; there < 2; there++) {
        check_used_up_later("first", "second", false, there);
        check_used_up_later("first", TREADLE_COMMON_MODES, false, there);
        check_used_up_later("first", "of another loop", true, there);
    }
}

/* WAKE-4 by a signal that the owner gives to a source of another mode: the sleep ends, the source stays signalled. */
static treadle_source elsewhere;
static int rounds;
static void wake_by_signal(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)info;
    if (activity == TREADLE_BEFORE_WAITING && rounds++ < 3) CHECK_INT(treadle_source_signal_and_wake(elsewhere), TREADLE_OK);
    else if (rounds == 4) treadle_loop_stop(treadle_loop_current());
}
TEST(an_own_signal_wakes_the_loop_from_any_mode, "WAKE-1 WAKE-4 MODE-4") {
    treadle_loop loop = treadle_loop_current();
    order = calloc(4, sizeof *order);
    elsewhere = make_source(note, (void *)0);
    CHECK_INT(treadle_loop_add_source(loop, elsewhere, "elsewhere"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, make_source(NULL, NULL), M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, make_observer(wake_by_signal, NULL, TREADLE_BEFORE_WAITING), M), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(rounds, 4);
    CHECK_INT(performed, 0);
    CHECK(treadle_source_is_signalled(elsewhere));
    CHECK_INT(poll_mode("elsewhere"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performed, 1);
}

static long resident_pages(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
    return resident;
}
/* A queue that nobody runs does not grow with sources that are gone. */
TEST(signals_of_sources_that_are_gone_are_forgotten, "SRC0-6") {
    make_all(1, M);
    long before = 0;
    for (int i = 0; i < 300000; i++) {
        if (i == 1000) before = resident_pages();
        treadle_source source = make_source(note, NULL);
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, M), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
    }
    /* 300,000 mentions would be 2.4 million bytes. */
    if (!THREAD_SANITIZER && !ADDRESS_SANITIZER) CHECK(resident_pages() - before < 256);
    CHECK_INT(treadle_source_signal(sources[0]), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    check_order(1);
}

TEST_MAIN()
