/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * post.h: posts: functions queued for a loop, each called once. The rules call them blocks. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_POST_H
#define TREADLE_POST_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** A function that is posted, and the one that gives its info back.
 *  [callback] fn on the loop's thread; destroy there too, or on the thread that discards. Since 1.0. */
typedef void (*treadle_post_fn)(void *info);

/** Flags of a post. Unknown ones are refused. Since 1.0. */
enum {
    /* The loop is not woken, nor kept from sleeping: what an observer of TREADLE_BEFORE_WAITING posts so is called after
     * the sleep (BLK-2). */
    TREADLE_POST_WITHOUT_WAKE = 1
};

/** A post, with all that it can have. Since 1.0. */
typedef struct treadle_post {
    size_t struct_size;       /* sizeof(treadle_post) */
    const char *const *modes; /* names; the common modes are allowed among them (BLK-4) */
    size_t mode_count;        /* 0: the common modes */
    treadle_post_fn fn;
    treadle_routine routine;  /* in place of fn (routine.h); not both */
    void *info;
    treadle_post_fn destroy;  /* called once: after fn, or when the post is discarded or refused */
    treadle_host host;        /* in place of fn, routine, info and destroy: an event of this host (host.h), */
    uint64_t token;           /* with this token; else 0 */
    uint32_t flags;           /* TREADLE_POST_... */
    uint32_t reserved;        /* 0 */
} treadle_post;

/** Queues fn(info) for the common modes and wakes the loop (BLK-2): the quickest way to have another thread's
 *  loop do something. Posts are called in their order (BLK-3), before the pass performs signalled sources (PASS-4, PASS-5),
 *  and do not count as a handled source (BLK-7). Constant time; no allocation once the loop's queue has
 *  grown; no system call unless the loop sleeps.
 *  [any] Errors: TREADLE_E_ARG for a NULL fn; TREADLE_E_CLOSED if the loop's thread is gone, fn is not
 *  called then; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_post(treadle_loop loop, treadle_post_fn fn, void *info);

/** Queues a post for some modes, and wakes the loop unless told otherwise. It is called in a pass of one of its modes, in
 *  the order of posting among those that the mode admits (BLK-3 to BLK-5). Posts left when the thread exits are
 *  discarded (RL-8). A loop whose thread is gone ignores it: TREADLE_IGNORED, and destroy is called.
 *  A host's token is used up by its event: it is retired only if the post was discarded, or the host did not complete it.
 *  [any] Errors, with destroy called but where the post cannot be read, and a token not retired: TREADLE_E_ARG for NULL or a
 *  bad struct_size (these two), neither or several of fn, routine and host, a NULL mode, more than 65,535 modes, unknown
 *  flags, a token without a host; TREADLE_E_CLOSED if the host is quiet; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_loop_post_in(treadle_loop loop, const treadle_post *post);

TREADLE_END_DECLS
#endif
