/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * restless.c: has threads of its own, which Treadle does not know, and which call the functions that it was given before its end,
 * meanwhile, and after it, until the script has enough. It says so: it may not be unmapped. */
#define PROBE_ID "org.example.restless"
#define PROBE_FLAGS 0
#define PROBE_IS_NO_PLUGIN
#include "probe.h"

#include <pthread.h>

static treadle_loop home;

static void fire(treadle_timer timer, void *info) { (void)timer, (void)info; }
static void post(void *info) { (void)info; }
static void *call_on(void *info) {
    const treadle_plugin_host *host = info;
    char value[16];
    size_t length;
    for (unsigned i = 0; step("turn") == TREADLE_OK; i++) {
        treadle_source source = NULL;
        treadle_source_context context = {.struct_size = sizeof context};
        treadle_status status = i % 4 == 0   ? treadle_timer_start(1000000000, 0, fire, NULL, NULL)
                                : i % 4 == 1 ? treadle_loop_post(home, post, NULL)
                                : i % 4 == 2 ? treadle_source_create(&context, &source)
                                             : host->copy_setting(host, "size", value, sizeof value, &length);
        step(status == TREADLE_OK ? "taken" : status == TREADLE_E_CLOSED ? "refused" : "something else");
        if (source) treadle_source_release(source);
        host->log(host, 2, "restless");
        if (host->get_extension(host, SCRIPT) == NULL) step("nothing");
        if (treadle_time_now() <= 0 || !treadle_status_name(status)) step("something else");
        treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0);
    }
    step("left");
    return NULL;
}
static treadle_status start(void *instance) {
    pthread_t thread;
    home = treadle_loop_current();
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&thread, NULL, call_on, (void *)treadle_plugin_self) != 0) return TREADLE_E_SYSTEM;
        pthread_detach(thread);
    }
    return probe_start(instance);
}

static const treadle_plugin_description restless = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "a restless one", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = probe_init, .start = start, .stop = probe_stop, .deinit = probe_deinit,
    .get_extension = probe_get_extension, .set = probe_set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(restless)
