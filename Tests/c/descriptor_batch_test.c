/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_batch_test.c: many descriptors that are ready at once. Whatever else comes up in a callback has its turn
 * before the next descriptor. */
#include "coming_up.h"

enum { FDS = 32 };
static treadle_descriptor sources[FDS];
static int fds[FDS];
static int performed, seen; /* seen: how many had been performed when what came up had its turn */
static bool is_over;

static void note(void) {
    if (!seen) seen = performed;
    is_over = true;
    CHECK(treadle_loop_stop(loop) >= 0);
}
static void on_ready(treadle_descriptor source, uint32_t events, void *info) {
    (void)source, (void)info;
    CHECK_INT(events, TREADLE_READABLE);
    performed++;
    if (performed == THIRD && come_up) come_up();
    if (performed == FDS) note();
}
static void *signal_source(void *source) {
    CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
    return NULL;
}
static void come_source_of_a_thread(void) {
    treadle_source source = make_source(note_source, NULL);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    on_thread(signal_source, source);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}
static void *post(void *info) {
    CHECK_INT(treadle_loop_post(loop, note_block, info), TREADLE_OK);
    return NULL;
}
static void come_post_of_a_thread(void) { on_thread(post, NULL); }
static void come_stop(void) { note(); }
static void come_requested_stop(void) {
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    seen = performed;
    is_over = true;
}
static void come_release(void) { CHECK_INT(treadle_pool_add(NULL, note_block), TREADLE_OK); }
/* All that waits in the batch are gone. */
static void come_end(void) {
    for (int i = 0; i < FDS; i++) CHECK_INT(treadle_descriptor_invalidate(sources[i]), TREADLE_OK);
    seen = performed;
    is_over = true;
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
}
/* A descriptor that comes up has its turn behind the batch. */
static void (*const all[])(void) = {come_block,  come_post,          come_timer, come_observer, come_source, come_request, come_request_in_mode,
                                    come_source_of_a_thread, come_post_of_a_thread, come_stop, come_requested_stop, come_release, come_end};

static void begin(void) {
    loop = treadle_loop_current();
    loop_thread = treadle_thread_current();
    performed = seen = 0;
    is_over = false;
    for (int i = 0; i < FDS; i++) {
        fds[i] = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
        CHECK_INT(treadle_descriptor_start(fds[i], TREADLE_READABLE, on_ready, NULL, &sources[i]), TREADLE_OK);
    }
}
static void end(void) {
    for (int i = 0; i < FDS; i++) {
        CHECK_INT(discard(sources[i]), TREADLE_OK);
        close(fds[i]);
    }
}
static void *check_one(void *info) {
    begin();
    CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_STOPPED);
    CHECK_INT(seen, THIRD);
    CHECK(performed <= THIRD + 1); /* a pass may go on to a descriptor behind what it stopped for */
    end();
    return info;
}
TEST(what_comes_up_has_its_turn_before_the_next_descriptor, "PASS-2 PASS-5 PASS-12 PASS-13 PASS-14 SRC1-5 STOP-2 STOP-9 POOL-3") {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        come_up = all[i];
        on_thread(check_one, NULL);
    }
}
TEST(every_descriptor_of_a_batch_has_its_turn, "SRC1-5 PASS-12") {
    begin();
    come_up = NULL;
    CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_STOPPED);
    CHECK_INT(performed, FDS);
    end();
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_FINISHED);
}
/* A run that ends with a source handled takes one of them; so does one that only polls. */
TEST(runs_that_end_take_one, "RUN-7 RUN-5 SRC1-5") {
    begin();
    come_up = NULL;
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(performed, 1);
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performed, 2);
    end();
}
/* A run inside of a callback goes on with what the batch has left, and the outer one behind that. */
static void run_inside(void) {
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performed, THIRD + 1);
}
TEST(a_run_inside_of_a_callback_takes_the_next, "RUN-13 SRC1-5") {
    begin();
    come_up = run_inside;
    CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_STOPPED);
    CHECK_INT(performed, FDS);
    end();
}
/* The one reference is the callback's: the info goes when it has returned, and may end everything. */
static void stop_in_release(void *info) {
    (void)info;
    note();
}
static void discard_itself(treadle_descriptor source, uint32_t seen_events, void *info) {
    (void)seen_events, (void)info;
    performed++;
    CHECK_INT(discard(source), TREADLE_OK);
    CHECK(!is_over);
}
TEST(a_release_behind_a_callback_stops_the_run, "OBJ-4 STOP-2") {
    begin();
    come_up = NULL;
    for (int i = 0; i < FDS; i++) {
        CHECK_INT(discard(sources[i]), TREADLE_OK);
        treadle_descriptor_context context = {
            .struct_size = sizeof context, .ready = discard_itself, .release = stop_in_release, .fd = fds[i], .events = TREADLE_READABLE};
        CHECK_INT(treadle_descriptor_create(&context, &sources[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add_descriptor(loop, sources[i], MODE), TREADLE_OK);
    }
    for (int i = 0; i < FDS; i++) {
        is_over = false;
        CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_STOPPED);
        CHECK_INT(performed, i + 1);
        close(fds[i]);
    }
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_FINISHED);
}

TEST_MAIN()
