/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * forked.h: a child that begins a life of its own, inside of a callback of its parent's. */
#ifndef TREADLE_FORKED_H
#define TREADLE_FORKED_H

#include "helpers.h"

/* The thread sanitizer otherwise ends a child that makes threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

/* Calls with the parent's handles give this; the test says which. */
static void must_be_refused(treadle_status status);

HELPER void stop_own(void *stops) {
    ++*(int *)stops;
    CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
HELPER void live_anew(void) {
    int stops = 0;
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    must_be_refused(TREADLE_E_STALE);
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), stop_own, &stops), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(stops, 1);
    CHECK_INT(discard(keeper), TREADLE_OK);
}

#endif
