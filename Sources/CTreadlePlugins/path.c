/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * path.c: from a path to an open file. The path is walked by descriptors, a component at a time, so that the directories that are
 * checked are those that the file is opened in. */
#include "files.h"

#include "CTreadleSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MOST_LINKS = 40 };

void libtreadle_files_say(struct report report, const char *what, const char *which) {
    if (report.size > 0) snprintf(report.text, report.size, "%s%s%s", what, which ? ": " : "", which ? which : "");
}

/* --- Who may write ------------------------------------------------------------------------------- */

/* Root's or the process's own. The files of all users that its user namespace does not map look like one user's. */
static bool is_trusted(const struct stat *file) {
    return (file->st_uid == 0 || file->st_uid == geteuid()) && treadle_system_user_is_certain(file->st_uid);
}

/* Whether the mode lets a user write who is neither root nor the process's. path: without links. */
static bool is_writable_by_others(const struct stat *file, const char *path) {
    if (file->st_mode & S_IWOTH) return true;
    if (!(file->st_mode & S_IWGRP)) return false;
    /* A user's own group has the user's number and nobody else in it. */
    bool is_own_group = file->st_gid == 0 || (file->st_gid == geteuid() && file->st_gid == getegid());
    /* With an access control list, the bits of the group are the most that the list may grant to anyone. */
    return !is_own_group || getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* --- The walk ------------------------------------------------------------------------------------- */

struct walk {
    int directory;            /* where the walk is */
    char path[PATH_MAX];      /* of the directory, without links; empty for the root */
    char rest[PATH_MAX];      /* what is left to go */
    char weak[PATH_MAX];      /* the first thing on the way that others may replace; empty: none */
    bool may_others_add;      /* to the directory */
    uint32_t links;
};

static void note_weak(struct walk *walk, const char *name) {
    if (*walk->weak) return;
    int length = snprintf(walk->weak, sizeof walk->weak, "%s/%s", walk->path, name);
    if (length >= (int)sizeof walk->weak) strcpy(walk->weak, "/");
}

/* A directory has been entered. In one with the sticky bit others may add entries, and replace none that is not theirs. */
static int32_t look_at_directory(struct walk *walk) {
    struct stat status;
    if (fstat(walk->directory, &status) != 0) return -errno;
    walk->may_others_add = is_writable_by_others(&status, *walk->path ? walk->path : "/") || !is_trusted(&status);
    if (!is_trusted(&status) || (walk->may_others_add && !(status.st_mode & S_ISVTX))) note_weak(walk, "");
    return LIBTREADLE_IMAGE_OK;
}

static int32_t enter(struct walk *walk, const char *name) {
    int next = openat(walk->directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return -errno;
    if (walk->directory >= 0) close(walk->directory);
    walk->directory = next;
    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(walk->path, '/');
        if (slash) *slash = 0;
    } else if (strcmp(name, "/") != 0) {
        size_t length = strlen(walk->path);
        if (length + strlen(name) + 2 > sizeof walk->path) return -ENAMETOOLONG;
        snprintf(walk->path + length, sizeof walk->path - length, "/%s", name);
    }
    return look_at_directory(walk);
}

static int32_t go_to_root(struct walk *walk) {
    *walk->path = 0;
    return enter(walk, "/");
}

/* Puts the target of a link before what is left to go. */
static int32_t follow(struct walk *walk, const char *name) {
    char target[PATH_MAX];
    ssize_t length = readlinkat(walk->directory, name, target, sizeof target - 1);
    if (length < 0) return -errno;
    if (length == 0 || length == sizeof target - 1) return -ENAMETOOLONG;
    if (++walk->links > MOST_LINKS) return -ELOOP;
    /* What is left begins with a slash, or is nothing. */
    size_t left = strlen(walk->rest);
    if ((size_t)length + left + 1 > sizeof walk->rest) return -ENAMETOOLONG;
    memmove(walk->rest + length, walk->rest, left + 1);
    memcpy(walk->rest, target, (size_t)length);
    return *target == '/' ? go_to_root(walk) : LIBTREADLE_IMAGE_OK;
}

/* Takes the next component off what is left to go. False if there is none. is_last: it is not followed by a slash. */
static bool take_component(struct walk *walk, char *name, bool *out_is_last) {
    size_t start = strspn(walk->rest, "/"), length = strcspn(walk->rest + start, "/");
    if (length == 0 || length > NAME_MAX) return false;
    memcpy(name, walk->rest + start, length);
    name[length] = 0;
    *out_is_last = walk->rest[start + length] == 0;
    memmove(walk->rest, walk->rest + start + length, strlen(walk->rest + start + length) + 1);
    return true;
}

/* Goes along the path, to its directory with the last component in name; if all of it are directories, to its end with none. */
static int32_t go(struct walk *walk, const char *path, char *name, bool is_directory) {
    char here[PATH_MAX] = "";
    bool is_last;
    walk->directory = -1;
    if (*path == 0) return -ENOENT;
    if (*path != '/' && !getcwd(here, sizeof here)) return -errno;
    if (*path != '/' && *here != '/') return -ENOENT;
    if (snprintf(walk->rest, sizeof walk->rest, "%s/%s", here, path) >= (int)sizeof walk->rest) return -ENAMETOOLONG;
    int32_t result = go_to_root(walk);
    while (result == LIBTREADLE_IMAGE_OK && take_component(walk, name, &is_last)) {
        struct stat status;
        if (strcmp(name, ".") == 0) continue;
        if (fstatat(walk->directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
        /* A stranger's entry in a directory with the sticky bit is the stranger's to replace. */
        if (!is_trusted(&status) && strcmp(name, "..") != 0) note_weak(walk, name);
        if (S_ISLNK(status.st_mode)) result = follow(walk, name);
        else if (is_last && !is_directory && !S_ISDIR(status.st_mode)) return LIBTREADLE_IMAGE_OK;
        else result = enter(walk, name);
    }
    *name = 0;
    if (result == LIBTREADLE_IMAGE_OK && walk->rest[strspn(walk->rest, "/")] != 0) return -ENAMETOOLONG;
    return result;
}

static int32_t open_last(struct walk *walk, const char *name, struct file *out_file) {
    if (*name == 0) return LIBTREADLE_IMAGE_NO_FILE;
    if (snprintf(out_file->path, sizeof out_file->path, "%s/%s", walk->path, name) >= (int)sizeof out_file->path) return -ENAMETOOLONG;
    out_file->fd = openat(walk->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (out_file->fd < 0) return -errno;
    if (fstat(out_file->fd, &out_file->status) != 0) return -errno;
    return S_ISREG(out_file->status.st_mode) ? LIBTREADLE_IMAGE_OK : LIBTREADLE_IMAGE_NO_FILE;
}

int32_t libtreadle_file_open(const char *path, bool takes_writable, struct file *out_file, struct report report) {
    struct walk *walk = calloc(1, sizeof *walk);
    char name[NAME_MAX + 1];
    out_file->fd = -1;
    if (!walk) return LIBTREADLE_IMAGE_MEMORY;
    int32_t result = go(walk, path, name, false);
    if (result == LIBTREADLE_IMAGE_OK) result = open_last(walk, name, out_file);
    if (result == LIBTREADLE_IMAGE_OK && !takes_writable) {
        const struct stat *status = &out_file->status;
        if (!is_trusted(status) || is_writable_by_others(status, out_file->path)) {
            result = LIBTREADLE_IMAGE_WRITABLE;
        } else if (*walk->weak) {
            result = LIBTREADLE_IMAGE_OPEN;
            libtreadle_files_say(report, walk->weak, NULL);
        }
    }
    if (walk->directory >= 0) close(walk->directory);
    if (result != LIBTREADLE_IMAGE_OK && out_file->fd >= 0) {
        close(out_file->fd);
        out_file->fd = -1;
    }
    free(walk);
    return result;
}

int32_t libtreadle_file_check_directory(const char *path, const char *owner, struct report report) {
    struct walk *walk = calloc(1, sizeof *walk);
    char name[NAME_MAX + 1];
    if (!walk) return LIBTREADLE_IMAGE_MEMORY;
    int32_t result = go(walk, path, name, true);
    /* If something is missing on the way, the question is who may create it. */
    bool is_missing = result == -ENOENT || result == -ENOTDIR;
    if (is_missing) result = LIBTREADLE_IMAGE_OK;
    if (result == LIBTREADLE_IMAGE_OK && !*walk->weak && walk->may_others_add) note_weak(walk, is_missing ? name : "");
    if (result == LIBTREADLE_IMAGE_OK && *walk->weak) {
        libtreadle_files_say(report, owner, walk->weak);
        result = LIBTREADLE_IMAGE_SEARCH;
    }
    if (walk->directory >= 0) close(walk->directory);
    free(walk);
    return result;
}
