/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host.h: host languages: one callback for all events, or no callback and events that the host fetches; tickets, retired
 * tokens, a gate that ends all events. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_HOST_H
#define TREADLE_HOST_H

#include "closure.h"
#include "descriptor.h"
#include "event.h"
#include "loop.h"
#include "observer.h"
#include "perform.h"
#include "port.h"
#include "post.h"
#include "source.h"
#include "timer.h"

TREADLE_BEGIN_DECLS

/** Receives every event of the host's registrations. Returns ~ticket, the ticket's complement, if it completed the event.
 *  Any other value means that it did not: the innermost run then ends and returns TREADLE_E_CALLBACK. A ticket is never
 *  used twice, and its complement is not in memory before it is returned. So a value that a failed foreign-function
 *  trampoline leaves behind, such as its argument, is not taken for success (ABI-3).
 *  [callback] on the loop's thread, or as the event's kind says. Since 1.0. */
typedef uint64_t (*treadle_dispatch_fn)(uint64_t ticket, const treadle_event *event);

/** The configuration of a host. Since 1.0. */
typedef struct treadle_host_config {
    size_t struct_size; /* sizeof(treadle_host_config) */
    treadle_dispatch_fn dispatch; /* NULL: the host is not called, but fetches its events (treadle_loop_next) */
    /* thread_enter is called once on each thread before its first event for this host, thread_exit once when that thread exits,
     * after its loop was torn down, unless the host is quiet. Both may be NULL, and must be without dispatch. */
    void (*thread_enter)(void *user);
    void (*thread_exit)(void *user);
    void *user;
} treadle_host_config;

/** Registers a host language; a process may have 63. A host stays until the process ends, unless it belongs to a scope or a plugin
 *  (scope.h). Closing that makes it quiet; then its handle is stale, tokens that it has not taken are dropped, and its place is free as soon
 *  as no token of it is left. A host without dispatch may register sources,
 *  descriptor sources, timers, observers, posts, requests and completions of invocations. Everything that needs an immediate
 *  call is refused with TREADLE_E_NOT_SUPPORTED: host_wants of a source, threads, notifications, closures, pools, requests that
 *  the calling thread would perform itself or after a delay, treadle_timer_fire and treadle_host_run (ABI-12).
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, or thread_enter or thread_exit without dispatch;
 *  TREADLE_E_CLOSED if the scope is closed; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM when there are 63 hosts. Since 1.0. */
TREADLE_API treadle_status treadle_host_register(const treadle_host_config *config, treadle_host *out_host);

/** Closes the host's gate for ever: no event starts on any thread. Then waits until the events in flight on other threads have
 *  returned. For the end of an interpreter: call it where the callbacks can still finish. Later events are dropped and counted.
 *  [any] Errors: TREADLE_E_TIMEOUT, with the gate closed. Since 1.0. */
TREADLE_API treadle_status treadle_host_quiesce(treadle_host host, int64_t timeout_ns);

/** How many events the closed gate has dropped.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_host_get_dropped(treadle_host host, uint64_t *out_count);

/** Takes tokens of registrations that have ended: no later event carries them, and the host may free
 *  what they refer to. Retired tokens replace release and destroy, which are never called for a host.
 *  Stores the number of tokens; call again while it equals capacity (ABI-2).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_host_take_retired(treadle_host host, uint64_t *tokens, size_t capacity,
                                                     size_t *out_count);

/** The number of retired tokens that can be taken: an integer at a fixed address, which the host may read at any time
 *  without a call. The address stays readable for ever; the number of a host that has ended means nothing.
 *  [any, quick] NULL for a bad handle. Since 1.0. */
TREADLE_API const uint64_t *treadle_host_get_retired_count(treadle_host host);

/* --- Registrations ----------------------------------------------------------------------------------
 *
 * An object belongs to a host if the struct passed to its create function names the host: every callback is then an event of that
 * host with the struct's token, and the members for callbacks and their info are NULL. The token is retired when no later event
 * can carry it: for a source, a descriptor source or a port when it is freed; for a timer or an observer when it is invalid and
 * its last callback has returned; for a thread when its event has ended, or can never occur; for a notification when its
 * registration was removed and none of its events is in flight; for a closure when it is drained. If the create function fails,
 * the token is not retired.
 *
 * If a thread's function is an event, a join stores NULL as its result. A closure's calls are events, TREADLE_EVENT_CALL, with
 * the closure as subject and the treadle_call as argument. A call that the host does not complete, or that occurs after the
 * gate was closed, gets the default result. */

/** The events of a source that a host wants besides TREADLE_EVENT_PERFORM: host_wants of its context. Since 1.0. */
enum {
    TREADLE_HOST_WANTS_SCHEDULE = 1, /* TREADLE_EVENT_SCHEDULE */
    TREADLE_HOST_WANTS_CANCEL = 2    /* TREADLE_EVENT_CANCEL */
};

/** treadle_loop_post for a host: queues a post for the common modes and wakes the loop (BLK-3, PASS-4). Its event,
 *  TREADLE_EVENT_POST, consumes the token, which is retired only if the post was discarded, or the host did not complete
 *  the event.
 *  [any, quick] Errors: TREADLE_E_CLOSED if the loop's thread has ended, or the host is quiet; TREADLE_E_NOMEM. After an error
 *  the
 *  token is not retired. Since 1.0. */
TREADLE_API treadle_status treadle_host_post(treadle_host host, uint64_t token, treadle_loop loop);

/** treadle_loop_run for a host that handles signals itself. A signal or a readable interrupt descriptor, which would end a
 *  run with TREADLE_RUN_RETURN_ON_INTERRUPT, is an event in this run, TREADLE_EVENT_INTERRUPT. The event occurs on the
 *  loop's thread after the sleep and before the observers of TREADLE_AFTER_WAITING: read the descriptor, then handle the
 *  signals. The run continues with the remaining time. During the event it is the innermost run: a stop ends it (STOP-2,
 *  ABI-4). Once the host is
 *  quiet, the run returns TREADLE_RUN_INTERRUPTED instead. flags: TREADLE_RUN_RETURN_AFTER_SOURCE, TREADLE_RUN_WHEN_EMPTY.
 *  [owner] Errors: as treadle_loop_run; TREADLE_E_CALLBACK also when the host did not complete this event.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_host_run(treadle_host host, treadle_loop loop, const char *mode, int64_t timeout_ns,
                                            uint32_t flags);

/** A flag of a pull, in addition to those of treadle_loop_run. Unknown flags are refused. Since 1.0. */
enum {
    TREADLE_NEXT_IN_DISPATCH = 8 /* for a dispatch function: more events of the run that calls it, not a run of its own */
};

/** Lets a host fetch its events without being called. The host fills the struct in, and passes it to treadle_loop_next repeatedly
 *  until the run has ended. It may be in any memory; each run needs its own. Since 1.0. */
typedef struct treadle_pull {
    size_t struct_size;     /* sizeof(treadle_pull) */
    treadle_host host;      /* whose events are returned; host, mode, timeout_ns and flags are read as the run begins */
    uint64_t run;           /* 0: begins a run; then set by the library, and 0 again when the run has ended */
    const char *mode;       /* mode, timeout_ns and flags: as in treadle_loop_run */
    int64_t timeout_ns;
    uint32_t flags;         /* TREADLE_RUN_..., or TREADLE_NEXT_IN_DISPATCH alone */
    uint32_t failed;        /* 0: the host has completed all events of the last call; n: the nth failed, and the later ones
                             * were not begun. 0 when the call returns */
    treadle_event *events;  /* the host's array for the returned events */
    size_t event_size;      /* sizeof(treadle_event): the distance between elements */
    size_t capacity;        /* the number of elements, at least 1 */
    size_t count;           /* the number of returned events */
} treadle_pull;

/** Runs the calling thread's loop up to the next events of a host, and returns them instead of calling the host. A host without
 *  dispatch gets all its events from this function; any other host may use it. The next call completes the returned events and
 *  continues the run. It is a run like any other (treadle_loop_run): between two calls it is in progress, as it is in a
 *  callback, and everything is allowed that a callback may do, also nested runs, with another pull or by treadle_loop_run.
 *  Callbacks of other clients are called from inside of this function.
 *  Returns TREADLE_OK with events in events and their number in count; or the run's result or error, with count and run 0, if the
 *  run has ended (ABI-10). With a capacity of 1 each event is returned alone: the host's handling takes effect before the next
 *  event is chosen. With a larger capacity, consecutive posts are returned together; an event of any other kind is returned alone
 *  (ABI-11). An event's pointers are valid until the next call for this run.
 *  If the host has not completed an event (failed), the run ends with TREADLE_E_CALLBACK, after the events of its exit observers.
 *  Posts that were not begun return to their queue. If the host abandons a run, it ends when an enclosing run continues, when the
 *  callback in which it began returns, or with the thread: the returned events count as not completed, and exit observers are not
 *  called. The events of a host without dispatch stay pending for that host: if treadle_loop_run or a pull of another host
 *  reaches one, that run ends with TREADLE_E_STATE, and the source stays signalled, the timer due, the post queued.
 *  TREADLE_NEXT_IN_DISPATCH, for a dispatch function that handles a TREADLE_EVENT_PERFORM or TREADLE_EVENT_POST, completes that
 *  event and begins the next ones, if they are of the same kind and for the same host, and follow immediately in the same run and
 *  mode (PASS-4, PASS-5, SRC0-7): sources one at a time, posts up to capacity. Returns TREADLE_IGNORED if there is none, also if
 *  the calling thread's innermost callback is not such an event; the dispatch function then returns as usual. Its ticket then
 *  stands for the last returned events.
 *  [owner] Errors: TREADLE_E_ARG for a NULL pull or events, capacity 0, a bad event_size, unknown flags, a failed above the
 *  number of events; TREADLE_E_TOO_NEW; TREADLE_E_WRONG_THREAD; TREADLE_E_STALE for a run that has ended; TREADLE_E_STATE also
 *  inside of a callback that this run, or a run nested in it, is calling; TREADLE_E_CLOSED for a host that is quiet; and those of
 *  treadle_loop_run. If run is not 0 after an error, the run is still in progress. Since 1.0. */
TREADLE_API treadle_status treadle_loop_next(treadle_loop loop, treadle_pull *pull);

/** Waits until treadle_host_end_wait was called for this word, which is 0 at first: for futures. The call is expected
 *  from a function that the loop performs: if that loop runs on another processor and answered quickly the last time,
 *  the wait spins for some microseconds before the thread sleeps. The wait is refused if the loop's thread is the
 *  calling one or waits, directly or through others, for the calling one (PERF-7); a wait of it that runs its loop
 *  (TREADLE_WAIT_RUNNING) does not count, since the function may be queued for TREADLE_CALL_MODE. timeout_ns: 0 or less
 *  does not wait. After TREADLE_E_TIMEOUT the wait may be repeated; a treadle_host_end_wait meanwhile is not lost.
 *  A wait of up to a second inside of a scope, or of a callback of something in it, is a look: the end of that scope may drop
 *  what is waited for, which the host sees by its retired tokens. So treadle_close of the scope is not refused because of it; the
 *  next wait of the thread is, if it would never end.
 *  [any] Errors: TREADLE_E_ARG for a NULL or unaligned word; TREADLE_E_DEADLOCK; TREADLE_E_TIMEOUT, also when a signal
 *  handler ran on the calling thread meanwhile. Since 1.0. */
TREADLE_API treadle_status treadle_host_wait(treadle_loop loop, uint32_t *word, int64_t timeout_ns);

/** Ends all waits for the word, present and future. Writes before this call are visible to the waiters.
 *  [any, quick] Errors: TREADLE_E_ARG for a NULL or unaligned word. Since 1.0. */
TREADLE_API treadle_status treadle_host_end_wait(uint32_t *word);

/** treadle_pool_add for a host: the release is an event, TREADLE_EVENT_RELEASE. The token is retired after it.
 *  [any, quick] Errors: as treadle_pool_add and treadle_source_create. Since 1.0. */
TREADLE_API treadle_status treadle_host_pool_add(treadle_host host, uint64_t token);

TREADLE_END_DECLS
#endif
