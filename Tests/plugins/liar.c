/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * liar.c: its description is what LIE says in the environment. */
#define PROBE_ID "org.example.liar"
#define PROBE_IS_NO_PLUGIN
#include "probe.h"

#include <stdlib.h>

static const char *const bad_list[] = {"no slash", NULL};
static treadle_plugin_setting bad_setting = {.struct_size = sizeof(treadle_plugin_setting), .key = "size", .type = TREADLE_SETTING_INTEGER,
                                             .default_value = "many"};

__attribute__((visibility("default"))) const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi);
const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi) {
    static treadle_plugin_description lie;
    const char *what = getenv("LIE");
    if (!what || host_abi >> 16 != 1) return NULL;
    lie = description;
    switch (atoi(what)) {
    case 1: return NULL;
    case 2: lie.struct_size = 8; break;
    case 3: lie.struct_size = SIZE_MAX; break;
    case 4: lie.id = NULL; break;
    case 5: lie.id = "Not A Name"; break;
    case 6: lie.id = "org.example.0123456789012345678901234567890123456789012345678901234567890"; break;
    case 7: lie.abi_min = lie.abi_max = 0x20000; break;
    case 8: lie.abi_min = lie.abi_max + 1; break;
    case 9: lie.abi_min = lie.abi_max = 1; break;
    case 10: lie.behaviour = 99; break;
    case 11: lie.flags = 0x80000000u; break;
    case 12: lie.name = "\xff"; break;
    case 13: lie.version = NULL; break;
    case 14: lie.init = NULL; break;
    case 15: lie.deinit = NULL; break;
    case 16: lie.required = bad_list; break;
    case 17: lie.provided = bad_list; break;
    case 18: lie.settings = NULL; break;
    case 19: lie.setting_count = UINT32_MAX; break;
    case 20: lie.settings = &bad_setting, lie.setting_count = 1; break;
    case 21: lie.reserved = 1; break;
    default: break;
    }
    return &lie;
}
