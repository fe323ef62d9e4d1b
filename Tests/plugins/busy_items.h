/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * busy_items.h: of busy.c, what a loop looks after: sources, timers, observers, descriptor sources. */
#ifndef TREADLE_TEST_BUSY_ITEMS_H
#define TREADLE_TEST_BUSY_ITEMS_H

#include "busy.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const struct script *script;
static treadle_loop home;
static const char *wanted, *mode;
static int descriptor = -1;

static void reach(const char *what) {
    if (strcmp(what, wanted) == 0) script->step(treadle_plugin_self, what);
}

/* Each info is the kind's name: its callbacks are "retain of a source", and so on. */
static void reach_of(const char *what, void *kind) {
    char name[64] = "";
    strncat(strncat(name, what, 31), kind, 31);
    if (strcmp(name, wanted) == 0) script->step(treadle_plugin_self, name);
}
static void *retain(void *kind) { return reach_of("retain of ", kind), kind; }
static void release(void *kind) { reach_of("release of ", kind); }

/* --- Sources ------------------------------------------------------------------------------------- */

static void perform(treadle_source source, void *kind) { (void)source, reach_of("perform of ", kind); }
static void schedule(treadle_source source, treadle_loop loop, const char *name, void *kind) {
    (void)source, (void)loop, (void)name, reach_of("schedule of ", kind);
}
static void cancel(treadle_source source, treadle_loop loop, const char *name, void *kind) {
    (void)source, (void)loop, (void)name, reach_of("cancel of ", kind);
}
static int32_t equal(void *one, void *other) { return reach_of("equal of ", one), one == other; }
static uint64_t hash(void *kind) { return reach_of("hash of ", kind), 1; }

static treadle_source new_source(void) {
    treadle_source source = NULL;
    treadle_source_context context = {.struct_size = sizeof context, .info = "a source", .retain = retain, .release = release, .equal = equal,
                                      .hash = hash, .schedule = schedule, .cancel = cancel, .perform = perform};
    treadle_source_create(&context, &source);
    treadle_loop_add_source(home, source, mode);
    return source;
}
static void make_source(void) { treadle_source_signal_and_wake(new_source()); }
static void end_source(void) {
    treadle_source source = new_source();
    treadle_source_invalidate(source), treadle_source_release(source);
}
static void make_two_sources(void) { new_source(), new_source(); }

/* --- Timers -------------------------------------------------------------------------------------- */

static void fire(treadle_timer timer, void *kind) { (void)timer, reach_of("fire of ", kind); }
static void call_of_routine(void) { reach("fire of a routine"); }

static treadle_timer new_timer(treadle_timer_fn fn, treadle_routine routine) {
    treadle_timer timer = NULL;
    treadle_timer_context context = {.struct_size = sizeof context, .info = "a timer", .retain = retain, .release = release, .fire = fn,
                                     .fire_routine = routine, .fire_at = 1};
    treadle_timer_create(&context, &timer);
    treadle_loop_add_timer(home, timer, mode);
    return timer;
}
static void make_timer(void) { new_timer(fire, NULL); }
static void end_timer(void) {
    treadle_timer timer = new_timer(fire, NULL);
    treadle_timer_invalidate(timer), treadle_timer_release(timer);
}
/* The timer alone has it. */
static void make_timer_of_routine(void) {
    treadle_routine routine = NULL;
    treadle_routine_config config = {.struct_size = sizeof config, .code = call_of_routine, .signature = "v", .info = "a routine", .destroy = release};
    treadle_routine_create(&config, &routine);
    new_timer(NULL, routine);
    treadle_routine_release(routine);
}

/* --- Observers ----------------------------------------------------------------------------------- */

static void notify(treadle_observer observer, uint32_t activity, void *kind) {
    (void)observer, (void)kind;
    reach(activity == TREADLE_ENTRY            ? "entry"
          : activity == TREADLE_BEFORE_TIMERS  ? "before timers"
          : activity == TREADLE_BEFORE_SOURCES ? "before sources"
          : activity == TREADLE_BEFORE_WAITING ? "before waiting"
          : activity == TREADLE_AFTER_WAITING  ? "after waiting"
                                               : "exit");
}
static treadle_observer new_observer(const char *where) {
    treadle_observer observer = NULL;
    treadle_observer_context context = {.struct_size = sizeof context, .info = "an observer", .retain = retain, .release = release,
                                        .notify = notify, .activities = TREADLE_ALL_ACTIVITIES};
    treadle_observer_create(&context, &observer);
    treadle_loop_add_observer(home, observer, where);
    return observer;
}
static void make_observer(void) { new_observer(mode); }
static void end_observer(void) {
    treadle_observer observer = new_observer(mode);
    treadle_observer_invalidate(observer), treadle_observer_release(observer);
}
/* A run from its entry to its exit. */
static void make_run(void) {
    new_observer("a mode of its own");
    treadle_loop_run(treadle_loop_current(), "a mode of its own", 1000000, TREADLE_RUN_WHEN_EMPTY);
}

/* --- Descriptor sources -------------------------------------------------------------------------- */

static void ready(treadle_descriptor source, uint32_t events, void *kind) { (void)source, (void)events, reach_of("ready of ", kind); }
static int32_t get_fd(void *kind) { return reach_of("get_fd of ", kind), descriptor; }
static treadle_descriptor new_descriptor(void) {
    treadle_descriptor source = NULL;
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = "a descriptor", .retain = retain, .release = release, .equal = equal,
                                          .hash = hash, .get_fd = get_fd, .ready = ready, .fd = -1, .events = TREADLE_READABLE};
    descriptor = eventfd(1, EFD_CLOEXEC);
    treadle_descriptor_create(&context, &source);
    treadle_loop_add_descriptor(home, source, mode);
    return source;
}
static void make_descriptor(void) { new_descriptor(); }
static void end_descriptor(void) {
    treadle_descriptor source = new_descriptor();
    treadle_descriptor_invalidate(source), treadle_descriptor_release(source);
}

#endif
