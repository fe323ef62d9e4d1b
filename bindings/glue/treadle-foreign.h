/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle-foreign.h: a loop of another library that is turned inside of a run loop: any that has a descriptor to wait for. The
 * headers for libuv, sd-event and GLib are made with it. */
#ifndef TREADLE_FOREIGN_H
#define TREADLE_FOREIGN_H

#include <stdlib.h>
#include <treadle.h>

TREADLE_BEGIN_DECLS

/** A loop of another library, as a run loop sees it. Since 1.0. */
typedef struct treadle_foreign_config {
    int32_t fd;        /* readable when the loop has to be turned; stays the owner's */
    bool is_reentrant; /* whether turn may be called inside of itself, by a nested run */
    /* Called before each sleep, by treadle_loop_prepare, at the end of each run, and after each turn, or a millisecond, in a loop that
     * does not sleep: in how many nanoseconds to turn even if fd says nothing; 0: at once; TREADLE_FOREVER: never. */
    int64_t (*prepare)(void *info);
    bool (*turn)(void *info);   /* turns the loop once, without waiting; false: it has ended, and is taken out */
    void (*release)(void *info); /* called once, after all else; may be NULL */
    void *info;
} treadle_foreign_config;

/** A loop of another library inside of a run loop. Since 1.0. */
typedef struct treadle_foreign {
    treadle_foreign_config config;
    treadle_loop loop;
    char *mode;
    treadle_observer observer;
    treadle_timer timer;
    treadle_descriptor descriptor;
    int references; /* of the items, of posts that are on their way, and of the caller */
    int64_t prepared_at;
    bool is_prepared; /* and not turned since */
    bool is_turning, is_paused, is_removed;
} treadle_foreign;

static inline void *treadle_foreign_retain_(void *info) {
    __atomic_add_fetch(&((treadle_foreign *)info)->references, 1, __ATOMIC_RELAXED);
    return info;
}
static inline void treadle_foreign_release_(void *info) {
    treadle_foreign *foreign = (treadle_foreign *)info;
    if (__atomic_sub_fetch(&foreign->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (foreign->config.release) foreign->config.release(foreign->config.info);
    if (foreign->loop) treadle_release(foreign->loop);
    free(foreign->mode);
    free(foreign);
}
/* Ends the items. The memory goes with the last reference. */
static inline void treadle_foreign_end_(treadle_foreign *foreign) {
    if (__atomic_exchange_n(&foreign->is_removed, true, __ATOMIC_ACQ_REL)) return;
    if (foreign->observer) treadle_invalidate(foreign->observer), treadle_release(foreign->observer);
    if (foreign->timer) treadle_invalidate(foreign->timer), treadle_release(foreign->timer);
    if (foreign->descriptor) treadle_invalidate(foreign->descriptor), treadle_release(foreign->descriptor);
}
static inline void treadle_foreign_set_events_(treadle_foreign *foreign, uint32_t events) {
    foreign->is_paused = events == 0;
    treadle_status status = treadle_descriptor_set_events(foreign->descriptor, events);
    /* TREADLE_E_STATE: it has ended, with its scope for example. */
    if (status < 0 && status != TREADLE_E_STATE)
        treadle_report_error(treadle_status_name(status), "a loop inside of a run loop is not watched any more");
}
static inline void treadle_foreign_turn_(void *info) {
    treadle_foreign *foreign = (treadle_foreign *)info;
    bool was_turning = foreign->is_turning;
    if (foreign->is_removed || (was_turning && !foreign->config.is_reentrant)) return;
    foreign->is_turning = true;
    bool goes_on = foreign->config.turn(foreign->config.info);
    foreign->is_turning = was_turning;
    foreign->is_prepared = false;
    if (foreign->is_removed) return;
    if (!goes_on) treadle_foreign_end_(foreign);
    else if (foreign->is_paused) treadle_foreign_set_events_(foreign, TREADLE_READABLE);
}
/* The turn is a post, which nested runs serve also while an item's callback runs, and which is called in the same pass. */
static inline void treadle_foreign_post_(treadle_foreign *foreign) {
    const char *mode = foreign->mode;
    treadle_post post = TREADLE_INIT(treadle_post);
    post.modes = &mode;
    post.mode_count = 1;
    post.fn = treadle_foreign_turn_;
    post.info = treadle_foreign_retain_(foreign);
    post.destroy = treadle_foreign_release_;
    treadle_status status = treadle_loop_post_in(foreign->loop, &post);
    if (status < 0) treadle_report_error(treadle_status_name(status), "a turn of a loop inside of a run loop was lost");
}
static inline void treadle_foreign_ready_(treadle_descriptor descriptor, uint32_t events, void *info) {
    treadle_foreign *foreign = (treadle_foreign *)info;
    (void)descriptor, (void)events;
    /* A run nested in a turn cannot turn, and must not spin. */
    if (!foreign->is_turning || foreign->config.is_reentrant) treadle_foreign_post_(foreign);
    else treadle_foreign_set_events_(foreign, 0);
}
static inline void treadle_foreign_fire_(treadle_timer timer, void *info) {
    (void)timer;
    treadle_foreign_post_((treadle_foreign *)info);
}
static inline int64_t treadle_foreign_after_(int64_t delay) {
    int64_t now = treadle_time_now();
    return delay < TREADLE_FOREVER - now ? now + delay : TREADLE_FOREVER;
}
static inline void treadle_foreign_prepare_(treadle_observer observer, uint32_t activity, void *info) {
    treadle_foreign *foreign = (treadle_foreign *)info;
    (void)observer;
    if (foreign->is_turning && !foreign->config.is_reentrant) return;
    int64_t now = treadle_time_now();
    /* In a run loop that is always busy the other one has a turn of its own in each pass, or what was started of it is looked for by
     * time: passes may be of any length. */
    if (activity == TREADLE_BEFORE_TIMERS && foreign->is_prepared && now - foreign->prepared_at < 1000000) return;
    foreign->is_prepared = true;
    foreign->prepared_at = now;
    int64_t delay = foreign->config.prepare(foreign->config.info);
    if (foreign->is_removed) return;
    if (delay <= 0) treadle_foreign_post_(foreign);
    else treadle_timer_set_next_fire(foreign->timer, treadle_foreign_after_(delay));
}
static inline int32_t treadle_foreign_get_fd_(void *info) { return ((treadle_foreign *)info)->config.fd; }

/** Watches another descriptor from now on, or the same number anew. [owner] Errors: as treadle_loop_add. Since 1.0. */
static inline treadle_status treadle_foreign_watch(treadle_foreign *foreign, int32_t fd) {
    treadle_loop_remove(foreign->loop, foreign->descriptor, foreign->mode);
    foreign->config.fd = fd;
    return treadle_loop_add(foreign->loop, foreign->descriptor, foreign->mode);
}

/** Has the calling thread's loop turn another library's, in a mode, or in the common modes. It keeps the mode from being empty. It
 *  ends with the loop's thread, but for the memory of the handle. In runs inside of a turn it pauses, unless is_reentrant.
 *  out_foreign: for treadle_foreign_remove. config is copied, and release is called also after an error.
 *  [any] Errors: as those of making the items and of adding them; TREADLE_E_WRONG_THREAD. Since 1.0. */
static inline treadle_status treadle_foreign_add(treadle_loop loop, const char *mode, const treadle_foreign_config *config,
                                                 treadle_foreign **out_foreign) {
    size_t length = 0;
    while (mode && mode[length]) length++;
    treadle_foreign *foreign = (treadle_foreign *)calloc(1, sizeof *foreign);
    char *copy = (char *)malloc(length + 1);
    *out_foreign = NULL;
    if (!foreign || !copy) {
        free(foreign), free(copy);
        if (config->release) config->release(config->info);
        return TREADLE_E_NOMEM;
    }
    for (size_t i = 0; i < length; i++) copy[i] = mode[i];
    copy[length] = 0;
    foreign->config = *config;
    foreign->mode = copy;
    foreign->references = 1;
    treadle_status status = treadle_loop_retain(loop);
    if (status == TREADLE_OK) foreign->loop = loop;
    if (status == TREADLE_OK && !treadle_loop_is_current(loop)) status = TREADLE_E_WRONG_THREAD;
    treadle_observer_context observer = TREADLE_INIT(treadle_observer_context);
    observer.info = foreign, observer.retain = treadle_foreign_retain_, observer.release = treadle_foreign_release_;
    observer.notify = treadle_foreign_prepare_, observer.order = INT64_MAX;
    observer.activities = TREADLE_BEFORE_TIMERS | TREADLE_BEFORE_WAITING | TREADLE_EXIT | TREADLE_PREPARE;
    if (status >= 0) status = treadle_observer_create(&observer, &foreign->observer);
    treadle_timer_context timer = TREADLE_INIT(treadle_timer_context);
    timer.info = foreign, timer.retain = treadle_foreign_retain_, timer.release = treadle_foreign_release_;
    /* Due now: a loop that another one waits for has something to do, which begins with a preparation. */
    timer.fire = treadle_foreign_fire_, timer.fire_at = treadle_time_now();
    if (status >= 0) status = treadle_timer_create(&timer, &foreign->timer);
    treadle_descriptor_context descriptor = TREADLE_INIT(treadle_descriptor_context);
    descriptor.info = foreign, descriptor.retain = treadle_foreign_retain_, descriptor.release = treadle_foreign_release_;
    descriptor.ready = treadle_foreign_ready_, descriptor.get_fd = treadle_foreign_get_fd_, descriptor.events = TREADLE_READABLE;
    if (status >= 0) status = treadle_descriptor_create(&descriptor, &foreign->descriptor);
    if (status >= 0) status = treadle_loop_add(loop, foreign->descriptor, mode ? copy : NULL);
    if (status >= 0) status = treadle_loop_add(loop, foreign->timer, copy);
    if (status >= 0) status = treadle_loop_add(loop, foreign->observer, copy);
    if (status < 0) treadle_foreign_end_(foreign), treadle_foreign_release_(foreign);
    else *out_foreign = foreign;
    return status;
}

/** Takes the loop out: it is not turned any more. In one of its own callbacks, once that has returned. NULL does nothing.
 *  Called once, on the loop's thread, or after that has ended. Since 1.0. */
static inline void treadle_foreign_remove(treadle_foreign *foreign) {
    if (!foreign) return;
    treadle_foreign_end_(foreign);
    treadle_foreign_release_(foreign);
}

TREADLE_END_DECLS
#endif
