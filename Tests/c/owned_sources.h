/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * owned_sources.h: sources that nobody but their loop's own thread has signalled some thousand times: its own from there
 * on, where the system lets them be. */
#ifndef TREADLE_TEST_OWNED_SOURCES_H
#define TREADLE_TEST_OWNED_SOURCES_H

#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE
enum { LONG_ENOUGH = 4000, MANY = 8 };

static treadle_loop loop;
static treadle_source sources[MANY];

HELPER void signal_own(int number) { CHECK_INT(treadle_source_signal(sources[number]), TREADLE_OK); }
HELPER void poll(const char *mode, const char *expected) {
    CHECK_INT(poll_mode(mode), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE(expected);
}
/* The info of each is its number. */
HELPER void add_sources(int count, treadle_perform_fn perform) {
    loop = treadle_loop_current();
    for (intptr_t i = 0; i < count; i++) {
        sources[i] = make_source(perform, (void *)i);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
    }
}
HELPER void signal_long_enough(int count) {
    for (int round = 0; round < LONG_ENOUGH; round++) {
        for (int i = 0; i < count; i++) signal_own(i);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        trace_clear();
    }
}

/* On another thread. */
HELPER void *signal_there(void *source) {
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    return NULL;
}
HELPER void *leave_there(void *source) {
    CHECK_INT(treadle_loop_remove_source(loop, source, MODE), TREADLE_OK);
    return NULL;
}
#endif
