/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libuv.c: a uv_async_t wakes the loop for tasks, and is what a source is. Its timers count whole milliseconds. */
#include "task_queue.h"

#include <uv.h>

union handle {
    uv_handle_t any;
    uv_async_t async;
    uv_timer_t timer;
    uv_poll_t poll;
    uv_prepare_t prepare;
};
WATCHER(union handle)

struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    struct task_queue queue;
};

static void run_tasks(uv_async_t *wake) { task_queue_run(&((struct loop *)wake->loop)->queue); }
static void *make_loop(void) {
    struct loop *loop = malloc(sizeof *loop);
    if (!loop || uv_loop_init(&loop->uv) != 0) abort();
    uv_async_init(&loop->uv, &loop->wake, run_tasks);
    task_queue_init(&loop->queue);
    return loop;
}
static void run(void *loop) { uv_run(&((struct loop *)loop)->uv, UV_RUN_DEFAULT); }
static void stop(void *loop) { uv_stop(&((struct loop *)loop)->uv); }

static void free_handle(uv_handle_t *handle) { free(handle); }
static void close_handle(uv_handle_t *handle, void *wake) {
    if (!uv_is_closing(handle)) uv_close(handle, (void *)handle == wake ? NULL : free_handle);
}
static void free_loop(void *info) {
    struct loop *loop = info;
    uv_walk(&loop->uv, close_handle, &loop->wake);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
    free(loop);
}
static void post(void *info, task_fn fn, void *argument) {
    struct loop *loop = info;
    if (task_queue_put(&loop->queue, fn, argument)) uv_async_send(&loop->wake);
}

static void call_back(void *handle) {
    struct watcher *watcher = handle;
    watcher->fn(watcher->info);
}
static void free_watcher(void *loop, void *watcher) {
    (void)loop;
    uv_close(watcher, free_handle);
}

static void on_async(uv_async_t *handle) { call_back(handle); }
static void *make_source(void *loop, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(callback, info);
    uv_async_init(loop, &watcher->object.async, on_async);
    return watcher;
}
static void signal_source(void *loop, void *source) {
    (void)loop;
    uv_async_send(source);
}

static uint64_t milliseconds(uint64_t ns) { return (ns + 999999) / 1000000; }
static void on_timer(uv_timer_t *handle) { call_back(handle); }
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(callback, info);
    uint64_t interval = every_ns == TIMER_MOVED ? 0 : milliseconds(every_ns);
    uv_timer_init(loop, &watcher->object.timer);
    uv_timer_start(&watcher->object.timer, on_timer, milliseconds(after_ns), interval);
    return watcher;
}
static void move_timer(void *loop, void *timer, uint64_t after_ns) {
    (void)loop;
    uv_timer_start(timer, on_timer, milliseconds(after_ns), 0);
}

static void on_descriptor(uv_poll_t *handle, int status, int events) {
    (void)status, (void)events;
    call_back(handle);
}
static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(callback, info);
    if (uv_poll_init(loop, &watcher->object.poll, fd) != 0) abort();
    uv_poll_start(&watcher->object.poll, UV_READABLE, on_descriptor);
    return watcher;
}

static void on_prepare(uv_prepare_t *handle) { call_back(handle); }
static void make_hook(void *loop, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(callback, info);
    uv_prepare_init(loop, &watcher->object.prepare);
    uv_prepare_start(&watcher->object.prepare, on_prepare);
}

static void *start_thread(void *(*run_thread)(void *), void *info) {
    uv_thread_t *thread = malloc(sizeof *thread);
    if (!thread || uv_thread_create(thread, (uv_thread_cb)(void *)run_thread, info) != 0) abort();
    return thread;
}
static void join_thread(void *thread) {
    uv_thread_join(thread);
    free(thread);
}

const struct operations library = {
    .name = "libuv",
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
    .hook_make = make_hook,
    .thread_start = start_thread,
    .thread_join = join_thread,
};
