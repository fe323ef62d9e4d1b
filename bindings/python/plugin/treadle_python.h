/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle_python.h: what the plugin treadle-python-plugin has for its host: files of Python, loaded and reloaded while it runs.
 *
 *     treadle_plugin_get_extension(python, TREADLE_PYTHON, &extension);
 *     const struct treadle_python *python_files = extension;
 *     python_files->load("counter.py", NULL, &counter);
 *     treadle_plugin_start(counter);
 *
 * It is valid until that plugin is closed, which closes first all that it has loaded. */
#ifndef TREADLE_PYTHON_H
#define TREADLE_PYTHON_H

#include <treadle.h>

/** The name of the extension. What is behind the slash changes when a host that was built for it could not go on. */
#define TREADLE_PYTHON "treadle.python/1"

/** The extension. Later versions add members at its end: struct_size tells how much there is. */
struct treadle_python {
    size_t struct_size; /* what the plugin has: sizeof(struct treadle_python) */
    /* As treadle_plugin_load, of a file of Python: its body runs, and nothing is started. settings: keys and values by turns,
     * NULL at the end; NULL: none. The handle is to be released. What has gone wrong is also told to the host's log. From any
     * thread. Errors: as treadle_plugin_load; TREADLE_E_CALLBACK for an exception of the body; TREADLE_E_CLOSED when the plugin
     * has ended. */
    treadle_status (*load)(const char *path, const char *const *settings, treadle_plugin *out_plugin);
    /* As treadle_plugin_reload, from the file as it is now, with the settings that the old one has. From any thread.
     * Errors: as treadle_plugin_reload, and of load; TREADLE_E_PLUGIN for one that this plugin has not loaded. */
    treadle_status (*reload)(treadle_plugin plugin, int64_t timeout_ns, treadle_plugin *out_plugin);
};

#endif
