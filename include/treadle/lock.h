/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * lock.h: locks and conditions over those of POSIX threads.
 *
 * A program of C alone can use pthread_mutex_t and pthread_cond_t as well: these are for programs of several languages, which
 * use one lock through one interface (THR-20). A host that calls C without C's headers cannot allocate and initialise a
 * pthread_mutex_t, and a pthread_mutex_t has no reference count. So Treadle exports what such hosts need, one function for each
 * operation of POSIX: create, lock, unlock, wait, signal, broadcast. The native objects of threads, locks and conditions come
 * from treadle_get_pthread; the typed forms are inline. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_LOCK_H
#define TREADLE_LOCK_H

#include "object.h"

TREADLE_BEGIN_DECLS

/** Flags of treadle_lock_create. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_LOCK_RECURSIVE = 1 /* its owner may lock it several times, and unlocks it as many times */
};

/** Creates a lock: a pthread_mutex_t that checks for errors (THR-20). Release it.
 *  [any] Errors: TREADLE_E_ARG for unknown flags; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_lock_create(uint32_t flags, treadle_lock *out_lock);

/** Locks the lock. timeout_ns: 0 or less does not wait. Deadlines are on the monotonic clock.
 *  [any] Errors: TREADLE_E_TIMEOUT; TREADLE_E_DEADLOCK when the calling thread owns it and it is not
 *  recursive; TREADLE_E_RANGE when a recursive lock is locked too many times. Since 1.0. */
TREADLE_API treadle_status treadle_lock_lock(treadle_lock lock, int64_t timeout_ns);

/** Unlocks.
 *  [any, quick] Errors: TREADLE_E_WRONG_THREAD when the calling thread does not own it. Since 1.0. */
TREADLE_API treadle_status treadle_lock_unlock(treadle_lock lock);

/** treadle_get_pthread of a lock: its pthread_mutex_t. Use a lock through one interface only, this one or that of POSIX
 *  (THR-20).
 *  [any] NULL for a bad handle. Since 1.0. */
static inline void *treadle_lock_get_pthread_mutex(treadle_lock lock) {
    uintptr_t mutex = 0;
    return treadle_get_pthread(lock, &mutex) == TREADLE_OK ? (void *)mutex : NULL;
}

/** Creates a condition: a pthread_cond_t on the monotonic clock (THR-20). Release it.
 *  [any] Errors: TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_condition_create(treadle_condition *out_condition);

/** Unlocks the lock, waits for a signal, and locks it again. Spurious returns are possible: test the condition
 *  in a loop. All waiters of a condition use the same lock; a recursive lock must be locked exactly once.
 *  [any] Errors: TREADLE_E_TIMEOUT, with the lock locked again; TREADLE_E_WRONG_THREAD when the calling
 *  thread does not own the lock; TREADLE_E_STATE when it has locked it more than once. Since 1.0. */
TREADLE_API treadle_status treadle_condition_wait(treadle_condition condition, treadle_lock lock, int64_t timeout_ns);

/** Wakes one waiter, if there is one.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_condition_signal(treadle_condition condition);

/** Wakes all waiters.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_condition_broadcast(treadle_condition condition);

/** treadle_get_pthread of a condition: its pthread_cond_t, whose clock is CLOCK_MONOTONIC (THR-20).
 *  [any] NULL for a bad handle. Since 1.0. */
static inline void *treadle_condition_get_pthread_cond(treadle_condition condition) {
    uintptr_t cond = 0;
    return treadle_get_pthread(condition, &cond) == TREADLE_OK ? (void *)cond : NULL;
}

/* The functions of object.h, typed for locks and conditions. */
TREADLE_TYPED_REFERENCES(lock)
TREADLE_TYPED_REFERENCES(condition)

TREADLE_END_DECLS
#endif
