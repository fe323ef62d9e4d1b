/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_versions_test.c: plugins that were built for other versions of the interface: a host that is older than its plugin
 * refuses what it lacks, a later plugin agrees on this host's version, and one with no version in common is refused by name. */
#include "plugins.h"

static treadle_status load_newer(const char *versions, treadle_plugin *out_plugin) {
    treadle_plugin_config config = config_of(path_of("newer"));
    setenv("TREADLE_TEST_VERSIONS", versions, 1);
    return treadle_plugin_load(&config, out_plugin);
}
TEST(a_function_that_an_older_host_has_not_is_refused, "PLUG-1 PLUG-3") {
    treadle_plugin plugin = load_and_start("shortened");
    CHECK_SAID("shortened.init shortened.start");
    unload(plugin);
    CHECK(!is_mapped("shortened"));
}

TEST(both_agree_on_the_latest_that_they_know, "PLUG-1") {
    const char *const good[] = {"10000-10000", "10000-10001", "10000-1ffff", "10000-2ffff"};
    for (size_t i = 0; i < COUNT(good); i++) {
        treadle_plugin plugin;
        CHECK_INT(load_newer(good[i], &plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        CHECK_SAID("newer.init newer.abi 10000 newer.start");
        unload(plugin);
        said[0] = 0;
    }
}
TEST(settings_of_a_later_version_are_found_by_the_size_that_they_state, "PLUG-1 PLUG-6 ABI-7") {
    const char *const keys[] = {"size", "greeting", "loud", "ratio"};
    const char *const given[] = {"ratio", "2.5", NULL};
    treadle_plugin plugin;
    treadle_plugin_config config = config_of(path_of("newer"));
    treadle_plugin_info info = {.struct_size = sizeof info};
    char value[16];
    size_t length;
    setenv("TREADLE_TEST_VERSIONS", "10000-10001", 1);
    config.settings = given;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_OK);
    CHECK_INT(info.description->setting_count, COUNT(keys));
    for (uint32_t i = 0; i < COUNT(keys); i++) CHECK_TEXT(treadle_plugin_get_setting(info.description, i)->key, keys[i]);
    CHECK(!treadle_plugin_get_setting(info.description, COUNT(keys)));
    CHECK_INT(treadle_plugin_copy_setting(plugin, "ratio", value, sizeof value, &length), TREADLE_OK);
    CHECK_TEXT(value, "2.5");
    CHECK_INT(treadle_plugin_set(plugin, "loud", "maybe"), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_set(plugin, "loud", "true"), TREADLE_OK);
    unload(plugin);
}
TEST(what_has_nothing_in_common_is_refused_by_name, "PLUG-1") {
    const char *const bad[] = {"10001-10003", "20000-20000", "1-2", "0-ffff", "fffe0000-ffffffff"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        treadle_plugin plugin = (treadle_plugin)&plugin;
        CHECK_INT(load_newer(bad[i], &plugin), TREADLE_E_PLUGIN);
        CHECK(!plugin);
        CHECK_ERROR_SAYS("org.example.newer");
        CHECK_ERROR_SAYS("version");
        CHECK(!is_mapped("newer"));
    }
    CHECK_SAID("");
}

TEST_MAIN()
