/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * source.h: custom input sources (version 0): signalled by anybody, performed by a loop. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_SOURCE_H
#define TREADLE_SOURCE_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** Called when a loop runs the source after it was signalled. Returns nothing that matters.
 *  [callback] on the loop's thread (SRC0-7, SRC0-8). Since 1.0. */
typedef void (*treadle_perform_fn)(treadle_source source, void *info);
/** Called after the source was added to a mode, and after it left one: once for each (loop, mode),
 *  always the concrete mode (SRC0-3). mode lives until the callback returns.
 *  [callback] on the thread that adds, removes or invalidates, or on the exiting thread (OBJ-8).
 *  Since 1.0. */
typedef void (*treadle_schedule_fn)(treadle_source source, treadle_loop loop, const char *mode, void *info);

/** What a source is made of. Every member but struct_size may be zero (SRC0-1). Since 1.0. */
typedef struct treadle_source_context {
    size_t struct_size; /* sizeof(treadle_source_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_equal_fn equal; /* identity by value, if both sources have the same one (SRC0-5) */
    treadle_hash_fn hash;
    treadle_schedule_fn schedule;
    treadle_schedule_fn cancel;
    treadle_perform_fn perform;
    /* A routine in place of the plain callback of the same name (routine.h); not both. */
    treadle_routine schedule_routine;
    treadle_routine cancel_routine;
    treadle_routine perform_routine;
    int64_t order;       /* smaller is performed first; equal: by the time of the signal (SRC0-7) */
    const char *label;   /* NULL, or what reports call it: UTF-8 of at most 255 bytes, copied */
    treadle_host host;   /* its events take the place of the callbacks, which are NULL then (host.h); NULL: none */
    uint64_t token;      /* what the host's events carry; 0 without a host */
    uint32_t host_wants; /* TREADLE_HOST_WANTS_...; 0 without a host */
    uint32_t reserved;   /* 0 */
    treadle_scope scope; /* what is made belongs to it; NULL: to the one that the thread has entered (scope.h) */
} treadle_source_context;

/** Makes a source. The context is copied; retain(info) is called once (SRC0-2).
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, both a callback and its routine, either or info besides a
 *  host, a token or host_wants without one; TREADLE_E_CLOSED if the host is quiet; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source);

/** Makes a source of a perform and its info alone, and adds it to the default mode of the calling thread's loop, in one call
 *  that costs less than both. The loop holds it; out_source may be NULL, for a source that only keeps the mode from being
 *  empty, else release the handle (OBJ-3, MODE-7). TREADLE_IGNORED, with a source in no mode, at the end of the thread.
 *  [any] Errors: TREADLE_E_ARG for a NULL perform; TREADLE_E_NOMEM; TREADLE_E_SYSTEM; TREADLE_E_STATE where the thread gets no
 *  loop any more. Since 1.0. */
TREADLE_API treadle_status treadle_source_start(treadle_perform_fn perform, void *info, treadle_source *out_source);

/** Marks the source as signalled: each loop that it is scheduled in performs it in its next pass of a
 *  mode that has it, whichever comes first. Signals before that coalesce, keeping the first one's
 *  place. Does not wake any loop. Remembered while the source is in no mode; TREADLE_IGNORED if it is
 *  invalid. Constant time, no system call; no allocation once the mode's queue has grown (SRC0-6, SRC0-11,
 *  SRC0-14).
 *  [any] Errors: TREADLE_E_NOMEM, with the source not signalled. Since 1.0. */
TREADLE_API treadle_status treadle_source_signal(treadle_source source);

/** treadle_source_signal and treadle_loop_wake of every loop that has the source, in one: what most
 *  callers from other threads want. No system call unless a loop sleeps.
 *  [any] Errors: as treadle_source_signal. Since 1.0. */
TREADLE_API treadle_status treadle_source_signal_and_wake(treadle_source source);

/** True between a signal and the perform that it leads to; false when invalid (SRC0-14).
 *  [any] Since 1.0. */
TREADLE_API bool treadle_source_is_signalled(treadle_source source);

/* treadle_source_retain and the other verbs of object.h, for a source alone. */
TREADLE_TYPED_ITEM(source)

TREADLE_END_DECLS
#endif
