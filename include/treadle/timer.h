/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer.h: timers: one-shot or repeating, on an exact grid, with an optional tolerance. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_TIMER_H
#define TREADLE_TIMER_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** Called when the timer fires: never early (TMR-22), once for all missed dates (TMR-16), and not
 *  re-entered while it runs (TMR-19).
 *  [callback] on the loop's thread. Since 1.0. */
typedef void (*treadle_timer_fn)(treadle_timer timer, void *info);

/** Flags of a timer. Since 1.0. */
enum {
    TREADLE_TIMER_ENDS_AFTER_FIRING = 1, /**< a one-shot becomes invalid after its callback, as in CFRunLoop (TMR-4, TMR-15) */
    TREADLE_TIMER_WALL_CLOCK = 2         /**< dates are those of the wall clock, and follow it when it is set (TMR-24) */
};

/** The configuration of a timer. The context's retain and release are also called around each callback
 *  (TMR-7). Since 1.0. */
typedef struct treadle_timer_context {
    size_t struct_size; /* sizeof(treadle_timer_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_timer_fn fire;        /* may be NULL: the timer fires without a callback */
    treadle_routine fire_routine; /* in place of fire (routine.h); not both */
    int64_t fire_at;              /* the first date; if in the past, the timer fires in the next pass (TMR-8); TREADLE_FOREVER: idle */
    int64_t interval_ns;          /* 0: one-shot; below 1,000: 1,000; at most about 16 years (TMR-1) */
    int64_t tolerance_ns;         /* as treadle_timer_set_tolerance */
    const char *label;            /* NULL, or its name in reports: UTF-8 of at most 255 bytes, copied */
    treadle_host host;            /* its events replace the callbacks, as in a source's context */
    uint64_t token;               /* carried by the host's events; 0 without a host */
    uint32_t flags;               /* TREADLE_TIMER_... */
    uint32_t reserved;            /* 0 */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_timer_context;

/** Creates a timer, in no mode yet.
 *
 *  A one-shot that has fired is idle (TMR-24): it is valid and stays in its modes, but has no date, and a mode that
 *  contains only idle timers counts as empty. treadle_timer_set_next_fire and treadle_timer_arm set a new date, also in
 *  its own callback. A date of TREADLE_FOREVER makes any timer idle. If no client holds a reference to an idle timer,
 *  nothing can arm it again, and it is invalidated: when its callback returns, or when the last reference is released. So
 *  a one-shot that is created, added and released fires once and is freed. With TREADLE_TIMER_ENDS_AFTER_FIRING a one-shot
 *  is always invalidated after firing, even if its callback sets a new date (TMR-15).
 *
 *  With TREADLE_TIMER_WALL_CLOCK its grid and its dates, here and in treadle_timer_set_next_fire and
 *  treadle_timer_get_next_fire, are nanoseconds since 1970 on CLOCK_REALTIME. If that clock is set, or the system was
 *  suspended, the timer still fires when the clock shows its date (TMR-24), also in a sleeping loop.
 *  treadle_loop_get_next_fire returns a monotonic date for it, as for every timer. A mode with such a timer has an epoll set,
 *  like a mode with descriptors.
 *  [any, quick] Errors: TREADLE_E_ARG for NULL, a bad struct_size, unknown flags, both fire and its routine, a callback or
 *  info together with a host, a token without one; TREADLE_E_RANGE for a negative interval; TREADLE_E_CLOSED if the
 *  host is quiet or the scope is closed; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer);

/** The short form, and the fastest: creates a timer, adds it to the default mode of the calling thread's loop, and arms it
 *  (NST-1). It first fires after delay_ns; if interval_ns is above 0, it then fires on the grid of that interval, counted from
 *  the first date (TMR-1, TMR-16). A delay of 0 or less: it fires in the next pass (TMR-8); TREADLE_FOREVER: it does not fire
 *  before it is armed (TMR-24).
 *
 *  In a callback the delay counts from treadle_time_recent, like every delay, elsewhere from the call (TMR-24); the timer never
 *  fires before the delay has passed (TMR-22). If the delay must count from this very moment, pass a date to
 *  treadle_timer_create.
 *
 *  The loop holds the timer (NST-5). out_timer may be NULL; otherwise it receives one reference, which the caller releases. If
 *  info must be released with the timer, use treadle_timer_create. While the thread's loop is being torn down, returns
 *  TREADLE_IGNORED, with a timer in no mode.
 *  [any] Errors: TREADLE_E_ARG for a NULL fire; TREADLE_E_RANGE for a negative interval; TREADLE_E_NOMEM;
 *  TREADLE_E_SYSTEM; TREADLE_E_CLOSED if the scope is closed; TREADLE_E_STATE if the thread can get no loop any more.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_timer_start(int64_t delay_ns, int64_t interval_ns, treadle_timer_fn fire, void *info,
                                               treadle_timer *out_timer);

/** Calls the timer's callback immediately, on the calling thread, if the timer is valid. A one-shot is idle or invalid
 *  afterwards, as if it had been due; the dates of a repeating timer do not change (NST-3). The callback may end its thread.
 *  [any] TREADLE_IGNORED if invalid, or if the callback is running already. Errors: TREADLE_E_SYSTEM when the thread has no
 *  room for thread-specific data; TREADLE_E_CLOSED after treadle_shutdown. Since 1.0. */
TREADLE_API treadle_status treadle_timer_fire(treadle_timer timer);

/** The requested date, until the timer is rescheduled; during its callback, the date for which the callback was called
 *  (TMR-2, TMR-16). 0 when idle (TMR-24) or invalid (TMR-4).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time);

/** Flags of treadle_timer_set_time. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_ARM_AT_DATE = 1 /* the time is a date of the timer's clock, not a delay */
};

/** Moves the timer, and the grid of a repeating timer, to the date that is time_ns away, or with TREADLE_ARM_AT_DATE to the
 *  date time_ns; takes effect at once, also in a sleeping loop. In the timer's own callback this date takes precedence over
 *  the grid; a timer with TREADLE_TIMER_ENDS_AFTER_FIRING is invalidated all the same (TMR-15, TMR-17).
 *  In a callback a delay counts from treadle_time_recent, like every delay, elsewhere from the call (TMR-24). The delay of a
 *  timer on the wall clock always counts from the call.
 *  TREADLE_FOREVER: the timer is idle (TMR-24). TREADLE_IGNORED if invalid.
 *  [any, quick] Errors: TREADLE_E_ARG for unknown flags. Since 1.0. */
TREADLE_API treadle_status treadle_timer_set_time(treadle_timer timer, int64_t time_ns, uint32_t flags);

/** treadle_timer_set_time without flags: moves the timer to the date that is delay_ns away, for timeouts that are restarted often
 *  (TMR-24).
 *  [any] Since 1.0. */
static inline treadle_status treadle_timer_arm(treadle_timer timer, int64_t delay_ns) { return treadle_timer_set_time(timer, delay_ns, 0); }

/** treadle_timer_set_time with TREADLE_ARM_AT_DATE: moves the timer, and its grid, to a date (TMR-17).
 *  [any] Since 1.0. */
static inline treadle_status treadle_timer_set_next_fire(treadle_timer timer, int64_t time) {
    return treadle_timer_set_time(timer, time, TREADLE_ARM_AT_DATE);
}

/** The interval; 0 for a one-shot (OBJ-5), also after the timer has become invalid.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns);

/** True if the timer has an interval: it repeats (OBJ-5). False for a bad handle.
 *  [any] Since 1.0. */
static inline bool treadle_timer_repeats(treadle_timer timer) {
    int64_t interval_ns = 0;
    return treadle_timer_get_interval(timer, &interval_ns) == TREADLE_OK && interval_ns > 0;
}

/** Sets how late the timer may fire, so that wake-ups can be shared. It never fires early, fires
 *  without delay if the loop is awake, and the grid does not move. A value below 0 counts as 0, one
 *  above half the interval as half the interval (TMR-5).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_timer_set_tolerance(treadle_timer timer, int64_t tolerance_ns);

/** The tolerance in force.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_timer_get_tolerance(treadle_timer timer, int64_t *out_tolerance_ns);

/* treadle_timer_retain and the other functions of object.h, typed for timers. */
TREADLE_TYPED_ITEM(timer)

TREADLE_END_DECLS
#endif
