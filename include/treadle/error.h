/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * error.h: the calling thread's last error. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_ERROR_H
#define TREADLE_ERROR_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** The last failure of one thread. Since 1.0. */
typedef struct treadle_error_info {
    size_t struct_size;  /* set by the caller: sizeof(treadle_error_info) */
    treadle_status code; /* the status that the call returned, or would have returned */
    int32_t os_errno;    /* errno of the system call that failed, else 0 */
    uint64_t sequence;   /* the number of this thread's failures, from 1 */
    char function[64];   /* the function that failed */
    char message[184];   /* one sentence that names the argument or the cause */
} treadle_error_info;

/** Copies out the calling thread's last failure. A successful call never changes it; on a thread
 *  without a failure the code is 0 and the texts are empty.
 *  [any, quick] Errors: TREADLE_E_ARG for NULL or a struct_size below the struct's, TREADLE_E_TOO_NEW;
 *  these two are not recorded themselves. Since 1.0. */
TREADLE_API treadle_status treadle_last_error(treadle_error_info *info);

/** A status's name, such as "TREADLE_E_STALE"; "unknown" for any other value. Static: never freed.
 *  [any, quick] Errors: none. Since 1.0. */
TREADLE_API const char *treadle_status_name(treadle_status status);

/** A status's meaning, in a few words. Static: never freed.
 *  [any, quick] Errors: none. Since 1.0. */
TREADLE_API const char *treadle_status_message(treadle_status status);

/** Makes Treadle usable in the child of a fork. The parent's loops and objects do not exist in the
 *  child: their handles are stale, and their info is not released. The descriptors of the parent's
 *  loops are not touched, and the calling thread gets a new loop on first use. Before this call every
 *  function in the child returns TREADLE_E_FORKED. If the fork was made inside of a callback, the runs
 *  in progress belong to the parent, also after this call: they end with TREADLE_E_FORKED when the
 *  callback returns in the child. In any other process this does nothing and returns TREADLE_IGNORED
 *  (RL-11).
 *  [any, quick] Errors: none. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_after_fork_child(void);

TREADLE_END_DECLS
#endif
