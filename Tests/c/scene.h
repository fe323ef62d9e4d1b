/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scene.h: scenes. An actor is a source, descriptor, timer, observer or block. Each call of it is a
 * word in the trace, after which it does the deeds that its script lists; so a test is a cast, a run,
 * and the text that must come out. Observers write what they are told:
 *   entry timers sources sleep wake exit
 * a nested run writes "( ... )result", play() adds its result at the end. */
#ifndef TREADLE_TEST_SCENE_H
#define TREADLE_TEST_SCENE_H

#include "helpers.h"

/* A script says what it needs and leaves the rest of an actor or a deed at zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define MODE_A TREADLE_DEFAULT_MODE
#define MODE_B "mode b"
#define COMMON TREADLE_COMMON_MODES
#define FAR SECONDS(100000)
#define ALWAYS (-1)
#define AFTER_SOURCE TREADLE_RUN_RETURN_AFTER_SOURCE

enum kind { SOURCE, DESCRIPTOR, TIMER, OBSERVER, BLOCK };
enum verb { NOTHING, SIGNAL, FEED, WAKE, STOP, REQUEST_STOP, RUN, ADD, REMOVE, INVALIDATE, RELEASE, MOVE, QUEUE, CALL };

typedef struct actor actor;
typedef struct deed {
    enum verb verb;
    actor *whom;      /* NULL: the actor itself */
    const char *mode; /* NULL: the default mode; for QUEUE: the common modes */
    int64_t ns;       /* RUN: the timeout; MOVE: the date, from now */
    uint32_t flags;   /* RUN, REQUEST_STOP */
    treadle_status expected;
    void (*call)(actor *self); /* CALL */
} deed;
struct actor {
    enum kind kind;
    const char *name; /* NULL: not traced, but an observer writes its activity; "": not traced */
    deed does[6];
    uint32_t on;         /* observers: deeds at these activities only; 0: at any */
    int skip, times;     /* deeds from call skip + 1 on, in `times` calls; 0: once; ALWAYS */
    uint32_t activities; /* observers; 0: all */
    uint32_t once;       /* observers */
    int64_t order;
    int64_t after, interval; /* timers: the date, from now, and the interval */
    bool idle;               /* descriptors: not ready from the beginning */
    bool permanent;          /* descriptors: ready for ever, never drained */
    bool loud;               /* schedule, cancel and the info's end are traced too */
    /* What became of it. */
    void *handle;
    int fd, calls, matches, retains, releases, schedules, cancels;
    uint32_t told; /* observers: the activity of the present call */
    int64_t called_at;
};

static treadle_loop stage; /* the loop of the test's own thread */
HELPER treadle_loop the_stage(void) { return stage ? stage : (stage = treadle_loop_current()); }

HELPER const char *activity_word(uint32_t activity) {
    switch (activity) {
    case TREADLE_ENTRY: return "entry";
    case TREADLE_BEFORE_TIMERS: return "timers";
    case TREADLE_BEFORE_SOURCES: return "sources";
    case TREADLE_BEFORE_WAITING: return "sleep";
    case TREADLE_AFTER_WAITING: return "wake";
    case TREADLE_EXIT: return "exit";
    default: check_failed(__FILE__, __LINE__, "an observer was told activity %#x", activity);
    }
}
HELPER const char *result_word(treadle_status result) {
    switch (result) {
    case TREADLE_RUN_FINISHED: return "finished";
    case TREADLE_RUN_STOPPED: return "stopped";
    case TREADLE_RUN_TIMED_OUT: return "timed-out";
    case TREADLE_RUN_HANDLED_SOURCE: return "handled";
    case TREADLE_RUN_INTERRUPTED: return "interrupted";
    default: check_failed(__FILE__, __LINE__, "a run returned %d", result);
    }
}

HELPER void play(const char *mode, int64_t timeout_ns, uint32_t flags) {
    trace("%s", result_word(treadle_loop_run(the_stage(), mode, timeout_ns, flags)));
}

/* Plays for a time and through its sleep: again if the time was over before, as for a thread that was held up. */
HELPER void play_through_a_sleep(const char *mode, int64_t timeout_ns) {
    do {
        trace_clear();
        play(mode, timeout_ns, 0);
    } while (!strstr(trace_text, "sleep"));
}

/* Passes time without giving the loop a chance: for callbacks that are too long. */
HELPER void idle_until(int64_t time) {
    struct timespec date = {.tv_sec = time / SECONDS(1), .tv_nsec = time % SECONDS(1)};
    while (treadle_time_now() < time) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &date, NULL);
}

HELPER void perform_deeds(actor *self);
HELPER void called(actor *self, const char *word) {
    CHECK(treadle_loop_is_current(the_stage()));
    CHECK(!treadle_loop_is_waiting(the_stage())); /* WAKE-6 */
    self->calls++;
    self->called_at = treadle_time_now();
    if (word && *word) trace("%s", word);
    perform_deeds(self);
}
HELPER void *actor_retain(void *info) {
    ((actor *)info)->retains++;
    return info;
}
HELPER void actor_release(void *info) {
    actor *self = info;
    CHECK(++self->releases <= self->retains);
    if (self->loud && self->releases == self->retains) trace("%s.gone", self->name);
}
HELPER void actor_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    actor *self = info;
    (void)source, (void)loop, (void)mode;
    self->schedules++;
    if (self->loud) trace("%s.schedule", self->name);
}
HELPER void actor_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    actor *self = info;
    (void)source, (void)loop, (void)mode;
    self->cancels++;
    if (self->loud) trace("%s.cancel", self->name);
}
HELPER void actor_perform(treadle_source source, void *info) {
    (void)source;
    called(info, ((actor *)info)->name);
}
HELPER void actor_fire(treadle_timer timer, void *info) {
    (void)timer;
    called(info, ((actor *)info)->name);
}
HELPER void actor_ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    actor *self = info;
    uint64_t counter;
    (void)descriptor;
    CHECK_INT(events, TREADLE_READABLE);
    if (!self->permanent) CHECK_INT(read(self->fd, &counter, sizeof counter), sizeof counter);
    called(self, self->name);
}
HELPER void actor_notify(treadle_observer observer, uint32_t activity, void *info) {
    actor *self = info;
    const char *name = self->name;
    bool single = self->activities && !(self->activities & (self->activities - 1));
    char word[64];
    CHECK(observer == self->handle);
    self->told = activity;
    if (!name) snprintf(word, sizeof word, "%s", activity_word(activity));
    else if (!*name || single) snprintf(word, sizeof word, "%s", name);
    else snprintf(word, sizeof word, "%s.%s", name, activity_word(activity));
    called(self, word);
}
HELPER void actor_block(void *info) { called(info, ((actor *)info)->name); }

/* Makes the actor's object, owned by the test. */
HELPER void *create(actor *self) {
    if (self->handle || self->kind == BLOCK) return self->handle;
    if (self->kind == SOURCE) {
        treadle_source_context context = {.struct_size = sizeof context, .info = self, .retain = actor_retain,
            .release = actor_release, .schedule = actor_schedule, .cancel = actor_cancel,
            .perform = actor_perform, .order = self->order};
        CHECK_INT(treadle_source_create(&context, (treadle_source *)&self->handle), TREADLE_OK);
    } else if (self->kind == DESCRIPTOR) {
        CHECK((self->fd = eventfd(self->idle ? 0 : 1, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
        treadle_descriptor_context context = {.struct_size = sizeof context, .info = self, .retain = actor_retain,
            .release = actor_release, .ready = actor_ready, .fd = self->fd, .events = TREADLE_READABLE};
        CHECK_INT(treadle_descriptor_create(&context, (treadle_descriptor *)&self->handle), TREADLE_OK);
    } else if (self->kind == TIMER) {
        treadle_timer_context context = {.struct_size = sizeof context, .info = self, .retain = actor_retain,
            .release = actor_release, .fire = actor_fire, .fire_at = treadle_time_now() + self->after,
            .interval_ns = self->interval};
        CHECK_INT(treadle_timer_create(&context, (treadle_timer *)&self->handle), TREADLE_OK);
    } else {
        treadle_observer_context context = {.struct_size = sizeof context, .info = self, .retain = actor_retain,
            .release = actor_release, .notify = actor_notify, .once = self->once, .order = self->order,
            .activities = self->activities ? self->activities : TREADLE_ALL_ACTIVITIES};
        CHECK_INT(treadle_observer_create(&context, (treadle_observer *)&self->handle), TREADLE_OK);
    }
    return self->handle;
}

#define FOR_KIND(action, ...)                                                                                          \
    (whom->kind == SOURCE       ? treadle_##action##source(__VA_ARGS__)                                                \
     : whom->kind == DESCRIPTOR ? treadle_##action##descriptor(__VA_ARGS__)                                            \
     : whom->kind == TIMER      ? treadle_##action##timer(__VA_ARGS__)                                                 \
                                : treadle_##action##observer(__VA_ARGS__))
#define BY_KIND(action)                                                                                                \
    (whom->kind == SOURCE       ? treadle_source_##action(whom->handle)                                                \
     : whom->kind == DESCRIPTOR ? treadle_descriptor_##action(whom->handle)                                            \
     : whom->kind == TIMER      ? treadle_timer_##action(whom->handle)                                                 \
                                : treadle_observer_##action(whom->handle))

/* One deed, by whichever thread: only RUN needs the stage's own. */
HELPER treadle_status perform_deed(const deed *deed, actor *self) {
    actor *whom = deed->whom ? deed->whom : self;
    const char *mode = deed->mode ? deed->mode : MODE_A;
    switch (deed->verb) {
    case NOTHING: return TREADLE_OK;
    case SIGNAL: return treadle_source_signal(create(whom));
    case FEED: return write(whom->fd, &(uint64_t){1}, 8) == 8 ? TREADLE_OK : TREADLE_E_SYSTEM;
    case WAKE: return treadle_loop_wake(the_stage());
    case STOP: return treadle_loop_stop(the_stage());
    case REQUEST_STOP: return treadle_loop_request_stop(the_stage(), deed->flags);
    case RUN: {
        trace("(");
        treadle_status result = treadle_loop_run(the_stage(), mode, deed->ns, deed->flags);
        trace(")%s", result_word(result));
        return TREADLE_OK;
    }
    case ADD: create(whom); return FOR_KIND(loop_add_, the_stage(), whom->handle, mode);
    case REMOVE: return FOR_KIND(loop_remove_, the_stage(), whom->handle, mode);
    case INVALIDATE: return BY_KIND(invalidate);
    case RELEASE: return BY_KIND(release);
    case MOVE: return treadle_timer_set_next_fire(whom->handle, treadle_time_now() + deed->ns);
    case QUEUE: {
        treadle_post block = {.struct_size = sizeof block, .modes = &deed->mode, .mode_count = deed->mode != NULL,
            .fn = actor_block, .info = actor_retain(whom), .destroy = actor_release};
        return post_block(the_stage(), &block);
    }
    case CALL: deed->call(self); return TREADLE_OK;
    }
    return TREADLE_E_ARG;
}
HELPER void perform_deeds(actor *self) {
    if (self->on && !(self->on & self->told)) return;
    int match = self->matches++, times = self->times ? self->times : 1;
    if (match < self->skip || (times != ALWAYS && match >= self->skip + times)) return;
    for (size_t i = 0; i < sizeof self->does / sizeof *self->does && self->does[i].verb; i++)
        CHECK_INT(perform_deed(&self->does[i], self), self->does[i].expected);
}
/* A deed outside of a callback: PERFORM(SIGNAL, &a), PERFORM(QUEUE, &b, .mode = MODE_B). */
#define PERFORM(verb_, ...) CHECK_INT(perform_deed(&(deed){verb_, __VA_ARGS__}, NULL), TREADLE_OK)

/* Makes the actor, if need be, and adds it to a mode. */
HELPER void enter(actor *self, const char *mode) {
    CHECK_INT(perform_deed(&(deed){ADD, self, mode}, self), TREADLE_OK);
}
HELPER void enter_signalled(actor *self, const char *mode) {
    enter(self, mode);
    CHECK_INT(treadle_source_signal(self->handle), TREADLE_OK);
}

/* Actors without a part of their own. */
HELPER actor *extra(enum kind kind, int64_t order) {
    static actor extras[128];
    static int count;
    CHECK(count < 128);
    extras[count] = (actor){.kind = kind, .order = order};
    return &extras[count++];
}
/* An observer that traces every activity of a mode, before all others hear of it. */
HELPER void watch_mode(const char *mode) { enter(extra(OBSERVER, INT64_MIN), mode); }
/* A source that keeps the mode from being empty. */
HELPER void keep_mode(const char *mode) { enter(extra(SOURCE, 0), mode); }

/* A timer that stops the run in a while: long enough for a sleep to be cut short by mistake before. */
HELPER void stop_later(const char *mode) {
    actor *stopper = extra(TIMER, 0);
    stopper->name = "later";
    stopper->does[0] = (deed){STOP};
    stopper->after = MILLISECONDS(30);
    enter(stopper, mode);
}

/* Another thread, which does one deed in each of the stage's sleeps in a mode, from the first one on. */
struct outsider {
    struct sleep_watch watch;
    deed does[6];
    pthread_t thread;
};
HELPER void *outsider_main(void *info) {
    struct outsider *outsider = info;
    for (int i = 0; i < 6 && outsider->does[i].verb; i++) {
        while (atomic_load(&outsider->watch.sleeps) <= i) sched_yield();
        await_sleep(&outsider->watch);
        CHECK_INT(perform_deed(&outsider->does[i], NULL), outsider->does[i].expected);
    }
    return NULL;
}
HELPER void outsider_start(struct outsider *outsider, const char *mode) {
    watch_sleep(&outsider->watch, the_stage(), mode);
    CHECK_INT(pthread_create(&outsider->thread, NULL, outsider_main, outsider), 0);
}
HELPER void outsider_join(struct outsider *outsider) {
    CHECK_INT(pthread_join(outsider->thread, NULL), 0);
    unwatch_sleep(&outsider->watch);
}

#endif
