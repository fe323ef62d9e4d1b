/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * needed.c: the libraries that a file brings along by a search path of its own (DT_RUNPATH, DT_RPATH). Each directory and each
 * library that is found there is checked as the file itself. The loader takes $ORIGIN from the name that it is given, which is
 * that of a descriptor, so what is found by $ORIGIN is mapped before the file, and the loader finds it by its soname. The
 * libraries of the system's own directories are left to the loader. */
#include "files.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LEVELS = 16 };

/* A file whose needs are looked at, and the one that needs it. */
struct level {
    const struct level *outer;
    const struct file *file;
    const struct needed *needed;
    uint32_t depth;
    bool is_by_descriptor; /* the loader gets it under the name of a descriptor */
};

struct search {
    struct early *early;
    struct report report;
    bool takes_writable;
};

/* A library that was found; large, so it is not on the stack. */
struct found {
    char path[PATH_MAX];
    struct file file;
    struct needed needed;
};

static int32_t open_all(struct search *search, const struct level *level);

/* --- Search paths --------------------------------------------------------------------------------- */

/* Writes what a text is for the loader. False if only the loader could tell, or the directory depends on where the process is. */
static bool expand(const struct file *file, const char *text, size_t length, char *out_path, bool *out_has_origin) {
    static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
    size_t at = 0, own = (size_t)(strrchr(file->path, '/') - file->path);
    *out_has_origin = false;
    for (size_t i = 0; i < length;) {
        size_t token = 0;
        for (size_t k = 0; k < 2; k++)
            if (length - i >= strlen(tokens[k]) && strncmp(text + i, tokens[k], strlen(tokens[k])) == 0) token = strlen(tokens[k]);
        if (text[i] == '$' && token == 0) return false;
        size_t more = token ? own : 1;
        if (at + more + 2 > PATH_MAX) return false;
        memcpy(out_path + at, token ? file->path : text + i, more);
        if (token) *out_has_origin = true;
        at += more, i += token ? token : 1;
    }
    out_path[at] = 0;
    return at > 0 ? out_path[0] == '/' : *out_has_origin;
}

static const char *name_of(const struct level *level) { return strrchr(level->file->path, '/') + 1; }

/* Calls body with each directory of a search path until it returns something else than LIBTREADLE_IMAGE_NO_FILE. */
typedef int32_t (*directory_fn)(struct search *search, const struct level *owner, const char *directory, bool has_origin, void *info);
static int32_t for_each(struct search *search, const struct level *owner, const char *list, directory_fn body, void *info) {
    char *path = list ? malloc(PATH_MAX) : NULL;
    int32_t result = LIBTREADLE_IMAGE_NO_FILE;
    if (list && !path) return LIBTREADLE_IMAGE_MEMORY;
    for (const char *at = list; at && result == LIBTREADLE_IMAGE_NO_FILE;) {
        size_t length = strcspn(at, ":");
        bool has_origin;
        if (expand(owner->file, at, length, path, &has_origin)) {
            result = body(search, owner, path, has_origin, info);
        } else if (!search->takes_writable) {
            libtreadle_files_say(search->report, name_of(owner), length > 0 ? at : "the process's directory");
            result = LIBTREADLE_IMAGE_SEARCH;
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    free(path);
    return result;
}

static int32_t check_directory(struct search *search, const struct level *owner, const char *directory, bool has_origin, void *info) {
    (void)has_origin, (void)info;
    int32_t result = LIBTREADLE_IMAGE_OK;
    if (!search->takes_writable) result = libtreadle_file_check_directory(directory, name_of(owner), search->report);
    return result == LIBTREADLE_IMAGE_OK ? LIBTREADLE_IMAGE_NO_FILE : result;
}

/* --- A library ------------------------------------------------------------------------------------ */

static bool is_mapped(const char *name) {
    void *handle = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (handle) dlclose(handle);
    return handle != NULL;
}

static bool was_seen(struct early *early, const struct stat *status) {
    for (uint32_t i = 0; i < early->seen_count; i++)
        if (early->seen[i].device == status->st_dev && early->seen[i].inode == status->st_ino) return true;
    if (early->seen_count < MOST_NEEDED) {
        early->seen[early->seen_count].device = status->st_dev;
        early->seen[early->seen_count++].inode = status->st_ino;
    }
    return false;
}

/* Maps a library now, under the descriptor that was checked. The loader must be able to find it by the name that is needed. */
static int32_t map_early(struct search *search, const struct found *found, const char *name) {
    struct early *early = search->early;
    bool is_path = strchr(name, '/') != NULL;
    if (!is_path && (!found->needed.soname || strcmp(found->needed.soname, name) != 0)) {
        libtreadle_files_say(search->report, found->file.path, "its soname is not what is needed");
        return LIBTREADLE_IMAGE_LOADER;
    }
    if (early->count == MOST_NEEDED) return LIBTREADLE_IMAGE_MEMORY;
    void *handle = libtreadle_image_map(&found->file, found->file.path, search->report);
    if (handle) early->handles[early->count++] = handle;
    return handle ? LIBTREADLE_IMAGE_OK : LIBTREADLE_IMAGE_LOADER;
}

/* Checks a file, with all that it needs. LIBTREADLE_IMAGE_NO_FILE if there is none, or it is of another machine. */
static int32_t try_file(struct search *search, const struct level *level, const char *directory, const char *name, bool is_early) {
    struct found *found = calloc(1, sizeof *found);
    bool may_have_swift;
    if (!found) return LIBTREADLE_IMAGE_MEMORY;
    int32_t result = LIBTREADLE_IMAGE_NO_FILE;
    found->file.fd = -1;
    int length = snprintf(found->path, sizeof found->path, "%s%s%s", directory, *directory ? "/" : "", name);
    if (length < (int)sizeof found->path && access(found->path, R_OK) == 0) {
        result = libtreadle_file_open(found->path, search->takes_writable, &found->file, search->report);
        bool is_known = result == LIBTREADLE_IMAGE_OK && was_seen(search->early, &found->file.status);
        if (result == LIBTREADLE_IMAGE_OK && !is_known) {
            result = libtreadle_file_check(&found->file, &found->needed, &may_have_swift);
            if (result == LIBTREADLE_IMAGE_OK && found->needed.calls) {
                libtreadle_files_say(search->report, strrchr(found->file.path, '/') + 1, found->needed.calls);
                result = LIBTREADLE_IMAGE_CALLS;
            }
            const struct level next = {level, &found->file, &found->needed, level->depth + 1, is_early};
            if (result == LIBTREADLE_IMAGE_OK) result = open_all(search, &next);
            if (result == LIBTREADLE_IMAGE_OK && is_early) result = map_early(search, found, name);
        }
        if (result == LIBTREADLE_IMAGE_FORMAT) result = LIBTREADLE_IMAGE_NO_FILE;
        bool is_told = result == LIBTREADLE_IMAGE_OK || result == LIBTREADLE_IMAGE_NO_FILE || search->report.text[0];
        if (!is_told) libtreadle_files_say(search->report, found->path, NULL);
    }
    if (found->file.fd >= 0) close(found->file.fd);
    free(found->needed.strings);
    free(found);
    return result;
}

struct wanted {
    const struct level *level;
    const char *name;
};
static int32_t look_in(struct search *search, const struct level *owner, const char *directory, bool has_origin, void *info) {
    const struct wanted *wanted = info;
    int32_t result = check_directory(search, owner, directory, has_origin, NULL);
    if (result != LIBTREADLE_IMAGE_NO_FILE) return result;
    return try_file(search, wanted->level, directory, wanted->name, has_origin && owner->is_by_descriptor);
}

/* The user's own directories come before those of DT_RUNPATH. */
static bool is_in_environment(const char *name) {
    char path[PATH_MAX];
    for (const char *at = secure_getenv("LD_LIBRARY_PATH"); at && *at;) {
        size_t length = strcspn(at, ":;");
        bool is_whole = snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name) < (int)sizeof path;
        if (length > 0 && is_whole && access(path, R_OK) == 0) return true;
        at += length + (at[length] != 0);
    }
    return false;
}

static int32_t open_by_path(struct search *search, const struct level *level, const char *name) {
    bool has_origin;
    char *path = malloc(PATH_MAX);
    if (!path) return LIBTREADLE_IMAGE_MEMORY;
    int32_t result = LIBTREADLE_IMAGE_OK;
    if (expand(level->file, name, strlen(name), path, &has_origin)) {
        result = try_file(search, level, "", path, has_origin && level->is_by_descriptor);
    } else if (!search->takes_writable) {
        libtreadle_files_say(search->report, name_of(level), name);
        result = LIBTREADLE_IMAGE_SEARCH;
    }
    free(path);
    return result;
}

static int32_t open_one(struct search *search, const struct level *level, const char *name) {
    struct wanted wanted = {level, name};
    int32_t result = LIBTREADLE_IMAGE_NO_FILE;
    if (is_mapped(name)) return LIBTREADLE_IMAGE_OK;
    if (strchr(name, '/')) {
        result = open_by_path(search, level, name);
    } else if (level->needed->runpath) {
        if (!is_in_environment(name)) result = for_each(search, level, level->needed->runpath, look_in, &wanted);
    } else {
        for (const struct level *owner = level; owner && result == LIBTREADLE_IMAGE_NO_FILE; owner = owner->outer)
            if (!owner->needed->runpath) result = for_each(search, owner, owner->needed->rpath, look_in, &wanted);
    }
    /* The loader looks in the system's directories, or says that there is none. */
    return result == LIBTREADLE_IMAGE_NO_FILE ? LIBTREADLE_IMAGE_OK : result;
}

static int32_t open_all(struct search *search, const struct level *level) {
    if (level->depth > MOST_LEVELS) {
        libtreadle_files_say(search->report, level->file->path, "needs libraries in too many levels");
        return LIBTREADLE_IMAGE_LOADER;
    }
    /* Whether or not something is looked for there now: the library may open others later. */
    int32_t result = for_each(search, level, level->needed->rpath, check_directory, NULL);
    if (result == LIBTREADLE_IMAGE_NO_FILE) result = for_each(search, level, level->needed->runpath, check_directory, NULL);
    if (result != LIBTREADLE_IMAGE_NO_FILE) return result;
    result = LIBTREADLE_IMAGE_OK;
    for (uint32_t i = 0; i < level->needed->count && result == LIBTREADLE_IMAGE_OK; i++) result = open_one(search, level, level->needed->names[i]);
    return result;
}

int32_t libtreadle_needed_open(const struct file *file, const struct needed *needed, bool takes_writable, struct early *early, struct report report) {
    struct search search = {early, report, takes_writable};
    const struct level level = {NULL, file, needed, 0, true};
    int32_t result = open_all(&search, &level);
    if (result != LIBTREADLE_IMAGE_OK) libtreadle_needed_close(early);
    return result;
}

void libtreadle_needed_close(struct early *early) {
    while (early->count > 0) dlclose(early->handles[--early->count]);
}
