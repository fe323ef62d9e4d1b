/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * observer.h: observers: called at fixed points of a run, before and after the loop acts. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
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
    TREADLE_AFTER_WAITING = 0x40,  /* the loop woke, and has not yet handled the cause */
    TREADLE_EXIT = 0x80,           /* a run ends: once a run */
    TREADLE_ALL_ACTIVITIES = 0x0FFFFFFF,
    TREADLE_PREPARE = 0x10000000   /* treadle_loop_prepare: another loop is about to wait for this one; not among all of a run's */
};

/** Called with one activity. Not re-entered while it runs, also not by a nested run (OBS-5).
 *  [callback] on the loop's thread. Since 1.0. */
typedef void (*treadle_observer_fn)(treadle_observer observer, uint32_t activity, void *info);

/** The configuration of an observer. Since 1.0. */
typedef struct treadle_observer_context {
    size_t struct_size; /* sizeof(treadle_observer_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_observer_fn notify;     /* may be NULL */
    treadle_routine notify_routine; /* in place of notify (routine.h); not both */
    uint32_t activities;            /* a mask of the activities to be called for */
    uint32_t once;                  /* not 0: invalidated after its first call (OBS-6) */
    int64_t order;                  /* called in ascending order; equal: in the order of adding (OBS-2) */
    const char *label;              /* NULL, or its name in reports: UTF-8 of at most 255 bytes, copied */
    treadle_host host;              /* its events replace the callbacks, as in a source's context */
    uint64_t token;                 /* carried by the host's events; 0 without a host */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_observer_context;

/** Creates an observer, in no mode yet.
 *  [any, quick] Errors: TREADLE_E_ARG for NULL, a bad struct_size, both notify and its routine, a callback or info with a
 *  host, a token without one; TREADLE_E_CLOSED if the host is quiet or the scope is closed; TREADLE_E_TOO_NEW;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_observer_create(const treadle_observer_context *context, treadle_observer *out_observer);

/** Creates an observer of some activities and adds it to the default mode of the calling thread's loop, in one call that costs
 *  less than two: notify is called with info, as with a context. The loop holds the observer. out_observer may be NULL;
 *  otherwise it receives one reference, which the caller releases (OBJ-3). While the thread's loop is being torn down, returns
 *  TREADLE_IGNORED, with an observer in no mode.
 *  [any] Errors: TREADLE_E_ARG for a NULL notify; TREADLE_E_NOMEM; TREADLE_E_SYSTEM; TREADLE_E_CLOSED if the scope is
 *  closed; TREADLE_E_STATE if the thread can get no loop any more. Since 1.0. */
TREADLE_API treadle_status treadle_observer_start(uint32_t activities, treadle_observer_fn notify, void *info,
                                                  treadle_observer *out_observer);

/** The mask that the observer was created with (OBJ-5).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_observer_get_activities(treadle_observer observer, uint32_t *out_activities);

/** True unless the observer was created with once (OBJ-5). False for a bad handle.
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_observer_repeats(treadle_observer observer);

/* treadle_observer_retain and the other functions of object.h, typed for observers. */
TREADLE_TYPED_ITEM(observer)

TREADLE_END_DECLS
#endif
