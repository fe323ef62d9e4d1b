/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * bringer.c: a plugin that needs a library of a folder beside it. The test writes other folders into the file. */
#include <treadle.h>

int brought(void);

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    (void)host, *out_instance = NULL;
    return brought() == 42 ? TREADLE_OK : TREADLE_E_STATE;
}
static void deinit(void *instance) { (void)instance; }

static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.bringer", .name = "a bringer", .version = "1", .flags = TREADLE_PLUGIN_MAY_UNMAP, .init = init, .deinit = deinit};
TREADLE_PLUGIN_EXPORT(description)
