/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * restless.c: starts a thread of its own, which Treadle does not know, and which calls on for ever what it was given. */
#include <pthread.h>

#include "people.h"

static void *call_on(void *info) {
    for (;;) treadle_thread_sleep_for(1000000);
    return info;
}
static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return *out_instance = NULL, meet_people(host); }
static treadle_status start(void *instance) {
    pthread_t thread;
    (void)instance;
    if (pthread_create(&thread, NULL, call_on, NULL) != 0) return TREADLE_E_SYSTEM;
    return pthread_detach(thread), TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.restless", .name = "a restless one", .version = VERSION, .required = required,
    .init = init, .start = start, .deinit = deinit};
TREADLE_PLUGIN_EXPORT(description)
