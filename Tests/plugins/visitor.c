/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * visitor.c: calls another plugin in its timer, on a thread of its own if ALONE is in the environment, and is called back. Or
 * it ends the plugin whose handle ENDS says. */
#define PROBE_ID "org.example.visitor"
#define PROBE_REQUIRED MEETING,
#define PROBE_IS_NO_PLUGIN
#include "meeting.h"
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>

static void back(void) { step("back"); }
static void visit(treadle_timer timer, void *info) {
    const struct meeting *meeting = treadle_plugin_self->get_extension(treadle_plugin_self, MEETING);
    char text[32];
    (void)timer, (void)info;
    if (!meeting) return;
    snprintf(text, sizeof text, "met %d", meeting->meet(treadle_plugin_self->plugin, TREADLE_FOREVER, back));
    step(text);
}
/* It ends the one that it uses. */
static void end_other(treadle_timer timer, void *info) {
    treadle_plugin other = (treadle_plugin)(uintptr_t)strtoull(getenv("ENDS"), NULL, 16);
    char text[32];
    (void)timer, (void)info;
    snprintf(text, sizeof text, "ended %d", treadle_plugin_close(other, 0));
    step(text);
}
static void *work(void *info) {
    treadle_timer_start(0, 0, visit, NULL, NULL);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    return info;
}
static treadle_status start(void *instance) {
    treadle_thread thread;
    treadle_thread_config config = {.struct_size = sizeof config, .fn = work};
    treadle_status status = probe_start(instance);
    if (status != TREADLE_OK) return status;
    if (getenv("ENDS")) return treadle_timer_start(0, 0, end_other, NULL, NULL);
    if (!getenv("ALONE")) return treadle_timer_start(0, 0, visit, NULL, NULL);
    status = treadle_thread_create(&config, &thread);
    return status == TREADLE_OK ? treadle_thread_start(thread) : status;
}

static const treadle_plugin_description visitor = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "a visitor", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = probe_init, .start = start, .stop = probe_stop, .deinit = probe_deinit,
    .get_extension = probe_get_extension, .set = probe_set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(visitor)
