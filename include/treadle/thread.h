/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread.h: threads: create, configure, start, stop and join a thread; its values and its sleep. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_THREAD_H
#define TREADLE_THREAD_H

#include "object.h"
#include "time.h"

TREADLE_BEGIN_DECLS

/** A thread's entry function; what it returns is the thread's result (THR-17).
 *  [callback] on the new thread. Since 1.0. */
typedef void *(*treadle_thread_fn)(void *info);

/** A thread's state (THR-1). Since 1.0. */
enum {
    TREADLE_THREAD_CREATED = 0,   /* not started yet */
    TREADLE_THREAD_STARTING = 1,  /* started, but not running its function yet */
    TREADLE_THREAD_EXECUTING = 2, /* foreign threads and the main thread are always in it until they end */
    TREADLE_THREAD_FINISHED = 3   /* after its will-exit notification (THR-14) */
};

/** How the kernel schedules a thread (THR-13). Since 1.0. */
enum {
    TREADLE_POLICY_DEFAULT = 0,    /* time sharing; the priority sets the nice value */
    TREADLE_POLICY_FIFO = 1,       /* real time, SCHED_FIFO; the priority selects one of its levels */
    TREADLE_POLICY_ROUND_ROBIN = 2 /* real time, SCHED_RR */
};

/* --- Creating and starting ------------------------------------------------------------------------ */

/** Flags of a thread. Since 1.0. */
enum {
    TREADLE_THREAD_DETACHED = 1 /* the thread is not joined (THR-17) */
};

/** The configuration of a thread. Without fn and host the thread is a worker: it runs its loop in the default mode, also while
 *  the mode is empty, until the thread or its loop is stopped (THR-18, RUN-16). A worker's result is the status of the run,
 *  TREADLE_RUN_STOPPED or an error, as an integer in the pointer. Since 1.0. */
typedef struct treadle_thread_config {
    size_t struct_size; /* sizeof(treadle_thread_config) */
    treadle_thread_fn fn;
    void *info;
    treadle_release_fn destroy; /* called once with info: on the thread after fn has returned, or when fn will never run */
    treadle_host host;          /* its event TREADLE_EVENT_THREAD replaces fn; info and destroy are then NULL (host.h) */
    uint64_t token;             /* carried by the host's event; 0 without a host */
    uint32_t flags;             /* TREADLE_THREAD_... */
    uint32_t reserved;          /* 0 */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_thread_config;

/** Creates a thread with the default attributes, without starting it (THR-1, THR-17). Release the handle; the object lives at
 *  least until the thread has finished (THR-4). If the last reference to a joinable thread is released without a join, the
 *  thread is detached.
 *  [any, quick] Errors, with destroy called unless the config cannot be read: TREADLE_E_ARG for NULL or a bad struct_size
 *  (these two, of config), a NULL out_thread, unknown flags, fn, info or destroy with a host, a token without one;
 *  TREADLE_E_CLOSED if the host is quiet or the scope is closed; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_create(const treadle_thread_config *config, treadle_thread *out_thread);

/** Starts the thread, once (THR-2). The thread may or may not be running when this returns. A thread that was cancelled before
 *  its start becomes finished at once: fn never runs (THR-5).
 *  [any] Errors: TREADLE_E_STATE when started before; TREADLE_E_SYSTEM when the system cannot create another thread (os_errno
 *  EAGAIN); the start may then be tried again; TREADLE_E_CLOSED after treadle_shutdown. Since 1.0. */
TREADLE_API treadle_status treadle_thread_start(treadle_thread thread);

/** Starts the thread and waits until it has called treadle_thread_declare_ready, or has entered the first pass of its loop
 *  (THR-18). timeout_ns: TREADLE_FOREVER sets no limit; 0 or less does not wait. After TREADLE_E_TIMEOUT this may be called
 *  again: it continues the wait, and starts nothing. Deadlock detection does not cover a wait that is continued in this way.
 *  [any] Errors: those of treadle_thread_start; TREADLE_E_TIMEOUT, with the thread running on; TREADLE_E_STATE when the
 *  thread ended, or was cancelled, before it was ready. The last error says so if the run of its loop ended at once because
 *  its mode was empty (see TREADLE_RUN_WHEN_EMPTY). Since 1.0. */
TREADLE_API treadle_status treadle_thread_start_and_wait(treadle_thread thread, int64_t timeout_ns);

/** Declares the calling thread ready: treadle_thread_start_and_wait returns to its caller (THR-18). Repeated calls, and calls
 *  without a waiter, have no effect.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_thread_declare_ready(void);

/** treadle_thread_create with TREADLE_THREAD_DETACHED, then treadle_thread_start (THR-3): the short form for most threads. fn,
 *  info and destroy are those of the config; without fn the thread is a worker. out_thread may be NULL, if the caller needs no
 *  handle.
 *  [any] Errors, with destroy called: those of treadle_thread_create and treadle_thread_start. Since 1.0. */
static inline treadle_status treadle_thread_detach_new(treadle_thread_fn fn, void *info, treadle_release_fn destroy,
                                                       treadle_thread *out_thread) {
    treadle_thread thread = NULL;
    treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
    treadle_status status;
    if (out_thread) *out_thread = NULL;
    config.fn = fn;
    config.info = info;
    config.destroy = destroy;
    config.flags = TREADLE_THREAD_DETACHED;
    status = treadle_thread_create(&config, &thread);
    if (status < 0) return status;
    status = treadle_thread_start(thread);
    if (status >= 0 && out_thread) *out_thread = thread;
    else treadle_release(thread);
    return status;
}

/* --- Which thread --------------------------------------------------------------------------------- */

/** Returns the calling thread's object, the same until the thread ends; it is created on first use for threads that Treadle did
 *  not start (THR-9, THR-20). Borrowed: retain it to keep it for longer than the thread lives. Thread-specific destructors that
 *  run after the thread's teardown get the same handle, which is stale unless it was retained.
 *  [any, quick] NULL on failure, with TREADLE_E_NOMEM, TREADLE_E_SYSTEM, TREADLE_E_STATE (in such a destructor, if the thread never
 *  had an object) or TREADLE_E_FORKED as the last error. Since 1.0. */
TREADLE_API treadle_thread treadle_thread_current(void);

/** Returns the object of the process's initial thread, the same to every thread, also after the initial thread has ended
 *  (THR-10). Borrowed.
 *  [any, quick] NULL on failure, as treadle_thread_current. Since 1.0. */
TREADLE_API treadle_thread treadle_thread_main(void);

/** Whether this is the object of the process's initial thread (THR-10). NULL: whether the calling thread is the initial
 *  thread; no thread object is created. False for a bad handle.
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_thread_is_main(treadle_thread thread);

/** Whether a thread was ever started through Treadle in this process; threads created elsewhere do not count. True from the
 *  notification of the first start on; false again if every start so far has failed; true for ever after a successful start
 *  (THR-11).
 *  [any, quick] Errors: none. Since 1.0. */
TREADLE_API bool treadle_is_multithreaded(void);

/** treadle_get_pthread of a thread: its pthread_t, as an integer (THR-20).
 *  [any] Errors: TREADLE_E_STATE if the thread does not execute. Since 1.0. */
static inline treadle_status treadle_thread_get_pthread(treadle_thread thread, uintptr_t *out_pthread) {
    return treadle_get_pthread(thread, out_pthread);
}

/** The thread's kernel id (gettid); 0 before it executes and after it ended.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_id(treadle_thread thread, int32_t *out_thread_id);

/** Stores a reference to the thread's loop. The loop is created if the thread has none yet, also before
 *  its start; items and posts that are added before the start wait for the thread (RL-9). Release it.
 *  [any, quick] Errors: TREADLE_E_STATE when the thread has finished; TREADLE_E_RANGE if the loop has 32,767
 *  references; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_copy_loop(treadle_thread thread, treadle_loop *out_loop);

/* --- State and end -------------------------------------------------------------------------------- */

/** TREADLE_THREAD_CREATED to _FINISHED (THR-1).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_state(treadle_thread thread, uint32_t *out_state);

/** Whether the state is TREADLE_THREAD_EXECUTING: from the start of the new thread until its will-exit notification is over
 *  (THR-1, THR-14). False for a bad handle.
 *  [any] Since 1.0. */
static inline bool treadle_thread_is_executing(treadle_thread thread) {
    uint32_t state = TREADLE_THREAD_CREATED;
    return treadle_thread_get_state(thread, &state) == TREADLE_OK && state == TREADLE_THREAD_EXECUTING;
}

/** Whether the state is TREADLE_THREAD_FINISHED (THR-1, THR-14). False for a bad handle.
 *  [any] Since 1.0. */
static inline bool treadle_thread_is_finished(treadle_thread thread) {
    uint32_t state = TREADLE_THREAD_CREATED;
    return treadle_thread_get_state(thread, &state) == TREADLE_OK && state == TREADLE_THREAD_FINISHED;
}

/** Sets the thread's cancelled flag, in any state. It has no other effect: the thread tests the flag with
 *  treadle_thread_is_cancelled (THR-5).
 *
 *  This is not pthread_cancel, which a program may use as well, with the deferred type only. No function of Treadle is a
 *  cancellation point, not even one that waits: a thread that is cancelled inside a call completes it, and the
 *  cancellation acts at the next cancellation point of the client's own code. Inside a callback the cancellation ends the
 *  thread like treadle_thread_exit, with the result NULL. To end a thread's loop, use treadle_thread_stop.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_thread_cancel(treadle_thread thread);

/** Whether the thread was cancelled (THR-6). False for a bad handle.
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_thread_is_cancelled(treadle_thread thread);

/** Cancels the thread and requests a stop of its loop at all levels, which cannot be lost, whether the loop runs, will run, or
 *  does not exist yet (THR-18, STOP-9). The current pass completes first: it still calls everything that it has collected, such
 *  as all posts that were queued when it collected them (STOP-3). Later posts are not called; they are destroyed with the loop
 *  when the thread ends. treadle_thread_request_stop can leave the rest of the pass uncalled too.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_stop(treadle_thread thread);

/** treadle_thread_stop with flags. With TREADLE_STOP_AT_ONCE the thread's run ends after the current callback, and the rest of its
 *  pass is not called. The end of the thread destroys queued posts and requests, and counts them in
 *  treadle_loop_counters.discarded, which a client reads through a retained loop. Runs at all levels end, with and without
 *  TREADLE_STOP_ALL_LEVELS (THR-18, STOP-9).
 *  [any, quick] Errors: TREADLE_E_ARG for unknown flags. Since 1.0. */
TREADLE_API treadle_status treadle_thread_request_stop(treadle_thread thread, uint32_t flags);

/** Waits until the thread has ended: its will-exit notification, its loop's teardown and its thread-specific destructors are
 *  done (THR-17). out_result (may be NULL): the value that the entry function returned or passed to treadle_thread_exit; NULL
 *  if it never ran. timeout_ns: 0 or less does not wait. The timeout does not limit thread-specific destructors that
 *  re-registered themselves and so run after the teardown.
 *  [any] Errors: TREADLE_E_TIMEOUT, with the thread still joinable; TREADLE_E_DEADLOCK when the thread is the calling one, or
 *  waits for the calling one; TREADLE_E_STATE when it is detached, foreign, not started, joined already, or being joined.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_thread_join(treadle_thread thread, int64_t timeout_ns, void **out_result);

/** Detaches a thread, once, before its start or later: it is not joined, and the system reclaims it when it ends (THR-17).
 *  [any, quick] Errors: TREADLE_E_STATE when it is detached, foreign, joined or being joined. Since 1.0. */
TREADLE_API treadle_status treadle_thread_detach(treadle_thread thread);

/** Whether the thread is detached. Detached threads are those of treadle_thread_detach_new, those detached by flag or
 *  function, and foreign threads, which Treadle does not join. False for a bad handle.
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_thread_is_detached(treadle_thread thread);

/** Ends the calling thread with a result, which treadle_thread_join stores for its caller; on success this does not
 *  return. The will-exit notification, thread-specific destructors and the loop's teardown follow (THR-7). The
 *  thread's stack frames are abandoned as by pthread_exit: C++ destructors run if the system unwinds the stack. Do not
 *  call it inside callbacks of languages that do not support this. Discouraged.
 *  [any] Errors: TREADLE_E_STATE on the process's initial thread, and on threads that Treadle did not start.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_thread_exit(void *result);

/* --- Attributes ----------------------------------------------------------------------------------- */

/** Sets the stack's size in bytes, before the start: 16,384 to 1 GiB, a multiple of 4,096; 524,288 by
 *  default. The system's minimum is added to it, with glibc also the program's static thread-local
 *  storage (THR-13).
 *  [any, quick] Errors, with the old value kept: TREADLE_E_RANGE for any other size; TREADLE_E_STATE after the start. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_stack_size(treadle_thread thread, size_t size);

/** The stack's size as it was set; 0 for foreign threads (THR-13).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_stack_size(treadle_thread thread, size_t *out_size);

/** Sets the thread's name: any UTF-8, at any time. The kernel shows the whole characters that fit into its
 *  first 15 bytes (THR-13).
 *  [any, quick] Errors: TREADLE_E_ARG for NULL or malformed UTF-8; TREADLE_E_RANGE for more than 65,535 bytes;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_name(treadle_thread thread, const char *name);

/** The whole name as it was set; empty if none was set. Copies at most capacity bytes, NUL included, into
 *  buffer
 *  (NULL with capacity 0 asks for the length) and stores the full length, without NUL (THR-13).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_name(treadle_thread thread, char *buffer, size_t capacity,
                                                    size_t *out_length);

/** Sets the priority, clamped to 0.0 to 1.0; 0.5 by default. It may be set before the start for any thread,
 *  later for the calling thread only (THR-13). With the default policy it sets the nice value (0: 19, 0.5:
 *  0, 1: -20). The value is stored even if the kernel refuses it; see treadle_thread_get_priority.
 *  [any, quick] Errors: TREADLE_E_ARG for NaN; TREADLE_E_STATE for another thread after its start. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_priority(treadle_thread thread, double priority);

/** The priority as it was set. out_applied (may be NULL): 1 if the kernel has applied it, 0 if the kernel
 *  has refused it or the thread has not started. A priority that was never set counts as applied (THR-13).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_priority(treadle_thread thread, double *out_priority,
                                                       int32_t *out_applied);

/** Sets the scheduling policy before the start: TREADLE_POLICY_... (THR-13). If the system does not permit
 *  the policy, the thread starts with the default policy, and its priority counts as not applied.
 *  [any, quick] Errors: TREADLE_E_ARG for another value; TREADLE_E_STATE after the start. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_policy(treadle_thread thread, uint32_t policy);

/** The policy as it was set (THR-13).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_policy(treadle_thread thread, uint32_t *out_policy);

/* --- The dictionary ------------------------------------------------------------------------------- */

/** Stores a value under a key in the thread's dictionary, replacing a previous value (THR-12). release (may
 *  be NULL) is called once with the value: when it is replaced or removed, after the thread's will-exit
 *  notification, or when its scope is closed, the one that the calling thread has entered (scope.h); but not while
 *  treadle_thread_use_value uses it.
 *  [any] Errors, with release called: TREADLE_E_ARG for a NULL key; TREADLE_E_STATE when the thread has
 *  finished; TREADLE_E_CLOSED if that scope is closed; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_value(treadle_thread thread, const char *key, void *value,
                                                    treadle_release_fn release);

/** The value under a key. Borrowed: another thread may replace it at any time; see treadle_thread_use_value
 *  (THR-12).
 *  [any] Errors: TREADLE_E_NOT_FOUND. Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_value(treadle_thread thread, const char *key, void **out_value);

/** Calls use(value, info) on the calling thread with the value under a key. The value is not released
 *  before use returns, even if another thread replaces it (THR-12).
 *  [any] Errors: TREADLE_E_ARG for a NULL use; TREADLE_E_NOT_FOUND. Since 1.0. */
TREADLE_API treadle_status treadle_thread_use_value(treadle_thread thread, const char *key,
                                                    void (*use)(void *value, void *info), void *info);

/** Removes the value under a key and releases it (THR-12).
 *  [any] TREADLE_IGNORED when there is none. Since 1.0. */
TREADLE_API treadle_status treadle_thread_remove_value(treadle_thread thread, const char *key);

/* --- Sleeping ------------------------------------------------------------------------------------- */

/** Sleeps until a date of the monotonic clock; a past one returns at once. Signals do not end the sleep early; the thread's
 *  loop does not run (THR-15).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_sleep_until(int64_t time);

/** treadle_thread_sleep_until, for a date that is duration_ns away: sleeps for at least that long. 0 or less returns at once;
 *  TREADLE_FOREVER, or a date beyond it, sleeps for ever (THR-15).
 *  [any] Since 1.0. */
static inline treadle_status treadle_thread_sleep_for(int64_t duration_ns) {
    int64_t now = treadle_time_now();
    if (duration_ns <= 0) return treadle_thread_sleep_until(0);
    return treadle_thread_sleep_until(duration_ns < TREADLE_FOREVER - now ? now + duration_ns : TREADLE_FOREVER);
}

/** treadle_thread_stop, then treadle_thread_join (THR-18).
 *  [any] Errors: those of treadle_thread_join. Since 1.0. */
static inline treadle_status treadle_thread_stop_and_join(treadle_thread thread, int64_t timeout_ns, void **out_result) {
    treadle_status status = treadle_thread_stop(thread);
    if (status < 0 && out_result) *out_result = NULL;
    return status < 0 ? status : treadle_thread_join(thread, timeout_ns, out_result);
}

/* The functions of object.h, typed for threads. */
TREADLE_TYPED_REFERENCES(thread)

TREADLE_END_DECLS
#endif
