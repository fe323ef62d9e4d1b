/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * glue.h: a program of two loops on one thread, ours and another library's, that is run with either inside of the other. Parts of
 * both are at work at the same time, and the program ends with the last of them. */
#ifndef TREADLE_TEST_GLUE_H
#define TREADLE_TEST_GLUE_H

#include "helpers.h"

static struct {
    treadle_loop loop;
    int parts;
    void (*quit)(void);  /* ends the outer loop's run */
    void (*theirs)(void); /* from another thread: has theirs call theirs_called on the loops' thread */
    int32_t thread;
    atomic_int posted, asked; /* calls that came of the threads' posts, to ours and to theirs */
    int nested;              /* runs that a callback has made */
} program;

static void part_begins(void) { program.parts++; }
static void part_ends(void) {
    CHECK_INT(thread_id(), program.thread);
    CHECK(program.parts > 0);
    if (--program.parts == 0) program.quit();
}

/* Threads that ask both loops for calls by the ten thousand. None is lost. */
enum { GLUE_THREADS = 4, GLUE_POSTS = 5000, GLUE_ASKS = 250 };
static void posted(void *info) {
    (void)info;
    CHECK_INT(thread_id(), program.thread);
    if (atomic_fetch_add(&program.posted, 1) + 1 == GLUE_THREADS * GLUE_POSTS) part_ends();
}
HELPER void theirs_called(void) {
    CHECK_INT(thread_id(), program.thread);
    if (atomic_fetch_add(&program.asked, 1) + 1 == GLUE_THREADS * GLUE_ASKS) part_ends();
}
static void *ask_both(void *info) {
    for (int i = 0; i < GLUE_POSTS; i++) {
        CHECK_INT(treadle_loop_post(program.loop, posted, NULL), TREADLE_OK);
        if (i % (GLUE_POSTS / GLUE_ASKS) == 0) program.theirs();
        if (i % 64 == 0) usleep(1);
    }
    return info;
}

/* A timer of ours, some of whose callbacks run the loop again: in a mode of its own, and in the one that is being run. */
static int left_ticks;
static void tick(treadle_timer timer, void *info) {
    (void)info;
    if (left_ticks % 10 == 0) CHECK_INT(treadle_loop_run(program.loop, "nested", MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    if (left_ticks % 10 == 5) {
        CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
        program.nested++;
    }
    if (--left_ticks == 0) treadle_invalidate(timer), part_ends();
}

static pthread_t asking[GLUE_THREADS];
/* Begins what is the same for all libraries. */
HELPER void begin_program(void (*quit)(void), void (*theirs)(void)) {
    program.loop = treadle_loop_current();
    program.thread = thread_id();
    program.quit = quit;
    program.theirs = theirs;
    program.parts = 0;
    atomic_store(&program.posted, 0), atomic_store(&program.asked, 0);
    left_ticks = 40;
    part_begins();
    CHECK_INT(treadle_timer_start(0, MILLISECONDS(1), tick, NULL, NULL), TREADLE_OK);
    part_begins(), part_begins();
    for (int i = 0; i < GLUE_THREADS; i++) CHECK_INT(pthread_create(&asking[i], NULL, ask_both, NULL), 0);
}
HELPER void end_program(void) {
    CHECK_INT(program.parts, 0);
    for (int i = 0; i < GLUE_THREADS; i++) CHECK_INT(pthread_join(asking[i], NULL), 0);
    CHECK_INT(atomic_load(&program.posted), GLUE_THREADS * GLUE_POSTS);
    CHECK_INT(atomic_load(&program.asked), GLUE_THREADS * GLUE_ASKS);
    CHECK(program.nested >= 4);
}

HELPER void stop_ours(void) { CHECK_INT(treadle_loop_request_stop(program.loop, TREADLE_STOP_ALL_LEVELS), TREADLE_OK); }

static uint64_t count_passes(void) {
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    CHECK_INT(treadle_loop_get_counters(treadle_loop_current(), &counters), TREADLE_OK);
    return counters.passes;
}
/* With nothing to do a loop turns a few times for what was before, and then sleeps: a loop that spins does so thousands of times. */
enum { IDLE_TURNS = 20 };

#endif
