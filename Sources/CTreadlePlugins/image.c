/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * image.c: a shared library from its open file to its mapping, and back. */
#include "files.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All images that are mapped. Never held while the loader opens or closes one, which calls code of theirs. */
static pthread_mutex_t images_lock = PTHREAD_MUTEX_INITIALIZER;
static struct libtreadle_image *images;

static void before_fork(void) { pthread_mutex_lock(&images_lock); }
static void after_fork(void) { pthread_mutex_unlock(&images_lock); }
static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); }

/* --- Images ---------------------------------------------------------------------------------------- */

static bool is_of(const struct libtreadle_image *image, const struct stat *file) {
    return image->device == file->st_dev && image->inode == file->st_ino;
}
static bool is_as_it_was(const struct libtreadle_image *image, const struct stat *file) {
    return image->changed_s == file->st_mtim.tv_sec && image->changed_ns == file->st_mtim.tv_nsec && image->size == file->st_size;
}

/* Whether the loader knows an image of another file by this name. Under the lock. */
static bool is_taken(const char *name, const struct stat *file) {
    for (struct libtreadle_image *image = images; image; image = image->next)
        if (strcmp(image->name, name) == 0 && !is_of(image, file)) return true;
    return false;
}

/* The path, which begins with a slash, spelled so that no image has the name that is mapped from another file. */
static char *spell(const char *path, const struct stat *file, bool *out_is_changed) {
    size_t before = (size_t)(strrchr(path, '/') - path) + 1, length = strlen(path), count = 1;
    *out_is_changed = false;
    pthread_mutex_lock(&images_lock);
    for (struct libtreadle_image *image = images; image; image = image->next) {
        count++;
        if (is_of(image, file) && !is_as_it_was(image, file)) *out_is_changed = true;
    }
    char *name = malloc(length + 2 * count + 3);
    if (name) {
        /* As many as there are images, one of these is free. */
        for (size_t dots = 0; dots <= count; dots++) {
            memcpy(name, path, before);
            for (size_t i = 0; i < dots; i++) memcpy(name + before + 2 * i, "./", 2);
            memcpy(name + before + 2 * dots, path + before, length - before + 1);
            if (!is_taken(name, file)) break;
        }
    }
    pthread_mutex_unlock(&images_lock);
    return name;
}

/* --- Mapping --------------------------------------------------------------------------------------- */

struct renaming {
    const char *from; /* the loader's own text */
    const char *to;
};
/* The loader's lock is held here, so nobody reads the name meanwhile. */
static int rename_image(struct dl_phdr_info *info, size_t size, void *memory) {
    const struct renaming *renaming = memory;
    (void)size;
    if (info->dlpi_name != renaming->from || strlen(renaming->from) < strlen(renaming->to)) return 0;
    strcpy((char *)(uintptr_t)renaming->from, renaming->to);
    return 1;
}

/* A name for the open file that the loader has never seen, since it takes an image that has the name for the file; at least as
 * long as another name, which takes its place later. NULL if there is no /proc, or no memory. A debugger reads the name as well: so it
 * has the process's number. */
static char *name_descriptor(const struct file *file, const char *name) {
    static _Atomic uint64_t last;
    uint64_t number = atomic_fetch_add(&last, 1);
    size_t length = strlen(name), at;
    char *given = malloc(length + 192);
    for (int is_self = 0; is_self < 2 && given; is_self++) {
        struct stat status;
        at = is_self ? (size_t)sprintf(given, "/proc/self/fd/") : (size_t)sprintf(given, "/proc/%d/fd/", (int)getpid());
        /* A number in parts of a path that mean nothing. */
        for (int bit = 0; bit < 64; bit++) at += (size_t)sprintf(given + at, number >> bit & 1 ? "./" : "//");
        while (at < length) given[at++] = '/';
        sprintf(given + at, "%d", file->fd);
        if (stat(given, &status) == 0 && status.st_dev == file->status.st_dev && status.st_ino == file->status.st_ino) return given;
    }
    free(given);
    return NULL;
}

/* What the loader says of a file. Its text begins with the name that it was given, which tells nobody anything: in its place is the
 * last part of the file's own, so that the reason has room. */
static void report_refusal(const char *why, const char *given, const char *name, struct report report) {
    const char *file = strrchr(name, '/') + 1, *begins = given ? given : name;
    size_t length = strlen(begins);
    bool is_about_file = why && strncmp(why, begins, length) == 0 && why[length] == ':';
    if (is_about_file) libtreadle_files_say(report, file, why + length + 1 + strspn(why + length + 1, " "));
    else libtreadle_files_say(report, why ? why : file, NULL);
}

void *libtreadle_image_map(const struct file *file, const char *name, struct report report) {
    char *given = name_descriptor(file, name);
    struct link_map *map = NULL;
    void *handle = dlopen(given ? given : name, RTLD_NOW | RTLD_LOCAL);
    if (handle && given && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && strcmp(map->l_name, given) == 0) {
        struct renaming renaming = {map->l_name, name};
        dl_iterate_phdr(rename_image, &renaming);
    }
    if (!handle) report_refusal(dlerror(), given, name, report);
    free(given);
    return handle;
}

/* The same library was mapped before, and stayed: the loader counts it once more, which is taken back unless it is all that
 * the old image has. */
static struct libtreadle_image *join_images(struct libtreadle_image *new, const struct stat *file) {
    pthread_mutex_lock(&images_lock);
    struct libtreadle_image *old = images;
    while (old && (old->is_closing || old->handle != new->handle || !is_of(old, file))) old = old->next;
    bool is_left = old && old->is_left;
    if (is_left) old->stays = new->stays;
    if (old) {
        /* It may have been mapped anew, under another name of its file. */
        char *name = old->name;
        old->name = new->name, new->name = name;
        old->users++;
        old->is_left = false;
    } else {
        new->next = images;
        images = new;
    }
    pthread_mutex_unlock(&images_lock);
    if (!old) return new;
    if (!is_left) dlclose(new->handle);
    free(new->name);
    free(new);
    return old;
}

/* The name of an image that is mapped from the file, perhaps: to be freed; NULL if there is none. */
static char *copy_known_name(const struct stat *file) {
    char *name = NULL;
    pthread_mutex_lock(&images_lock);
    for (struct libtreadle_image *image = images; image && !name; image = image->next)
        if (!image->is_closing && is_of(image, file) && is_as_it_was(image, file)) name = strdup(image->name);
    pthread_mutex_unlock(&images_lock);
    return name;
}

static bool is_known(void *handle, const struct stat *file) {
    bool is_found = false;
    pthread_mutex_lock(&images_lock);
    for (struct libtreadle_image *image = images; image && !is_found; image = image->next)
        is_found = !image->is_closing && image->handle == handle && is_of(image, file);
    pthread_mutex_unlock(&images_lock);
    return is_found;
}

/* One that has stayed is asked for by its name: under a new one the loader would find it as well, and keep the name for ever. */
static void *find_again(const struct stat *file) {
    char *name = copy_known_name(file);
    void *handle = name ? dlopen(name, RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL) : NULL;
    free(name);
    if (handle && !is_known(handle, file)) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

/* --- Opening ---------------------------------------------------------------------------------------- */

static int32_t map_file(const struct file *file, const struct needed *needed, const char *name, bool takes_writable, void **out_handle,
                        struct report report) {
    struct early *early = calloc(1, sizeof *early);
    if (!early) return LIBTREADLE_IMAGE_MEMORY;
    int32_t result = libtreadle_needed_open(file, needed, takes_writable, early, report);
    if (result == LIBTREADLE_IMAGE_OK) {
        *out_handle = libtreadle_image_map(file, name, report);
        if (!*out_handle) result = LIBTREADLE_IMAGE_LOADER;
    }
    libtreadle_needed_close(early);
    free(early);
    return result;
}

static int32_t open_checked(const struct file *file, const struct needed *needed, bool may_have_swift, bool takes_writable,
                            struct libtreadle_image **out_image, struct report report) {
    bool is_changed;
    const char *stays = may_have_swift ? "stays mapped: it brings a Swift runtime, or hides whether it does" : NULL;
    if (needed->is_nodelete) stays = "stays mapped: its file forbids to unmap it";
    const struct stat *status = &file->status;
    struct libtreadle_image *image = calloc(1, sizeof *image);
    char *name = spell(file->path, status, &is_changed);
    int32_t result = !image || !name ? LIBTREADLE_IMAGE_MEMORY : is_changed ? LIBTREADLE_IMAGE_CHANGED : LIBTREADLE_IMAGE_OK;
    if (result == LIBTREADLE_IMAGE_OK) {
        *image = (struct libtreadle_image){NULL, NULL, NULL, status->st_dev, status->st_ino, status->st_mtim.tv_sec, status->st_mtim.tv_nsec,
                                           status->st_size, 1, false, false, stays};
        image->handle = find_again(status);
        if (!image->handle) result = map_file(file, needed, name, takes_writable, &image->handle, report);
    }
    if (result == LIBTREADLE_IMAGE_OK) {
        struct link_map *map = NULL;
        bool is_named = dlinfo(image->handle, RTLD_DI_LINKMAP, &map) == 0;
        image->name = strdup(is_named ? map->l_name : name);
        if (!image->name) {
            dlclose(image->handle);
            result = LIBTREADLE_IMAGE_MEMORY;
        }
    }
    if (result == LIBTREADLE_IMAGE_OK) *out_image = join_images(image, status);
    else free(image);
    free(name);
    return result;
}

int32_t libtreadle_image_open(const char *path, bool takes_writable, struct libtreadle_image **out_image, char *text, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct report report = {text, size};
    struct needed *needed = calloc(1, sizeof *needed);
    struct file *file = calloc(1, sizeof *file);
    bool may_have_swift = true;
    pthread_once(&once, watch_forks);
    *out_image = NULL;
    *text = 0;
    int32_t result = needed && file ? libtreadle_file_open(path, takes_writable, file, report) : LIBTREADLE_IMAGE_MEMORY;
    if (result == LIBTREADLE_IMAGE_OK) {
        result = libtreadle_file_check(file, needed, &may_have_swift);
        if (result == LIBTREADLE_IMAGE_OK && needed->calls) {
            libtreadle_files_say(report, strrchr(file->path, '/') + 1, needed->calls);
            result = LIBTREADLE_IMAGE_CALLS;
        }
        if (result == LIBTREADLE_IMAGE_OK) result = open_checked(file, needed, may_have_swift, takes_writable, out_image, report);
        close(file->fd);
    }
    if (needed) free(needed->strings);
    free(needed);
    free(file);
    return result;
}

void *libtreadle_image_find(struct libtreadle_image *image, const char *symbol) { return dlsym(image->handle, symbol); }

/* An image as the loader lists it. */
struct listed {
    const char *name;
    uintptr_t address;
    bool is_there;
};
static int look_for(struct dl_phdr_info *info, size_t size, void *memory) {
    struct listed *wanted = memory;
    (void)size;
    if (info->dlpi_addr == wanted->address && strcmp(info->dlpi_name, wanted->name) == 0) wanted->is_there = true;
    return wanted->is_there;
}

const char *libtreadle_image_close(struct libtreadle_image *image, const char *stays) {
    pthread_mutex_lock(&images_lock);
    image->users--;
    if (!image->stays) image->stays = stays;
    stays = image->stays;
    if (!stays && image->users > 0) stays = "stays mapped: another plugin uses the same file";
    image->is_closing = !stays;
    pthread_mutex_unlock(&images_lock);
    if (stays) return stays;
    struct link_map *map = NULL;
    struct listed listed = {image->name, 0, false};
    if (dlinfo(image->handle, RTLD_DI_LINKMAP, &map) == 0) listed.address = map->l_addr;
    dlclose(image->handle);
    /* The loader may keep it: a thread has values to destroy in it. It is asked for the place, since the name may be another
     * file's by now. Who closes it as well, or has opened it, has an image of it on the list. */
    pthread_mutex_lock(&images_lock);
    dl_iterate_phdr(look_for, &listed);
    struct libtreadle_image *other = images, **at = &images;
    while (other && (other == image || other->handle != image->handle)) other = other->next;
    image->is_closing = false;
    image->is_left = listed.is_there && !other;
    if (!image->is_left) {
        while (*at != image) at = &(*at)->next;
        *at = image->next;
    }
    pthread_mutex_unlock(&images_lock);
    if (listed.is_there && !other)
        return "stays mapped: the loader keeps it, for a name that other libraries are bound to (link it with the version script plugin.map) "
               "or for a thread's values";
    free(image->name);
    free(image);
    return listed.is_there ? "stays mapped: it was loaded anew" : NULL;
}
