/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle-uv.h: run loops and libuv's loops on one thread, either inside of the other. Link libuv. */
#ifndef TREADLE_UV_H
#define TREADLE_UV_H

#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "treadle-foreign.h"
#include "treadle-glue.h"

TREADLE_BEGIN_DECLS

/** A run loop inside of one of libuv's. Its poll handle may be referenced and unreferenced (uv_ref, uv_unref). Since 1.0. */
typedef struct treadle_uv_inner {
    uv_poll_t poll;
    uv_prepare_t prepare; /* before each wait; unreferenced */
    treadle_loop loop;
    treadle_glue_fn ended;
    void *info;
    int32_t fd;
    bool is_closing;
    int open_handles;
    char *mode;
    void (*closed)(void *info); /* NULL, or set at any time: called with info when all is closed and freed */
} treadle_uv_inner;

static inline void treadle_uv_closed_(uv_handle_t *handle) {
    treadle_uv_inner *inner = (treadle_uv_inner *)handle->data;
    if (--inner->open_handles > 0) return;
    void (*closed)(void *) = inner->closed;
    void *info = inner->info;
    close(inner->fd);
    treadle_release(inner->loop);
    free(inner);
    if (closed) closed(info);
}

/** Ends the waiting: the handles are closed, and the descriptor with it when libuv calls back for that, in one of its next turns.
 *  NULL does nothing. On the thread of both loops, once. Since 1.0. */
static inline void treadle_uv_stop(treadle_uv_inner *inner) {
    if (!inner || inner->is_closing) return;
    inner->is_closing = true;
    uv_close((uv_handle_t *)&inner->poll, treadle_uv_closed_);
    uv_close((uv_handle_t *)&inner->prepare, treadle_uv_closed_);
}

/* An error of the poll, of a descriptor that other code has closed, is one of the loop. */
static inline void treadle_uv_ready_(uv_poll_t *poll, int status, int events) {
    treadle_uv_inner *inner = (treadle_uv_inner *)poll->data;
    (void)events;
    if (status < 0) {
        if (inner->ended) inner->ended(TREADLE_E_SYSTEM, inner->info);
        else treadle_report_error("TREADLE_E_SYSTEM", uv_strerror(status));
        treadle_uv_stop(inner);
    } else if (!treadle_glue_pass(inner->loop, inner->mode, inner->ended, inner->info)) treadle_uv_stop(inner);
}

static inline void treadle_uv_before_poll_(uv_prepare_t *prepare) {
    treadle_uv_inner *inner = (treadle_uv_inner *)prepare->data;
    treadle_glue_prepare(inner->loop, inner->mode);
}

/** Has uv, which the calling thread turns, serve that thread's run loop in a mode: all that a run would do happens in uv_run.
 *  The handle keeps uv alive, like any other; uv_unref changes that. ended may be NULL. out_inner: for treadle_uv_stop; gone
 *  once ended has returned false, or, without ended, after an error.
 *  [owner] Errors: as treadle_glue_open; TREADLE_E_SYSTEM when libuv refuses; TREADLE_E_NOMEM. Since 1.0. */
static inline treadle_status treadle_uv_start(uv_loop_t *uv, treadle_loop loop, const char *mode, treadle_glue_fn ended, void *info,
                                              treadle_uv_inner **out_inner) {
    int32_t fd = -1;
    size_t length = 0;
    *out_inner = NULL;
    treadle_status status = treadle_glue_open(loop, mode, &fd);
    if (status < 0) return status;
    while (mode[length]) length++;
    treadle_uv_inner *inner = (treadle_uv_inner *)calloc(1, sizeof *inner + length + 1);
    if (!inner || uv_poll_init(uv, &inner->poll, fd) != 0) {
        close(fd);
        treadle_release(loop);
        status = inner ? TREADLE_E_SYSTEM : TREADLE_E_NOMEM;
        free(inner);
        return status;
    }
    inner->mode = (char *)(inner + 1);
    for (size_t i = 0; i < length; i++) inner->mode[i] = mode[i];
    inner->loop = loop, inner->fd = fd, inner->ended = ended, inner->info = info;
    inner->poll.data = inner->prepare.data = inner;
    inner->open_handles = 2;
    uv_prepare_init(uv, &inner->prepare);
    uv_prepare_start(&inner->prepare, treadle_uv_before_poll_);
    uv_unref((uv_handle_t *)&inner->prepare);
    if (uv_poll_start(&inner->poll, UV_READABLE, treadle_uv_ready_) != 0) {
        treadle_uv_stop(inner);
        return TREADLE_E_SYSTEM;
    }
    *out_inner = inner;
    return TREADLE_OK;
}

/* A loop of libuv's inside of a run loop, which keeps it alive: uv_run of a loop that is not alive serves no handle, and when an
 * unreferenced one is ready the descriptor would stay readable. So each call counts as an active handle. A handle of our own would have
 * to be closed by a later uv_run, which is not made after treadle_foreign_remove. */
static inline int64_t treadle_uv_prepare_(void *info) {
    uv_loop_t *uv = (uv_loop_t *)info;
    uv_update_time(uv);
    uv->active_handles++;
    int timeout = uv_backend_timeout(uv);
    uv->active_handles--;
    return timeout < 0 ? TREADLE_FOREVER : (int64_t)timeout * 1000000;
}
static inline bool treadle_uv_turn_(void *info) {
    uv_loop_t *uv = (uv_loop_t *)info;
    uv->active_handles++;
    uv_run(uv, UV_RUN_NOWAIT);
    uv->active_handles--;
    return true;
}

/** Has the calling thread's run loop turn uv, in a mode or the common modes: libuv's callbacks are called in its runs. uv_run is
 *  not to be called besides. In a run inside of such a callback uv pauses, since uv_run cannot be nested. It stays when
 *  nothing of uv is active any more, serves its unreferenced handles, and keeps the mode from being empty, until
 *  treadle_foreign_remove(out_foreign). uv is to be closed after that.
 *  [owner] Errors: as treadle_foreign_add. Since 1.0. */
static inline treadle_status treadle_uv_add(treadle_loop loop, const char *mode, uv_loop_t *uv, treadle_foreign **out_foreign) {
    treadle_foreign_config config = {uv_backend_fd(uv), false, treadle_uv_prepare_, treadle_uv_turn_, NULL, uv};
    return treadle_foreign_add(loop, mode, &config, out_foreign);
}

TREADLE_END_DECLS
#endif
