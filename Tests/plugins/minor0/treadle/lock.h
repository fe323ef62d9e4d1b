/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * lock.h: locks and conditions over those of POSIX threads. */
#ifndef TREADLE_LOCK_H
#define TREADLE_LOCK_H

#include "object.h"

TREADLE_BEGIN_DECLS

/** Flags of treadle_lock_create. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_LOCK_RECURSIVE = 1 /* its owner may lock it again, and unlocks it as often */
};

/** Makes a lock: a pthread_mutex_t that checks for errors (THR-20). Release it.
 *  [any] Errors: TREADLE_E_ARG for unknown flags; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_lock_create(uint32_t flags, treadle_lock *out_lock);

/** Locks; 0 or less tries without waiting. Deadlines are on the monotonic clock.
 *  [any] Errors: TREADLE_E_TIMEOUT; TREADLE_E_DEADLOCK when the calling thread owns it and it is not
 *  recursive; TREADLE_E_RANGE when a recursive one is locked too often. Since 1.0. */
TREADLE_API treadle_status treadle_lock_lock(treadle_lock lock, int64_t timeout_ns);

/** Unlocks.
 *  [any] Errors: TREADLE_E_WRONG_THREAD when the calling thread does not own it. Since 1.0. */
TREADLE_API treadle_status treadle_lock_unlock(treadle_lock lock);

/** Makes a condition: a pthread_cond_t on the monotonic clock (THR-20). Release it.
 *  [any] Errors: TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_condition_create(treadle_condition *out_condition);

/** Unlocks the lock, waits for a signal, and locks it again. May return for no reason: look at what you wait for
 *  in a loop. All waiters of a condition use one lock; a recursive one must be locked once.
 *  [any] Errors: TREADLE_E_TIMEOUT, with the lock locked again; TREADLE_E_WRONG_THREAD when the calling
 *  thread does not own the lock; TREADLE_E_STATE when it has locked it more than once. Since 1.0. */
TREADLE_API treadle_status treadle_condition_wait(treadle_condition condition, treadle_lock lock, int64_t timeout_ns);

/** Wakes one waiter, if there is one.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_condition_signal(treadle_condition condition);

/** Wakes all waiters.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_condition_broadcast(treadle_condition condition);

/* The verbs of object.h, for a lock and for a condition alone. */
TREADLE_TYPED_REFERENCES(lock)
TREADLE_TYPED_REFERENCES(condition)

TREADLE_END_DECLS
#endif
