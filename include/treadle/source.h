/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * source.h: custom input sources (version 0): signalled by anybody, performed by a loop. */
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
    int64_t order; /* smaller is performed first; equal: by the time of the signal (SRC0-7) */
} treadle_source_context;

/** Makes a source. The context is copied; retain(info) is called once (SRC0-2).
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, or both a callback and its routine;
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source);

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

/** The order that the source was made with (SRC0-14).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_source_get_order(treadle_source source, int64_t *out_order);

/** Adds a reference. Every handle that one was given with create or retain is released once.
 *  [any] (OBJ-2) Since 1.0. */
TREADLE_API treadle_status treadle_source_retain(treadle_source source);

/** Returns a reference that the caller owns; the modes that hold the source keep theirs (OBJ-3). With
 *  the last reference the source is invalidated, then freed (OBJ-4).
 *  [any] Errors: TREADLE_E_STALE also when the caller owns none. Since 1.0. */
TREADLE_API treadle_status treadle_source_release(treadle_source source);

/** Ends the source: it becomes invalid, its signal is cleared, and it leaves every mode of every loop,
 *  with a cancel for each (SRC0-4). The info is released when the source is freed (SRC0-2).
 *  Idempotent: TREADLE_OK also if it was invalid already. On the loop's own thread no callback starts any more once this returned; from another
 *  thread one may be running still, or about to start (OBJ-5, OBJ-9).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_source_invalidate(treadle_source source);

/** Invalidates, then waits until no callback of the source runs on another thread.
 *  timeout_ns: 0 or less only looks; TREADLE_FOREVER.
 *  [any] Errors: TREADLE_E_DEADLOCK from inside a callback of this source (it is invalid then, but
 *  nothing is waited for); TREADLE_E_TIMEOUT. Since 1.0. */
TREADLE_API treadle_status treadle_source_close(treadle_source source, int64_t timeout_ns);

/** True until the source is invalidated; never true again (OBJ-5). False for a bad handle.
 *  [any] Since 1.0. */
TREADLE_API bool treadle_source_is_valid(treadle_source source);

/** The info that the callbacks receive, also after invalidation (SRC0-4).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_source_get_info(treadle_source source, void **out_info);

/** Writes a line of text about the source, with what the context's describe adds, for debugging only:
 *  at most capacity bytes, NUL included; stores the full length, without NUL (RL-12).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_source_describe(treadle_source source, char *buffer, size_t capacity, size_t *out_length);

/** Adds the source to a mode of a loop, or to all common modes (MODE-8). schedule is called for each mode that it
 *  joins (SRC0-3). From another thread this wakes a loop that waits in such a mode (MODE-10).
 *  TREADLE_IGNORED, with no effect: it is there already, it is invalid, the loop's thread is gone
 *  (MODE-5, MODE-6, RL-9). The mode keeps a reference.
 *  [any] Errors: TREADLE_E_ARG for a NULL mode (MODE-3); TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_add_source(treadle_loop loop, treadle_source source, const char *mode);

/** Removes the source from a mode, or from the common set and all its modes (MODE-8). TREADLE_IGNORED if
 *  it is not there; the mode is not created (MODE-6). Its callback does not start any more in the
 *  current pass either (OBJ-9).
 *  [any] Errors: TREADLE_E_ARG for a NULL mode. Since 1.0. */
TREADLE_API treadle_status treadle_loop_remove_source(treadle_loop loop, treadle_source source, const char *mode);

/** True if the source is in the mode; for the common modes, if it is recorded there (MODE-8).
 *  False for a bad handle or a NULL mode (MODE-3).
 *  [any] Since 1.0. */
TREADLE_API bool treadle_loop_contains_source(treadle_loop loop, treadle_source source, const char *mode);

TREADLE_END_DECLS
#endif
