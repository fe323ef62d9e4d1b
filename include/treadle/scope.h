/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope.h: scopes: what is made inside of one belongs to it, and ends with it, whatever was forgotten. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_SCOPE_H
#define TREADLE_SCOPE_H

#include "object.h"

TREADLE_BEGIN_DECLS

/** What a scope is made of. Since 1.0. */
typedef struct treadle_scope_config {
    size_t struct_size;         /* sizeof(treadle_scope_config) */
    const char *label;          /* for reports: UTF-8, at most 255 bytes, copied; NULL: none */
    void *info;
    treadle_release_fn destroy; /* gets info back once: when the scope is closed, or it is refused */
} treadle_scope_config;

/** Makes a scope, with one reference. To it belongs what a thread makes between treadle_scope_enter and treadle_scope_leave:
 *  sources, descriptor sources, ports, timers, observers, threads, invocations, closures, routines, host registrations, scopes; posts,
 *  requests (also those after a delay), notifications, values in dictionaries of threads, and what is added to a pool; and
 *  whatever names the scope in its context or config, wherever it is made. What code of a plugin makes belongs to the plugin as
 *  well, and ends with the first of the two (SCOPE-6). Not what callbacks make later, unless they enter the scope themselves, or
 *  name it. A routine of a closed scope calls nothing, whatever refers to it. Loops, locks, conditions, signatures and messages belong
 *  to nobody. A member that has
 *  ended before costs nothing any more.
 *  With the last reference the scope is closed as by treadle_scope_close from one of its callbacks.
 *  [any] Errors, with destroy called but where the config cannot be read: TREADLE_E_ARG for NULL, a bad struct_size (these
 *  two, of config), a label that is not UTF-8, or a NULL out_scope; TREADLE_E_RANGE for a longer label; TREADLE_E_CLOSED if the
 *  scope is closed that the thread has entered, and to which the new one would belong; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_scope_create(const treadle_scope_config *config, treadle_scope *out_scope);

/** From now on, what the calling thread makes belongs to the scope, until it leaves it. Scopes nest: the one that was entered
 *  last counts. A thread that ends leaves all of them.
 *  scope: NULL enters none: what the thread makes until treadle_scope_leave of NULL belongs to nobody, for a function that
 *  makes something of its own and may be called inside of any scope.
 *  [any] Errors: TREADLE_E_CLOSED for a scope that is closed, or is being closed; TREADLE_E_STATE in a thread-specific
 *  destructor that comes after the thread's teardown; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_scope_enter(treadle_scope scope);

/** Ends the last treadle_scope_enter of the calling thread, also of a scope that was closed since.
 *  [any] Errors: TREADLE_E_STATE if the scope is not the one that the thread has entered last. Since 1.0. */
TREADLE_API treadle_status treadle_scope_leave(treadle_scope scope);

/** What keeps a scope from being closed, as treadle_scope_copy_holders tells it. Since 1.0. */
typedef struct treadle_scope_holder {
    uint32_t kind;         /* TREADLE_KIND_..., or TREADLE_HOLDER_... */
    int32_t thread_id;     /* the kernel's id of the thread that is inside of it; 0: of none, or not known */
    treadle_object object; /* borrowed; NULL for what has no handle */
    int64_t held_ns;       /* for how long, since the closing began; 0: it has not */
    char label[64];        /* as much as there is room for, with a NUL; empty: none */
} treadle_scope_holder;

/** Kinds of what has no handle. New ones may be added. Since 1.0. */
enum {
    TREADLE_HOLDER_POST = 32,
    TREADLE_HOLDER_REQUEST = 33,
    TREADLE_HOLDER_NOTIFICATION = 34,
    TREADLE_HOLDER_POOLED = 35, /* a release that was put off by treadle_pool_add */
    TREADLE_HOLDER_CALL = 37,   /* a thread that makes something in it, runs one of a plugin's own functions, or calls destroy */
    TREADLE_HOLDER_VALUE = 38   /* a value in a thread's dictionary; thread_id: who uses it, or did so last */
};

/** Copies out what is in a scope now: of one that could not be closed in time, what still goes on. The first capacity of
 *  them; stores how many there are. With capacity 0 buffer may be NULL.
 *  [any] Errors: TREADLE_E_ARG for NULL. Since 1.0. */
TREADLE_API treadle_status treadle_scope_copy_holders(treadle_scope scope, treadle_scope_holder *buffer, size_t capacity,
                                                      size_t *out_count);

/** Ends a scope and all that belongs to it, whoever has references to it: what was made last first (SCOPE-7). Nothing more is
 *  taken (TREADLE_E_CLOSED). Items,
 *  closures and scopes inside are closed; queued posts and requests never run, and who waits for one gets TREADLE_E_CLOSED;
 *  queued invocations are cancelled; registrations end, values leave their dictionaries; releases that were put off are called
 *  here; threads are stopped as by treadle_thread_stop, and joined. Each info is released once, and all handles of members are
 *  stale then: what had references to them has none any more. It waits until none of their callbacks runs, then destroy is called.
 *  From inside one of its own callbacks: TREADLE_DEFERRED, at once; the scope is closed when those return that the calling
 *  thread is in. Otherwise idempotent; several threads may close a scope.
 *  timeout_ns: 0 or less only looks; TREADLE_FOREVER.
 *  [any] Errors: TREADLE_E_TIMEOUT, with the end begun: close again, treadle_scope_copy_holders tells what goes on;
 *  TREADLE_E_DEADLOCK when something that goes on waits for the calling thread, directly or through others: the same.
 *  The same as treadle_close. Since 1.0. */
static inline treadle_status treadle_scope_close(treadle_scope scope, int64_t timeout_ns) {
    return treadle_close(scope, timeout_ns);
}

/* The verbs of object.h, for a scope alone. */
TREADLE_TYPED_REFERENCES(scope)
static inline bool treadle_scope_is_valid(treadle_scope scope) { return treadle_is_valid(scope); }

TREADLE_END_DECLS
#endif
