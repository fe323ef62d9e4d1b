/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * object.h: the verbs that all handles understand, whatever their kind. */
#ifndef TREADLE_OBJECT_H
#define TREADLE_OBJECT_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** Any handle. An *item* is one that a loop looks after: a source, descriptor source, timer or observer. Since 1.0. */
typedef void *treadle_object;

/** Adds a reference. Every handle that one was given with create, copy or retain is released once. A retained
 *  loop outlives its thread: the handle stays valid, waking, stopping and removing are safe, additions are ignored
 *  (RL-9). So does a retained thread, and one whose last reference goes without a join is detached then.
 *  [any] (OBJ-2) Errors: TREADLE_E_KIND for a signature or a host, which are kept for ever; TREADLE_E_RANGE for more than
 *  32,767 references. Since 1.0. */
TREADLE_API treadle_status treadle_retain(treadle_object object);

/** Returns a reference that the caller owns; the modes that hold an item keep theirs (OBJ-3). With the last reference
 *  an item is invalidated, then freed (OBJ-4); a closure is invalidated; a scope is closed, without a wait; a routine or an invocation lives on as long as something
 *  uses it. The memory of a lock that is locked then stays for ever: unlock it before.
 *  [any] Errors: TREADLE_E_STALE also when the caller owns none; TREADLE_E_KIND as treadle_retain. Since 1.0. */
TREADLE_API treadle_status treadle_release(treadle_object object);

/** Ends an item: it becomes invalid, and leaves every mode of every loop. A source's signal is cleared, and its cancel
 *  called for each mode (SRC0-4). The info of a timer or observer is released, after the callback if that is running
 *  (TMR-7); of a source or descriptor source, when it is freed (SRC0-2).
 *  Or a closure: calls that begin from now on get the default result; they are counted, and the first is reported to the
 *  last-resort handler. Calls that have begun are handled. When none is left, destroy is called, by whoever ends the last one.
 *  Idempotent: TREADLE_OK also if it was invalid already. On the loop's own thread no callback starts any more once this
 *  returned; from another thread one may be running still, or about to start (OBJ-5, OBJ-9).
 *  [any] Errors: TREADLE_E_KIND for what is neither. Since 1.0. */
TREADLE_API treadle_status treadle_invalidate(treadle_object item);

/** Invalidates an item or a closure, then waits until none of its callbacks runs on another thread. Or closes a scope, as
 *  treadle_scope_close says (scope.h).
 *  timeout_ns: 0 or less only looks; TREADLE_FOREVER.
 *  [any] Errors: TREADLE_E_TIMEOUT, with the end begun; TREADLE_E_DEADLOCK from inside one of an item's own callbacks, or
 *  when a waiting call of the closure is for the calling thread's loop (it has ended then, but nothing is waited for; from
 *  one of its own handlers a closure is invalidated only); TREADLE_E_KIND for what is neither. Since 1.0. */
TREADLE_API treadle_status treadle_close(treadle_object object, int64_t timeout_ns);

/** True until the item or closure is invalidated, or the scope's closing begins; never true again (OBJ-5). False for a bad handle, and for what is neither.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_is_valid(treadle_object item);

/** The info that an item's callbacks receive: of a source or descriptor source also after invalidation (SRC0-4), of a
 *  timer or observer NULL then (TMR-7).
 *  [any] Errors: TREADLE_E_KIND for what is no item. Since 1.0. */
TREADLE_API treadle_status treadle_get_context_info(treadle_object item, void **out_info);

/** The order that a source or observer was made with (OBJ-5, SRC0-14); 0 for a descriptor source, and for a timer (TMR-3).
 *  [any] Errors: TREADLE_E_KIND for what is no item. Since 1.0. */
TREADLE_API treadle_status treadle_get_order(treadle_object item, int64_t *out_order);

/** Kinds of handles, as treadle_get_kind answers them. Since 1.0. */
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
    TREADLE_KIND_SCOPE = 15
};

/** Of which kind an object is: for handles that treadle_loop_copy_items gave. New kinds may be added.
 *  [any] Errors: TREADLE_E_STALE for what is gone (OBJ-1). Since 1.0. */
TREADLE_API treadle_status treadle_get_kind(treadle_object object, uint32_t *out_kind);

/** Writes text about an item or a loop, for people who debug: at most capacity bytes, NUL included, into buffer (NULL
 *  with capacity 0 asks for the length); stores the full length, without NUL (RL-12). Its form may change.
 *  An item: a line with its kind, label, handle, order and what its kind has besides (whether a source is signalled; a
 *  descriptor's number and events; in how many seconds a timer is due, its interval and tolerance; an observer's
 *  activities) and with what its context's describe adds; then a line for each mode that has it. A loop: a line with its
 *  thread and what that does; then each mode, in the order in which they were made, with a line for each of its items, in
 *  the order of treadle_loop_copy_items. The parts may be of different moments where other threads change them. For a loop
 *  it looks at all items of the process, and calls no describe.
 *  [any] Errors: TREADLE_E_KIND for others; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_describe(treadle_object object, char *buffer, size_t capacity, size_t *out_length);

/** Adds an item to a mode of a loop, or to all common modes (MODE-8). A source's schedule is called for each mode that it
 *  joins (SRC0-3). From another thread this wakes a loop that waits in such a mode for a source (MODE-10), and has it look
 *  at a timer or descriptor.
 *  TREADLE_IGNORED, with no effect: it is there already, it is invalid, the loop's thread is gone; a timer or observer is in
 *  another loop (MODE-5, MODE-6, RL-9). The mode keeps a reference.
 *  [any] Errors: TREADLE_E_ARG for a NULL mode (MODE-3); TREADLE_E_KIND for what is no item; TREADLE_E_NOMEM; for a
 *  descriptor source also TREADLE_E_EXISTS if another one watches the same descriptor in that mode (SRC1-7), TREADLE_E_ARG
 *  if get_fd answers -1, and TREADLE_E_SYSTEM, with os_errno, if the kernel refuses (a closed descriptor, or one opened with
 *  O_PATH: EBADF; none left: EMFILE); the last error says why. Since 1.0. */
TREADLE_API treadle_status treadle_loop_add(treadle_loop loop, treadle_object item, const char *mode);

/** Removes an item from a mode, or from the common set and all its modes (MODE-8). TREADLE_IGNORED if it is not there; the
 *  mode is not created (MODE-6). Its callback does not start any more in the current pass either (OBJ-9).
 *  [any] Errors: TREADLE_E_ARG for a NULL mode; TREADLE_E_KIND for what is no item. Since 1.0. */
TREADLE_API treadle_status treadle_loop_remove(treadle_loop loop, treadle_object item, const char *mode);

/** True if the item is in the mode; for the common modes, if it is recorded there (MODE-8). A source that equals
 *  one there counts (SRC0-5).
 *  False for a bad handle or a NULL mode (MODE-3), and for what is no item.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_contains(treadle_loop loop, treadle_object item, const char *mode);

/** Defines treadle_KIND_retain and treadle_KIND_release: the verbs above for one kind, so that a compiler refuses a
 *  handle of another. Inline functions, of which the library knows nothing. Since 1.0. */
#define TREADLE_TYPED_REFERENCES(kind)                                                                                   \
    static inline treadle_status treadle_##kind##_retain(treadle_##kind object) { return treadle_retain(object); }      \
    static inline treadle_status treadle_##kind##_release(treadle_##kind object) { return treadle_release(object); }

/** Defines all verbs above for one kind of items: treadle_KIND_retain, _release, _invalidate, _close, _is_valid, _get_info,
 *  _get_order and _describe, and treadle_loop_add_KIND, _remove_KIND and _contains_KIND. Since 1.0. */
#define TREADLE_TYPED_ITEM(kind)                                                                                         \
    TREADLE_TYPED_REFERENCES(kind)                                                                                       \
    static inline treadle_status treadle_##kind##_invalidate(treadle_##kind item) { return treadle_invalidate(item); }   \
    static inline treadle_status treadle_##kind##_close(treadle_##kind item, int64_t timeout_ns) {                       \
        return treadle_close(item, timeout_ns);                                                                          \
    }                                                                                                                    \
    static inline bool treadle_##kind##_is_valid(treadle_##kind item) { return treadle_is_valid(item); }                 \
    static inline treadle_status treadle_##kind##_get_context_info(treadle_##kind item, void **out_info) {                       \
        return treadle_get_context_info(item, out_info);                                                                         \
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
