/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle-sd-event.h: run loops and sd-event's loops on one thread, either inside of the other. Link libsystemd. */
#ifndef TREADLE_SD_EVENT_H
#define TREADLE_SD_EVENT_H

#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <stdlib.h>
#include <unistd.h>

#include "treadle-foreign.h"
#include "treadle-glue.h"

TREADLE_BEGIN_DECLS

/* A run loop inside of one of sd-event's. */
typedef struct treadle_sd_event_inner_ {
    treadle_loop loop;
    treadle_glue_fn ended;
    void *info;
    char *mode; /* the rest of the allocation */
} treadle_sd_event_inner_;

static inline void treadle_sd_event_destroy_(void *info) {
    treadle_sd_event_inner_ *inner = (treadle_sd_event_inner_ *)info;
    treadle_release(inner->loop);
    free(inner);
}
static inline int treadle_sd_event_ready_(sd_event_source *source, int fd, uint32_t events, void *info) {
    treadle_sd_event_inner_ *inner = (treadle_sd_event_inner_ *)info;
    (void)fd, (void)events;
    return treadle_glue_pass(inner->loop, inner->mode, inner->ended, inner->info) ? 0 : sd_event_source_set_enabled(source, SD_EVENT_OFF);
}
static inline int treadle_sd_event_before_poll_(sd_event_source *source, void *info) {
    treadle_sd_event_inner_ *inner = (treadle_sd_event_inner_ *)info;
    (void)source;
    treadle_glue_prepare(inner->loop, inner->mode);
    return 0;
}

/** Has an sd-event loop, which the calling thread turns, serve that thread's run loop in a mode. ended may be NULL; when it
 *  returns false, or after an error without it, the source is off. out_source: to be disabled and released with
 *  sd_event_source_disable_unref, which closes the descriptor; NULL: the source belongs to the event loop.
 *  [owner] Errors: as treadle_glue_open; TREADLE_E_SYSTEM when sd-event refuses; TREADLE_E_NOMEM. Since 1.0. */
static inline treadle_status treadle_sd_event_start(sd_event *event, treadle_loop loop, const char *mode, treadle_glue_fn ended,
                                                    void *info, sd_event_source **out_source) {
    sd_event_source *source = NULL;
    int32_t fd = -1;
    size_t length = 0;
    if (out_source) *out_source = NULL;
    treadle_status status = treadle_glue_open(loop, mode, &fd);
    if (status < 0) return status;
    while (mode[length]) length++;
    treadle_sd_event_inner_ *inner = (treadle_sd_event_inner_ *)calloc(1, sizeof *inner + length + 1);
    if (!inner || sd_event_add_io(event, &source, fd, EPOLLIN, treadle_sd_event_ready_, inner) < 0) {
        close(fd);
        treadle_release(loop);
        status = inner ? TREADLE_E_SYSTEM : TREADLE_E_NOMEM;
        free(inner);
        return status;
    }
    inner->mode = (char *)(inner + 1);
    for (size_t i = 0; i < length; i++) inner->mode[i] = mode[i];
    inner->loop = loop, inner->ended = ended, inner->info = info;
    /* Of a new io source of one's own neither is refused. */
    sd_event_source_set_io_fd_own(source, 1);
    sd_event_source_set_destroy_callback(source, treadle_sd_event_destroy_);
    if (sd_event_source_set_prepare(source, treadle_sd_event_before_poll_) < 0) {
        sd_event_source_disable_unref(source);
        return TREADLE_E_SYSTEM;
    }
    if (out_source) *out_source = source;
    else sd_event_source_set_floating(source, 1), sd_event_source_unref(source);
    return TREADLE_OK;
}

/* An sd-event loop inside of a run loop. Its timers are descriptors of the kernel's, so it has no date of its own. */
static inline int64_t treadle_sd_event_prepare_(void *info) {
    sd_event *event = (sd_event *)info;
    /* If it was prepared before an earlier sleep, finish that, then prepare again. */
    if (sd_event_get_state(event) == SD_EVENT_ARMED && sd_event_wait(event, 0) != 0) return 0;
    return sd_event_get_state(event) == SD_EVENT_INITIAL && sd_event_prepare(event) == 0 ? TREADLE_FOREVER : 0;
}
static inline bool treadle_sd_event_turn_(void *info) {
    sd_event *event = (sd_event *)info;
    if (sd_event_get_state(event) == SD_EVENT_INITIAL && sd_event_prepare(event) < 0) return false;
    if (sd_event_get_state(event) == SD_EVENT_ARMED && sd_event_wait(event, 0) < 0) return false;
    if (sd_event_get_state(event) == SD_EVENT_PENDING && sd_event_dispatch(event) < 0) return false;
    return sd_event_get_state(event) != SD_EVENT_FINISHED;
}
static inline void treadle_sd_event_release_(void *info) { sd_event_unref((sd_event *)info); }

/** Has the calling thread's run loop turn an sd-event loop, in a mode or the common modes. After sd_event_exit the loop's exit
 *  sources are called, and it is taken out by itself, so that the mode may be empty. Neither sd_event_run nor its parts are to be
 *  called besides. In a run inside of one of its callbacks it pauses. out_foreign: for treadle_foreign_remove, also after its end.
 *  [owner] Errors: as treadle_foreign_add; TREADLE_E_STATE when the loop has ended. Since 1.0. */
static inline treadle_status treadle_sd_event_add(treadle_loop loop, const char *mode, sd_event *event, treadle_foreign **out_foreign) {
    treadle_foreign_config config = {sd_event_get_fd(event), false, treadle_sd_event_prepare_, treadle_sd_event_turn_,
                                     treadle_sd_event_release_, event};
    *out_foreign = NULL;
    if (config.fd < 0 || sd_event_get_state(event) == SD_EVENT_FINISHED) return TREADLE_E_STATE;
    sd_event_ref(event);
    return treadle_foreign_add(loop, mode, &config, out_foreign);
}

TREADLE_END_DECLS
#endif
