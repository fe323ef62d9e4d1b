/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle.c: Treadle by the calls that do everything: a context, create, add. treadle-short.c has the short forms. */
#include "treadle_parts.h"

static void add(void *loop, treadle_object item) {
    check(treadle_loop_add(((struct loop *)loop)->loop, item, TREADLE_DEFAULT_MODE));
}

static void *make_source(void *loop, const struct callback *callback, void *info) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source source;
    context.info = info;
    context.perform = (treadle_perform_fn)(void *)callback->item;
    check(treadle_source_create(&context, &source));
    add(loop, source);
    return source;
}

static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
    treadle_timer timer;
    context.info = info;
    context.fire = (treadle_timer_fn)(void *)callback->item;
    context.fire_at = treadle_time_now() + (int64_t)after_ns;
    context.interval_ns = every_ns == TIMER_MOVED ? 0 : (int64_t)every_ns;
    check(treadle_timer_create(&context, &timer));
    add(loop, timer);
    return timer;
}

static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
    treadle_descriptor descriptor;
    context.info = info;
    context.ready = (treadle_ready_fn)(void *)callback->value;
    context.fd = fd;
    context.events = TREADLE_READABLE;
    check(treadle_descriptor_create(&context, &descriptor));
    add(loop, descriptor);
    return descriptor;
}

static void make_hook(void *loop, const struct callback *callback, void *info) {
    treadle_observer_context context = TREADLE_INIT(treadle_observer_context);
    treadle_observer observer;
    context.info = info;
    context.notify = (treadle_observer_fn)(void *)callback->value;
    context.activities = TREADLE_BEFORE_SOURCES;
    check(treadle_observer_create(&context, &observer));
    add(loop, observer);
    check(treadle_release(observer)); /* the loop holds it */
}

const struct operations library = TREADLE_OPERATIONS("treadle", 0);
