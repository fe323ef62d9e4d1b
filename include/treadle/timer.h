/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer.h: timers: one-shot or repeating, on an exact grid, with a tolerance if wanted. */
#ifndef TREADLE_TIMER_H
#define TREADLE_TIMER_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** Called when the timer fires: never early (TMR-22), once for all dates that were missed (TMR-16),
 *  not again while it runs (TMR-19).
 *  [callback] on the loop's thread. Since 1.0. */
typedef void (*treadle_timer_fn)(treadle_timer timer, void *info);

/** What a timer is made of. The context's retain and release are also called around each callback
 *  (TMR-7). Since 1.0. */
typedef struct treadle_timer_context {
    size_t struct_size; /* sizeof(treadle_timer_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_timer_fn fire;        /* may be NULL: the timer fires without a callback */
    treadle_routine fire_routine; /* in place of fire (routine.h); not both */
    int64_t fire_at;              /* the first date; in the past: fires at the next opportunity (TMR-8) */
    int64_t interval_ns;          /* 0: one-shot; below 1,000: 1,000; at most about 16 years (TMR-1) */
    int64_t tolerance_ns;         /* as treadle_timer_set_tolerance */
    int64_t order;                /* kept, but without effect (TMR-3) */
} treadle_timer_context;

/** Makes a timer, in no mode yet.
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, or both fire and its routine;
 *  TREADLE_E_RANGE for a negative interval; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer);

/** The same in CFRunLoop's units, which replace fire_at and interval_ns: a calendar date in seconds
 *  since 2001 (see treadle_time_from_absolute) and an interval in seconds, of which 0 or less means
 *  one-shot (TMR-1, TMR-2).
 *  [any] Errors: as treadle_timer_create, and TREADLE_E_ARG for NaN. Since 1.0. */
TREADLE_API treadle_status treadle_timer_create_absolute(const treadle_timer_context *context, double date,
                                                         double interval, treadle_timer *out_timer);

/** Makes a timer and adds it to the default mode of the calling thread's loop (NST-1): it fires first after
 *  interval_ns, and then, with repeats, at every interval_ns from there. An interval below 100,000, also a
 *  negative one, counts as 100,000 (NST-2). release (may be NULL) gets info back as in the context. The loop holds
 *  the timer; out_timer may be NULL, else release the handle (NST-5).
 *  [any] Errors, with release called: TREADLE_E_ARG for a NULL fire; TREADLE_E_NOMEM; TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_timer_schedule(int64_t interval_ns, bool repeats, treadle_timer_fn fire, void *info,
                                                  treadle_release_fn release, treadle_timer *out_timer);

/** The same for a date, and with the interval of a context: fires first at fire_at, in the past at the next opportunity
 *  (TMR-8), and then, with an interval_ns above 0, on its grid (TMR-1, TMR-16). Reads no clock: with one reading, or with
 *  treadle_time_recent, it is the quickest way to arm many.
 *  [any] Errors, with release called: TREADLE_E_ARG for a NULL fire; TREADLE_E_RANGE for a negative interval;
 *  TREADLE_E_NOMEM; TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_timer_schedule_at(int64_t fire_at, int64_t interval_ns, treadle_timer_fn fire,
                                                     void *info, treadle_release_fn release, treadle_timer *out_timer);

/** Calls the timer's callback here and now, on the calling thread, if the timer is valid. A one-shot is invalid
 *  afterwards; the dates of a repeating one are not touched (NST-3). The callback may end its thread.
 *  [any] TREADLE_IGNORED if invalid, or if the callback is running already. Errors: TREADLE_E_SYSTEM when the thread has no
 *  room for thread-specific data; TREADLE_E_CLOSED after treadle_shutdown. Since 1.0. */
TREADLE_API treadle_status treadle_timer_fire(treadle_timer timer);

/** The date as it was asked for, until the timer is rescheduled; while the callback runs, the date that
 *  is being served (TMR-2, TMR-16). 0 when invalid (TMR-4).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time);

/** Moves the timer, and the grid of a repeating one, to a date; at once also in a sleeping loop. In
 *  the timer's own callback it wins over the grid, but does not save a one-shot (TMR-15, TMR-17).
 *  TREADLE_IGNORED if invalid.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_set_next_fire(treadle_timer timer, int64_t time);

/** The interval; 0 for a one-shot (OBJ-5).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns);

/** True if the timer repeats (OBJ-5). False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_timer_repeats(treadle_timer timer);

/** How late the timer may fire so that wake-ups can be shared. Never early, and without delay when the
 *  loop is awake anyway; does not move the grid. Less than 0 counts as 0; more than half an interval,
 *  as half (TMR-5).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_set_tolerance(treadle_timer timer, int64_t tolerance_ns);

/** The tolerance in force.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_tolerance(treadle_timer timer, int64_t *out_tolerance_ns);

/* treadle_timer_retain and the other verbs of object.h, for a timer alone. */
TREADLE_TYPED_ITEM(timer)

TREADLE_END_DECLS
#endif
