/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pool.h: pools: releases that are put off until the pass, the thread or the caller ends. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_POOL_H
#define TREADLE_POOL_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** Opens a pool on the calling thread (POOL-2). A run loop opens one around every pass, and one each around its
 *  Entry and Exit observers (POOL-3); a thread of Treadle's has one around its function (POOL-4).
 *  [any] Errors: TREADLE_E_ARG for NULL; TREADLE_E_NOMEM; TREADLE_E_STATE behind the thread's teardown: in a
 *  thread-specific destructor that comes after it, or a host's thread_exit. Since 1.0. */
TREADLE_API treadle_status treadle_pool_push(uint64_t *out_token);

/** Closes a pool of the calling thread: everything that was added since is released, the latest first, and pools
 *  that were opened since and left open are closed with it (POOL-2). Releases may add more, which is released
 *  too, and may call everything (POOL-5).
 *  [any] Errors: TREADLE_E_ARG when the token is not that of an open pool of this thread. Since 1.0. */
TREADLE_API treadle_status treadle_pool_pop(uint64_t token);

/** Has release(object) called when the calling thread's innermost pool is closed. Without an open pool, that is
 *  when the thread ends, after its will-exit notification (POOL-2).
 *  [any] Errors: TREADLE_E_ARG for a NULL release; TREADLE_E_NOMEM, TREADLE_E_STATE in a thread-specific destructor that
 *  comes after the thread's teardown: release is not called. Since 1.0. */
TREADLE_API treadle_status treadle_pool_add(void *object, treadle_release_fn release);

TREADLE_END_DECLS
#endif
