/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated.c: the part of a check that loads the plugin in processes of its own. What it keeps to in the host's process has been looked
 * at by then: here it is whether it works in the other one, and what is left of it in the host. */
#include "host.h"

#include <stdlib.h>
#include <string.h>

enum { LIVES = 6, ROUNDS = 10, LEFT = 15 };

static struct plugin plugin;

/* Why its process has ended by itself; empty: it has not. */
static char ending[256];
static void note_end(void *info, treadle_plugin handle, const treadle_plugin_ending *how) {
    (void)info, (void)handle;
    snprintf(ending, sizeof ending, "%s", how->reason);
}

static treadle_status load(const char *path) {
    plugin = (struct plugin){.path = strdup(path), .id = calloc(1, 64)};
    if (!plugin.path || !plugin.id) return TREADLE_E_NOMEM;
    treadle_plugin_config config = config_of(&plugin);
    config.ended = note_end;
    ending[0] = 0;
    treadle_status status = treadle_plugin_load(&config, &plugin.handle);
    if (status >= 0) take_id(&plugin);
    return status;
}
static void let_go(void) {
    for (size_t i = 0; plugin.settings && plugin.settings[i]; i += 2) free((char *)plugin.settings[i]);
    free(plugin.settings), free(plugin.path), free(plugin.id);
}

/* What it asks for may be something that cannot be reached from another process: that is no fault of its own. */
static bool is_out_of_reach(treadle_status status) {
    return status == TREADLE_E_NOT_FOUND || status == TREADLE_E_NOT_SUPPORTED;
}
static bool tell_failure(treadle_status status) {
    bool is_good = is_out_of_reach(status);
    return point(is_good, "isolated", is_good ? "it is not run in a process of its own: %s" : "it runs in a process of its own: %s", last_message());
}
static bool close_isolated(void) {
    struct span span;
    begin_span(&span);
    bool has_ended = close_one(&plugin, options.timeout_ns);
    int64_t took = length_of(&span);
    if (ending[0]) return point(false, "isolated", "its process goes on until it is closed: %s", ending);
    if (!has_ended) return point(false, "isolated", "it ends in a process of its own: after %.3f s it has not", (double)took / 1e9);
    /* The host ends the process of one that takes longer. */
    if (took <= options.timeout_ns) return true;
    return point(false, "isolated", "its stop returns in a process of its own: it took %.3f s of %.3f", (double)took / 1e9, (double)options.timeout_ns / 1e9);
}
/* False if there is nothing more to look at. */
static bool live_isolated(const char *path) {
    treadle_status status = load(path);
    if (status < 0) return tell_failure(status), false;
    if (!apply_settings(&plugin)) return point(false, "isolated", "it takes its settings in a process of its own: %s", last_message());
    if ((status = treadle_plugin_start(plugin.handle)) < 0) {
        tell_failure(status);
        close_one(&plugin, options.timeout_ns);
        return false;
    }
    treadle_loop_run(main_loop, TREADLE_DEFAULT_MODE, 1000000, TREADLE_RUN_WHEN_EMPTY);
    return close_isolated();
}

void check_isolated(const char *path) {
    int descriptors_before = 0, threads_before = 0, descriptors, threads;
    int64_t least = INT64_MAX;
    options.isolates = true;
    for (int round = 0; round < ROUNDS && least > LEFT * LIVES; round++) {
        int64_t before = heap_in_use();
        for (int i = 0; i < LIVES; i++) {
            bool goes_on = live_isolated(path);
            let_go();
            if (!goes_on) return;
            if (round > 0 || i > 0) continue;
            descriptors_before = count_entries("/proc/self/fd"), threads_before = count_entries("/proc/self/task");
            before = heap_in_use();
        }
        int64_t more = heap_in_use() - before;
        if (more < least) least = more;
    }
    point(true, "isolated", "it is loaded, started and closed %d times in a process of its own", LIVES);
    bool is_good = comes_down_to("/proc/self/fd", descriptors_before, &descriptors);
    is_good &= comes_down_to("/proc/self/task", threads_before, &threads);
    is_good &= least <= LEFT * LIVES;
    point(is_good, "isolated-remains", "nothing of that is left in the host: %d more descriptors, %d more threads, %lld more bytes each time",
          descriptors - descriptors_before, threads - threads_before, (long long)(least > 0 ? least / LIVES : 0));
}
