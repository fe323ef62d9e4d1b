/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform.h: performs a function on a thread, now or later, with or without a wait for its end. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_PERFORM_H
#define TREADLE_PERFORM_H

#include "thread.h"

TREADLE_BEGIN_DECLS

/** A function to perform.
 *  [callback] on the thread that it is performed on. Since 1.0. */
typedef void (*treadle_request_fn)(void *target, void *argument);

/** Flags of a request. At most one may be set; unknown flags are refused. Since 1.0. */
enum {
    TREADLE_PERFORM_WAIT = 1,          /* return when the function has returned (PERF-7) */
    TREADLE_PERFORM_AFTER = 2,         /* once, after delay_ns, on the calling thread (PERF-12) */
    TREADLE_PERFORM_IN_BACKGROUND = 4, /* on a new detached thread with the default attributes (PERF-17) */
    TREADLE_PERFORM_UNTIL_WORD = 8     /* a host's: return when the word at target was ended, or after delay_ns */
};

/** A function with its target and argument, and how it is performed. Since 1.0. */
typedef struct treadle_request {
    size_t struct_size;      /* sizeof(treadle_request) */
    treadle_request_fn fn;
    treadle_routine routine; /* in place of fn (routine.h); not both */
    void *target;
    void *argument;
    /* Called once each: after fn has returned, or when the request is dropped or refused (PERF-8). */
    treadle_release_fn release_target;
    treadle_release_fn release_argument;
    treadle_equal_fn equal;  /* compares arguments in treadle_perform_cancel; NULL: by identity (PERF-15) */
    treadle_host host;       /* its event TREADLE_EVENT_REQUEST (host.h) replaces the functions, */
    uint64_t token;          /* and carries this token; else 0 */
    const char *const *modes; /* NULL: the common modes, or for a delayed request the default mode */
    size_t mode_count;
    int64_t delay_ns;        /* with TREADLE_PERFORM_AFTER, or the limit with TREADLE_PERFORM_UNTIL_WORD; else 0 */
    uint32_t flags;          /* TREADLE_PERFORM_... */
    uint32_t reserved;       /* 0 */
    const char *label;       /* a name for descriptions and traces; UTF-8, at most 255 bytes, copied; NULL: none */
} treadle_request;

/** Queues a function for a thread, which performs it in a pass of its loop in one of the modes, and wakes the thread. One
 *  pass performs all requests that its mode admits, in the order in which they were queued; requests that a performed
 *  function queues wait for the next pass (PERF-1 to PERF-6). A thread that has not started, or does not run its loop yet,
 *  performs them when it first runs it. on: a thread, such as treadle_thread_main() (PERF-10), or the loop of a thread. An
 *  empty list of modes (not NULL, mode_count 0) performs nothing and returns TREADLE_IGNORED at once.
 *
 *  With TREADLE_PERFORM_WAIT this returns after the function has returned, and the caller sees everything that it wrote (PERF-7).
 *  The caller's own loop does not run during the wait. If the target is the calling thread, the function is called directly
 *  (PERF-2). errno travels with the request: the function starts with the caller's errno, and the caller receives the function's.
 *
 *  With TREADLE_PERFORM_AFTER the calling thread's loop performs the function once, after a delay, like a one-shot timer (PERF-12
 *  to PERF-14). In a callback the delay counts from treadle_time_recent, elsewhere from the call (TMR-24). It is not performed
 *  before the next pass; requests with the same date are performed in the order in which they were queued. `on` is NULL. Requests
 *  that remain when the thread ends are dropped (PERF-16). A request that a release function makes at that time is dropped at
 *  once and returns TREADLE_IGNORED; if release functions nest 16 deep, it is refused with TREADLE_E_CLOSED, its releases are not
 *  called, and the caller still owns target and argument.
 *
 *  With TREADLE_PERFORM_IN_BACKGROUND `on` and modes are NULL (PERF-17).
 *
 *  With TREADLE_PERFORM_UNTIL_WORD a host's request is queued as without a wait. Then this waits for the word at target,
 *  a uint32_t, for at most delay_ns, as treadle_host_wait does (host.h). The wait begins before the request is queued,
 *  so a request that is refused with TREADLE_E_DEADLOCK was not queued. After TREADLE_E_TIMEOUT it stays queued;
 *  continue with treadle_host_wait.
 *
 *  A host's token is consumed by its event. Without a wait it is retired if the request was dropped, also with TREADLE_IGNORED
 *  and TREADLE_E_CLOSED, or if the host did not complete the event. With a wait it is consumed when this returns, and never
 *  retired, whether the request was performed, refused (TREADLE_E_DEADLOCK) or dropped. After any other error the host still owns
 *  it.
 *  [any] Errors, with the releases called unless the request cannot be read: TREADLE_E_ARG for NULL or a bad
 *  struct_size (these two), neither or several of fn, routine and host, a release or an equal with a host, a token
 *  without one, a NULL mode, more than 65,535 modes, unknown flags, more than one flag, a delay without its flag, an
 *  `on` that is NULL but must not be, or must be NULL, a label that is not UTF-8; TREADLE_E_RANGE for a longer label;
 *  TREADLE_E_CLOSED when the thread has finished, or ends before it has performed the function (PERF-9), or after
 *  treadle_shutdown, or if the host is quiet; TREADLE_E_DEADLOCK when the thread waits for the caller, directly or
 *  through other threads, with a timeout or without; TREADLE_E_TIMEOUT for the wait for a word; TREADLE_E_CALLBACK when
 *  a host did not complete the event that was waited for; TREADLE_E_STATE for a delay or a wait in a thread-specific
 *  destructor that runs after the calling thread's teardown; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM; TREADLE_E_SYSTEM for a
 *  delay, or for a new thread. Since 1.0. */
TREADLE_API treadle_status treadle_perform(treadle_object on, const treadle_request *request);

/** Cancels the calling thread's delayed requests that match `like`: with the same target and function (or routine, or host and
 *  token), by identity, and the same argument, by identity or by the equal function of the queued request. If `like` has
 *  neither fn, routine nor host, all requests of its target match (PERF-15). equal may call every function; requests that it
 *  cancels or adds are not compared any more. The releases are called after all comparisons, and may make new requests. The
 *  releases of `like` itself are not called, and its equal, modes, delay and flags are ignored.
 *  [any] TREADLE_IGNORED when no request matches. Errors: TREADLE_E_ARG for NULL, a bad struct_size, or several of fn, routine
 *  and
 *  host; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_perform_cancel(const treadle_request *like);

TREADLE_END_DECLS
#endif
