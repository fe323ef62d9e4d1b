/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * selfless.c: the same, and it calls nothing. */
#include <treadle.h>

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    (void)host, *out_instance = NULL;
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.selfless", .name = "a selfless one", .version = "1", .init = init, .deinit = deinit};
TREADLE_PLUGIN_EXPORT(description)
