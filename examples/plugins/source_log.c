/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * source_log.c: a plugin that tells the lines that are appended to a file; extension: EXAMPLE_ALL_LINES of lines.h.
 *
 * It shows a plugin that requires another one: the watcher says when the file was written, and does not end before this one.
 *
 *   file    its path; the watcher watches the directory that it is in
 *
 * It begins with the end that the file has when the plugin starts; a file that is not there yet, or has become shorter, is read
 * from its beginning. A line is told when its end has been written, on the watcher's thread. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lines.h"
#include "listeners.h"
#include "listening.h"
#include "watcher.h"

struct source {
    struct listeners listeners;
    const example_watcher *watcher;
    example_text_fn listener; /* file_was_written */
    char file[PATH_MAX];
    const char *name; /* the last part of file */
    off_t told;       /* up to here the lines were told */
    char *line;       /* the part of a line whose end has not come */
    size_t size, room;
};

/* A line that finds no memory is cut. */
static void take_byte(struct source *self, char byte) {
    if (self->size + 1 >= self->room) {
        size_t room = 2 * self->room + 256;
        char *line = realloc(self->line, room);
        if (line) self->line = line, self->room = room;
    }
    if (byte == '\n') {
        if (!self->line) return;
        self->line[self->size] = 0;
        self->size = 0;
        listeners_tell(&self->listeners, self->line);
    } else if (self->size + 1 < self->room) {
        self->line[self->size++] = byte;
    }
}

static void take_lines(struct source *self) {
    char bytes[4096];
    struct stat is;
    ssize_t count;
    int file = open(self->file, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (fstat(file, &is) == 0 && is.st_size < self->told) self->told = 0, self->size = 0;
    while ((count = pread(file, bytes, sizeof bytes, self->told)) > 0) {
        self->told += count;
        for (ssize_t i = 0; i < count; i++) take_byte(self, bytes[i]);
    }
    close(file);
}

static treadle_status file_was_written(treadle_call *call, void *info) {
    struct source *self = info;
    const char *name = text_of(call);
    if (!*name || strcmp(name, self->name) == 0) take_lines(self);
    return TREADLE_OK;
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    struct source *self = calloc(1, sizeof *self);
    size_t length;
    if (!self) return TREADLE_E_NOMEM;
    self->watcher = host->get_extension(host, EXAMPLE_WATCHER);
    treadle_status status = self->watcher ? TREADLE_OK : TREADLE_E_NOT_FOUND;
    if (status == TREADLE_OK) status = host->copy_setting(host, "file", self->file, sizeof self->file, &length);
    if (status == TREADLE_OK && (length == 0 || length >= sizeof self->file)) status = TREADLE_E_RANGE;
    if (status != TREADLE_OK) return free(self), status;
    const char *slash = strrchr(self->file, '/');
    self->name = slash ? slash + 1 : self->file;
    listeners_begin(&self->listeners);
    *out_instance = self;
    return TREADLE_OK;
}

static treadle_status start(void *instance) {
    struct source *self = instance;
    struct stat is;
    if (stat(self->file, &is) == 0) self->told = is.st_size;
    treadle_status status = make_listener(file_was_written, self, &self->listener);
    return status == TREADLE_OK ? self->watcher->add_listener(self->watcher->instance, self->listener, NULL) : status;
}

/* The watcher still lives; when this has returned it knows nothing of this plugin any more. */
static treadle_status stop(void *instance, int64_t timeout_ns) {
    struct source *self = instance;
    (void)timeout_ns;
    return self->watcher->remove_listener(self->watcher->instance, self->listener, NULL);
}

static void deinit(void *instance) {
    struct source *self = instance;
    listeners_end(&self->listeners);
    free(self->line);
    free(self);
}

static const void *get_extension(void *instance, const char *id) {
    struct source *self = instance;
    return strcmp(id, EXAMPLE_ALL_LINES) == 0 ? &self->listeners.extension : NULL;
}

/* The file is what the plugin has started with. */
static treadle_status set(void *instance, const char *key, const char *value) {
    (void)instance, (void)key, (void)value;
    return TREADLE_E_STATE;
}

static const char *const required[] = {EXAMPLE_WATCHER, NULL}, *const provided[] = {EXAMPLE_ALL_LINES, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "file", .description = "whose lines are told"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.example.log-source",
    .name = "Log source",
    .version = "1.0",
    .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .required = required,
    .provided = provided,
    .settings = settings,
    .setting_count = sizeof settings / sizeof *settings,
    .init = init,
    .start = start,
    .stop = stop,
    .deinit = deinit,
    .get_extension = get_extension,
    .set = set,
};
TREADLE_PLUGIN_EXPORT(description)
static const treadle_extension_descriptor descriptor = LISTENERS_DESCRIPTOR(EXAMPLE_ALL_LINES);
TREADLE_PLUGIN_EXPORT_EXTENSIONS(&descriptor)
