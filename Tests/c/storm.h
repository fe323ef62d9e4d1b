/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * storm.h: items of all kinds that know whether they are alive, behind functions of one shape. */
#ifndef TREADLE_STORM_H
#define TREADLE_STORM_H

#include "chance.h"

enum { FDS = 6 };
static const char *const modes[] = {TREADLE_DEFAULT_MODE, "first", "second", TREADLE_COMMON_MODES};
static int fds[FDS];
static atomic_long lives, calls; /* that have not ended; that callbacks have been called */

/* What callbacks do besides; the test says it. */
static void on_call(void *handle, int kind); /* those that an item is for */
static void on_other_call(void);             /* those of its context */

/* What belongs to an item: it counts its references, and what a source is told. */
enum { ALIVE = 0x5EA1ED, ENDED = 0xDEAD };
struct life {
    char padding[32]; /* what the heap writes over freed memory */
    atomic_int magic, references;
    atomic_long scheduled, cancelled;
    bool is_static;
};
HELPER void must_live(struct life *life) {
    CHECK_INT(life->magic, ALIVE);
    CHECK(life->references > 0);
}
HELPER void begin_life(struct life *life, bool is_static) {
    memset(life, 0, sizeof *life);
    life->magic = ALIVE;
    life->is_static = is_static;
    atomic_fetch_add(&lives, 1);
}
HELPER void *retain_life(void *info) {
    struct life *life = info;
    CHECK_INT(life->magic, ALIVE);
    if (atomic_fetch_add(&life->references, 1) > 0) on_other_call();
    return info;
}
HELPER void release_life(void *info) {
    struct life *life = info;
    must_live(life);
    if (!life->is_static) on_other_call();
    must_live(life);
    if (atomic_fetch_sub(&life->references, 1) > 1) return;
    CHECK_INT(life->cancelled, life->scheduled);
    CHECK_INT(atomic_exchange(&life->magic, ENDED), ALIVE);
    atomic_fetch_sub(&lives, 1);
    if (!life->is_static) free(life);
}
HELPER void describe_life(void *info, char *buffer, size_t capacity) {
    must_live(info);
    on_other_call();
    must_live(info);
    snprintf(buffer, capacity, "a life");
}
HELPER int32_t equal_lives(void *one, void *other) {
    on_other_call();
    must_live(one);
    must_live(other);
    return (uintptr_t)one % 128 == (uintptr_t)other % 128;
}
HELPER uint64_t hash_life(void *info) { return (uintptr_t)info % 128; }

HELPER void called(void *handle, int kind, struct life *life) {
    must_live(life);
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    on_call(handle, kind);
    must_live(life); /* kept until the callback is over, whatever it did */
}

enum { SOURCE, TIMER, DESCRIPTOR, OBSERVER, PORT, KINDS };
HELPER void on_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct life *life = info;
    (void)source, (void)loop, (void)mode;
    on_other_call();
    must_live(life);
    atomic_fetch_add(&life->scheduled, 1);
}
HELPER void on_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct life *life = info;
    (void)source, (void)loop, (void)mode;
    on_other_call();
    must_live(life);
    atomic_fetch_add(&life->cancelled, 1);
}
HELPER void on_perform(treadle_source source, void *info) { called(source, SOURCE, info); }
HELPER void on_fire(treadle_timer timer, void *info) { called(timer, TIMER, info); }
HELPER void on_activity(treadle_observer observer, uint32_t activity, void *info) { (void)activity, called(observer, OBSERVER, info); }
HELPER void on_ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    int32_t fd;
    uint64_t bytes;
    (void)events;
    if (treadle_descriptor_get_fd(descriptor, &fd) == TREADLE_OK) CHECK(read(fd, &bytes, sizeof bytes) > 0 || errno == EAGAIN);
    called(descriptor, DESCRIPTOR, info);
}
HELPER void on_message(treadle_port port, treadle_message message, void *info) {
    treadle_message_info got = {.struct_size = sizeof got};
    CHECK_INT(treadle_message_get_info(message, &got), TREADLE_OK);
    CHECK_INT(got.length, got.id % 200);
    called(port, PORT, info);
    CHECK_INT(treadle_message_get_info(message, &got), TREADLE_OK);
}

#define BELONGING(life) .info = life, .retain = retain_life, .release = release_life, .describe = describe_life
HELPER void *create_source(struct life *life) {
    treadle_source_context context = {.struct_size = sizeof context, BELONGING(life), .perform = on_perform};
    treadle_source source = NULL;
    context.order = chance(3) ? 0 : chance(5);
    if (chance(2)) context.schedule = on_schedule, context.cancel = on_cancel;
    if (chance(8) == 0) context.equal = equal_lives, context.hash = hash_life;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    return source;
}
HELPER int64_t any_date(void) { return treadle_time_now() + (int64_t)chance(1500000) - 500000; }
HELPER void *create_timer(struct life *life) {
    treadle_timer_context context = {.struct_size = sizeof context, BELONGING(life), .fire = on_fire, .fire_at = any_date()};
    treadle_timer timer = NULL;
    context.interval_ns = chance(2) ? 50000 + chance(1000000) : 0;
    context.tolerance_ns = chance(3) ? 0 : chance(500000);
    context.flags = chance(2) ? 0 : TREADLE_TIMER_ENDS_AFTER_FIRING;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    return timer;
}
HELPER void *create_descriptor(struct life *life) {
    treadle_descriptor_context context = {
        .struct_size = sizeof context, BELONGING(life), .ready = on_ready, .fd = fds[chance(FDS)], .events = 1 + chance(3)};
    treadle_descriptor descriptor = NULL;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    return descriptor;
}
HELPER void *create_observer(struct life *life) {
    treadle_observer_context context = {.struct_size = sizeof context, BELONGING(life), .notify = on_activity, .activities = 1u << chance(8)};
    treadle_observer observer = NULL;
    context.once = chance(3) == 0;
    context.order = chance(3);
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    return observer;
}
HELPER void *create_port(struct life *life) {
    treadle_port_context context = {.struct_size = sizeof context, BELONGING(life), .receive = on_message, .capacity = 1 + chance(20)};
    treadle_port port = NULL;
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    return port;
}

/* One function of each kind by one name. */
struct kind {
    void *(*create)(struct life *);
    treadle_status (*add)(treadle_loop, void *, const char *), (*remove)(treadle_loop, void *, const char *);
    bool (*contains)(treadle_loop, void *, const char *), (*is_valid)(void *);
    treadle_status (*retain)(void *), (*release)(void *), (*invalidate)(void *), (*close)(void *, int64_t);
    treadle_status (*describe)(void *, char *, size_t, size_t *), (*get_context_info)(void *, void **), (*get_order)(void *, int64_t *);
};
#define CALLS(one)                                                                                                                    \
    static treadle_status add_##one(treadle_loop loop, void *item, const char *mode) { return treadle_loop_add_##one(loop, item, mode); } \
    static treadle_status remove_##one(treadle_loop loop, void *item, const char *mode) { return treadle_loop_remove_##one(loop, item, mode); } \
    static bool contains_##one(treadle_loop loop, void *item, const char *mode) { return treadle_loop_contains_##one(loop, item, mode); } \
    static bool is_valid_##one(void *item) { return treadle_##one##_is_valid(item); }                                                  \
    static treadle_status retain_##one(void *item) { return treadle_##one##_retain(item); }                                            \
    static treadle_status release_##one(void *item) { return treadle_##one##_release(item); }                                          \
    static treadle_status invalidate_##one(void *item) { return treadle_##one##_invalidate(item); }                                    \
    static treadle_status close_##one(void *item, int64_t timeout) { return treadle_##one##_close(item, timeout); }                    \
    static treadle_status describe_##one(void *item, char *buffer, size_t capacity, size_t *length) {                                  \
        return treadle_##one##_describe(item, buffer, capacity, length);                                                               \
    }                                                                                                                                 \
    static treadle_status info_##one(void *item, void **info) { return treadle_##one##_get_context_info(item, info); }                         \
    static treadle_status order_##one(void *item, int64_t *order) { return treadle_##one##_get_order(item, order); }
CALLS(source) CALLS(timer) CALLS(observer) CALLS(descriptor) CALLS(port)
#define KIND(one)                                                                                                              \
    {create_##one, add_##one, remove_##one, contains_##one, is_valid_##one, retain_##one, release_##one, invalidate_##one, close_##one, \
     describe_##one, info_##one, order_##one}
static const struct kind kinds[KINDS] = {KIND(source), KIND(timer), KIND(descriptor), KIND(observer), KIND(port)};

HELPER void *create(int kind, struct life *life, bool is_static) {
    begin_life(life, is_static);
    return kinds[kind].create(life);
}

#endif
