/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_kill_life_test.c: a plugin is ended in the middle of each of its own functions, from init to deinit. */
#include "plugin_kill.h"

static treadle_status start_it(treadle_plugin plugin) { return treadle_plugin_start(plugin); }
static treadle_status set_it(treadle_plugin plugin) { return treadle_plugin_set(plugin, "size", "4"); }
static treadle_status ask_it(treadle_plugin plugin) {
    const void *extension;
    return treadle_plugin_get_extension(plugin, "example.number/1", &extension);
}
static treadle_status close_it(treadle_plugin plugin) { return treadle_plugin_close(plugin, TREADLE_FOREVER); }
/* The one in its place, if there is one, goes by its handle as well. */
static treadle_status reload_it(treadle_plugin plugin) {
    treadle_plugin next = NULL;
    treadle_plugin_config config = config_of(path_of("provider"));
    treadle_status status = treadle_plugin_reload(plugin, &config, TREADLE_FOREVER, &next);
    if (next) CHECK_INT(treadle_release(next), TREADLE_OK);
    return status;
}

static const struct row {
    const char *point;
    bool has_started; /* before the point */
    treadle_status (*reach)(treadle_plugin plugin);
    int deinits; /* of all the plugins that took part */
} rows[] = {
    {"init", false, start_it, 1},
    {"start", false, start_it, 1},
    {"set", true, set_it, 1},
    {"get_extension", true, ask_it, 1},
    {"stop", true, close_it, 1},
    {"deinit", true, close_it, 1},
    {"save", true, reload_it, 2},
    {"new", true, reload_it, 2}, /* what restore gets is the step that it says */
};

struct reaching {
    const struct row *row;
    treadle_plugin plugin;
    treadle_status status;
};
static void *reach(void *info) {
    struct reaching *reaching = info;
    reaching->status = reaching->row->reach(reaching->plugin);
    return NULL;
}

static void kill_in(const struct row *row, enum who who) {
    pthread_t thread;
    struct reaching reaching = {row, NULL, 99};
    begin_point("provider", row->point, who);
    has_begun = true;
    reaching.plugin = load("provider");
    if (row->has_started) CHECK_INT(treadle_plugin_start(reaching.plugin), TREADLE_OK);
    CHECK_INT(pthread_create(&thread, NULL, reach, &reaching), 0);
    await_point(NULL);
    end_at_point(TREADLE_HOLDER_CALL);
    CHECK_INT(pthread_join(thread, NULL), 0);
    /* The one that has come in the place of another is another one. */
    size_t count;
    treadle_plugin left;
    CHECK_INT(treadle_plugin_copy_all(&left, 1, &count), TREADLE_OK);
    if (count) unload(left);
    POINT_CHECK(deinits == row->deinits);
    deinits = 1;
    check_end(NULL);
    CHECK_INT(treadle_release(reaching.plugin), TREADLE_OK);
}

static void kill_in_all(enum who who) {
    for (size_t i = 0; i < COUNT(rows); i++) kill_in(&rows[i], who);
}
TEST(each_of_its_functions_ends_its_plugin, "PLUG-4 PLUG-5 SCOPE-4") { kill_in_all(BY_ITSELF); }
TEST(another_thread_looks_during_each_of_its_functions, "PLUG-2 PLUG-4 PLUG-6 PLUG-7 SCOPE-3") { kill_in_all(BY_ANOTHER); }
TEST(another_thread_waits_during_each_of_its_functions, "PLUG-2 PLUG-4 PLUG-6 PLUG-7 SCOPE-3") { kill_in_all(BY_WAITER); }

TEST_MAIN()
