/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation.h: calls a C function of any signature on a loop or thread, and returns its result. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_INVOCATION_H
#define TREADLE_INVOCATION_H

#include "perform.h"
#include "routine.h"

TREADLE_BEGIN_DECLS

/** The mode in which a loop runs while its thread waits for a call with TREADLE_WAIT_RUNNING. Calls that name no modes
 *  are delivered in the common modes and in this one; it contains nothing else but items that a client adds. The run
 *  ends when the wait ends: it continues while the mode is empty, and a stop during the run is kept for the enclosing
 *  run (STOP-2, STOP-9).
 *  Since 1.0. */
#define TREADLE_CALL_MODE "TreadleCallMode"

/** The configuration of an invocation. Since 1.0. */
typedef struct treadle_invocation_config {
    size_t struct_size;         /* sizeof(treadle_invocation_config) */
    void (*code)(void);         /* the function; cast its pointer */
    const char *signature;      /* its type, as treadle_signature_parse reads it */
    void *info;                 /* for destroy alone */
    void (*destroy)(void *info); /* called once: when the invocation is freed, or if create fails */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_invocation_config;

/** Creates an invocation: a function, with storage for its arguments, which are 0 until they are set, and for
 *  its result. It may be performed again after each call has ended.
 *  [any] Errors, with destroy called unless the config cannot be read: TREADLE_E_ARG for NULL or a bad struct_size
 *  (these two), or no code; TREADLE_E_SIGNATURE as of treadle_signature_parse; TREADLE_E_CLOSED if the scope is closed;
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_invocation_create(const treadle_invocation_config *config,
                                                     treadle_invocation *out_invocation);

/** Sets an argument: size bytes, the size of the signature's type, copied now. In the variadic part of a signature a
 *  float, or an integer narrower than int, is set in its own size and promoted as in C. A C string that is passed by
 *  copy ("O*") is copied now as well, up to its NUL; use treadle_invocation_set_buffer for other pointers by copy. A
 *  pointer without a qualifier is passed unchanged.
 *  [any, quick] Errors: TREADLE_E_RANGE for an index that does not exist, or another size; TREADLE_E_ARG for a NULL value, or
 *  a pointer by copy that is not a C string; TREADLE_E_STATE while a call is queued or running; TREADLE_E_NOMEM.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_invocation_set_argument(treadle_invocation invocation, size_t index,
                                                           const void *value, size_t size);

/** Sets a pointer argument that is qualified as O (by copy), N (in and out) or o (out): the function gets the address
 *  of a copy of size bytes, which is made now (o: zeros), aligned to 16. After a call with a wait, the waiting thread
 *  writes N and o back to `bytes` before it returns; after a call without a wait, treadle_invocation_get_buffer reads
 *  them. NULL with size 0 passes NULL.
 *  [any] Errors: TREADLE_E_RANGE for an index that does not exist, or a size above 1 GiB; TREADLE_E_ARG for an
 *  argument that is not a pointer with one of these qualifiers, or NULL with a size other than 0; TREADLE_E_STATE
 *  while a
 *  call is queued or running; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_invocation_set_buffer(treadle_invocation invocation, size_t index, void *bytes,
                                                         size_t size);

/** Copies out an argument as it was set: size bytes, the size of the signature's type. For a string by copy or a
 *  buffer the value is the address of the copy, which lives until the argument is set again.
 *  [any] Errors: TREADLE_E_RANGE for an index that does not exist, or another size; TREADLE_E_STATE while a call is
 *  running. Since 1.0. */
TREADLE_API treadle_status treadle_invocation_get_argument(treadle_invocation invocation, size_t index, void *value,
                                                           size_t size);

/** Copies out the bytes of a buffer as the last call left them, at most size of them.
 *  [any] Errors: TREADLE_E_RANGE for an index that does not exist, or a size above the buffer's; TREADLE_E_ARG for an
 *  argument that is not a buffer; TREADLE_E_STATE while a call is queued or running. Since 1.0. */
TREADLE_API treadle_status treadle_invocation_get_buffer(treadle_invocation invocation, size_t index, void *bytes,
                                                         size_t size);

/** How the caller of treadle_invocation_perform waits. Since 1.0. */
enum {
    TREADLE_WAIT_NONE = 0,   /* return at once; the completion is performed at the end */
    TREADLE_WAIT_BLOCK = 1,  /* return when the call has ended */
    TREADLE_WAIT_RUNNING = 2 /* as _BLOCK, and run the caller's loop in TREADLE_CALL_MODE meanwhile */
};

/** How, and on which thread, an invocation is performed. Since 1.0. */
typedef struct treadle_invocation_options {
    size_t struct_size;            /* sizeof(treadle_invocation_options) */
    treadle_loop loop;             /* on the thread of this loop, or */
    treadle_thread thread;         /* on this thread; not both; with neither on the calling thread */
    const char *const *modes;      /* NULL: the common modes and TREADLE_CALL_MODE */
    size_t mode_count;
    uint32_t wait;                 /* TREADLE_WAIT_... */
    uint32_t reserved;             /* 0 */
    int64_t timeout_ns;            /* limits the wait; 0 and TREADLE_FOREVER: no limit; without a wait: 0 */
    const treadle_request *completion; /* without a wait: performed once when the call has ended; may be NULL. Without modes,
                                        * delay and flags */
    treadle_loop completion_loop;  /* performs the completion, in the default of `modes`; NULL: the caller's */
} treadle_invocation_options;

/** Calls the function on a loop's thread, in a pass in one of the modes, in the queue of the thread's perform requests (PERF-1
 *  to PERF-6). Each call is completed exactly once, also if the loop's thread ends first. If the target is the calling thread,
 *  a call with a wait is made directly (PERF-2). With a wait, TREADLE_OK means that the function has returned. After a timeout
 *  a call that has not begun is cancelled; one that is running continues, and treadle_invocation_get_state tells when it has
 *  ended. errno travels with the call: the function starts with the caller's errno, and after a wait that returns TREADLE_OK
 *  the caller's errno is the function's; without a wait use treadle_invocation_get_errno. The errno of the thread that makes
 *  the call does not change (PERF-7).
 *  An empty list of modes (not NULL, mode_count 0) performs nothing, calls the completion's releases and returns
 *  TREADLE_IGNORED. The token of a host's completion is consumed by its event, and retired if the event can never occur, also
 *  with TREADLE_IGNORED and TREADLE_E_CLOSED; after any other error it is not retired.
 *  [any] Not from a signal handler. Errors, with the completion's releases called unless the options or the completion cannot
 *  be read: TREADLE_E_ARG for NULL or a bad struct_size (these), loop and thread, a NULL mode, more than
 *  65,535 modes, an unknown wait, a completion with a wait, a completion_loop without a completion, a negative
 *  timeout, or one without a wait; TREADLE_E_STATE while a call is queued or running, and for a wait in a thread-specific
 *  destructor that runs after the calling thread's teardown; TREADLE_E_TIMEOUT; TREADLE_E_CANCELLED
 *  when the call was cancelled meanwhile; TREADLE_E_DEADLOCK when the thread waits for the caller, directly or through other
 *  threads, with a timeout or without, and cannot make this call during that wait; TREADLE_E_CLOSED when the thread has
 *  finished, or ends before it has called, when the invocation's scope is being closed (SCOPE-2), or after treadle_shutdown;
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_invocation_perform(treadle_invocation invocation,
                                                      const treadle_invocation_options *options);

/** Removes a call that has not begun from its queue: the function is not called, a waiter gets
 *  TREADLE_E_CANCELLED, and the completion is performed.
 *  [any] TREADLE_IGNORED when no call is queued: there was none, it is running, or it has ended. Since 1.0. */
TREADLE_API treadle_status treadle_invocation_cancel(treadle_invocation invocation);

/** The state of an invocation's last call. Since 1.0. */
enum {
    TREADLE_INVOCATION_IDLE = 0,      /* never performed */
    TREADLE_INVOCATION_QUEUED = 1,
    TREADLE_INVOCATION_RUNNING = 2,
    TREADLE_INVOCATION_DONE = 3,      /* the function has returned */
    TREADLE_INVOCATION_CANCELLED = 4, /* by treadle_invocation_cancel, or by a timeout */
    TREADLE_INVOCATION_DROPPED = 5    /* its thread ended first, or treadle_shutdown was called */
};

/** Stores the state, TREADLE_INVOCATION_....
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_invocation_get_state(treadle_invocation invocation, uint32_t *out_state);

/** Copies out the function's result: size bytes, the size of the signature's result (0 and NULL for void).
 *  [any, quick] Errors: TREADLE_E_RANGE for another size; TREADLE_E_STATE unless the state is
 *  TREADLE_INVOCATION_DONE. Since 1.0. */
TREADLE_API treadle_status treadle_invocation_get_result(treadle_invocation invocation, void *result, size_t size);

/** Stores the function's errno (PERF-7).
 *  [any] Errors: TREADLE_E_ARG for NULL; TREADLE_E_STATE unless the state is TREADLE_INVOCATION_DONE. Since 1.0. */
TREADLE_API treadle_status treadle_invocation_get_errno(treadle_invocation invocation, int32_t *out_errno);

/* The functions of object.h, typed for invocations. */
TREADLE_TYPED_REFERENCES(invocation)

TREADLE_END_DECLS
#endif
