/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_lines.h: every line that plugins log, each with its level; a plugin in a process of its own logs at any time. */
#ifndef TREADLE_TEST_PLUGIN_LINES_H
#define TREADLE_TEST_PLUGIN_LINES_H

#include "plugins.h"

static char lines[8192];
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
static void keep_line(void *info, treadle_plugin plugin, uint32_t level, const char *text) {
    (void)info, (void)plugin;
    pthread_mutex_lock(&lines_lock);
    size_t at = strlen(lines);
    snprintf(lines + at, sizeof lines - at, "%u %s\n", level, text);
    pthread_mutex_unlock(&lines_lock);
    progress();
}
static bool has_line(const char *line) {
    pthread_mutex_lock(&lines_lock);
    bool found = strstr(lines, line) != NULL;
    pthread_mutex_unlock(&lines_lock);
    return found;
}
HELPER void forget_lines(void) {
    pthread_mutex_lock(&lines_lock);
    lines[0] = 0;
    pthread_mutex_unlock(&lines_lock);
}
/* Of a plugin in a process of its own, which has no extensions of the host's; its lines are kept from here on. */
HELPER treadle_plugin_config isolated_config(const char *name) {
    treadle_plugin_config config = config_of(path_of(name));
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.log = keep_line;
    config.get_extension = NULL;
    forget_lines();
    return config;
}
HELPER void run_briefly(void) {
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, MILLISECONDS(10), TREADLE_RUN_WHEN_EMPTY);
}
HELPER void await_line(const char *line) {
    while (!has_line(line)) run_briefly();
}

#endif
