/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * liar.c: its description is what LIE says in the environment. */
#define PROBE_ID "org.example.liar"
#define PROBE_IS_NO_PLUGIN
#include "probe.h"

#include <stdlib.h>

static const char *const bad_list[] = {"no slash", NULL};
/* Ids from lie 22 on, then names of extensions. */
static const char *const bad_ids[] = {"ab", "a..b", "a.b.", ".a.b", "a.-b", "a_.b", "a.b/1", "Org.example"};
static const char *const bad_names[] = {"a.b/0", "a.b/01", "a.b/", "a.b/1.2", "a.b/12345678", "ab/1", "a..b/1", "a.b/-1"};
enum { FIRST_ID = 22, FIRST_NAME = FIRST_ID + sizeof bad_ids / sizeof *bad_ids, FIRST_SETTING = FIRST_NAME + sizeof bad_names / sizeof *bad_names };
static treadle_plugin_setting bad_setting = {.struct_size = sizeof(treadle_plugin_setting), .key = "size", .type = TREADLE_SETTING_INTEGER,
                                             .default_value = "many"};
/* A setting, from lie FIRST_SETTING on. */
static treadle_plugin_setting bad_settings[] = {
    {.type = TREADLE_SETTING_REAL, .default_value = "1", .minimum = 0, .maximum = 1},
    {.type = TREADLE_SETTING_REAL, .default_value = "1e309"},
    {.type = TREADLE_SETTING_REAL, .default_value = "inf"},
    {.type = TREADLE_SETTING_TEXT, .minimum = -1},
    {.type = TREADLE_SETTING_BOOLEAN, .default_value = "true", .maximum = 1},
    {.type = TREADLE_SETTING_TEXT, .description = "\xc3"},
    {.type = TREADLE_SETTING_TEXT, .default_value = "\xed\xa0\x80"},
    {.type = TREADLE_SETTING_INTEGER, .default_value = "1", .minimum = 2, .maximum = 1},
    {.type = 4, .default_value = "1"},
};
static void tell_another(treadle_plugin_description *lie, size_t number) {
    static const char *list[2];
    if (number < FIRST_NAME) {
        lie->id = bad_ids[number - FIRST_ID];
    } else if (number < FIRST_SETTING) {
        list[0] = bad_names[number - FIRST_NAME];
        lie->optional = list;
    } else if (number < FIRST_SETTING + sizeof bad_settings / sizeof *bad_settings) {
        treadle_plugin_setting *setting = &bad_settings[number - FIRST_SETTING];
        setting->struct_size = sizeof *setting;
        setting->key = "size";
        lie->settings = setting, lie->setting_count = 1;
    }
}

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
    default:
        if (atoi(what) >= FIRST_ID) tell_another(&lie, (size_t)atoi(what));
        break;
    }
    return &lie;
}
