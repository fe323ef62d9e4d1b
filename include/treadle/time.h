/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * time.h: the clock, and conversions from seconds and dates. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_TIME_H
#define TREADLE_TIME_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** Nanoseconds of the monotonic clock, the time base of every date and deadline here (RUN-14).
 *  [any, signal-safe] Errors: none. Since 1.0. */
TREADLE_API int64_t treadle_time_now(void);

/** A recent time of the same clock, at a lower cost: the calling thread reads the clock once for many calls (RUN-14). Use it
 *  as the base of dates that need not be exact to the nanosecond, such as the timeouts of a thousand connections; counted from
 *  the call, a timer then fires earlier by the age of the recent time, but never before its date. In a callback of the thread's
 *  loop it is the time of the callback's first call of this function, or of its first delay; it is read anew after a nested run
 *  has begun or ended. Outside of callbacks it is read anew after each tick of the system's clock, every 1 to 10 milliseconds.
 *  A thread without a loop gets the present time. On one thread it never goes back.
 *
 *  Every delay that a callback passes to treadle_timer_start, treadle_timer_arm or TREADLE_PERFORM_AFTER counts from this
 *  time. So all delays of one callback count from the same time, which is not before the callback's start. Outside of
 *  callbacks a delay counts from the call (TMR-24). If a delay must count from this very moment in a callback, pass a date,
 *  treadle_time_now() plus the delay. Time limits of functions that wait count from the call.
 *  [any, quick] Errors: none. Since 1.0. */
TREADLE_API int64_t treadle_time_recent(void);

/** Converts seconds to nanoseconds, rounding up, and limited to +-TREADLE_FOREVER: an infinite or
 *  enormous number means for ever (RUN-2).
 *  [any, quick] Errors: TREADLE_E_ARG for NaN or NULL. Since 1.0. */
TREADLE_API treadle_status treadle_time_from_seconds(double seconds, int64_t *out_ns);

/** Converts a calendar date, in seconds since 2001-01-01 00:00 UTC as CFRunLoop counts them, to
 *  the monotonic clock as of now; later steps of the wall clock do not move it (TMR-2). Dates are
 *  limited to about the year 2129 (TMR-1).
 *  [any, quick] Errors: TREADLE_E_ARG for NaN or NULL. Since 1.0. */
TREADLE_API treadle_status treadle_time_from_absolute(double date, int64_t *out_time);

/** The reverse: the calendar date of a monotonic time, as of now.
 *  [any, quick] Errors: none. Since 1.0. */
TREADLE_API double treadle_time_to_absolute(int64_t time);

TREADLE_END_DECLS
#endif
