/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libevent.c: with its locks for threads and its precise timers. An event that is activated by hand wakes the loop for
 * tasks, and is what a source is. It has no observers. */
#include "task_queue.h"

#include <event2/event.h>
#include <event2/thread.h>

WATCHER(struct event *)

struct loop {
    struct event_base *base;
    struct event *wake;
    struct task_queue queue;
};

static void run_tasks(evutil_socket_t fd, short events, void *loop) {
    (void)fd, (void)events;
    task_queue_run(&((struct loop *)loop)->queue);
}
static void use_threads(void) { evthread_use_pthreads(); }
static void *make_loop(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, use_threads);
    struct loop *loop = malloc(sizeof *loop);
    struct event_config *config = event_config_new();
    if (!loop || !config) abort();
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    loop->base = event_base_new_with_config(config);
    event_config_free(config);
    loop->wake = event_new(loop->base, -1, EV_PERSIST, run_tasks, loop);
    task_queue_init(&loop->queue);
    return loop;
}
static void run(void *loop) { event_base_loop(((struct loop *)loop)->base, EVLOOP_NO_EXIT_ON_EMPTY); }
static void stop(void *loop) { event_base_loopbreak(((struct loop *)loop)->base); }
static void free_loop(void *info) {
    struct loop *loop = info;
    event_free(loop->wake);
    event_base_free(loop->base);
    free(loop);
}
static void post(void *info, task_fn fn, void *argument) {
    struct loop *loop = info;
    if (task_queue_put(&loop->queue, fn, argument)) event_active(loop->wake, EV_READ, 0);
}

static void call_back(evutil_socket_t fd, short events, void *info) {
    (void)fd, (void)events;
    struct watcher *watcher = info;
    watcher->fn(watcher->info);
}
static struct watcher *make_event(void *loop, int fd, short events, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(callback, info);
    watcher->object = event_new(((struct loop *)loop)->base, fd, events, call_back, watcher);
    if (!watcher->object) abort();
    return watcher;
}
static void free_watcher(void *loop, void *info) {
    (void)loop;
    event_free(((struct watcher *)info)->object);
    free(info);
}

static void *make_source(void *loop, const struct callback *callback, void *info) {
    return make_event(loop, -1, EV_PERSIST, callback, info);
}
static void signal_source(void *loop, void *source) {
    (void)loop;
    event_active(((struct watcher *)source)->object, EV_READ, 0);
}

/* It counts microseconds. */
static void move_timer(void *loop, void *timer, uint64_t after_ns) {
    (void)loop;
    uint64_t microseconds = (after_ns + 999) / 1000;
    struct timeval delay = {.tv_sec = (time_t)(microseconds / 1000000), .tv_usec = (suseconds_t)(microseconds % 1000000)};
    event_add(((struct watcher *)timer)->object, &delay);
}
/* A persistent event repeats with the delay that it was added with. */
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    bool repeats = every_ns != TIMER_ONCE && every_ns != TIMER_MOVED;
    struct watcher *watcher = make_event(loop, -1, repeats ? EV_PERSIST : 0, callback, info);
    move_timer(loop, watcher, after_ns);
    return watcher;
}

static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    struct watcher *watcher = make_event(loop, fd, EV_READ | EV_PERSIST, callback, info);
    event_add(watcher->object, NULL);
    return watcher;
}

const struct operations library = {
    .name = "libevent",
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
