/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loop.h: run loops: get, run, wake and stop a loop; its modes. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_LOOP_H
#define TREADLE_LOOP_H

#include "object.h"

TREADLE_BEGIN_DECLS

/** Flags of treadle_loop_run. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_RUN_RETURN_AFTER_SOURCE = 1, /* return after a source was handled (RUN-6, RUN-7) */
    TREADLE_RUN_RETURN_ON_INTERRUPT = 2, /* return TREADLE_RUN_INTERRUPTED when a signal ends the sleep */
    TREADLE_RUN_WHEN_EMPTY = 4           /* do not return TREADLE_RUN_FINISHED for an empty mode: sleep (RUN-16) */
};

/** Flags of treadle_loop_request_stop. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_STOP_ALL_LEVELS = 1, /* end every nested run, not only the innermost */
    TREADLE_STOP_AT_ONCE = 2     /* end the run after the callback that runs: the rest of its pass is not called */
};

/** Returns the calling thread's loop. It is created on first use, stays the same, and is torn down when the thread
 *  exits (RL-8). Works on every thread, also one that Treadle did not create (RL-1, RL-2). Borrowed: valid while the
 *  thread lives; retain it to use the handle for longer (RL-9).
 *  [any, quick] NULL on failure, with TREADLE_E_NOMEM, TREADLE_E_SYSTEM, TREADLE_E_STATE (in a thread-specific destructor that
 *  comes after the loop's teardown) or TREADLE_E_FORKED as the last error. Since 1.0. */
TREADLE_API treadle_loop treadle_loop_current(void);

/** Returns the loop of the process's initial thread, to any thread; creates it if there is none. The initial thread is
 *  the one whose kernel id is the process id, whichever thread loaded the library (RL-3). Borrowed.
 *  It is an ordinary loop: a run of an empty mode returns at once (RL-10).
 *  [any, quick] NULL on failure, as treadle_loop_current; TREADLE_E_STATE when that thread has ended. Since 1.0. */
TREADLE_API treadle_loop treadle_loop_main(void);

/** Stores a reference to the loop of the thread with this kernel id (gettid). Release it. Use this to hold the loop of
 *  another thread, which may exit at any time (RL-9). Its cost grows with the number of loops in the process.
 *  [any, quick] Errors: TREADLE_E_NOT_FOUND when no living thread of that id has a loop; TREADLE_E_RANGE if the loop
 *  has 32,767 references. Since 1.0. */
TREADLE_API treadle_status treadle_loop_copy_of_thread(int32_t thread_id, treadle_loop *out_loop);

/** Runs the calling thread's loop in one mode and returns the reason why the run ended (RUN-1). May be called from every
 *  callback, to any depth, in the same or another mode (RUN-12).
 *  mode: NULL, the common modes, an unknown or an empty mode return TREADLE_RUN_FINISHED at once, with no notification (RUN-1,
 *  MODE-9); with TREADLE_RUN_WHEN_EMPTY only NULL and the common modes do. timeout_ns: 0 or less makes one pass without blocking;
 *  TREADLE_FOREVER sets no deadline; any other value counts from the Entry observers' return (RUN-2, RUN-11).
 *  Result, first match: TREADLE_RUN_STOPPED, _HANDLED_SOURCE, _TIMED_OUT, _FINISHED, _INTERRUPTED
 *  (PASS-14, STOP-4). In the default mode without a deadline it runs until it is stopped or finished, like
 *  treadle_loop_run_default (RUN-3).
 *  [owner] Errors: TREADLE_E_WRONG_THREAD; TREADLE_E_ARG for unknown flags; TREADLE_E_CALLBACK when a
 *  host's callback failed in this run; TREADLE_E_FORKED also in the child when a callback of this run forked (RL-11);
 *  TREADLE_E_CLOSED after treadle_shutdown; TREADLE_E_SYSTEM; TREADLE_E_NOMEM. Since 1.0.
 *  The cost of a pass does not grow with the number of idle timers, sources and descriptors. It grows with the observers of
 *  the mode, and with the posts and requests queued for other modes, each of which the pass skips. */
TREADLE_API treadle_status treadle_loop_run(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags);

/** Runs the calling thread's loop in the default mode until it is stopped or finished (RUN-3).
 *  [owner] Returns TREADLE_RUN_STOPPED or TREADLE_RUN_FINISHED; errors as treadle_loop_run. Since 1.0. */
static inline treadle_status treadle_loop_run_default(treadle_loop loop) {
    return treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
}

/** Sets a descriptor that interrupts runs: if fd is readable while a run with TREADLE_RUN_RETURN_ON_INTERRUPT sleeps, or when it
 *  is about to sleep, the run returns TREADLE_RUN_INTERRUPTED. Treadle never reads from fd; it is not a source and belongs to no
 *  mode. For hosts that learn of signals by a descriptor: no signal is lost between the host's last check and the sleep (ABI-4).
 *  -1: none. fd must stay open while it is set.
 *  [any] Errors: TREADLE_E_ARG for a descriptor that is not open. Since 1.0. */
TREADLE_API treadle_status treadle_loop_set_interrupt_descriptor(treadle_loop loop, int32_t fd);

/** Opens a descriptor by which another loop (GLib's, libuv's, asyncio's, poll) waits for this one, in place of a run. It is
 *  readable whenever a run of the mode would not sleep, or would be woken: by a wake-up, a post, a signal, a due timer, a ready
 *  descriptor, a stop (ABI-9). The other loop dispatches on this thread: it calls treadle_loop_run(loop, mode, 0,
 *  TREADLE_RUN_WHEN_EMPTY), which makes one pass, as long as the descriptor is readable. The descriptor is armed whenever the
 *  thread is in none of the loop's runs, also after runs of other modes, so no event is lost; spurious readability is possible.
 *  The other loop needs no timer of its own for Treadle's timers.
 *  mode: created if it does not exist; not the common modes. out_fd: the caller owns it and closes it when it no longer waits;
 *  never read from it. After the loop's thread has ended it never becomes readable again. Each call opens a new descriptor.
 *  [owner] Errors: TREADLE_E_WRONG_THREAD; TREADLE_E_ARG for a mode or out_fd that is NULL, and the common modes; TREADLE_E_SYSTEM
 *  when the kernel refuses a descriptor or a timer; TREADLE_E_CLOSED after treadle_shutdown; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_open_pollable(treadle_loop loop, const char *mode, int32_t *out_fd);

/** Stores when a dispatch of a mode will have something to do, for another loop that waits with a timer of its own, or does not
 *  sleep. out_date: 0 if something is ready now; otherwise the date of the first timer on the monotonic clock, in nanoseconds, or
 *  TREADLE_FOREVER. The date is valid until the descriptor of treadle_loop_open_pollable becomes readable, or the thread itself
 *  changes the loop. To follow it, call this in an observer of TREADLE_EXIT: it is called whenever a run may have changed the
 *  date, at the end of every dispatch and of every run of that mode inside of a callback (ABI-13). Does not block. Unless
 *  something is ready already, observers of TREADLE_PREPARE are called first, which may arm timers or post: a third loop inside of
 *  this one states its date in that way. A host that changes such a loop outside of this one's callbacks calls treadle_loop_prepare
 *  before it waits, also where it waits for a pollable descriptor.
 *  [owner] Errors: TREADLE_E_WRONG_THREAD; TREADLE_E_ARG for a mode or out_date that is NULL, and the common modes;
 *  TREADLE_E_CLOSED after treadle_shutdown; TREADLE_E_SYSTEM; TREADLE_E_CALLBACK and TREADLE_E_STATE of an observer's host, as
 *  treadle_loop_run; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_prepare(treadle_loop loop, const char *mode, int64_t *out_date);

/** Runs the calling thread's loop for another loop, within a budget. It makes passes that do not wait until a pass has called
 *  nothing but observers, or budget_items callbacks of other kinds were called, or budget_ns nanoseconds have passed, which is
 *  checked after each callback. At least one callback is called if any is ready. With TREADLE_FOREVER and SIZE_MAX it continues
 *  as long as there is something to do.
 *  Returns TREADLE_OK when the budget is used up. The run is then still in progress, as it is in a callback, and the next
 *  dispatch of the mode continues after the last callback, so none is starved, however small the budget is. Between two
 *  dispatches the pollable descriptors are readable, runs of any mode are allowed, and a stop applies to the next dispatch. If
 *  the dispatch was made inside of a callback and no next one follows, the run ends when that callback returns; events that it
 *  had not reached stay pending. Otherwise returns TREADLE_RUN_TIMED_OUT when there is nothing to do, or another result of
 *  treadle_loop_run with TREADLE_RUN_WHEN_EMPTY (ABI-13).
 *  [owner] Errors: TREADLE_E_ARG for a mode that is NULL, and the common modes; those of treadle_loop_run. Since 1.0. */
TREADLE_API treadle_status treadle_loop_dispatch(treadle_loop loop, const char *mode, int64_t budget_ns, size_t budget_items);

/** Ends the innermost run at the end of its pass; wakes it if it sleeps. If the loop is not being run, returns TREADLE_IGNORED
 *  and has no later effect: see treadle_loop_request_stop (STOP-1 to STOP-7).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_loop_stop(treadle_loop loop);

/** A stop that cannot be lost: it ends the innermost run, or the next run that starts, nested or not, whichever comes first. A
 *  run that it ends at its start returns TREADLE_RUN_STOPPED before it notifies or handles anything. The request is consumed
 *  by the run that it ends; with TREADLE_STOP_ALL_LEVELS, by the outermost of the runs that it ends (STOP-9).
 *  Without TREADLE_STOP_AT_ONCE the run completes its pass, which calls everything that it has collected (STOP-3). With the flag the
 *  run calls nothing after the current callback but its Exit observers. Collected posts, requests, signals and due timers stay
 *  queued: a later run calls them, or the end of the thread destroys them (treadle_loop_counters.discarded). A run inside of a
 *  call that waits, such as treadle_invocation_perform with TREADLE_WAIT_RUNNING, is not ended by any stop: it ends with the
 *  wait.
 *  [any, signal-safe] Errors: TREADLE_E_ARG for NULL and unknown flags; TREADLE_E_STALE, TREADLE_E_KIND. Since 1.0. */
TREADLE_API treadle_status treadle_loop_request_stop(treadle_loop loop, uint32_t flags);

/** Ends the current sleep of the innermost run, or the sleep at the end of its current pass. Several wake-ups coalesce.
 *  Outside of a pass it has no effect and returns TREADLE_OK (WAKE-1 to WAKE-5). Posts and requests that were queued before it, and
 *  that the innermost run does not call, are called by the run around that one before it sleeps (WAKE-3).
 *  [any, signal-safe] Errors: TREADLE_E_ARG for NULL; TREADLE_E_STALE, TREADLE_E_KIND. Since 1.0. */
TREADLE_API treadle_status treadle_loop_wake(treadle_loop loop);

/** True exactly while the loop's thread blocks, or is about to (WAKE-6). False for a bad handle.
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_loop_is_waiting(treadle_loop loop);

/** True if this is the calling thread's loop. False for a bad handle.
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_loop_is_current(treadle_loop loop);

/** The kernel id of the loop's thread; 0 after the thread has ended.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_thread_id(treadle_loop loop, int32_t *out_thread_id);

/** Stores a reference to the object of the loop's thread, also before its start: the thread for which treadle_thread_copy_loop
 *  gives this loop (RL-9). Release it. By it a log, a watchdog or an observer that is given a loop has the thread's name,
 *  priority and end. The initial thread's object is created if there is none yet (THR-10), and so is the calling thread's for
 *  its own loop (THR-9). Another thread that Treadle did not start has one once it has asked for it (treadle_thread_current).
 *  [any] Errors: TREADLE_E_NOT_FOUND when that one has no object yet, and when the thread has finished, but for the thread itself
 *  during its teardown; TREADLE_E_RANGE if the object has 32,767 references; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_copy_thread(treadle_loop loop, treadle_thread *out_thread);

/** The mode of the innermost run. Copies at most capacity bytes, NUL included, into buffer (NULL
 *  with capacity 0 asks for the length) and stores the full length, without NUL (RL-6).
 *  [any, quick] Errors: TREADLE_E_NOT_FOUND when the loop is not being run. Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_current_mode(treadle_loop loop, char *buffer, size_t capacity,
                                                          size_t *out_length);

/** The names of all modes that exist, each once, each followed by NUL, in unspecified order. Copies
 *  whole names only, as many as fit; stores the length that all need. A mode comes into existence when an item is added to it
 *  or work is queued for it (RL-7). A mode that is empty, has nothing queued for it, is not common and not being run may be
 *  removed when there are several such modes; it is created again when it is next named.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_modes(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);

/** Stores references to the items of a mode; for the common modes, to the items recorded there; with a NULL mode, to the
 *  items of all modes. Each item appears once: sources first, then descriptor sources, timers and observers
 *  (treadle_get_kind tells the kind). The order within a kind is stable while no item is added or removed. Stores the
 *  first capacity references in items (which may be NULL with capacity 0), each for the caller to release, and the number
 *  of all items in out_count. An unknown mode has none. For debugging: the cost grows with all items of the process.
 *  [any] (OBJ-2, MODE-8) Errors: TREADLE_E_ARG for NULL items with another capacity; TREADLE_E_RANGE, with no reference taken, if
 *  one of the items has 32,767 references; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_copy_items(treadle_loop loop, const char *mode, treadle_object *items,
                                                   size_t capacity, size_t *out_count);

/** Why the last run returned TREADLE_RUN_FINISHED. Since 1.0. */
enum {
    TREADLE_FINISH_NONE = 0,          /* no run has finished yet */
    TREADLE_FINISH_UNKNOWN_MODE = 1,  /* at once: there is no such mode, or it was NULL or the common modes (RUN-1, MODE-9) */
    TREADLE_FINISH_EMPTY_AT_ONCE = 2, /* at once: nothing was in the mode or queued for it (RUN-1) */
    TREADLE_FINISH_BECAME_EMPTY = 3   /* after a pass: nothing was left in the mode (RUN-10) */
};

/** Counters of a loop since its creation. They cost a running loop a few plain additions a pass. The longest callback,
 *  which needs the clock, is measured only while TREADLE_DEBUG, TREADLE_SLOW_MS or TREADLE_WATCHDOG_MS is set
 *  (treadle_set_log). Since 1.0. */
typedef struct treadle_loop_counters {
    size_t struct_size;   /* set by the caller: sizeof(treadle_loop_counters) */
    uint64_t passes;      /* begun, of runs at all levels */
    uint64_t sleeps;      /* in the kernel */
    uint64_t wakes;       /* sleeps that a wake-up ended or prevented */
    uint64_t posts;       /* posts that were called */
    uint64_t signals;     /* sources that were performed */
    uint64_t timers;      /* timers that fired in runs */
    uint64_t descriptors; /* descriptor sources that were called */
    uint64_t requests;    /* requests that were performed (perform.h) */
    int64_t longest_ns;   /* the longest callback of a run; 0: none, or none was timed */
    treadle_object longest_item; /* its item, borrowed and possibly stale; NULL for a post or a request */
    uint32_t longest_kind;       /* its kind: TREADLE_EVENT_... (event.h) */
    uint32_t last_finish;        /* TREADLE_FINISH_...: of the last run that returned TREADLE_RUN_FINISHED */
    uint64_t messages;           /* messages of ports that were received (port.h) */
    uint64_t discarded;          /* posts and requests that were destroyed uncalled when the loop's thread ended */
} treadle_loop_counters;

/** Stores a loop's counters. Posts, signals and timers of a batch are counted when the batch is over: a callback does
 *  not see those of its own batch. If another thread reads them, the numbers may be of different moments.
 *  [any] Errors: TREADLE_E_ARG for NULL or a struct_size below the struct's; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_counters(treadle_loop loop, treadle_loop_counters *out_counters);

/** Adds a mode to the common set, which starts as {default} and never shrinks. The mode receives every item recorded
 *  for the common modes, in the order of recording (MODE-8). TREADLE_IGNORED if it is in the set already.
 *  [any] Errors: TREADLE_E_ARG for NULL or the common modes themselves. Since 1.0. */
TREADLE_API treadle_status treadle_loop_add_common_mode(treadle_loop loop, const char *mode);

/** True if the mode is in the common set. False for a bad handle or name.
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_loop_is_common_mode(treadle_loop loop, const char *mode);

/** The date of the mode's next timer; 0 if there is no timer or no such mode (TMR-9).
 *  [any, quick] Errors: TREADLE_E_ARG for a NULL mode. Since 1.0. */
TREADLE_API treadle_status treadle_loop_get_next_fire(treadle_loop loop, const char *mode, int64_t *out_time);

/* The functions of object.h, typed for loops. */
TREADLE_TYPED_REFERENCES(loop)
static inline treadle_status treadle_loop_describe(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) {
    return treadle_describe(loop, buffer, capacity, out_length);
}

TREADLE_END_DECLS
#endif
