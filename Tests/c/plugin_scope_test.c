/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_scope_test.c: what code of a plugin makes is the plugin's, wherever it is made; what its host makes meanwhile is not. */
#include "plugins.h"

#include "../plugins/settling.h"

#define NEVER_RUN "a mode that nobody runs"

static treadle_plugin start_settler(const struct settling **out_settling) {
    const void *extension = NULL;
    treadle_plugin plugin = load_and_start("settler");
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

/* --- Code of the plugin in what is not its own ------------------------------------------------------ */

static treadle_source source_of(treadle_routine routine) {
    treadle_source source = NULL;
    treadle_source_context context = {.struct_size = sizeof context, .perform_routine = routine};
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    return source;
}
TEST(a_routine_of_a_plugin_calls_nothing_when_that_is_gone, "SCOPE-2 PLUG-3") {
    for (int has_run = 0; has_run < 2; has_run++) {
        static struct life life;
        const struct settling *settling;
        treadle_plugin plugin = start_settler(&settling);
        life_begin(&life, treadle_loop_current(), NEVER_RUN);
        CHECK_INT(settling->make_routine(&life), TREADLE_OK);
        treadle_source source = source_of(life.object);
        if (has_run) CHECK_INT(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        CHECK_INT(life.calls, has_run);
        CHECK_INT(treadle_routine_call(life.object, NULL, NULL, 0), TREADLE_OK);
        CHECK_INT(life.calls, has_run + 1);
        CHECK_INT(holders_of(plugin, NULL, 0), 1);
        unload(plugin);
        CHECK(!is_mapped("settler"));
        CHECK_INT(life.released, 1);
        CHECK_INT(treadle_routine_call(life.object, NULL, NULL, 0), TREADLE_E_STALE);
        CHECK(treadle_is_valid(source));
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0);
        CHECK_INT(life.calls, has_run + 1);
        CHECK_INT(discard(source), TREADLE_OK);
        CHECK_INT(life.released, 1);
    }
}

static sem_t in_routine, go_on;
static void stay_in_routine(struct life *life) {
    (void)life;
    sem_post(&in_routine);
    await(&go_on);
}
static void *run_routine(void *life) {
    treadle_source source = source_of(((struct life *)life)->object);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0);
    CHECK_INT(discard(source), TREADLE_OK);
    return NULL;
}
TEST(a_plugin_waits_for_a_call_of_its_routine, "SCOPE-3 PLUG-4") {
    static struct life life;
    const struct settling *settling;
    treadle_scope_holder holder;
    pthread_t runner;
    sem_init(&in_routine, 0, 0), sem_init(&go_on, 0, 0);
    treadle_plugin plugin = start_settler(&settling);
    life_begin(&life, treadle_loop_current(), NEVER_RUN);
    life.in_callback = stay_in_routine;
    CHECK_INT(settling->make_routine(&life), TREADLE_OK);
    CHECK_INT(pthread_create(&runner, NULL, run_routine, &life), 0);
    await(&in_routine);
    CHECK_INT(treadle_plugin_close(plugin, 0), TREADLE_E_TIMEOUT);
    CHECK_INT(holders_of(plugin, &holder, 1), 1);
    CHECK_INT(holder.kind, TREADLE_KIND_ROUTINE);
    CHECK_INT(life.released, 0);
    sem_post(&go_on);
    unload(plugin);
    CHECK_INT(life.released, 1);
    CHECK_INT(pthread_join(runner, NULL), 0);
    CHECK_INT(life.calls, 1);
}

TEST(a_port_that_calls_a_plugin_ends_with_it, "SCOPE-6 PLUG-3") {
    treadle_message_port port;
    treadle_message_port_context context = {.struct_size = sizeof context};
    const struct settling *settling;
    treadle_plugin plugin = start_settler(&settling);
    CHECK_INT(treadle_message_port_create_local(NULL, &context, &port), TREADLE_OK);
    CHECK_INT(settling->watch(port), TREADLE_OK);
    unload(plugin);
    CHECK(!is_mapped("settler"));
    CHECK_INT(treadle_release(port), TREADLE_E_STALE);
    CHECK(strstr(said, "invalidated"));
}

TEST(functions_before_init_are_refused, "PLUG-3") {
    char expected[80];
    treadle_plugin plugin = load("early");
    CHECK_INT(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    snprintf(expected, sizeof expected, "early.init early.%d %d %d 1 early.start", TREADLE_E_STATE, TREADLE_E_STATE, TREADLE_E_STATE);
    CHECK_SAID(expected);
    unload(plugin);
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
