/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * excuse.c: says why it fails, as EXCUSE in the environment has it. */
#define PROBE_ID "org.example.excuse"
#define PROBE_IS_NO_PLUGIN
#include "probe.h"

#include <stdlib.h>

static treadle_status excused(treadle_status status) {
    if (status < 0) treadle_plugin_self->fail(treadle_plugin_self, getenv("EXCUSE"));
    return status;
}
static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return excused(probe_init(host, out_instance)); }
static treadle_status start(void *instance) {
    treadle_status status = probe_start(instance);
    /* Of what does not fail it is nothing. */
    if (status == TREADLE_OK) treadle_plugin_self->fail(treadle_plugin_self, "an excuse of before");
    return excused(status);
}
static treadle_status set(void *instance, const char *key, const char *value) {
    treadle_status status = probe_set(instance, key, value);
    return strcmp(key, "size") == 0 ? status : excused(status);
}

static const treadle_plugin_description excuse = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "one with an excuse", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = init, .start = start, .stop = probe_stop, .deinit = probe_deinit,
    .get_extension = probe_get_extension, .set = set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(excuse)
