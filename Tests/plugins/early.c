/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * early.c: has a constructor that calls functions of Treadle, by its table and by what the loader finds. */
#define PROBE_ID "org.example.early"
#define PROBE_IS_NO_PLUGIN
#include "script.h"
#include "probe.h"

#include <dlfcn.h>
#include <stdio.h>

static treadle_status by_table, by_loader, posted;
static bool is_nothing;

static void fire(treadle_timer timer, void *info) { (void)timer, (void)info; }
__attribute__((constructor)) static void begin(void) {
    treadle_timer timer = NULL;
    treadle_status (*start)(int64_t, int64_t, treadle_timer_fn, void *, treadle_timer *) =
        (treadle_status (*)(int64_t, int64_t, treadle_timer_fn, void *, treadle_timer *))(uintptr_t)dlsym(RTLD_DEFAULT, "treadle_timer_start");
    treadle_status (*post)(treadle_loop, treadle_post_fn, void *) =
        (treadle_status (*)(treadle_loop, treadle_post_fn, void *))(uintptr_t)dlsym(RTLD_DEFAULT, "treadle_loop_post");
    treadle_loop (*current)(void) = (treadle_loop (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "treadle_loop_current");
    by_table = treadle_timer_start(0, 1000, fire, NULL, &timer);
    by_loader = start ? start(0, 1000, fire, NULL, &timer) : TREADLE_E_STATE;
    posted = post && current ? post(current(), (treadle_post_fn)(uintptr_t)fire, NULL) : TREADLE_E_STATE;
    is_nothing = treadle_loop_current() == NULL && treadle_time_now() == 0 && !treadle_is_valid(NULL) && treadle_version_string()[0] == 0;
}
static treadle_status start(void *instance) {
    char text[64];
    snprintf(text, sizeof text, "%d %d %d %d", by_table, by_loader, posted, is_nothing);
    step(text);
    return probe_start(instance);
}

static const treadle_plugin_description early = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "an early one", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = probe_init, .start = start, .stop = probe_stop, .deinit = probe_deinit,
    .get_extension = probe_get_extension, .set = probe_set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(early)
