/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_exit_test.c: a thread that ends inside of a function of a plugin, whichever, leaves that to be closed. */
#include "plugins.h"

#include "../plugins/settling.h"

static const char *ends_at; /* NULL: nowhere */
static bool is_cancelled;
static atomic_int cleaned;
static void clean(void *info) {
    char room[2048];
    memset(room, 0xA5, sizeof room); /* where the frames were that have been left */
    __asm__ volatile("" : : "r"(room) : "memory");
    atomic_fetch_add((atomic_int *)info, 1);
}
static void end_here(void) {
    if (!is_cancelled) pthread_exit(NULL);
    pthread_cancel(pthread_self());
    pthread_testcancel();
}
static treadle_status end_thread(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)host, (void)who;
    if (!ends_at || strcmp(what, ends_at)) return TREADLE_OK;
    pthread_cleanup_push(clean, &cleaned);
    end_here();
    pthread_cleanup_pop(0);
    return TREADLE_OK;
}

static treadle_plugin_config config;
static treadle_plugin plugin, next;
static void *start(void *unused) { return treadle_plugin_start(plugin), unused; }
static void *set(void *unused) { return treadle_plugin_set(plugin, "size", "4"), unused; }
static void *ask(void *unused) { return treadle_plugin_get_extension(plugin, "example.number/1", &(const void *){NULL}), unused; }
static void *end(void *unused) { return treadle_plugin_close(plugin, TREADLE_FOREVER), unused; }
static void *replace(void *unused) { return treadle_plugin_reload(plugin, &config, TREADLE_FOREVER, &next), unused; }

/* What is done on the thread that ends, and whether the plugin was started before, and can be used after it. */
static const struct step {
    const char *name;
    void *(*act)(void *);
    bool was_started;
    treadle_status after; /* of a start */
} steps[] = {
    {"init", start, false, TREADLE_E_CLOSED}, {"start", start, false, TREADLE_E_CLOSED}, {"set", set, true, TREADLE_IGNORED},
    {"stop", end, true, TREADLE_E_CLOSED},    {"deinit", end, true, TREADLE_E_CLOSED},   {"save", replace, true, TREADLE_E_CLOSED},
    {"get_extension", ask, true, TREADLE_IGNORED},
};
static void end_in(const struct step *step) {
    next = NULL;
    plugin = load("provider");
    config = config_of(path_of("provider"));
    if (step->was_started) CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    ends_at = step->name;
    cleaned = 0;
    on_thread(step->act, NULL);
    ends_at = NULL;
    CHECK_INT(cleaned, 1);
    treadle_status status = treadle_plugin_start(plugin);
    if (status != step->after) check_failed(__FILE__, __LINE__, "after %s: %d", step->name, status);
    unload(plugin);
    size_t count;
    CHECK_INT(treadle_plugin_copy_all(NULL, 0, &count), TREADLE_OK);
    if (count != (next ? 1 : 0)) check_failed(__FILE__, __LINE__, "after %s: %zu plugins are left", step->name, count);
    if (next) unload(next);
}
TEST(a_thread_that_ends_in_a_function_of_a_plugin_leaves_it_to_be_closed, "PLUG-2 PLUG-4") {
    on_step = end_thread;
    for (int i = 0; i < COUNT_OF(steps); i++)
        for (int way = 0; way < 2; way++) {
            is_cancelled = way;
            end_in(&steps[i]);
        }
}

/* The one that it requires has failed; itself it has not begun. */
TEST(a_plugin_that_only_waited_for_another_one_can_be_started_again, "PLUG-2") {
    treadle_plugin provider = load("provider");
    on_step = end_thread;
    plugin = load("user");
    ends_at = "init";
    on_thread(start, NULL);
    ends_at = NULL;
    CHECK_INT(treadle_plugin_start(provider), TREADLE_E_CLOSED);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_NOT_FOUND);
    CHECK_ERROR_SAYS("example.number/1");
    unload(provider);
    provider = load("provider");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    unload(plugin);
    unload(provider);
}

/* --- Functions that it has registered ------------------------------------------------------------- */

static void end_in_callback(struct life *life) {
    (void)life;
    pthread_cleanup_push(clean, &cleaned);
    end_here();
    pthread_cleanup_pop(0);
}
static const struct settling *settling;
static int kind; /* KINDS: a routine */
static struct life life;
static void *be_called(void *unused) {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = NULL;
    CHECK(treadle_thread_current()); /* its end is told */
    life_begin(&life, loop, TREADLE_DEFAULT_MODE);
    life.in_callback = end_in_callback;
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add(loop, keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_release(keeper), TREADLE_OK);
    if (kind < KINDS) {
        CHECK_INT(settling->make(kind, &life, NULL), TREADLE_OK);
    } else {
        CHECK_INT(settling->make_routine(&life), TREADLE_OK);
        treadle_source_context context = {.struct_size = sizeof context, .perform_routine = life.object};
        CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
        CHECK_INT(treadle_loop_add(loop, source, TREADLE_DEFAULT_MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(treadle_release(source), TREADLE_OK);
    }
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0);
    return unused;
}
TEST(a_thread_that_ends_in_a_callback_of_a_plugin_leaves_it_to_be_closed, "PLUG-4 SCOPE-3") {
    const void *extension;
    for (int way = 0; way < 2; way++)
        for (kind = 0; kind <= KINDS; kind++) {
            enum how how = kind < KINDS ? scope_kinds[kind].how : BY_LOOP;
            if (how == BY_NOTHING || how == BY_USER) continue; /* nothing calls it */
            is_cancelled = way;
            plugin = load_and_start("settler");
            CHECK_INT(treadle_plugin_get_extension(plugin, SETTLING, &extension), TREADLE_OK);
            settling = extension;
            cleaned = 0;
            on_thread(be_called, NULL);
            if (how == BY_ITSELF) while (!cleaned) sched_yield();
            if (cleaned != 1) check_failed(__FILE__, __LINE__, "kind %d: called %d, cleaned %d", kind, life.calls, cleaned);
            treadle_status status = treadle_plugin_close(plugin, how == BY_ITSELF ? TREADLE_FOREVER : 0);
            if (status) check_failed(__FILE__, __LINE__, "kind %d: %d", kind, status);
            if (life.released != 1) check_failed(__FILE__, __LINE__, "kind %d: released %d", kind, life.released);
            CHECK_INT(treadle_release(plugin), TREADLE_OK);
            life_end(&life);
        }
}

TEST_MAIN()
