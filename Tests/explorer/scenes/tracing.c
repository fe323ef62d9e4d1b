/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * tracing.c: threads that record events while another thread writes the trace, and begins the next one. */
#include "owner.h"

static void *record(void *label) {
    treadle_status status = treadle_trace_mark(label, 1);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    return NULL;
}
static void begin_trace(void) { REQUIRE_OK(treadle_trace_start("/dev/null")); }
SCENE(a_trace_is_written_while_two_record, "RL-16") {
    begin_trace();
    explore_from_here();
    pthread_t first = start(record, "first"), second = start(record, "second");
    REQUIRE_OK(treadle_trace_stop());
    join(first);
    join(second);
}

/* What a thread that has ended kept its events in serves the next trace. */
SCENE(a_trace_is_begun_while_a_thread_of_the_last_one_ends, "RL-16") {
    begin_trace();
    explore_from_here();
    pthread_t other = start(record, "other");
    REQUIRE_OK(treadle_trace_stop());
    begin_trace();
    record("own");
    REQUIRE_OK(treadle_trace_stop());
    join(other);
}
