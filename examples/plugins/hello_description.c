/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * hello_description.c: what hello.swift says of itself. It is written in C since a description is static data with pointers to
 * other static data, and since Swift takes the functions of Treadle's headers, but not the one variable that they go through
 * (treadle_plugin_self). */
#include <treadle.h>

treadle_status hello_init(const treadle_plugin_host *host, void **out_instance);
treadle_status hello_start(void *instance);
void hello_deinit(void *instance);
treadle_status hello_set(void *instance, const char *key, const char *value);

static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "interval-ms", .type = TREADLE_SETTING_INTEGER,
     .default_value = "1000", .minimum = 1, .maximum = 9999999, .description = "how often to greet"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.example.hello",
    .name = "Hello",
    .version = "1.0",
    .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .settings = settings,
    .setting_count = sizeof settings / sizeof *settings,
    .init = hello_init,
    .start = hello_start,
    .deinit = hello_deinit,
    .set = hello_set,
};
TREADLE_PLUGIN_EXPORT(description)
