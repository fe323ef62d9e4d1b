/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * coming_up.h: all that can come up for a loop while it goes from one thing to the next, in its default mode. The test says what `note` does, which is called when the loop has noticed. */
#ifndef TREADLE_TEST_COMING_UP_H
#define TREADLE_TEST_COMING_UP_H

#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE

/* The loop and its thread; what comes up on it in one call, or by another thread once the loop is busy. */
static treadle_loop loop;
static treadle_thread loop_thread;
static void (*come_up)(void);
enum { THIRD = 3 };

static void note(void);
HELPER void note_block(void *info) { (void)info, note(); }
HELPER void note_timer(treadle_timer timer, void *info) { (void)timer, (void)info, note(); }
HELPER void note_source(treadle_source source, void *info) { (void)source, (void)info, note(); }
HELPER void note_activity(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info, note(); }
HELPER void note_ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info, note(); }
HELPER void note_request(void *target, void *argument) { (void)target, (void)argument, note(); }

HELPER void come_block(void) {
    treadle_post block = {.struct_size = sizeof block, .fn = note_block};
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
}
HELPER void come_post(void) { CHECK_INT(treadle_loop_post(loop, note_block, NULL), TREADLE_OK); }
HELPER void come_timer(void) {
    treadle_timer timer = make_timer(note_timer, NULL, 1, 0);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}
HELPER void come_descriptor(void) {
    treadle_descriptor descriptor = make_descriptor(note_ready, NULL, eventfd(1, EFD_CLOEXEC), TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
}
HELPER void come_observer(void) {
    treadle_observer observer = make_observer(note_activity, NULL, TREADLE_BEFORE_SOURCES);
    CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
}
HELPER void come_source(void) {
    treadle_source source = make_source(note_source, NULL);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}
/* A request without modes takes another way than one that names them. */
HELPER void come_request_of(const char *const *modes, size_t count) {
    treadle_request request = {.struct_size = sizeof request, .fn = note_request};
    CHECK_INT(perform_on(loop_thread, &request, modes, count, 0), TREADLE_OK);
}
HELPER void come_request(void) { come_request_of(NULL, 0); }
HELPER void come_request_in_mode(void) { come_request_of((const char *const[]){MODE}, 1); }

#define ALL_THAT_COMES come_block, come_post, come_timer, come_descriptor, come_observer, come_source, come_request, come_request_in_mode

#endif
