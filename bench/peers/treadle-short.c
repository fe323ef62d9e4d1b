/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle-short.c: Treadle by its short forms, which make an item, add it to the calling thread's loop, and start it. A
 * timer's delay counts from the time of the loop's pass, as with libev and libuv. */
#include "treadle_parts.h"

static void *make_source(void *loop, const struct callback *callback, void *info) {
    (void)loop;
    treadle_source source;
    check(treadle_source_start((treadle_perform_fn)(void *)callback->item, info, &source));
    return source;
}

static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    (void)loop;
    treadle_timer timer;
    int64_t interval_ns = every_ns == TIMER_MOVED ? 0 : (int64_t)every_ns;
    check(treadle_timer_start((int64_t)after_ns, interval_ns, (treadle_timer_fn)(void *)callback->item, info, &timer));
    return timer;
}

static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    (void)loop;
    treadle_descriptor descriptor;
    check(treadle_descriptor_start(fd, TREADLE_READABLE, (treadle_ready_fn)(void *)callback->value, info, &descriptor));
    return descriptor;
}

static void make_hook(void *loop, const struct callback *callback, void *info) {
    (void)loop;
    check(treadle_observer_start(TREADLE_BEFORE_SOURCES, (treadle_observer_fn)(void *)callback->value, info, NULL));
}

/* Outside of runs the time is read anew after each tick of the system's clock, of at most 10 ms. */
const struct operations library = TREADLE_OPERATIONS("treadle-short", 10000000);
