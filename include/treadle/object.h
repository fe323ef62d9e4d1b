/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * object.h: functions for handles of every kind. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_OBJECT_H
#define TREADLE_OBJECT_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** Any handle. An *item* is an object that is added to loops: a source, descriptor source, port, timer or observer.
 *  Since 1.0. */
typedef void *treadle_object;

/** Adds a reference. Every reference from a create, copy or retain function is released once. A retained loop outlives its
 *  thread: the handle stays valid, waking, stopping and removing are safe, additions are ignored (RL-9). A retained thread object
 *  outlives its thread too; if its last reference is released without a join, the thread is detached.
 *  [any, quick] (OBJ-2) Errors: TREADLE_E_KIND for a signature or a host, which are never freed; TREADLE_E_RANGE for more than
 *  32,767 references. Since 1.0. */
TREADLE_API treadle_status treadle_retain(treadle_object object);

/** Releases a reference that the caller owns; modes that contain an item keep their own references (OBJ-3). When the last
 *  reference is released, an item is invalidated, then freed (OBJ-4); a closure is invalidated; a scope is closed, without a
 *  wait; a routine or an invocation lives on while it is in use. Unlock a lock before its last release: the memory of a locked
 *  one is never freed.
 *  [any] Errors: TREADLE_E_STALE also when the caller owns no reference; TREADLE_E_KIND as treadle_retain.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_release(treadle_object object);

/** Invalidates an item: it leaves every mode of every loop. A source's signal is cleared, and its cancel is called for each
 *  mode (SRC0-4). The info of a timer or observer is released, after its callback if that is running (TMR-7); the info of a
 *  source, descriptor source or port is released when the object is freed (SRC0-2). For ports see also treadle_port_create.
 *  Invalidates a closure: calls that begin later get the default result; they are counted, and the first one is reported to
 *  the last-resort handler. Calls in flight are handled. After the last of them destroy is called, on the thread that ends that
 *  call. Idempotent: TREADLE_OK also if the object was invalid already. If this is called on the loop's own thread, no callback
 *  starts after it has returned; from another thread, a callback may still be running or about to start (OBJ-5, OBJ-9). [any]
 *  Errors: TREADLE_E_KIND for any other kind of object. Since 1.0. */
TREADLE_API treadle_status treadle_invalidate(treadle_object item);

/** Invalidates an item or a closure, then waits until none of its callbacks runs on another thread. Closes a scope, like
 *  treadle_scope_close (scope.h). timeout_ns: 0 or less does not wait; TREADLE_FOREVER sets no limit.
 *  [any] Errors, each with the object invalidated: TREADLE_E_TIMEOUT; TREADLE_E_DEADLOCK from inside one of an item's own
 *  callbacks, when a callback in flight waits for the calling thread, directly or through other threads, or when a queued
 *  call of the closure needs the calling thread's loop. From one of its own handlers a closure is invalidated, without a
 *  wait. TREADLE_E_KIND for any other kind of object, which is not changed. Since 1.0. */
TREADLE_API treadle_status treadle_close(treadle_object object, int64_t timeout_ns);

/** True until the item or closure is invalidated, or the scope's closing begins; never true again (OBJ-5). False for a bad
 *  handle, and for any other kind of object.
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_is_valid(treadle_object item);

/** Stores the info of an item's context, which its callbacks receive. After invalidation it is unchanged for a source,
 *  descriptor source or port (SRC0-4), and NULL for a timer or observer (TMR-7).
 *  [any] Errors: TREADLE_E_KIND if the object is not an item. Since 1.0. */
TREADLE_API treadle_status treadle_get_context_info(treadle_object item, void **out_info);

/** The order that a source or observer was created with (OBJ-5, SRC0-14); 0 for a descriptor source, a port, and a timer
 *  (TMR-3).
 *  [any, quick] Errors: TREADLE_E_KIND if the object is not an item. Since 1.0. */
TREADLE_API treadle_status treadle_get_order(treadle_object item, int64_t *out_order);

/** Kinds of handles, as treadle_get_kind stores them. Since 1.0. */
enum {
    TREADLE_KIND_LOOP = 1,
    TREADLE_KIND_SOURCE = 2,
    TREADLE_KIND_TIMER = 3,
    TREADLE_KIND_OBSERVER = 4,
    TREADLE_KIND_DESCRIPTOR = 5,
    TREADLE_KIND_SIGNATURE = 6,
    TREADLE_KIND_ROUTINE = 7,
    TREADLE_KIND_HOST = 8,
    TREADLE_KIND_THREAD = 9,
    TREADLE_KIND_LOCK = 10,
    TREADLE_KIND_CONDITION = 11,
    TREADLE_KIND_INVOCATION = 12,
    TREADLE_KIND_CLOSURE = 13,
    TREADLE_KIND_SCOPE = 15,
    TREADLE_KIND_PORT = 16,
    TREADLE_KIND_MESSAGE = 17
};

/** Stores an object's kind, for handles from treadle_loop_copy_items. New kinds may be added.
 *  [any] Errors: TREADLE_E_STALE if the object no longer exists (OBJ-1). Since 1.0. */
TREADLE_API treadle_status treadle_get_kind(treadle_object object, uint32_t *out_kind);

/** Stores the POSIX object of a thread, a lock or a condition, as an integer: cast it (THR-20). For a thread it is the
 *  pthread_t, valid until the thread is joined, or until it ends if it is detached. For a lock it is the address of the
 *  pthread_mutex_t, for a condition that of the pthread_cond_t, valid while the object lives.
 *  [any, quick] Errors: TREADLE_E_STATE if the thread does not execute; TREADLE_E_KIND for any other kind of object. Since 1.0. */
TREADLE_API treadle_status treadle_get_pthread(treadle_object object, uintptr_t *out_pthread);

/** Writes a description of an item, a loop or a thread, for debugging: at most capacity bytes, NUL included, into buffer (NULL with
 *  capacity 0 asks for the length); stores the full length, without NUL (RL-12). The format may change. An item: a line with its
 *  kind, label, handle, order, the state of its kind (whether a source is signalled; a descriptor's number and events; the number
 *  of messages queued in a port; the seconds until a timer is due, its interval and tolerance; an observer's activities) and the
 *  text that its context's describe adds; then a line for each mode that contains it. A loop: a line with its thread's id and name,
 *  and the thread's state; a line for the callback that runs, with the time since its start (RL-13); a line for each of at most 16
 *  queued posts and 16 queued requests, with their ages, to a tick of the kernel's clock (posts without a struct have an age only
 *  while callbacks are timed, see treadle_set_log); then each mode, in the order of creation, with a line for each of its items, in
 *  the order of treadle_loop_copy_items. A thread: a line with its name, state and id, then its loop. If other threads change the
 *  loop meanwhile, the parts may be of different moments. For a loop the cost grows with all items of the process, and no describe
 *  is called.
 *  [any] Errors: TREADLE_E_KIND for any other kind of object; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_describe(treadle_object object, char *buffer, size_t capacity, size_t *out_length);

/** Adds an item to a mode of a loop, or to all common modes (MODE-8). A source's schedule is called for each mode that it
 *  joins (SRC0-3). If another thread adds a source, the loop is woken if it sleeps in that mode (MODE-10); a timer or
 *  descriptor takes effect at once, also in a sleeping loop. Returns TREADLE_IGNORED, with no effect, if the item is in the
 *  mode already or invalid, if the loop's thread has ended, or if a timer or observer is in another loop (MODE-5, MODE-6,
 *  RL-9). The mode keeps a reference.
 *  [any] Errors: TREADLE_E_ARG for a NULL mode (MODE-3); TREADLE_E_KIND if the object is not an item; TREADLE_E_NOMEM; for a
 *  descriptor source also TREADLE_E_EXISTS if another one watches the same descriptor in that mode (SRC1-7), TREADLE_E_ARG if
 *  get_fd returns -1, and TREADLE_E_SYSTEM, with os_errno, if the kernel refuses (EBADF: the descriptor is closed, or opened
 *  with O_PATH; EMFILE: too many descriptors); the last error says why. Since 1.0. */
TREADLE_API treadle_status treadle_loop_add(treadle_loop loop, treadle_object item, const char *mode);

/** Removes an item from a mode, or from the common set and all its modes (MODE-8). TREADLE_IGNORED if the item is not in
 *  the mode; the mode is not created (MODE-6). Its callback does not start in the rest of the current pass either (OBJ-9).
 *  [any] Errors: TREADLE_E_ARG for a NULL mode; TREADLE_E_KIND if the object is not an item. Since 1.0. */
TREADLE_API treadle_status treadle_loop_remove(treadle_loop loop, treadle_object item, const char *mode);

/** True if the item is in the mode; for the common modes, if it is recorded there (MODE-8). A source is also in the mode
 *  if one that equals it is (SRC0-5). False for a bad handle or a NULL mode (MODE-3), and if the object is not an item.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_contains(treadle_loop loop, treadle_object item, const char *mode);

/** Defines treadle_KIND_retain and treadle_KIND_release: the functions above for one kind, so that the compiler refuses
 *  handles of other kinds. They are inline functions, not exported by the library. Since 1.0. */
#define TREADLE_TYPED_REFERENCES(kind)                                                                                   \
    static inline treadle_status treadle_##kind##_retain(treadle_##kind object) { return treadle_retain(object); }      \
    static inline treadle_status treadle_##kind##_release(treadle_##kind object) { return treadle_release(object); }

/** Defines all functions above for one kind of item: treadle_KIND_retain, _release, _invalidate, _close, _is_valid,
 *  _get_context_info, _get_order and _describe, and treadle_loop_add_KIND, _remove_KIND and _contains_KIND. Since 1.0. */
#define TREADLE_TYPED_ITEM(kind)                                                                                         \
    TREADLE_TYPED_REFERENCES(kind)                                                                                       \
    static inline treadle_status treadle_##kind##_invalidate(treadle_##kind item) { return treadle_invalidate(item); }   \
    static inline treadle_status treadle_##kind##_close(treadle_##kind item, int64_t timeout_ns) {                       \
        return treadle_close(item, timeout_ns);                                                                          \
    }                                                                                                                    \
    static inline bool treadle_##kind##_is_valid(treadle_##kind item) { return treadle_is_valid(item); }                 \
    static inline treadle_status treadle_##kind##_get_context_info(treadle_##kind item, void **out_info) {               \
        return treadle_get_context_info(item, out_info);                                                                 \
    }                                                                                                                    \
    static inline treadle_status treadle_##kind##_get_order(treadle_##kind item, int64_t *out_order) {                   \
        return treadle_get_order(item, out_order);                                                                       \
    }                                                                                                                    \
    static inline treadle_status treadle_##kind##_describe(treadle_##kind item, char *buffer, size_t capacity,           \
                                                           size_t *out_length) {                                         \
        return treadle_describe(item, buffer, capacity, out_length);                                                     \
    }                                                                                                                    \
    static inline treadle_status treadle_loop_add_##kind(treadle_loop loop, treadle_##kind item, const char *mode) {     \
        return treadle_loop_add(loop, item, mode);                                                                       \
    }                                                                                                                    \
    static inline treadle_status treadle_loop_remove_##kind(treadle_loop loop, treadle_##kind item, const char *mode) {  \
        return treadle_loop_remove(loop, item, mode);                                                                    \
    }                                                                                                                    \
    static inline bool treadle_loop_contains_##kind(treadle_loop loop, treadle_##kind item, const char *mode) {          \
        return treadle_loop_contains(loop, item, mode);                                                                  \
    }

TREADLE_END_DECLS
#endif
