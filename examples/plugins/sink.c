/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * sink.c: a plugin that stores lines, and logs how many.
 *
 * It shows a plugin at the end of a chain, which brings those before it up when it is started, and a way to give a function to
 * somebody who may call it late: the store answers when it has written a line, which may be after this plugin has ended. So it
 * gets the pointer of a closure, which does nothing then.
 *
 * Lines come, and answers too, on the thread of who reads the log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lines.h"
#include "listening.h"
#include "store.h"

struct sink {
    const example_lines *lines;
    const struct example_store *store;
    example_text_fn listener; /* take_line */
    example_stored_fn stored_code;
    long long began; /* so that the keys of one run differ from those of the next */
    unsigned asked, stored, failed;
};

static void tell(const struct sink *self) {
    char text[96];
    snprintf(text, sizeof text, self->failed ? "stored %u lines, lost %u" : "stored %u lines", self->stored, self->failed);
    treadle_plugin_self->log(treadle_plugin_self, self->failed ? 1 : 2, text);
}

/* void (void *, const struct example_store_answer *) */
static treadle_status was_stored(treadle_call *call, void *info) {
    struct sink *self = info;
    const struct example_store_answer *answer = *(const struct example_store_answer *const *)call->arguments[1];
    if (answer->status == TREADLE_OK) self->stored++;
    else self->failed++;
    if (self->stored + self->failed == self->asked) tell(self);
    return TREADLE_OK;
}

static treadle_status take_line(treadle_call *call, void *info) {
    struct sink *self = info;
    char key[64];
    snprintf(key, sizeof key, "%lld.%06u", self->began, ++self->asked);
    if (self->store->put(self->store->instance, key, text_of(call), self->stored_code, NULL) == TREADLE_OK) return TREADLE_OK;
    self->failed++;
    tell(self);
    return TREADLE_OK;
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    struct sink *self = calloc(1, sizeof *self);
    struct timespec now;
    if (!self) return TREADLE_E_NOMEM;
    self->lines = host->get_extension(host, EXAMPLE_LINES);
    self->store = host->get_extension(host, EXAMPLE_STORE);
    if (!self->lines || !self->store) return free(self), TREADLE_E_NOT_FOUND;
    clock_gettime(CLOCK_REALTIME, &now);
    self->began = now.tv_sec * 1000000000ll + now.tv_nsec;
    *out_instance = self;
    return TREADLE_OK;
}

static treadle_status start(void *instance) {
    struct sink *self = instance;
    treadle_closure closure;
    void (*code)(void);
    treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
    config.signature = "v^v^v", config.handler = was_stored, config.info = self;
    treadle_status status = treadle_closure_create(&config, &closure);
    if (status == TREADLE_OK) status = treadle_closure_get_code(closure, &code);
    if (status == TREADLE_OK) status = make_listener(take_line, self, &self->listener);
    if (status != TREADLE_OK) return status;
    self->stored_code = (example_stored_fn)code;
    return self->lines->add_listener(self->lines->instance, self->listener, NULL);
}

/* The lines that are on their way to the store are written all the same. */
static treadle_status stop(void *instance, int64_t timeout_ns) {
    struct sink *self = instance;
    (void)timeout_ns;
    return self->lines->remove_listener(self->lines->instance, self->listener, NULL);
}

static void deinit(void *instance) { free(instance); }

static const char *const required[] = {EXAMPLE_LINES, EXAMPLE_STORE, NULL};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.example.log-sink",
    .name = "Log sink",
    .version = "1.0",
    .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .required = required,
    .init = init,
    .start = start,
    .stop = stop,
    .deinit = deinit,
};
TREADLE_PLUGIN_EXPORT(description)
