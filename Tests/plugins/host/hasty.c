/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * hasty.c: its constructor starts a thread, before anybody has asked it for anything. */
#include "people.h"

#include <pthread.h>
#include <unistd.h>

static void *go_on(void *info) {
    for (;;) pause();
    return info;
}
static __attribute__((constructor)) void begin(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, go_on, NULL) == 0) pthread_detach(thread);
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    (void)host;
    *out_instance = NULL;
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
DESCRIBED("hasty", )
