/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_clash_test.c: a program that has, and shows, functions of the names that its plugins, and Treadle, have. */
#include "plugins.h"

/* Shown by the program (-rdynamic), and first in the loader's order. */
int clashing_function(void);
int clashing_function(void) { return 1; }
int hidden_function(void);
int hidden_function(void) { return 1; }
int clashing_value = 1;
/* A plugin's variable and functions, of a program that has thought of the names itself. */
const treadle_plugin_host *treadle_plugin_self;
static atomic_int own_calls;
treadle_loop treadle_loop_current(void) {
    own_calls++;
    return NULL;
}
bool treadle_loop_is_current(treadle_loop loop) {
    own_calls++;
    return loop == NULL;
}
treadle_status treadle_source_start(treadle_perform_fn perform, void *info, treadle_source *out_source) {
    (void)perform, (void)info, (void)out_source, own_calls++;
    return TREADLE_E_STATE;
}
uint32_t treadle_version(void) {
    own_calls++;
    return 0;
}

TEST(what_a_plugin_calls_is_treadle_and_what_it_hides_its_own, "PLUG-1 PLUG-3 PLUG-5") {
    for (int i = 0; i < 3; i++) {
        treadle_plugin plugin = load_and_start("clash");
        CHECK_SAID("clash.init clash.the program's function clash.the program's value clash.its own hidden function clash.start");
        CHECK(!treadle_plugin_self);
        CHECK_INT(own_calls, 0);
        unload(plugin);
        said[0] = 0;
        CHECK(!is_mapped("clash"));
        CHECK(clashing_function() == 1 && hidden_function() == 1 && clashing_value == 1);
    }
}

/* What one plugin shows another does not meet. */
TEST(plugins_of_the_same_names_are_apart, "PLUG-1") {
    treadle_plugin one = load("clash"), other = load_and_start("provider");
    CHECK_INT(treadle_plugin_start(one), TREADLE_OK);
    unload(one);
    said[0] = 0;
    const void *extension;
    CHECK_INT(treadle_plugin_get_extension(other, "example.number/1", &extension), TREADLE_OK);
    CHECK_SAID("provider.get_extension");
    unload(other);
}

/* The same name twice is what is tested. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_odr_violation=0"; }

TEST_MAIN()
