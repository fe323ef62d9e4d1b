/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * raw.c: the floor: bare epoll, which sleeps as soon as there is nothing to do. */
#define FLOOR_SPIN_NS 0
#include "floor/loop.h"

#include <limits.h>

static void move_timer(void *loop, void *info, uint64_t after_ns) {
    struct timers *timers = &((struct loop *)loop)->timers;
    struct timer *timer = info;
    timers_remove(timers, timer);
    timer->date = now() + after_ns;
    timers_insert(timers, timer);
}
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    struct timer *timer = malloc(sizeof *timer);
    if (!timer) abort();
    *timer = (struct timer){.interval = every_ns == TIMER_MOVED ? 0 : every_ns, .place = IN_NOTHING, .fn = callback->plain, .info = info};
    move_timer(loop, timer, after_ns);
    return timer;
}
static void free_timer(void *loop, void *timer) {
    timers_remove(&((struct loop *)loop)->timers, timer);
    free(timer);
}

struct descriptor {
    struct task task;
    int fd;
};
static void *make_descriptor(void *info, int fd, const struct callback *callback, void *argument) {
    struct loop *loop = info;
    struct descriptor *descriptor = malloc(sizeof *descriptor);
    if (!descriptor) abort();
    *descriptor = (struct descriptor){{callback->plain, argument}, fd};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = descriptor};
    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event);
    loop->descriptors++;
    return descriptor;
}
static void free_descriptor(void *info, void *descriptor) {
    struct loop *loop = info;
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, ((struct descriptor *)descriptor)->fd, NULL);
    loop->descriptors--;
    free(descriptor);
}

static void make_hook(void *info, const struct callback *callback, void *argument) {
    struct loop *loop = info;
    if (loop->hooks_count == MOST_HOOKS) abort();
    loop->hooks[loop->hooks_count++] = (struct task){callback->plain, argument};
}

static void *start_thread(void *(*run_thread)(void *), void *info) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN > 65536 ? PTHREAD_STACK_MIN : 65536);
    if (pthread_create(&thread, &attributes, run_thread, info) != 0) abort();
    pthread_attr_destroy(&attributes);
    return (void *)thread;
}
static void join_thread(void *thread) { pthread_join((pthread_t)thread, NULL); }

const struct operations library = {
    .name = "raw",
    .role = ROLE_FLOOR,
    .loop_make = make_loop,
    .loop_run = run,
    .loop_stop = stop,
    .loop_free = free_loop,
    .post = post,
    .perform_and_wait = perform_and_wait,
    .source_make = make_source,
    .source_signal = signal_source,
    .timer_make = make_timer,
    .timer_move = move_timer,
    .timer_free = free_timer,
    .descriptor_make = make_descriptor,
    .descriptor_free = free_descriptor,
    .hook_make = make_hook,
    .thread_start = start_thread,
    .thread_join = join_thread,
};
