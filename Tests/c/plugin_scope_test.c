/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_scope_test.c: what code of a plugin makes is the plugin's, wherever it is made; what its host makes meanwhile is not. */
#include "plugins.h"

#include "../plugins/settling.h"

#define NEVER_RUN "a mode that nobody runs"

static treadle_plugin start_settler(const struct settling **out_settling) {
    const void *extension = NULL;
    treadle_plugin plugin = load("settler");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_get_extension(plugin, SETTLING, &extension), TREADLE_OK);
    *out_settling = extension;
    said[0] = 0;
    return plugin;
}

TEST(what_a_plugin_makes_in_a_scope_of_its_host_ends_with_either, "SCOPE-6 PLUG-3") {
    enum { ENTERED, NAMED, BOTH };
    for (int i = 0; i < KINDS; i++) {
        for (int way = ENTERED; way <= BOTH; way++) {
            if (way != ENTERED && !scope_kinds[i].has_context) continue;
            for (int plugin_ends_first = 0; plugin_ends_first < 2; plugin_ends_first++) {
                static struct life life;
                const struct settling *settling;
                treadle_scope scope = make_scope(NULL), other = make_scope(NULL);
                treadle_plugin plugin = start_settler(&settling);
                life_begin(&life, treadle_loop_current(), NEVER_RUN);
                if (way != ENTERED) life.scope = scope;
                CHECK_INT(settling->make(i, &life, way == ENTERED ? scope : way == BOTH ? other : NULL), TREADLE_OK);
                if (plugin_ends_first) unload(plugin);
                if (plugin_ends_first) CHECK(!is_mapped("settler"));
                if (!plugin_ends_first) CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
                if (life.released != 1)
                    check_failed(__FILE__, __LINE__, "a %s, way %d, plugin first %d: released %d", scope_kinds[i].name, way, plugin_ends_first, life.released);
                if (life.object) CHECK_INT(treadle_get_kind(life.object, &(uint32_t){0}), TREADLE_E_STALE);
                treadle_loop_run(treadle_loop_current(), NEVER_RUN, 0, 0);
                CHECK_INT(holders_of(scope, NULL, 0), 0);
                if (!plugin_ends_first) unload(plugin);
                if (plugin_ends_first) CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
                CHECK_INT(life.released, 1);
                CHECK_INT(treadle_scope_close(other, TREADLE_FOREVER), TREADLE_OK);
                CHECK_INT(treadle_release(scope), TREADLE_OK);
                CHECK_INT(treadle_release(other), TREADLE_OK);
                life_end(&life);
            }
        }
    }
}

TEST(what_is_made_for_a_scope_that_has_ended_is_refused, "SCOPE-2 SCOPE-6") {
    for (int i = 0; i < KINDS; i++) {
        static struct life life;
        const struct settling *settling;
        treadle_scope scope = make_scope(NULL);
        treadle_plugin plugin = start_settler(&settling);
        CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
        CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
        life_begin(&life, treadle_loop_current(), NEVER_RUN);
        treadle_status status = settling->make(i, &life, NULL);
        if (status != TREADLE_E_CLOSED) check_failed(__FILE__, __LINE__, "a %s: %d", scope_kinds[i].name, status);
        CHECK(!life.object);
        CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
        CHECK_INT(holders_of(plugin, NULL, 0), 0);
        unload(plugin);
        if (life.released != scope_kinds[i].is_given_back) check_failed(__FILE__, __LINE__, "a %s: released %d", scope_kinds[i].name, life.released);
        CHECK_INT(treadle_release(scope), TREADLE_OK);
        life_end(&life);
    }
}

/* --- The host's own --------------------------------------------------------------------------------- */

/* What the host makes lazily, in whatever the plugin has called. */
enum { MOST_TIMERS = 64 };
static treadle_timer timers[MOST_TIMERS];
static atomic_int timer_count;
static void make_lazily(void) {
    int index = atomic_fetch_add(&timer_count, 1);
    if (index < MOST_TIMERS) timers[index] = make_timer(NULL, NULL, FAR_AWAY, 0);
}
static treadle_status make_at_step(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)who;
    make_lazily();
    host->log(host, 2, what);
    host->get_extension(host, SCRIPT);
    return TREADLE_OK;
}
static void make_in_log(void *info, treadle_plugin plugin, uint32_t level, const char *text) {
    (void)info, (void)plugin, (void)level, (void)text;
    make_lazily();
}
static const void *make_in_get_extension(void *info, const char *id) {
    make_lazily();
    return host_extension(info, id);
}
TEST(what_the_host_makes_in_calls_of_a_plugin_is_its_own, "PLUG-3 SCOPE-6") {
    const void *extension;
    treadle_plugin plugin = NULL;
    treadle_scope scope = make_scope(NULL);
    treadle_plugin_config config = config_of(path_of("settler"));
    config.log = make_in_log;
    config.get_extension = make_in_get_extension;
    on_step = make_at_step;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "size", "4"), TREADLE_OK);
    CHECK_INT(treadle_plugin_get_extension(plugin, SETTLING, &extension), TREADLE_OK);
    ((const struct settling *)extension)->call(make_lazily);
    CHECK_INT(holders_of(plugin, NULL, 0), 0);
    unload(plugin);
    CHECK(timer_count >= 11 && timer_count <= MOST_TIMERS);
    for (int i = 0; i < timer_count; i++) CHECK_INT(discard(timers[i]), TREADLE_OK);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}

TEST_MAIN()
