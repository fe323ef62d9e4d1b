/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * watcher.c: a plugin that watches a directory, and tells by its extension (watcher.h) which files were written.
 *
 * It shows a descriptor source, here one of inotify, and a setting that may be changed while the plugin runs.
 *
 *   path    the directory, "." by default
 *
 * It lives on the loop of the thread that starts it, in the default mode: there it tells its listeners.
 * What happens in the new directory while the path is changed may be missed. */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "listeners.h"
#include "watcher.h"

struct watcher {
    struct listeners listeners;
    int notifications;       /* inotify's descriptor */
    _Atomic int directory;   /* its watch; what comes under another one is late */
};

static treadle_status watch(struct watcher *self, const char *path) {
    int new = inotify_add_watch(self->notifications, path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR);
    if (new < 0) return errno == ENOENT ? TREADLE_E_NOT_FOUND : TREADLE_E_SYSTEM;
    int old = atomic_exchange(&self->directory, new);
    /* The same directory by another path has the same watch. */
    if (old >= 0 && old != new) inotify_rm_watch(self->notifications, old);
    return TREADLE_OK;
}

static void take(struct watcher *self, const struct inotify_event *event) {
    if (event->mask & IN_Q_OVERFLOW) listeners_tell(&self->listeners, "");
    else if (event->wd != atomic_load(&self->directory)) return;
    else if (event->mask & IN_IGNORED) treadle_plugin_self->log(treadle_plugin_self, 1, "the directory that was watched is gone");
    else if (event->len > 0) listeners_tell(&self->listeners, event->name);
}

/* One buffer at a time: if there is more, the source is ready again in the next pass. */
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    _Alignas(struct inotify_event) char buffer[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
    struct watcher *self = info;
    (void)descriptor, (void)events;
    ssize_t size = read(self->notifications, buffer, sizeof buffer);
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
        at += (ssize_t)(sizeof *event + event->len);
        take(self, event);
    }
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    struct watcher *self = malloc(sizeof *self);
    (void)host;
    if (!self) return TREADLE_E_NOMEM;
    self->directory = -1;
    self->notifications = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (self->notifications < 0) {
        free(self);
        return TREADLE_E_SYSTEM;
    }
    listeners_begin(&self->listeners);
    *out_instance = self;
    return TREADLE_OK;
}

static treadle_status start(void *instance) {
    struct watcher *self = instance;
    char path[PATH_MAX];
    size_t length;
    treadle_status status = treadle_plugin_self->copy_setting(treadle_plugin_self, "path", path, sizeof path, &length);
    if (status == TREADLE_OK && length >= sizeof path) status = TREADLE_E_RANGE;
    if (status == TREADLE_OK) status = watch(self, path);
    if (status != TREADLE_OK) return status;
    return treadle_descriptor_start(self->notifications, TREADLE_READABLE, ready, self, NULL);
}

/* The source has ended with the plugin's scope, so the descriptor is nobody's any more. */
static void deinit(void *instance) {
    struct watcher *self = instance;
    close(self->notifications);
    listeners_end(&self->listeners);
    free(self);
}

static const void *get_extension(void *instance, const char *id) {
    struct watcher *self = instance;
    return strcmp(id, EXAMPLE_WATCHER) == 0 ? &self->listeners.extension : NULL;
}

/* There is one setting. */
static treadle_status set(void *instance, const char *key, const char *value) {
    (void)key;
    return watch(instance, value);
}

static const char *const provided[] = {EXAMPLE_WATCHER, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "path", .default_value = ".", .description = "the directory to watch"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.example.watcher",
    .name = "Watcher",
    .version = "1.0",
    .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .provided = provided,
    .settings = settings,
    .setting_count = sizeof settings / sizeof *settings,
    .init = init,
    .start = start,
    .deinit = deinit,
    .get_extension = get_extension,
    .set = set,
};
TREADLE_PLUGIN_EXPORT(description)
static const treadle_extension_descriptor descriptor = LISTENERS_DESCRIPTOR(EXAMPLE_WATCHER);
TREADLE_PLUGIN_EXPORT_EXTENSIONS(&descriptor)
