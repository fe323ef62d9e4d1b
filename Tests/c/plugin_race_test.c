/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_race_test.c: several threads load, start, reload and close plugins of one file, and of one id. Each call has a result
 * that its rule allows, none maps what another unmaps, and nothing is left. */
#include "plugins.h"

enum { THREADS = 4 };
static atomic_int loads, reloads, started;

static bool may_be(treadle_status status, const treadle_status *allowed) {
    while (*allowed != status && *allowed != TREADLE_OK) allowed++;
    return *allowed == status;
}
static treadle_status quiet_step(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)host, (void)who, (void)what;
    pthread_mutex_lock(&said_lock);
    said[0] = 0;
    pthread_mutex_unlock(&said_lock);
    return TREADLE_OK;
}

static void close_and_release(treadle_plugin plugin) {
    treadle_status status;
    while ((status = treadle_plugin_close(plugin, SECONDS(60))) == TREADLE_DEFERRED) {}
    /* One that another thread has closed and released since is gone. */
    static const treadle_status allowed[] = {TREADLE_E_STALE, TREADLE_IGNORED, TREADLE_OK};
    CHECK(may_be(status, allowed));
    treadle_release(plugin);
}

/* What another thread has loaded. */
static void disturb(treadle_plugin plugin, int round, const treadle_plugin_config *config) {
    static const treadle_status starts[] = {TREADLE_IGNORED, TREADLE_E_STATE, TREADLE_E_CLOSED, TREADLE_E_STALE, TREADLE_OK};
    static const treadle_status replaced[] = {TREADLE_E_EXISTS, TREADLE_E_TIMEOUT, TREADLE_E_STATE, TREADLE_E_CLOSED, TREADLE_E_STALE,
                                              TREADLE_E_PLUGIN, TREADLE_E_DEADLOCK, TREADLE_OK};
    treadle_status status = treadle_plugin_start(plugin);
    CHECK(may_be(status, starts));
    if (round % 3 == 0) {
        treadle_plugin heir;
        status = treadle_plugin_reload(plugin, config, MILLISECONDS(100), &heir);
        CHECK(may_be(status, replaced));
        if (status == TREADLE_OK) atomic_fetch_add(&reloads, 1), close_and_release(heir);
    } else if (round % 5 == 0) {
        treadle_plugin_close(plugin, 0);
    }
    treadle_release(plugin);
}

static void *load_and_close(void *info) {
    treadle_plugin_config config = config_of(path_of(info));
    for (int i = 0; i < scaled(1000) || !reloads || !started; i++) {
        treadle_plugin plugin, others[2];
        size_t count = 0;
        treadle_status status = treadle_plugin_load(&config, &plugin);
        if (status == TREADLE_OK) {
            atomic_fetch_add(&loads, 1);
            if (treadle_plugin_start(plugin) == TREADLE_OK) atomic_fetch_add(&started, 1);
            close_and_release(plugin);
        } else {
            CHECK_INT(status, TREADLE_E_EXISTS);
            CHECK_INT(treadle_plugin_copy_all(others, 2, &count), TREADLE_OK);
            for (size_t k = 0; k < count && k < 2; k++) disturb(others[k], i, &config);
        }
    }
    return NULL;
}

static void race(const char *name) {
    pthread_t threads[THREADS];
    size_t count;
    on_step = quiet_step;
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, load_and_close, (void *)name), 0);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(treadle_plugin_copy_all(NULL, 0, &count), TREADLE_OK);
    CHECK_INT(count, 0);
    CHECK(loads > 0);
}

TEST(threads_load_and_unload_one_file, "PLUG-1 PLUG-4 PLUG-5 PLUG-7") {
    race("provider");
    /* What a race has left mapped goes with the next life. */
    logged[0] = 0;
    unload(load("provider"));
    CHECK_TEXT(logged, "");
    CHECK(!is_mapped("provider"));
}
TEST(threads_load_and_close_one_that_stays, "PLUG-1 PLUG-4 PLUG-5 PLUG-7") { race("stays"); }

TEST_MAIN()
