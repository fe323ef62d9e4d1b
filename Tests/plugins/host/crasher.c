/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * crasher.c: crashes where the setting says: in its init, in a library that its init calls, in a timer's callback. */
#include "people.h"

static void crash(treadle_timer timer, void *info) { (void)timer, *(volatile int *)info = 1; }
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    char where[16];
    size_t length;
    *out_instance = NULL;
    treadle_status status = host->copy_setting(host, "where", where, sizeof where, &length);
    if (strcmp(where, "init") == 0) crash(NULL, NULL);
    if (strcmp(where, "library") == 0) abort();
    if (strcmp(where, "callback") == 0) status = treadle_timer_start(0, 0, crash, NULL, NULL);
    if (strcmp(where, "refuses") == 0) return TREADLE_E_STATE;
    return status;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "where", .default_value = "init"}};
DESCRIBED("crasher", .settings = settings, .setting_count = 1)
