/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_every_test.c: each plugin of the tests is loaded in a process of its own, and either runs there or is refused with a text that
 * names why. The plugins of the examples have a test of their own. */
#include "plugin_lines.h"

#include <dirent.h>

/* What most plugins of the tests want of their host: a struct whose functions take handles, which has no descriptor. */
static const char script[] = "test.script/1";
static const struct every {
    const char *name, *refusal; /* NULL: it runs */
} every[] = {
    {"isolated", NULL}, {"store", NULL}, {"store_user", NULL}, {"confined", NULL}, {"filtered", NULL}, {"bringer", NULL},
    {"busy", script}, {"clash", script}, {"early", script}, {"excuse", script}, {"forgetful", script}, {"keeper", script},
    {"meeter", script}, {"patient", script}, {"provider", script}, {"restless", script}, {"settler", script}, {"shortened", script},
    {"stays", script}, {"unique", script}, {"version_two", script}, {"wisher", script},
    {"ring_one", script}, {"ring_two", script}, {"user", script}, {"visitor", script}, {"orphan", script},
    /* Refused in any process. */
    {"bare", "TREADLE_PLUGIN"}, {"liar", "has no description"}, {"newer", "has no description"}, {"no_plugin", "treadle_plugin_query"},
    {"selfless", "TREADLE_PLUGIN"}, {"steps", "treadle_plugin_query"}, {"unbound", "nobody_has_this"},
};

static const struct every *find(const char *name) {
    for (size_t i = 0; i < COUNT(every); i++)
        if (strcmp(every[i].name, name) == 0) return &every[i];
    check_failed(__FILE__, __LINE__, "the plugin %s is not in the list", name);
}
static void try_one(const struct every *one) {
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_of(path_of(one->name));
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.log = keep_line;
    lines[0] = 0;
    treadle_status status = treadle_plugin_load(&config, &plugin);
    bool is_loaded = status == TREADLE_OK;
    if (is_loaded) status = treadle_plugin_start(plugin);
    if (one->refusal) {
        CHECK(status < 0);
        CHECK_ERROR_SAYS(one->refusal);
    } else {
        CHECK_INT(status, TREADLE_OK);
    }
    if (one->refusal == script) CHECK_ERROR_SAYS("has no descriptor");
    CHECK(!is_mapped(one->name));
    if (is_loaded) unload(plugin);
}
TEST(every_plugin_runs_isolated_or_is_refused_by_name, "PLUG-5 PLUG-9") {
    const char *folder = getenv("TREADLE_TEST_PLUGINS");
    DIR *opened = opendir(folder ? folder : ".");
    int count = 0;
    CHECK(opened != NULL);
    for (struct dirent *entry; (entry = readdir(opened));) {
        char name[256];
        size_t length = strlen(entry->d_name);
        if (length < 4 || length > 200 || strcmp(entry->d_name + length - 3, ".so") != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)length - 3, entry->d_name);
        try_one(find(name));
        count++;
        progress();
    }
    closedir(opened);
    CHECK_INT(count, COUNT(every));
    have_no_children();
}
TEST_MAIN()
