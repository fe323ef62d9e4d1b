/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform.h: performing a function on a thread, now or later, with or without waiting for it. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_PERFORM_H
#define TREADLE_PERFORM_H

#include "thread.h"

TREADLE_BEGIN_DECLS

/** A function to perform.
 *  [callback] on the thread that it is performed on. Since 1.0. */
typedef void (*treadle_request_fn)(void *target, void *argument);

/** Flags of a request. Unknown ones are refused, and so are several: each is a way of its own. Since 1.0. */
enum {
    TREADLE_PERFORM_WAIT = 1,         /* return when the function has returned (PERF-7) */
    TREADLE_PERFORM_AFTER = 2,        /* once, after delay_ns, on the calling thread (PERF-12) */
    TREADLE_PERFORM_IN_BACKGROUND = 4 /* on a new detached thread with the default attributes (PERF-17) */
};

/** A function with what it is performed on, and how. Since 1.0. */
typedef struct treadle_request {
    size_t struct_size;      /* sizeof(treadle_request) */
    treadle_request_fn fn;
    treadle_routine routine; /* in place of fn (routine.h); not both */
    void *target;
    void *argument;
    /* Called once each: after fn has returned, or when the request is dropped or refused (PERF-8). */
    treadle_release_fn release_target;
    treadle_release_fn release_argument;
    treadle_equal_fn equal;  /* compares arguments when requests are cancelled; NULL: by identity (PERF-15) */
    treadle_host host;       /* in place of the functions: an event of this host, TREADLE_EVENT_REQUEST (host.h), */
    uint64_t token;          /* with this token; else 0 */
    const char *const *modes; /* NULL: the common modes, of a delayed request the default mode */
    size_t mode_count;
    int64_t delay_ns;        /* with TREADLE_PERFORM_AFTER; else 0 */
    uint32_t flags;          /* TREADLE_PERFORM_... */
    uint32_t reserved;       /* 0 */
} treadle_request;

/** Has a thread perform a function, in a pass of its loop in one of the modes, and wakes it. Requests to one
 *  thread are performed in their order, all that are eligible in one pass; those that a performed function
 *  makes wait for the next pass (PERF-1 to PERF-6). A thread that has not started, or does not run its loop
 *  yet, performs them when it does.
 *  on: a thread, such as treadle_thread_main() (PERF-10), or a loop, whose thread it then is.
 *  An empty list of modes (not NULL, mode_count 0) performs nothing and returns TREADLE_IGNORED at once.
 *
 *  With TREADLE_PERFORM_WAIT this returns when the function has, and what that wrote is visible (PERF-7). The caller's own
 *  loop is not run meanwhile. On the calling thread the function is called directly (PERF-2). errno travels with the request:
 *  the function begins with the caller's, and the caller gets the function's.
 *
 *  With TREADLE_PERFORM_AFTER the calling thread's loop performs it once, after a delay: a one-shot timer (PERF-12 to
 *  PERF-14). In a callback the delay counts from treadle_time_recent, and else from the call (TMR-24). Never before the next pass; requests of one date are performed in their order. `on` is NULL.
 *  What is left when the thread ends is dropped (PERF-16). What a release asks for then is dropped at
 *  once, and TREADLE_IGNORED returned; in the sixteenth release inside of others it is refused with TREADLE_E_CLOSED, and
 *  stays the caller's: the releases are not called.
 *
 *  With TREADLE_PERFORM_IN_BACKGROUND `on` and modes are NULL (PERF-17).
 *
 *  A host's token is used up by its event. Without a wait it is retired if the request was dropped, also with TREADLE_IGNORED and
 *  TREADLE_E_CLOSED, or if the host did not complete the event. With a wait it is used up when this returns, and never retired,
 *  whether the request was performed, refused (TREADLE_E_DEADLOCK) or dropped. After any other error the host still has it.
 *  [any] Errors, with the releases called but where the request cannot be read: TREADLE_E_ARG for NULL or a bad
 *  struct_size (these two), neither or several of fn, routine and host, a release or an equal with a host, a token without
 *  one, a NULL mode, more than 65,535 modes, unknown flags or several, a delay without its flag, an `on` that is NULL or should
 *  be; TREADLE_E_CLOSED when the thread has finished, or ends before it has performed the function
 *  (PERF-9), or after treadle_shutdown, or if the host is quiet; TREADLE_E_DEADLOCK when the thread waits, with a timeout or
 *  without, directly or through others, for the caller; TREADLE_E_CALLBACK when a host did not complete what was waited for;
 *  TREADLE_E_STATE for a delay where the calling thread gets no loop any more; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM;
 *  TREADLE_E_SYSTEM for a delay, or for a new thread. Since 1.0. */
TREADLE_API treadle_status treadle_perform(treadle_object on, const treadle_request *request);

/** Cancels the delayed requests of the calling thread that have this target and function (or routine, or host and token), all
 *  by identity, and this argument, by identity or by the equal function of the waiting request; with none of the three, all
 *  of this target, however many others there are (PERF-15). equal may do anything: whatever it cancels is not asked any
 *  more, and what it makes is not asked. The releases follow when all have been asked, and may make new requests. Those
 *  of `like` itself are not called, and its equal, modes, delay and flags are not looked at.
 *  [any] TREADLE_IGNORED when there is none. Errors: TREADLE_E_ARG for NULL, a bad struct_size, or several of fn, routine and
 *  host; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_perform_cancel(const treadle_request *like);

TREADLE_END_DECLS
#endif
