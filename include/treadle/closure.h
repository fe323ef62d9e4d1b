/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure.h: C function pointers of any signature, made at run time, which may carry their calls to a loop. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_CLOSURE_H
#define TREADLE_CLOSURE_H

#include "invocation.h"

TREADLE_BEGIN_DECLS

/** One call of a closure, as its handler sees it. Lives until the handler returns. The pointers may be read and
 *  written directly by those who know the signature; the functions below check. Since 1.0. */
typedef struct treadle_call {
    size_t struct_size;           /* of the library that fills it in; later versions only append */
    treadle_closure closure;      /* borrowed */
    treadle_signature signature;
    treadle_loop loop;            /* borrowed: the loop that it was carried to; NULL when called inline */
    uint32_t argument_count;
    uint32_t reserved;            /* 0 */
    const void *const *arguments; /* each points to a value of the argument's type */
    void *result;                 /* a value of the result's type; holds the default result at first; NULL for void */
} treadle_call;

/** Handles a call: takes the arguments and sets the result. What it returns: TREADLE_OK; or anything else, and the
 *  caller gets the default result. It returns: it neither ends its thread nor jumps out.
 *  [callback] on the thread that calls the function pointer, or on the loop's. Since 1.0. */
typedef treadle_status (*treadle_closure_fn)(treadle_call *call, void *info);

/** Who handles a call, and whether the caller waits. Since 1.0. */
enum {
    TREADLE_DELIVERY_INLINE = 0, /* the calling thread, at once */
    TREADLE_DELIVERY_ASYNC = 1,  /* the loop's thread, later; the caller gets the default result at once */
    TREADLE_DELIVERY_SYNC = 2,   /* the loop's thread, while the caller waits for the result */
    TREADLE_DELIVERY_RUNNING = 3 /* the same, and the caller's loop runs in TREADLE_CALL_MODE meanwhile */
};

/** What happens to a call when queue_limit calls of the closure wait for the loop. Since 1.0. */
enum {
    TREADLE_FULL_BLOCK = 0,       /* the caller waits for room, up to the timeout; the loop's own thread does not
                                   * wait, its call gets the default result; counted */
    TREADLE_FULL_FAIL = 1,        /* it gets the default result; counted, and reported once */
    TREADLE_FULL_DROP_NEWEST = 2, /* it gets the default result; counted */
    TREADLE_FULL_DROP_OLDEST = 3, /* the oldest waiting call ends with the default result; counted */
    TREADLE_FULL_COALESCE = 4     /* async only: its arguments take the place of the newest waiting call's; counted */
};

/** Flags of a closure. Unknown ones are refused. Since 1.0. */
enum {
    /* When the pool of stubs is used up, or this processor has none: take one from libffi, which may map executable
     * memory for it. Not in the child of a fork whose parent has such memory at two addresses. */
    TREADLE_CLOSURE_MAY_ALLOCATE = 1,
    /* The function pointer is never used again for another closure, however long ago this one was invalidated: for
     * libraries that never forget a pointer. */
    TREADLE_CLOSURE_KEEP_CODE = 2
};

/** What a closure is made of. Since 1.0. */
typedef struct treadle_closure_config {
    size_t struct_size;          /* sizeof(treadle_closure_config) */
    const char *signature;       /* not variadic; V (oneway) before the result: whoever would wait does not */
    treadle_closure_fn handler;
    void *info;
    void (*destroy)(void *info); /* called once: when it is invalid and no call runs or waits, or it is refused */
    uint32_t delivery;           /* TREADLE_DELIVERY_... */
    uint32_t flags;              /* TREADLE_CLOSURE_... */
    treadle_loop loop;           /* not inline: carries calls to this loop, or */
    treadle_thread thread;       /* to this thread; one of the two */
    const char *const *modes;    /* not inline: NULL: the common modes and TREADLE_CALL_MODE */
    size_t mode_count;
    int64_t timeout_ns;          /* of a caller's wait, for room and result; 0, TREADLE_FOREVER: none */
    uint32_t queue_limit;        /* calls that may wait for the loop; 0: 1,024 */
    uint32_t on_full;            /* TREADLE_FULL_... */
    const void *default_result;  /* what a caller gets when its call is not handled; NULL: zeros */
    size_t default_result_size;  /* the size of the signature's result; with NULL: 0 */
    treadle_host host;           /* handles calls as events in place of handler; info and destroy are NULL then (host.h) */
    uint64_t token;              /* what the host's events carry; 0 without a host */
    treadle_scope scope; /* what is made belongs to it; NULL: to the one that the thread has entered (scope.h) */
} treadle_closure_config;

/** Makes a closure: a function pointer that any thread may call, without any preparation, also one that Treadle has
 *  never seen; but no signal handler. Arguments are carried to another thread by value. C strings and structs behind
 *  pointers stay where they are: a caller that does not wait must keep them, unless they are qualified by copy
 *  ("O*": copied up to the NUL).
 *  A call on the loop's own thread with TREADLE_DELIVERY_SYNC or _RUNNING is handled inline. With these two
 *  errno travels with the call: the handler begins with the caller's, and the caller gets the handler's; with
 *  TREADLE_DELIVERY_ASYNC the handler begins with the caller's (PERF-7). A caller that gets the
 *  default result because its call was not carried, or not in time, finds the reason in its last error.
 *  In the child of a fork the parent's function pointers return their default results.
 *  [any] Errors, with destroy called but where the config cannot be read: TREADLE_E_ARG for NULL or a bad
 *  struct_size (these two), not exactly one of handler and host, info or destroy besides a host, a token without one, an
 *  unknown delivery, on_full or flag, a loop, thread or modes with TREADLE_DELIVERY_INLINE, neither or both of loop and
 *  thread without it, an empty list of modes, TREADLE_FULL_COALESCE with a delivery that waits, a negative timeout;
 *  TREADLE_E_RANGE for a default result of another size, or a queue_limit above 1,048,576; TREADLE_E_SIGNATURE, also for a
 *  variadic one, or for "O" before a pointer that is no C string; TREADLE_E_NOT_SUPPORTED when this machine has no stubs and
 *  flags forbid libffi's, or its libffi has no closures; TREADLE_E_NOMEM also when the pool is used up and flags forbid
 *  libffi's; TREADLE_E_CLOSED when the thread has finished, or the host is quiet; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_closure_create(const treadle_closure_config *config, treadle_closure *out_closure);

/** Stores the function pointer, to be cast to the signature's type. It may be called for ever: when the closure is
 *  invalid it returns the default result, until much later a new closure is given the same pointer
 *  (TREADLE_CLOSURE_KEEP_CODE: never).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_closure_get_code(treadle_closure closure, void (**out_code)(void));

/** What a closure's life has come to. Since 1.0. */
enum {
    TREADLE_CLOSURE_ACTIVE = 0,
    TREADLE_CLOSURE_INVALIDATED = 1, /* by treadle_invalidate; calls that had begun are still handled */
    TREADLE_CLOSURE_DRAINED = 2  /* no call is left, destroy was called */
};

/** A closure's state and counts. Since 1.0. */
typedef struct treadle_closure_info {
    size_t struct_size;     /* sizeof(treadle_closure_info), set by the caller */
    uint32_t state;         /* TREADLE_CLOSURE_ACTIVE... */
    uint32_t waiting;       /* calls that wait for the loop now */
    uint64_t handled;       /* calls whose handler has returned TREADLE_OK */
    uint64_t failed;        /* calls whose handler has returned anything else */
    uint64_t dropped;       /* calls that did not reach it: full, coalesced, no memory, deadlock, the thread ended */
    uint64_t timed_out;     /* callers that did not wait any longer */
    uint64_t after_invalidated; /* calls on the pointer of an invalid closure */
} treadle_closure_info;

/** Copies out a closure's state and counts.
 *  [any] Errors: TREADLE_E_ARG for NULL or a bad struct_size; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_closure_get_info(treadle_closure closure, treadle_closure_info *out_info);

/** Copies an argument of a call: size bytes, the size of the signature's type.
 *  [any] While the handler runs. Errors: TREADLE_E_ARG for NULL; TREADLE_E_RANGE for an index that does not exist, or another
 *  size. Since 1.0. */
TREADLE_API treadle_status treadle_call_get_argument(const treadle_call *call, size_t index, void *value, size_t size);

/** Sets the result of a call: size bytes, the size of the signature's result.
 *  [any] While the handler runs. Errors: TREADLE_E_ARG for NULL; TREADLE_E_RANGE for another size. Since 1.0. */
TREADLE_API treadle_status treadle_call_set_result(treadle_call *call, const void *value, size_t size);

/** Where function pointers of closures come from. Since 1.0. */
typedef struct treadle_closure_pool_info {
    size_t struct_size;     /* sizeof(treadle_closure_pool_info), set by the caller */
    uint32_t capacity;      /* stubs in the library's own code; 0: none for this processor */
    uint32_t used;          /* stubs of closures that are not drained */
    uint32_t drained;       /* stubs of drained closures, which wait to be used again */
    uint32_t allocated;     /* function pointers from libffi's own allocation, in use or drained */
    uint64_t after_invalidated; /* calls on the pointers of all invalid closures */
    char libffi[32];        /* libffi's version, which it tells since 3.5; else empty */
} treadle_closure_pool_info;

/** Copies out the state of the process's pool.
 *  [any] Errors: TREADLE_E_ARG for NULL or a bad struct_size; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_closure_pool_get_info(treadle_closure_pool_info *out_info);

/* The verbs of object.h, for a closure alone. */
TREADLE_TYPED_REFERENCES(closure)
static inline treadle_status treadle_closure_invalidate(treadle_closure closure) { return treadle_invalidate(closure); }
static inline bool treadle_closure_is_valid(treadle_closure closure) { return treadle_is_valid(closure); }
static inline treadle_status treadle_closure_close(treadle_closure closure, int64_t timeout_ns) {
    return treadle_close(closure, timeout_ns);
}

TREADLE_END_DECLS
#endif
