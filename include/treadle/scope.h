/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope.h: scopes: objects created inside of a scope belong to it, and end with it, even those that were forgotten. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_SCOPE_H
#define TREADLE_SCOPE_H

#include "object.h"

TREADLE_BEGIN_DECLS

/** The configuration of a scope. Since 1.0. */
typedef struct treadle_scope_config {
    size_t struct_size;         /* sizeof(treadle_scope_config) */
    const char *label;          /* for reports: UTF-8, at most 255 bytes, copied; NULL: none */
    void *info;
    treadle_release_fn destroy; /* called once with info: when the scope is closed, or if create fails */
} treadle_scope_config;

/** Creates a scope, with one reference. Objects that a thread creates between treadle_scope_enter and treadle_scope_leave belong
 *  to the scope: sources, descriptor sources, ports, timers, observers, threads, invocations, closures, routines, host
 *  registrations and scopes; posts, requests (also delayed ones), notifications, values in thread dictionaries, and releases
 *  added to a pool. Objects whose context or config names the scope belong to it too. Objects that a plugin's code creates also
 *  belong to the plugin, and end with the first of the two (SCOPE-6). Objects that callbacks create later do not belong to the
 *  scope, unless the callback enters or names it. A routine of a closed scope calls nothing, even if it is still referenced.
 *  Loops, locks, conditions, signatures and messages belong to no scope. A member that has ended costs nothing. When the last
 *  reference is released the scope is closed, as by treadle_scope_close from one of its callbacks.
 *  [any] Errors, with destroy called unless the config cannot be read: TREADLE_E_ARG for NULL, a bad struct_size (these
 *  two, of config), a label that is not UTF-8, or a NULL out_scope; TREADLE_E_RANGE for a longer label; TREADLE_E_CLOSED if the
 *  scope that the thread has entered, to which the new scope would belong, is closed; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_scope_create(const treadle_scope_config *config, treadle_scope *out_scope);

/** Enters a scope: objects that the calling thread creates belong to it, until the thread leaves it. Scopes nest: the last
 *  entered scope counts. A thread that ends leaves all its scopes. scope: NULL enters no scope: objects created before
 *  treadle_scope_leave(NULL) belong to no scope. Use this in a function that creates objects of its own and may be called
 *  inside of any scope.
 *  [any] Errors: TREADLE_E_CLOSED for a scope that is closed, or is being closed; TREADLE_E_STATE in a thread-specific
 *  destructor that runs after the thread's teardown; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_scope_enter(treadle_scope scope);

/** Ends the last treadle_scope_enter of the calling thread, also of a scope that was closed since.
 *  [any] Errors: TREADLE_E_STATE if the scope is not the one that the thread has entered last. Since 1.0. */
TREADLE_API treadle_status treadle_scope_leave(treadle_scope scope);

/** A holder, which keeps a scope from being closed: see treadle_scope_copy_holders. Later versions may add members at its end.
 *  Since 1.0. */
typedef struct treadle_scope_holder {
    uint32_t kind;         /* TREADLE_KIND_..., or TREADLE_HOLDER_... */
    int32_t thread_id;     /* the kernel id of the thread inside of it; 0: none, or unknown */
    treadle_object object; /* borrowed; NULL for holders without a handle */
    int64_t held_ns;       /* time since the closing began; 0: it has not begun */
    char label[64];        /* truncated to fit, with a NUL; empty: none */
    char thread_name[32];  /* of thread_id, also truncated: the name set by treadle_thread_set_name, else the kernel's */
    char callback[64];     /* label of the item whose callback that thread runs, also truncated; empty: none */
} treadle_scope_holder;

/** Kinds of holders without a handle. New ones may be added. Since 1.0. */
enum {
    TREADLE_HOLDER_POST = 32, /* posts of treadle_loop_post that a pass has collected are listed only shortly before they are called */
    TREADLE_HOLDER_REQUEST = 33,
    TREADLE_HOLDER_NOTIFICATION = 34,
    TREADLE_HOLDER_POOLED = 35, /* a release that treadle_pool_add has deferred */
    TREADLE_HOLDER_CALL = 37,   /* a thread that creates an object in it, runs one of a plugin's own functions, or calls destroy; without
                                 * a thread, and with the label "stop": a plugin's stop that has returned TREADLE_DEFERRED */
    TREADLE_HOLDER_VALUE = 38   /* a value in a thread's dictionary; thread_id: its current or last user */
};

/** Copies out the first capacity holders of a scope, and stores the number of all. If the scope could not be closed in time,
 *  these hold up the closing. With capacity 0 buffer may be NULL.
 *  holder_size: sizeof(treadle_scope_holder), the distance of two holders. Members that this version does not know are unchanged.
 *  [any] Errors: TREADLE_E_ARG for NULL, a holder_size that no version had. Since 1.0. */
TREADLE_API treadle_status treadle_scope_copy_holders(treadle_scope scope, treadle_scope_holder *buffer, size_t holder_size,
                                                      size_t capacity, size_t *out_count);

/** Closes a scope and ends all its members, even if there are references to them, in the reverse order of their creation
 *  (SCOPE-7). New members are refused (TREADLE_E_CLOSED). Items, closures and scopes inside are closed; queued posts and requests
 *  are not called, and their waiters get TREADLE_E_CLOSED; queued invocations are cancelled; registrations are removed, values
 *  leave their dictionaries; deferred releases are called here; threads are stopped as by treadle_thread_stop, and joined. Each
 *  info is released once. All handles of members become stale, and references to them are void. This waits until none of the
 *  members' callbacks runs, then calls destroy. From inside one of its own callbacks it returns TREADLE_DEFERRED at once; the
 *  scope is closed when the calling thread's callbacks of the scope have returned. Otherwise idempotent; several threads may
 *  close a scope. timeout_ns: 0 or less does not wait; TREADLE_FOREVER sets no limit.
 *  [any] Errors: TREADLE_E_TIMEOUT, with the closing begun: call it again, see treadle_scope_copy_holders for the holders;
 *  TREADLE_E_DEADLOCK when a holder waits for the calling thread, directly or through other threads, also with the closing
 *  begun. The same as treadle_close. Since 1.0. */
static inline treadle_status treadle_scope_close(treadle_scope scope, int64_t timeout_ns) {
    return treadle_close(scope, timeout_ns);
}

/* The functions of object.h, typed for scopes. */
TREADLE_TYPED_REFERENCES(scope)
static inline bool treadle_scope_is_valid(treadle_scope scope) { return treadle_is_valid(scope); }

TREADLE_END_DECLS
#endif
