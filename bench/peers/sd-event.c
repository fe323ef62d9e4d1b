/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * sd-event.c: no other thread may call it, so tasks and sources reach it by eventfds, as its users do it. */
#include "task_queue.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

struct object {
    sd_event_source *source;
    uint64_t interval_us;
    int fd; /* a source's eventfd */
};
WATCHER(struct object)

struct loop {
    sd_event *event;
    int wake;
    bool is_stopped;
    struct task_queue queue;
};

static void check(int result) {
    if (result < 0) abort();
}
static int run_tasks(sd_event_source *source, int fd, uint32_t events, void *loop) {
    (void)source, (void)events;
    eventfd_t value;
    eventfd_read(fd, &value);
    task_queue_run(&((struct loop *)loop)->queue);
    return 0;
}
static void *make_loop(void) {
    struct loop *loop = malloc(sizeof *loop);
    if (!loop) abort();
    check(sd_event_new(&loop->event));
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    check(sd_event_add_io(loop->event, NULL, loop->wake, EPOLLIN, run_tasks, loop));
    task_queue_init(&loop->queue);
    return loop;
}
/* sd_event_exit would end the loop for good. */
static void run(void *info) {
    struct loop *loop = info;
    loop->is_stopped = false;
    while (!loop->is_stopped) check(sd_event_run(loop->event, UINT64_MAX));
}
static void stop(void *loop) { ((struct loop *)loop)->is_stopped = true; }
static void free_loop(void *info) {
    struct loop *loop = info;
    sd_event_unref(loop->event);
    close(loop->wake);
    free(loop);
}
static void post(void *info, task_fn fn, void *argument) {
    struct loop *loop = info;
    if (task_queue_put(&loop->queue, fn, argument)) eventfd_write(loop->wake, 1);
}

static int call_back(struct watcher *watcher) {
    watcher->fn(watcher->info);
    return 0;
}
static struct watcher *make_object(const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(callback, info);
    watcher->object = (struct object){.fd = -1};
    return watcher;
}
static void free_watcher(void *loop, void *info) {
    (void)loop;
    sd_event_source_disable_unref(((struct watcher *)info)->object.source);
    free(info);
}

static int on_signal(sd_event_source *source, int fd, uint32_t events, void *watcher) {
    (void)source, (void)events;
    eventfd_t value;
    eventfd_read(fd, &value);
    return call_back(watcher);
}
static void *make_source(void *loop, const struct callback *callback, void *info) {
    struct object object = {.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (object.fd < 0) return NULL;
    struct watcher *watcher = make_object(callback, info);
    check(sd_event_add_io(((struct loop *)loop)->event, &object.source, object.fd, EPOLLIN, on_signal, watcher));
    watcher->object = object;
    return watcher;
}
static void signal_source(void *loop, void *source) {
    (void)loop;
    eventfd_write(((struct watcher *)source)->object.fd, 1);
}

/* It counts microseconds, and has no repeating timers. */
static int on_timer(sd_event_source *source, uint64_t date_us, void *info) {
    struct watcher *watcher = info;
    if (watcher->object.interval_us) {
        sd_event_source_set_time(source, date_us + watcher->object.interval_us);
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    }
    return call_back(watcher);
}
static uint64_t microseconds(uint64_t ns) { return (ns + 999) / 1000; }
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    struct watcher *watcher = make_object(callback, info);
    struct object *object = &watcher->object;
    object->interval_us = every_ns == TIMER_MOVED ? 0 : microseconds(every_ns);
    check(sd_event_add_time_relative(((struct loop *)loop)->event, &object->source, CLOCK_MONOTONIC,
                                     microseconds(after_ns), 1, on_timer, watcher));
    return watcher;
}
static void move_timer(void *loop, void *timer, uint64_t after_ns) {
    (void)loop;
    sd_event_source *source = ((struct watcher *)timer)->object.source;
    check(sd_event_source_set_time_relative(source, microseconds(after_ns)));
    check(sd_event_source_set_enabled(source, SD_EVENT_ONESHOT));
}

static int on_descriptor(sd_event_source *source, int fd, uint32_t events, void *watcher) {
    (void)source, (void)fd, (void)events;
    return call_back(watcher);
}
static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    struct watcher *watcher = make_object(callback, info);
    check(sd_event_add_io(((struct loop *)loop)->event, &watcher->object.source, fd, EPOLLIN, on_descriptor, watcher));
    return watcher;
}

/* What is told of each pass is a source's prepare function; this source is never signalled. */
static int on_prepare(sd_event_source *source, void *watcher) {
    (void)source;
    return call_back(watcher);
}
static void make_hook(void *loop, const struct callback *callback, void *info) {
    struct watcher *watcher = make_source(loop, callback, info);
    if (!watcher) abort();
    check(sd_event_source_set_prepare(watcher->object.source, on_prepare));
}

const struct operations library = {
    .name = "sd-event",
    .most_timers = 100000,
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
};
