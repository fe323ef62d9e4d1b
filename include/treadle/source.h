/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * source.h: custom input sources (version 0): signalled by any thread, performed by a loop. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_SOURCE_H
#define TREADLE_SOURCE_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** Called when a loop performs the source after it was signalled.
 *  [callback] on the loop's thread (SRC0-7, SRC0-8). Since 1.0. */
typedef void (*treadle_perform_fn)(treadle_source source, void *info);
/** Called after the source was added to a mode, and after it left one: once for each (loop, mode),
 *  always the concrete mode (SRC0-3). mode lives until the callback returns.
 *  [callback] on the thread that adds, removes or invalidates, or on the exiting thread (OBJ-8).
 *  Since 1.0. */
typedef void (*treadle_schedule_fn)(treadle_source source, treadle_loop loop, const char *mode, void *info);

/** The configuration of a source. Every member but struct_size may be zero (SRC0-1). Since 1.0. */
typedef struct treadle_source_context {
    size_t struct_size; /* sizeof(treadle_source_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_equal_fn equal; /* compares by value, if both sources have the same function (SRC0-5) */
    treadle_hash_fn hash;
    treadle_schedule_fn schedule;
    treadle_schedule_fn cancel;
    treadle_perform_fn perform;
    /* A routine in place of the plain callback of the same name (routine.h); not both. */
    treadle_routine schedule_routine;
    treadle_routine cancel_routine;
    treadle_routine perform_routine;
    int64_t order;       /* the smaller is performed first; equal: in the order of their signals (SRC0-7) */
    const char *label;   /* NULL, or its name in reports: UTF-8 of at most 255 bytes, copied */
    treadle_host host;   /* its events replace the callbacks, which are then NULL (host.h); NULL: none */
    uint64_t token;      /* carried by the host's events; 0 without a host */
    uint32_t host_wants; /* TREADLE_HOST_WANTS_...; 0 without a host */
    uint32_t reserved;   /* 0 */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_source_context;

/** Creates a source. The context is copied; retain(info) is called once (SRC0-2).
 *  [any, quick] Errors: TREADLE_E_ARG for NULL, a bad struct_size, a callback together with its routine, a callback, routine
 *  or info together with a host, a token or host_wants without a host; TREADLE_E_CLOSED if the host is quiet or the
 *  scope is closed; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source);

/** Creates a source with a perform and its info alone, and adds it to the default mode of the calling thread's loop, in one
 *  call that costs less than two. The loop holds the source. out_source may be NULL, for a source that only keeps the mode from
 *  being empty (MODE-7); otherwise it receives one reference, which the caller releases (OBJ-3). While the thread's loop is
 *  being torn down, returns TREADLE_IGNORED, with a source in no mode.
 *  [any] Errors: TREADLE_E_ARG for a NULL perform; TREADLE_E_NOMEM; TREADLE_E_SYSTEM; TREADLE_E_CLOSED if the scope is
 *  closed; TREADLE_E_STATE if the thread can get no loop any more. Since 1.0. */
TREADLE_API treadle_status treadle_source_start(treadle_perform_fn perform, void *info, treadle_source *out_source);

/** Marks the source as signalled: the first loop that makes a pass in a mode with the source performs it. Signals before that
 *  coalesce and keep the place of the first. Wakes no loop. The signal is kept while the source is in no mode; TREADLE_IGNORED
 *  if the source is invalid. Constant time, no system call; no allocation once the mode's queue has grown (SRC0-6, SRC0-11,
 *  SRC0-14).
 *  [any, quick] Errors: TREADLE_E_NOMEM, with the source not signalled. Since 1.0. */
TREADLE_API treadle_status treadle_source_signal(treadle_source source);

/** treadle_source_signal, then treadle_loop_wake for every loop that has the source, in one call: the usual way to signal from
 *  another thread. No system call unless a loop sleeps.
 *  [any, quick] Errors: as treadle_source_signal. Since 1.0. */
TREADLE_API treadle_status treadle_source_signal_and_wake(treadle_source source);

/** True between a signal and the perform that it leads to; false when invalid (SRC0-14).
 *  [any, quick] Since 1.0. */
TREADLE_API bool treadle_source_is_signalled(treadle_source source);

/* treadle_source_retain and the other functions of object.h, typed for sources. */
TREADLE_TYPED_ITEM(source)

TREADLE_END_DECLS
#endif
