/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_jobs.h: what the tests of performs share: jobs for one thread that write their numbers into the trace. */
#ifndef TREADLE_TEST_PERFORM_JOBS_H
#define TREADLE_TEST_PERFORM_JOBS_H

#include "thread_jobs.h"

#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

/* The thread that performs, and its loop; `begin` takes the calling thread. */
static treadle_thread self;
static treadle_loop loop;
HELPER void begin(void) {
    self = treadle_thread_current();
    loop = treadle_loop_current();
}
HELPER void trace_number(struct job *job) { trace("%d", job->number); }
/* A job on the thread `self` that writes its number; in the default mode without one. */
HELPER void queue(struct job *job, int number, const char *mode) {
    job_make(job, trace_number, NULL);
    job->number = number;
    CHECK_INT(mode ? job_perform_in(job, self, mode, 0) : job_perform(job, self, 0), TREADLE_OK);
}

#endif
