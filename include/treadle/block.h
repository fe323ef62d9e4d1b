/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * block.h: blocks: functions queued for a loop, each run once. */
#ifndef TREADLE_BLOCK_H
#define TREADLE_BLOCK_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** A block's function, and the one that gives its info back.
 *  [callback] fn on the loop's thread; destroy there too, or on the thread that discards. Since 1.0. */
typedef void (*treadle_block_fn)(void *info);

/** A block. Since 1.0. */
typedef struct treadle_block {
    size_t struct_size;       /* sizeof(treadle_block) */
    const char *const *modes; /* names; the common modes are allowed among them (BLK-4) */
    size_t mode_count;        /* 0: the common modes */
    treadle_block_fn fn;
    treadle_routine routine; /* in place of fn (routine.h); not both */
    void *info;
    treadle_block_fn destroy; /* called once: after fn, or when the block is discarded or refused */
} treadle_block;

/** Queues a block. It runs in a pass of one of its modes, in the order of queueing among those that the
 *  mode admits (BLK-3 to BLK-5), and does not count as a handled source (BLK-7). Does not wake the loop,
 *  nor keep it from sleeping: one that an observer of TREADLE_BEFORE_WAITING queues runs after the sleep
 *  (BLK-2). Call treadle_loop_wake, or use treadle_loop_post, which wakes. Blocks left when the thread exits are
 *  discarded (RL-8). A loop whose thread is gone ignores it: TREADLE_IGNORED, and destroy is called.
 *  [any] Errors, with destroy called but where the block cannot be read: TREADLE_E_ARG for NULL or a bad
 *  struct_size (these two), neither or both of fn and routine, a NULL mode, more than 65,535 modes;
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_perform_block(treadle_loop loop, const treadle_block *block);

/** Queues fn(info) for the common modes and wakes the loop (BLK-2): the quickest way to have another thread's
 *  loop do something. Same order as the blocks; a pass runs blocks before it performs signalled sources
 *  (PASS-4, PASS-5). Constant time; no allocation once the loop's queue has
 *  grown; no system call unless the loop sleeps.
 *  [any] Errors: TREADLE_E_ARG for a NULL fn; TREADLE_E_CLOSED if the loop's thread is gone, fn is not
 *  called then; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_post(treadle_loop loop, treadle_block_fn fn, void *info);

TREADLE_END_DECLS
#endif
