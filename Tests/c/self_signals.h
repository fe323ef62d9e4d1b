/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * self_signals.h: sources that the thread of their loop signals itself, and what another thread does to them. */
#ifndef TREADLE_TEST_SELF_SIGNALS_H
#define TREADLE_TEST_SELF_SIGNALS_H

#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE
enum { MANY_PASSES = 4000, MANY = 8 };

static treadle_loop loop;
static treadle_source sources[MANY];

HELPER void signal_own(int number) { CHECK_INT(treadle_source_signal(sources[number]), TREADLE_OK); }
HELPER void poll_for(const char *mode, const char *expected) {
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
