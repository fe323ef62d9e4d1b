/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libev.c: an ev_async wakes the loop for tasks, and is what a source is. */
#include "task_queue.h"

#include <ev.h>

union any_watcher {
    ev_watcher any;
    ev_async async;
    ev_timer timer;
    ev_io io;
    ev_prepare prepare;
};
WATCHER(union any_watcher)

struct loop {
    struct ev_loop *ev;
    ev_async wake;
    struct task_queue queue;
};
static struct ev_loop *ev_of(void *loop) { return ((struct loop *)loop)->ev; }

static void call_back(struct ev_loop *ev, ev_watcher *any, int events) {
    (void)ev, (void)events;
    struct watcher *watcher = (struct watcher *)any;
    watcher->fn(watcher->info);
}
static struct watcher *make_idle(const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(callback, info);
    ev_init(&watcher->object.any, call_back);
    return watcher;
}

static void run_tasks(struct ev_loop *ev, ev_async *wake, int events) {
    (void)ev, (void)events;
    task_queue_run(wake->data);
}
static void *make_loop(void) {
    struct loop *loop = malloc(sizeof *loop);
    if (!loop) abort();
    loop->ev = ev_loop_new(EVFLAG_AUTO);
    if (!loop->ev) abort();
    task_queue_init(&loop->queue);
    ev_async_init(&loop->wake, run_tasks);
    loop->wake.data = &loop->queue;
    ev_async_start(loop->ev, &loop->wake);
    return loop;
}
static void run(void *loop) { ev_run(ev_of(loop), 0); }
static void stop(void *loop) { ev_break(ev_of(loop), EVBREAK_ALL); }
static void free_loop(void *loop) {
    ev_loop_destroy(ev_of(loop));
    free(loop);
}
static void post(void *info, task_fn fn, void *argument) {
    struct loop *loop = info;
    if (task_queue_put(&loop->queue, fn, argument)) ev_async_send(loop->ev, &loop->wake);
}

static void *make_source(void *loop, const struct callback *callback, void *info) {
    struct watcher *watcher = make_idle(callback, info);
    ev_async_set(&watcher->object.async);
    ev_async_start(ev_of(loop), &watcher->object.async);
    return watcher;
}
static void signal_source(void *loop, void *source) { ev_async_send(ev_of(loop), source); }

static double seconds(uint64_t ns) { return (double)ns * 1e-9; }
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    struct watcher *watcher = make_idle(callback, info);
    ev_timer_set(&watcher->object.timer, seconds(after_ns), every_ns == TIMER_MOVED ? 0 : seconds(every_ns));
    ev_timer_start(ev_of(loop), &watcher->object.timer);
    return watcher;
}
/* Its quickest way to put a timer off. A repeating timer that is due at once needs an interval that is not 0. */
static void move_timer(void *loop, void *info, uint64_t after_ns) {
    ev_timer *timer = info;
    timer->repeat = seconds(after_ns ? after_ns : 1);
    ev_timer_again(ev_of(loop), timer);
}
static void free_timer(void *loop, void *timer) {
    ev_timer_stop(ev_of(loop), timer);
    free(timer);
}

static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    struct watcher *watcher = make_idle(callback, info);
    ev_io_set(&watcher->object.io, fd, EV_READ);
    ev_io_start(ev_of(loop), &watcher->object.io);
    return watcher;
}
static void free_descriptor(void *loop, void *descriptor) {
    ev_io_stop(ev_of(loop), descriptor);
    free(descriptor);
}

static void make_hook(void *loop, const struct callback *callback, void *info) {
    struct watcher *watcher = make_idle(callback, info);
    ev_prepare_set(&watcher->object.prepare);
    ev_prepare_start(ev_of(loop), &watcher->object.prepare);
}

const struct operations library = {
    .name = "libev",
    .loop_make = make_loop,
    .loop_run = run,
    .loop_stop = stop,
    .loop_free = free_loop,
    .post = post,
    .source_make = make_source,
    .source_signal = signal_source,
    .timer_make = make_timer,
    .timer_move = move_timer,
    .timer_free = free_timer,
    .descriptor_make = make_descriptor,
    .descriptor_free = free_descriptor,
    .hook_make = make_hook,
};
