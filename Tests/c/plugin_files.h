/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_files.h: files of plugins in a folder of the test's own: copied, cut, changed, loaded. */
#ifndef TREADLE_TEST_PLUGIN_FILES_H
#define TREADLE_TEST_PLUGIN_FILES_H

#include <fcntl.h>
#include <sys/stat.h>

#include "plugins.h"

static char folder[128];
static char file_bytes[1 << 20];
static size_t file_size;

HELPER void begin_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/treadle-plugins-XXXXXX");
    CHECK(mkdtemp(folder));
}
/* Also what a test has made of it: other owners, links. */
HELPER void end_folder(void) {
    char text[256];
    snprintf(text, sizeof text, "rm -rf '%s'", folder);
    CHECK_INT(system(text), 0);
}
/* Good until the fourth call after it. */
HELPER const char *in_folder(const char *name) {
    static __thread char paths[4][256];
    static __thread int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}
HELPER void read_file(const char *path) {
    int from = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(from, file_bytes, sizeof file_bytes);
    CHECK(size > 0 && (size_t)size < sizeof file_bytes && close(from) == 0);
    file_size = (size_t)size;
}
/* A new file, which only its owner may write. */
HELPER void write_file(const char *to) {
    unlink(to);
    int into = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK_INT(write(into, file_bytes, file_size), (ssize_t)file_size);
    CHECK_INT(close(into), 0);
}
HELPER void copy_file(const char *name, const char *to) {
    read_file(path_of(name));
    write_file(to);
}
HELPER treadle_status try_file(const char *path, uint32_t flags) {
    treadle_plugin plugin = (treadle_plugin)&plugin;
    treadle_plugin_config config = config_of(path);
    config.flags = flags;
    treadle_status status = treadle_plugin_load(&config, &plugin);
    if (status == TREADLE_OK) unload(plugin);
    else CHECK(!plugin);
    return status;
}

#endif
