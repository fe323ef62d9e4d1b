/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle_parts.h: what Treadle's two programs share: how a loop runs, how it is called, how an item ends. No call that is
 * there for speed alone. */
#ifndef TREADLE_BENCH_TREADLE_PARTS_H
#define TREADLE_BENCH_TREADLE_PARTS_H

#include "../bench.h"

#include <stdio.h>
#include <treadle.h>

static void check(treadle_status status) {
    if (status >= 0) return;
    fprintf(stderr, "treadle: %s\n", treadle_status_name(status));
    abort();
}

struct loop {
    treadle_loop loop;
    treadle_thread thread; /* requests are made to threads */
};
static void *make_loop(void) {
    struct loop *loop = malloc(sizeof *loop);
    if (!loop) abort();
    loop->loop = treadle_loop_current();
    loop->thread = treadle_thread_current();
    return loop;
}
static void run(void *loop) {
    check(treadle_loop_run(((struct loop *)loop)->loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY));
}
static void stop(void *loop) { check(treadle_loop_stop(((struct loop *)loop)->loop)); }

static void post(void *loop, task_fn fn, void *info) { check(treadle_loop_post(((struct loop *)loop)->loop, fn, info)); }

struct call {
    task_fn fn;
    void *info;
};
static void make_call(void *target, void *argument) {
    (void)argument;
    struct call *call = target;
    call->fn(call->info);
}
static void perform_and_wait(void *loop, task_fn fn, void *info) {
    struct call call = {fn, info};
    treadle_request request = TREADLE_INIT(treadle_request);
    request.fn = make_call;
    request.target = &call;
    request.flags = TREADLE_PERFORM_WAIT;
    check(treadle_perform(((struct loop *)loop)->thread, &request));
}

static void signal_source(void *loop, void *source) {
    (void)loop;
    check(treadle_source_signal_and_wake(source));
}
static void move_timer(void *loop, void *timer, uint64_t after_ns) {
    (void)loop;
    check(treadle_timer_arm(timer, (int64_t)after_ns));
}
/* A timer or a descriptor. */
static void free_item(void *loop, void *item) {
    (void)loop;
    check(treadle_invalidate(item));
    check(treadle_release(item));
}

static void *start_thread(void *(*run_thread)(void *), void *info) {
    treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
    treadle_thread thread;
    config.fn = run_thread;
    config.info = info;
    check(treadle_thread_create(&config, &thread));
    check(treadle_thread_start(thread));
    return thread;
}
static void join_thread(void *thread) {
    check(treadle_thread_join(thread, TREADLE_FOREVER, NULL));
    check(treadle_thread_release(thread));
}

/* The table, with the functions of the file that make items. */
#define TREADLE_OPERATIONS(NAME, OLDEST_NOW_NS)                                                                        \
    {                                                                                                                  \
        .name = NAME, .role = ROLE_OWN, .oldest_now_ns = OLDEST_NOW_NS,                                                \
        .loop_make = make_loop, .loop_run = run, .loop_stop = stop, .loop_free = free,                                 \
        .post = post, .perform_and_wait = perform_and_wait, .source_make = make_source,                                \
        .source_signal = signal_source, .timer_make = make_timer, .timer_move = move_timer, .timer_free = free_item,   \
        .descriptor_make = make_descriptor, .descriptor_free = free_item, .hook_make = make_hook,                      \
        .thread_start = start_thread, .thread_join = join_thread,                                                      \
    }

#endif
