/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timeline.c: recording. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

void timeline_init(struct timeline *timeline, const char *name, int64_t origin) {
    memset(timeline, 0, sizeof *timeline);
    timeline->name = name;
    timeline->origin = origin;
    timeline->events = allocate(sizeof *timeline->events * (TIMELINE_HEAD + TIMELINE_TAIL));
}

void timeline_destroy(struct timeline *timeline) {
    free(timeline->events);
}

static void record(struct timeline *timeline, int64_t time, char what, int subject, int64_t number) {
    uint64_t index = timeline->event_count++;
    /* The head is filled once; after it the tail is a ring. */
    if (index >= TIMELINE_HEAD) index = TIMELINE_HEAD + (index - TIMELINE_HEAD) % TIMELINE_TAIL;
    timeline->events[index] = (struct timeline_event){time, number, (uint8_t)what, (uint8_t)subject};
}

void timeline_begin(struct timeline *timeline, enum span span) {
    int64_t now = treadle_time_now();
    timeline->began[span] = now;
    if (span >= FIRST_CALLBACK && timeline->depth++ == 0) timeline->outermost_began = now;
    record(timeline, now, 'b', span, 0);
}

void timeline_end(struct timeline *timeline, enum span span, int64_t number) {
    int64_t now = treadle_time_now();
    timeline->calls[span]++;
    timeline->spent[span] += now - timeline->began[span];
    if (span >= FIRST_CALLBACK && --timeline->depth == 0) timeline->in_callbacks += now - timeline->outermost_began;
    record(timeline, now, 'e', span, number);
}

void timeline_signal(struct timeline *timeline, enum signal_kind kind, treadle_source source) {
    /* A signal that was given already and not served yet takes this one in. Looking first decides
     * only what is drawn; whether signals are lost does not depend on it. */
    if (!treadle_source_is_signalled(source)) record(timeline, treadle_time_now(), 's', kind, 0);
    timeline->given[kind]++;
    require_ok(treadle_source_signal(source), "signal a source");
}

void timeline_wake(struct timeline *timeline, treadle_loop loop) {
    timeline->wakes++;
    require(treadle_loop_wake(loop), "wake a loop");
}

void timeline_post(struct timeline *timeline, treadle_loop loop, treadle_post_fn fn, void *info) {
    record(timeline, treadle_time_now(), 's', SIGNAL_POSTED, 0);
    timeline->given[SIGNAL_POSTED]++;
    require_ok(treadle_loop_post(loop, fn, info), "post to a loop");
}

/* The observer: what the loop says about itself. */
static void notice(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer;
    struct timeline *timeline = info;
    timeline->observed++;
    switch (activity) {
    case TREADLE_BEFORE_TIMERS:
        record(timeline, treadle_time_now(), 'p', 0, (int64_t)++timeline->passes);
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
