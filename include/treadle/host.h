/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host.h: host languages: one callback for everything, or none and events that are fetched; tickets, retired tokens, a gate
 * for the end. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
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

/** Receives every callout of the host's registrations. Returns ~ticket, the ticket's complement, if it completed;
 *  anything else means that it did not: the innermost run then ends and returns TREADLE_E_CALLBACK. A ticket is never used
 *  twice, and its complement is nowhere in memory until it is returned, so what a failed foreign-function trampoline leaves
 *  behind, its argument perhaps, cannot pass for it (ABI-3).
 *  [callback] on the loop's thread, or as the event's kind says. Since 1.0. */
typedef uint64_t (*treadle_dispatch_fn)(uint64_t ticket, const treadle_event *event);

/** What a host is made of. Since 1.0. */
typedef struct treadle_host_config {
    size_t struct_size; /* sizeof(treadle_host_config) */
    treadle_dispatch_fn dispatch; /* NULL: the host is not called, it fetches its events (treadle_loop_next) */
    /* Called once on each thread before its first event for this host, and once when that thread exits,
     * after its loop was torn down; both may be NULL, and are without dispatch. thread_exit is not called once the host is quiet. */
    void (*thread_enter)(void *user);
    void (*thread_exit)(void *user);
    void *user;
} treadle_host_config;

/** Registers a host language. Never freed; a process may have 63. One without dispatch may have sources, descriptor sources,
 *  timers, observers, posts, requests and completions of invocations; what is told by a call at once is refused with
 *  TREADLE_E_NOT_SUPPORTED: host_wants of a source, threads, notifications, closures, pools, requests that the calling thread
 *  would perform itself, or after a delay, treadle_timer_fire and treadle_host_run (ABI-12).
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, or thread_enter or thread_exit without dispatch; TREADLE_E_TOO_NEW;
 *  TREADLE_E_NOMEM when there are too many. Since 1.0. */
TREADLE_API treadle_status treadle_host_register(const treadle_host_config *config, treadle_host *out_host);

/** Closes the host's gate: no event starts any more, on any thread, for ever; then waits until those in
 *  flight on other threads have returned. For the end of an interpreter: call it where the callbacks
 *  can still finish. Events that come later are dropped and counted.
 *  [any] Errors: TREADLE_E_TIMEOUT, with the gate closed. Since 1.0. */
TREADLE_API treadle_status treadle_host_quiesce(treadle_host host, int64_t timeout_ns);

/** How many events the closed gate has dropped.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_host_get_dropped(treadle_host host, uint64_t *out_count);

/** Takes tokens whose registrations are gone: Treadle will not name them in an event any more, and the
 *  host may forget what they stood for. They take the place of release and destroy, which are never
 *  called into a host. Stores how many were taken; ask again while it equals capacity (ABI-2).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_host_take_retired(treadle_host host, uint64_t *tokens, size_t capacity,
                                                     size_t *out_count);

/** How many retired tokens wait: a plain number at a fixed address that the host may read at any time
 *  instead of calling. Valid for ever.
 *  [any] NULL for a bad handle. Since 1.0. */
TREADLE_API const uint64_t *treadle_host_get_retired_count(treadle_host host);

/* --- Registrations ----------------------------------------------------------------------------------
 *
 * What a constructor makes is a host's if its struct names the host: every callout is an event of that host then, with the
 * struct's token, and the members for callbacks and their info are NULL. The token is retired when no event can carry it any
 * more: that of a source, a descriptor source or a port when it is freed; of a timer or an observer when it is invalid and its last
 * callback has returned; of a thread when its event is over, or when it is sure that it never comes; of a notification when
 * its registration was removed and no event of it runs; of a closure when it is drained. After an error of the constructor it
 * is not retired.
 *
 * Of a thread whose function is an event a join's result is NULL. A closure's calls are events, TREADLE_EVENT_CALL, with the
 * closure as subject and the treadle_call as argument; one that the host does not complete, or that meets the closed gate,
 * gets the default result. */

/** Which of a source's events besides TREADLE_EVENT_PERFORM a host wants: host_wants of its context. Since 1.0. */
enum {
    TREADLE_HOST_WANTS_SCHEDULE = 1, /* TREADLE_EVENT_SCHEDULE */
    TREADLE_HOST_WANTS_CANCEL = 2    /* TREADLE_EVENT_CANCEL */
};

/** treadle_loop_post for a host: for the common modes, waking the loop (BLK-3, PASS-4). Its event, TREADLE_EVENT_POST, uses
 *  the token up: it is retired only if the post was discarded, or the host did not complete it.
 *  [any] Errors: TREADLE_E_CLOSED if the loop's thread is gone, or the host is quiet; TREADLE_E_NOMEM. After an error the
 *  token is not retired. Since 1.0. */
TREADLE_API treadle_status treadle_host_post(treadle_host host, uint64_t token, treadle_loop loop);

/** treadle_loop_run for a host that serves signals itself. What ends a sleep of a run with
 *  TREADLE_RUN_RETURN_ON_INTERRUPT, a signal or a readable interrupt descriptor, is an event here,
 *  TREADLE_EVENT_INTERRUPT, on the loop's thread when the sleep is over and before the observers of
 *  TREADLE_AFTER_WAITING: read the descriptor, then serve what has come. The run goes on with the time that
 *  is left, and is the innermost one meanwhile: a stop that is given then ends it (STOP-2, ABI-4). Once the host is
 *  quiet, the run returns TREADLE_RUN_INTERRUPTED instead. flags: TREADLE_RUN_RETURN_AFTER_SOURCE, TREADLE_RUN_WHEN_EMPTY.
 *  [owner] Errors: as treadle_loop_run; TREADLE_E_CALLBACK also when the host did not complete this event.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_host_run(treadle_host host, treadle_loop loop, const char *mode, int64_t timeout_ns,
                                            uint32_t flags);

/** A flag of a pull, besides those of treadle_loop_run. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_NEXT_IN_DISPATCH = 8 /* for a dispatch function: no run of its own, but more events of the one that calls it */
};

/** How a host gets its events without being called. The host fills it in, and gives it to treadle_loop_next again and again until
 *  the run is over; it may lie anywhere, and each run has its own. Since 1.0. */
typedef struct treadle_pull {
    size_t struct_size;     /* sizeof(treadle_pull) */
    treadle_host host;      /* whose events are returned; this, mode, timeout_ns and flags are looked at as the run begins */
    uint64_t run;           /* 0: begins a run; then the library's, and 0 again when the run is over */
    const char *mode;       /* as treadle_loop_run takes it, as the next two */
    int64_t timeout_ns;
    uint32_t flags;         /* TREADLE_RUN_..., or TREADLE_NEXT_IN_DISPATCH alone */
    uint32_t failed;        /* 0: the host has completed all events that were returned last; n: not the nth, and those behind it
                             * it has not begun. 0 again when the call returns */
    treadle_event *events;  /* the host's room for the events that are returned */
    size_t event_size;      /* sizeof(treadle_event): how far they lie apart */
    size_t capacity;        /* how many there is room for, at least 1 */
    size_t count;           /* how many were returned */
} treadle_pull;

/** Runs the calling thread's loop up to the next events of a host, and returns these in place of calling it: a host registered
 *  without dispatch gets all its events so, any other may. Calling again ends what was returned and goes on. It is a run
 *  like any other (treadle_loop_run): between two calls it is in progress, as it is in a callback, with whatever may be done
 *  there, runs inside of it too, by the pull of another struct or by treadle_loop_run; callbacks of others are called
 *  from inside of this function.
 *  Returns TREADLE_OK with events in events and their number in count; or the run's result or error, with count and run 0: it is
 *  over (ABI-10). With room for one event each comes in its turn: what the host does about it has its effect before the
 *  next one is chosen. With room for more, posts that lie behind one another are returned together; of any other kind one event
 *  comes alone (ABI-11). An event's pointers are valid until the next call for this run.
 *  An event that the host has not completed (failed) ends the run, whose result then is TREADLE_E_CALLBACK; before that its exit
 *  observers' events come. Posts that had not begun go back to their queue.
 *  A run that its host leaves there ends when a run around it goes on, when the callback in which it was begun returns, or with the
 *  thread: what it had returned counts as not completed, and no exit is told. The events of a host without dispatch wait for it: a
 *  run of somebody else that meets one, by treadle_loop_run or as a pull of another host, ends with TREADLE_E_STATE, with the
 *  source still signalled, the timer due, the post queued.
 *  TREADLE_NEXT_IN_DISPATCH, for a dispatch function that handles a TREADLE_EVENT_PERFORM or TREADLE_EVENT_POST: ends that
 *  event and begins the ones that come next, if they are of the same kind, for the same host, and due now in the same run and
 *  mode with nothing in between (PASS-4, PASS-5, SRC0-7): sources one at a time, posts as many as there is room for.
 *  TREADLE_IGNORED if there is none, also where the calling thread's innermost callback is no such event: the dispatch then
 *  returns as ever. Its ticket stands for what was returned last.
 *  [owner] Errors: TREADLE_E_ARG for a NULL pull or events, capacity 0, a bad event_size, unknown flags, a failed that names no
 *  event; TREADLE_E_TOO_NEW; TREADLE_E_WRONG_THREAD; TREADLE_E_STALE for a run that is over; TREADLE_E_STATE also for one that is not
 *  left: inside of a callback that it, or a run inside of it, is calling; TREADLE_E_CLOSED for a host that is quiet; and those of
 *  treadle_loop_run. Where run is not 0 after an error, the run is still there. Since 1.0. */
TREADLE_API treadle_status treadle_loop_next(treadle_loop loop, treadle_pull *pull);

/** Waits until treadle_host_end_wait was called for this word, which is 0 at first: for futures and their like. The end is
 *  expected from a function that the loop performs, so that a loop on another processor that answered quickly the last time is
 *  looked at for some microseconds before the thread sleeps. Knows of no circle of waits. timeout_ns: not positive
 *  only looks. Ask again after TREADLE_E_TIMEOUT; the end stays.
 *  [any] Errors: TREADLE_E_ARG for a NULL or unaligned word; TREADLE_E_TIMEOUT, also when a signal handler ran on the calling
 *  thread meanwhile. Since 1.0. */
TREADLE_API treadle_status treadle_host_wait(treadle_loop loop, uint32_t *word, int64_t timeout_ns);

/** Ends all waits for the word, those to come too. Writes before this are seen by whoever has waited.
 *  [any] Errors: TREADLE_E_ARG for a NULL or unaligned word. Since 1.0. */
TREADLE_API treadle_status treadle_host_end_wait(uint32_t *word);

/** treadle_pool_add for a host: the release is an event, TREADLE_EVENT_RELEASE. The token is retired after it.
 *  [any] Errors: as treadle_pool_add and treadle_source_create. Since 1.0. */
TREADLE_API treadle_status treadle_host_pool_add(treadle_host host, uint64_t token);

TREADLE_END_DECLS
#endif
