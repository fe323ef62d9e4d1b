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

/** Flags of a timer. Since 1.0. */
enum {
    TREADLE_TIMER_ENDS_AFTER_FIRING = 1, /**< a one-shot is invalid after its callback, as CFRunLoop's (TMR-4, TMR-15) */
    TREADLE_TIMER_WALL_CLOCK = 2         /**< dates are those of the wall clock, and follow it when it is set (TMR-24) */
};

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
    int64_t fire_at;              /* the first date; in the past: fires at the next opportunity (TMR-8); TREADLE_FOREVER: idle */
    int64_t interval_ns;          /* 0: one-shot; below 1,000: 1,000; at most about 16 years (TMR-1) */
    int64_t tolerance_ns;         /* as treadle_timer_set_tolerance */
    const char *label;            /* NULL, or what reports call it: UTF-8 of at most 255 bytes, copied */
    treadle_host host;            /* its events take the place of the callbacks, as in a source's context */
    uint64_t token;               /* what the host's events carry; 0 without a host */
    uint32_t flags;               /* TREADLE_TIMER_... */
    uint32_t reserved;            /* 0 */
    treadle_scope scope; /* what is made belongs to it; NULL: to the one that the thread has entered (scope.h) */
} treadle_timer_context;

/** Makes a timer, in no mode yet.
 *
 *  A one-shot that has fired is idle (TMR-24): valid, and in its modes, but without a date; it keeps no mode from being
 *  empty. treadle_timer_set_time gives it a date again, also in its own callback. With
 *  TREADLE_FOREVER for a date any timer is idle. An idle timer of which no client has a reference ends, since nobody would
 *  arm it: when its callback returns, or when the last reference is released. So what is made, added and released
 *  fires, and leaves nothing. With TREADLE_TIMER_ENDS_AFTER_FIRING a one-shot ends in any case, whatever date it was
 *  given in its callback (TMR-15).
 *
 *  With TREADLE_TIMER_WALL_CLOCK its dates, here and in treadle_timer_set_next_fire and treadle_timer_get_next_fire, are
 *  nanoseconds since 1970 of CLOCK_REALTIME, and so is its grid. When that clock is set, or the system wakes from a sleep,
 *  the timer fires when the clock shows its date (TMR-24), also in a loop that sleeps. The date of a mode
 *  (treadle_loop_get_next_fire) is monotonic all the same. A mode with such a timer has an epoll set, as one with
 *  descriptors.
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, unknown flags, both fire and its routine, a callback or info
 *  besides a host, a token without one; TREADLE_E_RANGE for a negative interval; TREADLE_E_CLOSED if the host is quiet;
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer);

/** The short form, and the quickest: makes a timer, adds it to the default mode of the calling thread's loop, and arms it
 *  (NST-1). It fires first after delay_ns, and then, with an interval_ns above 0, on the grid of that interval from there
 *  (TMR-1, TMR-16). A delay of 0 or less: at the next opportunity (TMR-8); of
 *  TREADLE_FOREVER: not before it is armed (TMR-24).
 *
 *  The delay counts from the loop's time of this pass, as treadle_time_recent tells it, so that no clock is read for each
 *  timer: never from later than now. So the timer never fires before delay_ns after that time (TMR-22), but sooner
 *  after the call than delay_ns, by what the pass has taken already. Who needs more gives a date to treadle_timer_create.
 *
 *  The loop holds the timer (NST-5). out_timer may be NULL; else it gets one reference, to be released. What has to
 *  be released with the timer goes to treadle_timer_create. TREADLE_IGNORED, with a timer in no mode, at the end of the thread.
 *  [any] Errors: TREADLE_E_ARG for a NULL fire; TREADLE_E_RANGE for a negative interval; TREADLE_E_NOMEM; TREADLE_E_SYSTEM;
 *  TREADLE_E_STATE where the thread gets no loop any more. Since 1.0. */
TREADLE_API treadle_status treadle_timer_start(int64_t delay_ns, int64_t interval_ns, treadle_timer_fn fire, void *info,
                                               treadle_timer *out_timer);

/** Calls the timer's callback here and now, on the calling thread, if the timer is valid. A one-shot is idle
 *  afterwards, or ends, as if it were due; the dates of a repeating one are not touched (NST-3). The callback may end its thread.
 *  [any] TREADLE_IGNORED if invalid, or if the callback is running already. Errors: TREADLE_E_SYSTEM when the thread has no
 *  room for thread-specific data; TREADLE_E_CLOSED after treadle_shutdown. Since 1.0. */
TREADLE_API treadle_status treadle_timer_fire(treadle_timer timer);

/** The date as it was asked for, until the timer is rescheduled; while the callback runs, the date that
 *  is being served (TMR-2, TMR-16). 0 when idle (TMR-24) or invalid (TMR-4).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time);

/** The same by a delay (TMR-24), for time-outs that are moved again and again. On the thread of the timer's loop it counts
 *  from the time of the pass, as that of treadle_timer_start, and anywhere else, as of a timer on the wall clock, from now.
 *  TREADLE_FOREVER: the timer is idle. TREADLE_IGNORED if invalid.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_set_time(treadle_timer timer, int64_t time_ns, uint32_t flags);

/** The interval; 0 for a one-shot (OBJ-5).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns);

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
