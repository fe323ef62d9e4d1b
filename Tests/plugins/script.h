/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * script.h: the extension by which a test directs its plugins, and is told what they do. */
#ifndef TREADLE_TEST_SCRIPT_H
#define TREADLE_TEST_SCRIPT_H

#include <treadle.h>

#define SCRIPT "test.script/1"

struct script {
    /* Called by each function of a plugin, with its name; the plugin returns what this returns. */
    treadle_status (*step)(const treadle_plugin_host *host, const char *what);
    void (*code)(void (*code)(void)); /* a closure's pointer, for a library that never forgets it */
};

#endif
