/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * older.c: was built for minor version 0, from the headers of that time; what it is given must be at least what it knows. */
#include "minor0/treadle.h"

#define PROBE_ID "org.example.older"
#define PROBE_PROVIDED "example.older/1",
#define PROBE_IS_NO_PLUGIN
#include "probe.h"

static void tick(treadle_timer timer, void *info) {
    (void)info;
    step(treadle_timer_invalidate(timer) == TREADLE_OK ? "tick" : "a timer that is none");
}
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    treadle_status status = probe_init(host, out_instance);
    if (status != TREADLE_OK) return status;
    if (host->abi != 0x10000 || host->behaviour != 1 || host->struct_size < sizeof *host) return TREADLE_E_PLUGIN;
    if (host->table->struct_size < sizeof *host->table || host != treadle_plugin_self) return TREADLE_E_PLUGIN;
    return TREADLE_OK;
}
/* The first of the table, the last, and one that makes something. */
static treadle_status start(void *instance) {
    treadle_closure closure;
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "v"};
    if (treadle_closure_create(&config, &closure) != TREADLE_E_ARG) return TREADLE_E_PLUGIN;
    if (strncmp(treadle_version_string(), "1.", 2) != 0) return TREADLE_E_PLUGIN;
    /* Its holders are those of that time: nothing is written behind the two. */
    struct { treadle_scope_holder known[2]; char behind[256]; } room;
    size_t count = 0;
    memset(&room, 7, sizeof room);
    if (treadle_scope_copy_holders(treadle_plugin_self->plugin, room.known, 2, &count) != TREADLE_OK || count == 0) return TREADLE_E_PLUGIN;
    if (room.known[0].kind == 0 || room.known[0].kind == 0x07070707 || room.known[0].label[0]) return TREADLE_E_PLUGIN;
    for (size_t i = 0; i < sizeof room.behind; i++)
        if (room.behind[i] != 7) return TREADLE_E_PLUGIN;
    treadle_status status = treadle_timer_start(0, 0, tick, NULL, NULL);
    return status == TREADLE_OK ? probe_start(instance) : status;
}

static const treadle_plugin_description older = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "an older one", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = init, .start = start, .stop = probe_stop, .deinit = probe_deinit,
    .get_extension = probe_get_extension, .set = probe_set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(older)
