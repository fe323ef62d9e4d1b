/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host.h: host languages: one callback for everything, tickets, retired tokens, a gate for the end. */
#ifndef TREADLE_HOST_H
#define TREADLE_HOST_H

#include "block.h"
#include "closure.h"
#include "descriptor.h"
#include "event.h"
#include "loop.h"
#include "observer.h"
#include "perform.h"
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
    treadle_dispatch_fn dispatch;
    /* Called once on each thread before its first event for this host, and once when that thread exits,
     * after its loop was torn down; both may be NULL. thread_exit is not called once the host is quiet. */
    void (*thread_enter)(void *user);
    void (*thread_exit)(void *user);
    void *user;
} treadle_host_config;

/** Registers a host language. Never freed; a process may have 63.
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size or no dispatch; TREADLE_E_TOO_NEW;
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

/** Which events of a source a host wants. Since 1.0. */
enum {
    TREADLE_HOST_WANTS_SCHEDULE = 1, /* TREADLE_EVENT_SCHEDULE */
    TREADLE_HOST_WANTS_CANCEL = 2    /* TREADLE_EVENT_CANCEL */
};

/** treadle_source_create for a host: events carry the token. wants: TREADLE_HOST_WANTS_...
 *  The token is retired when the source is freed.
 *  [any] Errors: TREADLE_E_ARG for unknown flags; TREADLE_E_CLOSED if the host is quiet;
 *  TREADLE_E_NOMEM. After an error the token is not retired. Since 1.0. */
TREADLE_API treadle_status treadle_host_create_source(treadle_host host, uint64_t token, uint32_t wants, int64_t order,
                                                      treadle_source *out_source);

/** treadle_descriptor_create for a host. The token is retired when the source is freed.
 *  [any] Errors: as treadle_descriptor_create and treadle_host_create_source. Since 1.0. */
TREADLE_API treadle_status treadle_host_create_descriptor(treadle_host host, uint64_t token, int32_t fd, uint32_t events,
                                                          uint32_t flags, treadle_descriptor *out_descriptor);

/** treadle_timer_create for a host. The token is retired when the timer is invalid and its last
 *  callback has returned.
 *  [any] Errors: as treadle_timer_create and treadle_host_create_source. Since 1.0. */
TREADLE_API treadle_status treadle_host_create_timer(treadle_host host, uint64_t token, int64_t fire_at,
                                                     int64_t interval_ns, int64_t order, treadle_timer *out_timer);

/** treadle_observer_create for a host. The token is retired as a timer's.
 *  [any] Errors: as treadle_observer_create and treadle_host_create_source. Since 1.0. */
TREADLE_API treadle_status treadle_host_create_observer(treadle_host host, uint64_t token, uint32_t activities,
                                                        uint32_t once, int64_t order, treadle_observer *out_observer);

/** treadle_loop_perform_block for a host. The token is retired after the block ran or was discarded, also
 *  with TREADLE_IGNORED.
 *  [any] Errors: as treadle_loop_perform_block and treadle_host_create_source; the token is not retired
 *  then. Since 1.0. */
TREADLE_API treadle_status treadle_host_perform_block(treadle_host host, uint64_t token, treadle_loop loop,
                                                      const char *const *modes, size_t mode_count);

/** treadle_loop_post for a host: queues a block for the common modes and wakes the loop (BLK-3, PASS-4). Its event,
 *  TREADLE_EVENT_BLOCK, uses the token up: it is retired only if the block was discarded, or the host did not
 *  complete it.
 *  [any] Errors: TREADLE_E_CLOSED if the loop's thread is gone, or the host is quiet; TREADLE_E_NOMEM. After an error the
 *  token is not retired. Since 1.0. */
TREADLE_API treadle_status treadle_host_post(treadle_host host, uint64_t token, treadle_loop loop);

/** treadle_loop_run for a host that serves signals itself. What ends a sleep of a run with
 *  TREADLE_RUN_RETURN_ON_INTERRUPT, a signal or a readable interrupt descriptor, is an event here,
 *  TREADLE_EVENT_INTERRUPT, on the loop's thread when the sleep is over and before the observers of
 *  TREADLE_AFTER_WAITING: read the descriptor, then serve what has come. The run goes on with the time that
 *  is left, and is the innermost one meanwhile: a stop that is given then ends it (STOP-2, ABI-4). Once the host is
 *  quiet, the run returns TREADLE_RUN_INTERRUPTED instead. flags: 0 or TREADLE_RUN_RETURN_AFTER_SOURCE.
 *  [owner] Errors: as treadle_loop_run; TREADLE_E_CALLBACK also when the host did not complete this event.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_host_run(treadle_host host, treadle_loop loop, const char *mode, int64_t timeout_ns,
                                            uint32_t flags);

/** For a dispatch function that has completed a TREADLE_EVENT_PERFORM or TREADLE_EVENT_BLOCK: ends that event and begins
 *  the one that comes next, if that is of the same kind, for the same host, and due now in the same run and mode with
 *  nothing in between (PASS-4, PASS-5, SRC0-7). Returns its token, with the event's token and subject now its own; the ticket
 *  stands for it from then on. Returns 0 if there is none: the dispatch then returns as ever. Thus one
 *  call into the host handles many events, in the order and under the conditions in which they would have come
 *  one by one. A host that uses this has no token 0. Neither blocks nor calls back.
 *  [any] 0 where the calling thread's innermost callback is no such event. Since 1.0. */
TREADLE_API uint64_t treadle_host_next(void);

/** treadle_thread_create for a host: the entry function is an event, TREADLE_EVENT_THREAD; a join's result is
 *  NULL. The token is retired when the event is over, or when it is sure that it never comes.
 *  [any] Errors: as treadle_thread_create and treadle_host_create_source. Since 1.0. */
TREADLE_API treadle_status treadle_host_create_thread(treadle_host host, uint64_t token, treadle_thread *out_thread);

/** treadle_thread_perform for a host, with the events' target and argument NULL. The token is retired after the event,
 *  or when the request was dropped, also with TREADLE_IGNORED, TREADLE_E_CLOSED and TREADLE_E_DEADLOCK. With
 *  TREADLE_PERFORM_WAIT, TREADLE_E_CALLBACK when the host did not complete it.
 *  [any] Errors: as treadle_thread_perform and treadle_host_create_source; but for those above the token is not
 *  retired then. Since 1.0. */
TREADLE_API treadle_status treadle_host_perform(treadle_host host, uint64_t token, treadle_thread thread,
                                                const char *const *modes, size_t mode_count, uint32_t flags);

/** treadle_host_perform with TREADLE_PERFORM_WAIT and the common modes. The token is never retired: when this returns,
 *  it will not be named any more.
 *  [any] May block. Errors: as treadle_host_perform. Since 1.0. */
TREADLE_API treadle_status treadle_host_perform_and_wait(treadle_host host, uint64_t token, treadle_thread thread);

/** Waits until treadle_host_end_wait was called for this word, which is 0 at first: for futures and their like. The end is
 *  expected from a function that the loop performs, so that a loop on another processor that answered quickly the last time is
 *  looked at for some microseconds before the thread sleeps. Knows of no circle of waits. timeout_ns: not positive
 *  only looks. Ask again after TREADLE_E_TIMEOUT; the end stays.
 *  [any] Errors: TREADLE_E_ARG for a NULL or unaligned word; TREADLE_E_TIMEOUT, also when a signal handler ran on the calling
 *  thread meanwhile. Since 1.0. */
TREADLE_API treadle_status treadle_host_wait(treadle_loop loop, uint32_t *word, int64_t timeout_ns);

/** treadle_host_perform without a wait, for the common modes, and then treadle_host_wait for the thread's loop: for threads that
 *  signals must not find blocked. The request stays when the wait ends before it. Its event uses the token up, as that of
 *  treadle_host_post does.
 *  [any] Errors: as both; TREADLE_E_TIMEOUT, and TREADLE_E_STATE if the thread finished meanwhile, with the request taken.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_host_perform_until(treadle_host host, uint64_t token, treadle_thread thread,
                                                      uint32_t *word, int64_t timeout_ns);

/** Ends all waits for the word, those to come too. Writes before this are seen by whoever has waited.
 *  [any] Errors: TREADLE_E_ARG for a NULL or unaligned word. Since 1.0. */
TREADLE_API treadle_status treadle_host_end_wait(uint32_t *word);

/** treadle_notification_add for a host. The token is retired when the registration was removed and no event of it
 *  runs.
 *  [any] Errors: as treadle_notification_add and treadle_host_create_source. Since 1.0. */
TREADLE_API treadle_status treadle_host_add_notification(treadle_host host, uint64_t token, uint32_t name, void *object,
                                                         uint64_t *out_token);

/** treadle_pool_add for a host: the release is an event, TREADLE_EVENT_RELEASE. The token is retired after it.
 *  [any] Errors: as treadle_pool_add and treadle_host_create_source. Since 1.0. */
TREADLE_API treadle_status treadle_host_pool_add(treadle_host host, uint64_t token);

/** treadle_invocation_perform for a host: the completion is an event, TREADLE_EVENT_REQUEST, with target and argument NULL;
 *  options->completion is NULL, and options->wait TREADLE_WAIT_NONE. The token is retired after the event, or when it is
 *  sure that it never comes, also with TREADLE_IGNORED and TREADLE_E_CLOSED.
 *  [any] Errors: as treadle_invocation_perform and treadle_host_create_source; the token is not retired
 *  then. Since 1.0. */
TREADLE_API treadle_status treadle_host_perform_invocation(treadle_host host, uint64_t token,
                                                           treadle_invocation invocation,
                                                           const treadle_invocation_options *options);

/** treadle_closure_create for a host: calls are events, TREADLE_EVENT_CALL, with the closure as subject and the
 *  treadle_call as argument; a call that the host does not complete, or that meets the closed gate, gets the
 *  default result. config->handler, info and destroy are NULL. The token is retired when the closure is drained.
 *  [any] Errors: as treadle_closure_create and treadle_host_create_source; the token is not retired
 *  then. Since 1.0. */
TREADLE_API treadle_status treadle_host_create_closure(treadle_host host, uint64_t token,
                                                       const treadle_closure_config *config,
                                                       treadle_closure *out_closure);

TREADLE_END_DECLS
#endif
