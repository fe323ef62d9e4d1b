/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * clash.c: has names that the program has as well. What it does not hide is the program's, as in any shared library; what calls
 * Treadle is its own. */
#define PROBE_ID "org.example.clash"
#define PROBE_IS_NO_PLUGIN
#include "probe.h"

int clashing_function(void);
int clashing_function(void) { return 2; }
__attribute__((visibility("hidden"))) int hidden_function(void);
int hidden_function(void) { return 2; }
int clashing_value = 2;

static void perform(treadle_source source, void *info) { (void)source, (void)info; }
static treadle_status start(void *instance) {
    treadle_source source = NULL;
    treadle_loop loop = treadle_loop_current();
    if (!treadle_loop_is_current(loop)) return TREADLE_E_WRONG_THREAD;
    treadle_status status = treadle_source_start(perform, NULL, &source);
    if (status != TREADLE_OK || !treadle_is_valid(source)) return TREADLE_E_STATE;
    if (treadle_version() >> 16 != 1) return TREADLE_E_ARG;
    step(clashing_function() == 1 ? "the program's function" : "its own function");
    step(clashing_value == 1 ? "the program's value" : "its own value");
    step(hidden_function() == 1 ? "the program's hidden function" : "its own hidden function");
    return probe_start(instance);
}

static const treadle_plugin_description clash = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "a clash", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = probe_init, .start = start, .stop = probe_stop, .deinit = probe_deinit,
    .get_extension = probe_get_extension, .set = probe_set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(clash)
