/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * probe.h: a plugin that asks its test at every step. What differs between them is defined before: PROBE_ID, and what it
 * requires, may use and provides, its flags, version and settings. */
#include "script.h"

#include <string.h>

#ifndef PROBE_REQUIRED
#define PROBE_REQUIRED
#endif
#ifndef PROBE_OPTIONAL
#define PROBE_OPTIONAL
#endif
#ifndef PROBE_PROVIDED
#define PROBE_PROVIDED
#endif
#ifndef PROBE_FLAGS
#define PROBE_FLAGS TREADLE_PLUGIN_MAY_UNMAP
#endif
#ifndef PROBE_VERSION
#define PROBE_VERSION "1"
#endif
#ifndef PROBE_SETTINGS
#define PROBE_SETTINGS {.struct_size = sizeof(treadle_plugin_setting), .key = "size", .type = TREADLE_SETTING_INTEGER, \
     .default_value = "3", .minimum = 1, .maximum = 9, .description = "how much"}, \
    {.struct_size = sizeof(treadle_plugin_setting), .key = "greeting", .default_value = "hello"}, \
    {.struct_size = sizeof(treadle_plugin_setting), .key = "loud", .type = TREADLE_SETTING_BOOLEAN, .default_value = "false"}, \
    {.struct_size = sizeof(treadle_plugin_setting), .key = "ratio", .type = TREADLE_SETTING_REAL, .default_value = "1.5e-3"}
#endif

#ifndef PROBE_STOP
#define PROBE_STOP(timeout_ns) ((void)(timeout_ns), "stop")
#endif

static const struct script *script;
static char state[32] = "new";

static treadle_status step(const char *what) { return script->step(treadle_plugin_self, what); }

static treadle_status probe_init(const treadle_plugin_host *host, void **out_instance) {
    script = host->get_extension(host, SCRIPT);
    *out_instance = state;
    return script ? step("init") : TREADLE_E_NOT_FOUND;
}
static treadle_status probe_start(void *instance) { return instance == state ? step("start") : TREADLE_E_ARG; }
static treadle_status probe_stop(void *instance, int64_t timeout_ns) {
    return instance == state ? step(PROBE_STOP(timeout_ns)) : TREADLE_E_ARG;
}
static void probe_deinit(void *instance) {
    (void)instance;
    step("deinit");
}
static int probe_number(void) { return 42; }
static const void *probe_get_extension(void *instance, const char *id) {
    (void)instance, (void)id;
    return step("get_extension") == TREADLE_OK ? (const void *)(uintptr_t)probe_number : NULL;
}
static treadle_status probe_set(void *instance, const char *key, const char *value) {
    (void)instance, (void)key;
    strncpy(state, value, sizeof state - 1);
    return step("set");
}
static treadle_status probe_save(void *instance, treadle_plugin_write_fn write, void *sink) {
    (void)instance;
    for (size_t i = 0; i <= strlen(state); i++) write(sink, state + i, 1);
    return step("save");
}
static treadle_status probe_restore(void *instance, const void *bytes, size_t size) {
    (void)instance;
    if (size > sizeof state) return TREADLE_E_RANGE;
    memcpy(state, bytes, size);
    return step(state);
}

static const char *const required[] = {SCRIPT, PROBE_REQUIRED NULL}, *const optional[] = {PROBE_OPTIONAL NULL},
                  *const provided[] = {PROBE_PROVIDED NULL};
static const treadle_plugin_setting settings[] = {PROBE_SETTINGS};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = PROBE_ID,
    .name = "a probe",
    .version = PROBE_VERSION,
    .flags = PROBE_FLAGS,
    .setting_count = sizeof settings / sizeof *settings,
    .required = required,
    .optional = optional,
    .provided = provided,
    .settings = settings,
    .init = probe_init,
    .start = probe_start,
    .stop = probe_stop,
    .deinit = probe_deinit,
    .get_extension = probe_get_extension,
    .set = probe_set,
    .save = probe_save,
    .restore = probe_restore,
};
#ifndef PROBE_IS_NO_PLUGIN
TREADLE_PLUGIN_EXPORT(description)
#endif
