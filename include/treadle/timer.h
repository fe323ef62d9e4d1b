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
 *  afterwards; the dates of a repeating one are not touched (NST-3).
 *  [any] TREADLE_IGNORED if invalid, or if the callback is running already. Since 1.0. */
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

/** The order that the timer was made with (TMR-3, OBJ-5).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_order(treadle_timer timer, int64_t *out_order);

/** Adds a reference. Every handle that one was given with create or retain is released once.
 *  [any] (OBJ-2) Since 1.0. */
TREADLE_API treadle_status treadle_timer_retain(treadle_timer timer);

/** Returns a reference that the caller owns; the modes that hold the timer keep theirs (OBJ-3). With
 *  the last reference the timer is invalidated, then freed (OBJ-4).
 *  [any] Errors: TREADLE_E_STALE also when the caller owns none. Since 1.0. */
TREADLE_API treadle_status treadle_timer_release(treadle_timer timer);

/** Ends the timer: it becomes invalid, leaves its modes, and its info is released, after the callback if
 *  that is running (TMR-7).
 *  Idempotent: TREADLE_OK also if it was invalid already. On the loop's own thread no callback starts any more once this returned; from another
 *  thread one may be running still, or about to start (OBJ-5, OBJ-9).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_invalidate(treadle_timer timer);

/** Invalidates the timer, then returns a reference that the caller owns, as treadle_timer_invalidate and
 *  treadle_timer_release do, in one call that costs less than both: for what the client is done with, whether it has
 *  fired or not (OBJ-4, OBJ-5). Others' references stay good, for an invalid timer.
 *  [any] Errors: as treadle_timer_release; a timer of which the caller owns no reference is invalid all the same.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_timer_discard(treadle_timer timer);

/** Invalidates, then waits until no callback of the timer runs on another thread.
 *  timeout_ns: 0 or less only looks; TREADLE_FOREVER.
 *  [any] Errors: TREADLE_E_DEADLOCK from inside a callback of this timer (it is invalid then, but
 *  nothing is waited for); TREADLE_E_TIMEOUT. Since 1.0. */
TREADLE_API treadle_status treadle_timer_close(treadle_timer timer, int64_t timeout_ns);

/** True until the timer is invalidated; never true again (OBJ-5). False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_timer_is_valid(treadle_timer timer);

/** The info that the callbacks receive; NULL when invalid (TMR-7).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_info(treadle_timer timer, void **out_info);

/** Writes a line of text about the timer, with what the context's describe adds, for debugging only:
 *  at most capacity bytes, NUL included; stores the full length, without NUL (RL-12).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_describe(treadle_timer timer, char *buffer, size_t capacity, size_t *out_length);

/** Adds the timer to a mode of a loop, or to all common modes (MODE-8).
 *  TREADLE_IGNORED, with no effect: it is there already, it is invalid, the loop's thread is gone, it is in another loop
 *  (MODE-5, MODE-6, RL-9). The mode keeps a reference.
 *  [any] Errors: TREADLE_E_ARG for a NULL mode (MODE-3); TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_add_timer(treadle_loop loop, treadle_timer timer, const char *mode);

/** Removes the timer from a mode, or from the common set and all its modes (MODE-8). TREADLE_IGNORED if
 *  it is not there; the mode is not created (MODE-6). Its callback does not start any more in the
 *  current pass either (OBJ-9).
 *  [any] Errors: TREADLE_E_ARG for a NULL mode. Since 1.0. */
TREADLE_API treadle_status treadle_loop_remove_timer(treadle_loop loop, treadle_timer timer, const char *mode);

/** True if the timer is in the mode; for the common modes, if it is recorded there (MODE-8).
 *  False for a bad handle or a NULL mode (MODE-3).
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_contains_timer(treadle_loop loop, treadle_timer timer, const char *mode);

TREADLE_END_DECLS
#endif
