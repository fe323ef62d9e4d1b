/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * listeners.h: the list behind an extension of texts.h; each plugin has its own copy of this code. No lock is held while a
 * listener runs, so that it may add and remove listeners. One thread tells, any may add and remove. */
#ifndef EXAMPLE_LISTENERS_H
#define EXAMPLE_LISTENERS_H

#include <pthread.h>
#include <stdlib.h>

#include "texts.h"

struct listener {
    struct listener *next;
    example_text_fn fn; /* NULL: removed */
    void *info;
    int calls;          /* that have not returned */
};
struct listeners {
    struct example_texts extension; /* its instance is this struct */
    pthread_mutex_t lock;           /* of all below */
    pthread_cond_t has_returned;
    struct listener *first;
    pthread_t teller; /* while a listener has calls */
    int uses;         /* who goes through the list; nothing is freed meanwhile */
};

static inline void listeners_sweep(struct listeners *list) {
    struct listener **at = &list->first, *listener;
    if (list->uses > 0) return;
    while ((listener = *at)) {
        if (listener->fn) {
            at = &listener->next;
        } else {
            *at = listener->next;
            free(listener);
        }
    }
}

static inline struct listener **listeners_find(struct listeners *list, example_text_fn fn, void *info) {
    struct listener **at = &list->first;
    while (*at && !((*at)->fn == fn && (*at)->info == info)) at = &(*at)->next;
    return at;
}

static inline treadle_status listeners_add(void *instance, example_text_fn fn, void *info) {
    struct listeners *list = instance;
    struct listener *listener = fn ? calloc(1, sizeof *listener) : NULL;
    if (!listener) return fn ? TREADLE_E_NOMEM : TREADLE_E_ARG;
    listener->fn = fn, listener->info = info;
    pthread_mutex_lock(&list->lock);
    struct listener **end = listeners_find(list, fn, info);
    treadle_status status = *end ? TREADLE_E_EXISTS : TREADLE_OK;
    if (status == TREADLE_OK) *end = listener;
    pthread_mutex_unlock(&list->lock);
    if (status < 0) free(listener);
    return status;
}

static inline treadle_status listeners_remove(void *instance, example_text_fn fn, void *info) {
    struct listeners *list = instance;
    if (!fn) return TREADLE_E_ARG;
    pthread_mutex_lock(&list->lock);
    struct listener *listener = *listeners_find(list, fn, info);
    if (listener) {
        listener->fn = NULL;
        list->uses++;
        while (listener->calls > 0 && !pthread_equal(list->teller, pthread_self()))
            pthread_cond_wait(&list->has_returned, &list->lock);
        list->uses--;
        listeners_sweep(list);
    }
    pthread_mutex_unlock(&list->lock);
    return listener ? TREADLE_OK : TREADLE_E_NOT_FOUND;
}

static inline void listeners_tell(struct listeners *list, const char *text) {
    pthread_mutex_lock(&list->lock);
    list->uses++;
    for (struct listener *listener = list->first; listener; listener = listener->next) {
        example_text_fn fn = listener->fn;
        if (!fn) continue;
        listener->calls++;
        list->teller = pthread_self();
        pthread_mutex_unlock(&list->lock);
        fn(listener->info, text);
        pthread_mutex_lock(&list->lock);
        listener->calls--;
        pthread_cond_broadcast(&list->has_returned);
    }
    list->uses--;
    listeners_sweep(list);
    pthread_mutex_unlock(&list->lock);
}

static inline void listeners_begin(struct listeners *list) {
    *list = (struct listeners){.extension = {sizeof list->extension, list, listeners_add, listeners_remove}};
    pthread_mutex_init(&list->lock, NULL);
    pthread_cond_init(&list->has_returned, NULL);
}

/* What a plugin exports of it, for hosts that run the plugin in a process of its own:
 *     static const treadle_extension_descriptor descriptor = LISTENERS_DESCRIPTOR(EXAMPLE_WATCHER);
 *     TREADLE_PLUGIN_EXPORT_EXTENSIONS(&descriptor) */
static const treadle_extension_argument listener_arguments[] = {{.pass = TREADLE_PASS_INFO}, {.pass = TREADLE_PASS_TEXT}};
static const treadle_extension_function listener_function = {
    .name = "listener", .signature = "v^v*", .arguments = listener_arguments, .argument_count = 2};
static const treadle_extension_argument listeners_arguments[] = {
    {.pass = TREADLE_PASS_INSTANCE},
    {.pass = TREADLE_PASS_KEPT_CALLBACK, .other = 1 + 2, .callback = &listener_function},
    {.pass = TREADLE_PASS_INFO}};
static const treadle_extension_function listeners_functions[] = {
    {.name = "add_listener", .signature = "i^v^?^v", .arguments = listeners_arguments, .argument_count = 3, .result = TREADLE_PASS_STATUS},
    {.name = "remove_listener", .signature = "i^v^?^v", .arguments = listeners_arguments, .argument_count = 3, .result = TREADLE_PASS_STATUS}};
#define LISTENERS_DESCRIPTOR(id)                                                                                                   \
    {.struct_size = sizeof(treadle_extension_descriptor), .name = id, .functions = listeners_functions, .function_count = 2, \
     .flags = TREADLE_EXTENSION_HAS_SIZE | TREADLE_EXTENSION_HAS_INSTANCE}

/* Nobody tells, adds or removes any more. */
static inline void listeners_end(struct listeners *list) {
    for (struct listener *listener = list->first; listener; listener = listener->next) listener->fn = NULL;
    listeners_sweep(list);
    pthread_cond_destroy(&list->has_returned);
    pthread_mutex_destroy(&list->lock);
}

#endif
