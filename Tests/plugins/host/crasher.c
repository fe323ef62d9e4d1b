/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * crasher.c: crashes where the setting says: in its init, in a library that its init calls, in a timer's callback; or uses up the
 * stack of the main thread, of one of Treadle's, of one of its own. */
#include <pthread.h>

#include "people.h"

static void crash(treadle_timer timer, void *info) { (void)timer, *(volatile int *)info = 1; }
/* Deeper than any stack. */
static volatile int deepest = 1 << 30;
static int descend(int depth) {
    volatile char room[256];
    room[depth % 256] = 1;
    return depth < deepest ? descend(depth + 1) + room[(depth + 1) % 256] : 0;
}
static void *descend_here(void *info) { return descend(0), info; }
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    char where[16];
    size_t length;
    *out_instance = NULL;
    treadle_status status = host->copy_setting(host, "where", where, sizeof where, &length);
    if (strcmp(where, "init") == 0) crash(NULL, NULL);
    if (strcmp(where, "library") == 0) abort();
    if (strcmp(where, "callback") == 0) status = treadle_timer_start(0, 0, crash, NULL, NULL);
    if (strcmp(where, "stack") == 0) descend(0);
    if (strcmp(where, "thread") == 0) status = treadle_thread_detach_new(descend_here, NULL, NULL, NULL);
    if (strcmp(where, "pthread") == 0) status = pthread_create(&(pthread_t){0}, NULL, descend_here, NULL) == 0 ? TREADLE_OK : TREADLE_E_SYSTEM;
    if (strcmp(where, "refuses") == 0) return TREADLE_E_STATE;
    return status;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "where", .default_value = "init"}};
DESCRIBED("crasher", .settings = settings, .setting_count = 1)
