/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * observer.h: observers: told what a loop is about to do. */
#ifndef TREADLE_OBSERVER_H
#define TREADLE_OBSERVER_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** Activities, with CFRunLoop's values (OBS-1). Since 1.0. */
enum {
    TREADLE_ENTRY = 0x1,           /* a run begins: once a run (OBS-9) */
    TREADLE_BEFORE_TIMERS = 0x2,   /* a pass begins */
    TREADLE_BEFORE_SOURCES = 0x4,  /* sources are about to be performed */
    TREADLE_BEFORE_WAITING = 0x20, /* the loop is about to sleep */
    TREADLE_AFTER_WAITING = 0x40,  /* the loop woke, and has not handled yet what woke it */
    TREADLE_EXIT = 0x80,           /* a run ends: once a run */
    TREADLE_ALL_ACTIVITIES = 0x0FFFFFFF
};

/** Called with one activity. Not again while it runs, also not by a nested run (OBS-5).
 *  [callback] on the loop's thread. Since 1.0. */
typedef void (*treadle_observer_fn)(treadle_observer observer, uint32_t activity, void *info);

/** What an observer is made of. Since 1.0. */
typedef struct treadle_observer_context {
    size_t struct_size; /* sizeof(treadle_observer_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_observer_fn notify;     /* may be NULL */
    treadle_routine notify_routine; /* in place of notify (routine.h); not both */
    uint32_t activities;            /* a mask of what to be told */
    uint32_t once;                  /* not 0: invalidated after its first call (OBS-6) */
    int64_t order;                  /* ascending; equal: in the order of adding (OBS-2) */
} treadle_observer_context;

/** Makes an observer, in no mode yet.
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, or both notify and its routine;
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_observer_create(const treadle_observer_context *context, treadle_observer *out_observer);

/** The mask that the observer was made with (OBJ-5).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_observer_get_activities(treadle_observer observer, uint32_t *out_activities);

/** True unless the observer was made to be called once (OBJ-5). False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_observer_repeats(treadle_observer observer);

/** The order that the observer was made with (OBS-2).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_observer_get_order(treadle_observer observer, int64_t *out_order);

/** Adds a reference. Every handle that one was given with create or retain is released once.
 *  [any] (OBJ-2) Since 1.0. */
TREADLE_API treadle_status treadle_observer_retain(treadle_observer observer);

/** Returns a reference that the caller owns; the modes that hold the observer keep theirs (OBJ-3). With
 *  the last reference the observer is invalidated, then freed (OBJ-4).
 *  [any] Errors: TREADLE_E_STALE also when the caller owns none. Since 1.0. */
TREADLE_API treadle_status treadle_observer_release(treadle_observer observer);

/** Ends the observer: it becomes invalid, leaves its modes, and its info is released, after the callback
 *  if that is running (OBS-8).
 *  Idempotent: TREADLE_OK also if it was invalid already. On the loop's own thread no callback starts any more once this returned; from another
 *  thread one may be running still, or about to start (OBJ-5, OBJ-9).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_observer_invalidate(treadle_observer observer);

/** Invalidates, then waits until no callback of the observer runs on another thread.
 *  timeout_ns: 0 or less only looks; TREADLE_FOREVER.
 *  [any] Errors: TREADLE_E_DEADLOCK from inside a callback of this observer (it is invalid then, but
 *  nothing is waited for); TREADLE_E_TIMEOUT. Since 1.0. */
TREADLE_API treadle_status treadle_observer_close(treadle_observer observer, int64_t timeout_ns);

/** True until the observer is invalidated; never true again (OBJ-5). False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_observer_is_valid(treadle_observer observer);

/** The info that the callbacks receive; NULL when invalid.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_observer_get_info(treadle_observer observer, void **out_info);

/** Writes a line of text about the observer, with what the context's describe adds, for debugging only:
 *  at most capacity bytes, NUL included; stores the full length, without NUL (RL-12).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_observer_describe(treadle_observer observer, char *buffer, size_t capacity, size_t *out_length);

/** Adds the observer to a mode of a loop, or to all common modes (MODE-8). An observer alone does
 *  not keep a mode from being empty (MODE-7).
 *  TREADLE_IGNORED, with no effect: it is there already, it is invalid, the loop's thread is gone, it is in another loop
 *  (MODE-5, MODE-6, RL-9). The mode keeps a reference.
 *  [any] Errors: TREADLE_E_ARG for a NULL mode (MODE-3); TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_add_observer(treadle_loop loop, treadle_observer observer, const char *mode);

/** Removes the observer from a mode, or from the common set and all its modes (MODE-8). TREADLE_IGNORED if
 *  it is not there; the mode is not created (MODE-6). Its callback does not start any more in the
 *  current pass either (OBJ-9).
 *  [any] Errors: TREADLE_E_ARG for a NULL mode. Since 1.0. */
TREADLE_API treadle_status treadle_loop_remove_observer(treadle_loop loop, treadle_observer observer, const char *mode);

/** True if the observer is in the mode; for the common modes, if it is recorded there (MODE-8).
 *  False for a bad handle or a NULL mode (MODE-3).
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_contains_observer(treadle_loop loop, treadle_observer observer, const char *mode);

TREADLE_END_DECLS
#endif
