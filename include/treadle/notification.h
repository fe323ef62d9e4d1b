/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * notification.h: what Treadle tells the whole process. */
#ifndef TREADLE_NOTIFICATION_H
#define TREADLE_NOTIFICATION_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** What is told (NOTE-1). Since 1.0. */
enum {
    /* The first thread is about to be started through Treadle; object: NULL. Once in a process, on the thread
     * that starts it, before it runs (THR-11). */
    TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED = 1,
    /* A thread with an object ends; object: that thread. On the thread itself (THR-14). */
    TREADLE_NOTIFY_THREAD_WILL_EXIT = 2
};

/** Called for each matching notification (NOTE-1).
 *  [callback] on the thread that posts it. Since 1.0. */
typedef void (*treadle_notification_fn)(uint32_t name, void *object, void *info);

/** Registers for a notification: of one object (a handle), or with NULL of all (NOTE-1). Those who registered
 *  first are called first. One that is added during a notification is not called for it.
 *  destroy (may be NULL) gets info back once: when the registration was removed and no call of it runs.
 *  [any] Errors, with destroy called: TREADLE_E_ARG for an unknown name, a NULL fn or out_token;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_notification_add(uint32_t name, void *object, treadle_notification_fn fn,
                                                    void *info, treadle_release_fn destroy, uint64_t *out_token);

/** Ends a registration: it is not called any more, also not in a notification that is being told (NOTE-1). A
 *  call that runs on another thread goes on.
 *  [any] Errors: TREADLE_E_NOT_FOUND for a token that was removed or never given. Since 1.0. */
TREADLE_API treadle_status treadle_notification_remove(uint64_t token);

TREADLE_END_DECLS
#endif
