/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * error.h: what went wrong in the calling thread's last failed call. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_ERROR_H
#define TREADLE_ERROR_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** The last failure of one thread. Since 1.0. */
typedef struct treadle_error_info {
    size_t struct_size;  /* set by the caller: sizeof(treadle_error_info) */
    treadle_status code; /* what the call returned, or would have */
    int32_t os_errno;    /* errno of the system call that failed, else 0 */
    uint64_t sequence;   /* counts this thread's failures from 1 */
    char function[64];   /* the function that failed */
    char message[184];   /* one sentence that names the argument or the cause */
} treadle_error_info;

/** Copies out the calling thread's last failure. A success never changes it; a thread without a
 *  failure yet gets code 0 and empty text.
 *  [any] Errors: TREADLE_E_ARG for NULL or a struct_size below the struct's, TREADLE_E_TOO_NEW;
 *  these two are not recorded themselves. Since 1.0. */
TREADLE_API treadle_status treadle_last_error(treadle_error_info *info);

/** A status's name, such as "TREADLE_E_STALE"; "unknown" for no status. Static: never freed.
 *  [any] Errors: none. Since 1.0. */
TREADLE_API const char *treadle_status_name(treadle_status status);

/** What a status means, in a few words. Static: never freed.
 *  [any] Errors: none. Since 1.0. */
TREADLE_API const char *treadle_status_message(treadle_status status);

/** Makes Treadle usable in the child of a fork, from nothing: every loop and every object of the
 *  parent is gone here (its handles are stale, its info is not released), no descriptor of the
 *  parent's loops is touched, and the calling thread gets a new loop when it asks. Until this
 *  call everything in the child returns TREADLE_E_FORKED. The runs that a callback has forked in are
 *  the parent's, also after this call: they end with TREADLE_E_FORKED when it returns in the child. In
 *  a process that is not such a child it does nothing and returns TREADLE_IGNORED. (RL-11)
 *  [any] Errors: none. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_after_fork_child(void);

TREADLE_END_DECLS
#endif
