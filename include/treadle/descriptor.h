/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor.h: descriptor sources (port-based, version 1): performed while a descriptor is ready. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_DESCRIPTOR_H
#define TREADLE_DESCRIPTOR_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** The events to watch for, and those that occurred. Since 1.0. */
enum {
    TREADLE_READABLE = 1,
    TREADLE_WRITABLE = 2,
    TREADLE_HANGUP = 4, /* reported only: the other end closed */
    TREADLE_FAILED = 8  /* reported only: an error is pending. The kernel reports nothing for a closed
                         * descriptor: see treadle_descriptor_create */
};

/** Flags of a descriptor source. Since 1.0. */
enum {
    /* For eventfd and timerfd: Treadle reads the 8-byte counter before the callback, so that several
     * notifications coalesce. Without this flag Treadle never reads from the descriptor (SRC1-2). */
    TREADLE_DESCRIPTOR_ACKNOWLEDGED = 1
};

/** Called while the descriptor is ready. It is level-triggered: until the client has drained the
 *  descriptor, it is called in every pass. events: TREADLE_READABLE, _WRITABLE, _HANGUP and _FAILED,
 *  in one call a pass (SRC1-5). Events are read from the kernel in batches: if another callback of
 *  the same batch drains the descriptor, it may be reported once more, so use non-blocking
 *  descriptors.
 *  [callback] on the loop's thread. Since 1.0. */
typedef void (*treadle_ready_fn)(treadle_descriptor descriptor, uint32_t events, void *info);
/** Returns the descriptor to watch; -1 for none. Called once each time that the source is added
 *  (SRC1-3).
 *  [callback] on the adding thread. Since 1.0. */
typedef int32_t (*treadle_get_fd_fn)(void *info);

/** The configuration of a descriptor source. Since 1.0. */
typedef struct treadle_descriptor_context {
    size_t struct_size; /* sizeof(treadle_descriptor_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_equal_fn equal; /* as for sources (SRC0-5, SRC1-10) */
    treadle_hash_fn hash;
    treadle_get_fd_fn get_fd; /* used in place of fd if not NULL */
    treadle_ready_fn ready;
    treadle_routine ready_routine; /* in place of ready (routine.h); not both */
    int32_t fd;                    /* owned by the client: Treadle neither closes nor copies it */
    uint32_t events;               /* TREADLE_READABLE, TREADLE_WRITABLE or both */
    uint32_t flags;                /* TREADLE_DESCRIPTOR_... */
    uint32_t reserved;             /* 0 */
    const char *label;             /* NULL, or its name in reports: UTF-8 of at most 255 bytes, copied */
    treadle_host host;             /* its events replace the callbacks, as in a source's context */
    uint64_t token;                /* carried by the host's events; 0 without a host */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_descriptor_context;

/** Creates a descriptor source. Hang-up and error are reported as ready. A regular file is always ready.
 *  Invalidate, remove or pause a source before you close its descriptor. The kernel reports nothing if a descriptor is closed
 *  while it is watched: the source stays scheduled but is not called any more, and a run that waits for nothing else sleeps.
 *  While a duplicate of the descriptor keeps the file open, its readiness may be reported for some time, then TREADLE_FAILED
 *  once. If the number is reused for another file, the old source is not called for that file until it is added again, or
 *  enabled after a pause (SRC1-8, SRC1-11). To find closed descriptors, set TREADLE_DEBUG=1 in the environment, or a log
 *  function (treadle_set_log): before each sleep the loop then checks every watched descriptor, and reports TREADLE_FAILED,
 *  alone and once, to the source of a closed one.
 *  [any, quick] Errors: TREADLE_E_ARG for NULL, a bad struct_size, no or unknown events or flags, none or several of ready,
 *  ready_routine and host, another callback or info together with a host, a token without one, a descriptor that is
 *  negative or not open (without get_fd); TREADLE_E_CLOSED if the host is quiet or the scope is closed;
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_create(const treadle_descriptor_context *context,
                                                     treadle_descriptor *out_descriptor);

/** Creates a descriptor source and adds it to the default mode of the calling thread's loop, in one call that costs less than
 *  two: ready is called with info while fd is ready for events (TREADLE_READABLE, TREADLE_WRITABLE or both), as with a context.
 *  The client owns fd, as in the context. The loop holds the source. out_descriptor may be NULL; otherwise it receives one
 *  reference, which the caller releases (OBJ-3). While the thread's loop is being torn down, returns TREADLE_IGNORED, with a
 *  source in no mode.
 *  [any] Errors: TREADLE_E_ARG for a NULL ready, no or unknown events, a descriptor that is negative or not open;
 *  TREADLE_E_EXISTS if another source watches the same descriptor in that mode (SRC1-7); TREADLE_E_NOMEM;
 *  TREADLE_E_SYSTEM, with os_errno, if the kernel refuses; TREADLE_E_CLOSED if the scope is closed; TREADLE_E_STATE if
 *  the thread can get no loop any more. Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_start(int32_t fd, uint32_t events, treadle_ready_fn ready, void *info,
                                                    treadle_descriptor *out_descriptor);

/** Changes the events that are watched for; takes effect at once, also in a sleeping loop. 0 pauses the source: it stays in
 *  its modes, which therefore do not count as empty.
 *  [any, quick] Errors: nothing changes then. TREADLE_E_ARG for unknown events; TREADLE_E_STATE if invalid; TREADLE_E_EXISTS if
 *  the descriptor was closed, and another source of a mode watches its number now (SRC1-7); TREADLE_E_NOMEM; TREADLE_E_SYSTEM,
 *  with os_errno, if the kernel refuses. Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_set_events(treadle_descriptor descriptor, uint32_t events);

/** The events that are watched for.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_get_events(treadle_descriptor descriptor, uint32_t *out_events);

/** The watched descriptor: the fd of the context, or the last value that get_fd returned; -1 for
 *  none.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_get_fd(treadle_descriptor descriptor, int32_t *out_fd);

/* treadle_descriptor_retain and the other functions of object.h, typed for descriptor sources. */
TREADLE_TYPED_ITEM(descriptor)

TREADLE_END_DECLS
#endif
