/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_storm_test.c: a plugin comes and goes thousands of times while four threads call into it and are called by it. Nothing
 * is left: no descriptor, no thread, no memory, no mapping. */
#include "plugins.h"

#include <limits.h>

static _Atomic(treadle_plugin) present;
static atomic_bool is_over;
static atomic_int calls_into, calls_out;

static treadle_status count_call(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)host, (void)who, (void)what;
    atomic_fetch_add(&calls_out, 1);
    pthread_mutex_lock(&said_lock);
    said[0] = 0;
    pthread_mutex_unlock(&said_lock);
    return TREADLE_OK;
}

/* Whatever is there, and whatever it comes to. */
static void *call_into(void *info) {
    treadle_plugin_info known = {.struct_size = sizeof known};
    treadle_scope_holder holders[4];
    char text[32];
    size_t size;
    const void *extension;
    for (uint32_t i = 0; !is_over; i++) {
        treadle_plugin plugin = present;
        if (!plugin) continue;
        switch (i % 7) {
        case 0: treadle_plugin_start(plugin); break;
        case 1: treadle_plugin_get_info(plugin, &known); break;
        case 2:
            if (treadle_plugin_get_extension(plugin, "example.number/1", &extension) == TREADLE_OK) atomic_fetch_add(&calls_into, 1);
            break;
        case 3:
            if (treadle_plugin_set(plugin, "size", "4") == TREADLE_OK) atomic_fetch_add(&calls_into, 1);
            break;
        case 4: treadle_plugin_copy_setting(plugin, "size", text, sizeof text, &size); break;
        case 5: treadle_scope_copy_holders(plugin, holders, sizeof(treadle_scope_holder), 4, &size); break;
        default:
            if (info) treadle_plugin_close(plugin, 0);
            else treadle_loop_wake(treadle_loop_main());
            break;
        }
    }
    return NULL;
}

static int count_maps(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4096], folder[PATH_MAX];
    int count = 0;
    CHECK(maps && realpath(path_of("provider"), folder));
    strrchr(folder, '/')[1] = 0;
    while (fgets(line, sizeof line, maps)) count += strstr(line, folder) != NULL;
    fclose(maps);
    return count;
}

/* For so many rounds, and until a number of calls into the plugin has come through. */
static void come_and_go(const char *const *names, int rounds, int calls) {
    pthread_t threads[4];
    treadle_loop loop = treadle_loop_current();
    on_step = count_call;
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, call_into, i == 3 ? &is_over : NULL), 0);
    int descriptors = 0, tasks = 0;
    long memory = 0;
    for (int i = 0; i < rounds || calls_into < calls; i++) {
        treadle_plugin plugin = load(names[i % 2]);
        present = plugin;
        treadle_status status = treadle_plugin_start(plugin);
        if (status != TREADLE_OK && status != TREADLE_IGNORED && status != TREADLE_E_STATE) CHECK_INT(status, TREADLE_E_CLOSED);
        treadle_loop_run(loop, TREADLE_DEFAULT_MODE, i % 5 ? 0 : MILLISECONDS(1), 0);
        while ((status = treadle_plugin_close(plugin, SECONDS(60))) == TREADLE_DEFERRED) {}
        CHECK_INT(status, TREADLE_OK);
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
        if (i == rounds / 10) {
            descriptors = count_entries("/proc/self/fd"), tasks = count_entries("/proc/self/task");
            memory = resident_kilobytes();
        }
    }
    is_over = true;
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, MILLISECONDS(1), 0);
    CHECK(calls_out > 0);
    CHECK_INT(count_maps(), 0);
    /* The threads that called have ended since, and the plugin's own were joined; each may be listed for a moment. */
    while (count_entries("/proc/self/task") > tasks - 4) sched_yield();
    CHECK(count_entries("/proc/self/fd") <= descriptors + 4); /* a loop takes its own when it first needs them */
    CHECK(is_instrumented() || resident_kilobytes() - memory < 4000);
}

TEST(a_plugin_comes_and_goes_while_threads_call, "PLUG-3 PLUG-4 PLUG-5") {
    const char *const names[] = {"provider", "provider"};
    come_and_go(names, scaled(10000), 1);
}
TEST(a_plugin_that_forgets_everything_comes_and_goes, "PLUG-3 PLUG-4 PLUG-5") {
    const char *const names[] = {"provider", "forgetful"};
    come_and_go(names, scaled(1000), 0);
}

TEST_MAIN()
