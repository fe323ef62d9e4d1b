/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * image.c: a shared library from its file to its mapping, and back. What the loader would crash on is refused before. */
#include "CTreadlePlugins.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __aarch64__
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif
enum { MOST_HEADERS = 1024, MOST_DYNAMIC = 65536 };

/* All images that are mapped. Never held while the loader opens or closes one, which calls code of theirs. */
static pthread_mutex_t images_lock = PTHREAD_MUTEX_INITIALIZER;
static struct libtreadle_image *images;

static void before_fork(void) { pthread_mutex_lock(&images_lock); }
static void after_fork(void) { pthread_mutex_unlock(&images_lock); }
static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); }

/* --- The file ------------------------------------------------------------------------------------ */

static bool is_others(const struct stat *file) {
    uid_t self = geteuid();
    if (file->st_uid != 0 && file->st_uid != self) return true;
    if (file->st_mode & S_IWOTH) return true;
    /* A user's own group has the user's number and nobody else in it. */
    bool is_own_group = file->st_gid == 0 || (file->st_gid == self && file->st_gid == getegid());
    return (file->st_mode & S_IWGRP) && !is_own_group;
}

/* Whether somebody else may put another file in the place of this one, whose path is without links. In a directory with the
 * sticky bit only the owners of both may. */
static bool is_in_open_directory(char *path) {
    struct stat directory;
    char *slash = strrchr(path, '/');
    if (!slash) return true;
    char first = slash[1];
    slash[1] = 0;
    bool is_known = stat(path, &directory) == 0;
    slash[1] = first;
    if (!is_known) return true;
    if (directory.st_mode & S_ISVTX) directory.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
    return is_others(&directory);
}

static bool read_at(int fd, void *bytes, size_t size, uint64_t offset) {
    return offset <= INT64_MAX && pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Whether its sections, or their absence, speak for a Swift runtime. */
static bool may_have_swift(int fd, const Elf64_Ehdr *header) {
    if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum) return true;
    Elf64_Shdr names;
    if (!read_at(fd, &names, sizeof names, header->e_shoff + (uint64_t)header->e_shstrndx * sizeof names)) return true;
    for (uint32_t i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section;
        char name[12] = {0};
        if (!read_at(fd, &section, sizeof section, header->e_shoff + (uint64_t)i * sizeof section)) return true;
        if (section.sh_type == SHT_NULL) continue;
        if (pread(fd, name, sizeof name - 1, (off_t)(names.sh_offset + section.sh_name)) <= 0) return true;
        if (strncmp(name, "swift5_", 7) == 0 || strncmp(name, ".swift5_", 8) == 0) return true;
    }
    return false;
}

static bool is_without_end(int fd, const Elf64_Phdr *dynamic) {
    if (dynamic->p_filesz > MOST_DYNAMIC) return true;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->p_filesz; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        if (!read_at(fd, &entry, sizeof entry, dynamic->p_offset + at)) return true;
        if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_NODELETE) != 0;
        if (entry.d_tag == DT_NULL) break;
    }
    return false;
}

static int32_t check_format(int fd, uint64_t size, const char **out_stays) {
    Elf64_Ehdr header;
    if (!read_at(fd, &header, sizeof header, 0)) return LIBTREADLE_IMAGE_FORMAT;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return LIBTREADLE_IMAGE_FORMAT;
    if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN || header.e_machine != MACHINE) return LIBTREADLE_IMAGE_FORMAT;
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > MOST_HEADERS) return LIBTREADLE_IMAGE_FORMAT;
    bool has_dynamic = false;
    *out_stays = may_have_swift(fd, &header) ? "stays mapped: it brings a Swift runtime, or hides whether it does" : NULL;
    for (uint32_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;
        if (header.e_phoff > size || !read_at(fd, &part, sizeof part, header.e_phoff + i * sizeof part)) return LIBTREADLE_IMAGE_CUT;
        if (part.p_type != PT_LOAD && part.p_type != PT_DYNAMIC) continue;
        if (part.p_offset > size || part.p_filesz > size - part.p_offset) return LIBTREADLE_IMAGE_CUT;
        if (part.p_type == PT_DYNAMIC) {
            has_dynamic = true;
            if (is_without_end(fd, &part)) *out_stays = "stays mapped: its file forbids to unmap it";
        }
    }
    return has_dynamic ? LIBTREADLE_IMAGE_OK : LIBTREADLE_IMAGE_FORMAT;
}

/* --- The image ----------------------------------------------------------------------------------- */

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

/* The path, which begins with a slash, spelled so that the loader does not take it for an image that is mapped from a file which
 * had the name before. */
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

/* The same library was mapped before, and stayed: the loader counts it once more, which is taken back unless it is all that
 * the old image has. */
static struct libtreadle_image *join_images(struct libtreadle_image *new) {
    pthread_mutex_lock(&images_lock);
    struct libtreadle_image *old = images;
    while (old && (old->is_closing || old->handle != new->handle || strcmp(old->name, new->name) != 0)) old = old->next;
    bool is_left = old && old->is_left;
    if (is_left) old->stays = new->stays;
    if (old) {
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

int32_t libtreadle_image_open(const char *path, bool takes_writable, struct libtreadle_image **out_image, char *text, size_t size) {
    struct stat file;
    const char *stays = NULL;
    bool is_changed;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    *out_image = NULL;
    /* What is looked at is what is mapped, wherever a link on the way leads meanwhile. */
    char *real = realpath(path, NULL);
    int fd = real ? open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    int32_t result = fd < 0 ? -errno : LIBTREADLE_IMAGE_OK;
    if (fd < 0) {
        free(real);
        return result;
    }
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) result = LIBTREADLE_IMAGE_NO_FILE;
    else if (!takes_writable && is_others(&file)) result = LIBTREADLE_IMAGE_WRITABLE;
    else if (!takes_writable && is_in_open_directory(real)) result = LIBTREADLE_IMAGE_OPEN;
    else result = check_format(fd, (uint64_t)file.st_size, &stays);
    close(fd);
    struct libtreadle_image *image = NULL;
    char *name = NULL;
    if (result == LIBTREADLE_IMAGE_OK) {
        image = calloc(1, sizeof *image);
        name = spell(real, &file, &is_changed);
    }
    free(real);
    if (result != LIBTREADLE_IMAGE_OK) return result;
    if (!image || !name || is_changed) {
        free(image);
        free(name);
        return is_changed && name ? LIBTREADLE_IMAGE_CHANGED : LIBTREADLE_IMAGE_MEMORY;
    }
    *image = (struct libtreadle_image){NULL, name, NULL, file.st_dev, file.st_ino, file.st_mtim.tv_sec, file.st_mtim.tv_nsec, file.st_size, 1, false, false, stays};
    image->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!image->handle) {
        /* The loader's text begins with the path, which may leave no room for the reason. */
        const char *why = dlerror();
        size_t length = strlen(name);
        if (why && strncmp(why, name, length) == 0 && why[length] == ':') why += length + 1 + strspn(why + length + 1, " ");
        snprintf(text, size, "%s", why ? why : "");
        free(name);
        free(image);
        return LIBTREADLE_IMAGE_LOADER;
    }
    *out_image = join_images(image);
    return LIBTREADLE_IMAGE_OK;
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
    if (listed.is_there && !other) return "stays mapped: the loader keeps it";
    free(image->name);
    free(image);
    return listed.is_there ? "stays mapped: it was loaded anew" : NULL;
}
