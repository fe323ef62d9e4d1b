/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform.h: performing a function on a thread, now or later, with or without waiting for it. */
#ifndef TREADLE_PERFORM_H
#define TREADLE_PERFORM_H

#include "thread.h"

TREADLE_BEGIN_DECLS

/** A function to perform.
 *  [callback] on the thread that it is performed on. Since 1.0. */
typedef void (*treadle_request_fn)(void *target, void *argument);

/** A function with what it is performed on. Since 1.0. */
typedef struct treadle_request {
    size_t struct_size;      /* sizeof(treadle_request) */
    treadle_request_fn fn;
    treadle_routine routine; /* in place of fn (routine.h); not both */
    void *target;
    void *argument;
    /* Called once each: after fn has returned, or when the request is dropped or refused (PERF-8). */
    treadle_release_fn release_target;
    treadle_release_fn release_argument;
    treadle_equal_fn equal; /* compares arguments when requests are cancelled; NULL: by identity (PERF-15) */
} treadle_request;

/** Flags of treadle_thread_perform. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_PERFORM_WAIT = 1 /* return when the function has returned (PERF-7) */
};

/** Has a thread perform a function, in a pass of its loop in one of the modes, and wakes it. Requests to one
 *  thread are performed in their order, all that are eligible in one pass; those that a performed function
 *  makes wait for the next pass (PERF-1 to PERF-6). A thread that has not started, or does not run its loop
 *  yet, performs them when it does.
 *  modes: NULL, the common modes; an empty list (not NULL, mode_count 0) performs nothing and returns
 *  TREADLE_IGNORED at once. On the calling thread, TREADLE_PERFORM_WAIT calls the function directly (PERF-2).
 *  With TREADLE_PERFORM_WAIT the caller's own loop is not run meanwhile, and what the function wrote is
 *  visible when this returns (PERF-7).
 *  [any] Errors, with the releases called but where the request cannot be read: TREADLE_E_ARG for NULL or a bad
 *  struct_size (these two), neither or both of fn and routine, a NULL mode, more than 65,535 modes, unknown
 *  flags; TREADLE_E_CLOSED when the thread has finished, or ends before it has performed the function (PERF-9),
 *  or after treadle_shutdown; TREADLE_E_DEADLOCK when the thread waits, with a timeout or without, directly or
 *  through others, for the caller; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_perform(treadle_thread thread, const treadle_request *request,
                                                  const char *const *modes, size_t mode_count, uint32_t flags);

/** treadle_thread_perform on the process's initial thread (PERF-10).
 *  [any] Errors: as treadle_thread_perform. Since 1.0. */
TREADLE_API treadle_status treadle_main_perform(const treadle_request *request, const char *const *modes,
                                                size_t mode_count, uint32_t flags);

/** Has the calling thread's loop perform a function once, after a delay: a one-shot timer in the default mode,
 *  or in the given ones (PERF-12 to PERF-14). Never before the next pass. Requests of one date are performed in
 *  their order. modes as in treadle_thread_perform, but NULL is the default mode. What is left when the thread
 *  ends is dropped (PERF-16). What a release asks for then is dropped at once, and TREADLE_IGNORED returned; in
 *  the sixteenth release inside of others it is refused with TREADLE_E_CLOSED, and stays the caller's: the
 *  releases are not called.
 *  [any] Errors, with the releases called as in treadle_thread_perform: TREADLE_E_ARG, TREADLE_E_TOO_NEW,
 *  TREADLE_E_NOMEM, TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_perform_after(int64_t delay_ns, const treadle_request *request,
                                                 const char *const *modes, size_t mode_count);

/** Cancels all delayed requests of the calling thread for this target, by identity (PERF-15), however many others
 *  there are; then their releases are called, and may make new ones. Requests of treadle_thread_perform are not
 *  touched.
 *  [any] TREADLE_IGNORED when there is none. Since 1.0. */
TREADLE_API treadle_status treadle_perform_cancel_target(void *target);

/** Cancels the delayed requests of the calling thread that have this target and function (or routine), both by
 *  identity, and this argument, by identity or by the equal function of the waiting request (PERF-15). That may
 *  do anything: whatever it cancels is not asked any more, and what it makes is not asked. The releases follow when
 *  all have been asked. Those of `like` itself are not called, and its equal is not used.
 *  [any] TREADLE_IGNORED when there is none. Errors: TREADLE_E_ARG for NULL, a bad struct_size, or neither or
 *  both of fn and routine; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_perform_cancel(const treadle_request *like);

/** Performs a function on a new detached thread with the default attributes (PERF-17).
 *  out_thread may be NULL.
 *  [any] Errors, with the releases called as in treadle_thread_perform: those of treadle_thread_detach_new.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_perform_in_background(const treadle_request *request, treadle_thread *out_thread);

TREADLE_END_DECLS
#endif
