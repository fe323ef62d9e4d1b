/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor.h: descriptor sources (port-based, version 1): performed while a descriptor is ready. */
#ifndef TREADLE_DESCRIPTOR_H
#define TREADLE_DESCRIPTOR_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** What to watch for, and what was seen. Since 1.0. */
enum {
    TREADLE_READABLE = 1,
    TREADLE_WRITABLE = 2,
    TREADLE_HANGUP = 4, /* reported only: the other end closed */
    TREADLE_FAILED = 8  /* reported only: an error is pending. Of a descriptor that was closed the kernel says
                         * nothing: see treadle_descriptor_create */
};

/** Flags of a descriptor source. Since 1.0. */
enum {
    /* For eventfd and timerfd: Treadle reads the 8-byte counter before it calls, so that posts
     * coalesce. Without it Treadle never reads a client's data (SRC1-2). */
    TREADLE_DESCRIPTOR_ACKNOWLEDGED = 1
};

/** Called while the descriptor is ready: level-triggered, so the client drains it, or is called again
 *  in the next pass. events: what was seen, TREADLE_READABLE and its like; one call a pass (SRC1-5).
 *  Events are taken from the kernel in batches: a descriptor that another callback of the same batch
 *  has drained may be reported once more, so use non-blocking descriptors.
 *  [callback] on the loop's thread. Since 1.0. */
typedef void (*treadle_ready_fn)(treadle_descriptor descriptor, uint32_t events, void *info);
/** The descriptor to watch; -1 for none. Asked once for each time that the source is added (SRC1-3).
 *  [callback] on the adding thread. Since 1.0. */
typedef int32_t (*treadle_get_fd_fn)(void *info);

/** What a descriptor source is made of. Since 1.0. */
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
    int32_t fd;                    /* stays the client's: Treadle neither closes nor copies it */
    uint32_t events;               /* TREADLE_READABLE, TREADLE_WRITABLE or both */
    uint32_t flags;                /* TREADLE_DESCRIPTOR_... */
    uint32_t reserved;             /* 0 */
} treadle_descriptor_context;

/** Makes a descriptor source. Hang-up and error are reported as ready. A regular file is always ready.
 *  End, remove or pause a source before its descriptor is closed. The kernel says nothing of one that is closed while
 *  it is watched: its source stays scheduled and goes silent, and a run that waits for nothing else sleeps. While a copy
 *  of the descriptor keeps the file open, readiness of that may be reported for some time, then TREADLE_FAILED once. A
 *  number that was closed and used again is not served under the old source, until that is added again, or enabled after
 *  a pause (SRC1-8, SRC1-11).
 *  To find such descriptors, set TREADLE_DEBUG=1 in the environment before a mode gets its first descriptor source: before
 *  each sleep the loop looks at every one that is watched, and reports TREADLE_FAILED, alone and once, to the source of one
 *  that was closed.
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, no or unknown events or flags, neither or both of ready
 *  and its routine, a descriptor that is negative or not open (without get_fd); TREADLE_E_TOO_NEW;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_create(const treadle_descriptor_context *context,
                                                     treadle_descriptor *out_descriptor);

/** Makes a descriptor source and adds it to the default mode of the calling thread's loop, in one call that costs less
 *  than both: ready is called with info while fd is ready for events (TREADLE_READABLE, TREADLE_WRITABLE or both), as with
 *  a context. release (may be NULL) gets info back when the source is freed. fd stays the client's, as in the context. The loop
 *  holds the source; out_descriptor may be NULL, else discard or release the handle (OBJ-3).
 *  [any] Errors, with release called: TREADLE_E_ARG for a NULL ready, no or unknown events, a descriptor that is negative or
 *  not open; TREADLE_E_EXISTS if another source watches the same descriptor in that mode (SRC1-7); TREADLE_E_NOMEM;
 *  TREADLE_E_SYSTEM, with os_errno, if the kernel refuses. Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_watch(int32_t fd, uint32_t events, treadle_ready_fn ready, void *info,
                                                    treadle_release_fn release, treadle_descriptor *out_descriptor);

/** Changes what is watched for, at once also in a sleeping loop. 0 pauses the source: it stays in its
 *  modes and keeps them from being empty.
 *  [any] Errors: TREADLE_E_ARG for unknown events; TREADLE_E_STATE if invalid; TREADLE_E_SYSTEM.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_set_events(treadle_descriptor descriptor, uint32_t events);

/** What is watched for.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_get_events(treadle_descriptor descriptor, uint32_t *out_events);

/** The descriptor that is watched: the one given, or the last that get_fd answered; -1 for none.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_get_fd(treadle_descriptor descriptor, int32_t *out_fd);

/** Adds a reference. Every handle that one was given with create or retain is released once.
 *  [any] (OBJ-2) Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_retain(treadle_descriptor descriptor);

/** Returns a reference that the caller owns; the modes that hold the descriptor source keep theirs (OBJ-3). With
 *  the last reference the descriptor source is invalidated, then freed (OBJ-4).
 *  [any] Errors: TREADLE_E_STALE also when the caller owns none. Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_release(treadle_descriptor descriptor);

/** Ends the source: it becomes invalid and leaves every mode of every loop. The descriptor stays open.
 *  Idempotent: TREADLE_OK also if it was invalid already. On the loop's own thread no callback starts any more once this returned; from another
 *  thread one may be running still, or about to start (OBJ-5, OBJ-9).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_invalidate(treadle_descriptor descriptor);

/** Invalidates the descriptor source, then returns a reference that the caller owns, as treadle_descriptor_invalidate and
 *  treadle_descriptor_release do, in one call that costs less than both: for what the client is done with (OBJ-4, OBJ-5).
 *  The descriptor stays open. Others' references stay good, for an invalid descriptor source.
 *  [any] Errors: as treadle_descriptor_release; a descriptor source of which the caller owns no reference is invalid all the
 *  same. Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_discard(treadle_descriptor descriptor);

/** Invalidates, then waits until no callback of the descriptor source runs on another thread.
 *  timeout_ns: 0 or less only looks; TREADLE_FOREVER.
 *  [any] Errors: TREADLE_E_DEADLOCK from inside a callback of this descriptor source (it is invalid then, but
 *  nothing is waited for); TREADLE_E_TIMEOUT. Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_close(treadle_descriptor descriptor, int64_t timeout_ns);

/** True until the descriptor source is invalidated; never true again (OBJ-5). False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_descriptor_is_valid(treadle_descriptor descriptor);

/** The info that the callbacks receive, also after invalidation.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_get_info(treadle_descriptor descriptor, void **out_info);

/** Writes a line of text about the descriptor source, with what the context's describe adds, for debugging only:
 *  at most capacity bytes, NUL included; stores the full length, without NUL (RL-12).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_descriptor_describe(treadle_descriptor descriptor, char *buffer, size_t capacity, size_t *out_length);

/** Adds the descriptor source to a mode of a loop, or to all common modes (MODE-8). Takes effect in a sleeping loop
 *  at once (MODE-10).
 *  TREADLE_IGNORED, with no effect: it is there already, it is invalid, the loop's thread is gone
 *  (MODE-5, MODE-6, RL-9). The mode keeps a reference.
 *  [any] Errors: TREADLE_E_ARG for a NULL mode (MODE-3); TREADLE_E_EXISTS if another source watches the
 *  same descriptor in that mode (SRC1-7); TREADLE_E_ARG if get_fd answers -1; TREADLE_E_SYSTEM, with os_errno,
 *  if the kernel refuses (a closed descriptor: EBADF; none left: EMFILE); TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_add_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode);

/** Removes the descriptor source from a mode, or from the common set and all its modes (MODE-8). TREADLE_IGNORED if
 *  it is not there; the mode is not created (MODE-6). Its callback does not start any more in the
 *  current pass either (OBJ-9).
 *  [any] Errors: TREADLE_E_ARG for a NULL mode. Since 1.0. */
TREADLE_API treadle_status treadle_loop_remove_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode);

/** True if the descriptor source is in the mode; for the common modes, if it is recorded there (MODE-8).
 *  False for a bad handle or a NULL mode (MODE-3).
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_contains_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode);

TREADLE_END_DECLS
#endif
