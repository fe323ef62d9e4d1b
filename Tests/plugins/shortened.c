/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * shortened.c: goes on with a table that ends early, as an older host would give it. */
#define PROBE_ID "org.example.shortened"
#define PROBE_IS_NO_PLUGIN
#include "probe.h"

#include <stdlib.h>

static treadle_plugin_host shorter;
static void *table;

static treadle_status start(void *instance) {
    size_t size = offsetof(treadle_plugin_table, loop_open_pollable);
    int32_t fd = -7;
    /* Of exactly that size: who reads behind it is found by a checker of memory. */
    table = malloc(size);
    if (!table) return TREADLE_E_NOMEM;
    memcpy(table, treadle_plugin_self->table, size);
    memcpy(table, &size, sizeof size);
    shorter = *treadle_plugin_self;
    shorter.table = table;
    treadle_plugin_self = &shorter;
    if (treadle_loop_open_pollable(treadle_loop_current(), TREADLE_DEFAULT_MODE, &fd) != TREADLE_E_NOT_SUPPORTED || fd != -7) return TREADLE_E_PLUGIN;
    if (treadle_has_last_resort()) return TREADLE_E_PLUGIN;
    /* The functions in front of the end work. */
    if (treadle_loop_wake(treadle_loop_current()) != TREADLE_OK) return TREADLE_E_PLUGIN;
    return probe_start(instance);
}
static void deinit(void *instance) {
    probe_deinit(instance);
    free(table);
}

static const treadle_plugin_description shortened = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "one of an older host", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = probe_init, .start = start, .stop = probe_stop, .deinit = deinit,
    .get_extension = probe_get_extension, .set = probe_set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(shortened)
