/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle-glib.h: run loops and GLib's main contexts on one thread, either inside of the other. Link glib-2.0. */
#ifndef TREADLE_GLIB_H
#define TREADLE_GLIB_H

#include <errno.h>
#include <glib-unix.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "treadle-foreign.h"
#include "treadle-glue.h"

TREADLE_BEGIN_DECLS

/* A run loop inside of a main context. */
typedef struct treadle_glib_inner_ {
    GSource source;
    treadle_loop loop;
    gchar *mode;
    gint fd;
    gpointer tag;
} treadle_glib_inner_;

static inline gboolean treadle_glib_before_poll_(GSource *source, gint *timeout) {
    treadle_glib_inner_ *inner = (treadle_glib_inner_ *)source;
    *timeout = -1;
    treadle_glue_prepare(inner->loop, inner->mode);
    return FALSE;
}
static inline gboolean treadle_glib_dispatch_(GSource *source, GSourceFunc callback, gpointer info) {
    treadle_glib_inner_ *inner = (treadle_glib_inner_ *)source;
    treadle_glue_fn ended = (treadle_glue_fn)(void (*)(void))callback;
    if (g_source_query_unix_fd(source, inner->tag) & (GIOCondition)(G_IO_NVAL | G_IO_ERR)) { /* closed by other code */
        inner->fd = -1;
        if (ended) ended(TREADLE_E_SYSTEM, info);
        else treadle_report_error("TREADLE_E_SYSTEM", "the descriptor of a run loop inside of a main context is closed");
        return G_SOURCE_REMOVE;
    }
    return treadle_glue_pass(inner->loop, inner->mode, ended, info) ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}
static inline void treadle_glib_finalize_(GSource *source) {
    treadle_glib_inner_ *inner = (treadle_glib_inner_ *)source;
    if (inner->fd >= 0) close(inner->fd);
    if (inner->loop) treadle_release(inner->loop);
    g_free(inner->mode);
}

/** A GSource that serves the calling thread's run loop in a mode: to be attached to a main context that this thread iterates, and
 *  released with g_source_unref. A treadle_glue_fn may be given by g_source_set_callback, cast to GSourceFunc. While a callback
 *  of the run loop iterates the context itself, as a dialog does, the run loop is paused.
 *  [owner] Errors: as treadle_glue_open. Since 1.0. */
static inline treadle_status treadle_glib_source_new(treadle_loop loop, const char *mode, GSource **out_source) {
    static GSourceFuncs functions = {treadle_glib_before_poll_, NULL, treadle_glib_dispatch_, treadle_glib_finalize_, NULL, NULL};
    int32_t fd = -1;
    *out_source = NULL;
    treadle_status status = treadle_glue_open(loop, mode, &fd);
    if (status < 0) return status;
    GSource *source = g_source_new(&functions, sizeof(treadle_glib_inner_));
    treadle_glib_inner_ *inner = (treadle_glib_inner_ *)source;
    inner->loop = loop, inner->mode = g_strdup(mode), inner->fd = fd;
    inner->tag = g_source_add_unix_fd(source, fd, (GIOCondition)(G_IO_IN | G_IO_ERR));
    g_source_set_name(source, "treadle");
    *out_source = source;
    return TREADLE_OK;
}

/* A main context inside of a run loop. The descriptors that GLib would poll are in an epoll set, which is rebuilt when it may hold
 * something else: the kernel takes a closed descriptor for another one than the next of that number. */
typedef struct treadle_glib_outer_ {
    GMainContext *context;
    treadle_foreign *foreign;
    GPollFD *fds;
    gint count, room;
    int epoll;
    bool is_stale, is_always_ready; /* a file is always ready, and in no epoll set */
} treadle_glib_outer_;

/* Whether the set holds what GLib would poll now. */
static inline bool treadle_glib_is_current_(treadle_glib_outer_ *outer, const GPollFD *fds, gint count) {
    if (outer->is_stale || count != outer->count) return false;
    for (gint i = 0; i < count; i++) {
        struct epoll_event event = {0, {NULL}};
        event.events = fds[i].events;
        if (fds[i].fd != outer->fds[i].fd || fds[i].events != outer->fds[i].events) return false;
        if (epoll_ctl(outer->epoll, EPOLL_CTL_MOD, fds[i].fd, &event) != 0 && errno != EPERM) return false;
    }
    return true;
}
/* Where the kernel has no room for a set, the context is turned without sleeping until it has. */
static inline void treadle_glib_watch_(treadle_glib_outer_ *outer) {
    int epoll = epoll_create1(EPOLL_CLOEXEC), old = outer->epoll;
    outer->is_stale = epoll < 0;
    outer->is_always_ready = epoll < 0;
    if (epoll < 0) return;
    for (gint i = 0; i < outer->count; i++) {
        struct epoll_event event = {0, {NULL}};
        event.events = outer->fds[i].events;
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, outer->fds[i].fd, &event) != 0) outer->is_always_ready = true;
    }
    outer->epoll = epoll;
    if (treadle_foreign_watch(outer->foreign, epoll) < 0) outer->is_stale = outer->is_always_ready = true;
    close(old);
}
static inline int64_t treadle_glib_prepare_(void *info) {
    treadle_glib_outer_ *outer = (treadle_glib_outer_ *)info;
    gint priority, timeout = -1, count, room = outer->room;
    if (g_main_context_prepare(outer->context, &priority)) return 0;
    GPollFD *fds = g_new(GPollFD, room);
    while ((count = g_main_context_query(outer->context, priority, &timeout, fds, room)) > room) {
        room = count;
        fds = g_renew(GPollFD, fds, room);
    }
    bool is_current = treadle_glib_is_current_(outer, fds, count);
    g_free(outer->fds);
    outer->fds = fds, outer->count = count, outer->room = room;
    if (!is_current) treadle_glib_watch_(outer);
    if (timeout == 0 || outer->is_always_ready) return 0;
    return timeout < 0 ? TREADLE_FOREVER : (int64_t)timeout * 1000000;
}
static inline bool treadle_glib_turn_(void *info) {
    treadle_glib_outer_ *outer = (treadle_glib_outer_ *)info;
    /* Ready for nothing, and no sleep comes before which the set would be looked at. */
    if (!g_main_context_iteration(outer->context, FALSE) && g_poll(outer->fds, (guint)outer->count, 0) == 0) treadle_glib_watch_(outer);
    return true;
}
static inline void treadle_glib_release_(void *info) {
    treadle_glib_outer_ *outer = (treadle_glib_outer_ *)info;
    g_main_context_release(outer->context);
    g_main_context_unref(outer->context);
    if (outer->epoll >= 0) close(outer->epoll);
    g_free(outer->fds);
    g_free(outer);
}

/** Has the calling thread's run loop turn a main context (NULL: GLib's default one), in a mode or the common modes: its sources
 *  are called in the loop's runs, also in those inside of such a call. The thread owns the context meanwhile. Quitting a GMainLoop
 *  means nothing here: stop the run loop, or take the context out with treadle_foreign_remove(out_foreign).
 *  [owner] Errors: as treadle_foreign_add; TREADLE_E_STATE when another thread owns the context; TREADLE_E_SYSTEM. Since 1.0. */
static inline treadle_status treadle_glib_add(treadle_loop loop, const char *mode, GMainContext *context, treadle_foreign **out_foreign) {
    *out_foreign = NULL;
    if (!context) context = g_main_context_default();
    if (!g_main_context_acquire(context)) return TREADLE_E_STATE;
    treadle_glib_outer_ *outer = g_new0(treadle_glib_outer_, 1);
    outer->context = g_main_context_ref(context);
    outer->epoll = epoll_create1(EPOLL_CLOEXEC);
    outer->room = 16;
    treadle_foreign_config config = {outer->epoll, true, treadle_glib_prepare_, treadle_glib_turn_, treadle_glib_release_, outer};
    if (outer->epoll < 0) {
        treadle_glib_release_(outer);
        return TREADLE_E_SYSTEM;
    }
    treadle_status status = treadle_foreign_add(loop, mode, &config, out_foreign);
    if (status >= 0) outer->foreign = *out_foreign;
    return status;
}

TREADLE_END_DECLS
#endif
