/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread.h: threads: making, configuring, starting, stopping and joining them, and what each one carries. */
#ifndef TREADLE_THREAD_H
#define TREADLE_THREAD_H

#include "object.h"

TREADLE_BEGIN_DECLS

/** A thread's entry function; what it returns is the thread's result (THR-17).
 *  [callback] on the new thread. Since 1.0. */
typedef void *(*treadle_thread_fn)(void *info);

/** Where a thread stands (THR-1). Since 1.0. */
enum {
    TREADLE_THREAD_CREATED = 0,   /* not started yet */
    TREADLE_THREAD_STARTING = 1,  /* started, but not running its function yet */
    TREADLE_THREAD_EXECUTING = 2, /* a foreign thread's, and the main thread's, from the beginning */
    TREADLE_THREAD_FINISHED = 3   /* after its will-exit notification (THR-14) */
};

/** How the kernel schedules a thread (THR-13). Since 1.0. */
enum {
    TREADLE_POLICY_DEFAULT = 0,    /* time sharing; the priority sets the nice value */
    TREADLE_POLICY_FIFO = 1,       /* real time, SCHED_FIFO; the priority selects one of its levels */
    TREADLE_POLICY_ROUND_ROBIN = 2 /* real time, SCHED_RR */
};

/* --- Making and starting -------------------------------------------------------------------------- */

/** Flags of a thread. Since 1.0. */
enum {
    TREADLE_THREAD_DETACHED = 1 /* nobody is to join it (THR-17) */
};

/** What a thread is made of. Without fn and host it is a worker: it runs its loop in the default mode, also while nothing is
 *  in it, until the thread or its loop is stopped (THR-18, RUN-16); its result is that of the run, TREADLE_RUN_STOPPED or what
 *  went wrong, as an integer in the pointer. Since 1.0. */
typedef struct treadle_thread_config {
    size_t struct_size; /* sizeof(treadle_thread_config) */
    treadle_thread_fn fn;
    void *info;
    treadle_release_fn destroy; /* gets info back once: on the thread when fn has returned, or when it never runs */
    treadle_host host;          /* is told by TREADLE_EVENT_THREAD in place of fn; info and destroy are NULL then (host.h) */
    uint64_t token;             /* what the host's event carries; 0 without a host */
    uint32_t flags;             /* TREADLE_THREAD_... */
    uint32_t reserved;          /* 0 */
    treadle_scope scope; /* what is made belongs to it; NULL: to the one that the thread has entered (scope.h) */
} treadle_thread_config;

/** Makes a thread that is not started yet, with the default attributes (THR-1, THR-17). Release the handle; the object lives
 *  at least until the thread has finished (THR-4). A joinable thread whose last reference is released without a join is
 *  detached then.
 *  [any] Errors, with destroy called but where the config cannot be read: TREADLE_E_ARG for NULL or a bad struct_size (these
 *  two, of config), a NULL out_thread, unknown flags, fn, info or destroy besides a host, a token without one;
 *  TREADLE_E_CLOSED if the host is quiet; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_create(const treadle_thread_config *config, treadle_thread *out_thread);

/** Starts the thread, once (THR-2). It may or may not run already when this returns. One that was cancelled
 *  before goes straight to finished: fn never runs (THR-5).
 *  [any] Errors: TREADLE_E_STATE when started before; TREADLE_E_SYSTEM when the system has no room for
 *  another thread (os_errno EAGAIN), the thread may then be started again; TREADLE_E_CLOSED after
 *  treadle_shutdown. Since 1.0. */
TREADLE_API treadle_status treadle_thread_start(treadle_thread thread);

/** Starts the thread and waits until it has declared itself ready, or has entered the first pass of its loop
 *  (THR-18). timeout_ns: TREADLE_FOREVER allowed; 0 or less does not wait.
 *  [any] Errors: those of treadle_thread_start; TREADLE_E_TIMEOUT, the thread goes on;
 *  TREADLE_E_STATE when the thread ended, or was cancelled, before it was ready: the message says so where the run of its
 *  loop was over at once, with nothing in its mode (see TREADLE_RUN_WHEN_EMPTY). Since 1.0. */
TREADLE_API treadle_status treadle_thread_start_and_wait(treadle_thread thread, int64_t timeout_ns);

/** The calling thread is ready: whoever waits in treadle_thread_start_and_wait goes on (THR-18). Repeated
 *  calls, and calls of threads that nobody waits for, have no effect.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_declare_ready(void);

/* --- Which thread --------------------------------------------------------------------------------- */

/** The calling thread's object, the same until the thread ends; made on first use for threads that Treadle
 *  did not start (THR-9, THR-20). Borrowed: retain it to keep it for longer than the thread lives. Thread-specific
 *  destructors that come after the thread's teardown get the same handle, which is stale then unless somebody retained it.
 *  [any] NULL on failure, with TREADLE_E_NOMEM, TREADLE_E_SYSTEM, TREADLE_E_STATE (in such a destructor, where the thread
 *  never had an object) or TREADLE_E_FORKED as the last error. Since 1.0. */
TREADLE_API treadle_thread treadle_thread_current(void);

/** The object of the process's initial thread, the same from every thread, and when that has ended (THR-10). Borrowed.
 *  [any] NULL on failure, as treadle_thread_current. Since 1.0. */
TREADLE_API treadle_thread treadle_thread_main(void);

/** Whether this is the object of the process's initial thread (THR-10); NULL: whether the calling thread is that one, which
 *  needs no object. False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_thread_is_main(treadle_thread thread);

/** Whether a thread was ever started through Treadle in this process; threads of others do not count.
 *  True from the notification of the first start on, and once a start has succeeded for ever; false again while all of them
 *  have failed (THR-11).
 *  [any] Errors: none. Since 1.0. */
TREADLE_API bool treadle_is_multithreaded(void);

/** The thread's kernel id (gettid); 0 before it executes and after it ended.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_id(treadle_thread thread, int32_t *out_thread_id);

/** A reference to the thread's loop, made now if the thread has none yet, also before its start: what is
 *  added, queued or asked meanwhile waits for the thread (RL-9). Release it.
 *  [any] Errors: TREADLE_E_STATE when the thread has finished; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_copy_loop(treadle_thread thread, treadle_loop *out_loop);

/* --- State and end -------------------------------------------------------------------------------- */

/** TREADLE_THREAD_CREATED to _FINISHED (THR-1).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_state(treadle_thread thread, uint32_t *out_state);

/** Sets the thread's cancelled flag, in any state; nothing else happens: the thread looks at it when it likes
 *  (THR-5).
 *
 *  This is not pthread_cancel, which a program may use as well, with the deferred type alone. No function of Treadle is a
 *  cancellation point: whoever is cancelled in one, also in one that waits, comes to its end, and leaves the thread at the
 *  next cancellation point of his own code. In a callback that ends the thread as treadle_thread_exit does there, with the
 *  result NULL. To have a thread leave its loop: treadle_thread_stop.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_cancel(treadle_thread thread);

/** Whether the thread was cancelled (THR-6). False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_thread_is_cancelled(treadle_thread thread);

/** Cancels the thread and asks its loop to stop at all levels, in a way that cannot be lost, whether the
 *  loop runs, will run, or does not exist yet (THR-18, STOP-9).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_stop(treadle_thread thread);

/** Waits until the thread is gone: its will-exit notification, its loop's teardown and its thread-specific
 *  destructors are done (THR-17). out_result (may be NULL): what the entry function returned or passed to
 *  treadle_thread_exit; NULL when it never ran. timeout_ns: 0 or less does not wait. It does not count for
 *  thread-specific destructors that armed themselves again, and so come after the teardown.
 *  [any] Errors: TREADLE_E_TIMEOUT, the thread is joinable still; TREADLE_E_DEADLOCK when the thread is the
 *  calling one, or waits for it; TREADLE_E_STATE when it is detached, foreign, not started, joined already,
 *  or being joined. Since 1.0. */
TREADLE_API treadle_status treadle_thread_join(treadle_thread thread, int64_t timeout_ns, void **out_result);

/** Makes a thread detached, once, before its start or later: nobody joins it, and the system reclaims it when
 *  it ends (THR-17).
 *  [any] Errors: TREADLE_E_STATE when it is detached, foreign, joined or being joined. Since 1.0. */
TREADLE_API treadle_status treadle_thread_detach(treadle_thread thread);

/** Whether the thread is detached: threads of treadle_thread_detach_new, those set so, and foreign ones,
 *  which Treadle does not join. False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_thread_is_detached(treadle_thread thread);

/** Ends the calling thread with a result, which a join gives to its caller; it does not return then. The
 *  will-exit notification, thread-specific destructors and the loop's teardown follow (THR-7). The frames on its
 *  stack are left behind as by pthread_exit: destructors of C++ objects there run, where the system unwinds the stack,
 *  and it is not for use inside callbacks of languages that cannot bear it. Discouraged.
 *  [any] Errors: TREADLE_E_STATE on the process's initial thread, and on threads that Treadle did not start.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_thread_exit(void *result);

/* --- Attributes ----------------------------------------------------------------------------------- */

/** The stack's size in bytes, for the start: 16,384 to 1 GiB, a multiple of 4,096; 524,288 by default. The
 *  system's own needs are added to it (THR-13).
 *  [any] Errors: TREADLE_E_RANGE for any other size; TREADLE_E_STATE after the start; the old value
 *  stays. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_stack_size(treadle_thread thread, size_t size);

/** The stack's size as it was set; 0 for foreign threads (THR-13).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_stack_size(treadle_thread thread, size_t *out_size);

/** The name: any UTF-8, at any time. The kernel shows as many whole characters of it as fit into 15 bytes
 *  (THR-13).
 *  [any] Errors: TREADLE_E_ARG for NULL or malformed UTF-8; TREADLE_E_RANGE for more than 65,535 bytes;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_name(treadle_thread thread, const char *name);

/** The name as it was set, whole; empty if none was. Copies at most capacity bytes, NUL included, into buffer
 *  (NULL with capacity 0 asks for the length) and stores the full length, without NUL (THR-13).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_name(treadle_thread thread, char *buffer, size_t capacity,
                                                    size_t *out_length);

/** The priority, limited to 0.0 to 1.0; 0.5 by default: before the start for any thread, later for the
 *  calling thread alone (THR-13). With the default policy it sets the nice value (0: 19, 0.5: 0, 1: -20).
 *  It is kept even if the kernel refuses it; see treadle_thread_get_priority.
 *  [any] Errors: TREADLE_E_ARG for NaN; TREADLE_E_STATE for another thread that was started. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_priority(treadle_thread thread, double priority);

/** The priority as it was set, and, unless out_applied is NULL, whether the kernel has it (1) or refused it
 *  or was not asked yet (0). A priority that was never set counts as applied (THR-13).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_priority(treadle_thread thread, double *out_priority,
                                                       int32_t *out_applied);

/** The scheduling policy for the start: TREADLE_POLICY_... (THR-13). If the system does not permit it the
 *  thread starts with the default policy, and its priority counts as not applied.
 *  [any] Errors: TREADLE_E_ARG for another value; TREADLE_E_STATE after the start. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_policy(treadle_thread thread, uint32_t policy);

/** The policy as it was set (THR-13).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_policy(treadle_thread thread, uint32_t *out_policy);

/* --- The dictionary ------------------------------------------------------------------------------- */

/** Stores a value under a key in the thread's dictionary, in place of the one that was there (THR-12).
 *  release (may be NULL) gets the value back once: when it is replaced or removed, or after the thread's
 *  will-exit notification, and not while treadle_thread_use_value uses it.
 *  [any] Errors, with release called: TREADLE_E_ARG for a NULL key; TREADLE_E_STATE when the thread has
 *  finished; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_thread_set_value(treadle_thread thread, const char *key, void *value,
                                                    treadle_release_fn release);

/** The value under a key. Borrowed: another thread may replace it at any time; see treadle_thread_use_value
 *  (THR-12).
 *  [any] Errors: TREADLE_E_NOT_FOUND. Since 1.0. */
TREADLE_API treadle_status treadle_thread_get_value(treadle_thread thread, const char *key, void **out_value);

/** Calls use(value, info) here and now with the value under a key, which is not released meanwhile, whoever
 *  replaces it (THR-12).
 *  [any] Errors: TREADLE_E_ARG for a NULL use; TREADLE_E_NOT_FOUND. Since 1.0. */
TREADLE_API treadle_status treadle_thread_use_value(treadle_thread thread, const char *key,
                                                    void (*use)(void *value, void *info), void *info);

/** Removes the value under a key and releases it (THR-12).
 *  [any] TREADLE_IGNORED when there is none. Since 1.0. */
TREADLE_API treadle_status treadle_thread_remove_value(treadle_thread thread, const char *key);

/* --- Sleeping ------------------------------------------------------------------------------------- */

/** Sleeps until a date of the monotonic clock; a past one returns at once (THR-15).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_thread_sleep_until(int64_t time);

/** treadle_thread_stop, then treadle_thread_join (THR-18).
 *  [any] Errors: those of treadle_thread_join. Since 1.0. */
static inline treadle_status treadle_thread_stop_and_join(treadle_thread thread, int64_t timeout_ns, void **out_result) {
    treadle_status status = treadle_thread_stop(thread);
    if (status < 0 && out_result) *out_result = NULL;
    return status < 0 ? status : treadle_thread_join(thread, timeout_ns, out_result);
}

/* The verbs of object.h, for a thread alone. */
TREADLE_TYPED_REFERENCES(thread)

TREADLE_END_DECLS
#endif
