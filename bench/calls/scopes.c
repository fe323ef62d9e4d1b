/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scopes.c: what it costs that things belong to a scope, beside the same things that belong to none; and plugins: the life of
 * one, beside a bare dlopen and dlclose of its file, and its calls through the host's table, beside direct ones. */
#include "calls.h"
#include "plugin/measured.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 5, ASKED = 800000, TIMERS = 100000, POSTS = 100000, BATCH = 500, LIVES = 300 };

/* The scope that BY_TREADLE works in, and closes. */
static treadle_scope enter_scope(enum way way) {
    treadle_scope scope = NULL;
    if (way != BY_TREADLE) return NULL;
    treadle_scope_config config = TREADLE_INIT(treadle_scope_config);
    check(treadle_scope_create(&config, &scope));
    check(treadle_scope_enter(scope));
    return scope;
}
static void leave_scope(treadle_scope scope) {
    if (!scope) return;
    check(treadle_scope_leave(scope));
    check(treadle_scope_close(scope, TREADLE_FOREVER));
    check(treadle_release(scope));
}

/* The shortest of some samples, for each of `count`. */
static void measure(const char *name, uint64_t (*make)(enum way way, size_t count), enum way way, size_t count, const char *unit,
                    double scale) {
    uint64_t least = UINT64_MAX;
    for (int sample = 0; sample < SAMPLES; sample++) {
        uint64_t took = make(way, count);
        if (took < least) least = took;
    }
    tell(name, (double)least / (double)count / scale, unit);
}

/* --- Scopes ------------------------------------------------------------------------------------------ */

static void never_fire(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    demand(false, "a far timer does not fire");
}
static treadle_timer far_timer(void) {
    treadle_timer timer;
    check(treadle_timer_start((int64_t)3600 * 1000000000, 0, never_fire, NULL, &timer));
    return timer;
}

/* Made, started, ended. */
static uint64_t make_timers(enum way way, size_t count) {
    treadle_scope scope = enter_scope(way);
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < count; i++) check(treadle_close(far_timer(), 0));
    uint64_t took = clock_ns() - begun;
    leave_scope(scope);
    return took;
}
static void scope_timer(const char *name, enum way way) {
    live_in(treadle_loop_current());
    measure(name, make_timers, way, amount(TIMERS), "ns", 1);
}

static void count_post(void *info) { ++*(size_t *)info; }

/* Posted and performed. */
static uint64_t make_posts(enum way way, size_t count) {
    size_t performed = 0;
    treadle_loop loop = treadle_loop_current();
    treadle_scope scope = enter_scope(way);
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < count; i += BATCH) {
        for (size_t k = 0; k < BATCH; k++) check(treadle_loop_post(loop, count_post, &performed));
        while (performed < i + BATCH) check(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY));
    }
    uint64_t took = clock_ns() - begun;
    leave_scope(scope);
    return took;
}
static void scope_post(const char *name, enum way way) {
    live_in(treadle_loop_current());
    measure(name, make_posts, way, amount(POSTS), "ns", 1);
}

static double resident_bytes(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    demand(file && fscanf(file, "%ld %ld", &pages, &resident) == 2, "the kernel tells the process's memory");
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}
static void scope_memory(const char *name, enum way way) {
    size_t count = amount(TIMERS * 2);
    treadle_scope scope = enter_scope(way);
    far_timer();
    double before = resident_bytes();
    for (size_t i = 0; i < count; i++) far_timer();
    tell(name, (resident_bytes() - before) / (double)count, "B");
    leave_scope(scope);
}

/* --- Plugins ----------------------------------------------------------------------------------------- */

const char *path_of_plugin(void) {
    static char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    demand(length > 0, "the system tells the program's path");
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/measured_plugin.so");
    return path;
}
static treadle_plugin start_plugin(void) {
    treadle_plugin plugin;
    treadle_plugin_config config = TREADLE_INIT(treadle_plugin_config);
    config.path = path_of_plugin();
    check(treadle_plugin_load(&config, &plugin));
    check(treadle_plugin_start(plugin));
    return plugin;
}
static void end_plugin(treadle_plugin plugin) {
    demand(treadle_plugin_close(plugin, TREADLE_FOREVER) == TREADLE_OK, "the plugin ends");
    check(treadle_release(plugin));
}

/* Loaded, started, closed and unmapped; it has a timer, which it forgets. */
static uint64_t make_lives(enum way way, size_t count) {
    const char *path = path_of_plugin();
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < count; i++) {
        if (way == BY_TREADLE) {
            end_plugin(start_plugin());
        } else {
            void *image = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            demand(image && dlsym(image, "treadle_plugin_query") && dlclose(image) == 0, "the file can be loaded");
        }
    }
    return clock_ns() - begun;
}
static void plugin_life(const char *name, enum way way) {
    live_in(treadle_loop_current());
    measure(name, make_lives, way, amount(LIVES), "us", 1000);
}

static bool (*volatile is_valid)(treadle_object) = treadle_is_valid;
static const struct measured *measured;
static treadle_timer asked;
static uint64_t make_asks(enum way way, size_t count) {
    size_t valid = 0;
    uint64_t begun = clock_ns();
    if (way == BY_TREADLE) {
        valid = measured->ask(asked, count);
    } else {
        for (size_t i = 0; i < count; i++) valid += is_valid(asked);
    }
    uint64_t took = clock_ns() - begun;
    demand(valid == count, "the timer is valid");
    return took;
}
static void plugin_call(const char *name, enum way way) {
    const void *extension;
    treadle_plugin plugin = start_plugin();
    check(treadle_plugin_get_extension(plugin, MEASURED, &extension));
    measured = extension;
    asked = far_timer();
    measure(name, make_asks, way, amount(ASKED), "ns", 1);
    end_plugin(plugin);
}

const struct workload scope_workloads[] = {
    {"scope_timer", scope_timer, WAY(BY_TREADLE) | WAY(PLAINLY), false},
    {"scope_post", scope_post, WAY(BY_TREADLE) | WAY(PLAINLY), false},
    {"scope_memory", scope_memory, WAY(BY_TREADLE) | WAY(PLAINLY), false},
    {"plugin_life", plugin_life, WAY(BY_TREADLE) | WAY(BY_HAND), false},
    {"plugin_call", plugin_call, WAY(BY_TREADLE) | WAY(DIRECTLY), false},
    {NULL, NULL, 0, false},
};
