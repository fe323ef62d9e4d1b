/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loop.h: run loops: getting one, running it, waking and stopping it, its modes. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_LOOP_H
#define TREADLE_LOOP_H

#include "object.h"

TREADLE_BEGIN_DECLS

/** Flags of treadle_loop_run. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_RUN_RETURN_AFTER_SOURCE = 1, /* return once a source was handled (RUN-6, RUN-7) */
    TREADLE_RUN_RETURN_ON_INTERRUPT = 2, /* return TREADLE_RUN_INTERRUPTED when a signal ends the sleep */
    TREADLE_RUN_WHEN_EMPTY = 4           /* never return TREADLE_RUN_FINISHED of a mode: sleep while nothing is in it (RUN-16) */
};

/** Flags of treadle_loop_request_stop. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_STOP_ALL_LEVELS = 1 /* unwind every nested run, not only the innermost */
};

/** The calling thread's loop, made on first use and the same ever after; it is torn down when the
 *  thread exits (RL-8). Works on every thread, whoever made it (RL-1, RL-2). Borrowed: valid while
 *  the thread lives; retain it to keep the handle meaningful for longer (RL-9).
 *  Making it sets the thread's timer slack (PR_SET_TIMERSLACK) to 1 ns, so that its sleeps end on time.
 *  [any] NULL on failure, with TREADLE_E_NOMEM, TREADLE_E_SYSTEM, TREADLE_E_STATE (in a thread-specific destructor that
 *  comes after the loop's teardown) or TREADLE_E_FORKED as the last error. Since 1.0. */
TREADLE_API treadle_loop treadle_loop_current(void);

/** The loop of the process's initial thread, from any thread, made if need be. "Initial" is the
 *  thread whose kernel id is the process id, whichever thread loaded the library (RL-3). Borrowed.
 *  It is an ordinary loop: with nothing to do, a run returns at once (RL-10).
 *  [any] NULL on failure, as treadle_loop_current; TREADLE_E_STATE when that thread has ended. Since 1.0. */
TREADLE_API treadle_loop treadle_loop_main(void);

/** A reference to the loop of the thread with this kernel id (gettid), if it has one: the safe way
 *  to hold another thread's loop, which may exit at any time (RL-9). Release it. It looks at all loops of the process.
 *  [any] Errors: TREADLE_E_NOT_FOUND when no living thread of that id has a loop. Since 1.0. */
TREADLE_API treadle_status treadle_loop_copy_of_thread(int32_t thread_id, treadle_loop *out_loop);

/** Runs the calling thread's loop in one mode until a result (RUN-1). May be called from every
 *  callback, to any depth, in the same or another mode (RUN-12).
 *  mode: NULL, the common modes, an unknown or an empty mode return TREADLE_RUN_FINISHED at once,
 *  with no notification (RUN-1, MODE-9); with TREADLE_RUN_WHEN_EMPTY the first two alone. timeout_ns: 0 or less makes one pass without blocking;
 *  TREADLE_FOREVER sets no deadline; else counted from the Entry observers' return (RUN-2, RUN-11).
 *  Result, first match: TREADLE_RUN_STOPPED, _HANDLED_SOURCE, _TIMED_OUT, _FINISHED, _INTERRUPTED
 *  (PASS-14, STOP-4). In the default mode without a deadline, as treadle_loop_run_default does: until it is stopped or finished
 *  (RUN-3).
 *  [owner] Errors: TREADLE_E_WRONG_THREAD; TREADLE_E_ARG for unknown flags; TREADLE_E_CALLBACK when a
 *  host's callback failed in this run; TREADLE_E_FORKED also when a callback forked in it and this is the
 *  child (RL-11); TREADLE_E_SYSTEM; TREADLE_E_NOMEM. Since 1.0.
 *  What a pass costs does not grow with the timers, sources and descriptors that wait; it does with the observers of the mode,
 *  and with the posts and requests that wait for other modes, each of which it looks at. */
TREADLE_API treadle_status treadle_loop_run(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags);

/** Runs the calling thread's loop in the default mode until it is stopped or finished (RUN-3).
 *  [owner] Returns TREADLE_RUN_STOPPED or TREADLE_RUN_FINISHED; errors as treadle_loop_run. Since 1.0. */
static inline treadle_status treadle_loop_run_default(treadle_loop loop) {
    return treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
}

/** A descriptor that interrupts runs: while a run with TREADLE_RUN_RETURN_ON_INTERRUPT sleeps, or is
 *  about to, and fd is readable, it returns TREADLE_RUN_INTERRUPTED. Never read, in no mode, and no
 *  source. For hosts that learn of signals by a descriptor, so that none is lost between their last look
 *  and the sleep (ABI-4). -1: none. fd must stay open while it is set.
 *  [any] Errors: TREADLE_E_ARG for a descriptor that is not open. Since 1.0. */
TREADLE_API treadle_status treadle_loop_set_interrupt_descriptor(treadle_loop loop, int32_t fd);

/** Opens a descriptor by which another loop (GLib's, libuv's, asyncio's, poll) waits for this one, in place of a run: readable
 *  whenever a run of the mode would not sleep, or be woken: by a wake-up, a post, a signal, a due timer, a ready descriptor, a
 *  stop (ABI-9). The other loop dispatches on this thread: treadle_loop_run(loop, mode, 0, TREADLE_RUN_WHEN_EMPTY) makes one pass, and
 *  is called again as long as the descriptor is readable. It is armed whenever the thread is in none of the loop's runs, also
 *  after runs of other modes, so that none of these is lost; and it may be readable for nothing. A deadline of the other loop's
 *  own is not needed.
 *  mode: made if there is none; not the common modes. out_fd: the caller's, to close when it waits no more; never read from it.
 *  After the loop's thread has ended it is readable never again. Each call opens another one for the same.
 *  [owner] Errors: TREADLE_E_WRONG_THREAD; TREADLE_E_ARG for a mode or out_fd that is NULL, and the common modes; TREADLE_E_SYSTEM
 *  when the kernel refuses a descriptor or a timer; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_open_pollable(treadle_loop loop, const char *mode, int32_t *out_fd);

/** Tells when a dispatch of a mode will have something to do, for another loop that waits with a timer of its own, or does not
 *  sleep. out_date: 0 if there is something now; otherwise the date of the first timer on the monotonic clock, in nanoseconds, or
 *  TREADLE_FOREVER. It holds until something comes to the loop, which the descriptor of treadle_loop_open_pollable tells, or
 *  the thread itself changes something. An observer of TREADLE_EXIT that asks for it is told whenever a run may have moved the date:
 *  with every dispatch that ends, and in the runs of that mode inside of callbacks (ABI-13). Neither blocks nor calls back.
 *  [owner] Errors: TREADLE_E_WRONG_THREAD; TREADLE_E_ARG for a mode or out_date that is NULL, and the common modes;
 *  TREADLE_E_CLOSED after treadle_shutdown; TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_prepare(treadle_loop loop, const char *mode, int64_t *out_date);

/** Runs the calling thread's loop for another loop, within a budget: passes that do not wait are made until one has called
 *  nothing but observers, or budget_items callbacks of other kinds were made, or budget_ns nanoseconds are over, which is
 *  looked at after each of them. At least one is made if there is any. With TREADLE_FOREVER and SIZE_MAX it goes on as long as
 *  there is something to do.
 *  Returns TREADLE_OK when the budget is used up: the run is still in progress, as it is in a callback, and the next dispatch of the
 *  mode goes on behind the last callback, so that none is passed over, however small the budget is. Meanwhile the pollable
 *  descriptors are readable, runs of any mode may be made, and a stop is for the next dispatch. If that does not come, and the
 *  dispatch was made inside of a callback, it ends with that, and what it had not reached is where it was. Otherwise returns
 *  TREADLE_RUN_TIMED_OUT when there is nothing to do, or what else treadle_loop_run returns, with TREADLE_RUN_WHEN_EMPTY (ABI-13).
 *  [owner] Errors: TREADLE_E_ARG for a mode that is NULL, and the common modes; those of treadle_loop_run. Since 1.0. */
TREADLE_API treadle_status treadle_loop_dispatch(treadle_loop loop, const char *mode, int64_t budget_ns, size_t budget_items);

/** Ends the innermost run at the end of its pass, also out of its sleep. Without a run it is not
 *  remembered and returns TREADLE_IGNORED: see treadle_loop_request_stop (STOP-1 to STOP-7).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_loop_stop(treadle_loop loop);

/** A stop that cannot be lost: it ends the innermost run, or the next one that starts, also inside,
 *  whichever comes first; a run that starts returns TREADLE_RUN_STOPPED before it notifies or handles
 *  anything. Consumed by the run that it ends; with TREADLE_STOP_ALL_LEVELS, by the outermost of the runs
 *  that it ends (STOP-9).
 *  [any, signal-safe] Errors: TREADLE_E_ARG for NULL and unknown flags; TREADLE_E_STALE, TREADLE_E_KIND. Since 1.0. */
TREADLE_API treadle_status treadle_loop_request_stop(treadle_loop loop, uint32_t flags);

/** Ends the current sleep of the innermost run, or the one that its current pass would make. Several
 *  coalesce. Without a pass it is not remembered, and still TREADLE_OK (WAKE-1 to WAKE-5).
 *  [any, signal-safe] Errors: TREADLE_E_ARG for NULL; TREADLE_E_STALE, TREADLE_E_KIND. Since 1.0. */
TREADLE_API treadle_status treadle_loop_wake(treadle_loop loop);

/** True exactly while the loop's thread blocks, or is about to (WAKE-6). False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_is_waiting(treadle_loop loop);

/** True if this is the calling thread's loop. False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_is_current(treadle_loop loop);

/** The kernel id of the loop's thread; 0 once the thread is gone.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_thread_id(treadle_loop loop, int32_t *out_thread_id);

/** The mode of the innermost run. Copies at most capacity bytes, NUL included, into buffer (NULL
 *  with capacity 0 asks for the length) and stores the full length, without NUL (RL-6).
 *  [any] Errors: TREADLE_E_NOT_FOUND when the loop is not being run. Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_current_mode(treadle_loop loop, char *buffer, size_t capacity,
                                                          size_t *out_length);

/** The names of all modes that exist, each once, each followed by NUL, in unspecified order. Copies
 *  whole names only, as many as fit; stores the length that all need. A mode comes into existence
 *  when an item is added to it or a block queued for it (RL-7). One that nothing is in or queued for, that is
 *  not common and not run, may be forgotten when there are more than a few of them: it comes into existence anew
 *  when it is named again.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_modes(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);

/** References to the items of a mode, of the common modes to those recorded there, and with a NULL mode to those of all
 *  modes, each once: sources, then descriptor sources, timers and observers (treadle_get_kind tells); those of one kind in
 *  an order that stays while none comes or goes. Stores the first capacity of them in items (which may be NULL with
 *  capacity 0), for the caller to release each, and in out_count how many there are. An unknown mode has none. For who
 *  debugs: it looks at all items of the process.
 *  [any] (OBJ-2, MODE-8) Errors: TREADLE_E_ARG for NULL items with another capacity; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_copy_items(treadle_loop loop, const char *mode, treadle_object *items,
                                                   size_t capacity, size_t *out_count);

/** Why a run has finished: what TREADLE_RUN_FINISHED means. Since 1.0. */
enum {
    TREADLE_FINISH_NONE = 0,          /* none has yet */
    TREADLE_FINISH_UNKNOWN_MODE = 1,  /* at once: there is no such mode, or it was NULL or the common modes (RUN-1, MODE-9) */
    TREADLE_FINISH_EMPTY_AT_ONCE = 2, /* at once: nothing was in the mode or queued for it (RUN-1) */
    TREADLE_FINISH_BECAME_EMPTY = 3   /* after a pass: nothing was left in the mode (RUN-10) */
};

/** What a loop has done since it was made. The numbers cost a running loop a few plain additions a pass; what takes a
 *  clock, the longest callback, is kept while TREADLE_DEBUG or TREADLE_SLOW_MS is set (treadle_set_log). Since 1.0. */
typedef struct treadle_loop_counters {
    size_t struct_size;   /* set by the caller: sizeof(treadle_loop_counters) */
    uint64_t passes;      /* begun, of runs at all levels */
    uint64_t sleeps;      /* in the kernel */
    uint64_t wakes;       /* sleeps that a wake-up ended, or kept from beginning */
    uint64_t posts;       /* posts that were called */
    uint64_t signals;     /* sources that were performed */
    uint64_t timers;      /* timers that fired in runs */
    uint64_t descriptors; /* descriptor sources that were called */
    uint64_t requests;    /* requests that were performed (perform.h) */
    int64_t longest_ns;   /* the longest callback of a run; 0: none, or none was timed */
    treadle_object longest_item; /* its item, borrowed: it may be gone; NULL for a post or a request */
    uint32_t longest_kind;       /* TREADLE_EVENT_... (event.h): what it was */
    uint32_t last_finish;        /* TREADLE_FINISH_...: of the last run that returned TREADLE_RUN_FINISHED */
    uint64_t messages;           /* messages of ports that were received (port.h) */
} treadle_loop_counters;

/** Stores what a loop has done. Posts, signals and timers of a batch count when the batch is over: within one of their
 *  callbacks the present ones do not. From another thread the numbers may be of different moments.
 *  [any] Errors: TREADLE_E_ARG for NULL or a struct_size below the struct's; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_counters(treadle_loop loop, treadle_loop_counters *out_counters);

/** Puts a mode into the common set, which starts as {default} and never shrinks; the mode receives
 *  every item recorded for the common modes, in the order of recording (MODE-8). TREADLE_IGNORED if
 *  it is in the set already.
 *  [any] Errors: TREADLE_E_ARG for NULL or the common modes themselves. Since 1.0. */
TREADLE_API treadle_status treadle_loop_add_common_mode(treadle_loop loop, const char *mode);

/** True if the mode is in the common set. False for a bad handle or name.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_is_common_mode(treadle_loop loop, const char *mode);

/** The date of the timer that is next in the mode; 0 if there is none, or no such mode (TMR-9).
 *  [any] Errors: TREADLE_E_ARG for a NULL mode. Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_next_fire(treadle_loop loop, const char *mode, int64_t *out_time);

/* The verbs of object.h, for a loop alone. */
TREADLE_TYPED_REFERENCES(loop)
static inline treadle_status treadle_loop_describe(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) {
    return treadle_describe(loop, buffer, capacity, out_length);
}

TREADLE_END_DECLS
#endif
