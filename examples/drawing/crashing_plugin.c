/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * crashing_plugin.c: counts ten times in the time that its setting says, keeps the count by checkpoints, and then writes to an address
 * that does not exist. */
#include <treadle.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 10 };

static const treadle_plugin_host *host;
static int count;

static void go_on(treadle_timer timer, void *info) {
    char line[64];
    (void)timer, (void)info;
    count++;
    snprintf(line, sizeof line, "count %d", count);
    host->log(host, 2, line);
    host->checkpoint(host);
    if (count % COUNTS == 0) *(volatile int *)(uintptr_t)8 = 1;
}

static treadle_status init(const treadle_plugin_host *given, void **out_instance) {
    host = given;
    *out_instance = &count;
    return TREADLE_OK;
}
static treadle_status start(void *instance) {
    char text[16];
    size_t length;
    (void)instance;
    treadle_status status = host->copy_setting(host, "crash-ms", text, sizeof text, &length);
    int64_t interval = (int64_t)atoi(text) * 1000000 / COUNTS;
    return status == TREADLE_OK ? treadle_timer_start(interval, interval, go_on, NULL, NULL) : status;
}
static void deinit(void *instance) { (void)instance; }
static treadle_status save(void *instance, treadle_plugin_write_fn write, void *sink) {
    write(sink, instance, sizeof count);
    return TREADLE_OK;
}
static treadle_status restore(void *instance, const void *bytes, size_t size) {
    if (size != sizeof count) return TREADLE_E_ARG;
    memcpy(instance, bytes, size);
    return TREADLE_OK;
}

static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "crash-ms", .type = TREADLE_SETTING_INTEGER, .default_value = "1000",
     .minimum = 10, .maximum = 1000000, .description = "after how many milliseconds it crashes"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.crashing", .name = "Crashing", .version = "1.0", .settings = settings, .setting_count = 1,
    .init = init, .start = start, .deinit = deinit, .save = save, .restore = restore,
};
TREADLE_PLUGIN_EXPORT(description)
