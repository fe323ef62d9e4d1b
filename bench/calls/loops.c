/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loops.c: what a loop's call costs more if the callback is a routine: sources that signal themselves again, with a
 * routine of the canonical type for their perform callback, and, as the floor, with a plain one. */
#include "calls.h"

enum { SOURCES = 64, PERFORMS = 1000000, SAMPLES = 5 };

static struct member {
    uint64_t performed, wanted;
} members[SOURCES];
static uint64_t at_work;

static void perform(treadle_source source, void *info) {
    struct member *member = info;
    if (++member->performed < member->wanted) {
        treadle_source_signal(source);
    } else if (--at_work == 0) {
        treadle_loop_stop(treadle_loop_current());
    }
}

static treadle_source make_source(enum way way, struct member *member) {
    treadle_source source;
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_argument list[] = {{TREADLE_ARGUMENT_SUBJECT, 0, NULL, 0}, {TREADLE_ARGUMENT_BOUND, 0, &member, sizeof member}};
    if (way == PLAINLY) {
        context.perform = perform;
        context.info = member;
        check(treadle_source_create(&context, &source));
    } else {
        treadle_routine_config config = TREADLE_INIT(treadle_routine_config);
        config.code = (void (*)(void))perform;
        config.signature = "v^v^v";
        config.arguments = list;
        config.argument_count = 2;
        check(treadle_routine_create(&config, &context.perform_routine));
        check(treadle_source_create(&context, &source));
        check(treadle_routine_release(context.perform_routine)); /* the source has its own reference */
    }
    check(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE));
    return source;
}

static uint64_t perform_all(treadle_source *sources, uint64_t each) {
    for (int i = 0; i < SOURCES; i++) {
        members[i] = (struct member){0, each};
        check(treadle_source_signal(sources[i]));
    }
    at_work = SOURCES;
    uint64_t begun = clock_ns();
    check(treadle_loop_run_default(treadle_loop_current()));
    uint64_t took = clock_ns() - begun;
    for (int i = 0; i < SOURCES; i++) demand(members[i].performed == each, "each signal is one call");
    return took;
}

static void source_routine(const char *name, enum way way) {
    treadle_source sources[SOURCES];
    uint64_t each = amount(PERFORMS) / SOURCES, least = UINT64_MAX;
    live_in(treadle_loop_current());
    for (int i = 0; i < SOURCES; i++) sources[i] = make_source(way, &members[i]);
    for (int sample = 0; sample < SAMPLES; sample++) {
        uint64_t took = perform_all(sources, each);
        if (took < least) least = took;
    }
    for (int i = 0; i < SOURCES; i++) {
        check(treadle_source_invalidate(sources[i]));
        check(treadle_source_release(sources[i]));
    }
    tell(name, (double)least / (double)(each * SOURCES), "ns");
}

const struct workload loop_workloads[] = {
    {"source_routine", source_routine, WAY(BY_TREADLE) | WAY(PLAINLY), false},
    {NULL, NULL, 0, false},
};
