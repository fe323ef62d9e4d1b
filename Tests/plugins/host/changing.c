/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * changing.c: says something else of itself each time. */
#include "people.h"

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    (void)host;
    *out_instance = NULL;
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

__attribute__((visibility("default"))) const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi);
const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi) {
    static char version[8] = "1";
    static const treadle_plugin_description description = {
        TREADLE_PLUGIN_COMMON, .id = "org.example.changing", .name = "a changing one", .version = version,
        .flags = TREADLE_PLUGIN_MAY_UNMAP, .init = init, .deinit = deinit};
    (void)host_abi;
    version[0] = version[0] == '1' ? '2' : '1';
    return &description;
}
