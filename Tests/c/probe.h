/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * probe.h: an item of any of the four kinds behind one table, so that a rule that holds for all of
 * them is written once. A probe is ready from the beginning: a signalled source, a due timer, an
 * observer of BEFORE_SOURCES, a descriptor that is readable until its eventfd is read. It counts what
 * happens to it, and fails when its info is used after its end. */
#ifndef TREADLE_TEST_PROBE_H
#define TREADLE_TEST_PROBE_H

#include "helpers.h"

struct probe;
struct kind {
    const char *name;
    void *(*create)(struct probe *probe);
    treadle_status (*retain)(void *item);
    treadle_status (*release)(void *item);
    treadle_status (*invalidate)(void *item);
    treadle_status (*close)(void *item, int64_t timeout_ns);
    bool (*is_valid)(void *item);
    treadle_status (*get_context_info)(void *item, void **out_info);
    treadle_status (*describe)(void *item, char *buffer, size_t capacity, size_t *out_length);
    treadle_status (*add)(treadle_loop loop, void *item, const char *mode);
    treadle_status (*remove)(treadle_loop loop, void *item, const char *mode);
    bool (*contains)(treadle_loop loop, void *item, const char *mode);
};

struct probe {
    const struct kind *kind;
    void *item;
    int fd;        /* of a descriptor probe */
    int64_t order; /* for the kinds that have one */
    void (*on_call)(struct probe *probe);
    void (*on_release)(struct probe *probe);
    void *user;
    atomic_int held; /* retains less releases: timers also retain around each call (TMR-7) */
    atomic_int ended, calls, schedules, cancels;
    atomic_int call_thread, schedule_thread, cancel_thread, release_thread;
    atomic_bool valid_in_cancel;
};

static void *probe_retain(void *info) {
    struct probe *probe = info;
    CHECK_INT(atomic_load(&probe->ended), 0);
    atomic_fetch_add(&probe->held, 1);
    return info;
}
static void probe_release(void *info) {
    struct probe *probe = info;
    CHECK_INT(atomic_load(&probe->ended), 0);
    if (atomic_fetch_sub(&probe->held, 1) > 1) return;
    probe->release_thread = thread_id();
    if (probe->on_release) probe->on_release(probe);
    atomic_store(&probe->ended, 1);
}
static void probe_describe(void *info, char *buffer, size_t capacity) {
    CHECK_INT(atomic_load(&((struct probe *)info)->ended), 0);
    snprintf(buffer, capacity, "a probe");
}
static void probe_called(struct probe *probe) {
    CHECK_INT(atomic_load(&probe->ended), 0);
    probe->call_thread = thread_id();
    atomic_fetch_add(&probe->calls, 1);
    if (probe->on_call) probe->on_call(probe);
}
static void probe_perform(treadle_source source, void *info) {
    (void)source;
    probe_called(info);
}
static void probe_fire(treadle_timer timer, void *info) {
    (void)timer;
    probe_called(info);
}
static void probe_notify(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer;
    CHECK_INT(activity, TREADLE_BEFORE_SOURCES);
    probe_called(info);
}
static void probe_ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor;
    CHECK_INT(events & TREADLE_READABLE, TREADLE_READABLE);
    probe_called(info);
}
static void probe_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct probe *probe = info;
    CHECK(source && loop && strcmp(mode, TREADLE_COMMON_MODES) != 0);
    probe->schedule_thread = thread_id();
    atomic_fetch_add(&probe->schedules, 1);
}
static void probe_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct probe *probe = info;
    CHECK(source && loop && strcmp(mode, TREADLE_COMMON_MODES) != 0);
    CHECK_INT(atomic_load(&probe->ended), 0);
    probe->cancel_thread = thread_id();
    probe->valid_in_cancel = treadle_source_is_valid(source);
    atomic_fetch_add(&probe->cancels, 1);
}

static void *source_probe(struct probe *probe) {
    treadle_source_context context = {.struct_size = sizeof context, .info = probe, .retain = probe_retain,
                                      .release = probe_release, .describe = probe_describe, .schedule = probe_schedule,
                                      .cancel = probe_cancel, .perform = probe_perform, .order = probe->order};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    return source;
}
static void *timer_probe(struct probe *probe) {
    treadle_timer_context context = {.struct_size = sizeof context, .info = probe, .retain = probe_retain,
                                     .release = probe_release, .describe = probe_describe, .fire = probe_fire,
                                     .fire_at = 1 + probe->order, .interval_ns = SECONDS(100000)};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    return timer;
}
static void *observer_probe(struct probe *probe) {
    treadle_observer_context context = {.struct_size = sizeof context, .info = probe, .retain = probe_retain,
                                        .release = probe_release, .describe = probe_describe, .notify = probe_notify,
                                        .activities = TREADLE_BEFORE_SOURCES, .order = probe->order};
    treadle_observer observer = NULL;
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    return observer;
}
static void *descriptor_probe(struct probe *probe) {
    CHECK((probe->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0);
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = probe, .retain = probe_retain,
                                          .release = probe_release, .describe = probe_describe, .ready = probe_ready,
                                          .fd = probe->fd, .events = TREADLE_READABLE};
    treadle_descriptor descriptor = NULL;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    return descriptor;
}

#define KIND_TABLE(x)                                                                                              \
    static treadle_status x##_retain(void *item) { return treadle_##x##_retain((treadle_##x)item); }               \
    static treadle_status x##_release(void *item) { return treadle_##x##_release((treadle_##x)item); }             \
    static treadle_status x##_invalidate(void *item) { return treadle_##x##_invalidate((treadle_##x)item); }       \
    static treadle_status x##_close(void *item, int64_t ns) { return treadle_##x##_close((treadle_##x)item, ns); } \
    static bool x##_is_valid(void *item) { return treadle_##x##_is_valid((treadle_##x)item); }                     \
    static treadle_status x##_get_info(void *item, void **out) { return treadle_##x##_get_context_info((treadle_##x)item, out); } \
    static treadle_status x##_describe(void *item, char *buffer, size_t capacity, size_t *out) {                   \
        return treadle_##x##_describe((treadle_##x)item, buffer, capacity, out);                                   \
    }                                                                                                              \
    static treadle_status x##_add(treadle_loop loop, void *item, const char *mode) {                               \
        return treadle_loop_add_##x(loop, (treadle_##x)item, mode);                                                \
    }                                                                                                              \
    static treadle_status x##_remove(treadle_loop loop, void *item, const char *mode) {                            \
        return treadle_loop_remove_##x(loop, (treadle_##x)item, mode);                                             \
    }                                                                                                              \
    static bool x##_contains(treadle_loop loop, void *item, const char *mode) {                                    \
        return treadle_loop_contains_##x(loop, (treadle_##x)item, mode);                                           \
    }                                                                                                              \
    HELPER const struct kind x##_kind = {#x, x##_probe, x##_retain, x##_release, x##_invalidate, x##_close,        \
                                         x##_is_valid, x##_get_info, x##_describe, x##_add, x##_remove, x##_contains};
KIND_TABLE(source)
KIND_TABLE(timer)
KIND_TABLE(observer)
KIND_TABLE(descriptor)

static const struct kind *const kinds[] = {&source_kind, &timer_kind, &observer_kind, &descriptor_kind};
enum { KINDS = 4 };

/* Makes a probe's item; what the probe's order, on_call and the like should be is set before. */
HELPER void probe_make(struct probe *probe, const struct kind *kind) {
    probe->kind = kind;
    probe->fd = -1;
    probe->item = kind->create(probe);
    CHECK_INT(atomic_load(&probe->held), 1);
}
/* Ends it, if the test has not, and checks that everything came back. */
HELPER void probe_end(struct probe *probe) {
    if (!atomic_load(&probe->ended)) {
        CHECK(probe->kind->invalidate(probe->item) >= 0); /* idempotent */
        CHECK_INT(probe->kind->release(probe->item), TREADLE_OK);
    }
    CHECK_INT(atomic_load(&probe->held), 0);
    CHECK_INT(atomic_load(&probe->ended), 1);
    CHECK_INT(atomic_load(&probe->schedules), atomic_load(&probe->cancels));
    if (probe->fd >= 0) close(probe->fd);
}

/* A source that keeps a mode from being empty. */
HELPER treadle_source keep_mode(const char *mode) {
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, mode), TREADLE_OK);
    return source;
}

/* Does copy_modes name this mode? Fails if it names it twice. */
HELPER bool mode_exists(treadle_loop loop, const char *mode) {
    char names[4096];
    size_t length = 0;
    int found = 0;
    CHECK_INT(treadle_loop_get_modes(loop, names, sizeof names, &length), TREADLE_OK);
    CHECK(length <= sizeof names);
    for (const char *name = names; name < names + length; name += strlen(name) + 1) found += strcmp(name, mode) == 0;
    CHECK(found <= 1);
    return found == 1;
}

#endif
