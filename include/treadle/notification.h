/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * notification.h: notifications of process-wide events. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_NOTIFICATION_H
#define TREADLE_NOTIFICATION_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** Names of notifications (NOTE-1). Since 1.0. */
enum {
    /* The first thread is about to be started through Treadle; object: NULL. Once in a process, on the thread
     * that starts it, before it runs (THR-11). */
    TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED = 1,
    /* A thread with an object ends; object: that thread. On the thread itself (THR-14). */
    TREADLE_NOTIFY_THREAD_WILL_EXIT = 2,
    /* A port has become invalid, and has left all loops; object: that port, stale if its last
     * reference was released. On the thread that invalidated it (PORT-2). */
    TREADLE_NOTIFY_PORT_INVALID = 3
};

/** Called for each matching notification (NOTE-1).
 *  [callback] on the thread that posts it. Since 1.0. */
typedef void (*treadle_notification_fn)(uint32_t name, void *object, void *info);

/** The configuration of a registration. Since 1.0. */
typedef struct treadle_notification_config {
    size_t struct_size; /* sizeof(treadle_notification_config) */
    uint32_t name;      /* TREADLE_NOTIFY_... */
    uint32_t reserved;  /* 0 */
    void *object;       /* a handle; NULL: all objects */
    treadle_notification_fn fn;
    void *info;
    treadle_release_fn destroy; /* called once with info: after the registration was removed and its calls have returned */
    treadle_host host;          /* its events replace fn; info and destroy are then NULL (host.h) */
    uint64_t token;             /* carried by the host's events; 0 without a host */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_notification_config;

/** Registers for a notification (NOTE-1). Registrations are called in the order in which they were added. A registration
 *  that is added during a notification is not called for it.
 *  [any, quick] Errors, with destroy called unless the config cannot be read: TREADLE_E_ARG for NULL or a bad struct_size
 *  (these two, of config), an unknown name, a NULL out_token, none or both of fn and host, info or destroy together
 *  with a host, a token without one; TREADLE_E_CLOSED if the host is quiet or the scope is closed; TREADLE_E_TOO_NEW;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_notification_add(const treadle_notification_config *config, uint64_t *out_token);

/** Removes a registration: it is not called again, not even in a notification that is being delivered (NOTE-1). A call
 *  that runs on another thread continues.
 *  [any] Errors: TREADLE_E_NOT_FOUND for a token that was removed or never returned. Since 1.0. */
TREADLE_API treadle_status treadle_notification_remove(uint64_t token);

TREADLE_END_DECLS
#endif
