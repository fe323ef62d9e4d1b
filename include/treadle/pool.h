/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pool.h: pools: deferred releases, done at the end of a pass or a thread, or when the client
 * closes the pool. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_POOL_H
#define TREADLE_POOL_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** Opens a pool on the calling thread (POOL-2). A run loop opens one around every pass, one around its Entry
 *  observers and one around its Exit observers (POOL-3); a thread that Treadle started has one around its
 *  function (POOL-4).
 *  [any, quick] Errors: TREADLE_E_ARG for NULL; TREADLE_E_NOMEM; TREADLE_E_STATE after the thread's teardown: in a
 *  thread-specific destructor that runs after it, or in a host's thread_exit. Since 1.0. */
TREADLE_API treadle_status treadle_pool_push(uint64_t *out_token);

/** Closes a pool of the calling thread. Everything that was added since it was opened is released, the latest first, and
 *  pools that were opened since and are still open are closed with it (POOL-2). A release may call every function, and
 *  may add objects, which are released too (POOL-5).
 *  [any] Errors: TREADLE_E_ARG when the token is not that of an open pool of this thread. Since 1.0. */
TREADLE_API treadle_status treadle_pool_pop(uint64_t token);

/** Calls release(object) when the calling thread's innermost pool is closed; without an open pool, when the thread ends,
 *  after its will-exit notification (POOL-2).
 *  [any] Errors: TREADLE_E_ARG for a NULL release; TREADLE_E_CLOSED if the scope that the calling thread has entered is
 *  closed; TREADLE_E_STATE in a thread-specific destructor that runs after the thread's teardown; TREADLE_E_NOMEM.
 *  After an error release is not called. Since 1.0. */
TREADLE_API treadle_status treadle_pool_add(void *object, treadle_release_fn release);

TREADLE_END_DECLS
#endif
