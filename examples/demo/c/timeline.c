/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timeline.c: counting. */
#include "timeline.h"

#include <string.h>

#include "check.h"

/* As the labels of the items that are called: the picture shows a mark's number in the callback of that name. */
static const char *const names[SPAN_COUNT] = {
    "run", "sleep", "join", "read", "commands", "results", "heartbeat", "posted", "schedule", "cancel",
};

void timeline_init(struct timeline *timeline, const char *name) {
    memset(timeline, 0, sizeof *timeline);
    timeline->name = name;
}

void timeline_begin(struct timeline *timeline, enum span span) {
    int64_t now = treadle_time_now();
    timeline->began[span] = now;
    if (span >= FIRST_CALLBACK && timeline->depth++ == 0) timeline->outermost_began = now;
}

void timeline_end(struct timeline *timeline, enum span span, int64_t number) {
    int64_t now = treadle_time_now();
    timeline->calls[span]++;
    timeline->spent[span] += now - timeline->began[span];
    if (span >= FIRST_CALLBACK && --timeline->depth == 0) timeline->in_callbacks += now - timeline->outermost_began;
    /* The loop's own spans are in the trace anyway. */
    if (span >= SPAN_JOIN) require(treadle_trace_mark(names[span], number), "mark a span");
}

void timeline_signal(struct timeline *timeline, enum signal_kind kind, treadle_source source) {
    timeline->given[kind]++;
    require_ok(treadle_source_signal(source), "signal a source");
}

void timeline_wake(struct timeline *timeline, treadle_loop loop) {
    timeline->wakes++;
    require(treadle_loop_wake(loop), "wake a loop");
}

void timeline_post(struct timeline *timeline, treadle_loop loop, treadle_post_fn fn, void *info) {
    timeline->given[SIGNAL_POSTED]++;
    treadle_post post = TREADLE_INIT(treadle_post);
    post.fn = fn;
    post.info = info;
    post.label = names[SPAN_POSTED];
    require_ok(treadle_loop_post_in(loop, &post), "post to a loop");
}

/* The observer: what the loop says about itself. */
static void notice(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer;
    struct timeline *timeline = info;
    timeline->observed++;
    switch (activity) {
    case TREADLE_BEFORE_TIMERS:
        timeline->passes++;
        break;
    case TREADLE_BEFORE_WAITING:
        timeline_begin(timeline, SPAN_SLEEP);
        break;
    case TREADLE_AFTER_WAITING:
        timeline_end(timeline, SPAN_SLEEP, 0);
        break;
    default: /* Entry and Exit: the caller of treadle_loop_run measures the run; BeforeSources: counted */
        break;
    }
}

void timeline_observe(struct timeline *timeline, treadle_loop loop) {
    treadle_observer_context context = TREADLE_INIT(treadle_observer_context);
    context.info = timeline;
    context.notify = notice;
    context.activities = TREADLE_ALL_ACTIVITIES;
    require_ok(treadle_observer_create(&context, &timeline->observer), "make an observer");
    require_ok(treadle_loop_add_observer(loop, timeline->observer, TREADLE_COMMON_MODES), "add an observer");
}

void timeline_stop_observing(struct timeline *timeline) {
    require_ok(treadle_observer_invalidate(timeline->observer), "invalidate an observer");
    require_ok(treadle_observer_release(timeline->observer), "release an observer");
}
