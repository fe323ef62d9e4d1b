/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * newer.c: was built for a later minor version: its description and its settings are longer, and it speaks the versions that
 * TREADLE_TEST_VERSIONS says in the environment, as "10000-10003". */
#define PROBE_ID "org.example.newer"
#define PROBE_IS_NO_PLUGIN
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
    treadle_plugin_description known;
    void *later[4];
} longer;

/* As they would be in a later version, whose new member is not used. */
static struct {
    treadle_plugin_setting known;
    void *later;
} longer_settings[sizeof settings / sizeof *settings];

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    char text[32];
    treadle_status status = probe_init(host, out_instance);
    snprintf(text, sizeof text, "abi %x", host->abi);
    return status == TREADLE_OK ? step(text) : status;
}

__attribute__((visibility("default"))) const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi);
const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi) {
    const char *versions = getenv("TREADLE_TEST_VERSIONS");
    (void)host_abi;
    longer.known = description;
    longer.known.struct_size = sizeof longer;
    longer.known.init = init;
    longer.later[0] = &longer;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        longer_settings[i].known = settings[i];
        longer_settings[i].known.struct_size = sizeof *longer_settings;
    }
    longer.known.settings = &longer_settings[0].known;
    if (!versions || sscanf(versions, "%x-%x", &longer.known.abi_min, &longer.known.abi_max) != 2) return NULL;
    return &longer.known;
}
