/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timeline.h: how one thread passed its time, counted, with marks for the trace of the run (TREADLE_TRACE).
 * Each thread has a timeline of its own, so that counting needs no lock. */
#ifndef DEMO_TIMELINE_H
#define DEMO_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <treadle.h>

/* What takes time. The callbacks are those from FIRST_CALLBACK on. */
enum span {
    SPAN_RUN,    /* inside treadle_loop_run */
    SPAN_SLEEP,  /* between BEFORE_WAITING and AFTER_WAITING */
    SPAN_JOIN,   /* waiting for the other thread to be gone */
    SPAN_READ,   /* descriptor callback: reads the input */
    SPAN_COMMANDS, /* source perform: drains the command buffer */
    SPAN_RESULTS,  /* source perform: takes the results */
    SPAN_HEARTBEAT, /* timer callback */
    SPAN_POSTED,    /* a posted function */
    SPAN_SCHEDULE,  /* source schedule */
    SPAN_CANCEL,    /* source cancel */
    SPAN_COUNT
};
#define FIRST_CALLBACK SPAN_READ

/* What one thread sends to the other. */
enum signal_kind { SIGNAL_COMMANDS, SIGNAL_RESULTS, SIGNAL_POSTED, SIGNAL_COUNT };

/* A thread's timeline. */
struct timeline {
    const char *name;
    treadle_observer observer;

    uint64_t passes, observed, wakes, pauses, given[SIGNAL_COUNT], calls[SPAN_COUNT];
    int64_t spent[SPAN_COUNT], began[SPAN_COUNT];
    int64_t in_callbacks, outermost_began; /* a callback inside another is not counted twice */
    unsigned depth;
};

/* Begins to count. */
void timeline_init(struct timeline *timeline, const char *name);

/* Adds an observer of every activity to the loop's common modes. */
void timeline_observe(struct timeline *timeline, treadle_loop loop);
/* Takes it out again. */
void timeline_stop_observing(struct timeline *timeline);

/* A span begins, and ends with a number that says how much was done in it, which the trace gets as a mark. */
void timeline_begin(struct timeline *timeline, enum span span);
void timeline_end(struct timeline *timeline, enum span span, int64_t number);

/* Signals a source, and counts that. */
void timeline_signal(struct timeline *timeline, enum signal_kind kind, treadle_source source);
/* Wakes the other thread's loop, and counts that. */
void timeline_wake(struct timeline *timeline, treadle_loop loop);
/* Posts a function to the other thread's loop, which wakes it, and counts that. */
void timeline_post(struct timeline *timeline, treadle_loop loop, treadle_post_fn fn, void *info);

#endif
