/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * post.h: posts: functions queued for a loop, each called once. The rules call them blocks.
 *
 * treadle_loop_post_in takes a post with all its options. treadle_loop_post takes a function and its info alone, and is an
 * export of its own, not an inline function over the other, because it is the path of programs that post millions: it costs an
 * eighth of the instructions (about 120 against 900), copies no struct and allocates nothing. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_POST_H
#define TREADLE_POST_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** A posted function, and the function that destroys its info.
 *  [callback] fn on the loop's thread; destroy there too, or on the thread that discards. Since 1.0. */
typedef void (*treadle_post_fn)(void *info);

/** Flags of a post. Unknown ones are refused. Since 1.0. */
enum {
    /* The post neither wakes the loop nor keeps it from sleeping: if an observer of
     * TREADLE_BEFORE_WAITING posts with this flag, the function is called after the sleep (BLK-2). */
    TREADLE_POST_WITHOUT_WAKE = 1
};

/** A post with all its options. Since 1.0. */
typedef struct treadle_post {
    size_t struct_size;       /* sizeof(treadle_post) */
    const char *const *modes; /* names; the common modes are allowed among them (BLK-4) */
    size_t mode_count;        /* 0: the common modes */
    treadle_post_fn fn;
    treadle_routine routine;  /* in place of fn (routine.h); not both */
    void *info;
    treadle_post_fn destroy;  /* called once: after fn, or when the post is discarded or refused */
    treadle_host host;        /* its event (host.h) replaces fn, routine, info and destroy, */
    uint64_t token;           /* and carries this token; else 0 */
    uint32_t flags;           /* TREADLE_POST_... */
    uint32_t reserved;        /* 0 */
    const char *label;        /* a name for descriptions and traces; UTF-8, at most 255 bytes, copied; NULL: none */
} treadle_post;

/** Queues fn(info) for the common modes and wakes the loop (BLK-2), as treadle_loop_post_in does with these two members: the
 *  fastest way to run a function on another thread's loop. After an error the caller owns info: a plain post has no destroy.
 *  Posts are called in their order (BLK-3), before the pass performs signalled sources (PASS-4, PASS-5), and do not count as a
 *  handled source (BLK-7). Constant time; no allocation once the loop's queue has grown; no system call unless the loop sleeps.
 *  [any] Errors: TREADLE_E_ARG for a NULL fn; TREADLE_E_CLOSED if the loop's thread has ended, where treadle_loop_post_in can
 *  call destroy (RL-9), or the entered scope is closed: fn is not called; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_post(treadle_loop loop, treadle_post_fn fn, void *info);

/** Queues a post for some modes, and wakes the loop unless TREADLE_POST_WITHOUT_WAKE is set. The post is called in a pass
 *  of one of its modes; posts that a mode admits are called in the order of posting (BLK-3 to BLK-5). Posts that remain
 *  when the thread exits are discarded (RL-8). If the loop's thread has ended, returns TREADLE_IGNORED and calls destroy.
 *  A host's token is consumed by its event; it is retired only if the post was discarded, or the host did not complete the
 *  event.
 *  [any] Errors, with destroy called unless the post cannot be read, and a token not retired: TREADLE_E_ARG for NULL or
 *  a bad struct_size (these two), neither or several of fn, routine and host, a NULL mode, more than 65,535 modes,
 *  unknown flags, a token without a host, a label that is not UTF-8; TREADLE_E_RANGE for a longer label;
 *  TREADLE_E_CLOSED if the host is quiet or the scope is closed; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_post_in(treadle_loop loop, const treadle_post *post);

TREADLE_END_DECLS
#endif
