/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * filter.c: a plugin that tells those lines of a log that have a word in them; extension: EXAMPLE_LINES of lines.h.
 *
 * It shows a plugin in the middle: it requires an extension, and provides one. It knows nothing of who reads the log, and
 * nothing of who wants the lines.
 *
 *   word    what a line has in it; empty by default, which every line has. It may be changed at any time.
 *
 * It has no loop: lines come and go on the thread of who reads the log. */
#include <string.h>

#include "lines.h"
#include "listeners.h"
#include "listening.h"

struct filter {
    struct listeners listeners;
    const example_lines *source;
    example_text_fn listener; /* take_line */
    pthread_mutex_t lock; /* of the word, which may be changed on any thread */
    char *word;
};

static treadle_status take_line(treadle_call *call, void *info) {
    struct filter *self = info;
    const char *line = text_of(call);
    pthread_mutex_lock(&self->lock);
    bool is_wanted = strstr(line, self->word) != NULL;
    pthread_mutex_unlock(&self->lock);
    if (is_wanted) listeners_tell(&self->listeners, line);
    return TREADLE_OK;
}

static treadle_status set(void *instance, const char *key, const char *value) {
    struct filter *self = instance;
    char *word = strdup(value);
    (void)key;
    if (!word) return TREADLE_E_NOMEM;
    pthread_mutex_lock(&self->lock);
    char *old = self->word;
    self->word = word;
    pthread_mutex_unlock(&self->lock);
    free(old);
    return TREADLE_OK;
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    struct filter *self = calloc(1, sizeof *self);
    char word[256];
    size_t length;
    if (!self) return TREADLE_E_NOMEM;
    self->source = host->get_extension(host, EXAMPLE_ALL_LINES);
    treadle_status status = self->source ? host->copy_setting(host, "word", word, sizeof word, &length) : TREADLE_E_NOT_FOUND;
    if (status == TREADLE_OK && length >= sizeof word) status = TREADLE_E_RANGE;
    if (status == TREADLE_OK && !(self->word = strdup(word))) status = TREADLE_E_NOMEM;
    if (status != TREADLE_OK) return free(self), status;
    pthread_mutex_init(&self->lock, NULL);
    listeners_begin(&self->listeners);
    *out_instance = self;
    return TREADLE_OK;
}

static treadle_status start(void *instance) {
    struct filter *self = instance;
    treadle_status status = make_listener(take_line, self, &self->listener);
    return status == TREADLE_OK ? self->source->add_listener(self->source->instance, self->listener, NULL) : status;
}

/* The source still lives; when this has returned it knows nothing of this plugin any more. */
static treadle_status stop(void *instance, int64_t timeout_ns) {
    struct filter *self = instance;
    (void)timeout_ns;
    return self->source->remove_listener(self->source->instance, self->listener, NULL);
}

static void deinit(void *instance) {
    struct filter *self = instance;
    listeners_end(&self->listeners);
    pthread_mutex_destroy(&self->lock);
    free(self->word);
    free(self);
}

static const void *get_extension(void *instance, const char *id) {
    struct filter *self = instance;
    return strcmp(id, EXAMPLE_LINES) == 0 ? &self->listeners.extension : NULL;
}

static const char *const required[] = {EXAMPLE_ALL_LINES, NULL}, *const provided[] = {EXAMPLE_LINES, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "word", .description = "what a line has in it"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.example.log-filter",
    .name = "Log filter",
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
static const treadle_extension_descriptor descriptor = LISTENERS_DESCRIPTOR(EXAMPLE_LINES);
TREADLE_PLUGIN_EXPORT_EXTENSIONS(&descriptor)
