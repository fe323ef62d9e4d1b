/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * echo.c: requires the greeter, and repeats its greeting once. */
#include "greeting.h"
#include "people.h"

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    char line[128];
    *out_instance = NULL;
    greeting_fn greet = (greeting_fn)(uintptr_t)host->get_extension(host, GREETING);
    if (!greet) return TREADLE_E_NOT_FOUND;
    if (meet_people(host) < 0) return TREADLE_E_NOT_FOUND;
    char prefix[32];
    size_t length;
    host->copy_setting(host, "prefix", prefix, sizeof prefix, &length);
    snprintf(line, sizeof line, "%s%s", prefix, greet());
    people->print(line);
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {GREETING, TREADLE_HOST_EXTENSION, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "prefix", .default_value = "the greeter says "}};
DESCRIBED("greeter.echo", .settings = settings, .setting_count = 1)
