/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolation.c: keeps to the contract in the process of its host, and in one of its own does what its setting says: "exit" ends that
 * process, "slow" takes longer for its stop than it has. */
#include "people.h"

#include <unistd.h>

static char what[16];

static bool is_isolated(void) {
    char name[64] = "";
    FILE *file = fopen("/proc/self/comm", "re");
    if (file && !fgets(name, sizeof name, file)) name[0] = 0;
    if (file) fclose(file);
    return strncmp(name, "treadle-plugin", 14) == 0;
}
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    size_t length;
    *out_instance = NULL;
    return host->copy_setting(host, "what", what, sizeof what, &length);
}
static treadle_status start(void *instance) {
    (void)instance;
    if (is_isolated() && strcmp(what, "exit") == 0) _exit(7);
    return TREADLE_OK;
}
static treadle_status stop(void *instance, int64_t timeout_ns) {
    (void)instance;
    if (is_isolated() && strcmp(what, "slow") == 0) treadle_thread_sleep_for(timeout_ns + 1000000000);
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {NULL};
static const treadle_plugin_setting settings[] = {{.struct_size = sizeof(treadle_plugin_setting), .key = "what", .default_value = "nothing"}};
DESCRIBED("isolation", .settings = settings, .setting_count = 1, .start = start, .stop = stop)
