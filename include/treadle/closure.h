/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure.h: C function pointers of any signature, created at run time, whose calls may be handled on a loop.
 * */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_CLOSURE_H
#define TREADLE_CLOSURE_H

#include "invocation.h"

TREADLE_BEGIN_DECLS

/** One call of a closure, as its handler receives it. Lives until the handler returns. A handler that knows the
 *  signature may read and write through the pointers directly; the functions below check index and size.
 *  Since 1.0. */
typedef struct treadle_call {
    size_t struct_size;           /* of the library that fills it in; later versions only append */
    treadle_closure closure;      /* borrowed */
    treadle_signature signature;
    treadle_loop loop;            /* borrowed: the loop that handles the call; NULL when called inline */
    uint32_t argument_count;
    uint32_t reserved;            /* 0 */
    const void *const *arguments; /* each points to a value of the argument's type */
    void *result;                 /* a value of the result's type; holds the default result at first; NULL for void */
} treadle_call;

/** Handles a call: reads the arguments and sets the result. Returns TREADLE_OK; if it returns anything else, the
 *  caller gets the default result. It must return: it may neither end its thread nor leave by longjmp.
 *  [callback] on the thread that calls the function pointer, or on the loop's. Since 1.0. */
typedef treadle_status (*treadle_closure_fn)(treadle_call *call, void *info);

/** Which thread handles a call, and whether the caller waits. Since 1.0. */
enum {
    TREADLE_DELIVERY_INLINE = 0, /* the calling thread, at once */
    TREADLE_DELIVERY_ASYNC = 1,  /* the loop's thread, later; the caller gets the default result at once */
    TREADLE_DELIVERY_SYNC = 2,   /* the loop's thread, while the caller waits for the result */
    TREADLE_DELIVERY_RUNNING = 3 /* as _SYNC, and the caller's loop runs in TREADLE_CALL_MODE meanwhile */
};

/** The effect of a call when queue_limit calls of the closure are queued for the loop. Since 1.0. */
enum {
    TREADLE_FULL_BLOCK = 0,       /* the caller waits for room, up to the timeout; the loop's own thread does not
                                   * wait, its call gets the default result; counted */
    TREADLE_FULL_FAIL = 1,        /* the call gets the default result; counted, and reported once */
    TREADLE_FULL_DROP_NEWEST = 2, /* the call gets the default result; counted */
    TREADLE_FULL_DROP_OLDEST = 3, /* the oldest queued call gets the default result; counted */
    TREADLE_FULL_COALESCE = 4     /* async only: its arguments replace those of the newest queued call; counted */
};

/** Flags of a closure. Unknown ones are refused. Since 1.0. */
enum {
    /* If the pool of stubs is exhausted, or this processor has none, map executable memory for the
     * stub, or take one from libffi, which may do so. Not libffi's in the child of a fork whose
     * parent has such memory mapped at two addresses. */
    TREADLE_CLOSURE_MAY_ALLOCATE = 1,
    /* The function pointer is never reused for another closure, even long after this one was
     * invalidated, nor by a later life of its plugin: for libraries that keep a pointer for ever.
     * Each costs one of the pool's stubs for good. With TREADLE_CLOSURE_MAY_ALLOCATE half of the pool is
     * left to other closures, and after their closures' end pointers of the same signature and default result share memory: on
     * x86-64 and 64-bit Arm with pages of up to 16 KiB, two million
     * pointers of a process cost no more than their addresses, if at most 64 default results of a
     * signature occur. Further ones cost memory, about 200 bytes each. */
    TREADLE_CLOSURE_KEEP_CODE = 2
};

/** The configuration of a closure. Since 1.0. */
typedef struct treadle_closure_config {
    size_t struct_size;          /* sizeof(treadle_closure_config) */
    const char *signature;       /* not variadic; V (oneway) before the result: callers never wait */
    treadle_closure_fn handler;
    void *info;
    void (*destroy)(void *info); /* called once: when it is invalid and no call is in flight, or if create fails */
    uint32_t delivery;           /* TREADLE_DELIVERY_... */
    uint32_t flags;              /* TREADLE_CLOSURE_... */
    treadle_loop loop;           /* not inline: calls are handled on this loop, or */
    treadle_thread thread;       /* on this thread; exactly one of the two */
    const char *const *modes;    /* not inline: NULL: the common modes and TREADLE_CALL_MODE */
    size_t mode_count;
    int64_t timeout_ns;          /* limits a caller's wait for room and result; 0, TREADLE_FOREVER: no limit */
    uint32_t queue_limit;        /* calls that may be queued for the loop; 0: 1,024 */
    uint32_t on_full;            /* TREADLE_FULL_... */
    const void *default_result;  /* returned to a caller whose call is not handled; NULL: zeros */
    size_t default_result_size;  /* the size of the signature's result; with NULL: 0 */
    treadle_host host;           /* its events replace handler; info and destroy are then NULL (host.h) */
    uint64_t token;              /* carried by the host's events; 0 without a host */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_closure_config;

/** Creates a closure: a function pointer that any thread may call without preparation, also a thread that Treadle does not
 *  know. A signal handler must not call it. Arguments are passed to another thread by value. C strings and structs behind
 *  pointers are not copied: a caller that does not wait must keep them alive, unless the signature qualifies them by copy
 *  ("O*": copied up to the NUL). A call on the loop's own thread with TREADLE_DELIVERY_SYNC or _RUNNING is handled inline.
 *  With these two errno travels with the call: the handler starts with the caller's errno, and the caller receives the
 *  handler's; with TREADLE_DELIVERY_ASYNC the handler starts with the caller's (PERF-7). If a caller gets the default result
 *  because its call was not delivered, or not in time, its last error says why. In the child of a fork the parent's function
 *  pointers return their default results.
 *  [any] Errors, with destroy called unless the config cannot be read: TREADLE_E_ARG for NULL or a bad struct_size
 *  (these two), none or both of handler and host, info or destroy together with a host, a token without one, an unknown
 *  delivery, on_full or flag, a loop, thread or modes with TREADLE_DELIVERY_INLINE, neither or both of loop and thread
 *  without it, an empty list of modes, TREADLE_FULL_COALESCE with a delivery that waits, a negative timeout;
 *  TREADLE_E_RANGE for a default result of another size, or a queue_limit above 1,048,576; TREADLE_E_SIGNATURE, also
 *  for a variadic signature, or for "O" before a pointer that is not a C string; TREADLE_E_NOT_SUPPORTED when this
 *  machine has no stubs and flags do not allow libffi's, or its libffi has no closures; TREADLE_E_NOMEM also when the
 *  pool is exhausted and flags do not allow libffi's; TREADLE_E_CLOSED when the thread, or that of the loop, has
 *  finished, the host is quiet or the scope is closed; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_closure_create(const treadle_closure_config *config, treadle_closure *out_closure);

/** Stores the function pointer, to be cast to the signature's type. It may be called at any time: after the closure was
 *  invalidated it returns the default result, until, much later, a new closure reuses the pointer (with
 *  TREADLE_CLOSURE_KEEP_CODE: never).
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_closure_get_code(treadle_closure closure, void (**out_code)(void));

/** A closure's state. Since 1.0. */
enum {
    TREADLE_CLOSURE_ACTIVE = 0,
    TREADLE_CLOSURE_INVALIDATED = 1, /* by treadle_invalidate; calls in flight are still handled */
    TREADLE_CLOSURE_DRAINED = 2  /* no call is in flight, destroy was called */
};

/** A closure's state and counts. Since 1.0. */
typedef struct treadle_closure_info {
    size_t struct_size;     /* sizeof(treadle_closure_info), set by the caller */
    uint32_t state;         /* TREADLE_CLOSURE_ACTIVE... */
    uint32_t waiting;       /* calls queued for the loop now */
    uint64_t handled;       /* calls whose handler has returned TREADLE_OK */
    uint64_t failed;        /* calls whose handler has returned anything else */
    uint64_t dropped;       /* calls that did not reach the handler: full, coalesced, no memory, deadlock, the thread ended */
    uint64_t timed_out;     /* callers whose wait timed out */
    uint64_t after_invalidated; /* calls on the pointer of an invalid closure */
} treadle_closure_info;

/** Copies out a closure's state and counts.
 *  [any, quick] Errors: TREADLE_E_ARG for NULL or a bad struct_size; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_closure_get_info(treadle_closure closure, treadle_closure_info *out_info);

/** Copies an argument of a call: size bytes, the size of the signature's type.
 *  [any] While the handler runs. Errors: TREADLE_E_ARG for NULL; TREADLE_E_RANGE for an index that does not exist, or another
 *  size. Since 1.0. */
TREADLE_API treadle_status treadle_call_get_argument(const treadle_call *call, size_t index, void *value, size_t size);

/** Sets the result of a call: size bytes, the size of the signature's result.
 *  [any] While the handler runs. Errors: TREADLE_E_ARG for NULL; TREADLE_E_RANGE for another size. Since 1.0. */
TREADLE_API treadle_status treadle_call_set_result(treadle_call *call, const void *value, size_t size);

/** The process's pool of stubs, from which closures get their function pointers. Since 1.0. */
typedef struct treadle_closure_pool_info {
    size_t struct_size;     /* sizeof(treadle_closure_pool_info), set by the caller */
    uint32_t capacity;      /* stubs in the library's own code; 0: none for this processor */
    uint32_t used;          /* stubs of closures that are not drained */
    uint32_t drained;       /* stubs of drained closures, free for reuse */
    uint32_t allocated;     /* function pointers outside of the library's own code, in use or drained */
    uint64_t after_invalidated; /* calls on the pointers of all invalid closures */
    char libffi[32];        /* libffi's version, known since 3.5; else empty */
} treadle_closure_pool_info;

/** Copies out the state of the process's pool.
 *  [any, quick] Errors: TREADLE_E_ARG for NULL or a bad struct_size; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_closure_pool_get_info(treadle_closure_pool_info *out_info);

/* The functions of object.h, typed for closures. */
TREADLE_TYPED_REFERENCES(closure)
static inline treadle_status treadle_closure_invalidate(treadle_closure closure) { return treadle_invalidate(closure); }
static inline bool treadle_closure_is_valid(treadle_closure closure) { return treadle_is_valid(closure); }
static inline treadle_status treadle_closure_close(treadle_closure closure, int64_t timeout_ns) {
    return treadle_close(closure, timeout_ns);
}

TREADLE_END_DECLS
#endif
