/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * blocker.c: a callback never returns, of a thread of its own or, as the setting says, of the main one. */
#include <unistd.h>

#include "people.h"

static void block(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    people->print("the blocker blocks");
    for (;;) pause();
}
static void *work(void *info) {
    treadle_timer_start(0, 0, block, NULL, NULL);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    return info;
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return *out_instance = NULL, meet_people(host); }
static treadle_status start(void *instance) {
    treadle_thread thread;
    treadle_thread_config config = {.struct_size = sizeof config, .fn = work};
    char where[16];
    size_t length;
    (void)instance;
    treadle_plugin_self->copy_setting(treadle_plugin_self, "where", where, sizeof where, &length);
    if (strcmp(where, "main") == 0) return treadle_timer_start(0, 0, block, NULL, NULL);
    treadle_status status = treadle_thread_create(&config, &thread);
    return status < 0 ? status : treadle_thread_start(thread);
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "where", .default_value = "thread"}};
DESCRIBED("blocker", .settings = settings, .setting_count = 1, .start = start)
