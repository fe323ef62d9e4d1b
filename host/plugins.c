/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugins.c: the plugins that were named: loading, starting, reloading, closing them. */
#include "host.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct plugin *plugins;
size_t plugin_count;

/* --- Loading ------------------------------------------------------------------------------------- */

treadle_plugin_config config_of(const struct plugin *plugin) {
    return (treadle_plugin_config){
        .struct_size = sizeof(treadle_plugin_config), .path = plugin->path, .host_name = "treadle-host",
        .host_version = treadle_version_string(), .settings = plugin->settings, .get_extension = extension_of_host,
        .log = log_of_plugin, .info = plugin->id, .extensions = host_descriptors,
        .flags = (options.writable ? TREADLE_PLUGIN_LOAD_WRITABLE : 0u) | (options.isolates ? TREADLE_PLUGIN_LOAD_ISOLATED : 0u)};
}

/* What a plugin that is loaded is called, and where it is. */
void take_id(struct plugin *plugin) {
    treadle_plugin_info info = {.struct_size = sizeof info};
    if (treadle_plugin_get_info(plugin->handle, &info) != TREADLE_OK) return;
    snprintf(plugin->id, 64, "%s", info.description->id);
    note_code(plugin->id, info.description->id);
}

/* A check loads its plugin again and again, and reloads none. Three quarters of the descriptors are left to plugins. */
static void keep_original(struct plugin *plugin) {
    struct rlimit most = {.rlim_cur = 0};
    if (plugin->original) fclose(plugin->original);
    plugin->original = options.checks ? NULL : fopen(plugin->path, "rbe");
    if (!plugin->original) return;
    bool is_known = fstat(fileno(plugin->original), &plugin->original_file) == 0 && !is_other_file(&plugin->file, &plugin->original_file);
    if (is_known && getrlimit(RLIMIT_NOFILE, &most) == 0 && (rlim_t)fileno(plugin->original) < most.rlim_cur / 4) return;
    fclose(plugin->original);
    plugin->original = NULL;
}

bool load_one(const char *path, struct plugin *out_plugin) {
    struct plugin plugin = {.path = calloc(1, strlen(path) + 3), .id = calloc(1, 64)};
    *out_plugin = plugin;
    if (!plugin.path || !plugin.id) return complain("out of memory"), false;
    sprintf(plugin.path, "%s%s", strchr(path, '/') ? "" : "./", path);
    /* Looked at before: one that changes meanwhile is reloaded once too often, and never missed. */
    if (stat(plugin.path, &plugin.file) != 0) memset(&plugin.file, 0, sizeof plugin.file);
    keep_original(&plugin);
    treadle_plugin_config config = config_of(&plugin);
    enter_call(path, "while it was loaded");
    treadle_status status = treadle_plugin_load(&config, &plugin.handle);
    leave_call();
    *out_plugin = plugin;
    if (status < 0) return complain_of(path), false;
    take_id(out_plugin);
    return true;
}

void forget(struct plugin *plugin) {
    if (plugin->handle) treadle_release(plugin->handle);
    plugin->handle = NULL;
    forget_code(plugin->id);
}

/* Why it is not there: the last error. */
static void note_fault(struct plugin *plugin) {
    free(plugin->fault);
    plugin->fault = strdup(last_message());
}

/* One of a directory stays on the list if it is refused: its file may be replaced. */
static bool load_file(const char *path, bool is_of_directory) {
    struct plugin plugin, *more;
    bool is_loaded = load_one(path, &plugin);
    if (!is_loaded && (!is_of_directory || !plugin.id)) return false;
    plugin.is_of_directory = is_of_directory;
    if (!is_loaded) note_fault(&plugin);
    more = realloc(plugins, (plugin_count + 1) * sizeof *plugins);
    if (!more) return complain("out of memory"), false;
    plugins = more;
    plugins[plugin_count++] = plugin;
    return is_loaded;
}

bool same_file(const char *one, const char *other) {
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int is_library(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 3 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 3, ".so") == 0;
}
/* By the bytes, whatever the language of the user is. */
static int by_name(const struct dirent **one, const struct dirent **other) { return strcmp((*one)->d_name, (*other)->d_name); }

/* False if nothing of it can be loaded. */
static bool load_directory(const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, is_library, by_name);
    bool is_good = false;
    if (count < 0) complain("%s: cannot be read", path);
    if (count == 0) complain("%s: there is no *.so in it", path), free(entries);
    for (int i = 0; i < count; i++) {
        char *name = calloc(1, strlen(path) + strlen(entries[i]->d_name) + 2);
        if (name) sprintf(name, "%s/%s", path, entries[i]->d_name);
        if (name && load_file(name, true)) is_good = true;
        free(name);
        free(entries[i]);
    }
    if (count > 0) free(entries);
    return is_good;
}

bool load_path(const char *path) {
    struct stat file;
    return stat(path, &file) == 0 && S_ISDIR(file.st_mode) ? load_directory(path) : load_file(path, false);
}

/* --- Settings ------------------------------------------------------------------------------------ */

/* The plugin whose id a --set begins with: of several the one with the longest. */
static struct plugin *find_of_set(const char *set, struct plugin *other) {
    struct plugin *found = NULL;
    for (size_t i = 0; i <= plugin_count; i++) {
        struct plugin *plugin = i < plugin_count ? &plugins[i] : other;
        size_t length = plugin && plugin->handle ? strlen(plugin->id) : 0;
        bool is_its = length > 0 && strncmp(set, plugin->id, length) == 0 && set[length] == '.';
        if (is_its && (!found || length > strlen(found->id))) found = plugin;
    }
    return found;
}

/* Kept for a reload. */
static bool keep_setting(struct plugin *plugin, const char *key, const char *value) {
    size_t count = 0;
    while (plugin->settings && plugin->settings[count]) count += 2;
    const char **more = realloc(plugin->settings, (count + 3) * sizeof *more);
    if (!more) return false;
    plugin->settings = more;
    more[count] = key, more[count + 1] = value, more[count + 2] = NULL;
    return true;
}

static bool apply(struct plugin *plugin, const char *set) {
    char *key = strdup(set + strlen(plugin->id) + 1), *equal = key ? strchr(key, '=') : NULL;
    if (!equal) return complain("--set %s: it names no key: treadle-host --help tells how it is used", set), false;
    *equal = 0;
    if (!keep_setting(plugin, key, equal + 1)) return complain("out of memory"), false;
    if (treadle_plugin_set(plugin->handle, key, equal + 1) < 0) return complain_of(plugin->path), false;
    return true;
}

/* Whether one of the list was refused: a setting without a plugin may be its. */
static bool is_one_missing(void) {
    for (size_t i = 0; i < plugin_count; i++)
        if (!plugins[i].handle) return true;
    return false;
}

bool apply_settings(struct plugin *other) {
    for (size_t i = 0; i < options.set_count; i++) {
        struct plugin *plugin = find_of_set(options.sets[i], other);
        if (!plugin) {
            complain("--set %s: no plugin of this id is there: treadle-host --help tells how it is used", options.sets[i]);
            if (is_one_missing()) continue;
            return false;
        }
        if ((!other || plugin == other) && !apply(plugin, options.sets[i])) return false;
    }
    return true;
}

/* With --check: the plugins that are there are those that the checked one requires. A key that they do not have may be its, whose id
 * begins with theirs. */
bool apply_settings_of_providers(void) {
    for (size_t i = 0; i < options.set_count; i++) {
        struct plugin *plugin = find_of_set(options.sets[i], NULL);
        char *key = plugin ? strdup(options.sets[i] + strlen(plugin->id) + 1) : NULL, *equal = key ? strchr(key, '=') : NULL;
        if (!equal) {
            free(key);
            continue;
        }
        *equal = 0;
        treadle_status status = treadle_plugin_set(plugin->handle, key, equal + 1);
        free(key);
        if (status < 0 && status != TREADLE_E_NOT_FOUND) return false;
    }
    return true;
}

/* --- Starting ------------------------------------------------------------------------------------ */

bool start_one(struct plugin *plugin) {
    enter_call(plugin->id, "in its init or start");
    treadle_status status = treadle_plugin_start(plugin->handle);
    leave_call();
    if (status < 0) complain_of(plugin->path);
    return status >= 0;
}

static const char *version_of(const struct plugin *plugin) {
    treadle_plugin_info info = {.struct_size = sizeof info};
    return treadle_plugin_get_info(plugin->handle, &info) == TREADLE_OK ? info.description->version : "?";
}

bool start_all(void) {
    bool is_good = true;
    for (size_t i = 0; i < plugin_count && (is_good || options.keeps_going); i++) {
        struct plugin *plugin = &plugins[i];
        if (!plugin->handle) continue;
        if (start_one(plugin)) {
            plugin->has_started = true;
            tell("%s %s has started", plugin->id, version_of(plugin));
            continue;
        }
        note_fault(plugin);
        is_good = plugin->is_of_directory && is_good;
        close_one(plugin, options.timeout_ns);
    }
    return is_good;
}

/* --- Reloading ----------------------------------------------------------------------------------- */

bool is_other_file(const struct stat *one, const struct stat *other) {
    return one->st_dev != other->st_dev || one->st_ino != other->st_ino || one->st_size != other->st_size ||
           one->st_mtim.tv_sec != other->st_mtim.tv_sec || one->st_mtim.tv_nsec != other->st_mtim.tv_nsec;
}
static bool has_changed(const struct plugin *plugin, struct stat *out_file) {
    return stat(plugin->path, out_file) == 0 && is_other_file(&plugin->file, out_file);
}

/* One that was refused, or has ended, is loaded as at first when there is another file. */
static void load_again(struct plugin *plugin) {
    struct plugin new;
    if (load_one(plugin->path, &new) && apply_settings(&new) && start_one(&new)) {
        new.has_started = true, new.is_of_directory = plugin->is_of_directory;
        say("treadle-host: %s was loaded again, and is %s now", new.id, version_of(&new));
        free(plugin->fault), free(plugin->path);
        if (plugin->original) fclose(plugin->original);
        *plugin = new;
        return;
    }
    note_fault(plugin);
    plugin->file = new.file;
    close_one(&new, options.timeout_ns);
    if (new.original) fclose(new.original);
}

/* The one in its place, which has the same id. */
static void take_place(struct plugin *plugin, treadle_plugin new, const struct stat *file) {
    forget(plugin);
    plugin->handle = new;
    plugin->file = *file;
    take_id(plugin);
}

static void reload_one(struct plugin *plugin, const struct stat *file) {
    const char *user = find_user(plugin->handle);
    char why[512];
    if (user) {
        complain("%s: is not reloaded: %s uses it", plugin->path, user);
        return;
    }
    treadle_plugin_config config = config_of(plugin);
    treadle_plugin new = NULL;
    enter_call(plugin->id, "while it was reloaded");
    treadle_status status = replace(plugin, &config, &new, why, sizeof why);
    leave_call();
    if (status >= 0) {
        take_place(plugin, new, file);
        keep_original(plugin);
        say("treadle-host: %s was reloaded, and is %s now", plugin->id, version_of(plugin));
        return;
    }
    complain("%s: %s", plugin->path, why);
    if (new) {
        take_place(plugin, new, file);
        complain("%s: was not reloaded: version %s goes on, until the next file", plugin->path, version_of(plugin));
        return;
    }
    free(plugin->fault);
    plugin->fault = strdup(why);
    if (treadle_is_valid(plugin->handle)) {
        free(plugin->fault);
        plugin->fault = NULL;
        complain("%s: was not reloaded, and goes on", plugin->path);
    } else if (treadle_plugin_close(plugin->handle, 0) == TREADLE_E_TIMEOUT) {
        complain("%s: was not reloaded; the old one is ending, and is held by", plugin->path);
        report_holders(stderr, plugin->handle);
    } else {
        complain("%s: was not reloaded, and the old one has ended; it is tried again with the next file", plugin->path);
        plugin->file = *file;
        forget(plugin);
    }
}

void reload_changed(void) {
    size_t changed = 0;
    for (size_t i = 0; i < plugin_count; i++) {
        struct stat file;
        bool is_gone = !plugins[i].handle && plugins[i].fault;
        if ((!plugins[i].handle && !is_gone) || !has_changed(&plugins[i], &file)) continue;
        changed++;
        if (is_gone) load_again(&plugins[i]);
        else reload_one(&plugins[i], &file);
    }
    if (changed == 0) tell("no plugin's file has changed");
}

/* --- Closing ------------------------------------------------------------------------------------- */

bool close_one(struct plugin *plugin, int64_t timeout_ns) {
    if (!plugin->handle) return true;
    enter_call(plugin->id, "while it was closed");
    treadle_status status = treadle_plugin_close(plugin->handle, timeout_ns);
    leave_call();
    if (status != TREADLE_OK) return false;
    forget(plugin);
    return true;
}

/* Which of the list use one of them, and how many; taken once, since asking Treadle for each pair takes too long. */
struct uses {
    struct {
        size_t user, used;
    } *pairs;
    size_t count, used; /* used: the one whose users are taken */
    size_t *left;       /* how many users each has that have not ended */
};

static void add_use(const char *id, void *info) {
    struct uses *uses = info;
    for (size_t i = 0; i < plugin_count; i++) {
        if (strcmp(plugins[i].id, id) != 0) continue;
        void *more = realloc(uses->pairs, (uses->count + 1) * sizeof *uses->pairs);
        if (!more) return;
        uses->pairs = more;
        uses->pairs[uses->count].user = i, uses->pairs[uses->count++].used = uses->used;
        uses->left[uses->used]++;
    }
}

/* The last one that nobody of the list uses any more; plugin_count if there is none. */
static size_t find_unused(const struct uses *uses, const bool *is_done) {
    for (size_t i = plugin_count; i-- > 0;)
        if (plugins[i].handle && !is_done[i] && uses->left[i] == 0) return i;
    return plugin_count;
}

/* One that did not end in time is not asked for again: its users' end would not have helped. One that somebody else uses (a plugin
 * that another one has loaded) is asked for again when something has ended. */
bool close_all(void) {
    struct uses uses = {.left = calloc(plugin_count + 1, sizeof *uses.left)};
    bool *is_done = calloc(plugin_count + 1, sizeof *is_done), *is_late = calloc(plugin_count + 1, sizeof *is_late), is_whole = true;
    if (!uses.left || !is_done || !is_late) return complain("out of memory"), false;
    for (uses.used = 0; uses.used < plugin_count; uses.used++)
        if (plugins[uses.used].handle) for_each_user(plugins[uses.used].handle, add_use, &uses);
    for (size_t i; (i = find_unused(&uses, is_done)) < plugin_count;) {
        is_done[i] = true;
        if (find_user(plugins[i].handle)) continue;
        if (!close_one(&plugins[i], options.timeout_ns)) {
            is_late[i] = true;
            continue;
        }
        if (plugins[i].has_started) tell("%s has ended", plugins[i].id);
        for (size_t k = 0; k < uses.count; k++)
            if (uses.pairs[k].user == i) uses.left[uses.pairs[k].used]--;
        memcpy(is_done, is_late, plugin_count * sizeof *is_done);
    }
    free(uses.pairs), free(uses.left);
    free(is_done);
    for (size_t i = plugin_count; i-- > 0;) {
        if (!plugins[i].handle) continue;
        is_whole = false;
        complain("%s did not end in time, and is held by", plugins[i].id);
        report_holders(stderr, plugins[i].handle);
    }
    free(is_late);
    return is_whole;
}
