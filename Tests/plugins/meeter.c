/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * meeter.c: ends those that call it. */
#define PROBE_ID "org.example.meeter"
#define PROBE_PROVIDED MEETING,
#define PROBE_IS_NO_PLUGIN
#include "meeting.h"
#include "probe.h"

static treadle_status meet(treadle_plugin who, int64_t timeout_ns, void (*back)(void)) {
    if (back) back();
    treadle_status status = treadle_plugin_close(who, timeout_ns);
    if (back) back();
    return status;
}
static const struct meeting meeting = {meet};
static const void *get_extension(void *instance, const char *id) {
    (void)instance;
    return strcmp(id, MEETING) == 0 ? &meeting : NULL;
}

static const treadle_plugin_description meeter = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "a meeter", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = probe_init, .start = probe_start, .stop = probe_stop, .deinit = probe_deinit,
    .get_extension = get_extension, .set = probe_set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(meeter)
