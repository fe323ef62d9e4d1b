/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libdispatch.c: a loop is a serial queue, suspended until the loop is run. It has no observers. */
#include "../bench.h"

#include <dispatch/dispatch.h>

struct loop {
    dispatch_queue_t queue;
    dispatch_semaphore_t is_stopped;
    bool has_run;
};
struct watcher {
    dispatch_source_t source;
    void *info;
    task_fn fn;
};

static void *make_loop(void) {
    struct loop *loop = malloc(sizeof *loop);
    if (!loop) abort();
    loop->queue = dispatch_queue_create("bench", DISPATCH_QUEUE_SERIAL);
    loop->is_stopped = dispatch_semaphore_create(0);
    loop->has_run = false;
    dispatch_suspend(loop->queue);
    return loop;
}
static void release_queue(struct loop *loop) {
    if (!loop->has_run) dispatch_resume(loop->queue);
    loop->has_run = true;
}
static void run(void *info) {
    struct loop *loop = info;
    release_queue(loop);
    dispatch_semaphore_wait(loop->is_stopped, DISPATCH_TIME_FOREVER);
}
static void stop(void *loop) { dispatch_semaphore_signal(((struct loop *)loop)->is_stopped); }
static void free_loop(void *info) {
    struct loop *loop = info;
    release_queue(loop); /* a suspended queue must not be released */
    dispatch_release(loop->queue);
    dispatch_release(loop->is_stopped);
    free(loop);
}
static void post(void *loop, task_fn fn, void *info) { dispatch_async_f(((struct loop *)loop)->queue, info, fn); }

static void call_back(void *info) {
    struct watcher *watcher = info;
    watcher->fn(watcher->info);
}
static struct watcher *make_watcher(void *loop, dispatch_source_type_t type, uintptr_t handle,
                                    const struct callback *callback, void *info) {
    struct watcher *watcher = malloc(sizeof *watcher);
    if (!watcher) abort();
    watcher->source = dispatch_source_create(type, handle, 0, ((struct loop *)loop)->queue);
    watcher->fn = callback->plain;
    watcher->info = info;
    dispatch_set_context(watcher->source, watcher);
    dispatch_source_set_event_handler_f(watcher->source, call_back);
    return watcher;
}
static void free_watcher(void *loop, void *info) {
    (void)loop;
    dispatch_source_t source = ((struct watcher *)info)->source;
    dispatch_source_set_cancel_handler_f(source, free); /* gets the context: the watcher */
    dispatch_source_cancel(source);
    dispatch_release(source);
}

static void *make_source(void *loop, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(loop, DISPATCH_SOURCE_TYPE_DATA_OR, 0, callback, info);
    dispatch_resume(watcher->source);
    return watcher;
}
static void signal_source(void *loop, void *source) {
    (void)loop;
    dispatch_source_merge_data(((struct watcher *)source)->source, 1);
}

static void set_timer(struct watcher *watcher, uint64_t after_ns, uint64_t every_ns) {
    bool repeats = every_ns != TIMER_ONCE && every_ns != TIMER_MOVED;
    dispatch_time_t date = dispatch_time(DISPATCH_TIME_NOW, (int64_t)after_ns);
    dispatch_source_set_timer(watcher->source, date, repeats ? every_ns : DISPATCH_TIME_FOREVER, 0);
}
static void move_timer(void *loop, void *timer, uint64_t after_ns) {
    (void)loop;
    set_timer(timer, after_ns, TIMER_ONCE);
}
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(loop, DISPATCH_SOURCE_TYPE_TIMER, 0, callback, info);
    set_timer(watcher, after_ns, every_ns);
    dispatch_resume(watcher->source);
    return watcher;
}
static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(loop, DISPATCH_SOURCE_TYPE_READ, (uintptr_t)fd, callback, info);
    dispatch_resume(watcher->source);
    return watcher;
}

const struct operations library = {
    .name = "libdispatch",
    .has_own_threads = true,
    .fires_unattended = true,
    .loop_make = make_loop,
    .loop_run = run,
    .loop_stop = stop,
    .loop_free = free_loop,
    .post = post,
    .source_make = make_source,
    .source_signal = signal_source,
    .timer_make = make_timer,
    .timer_move = move_timer,
    .timer_free = free_watcher,
    .descriptor_make = make_descriptor,
    .descriptor_free = free_watcher,
};
