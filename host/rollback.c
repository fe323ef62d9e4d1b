/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * rollback.c: replaces a plugin by another file of it. If that one does not start, the old one goes on with its state. A plugin of the
 * program's own, the keeper, comes between the two: it gets the state of the old one, and hands it to whichever follows. */
#include "host.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- The keeper ---------------------------------------------------------------------------------- */

static struct {
    char id[64];
    void *bytes;
    size_t size;
    bool is_used, has_state;
} kept;

static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return (void)host, *out_instance = &kept, TREADLE_OK; }
static void deinit(void *instance) { (void)instance; }
static treadle_status save(void *instance, treadle_plugin_write_fn write, void *sink) {
    return (void)instance, write(sink, kept.bytes, kept.size), TREADLE_OK;
}
static treadle_status restore(void *instance, const void *bytes, size_t size) {
    (void)instance;
    free(kept.bytes);
    kept.bytes = malloc(size + 1);
    if (!kept.bytes) return TREADLE_E_NOMEM;
    if (size > 0) memcpy(kept.bytes, bytes, size);
    kept.size = size;
    kept.has_state = true;
    return TREADLE_OK;
}
static const treadle_plugin_description *query(uint32_t abi) {
    static const treadle_plugin_description description = {
        TREADLE_PLUGIN_COMMON, .id = kept.id, .name = "what a plugin has saved", .version = "1",
        .init = init, .deinit = deinit, .save = save, .restore = restore};
    return (void)abi, &description;
}

static treadle_plugin_config config_of_keeper(const treadle_plugin_config *config) {
    treadle_plugin_config keeping = *config;
    keeping.path = NULL, keeping.settings = NULL;
    keeping.query = query;
    return keeping;
}

static void drop(treadle_plugin plugin) {
    if (!plugin) return;
    treadle_plugin_close(plugin, options.timeout_ns);
    treadle_release(plugin);
}

/* --- From one to the next ------------------------------------------------------------------------ */

/* Puts a plugin in the place of the keeper, which ends. NULL if it does not start. */
static treadle_status follow(treadle_plugin keeper, const treadle_plugin_config *config, treadle_plugin *out_plugin, char *why, size_t size) {
    treadle_plugin next = NULL;
    treadle_status status;
    if (kept.has_state) {
        status = treadle_plugin_reload(keeper, config, options.timeout_ns, &next);
    } else {
        drop(keeper);
        keeper = NULL;
        status = treadle_plugin_load(config, &next);
        if (status >= 0) status = treadle_plugin_start(next);
    }
    *why = 0;
    if (status < 0) {
        snprintf(why, size, "%s", last_message());
        drop(next);
        next = NULL;
    }
    drop(keeper);
    *out_plugin = next;
    return status;
}

/* A file of its own with what the old one was loaded from, beside it if that can be: what it needs may be there, too. */
static bool copy_original(const struct plugin *plugin, char *path, size_t size) {
    const char *temporary = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    struct stat now;
    char bytes[65536];
    size_t count;
    if (!plugin->original || fstat(fileno(plugin->original), &now) != 0 || is_other_file(&plugin->original_file, &now)) return false;
    snprintf(path, size, "%.*s/.treadle-host-XXXXXX.so", (int)(strrchr(plugin->path, '/') - plugin->path), plugin->path);
    int fd = mkostemps(path, 3, O_CLOEXEC);
    if (fd < 0) {
        snprintf(path, size, "%s/treadle-host-XXXXXX.so", temporary);
        fd = mkostemps(path, 3, O_CLOEXEC);
    }
    FILE *copy = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!copy) return false;
    rewind(plugin->original);
    while ((count = fread(bytes, 1, sizeof bytes, plugin->original)) > 0) fwrite(bytes, 1, count, copy);
    bool is_whole = !ferror(plugin->original) && fclose(copy) == 0;
    if (!is_whole) unlink(path);
    return is_whole;
}

/* The old one again, with its state. NULL if it is not to be had. */
static treadle_plugin roll_back(const struct plugin *plugin, const treadle_plugin_config *config) {
    char path[4096], why[512];
    treadle_plugin keeper = NULL, old = NULL;
    treadle_plugin_config keeping = config_of_keeper(config), again = *config;
    if (!copy_original(plugin, path, sizeof path)) return NULL;
    again.path = path;
    treadle_status status = treadle_plugin_load(&keeping, &keeper);
    if (status >= 0) status = treadle_plugin_start(keeper);
    if (status < 0) drop(keeper);
    else follow(keeper, &again, &old, why, sizeof why);
    unlink(path);
    return old;
}

treadle_status replace(struct plugin *plugin, const treadle_plugin_config *config, treadle_plugin *out_plugin, char *why, size_t size) {
    treadle_plugin keeper = NULL, new = NULL;
    *out_plugin = NULL;
    /* A file that is refused has no part in this: the old one goes on as it is. Of one that is good there cannot be two. */
    treadle_status status = kept.is_used ? TREADLE_E_STATE : treadle_plugin_load(config, &new);
    if (status >= 0) drop(new);
    if (status != TREADLE_E_EXISTS) {
        status = treadle_plugin_reload(plugin->handle, config, options.timeout_ns, out_plugin);
        snprintf(why, size, "%s", status < 0 ? last_message() : "");
        return status;
    }
    treadle_plugin_config keeping = config_of_keeper(config);
    snprintf(kept.id, sizeof kept.id, "%s", plugin->id);
    kept.is_used = true, kept.has_state = false;
    status = treadle_plugin_reload(plugin->handle, &keeping, options.timeout_ns, &keeper);
    if (status < 0) {
        snprintf(why, size, "%s", last_message());
    } else {
        status = follow(keeper, config, out_plugin, why, size);
        if (status < 0) *out_plugin = roll_back(plugin, config);
    }
    free(kept.bytes);
    kept.bytes = NULL;
    kept.is_used = false;
    return status;
}
