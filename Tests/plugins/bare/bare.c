/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * bare.c: a plugin that is built without TREADLE_PLUGIN: the loader would bind it to its program's library. */
#include <treadle.h>

static void fire(treadle_timer timer, void *info) { (void)timer, (void)info; }
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    (void)host, *out_instance = NULL;
    return treadle_timer_start(0, 1000, fire, NULL, NULL);
}
static void deinit(void *instance) { (void)instance; }

static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.bare", .name = "a bare one", .version = "1", .init = init, .deinit = deinit};
TREADLE_PLUGIN_EXPORT(description)
