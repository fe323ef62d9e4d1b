/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle.c: Treadle, as a newcomer writes it: a context, create, add; invalidate, release. No call that is there for
 * speed alone. */
#include "../bench.h"

#include <stdio.h>
#include <treadle.h>

static void check(treadle_status status) {
    if (status >= 0) return;
    fprintf(stderr, "treadle: %s\n", treadle_status_name(status));
    abort();
}

/* A run ends when nothing is left to wait for; the source that is never signalled keeps it going. */
struct loop {
    treadle_loop loop;
    treadle_source keeper;
    treadle_thread thread; /* requests are made to threads */
};
static void *make_loop(void) {
    struct loop *loop = malloc(sizeof *loop);
    if (!loop) abort();
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    loop->loop = treadle_loop_current();
    loop->thread = treadle_thread_current();
    check(treadle_source_create(&context, &loop->keeper));
    check(treadle_loop_add_source(loop->loop, loop->keeper, TREADLE_DEFAULT_MODE));
    return loop;
}
static void run(void *loop) { check(treadle_loop_run_default(((struct loop *)loop)->loop)); }
static void stop(void *loop) { check(treadle_loop_stop(((struct loop *)loop)->loop)); }
static void free_loop(void *info) {
    struct loop *loop = info;
    check(treadle_source_invalidate(loop->keeper));
    check(treadle_source_release(loop->keeper));
    free(loop);
}

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
    check(treadle_thread_perform(((struct loop *)loop)->thread, &request, NULL, 0, TREADLE_PERFORM_WAIT));
}

static void *make_source(void *loop, const struct callback *callback, void *info) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source source;
    context.info = info;
    context.perform = (treadle_perform_fn)(void *)callback->item;
    check(treadle_source_create(&context, &source));
    check(treadle_loop_add_source(((struct loop *)loop)->loop, source, TREADLE_DEFAULT_MODE));
    return source;
}
static void signal_source(void *loop, void *source) {
    (void)loop;
    check(treadle_source_signal_and_wake(source));
}

static int64_t date_after(uint64_t after_ns) { return treadle_time_now() + (int64_t)after_ns; }

static const int64_t ages_ns = 500000000000000000;
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
    treadle_timer timer;
    context.info = info;
    context.fire = (treadle_timer_fn)(void *)callback->item;
    context.fire_at = date_after(after_ns);
    /* A one-shot ends with its callback: one that is to be set again has an interval that nobody lives to see. */
    context.interval_ns = every_ns == TIMER_MOVED ? ages_ns : (int64_t)every_ns;
    check(treadle_timer_create(&context, &timer));
    check(treadle_loop_add_timer(((struct loop *)loop)->loop, timer, TREADLE_DEFAULT_MODE));
    return timer;
}
static void move_timer(void *loop, void *timer, uint64_t after_ns) {
    (void)loop;
    check(treadle_timer_set_next_fire(timer, date_after(after_ns)));
}
static void free_timer(void *loop, void *timer) {
    (void)loop;
    check(treadle_timer_invalidate(timer));
    check(treadle_timer_release(timer));
}

static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
    treadle_descriptor descriptor;
    context.info = info;
    context.ready = (treadle_ready_fn)(void *)callback->value;
    context.fd = fd;
    context.events = TREADLE_READABLE;
    check(treadle_descriptor_create(&context, &descriptor));
    check(treadle_loop_add_descriptor(((struct loop *)loop)->loop, descriptor, TREADLE_DEFAULT_MODE));
    return descriptor;
}
static void free_descriptor(void *loop, void *descriptor) {
    (void)loop;
    check(treadle_descriptor_invalidate(descriptor));
    check(treadle_descriptor_release(descriptor));
}

static void make_hook(void *loop, const struct callback *callback, void *info) {
    treadle_observer_context context = TREADLE_INIT(treadle_observer_context);
    treadle_observer observer;
    context.info = info;
    context.notify = (treadle_observer_fn)(void *)callback->value;
    context.activities = TREADLE_BEFORE_SOURCES;
    check(treadle_observer_create(&context, &observer));
    check(treadle_loop_add_observer(((struct loop *)loop)->loop, observer, TREADLE_DEFAULT_MODE));
    check(treadle_observer_release(observer)); /* the loop holds it */
}

static void *start_thread(void *(*run_thread)(void *), void *info) {
    treadle_thread thread;
    check(treadle_thread_create(run_thread, info, NULL, &thread));
    check(treadle_thread_start(thread));
    return thread;
}
static void join_thread(void *thread) {
    check(treadle_thread_join(thread, TREADLE_FOREVER, NULL));
    check(treadle_thread_release(thread));
}

const struct operations library = {
    .name = "treadle",
    .role = ROLE_OWN,
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
