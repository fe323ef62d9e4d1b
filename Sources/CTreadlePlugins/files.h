/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * files.h: what the files of this folder know of each other: a library's file before the loader sees it. */
#ifndef CTREADLE_PLUGINS_FILES_H
#define CTREADLE_PLUGINS_FILES_H

#include "CTreadlePlugins.h"

#include <elf.h>
#include <limits.h>
#include <sys/stat.h>

/* Every function returns LIBTREADLE_IMAGE_OK, another LIBTREADLE_IMAGE_..., or -errno. A failure that has more to say writes it
 * into its report; otherwise the report stays empty. */
struct report {
    char *text;
    size_t size;
};
void libtreadle_files_say(struct report report, const char *what, const char *which);

/* --- path.c: from a path to an open file ---------------------------------------------------------- */

struct file {
    int fd;
    char path[PATH_MAX]; /* absolute, without links */
    struct stat status;
};

/* Opens a regular file. Unless takes_writable, only root and the process's user may be able to change the file, or what its path
 * leads to. The descriptor is the caller's. */
int32_t libtreadle_file_open(const char *path, bool takes_writable, struct file *out_file, struct report report);
/* Checks a directory of a search path, whose entries only root and the process's user may be able to add or change. It need not exist.
 * owner: the file that has the path, for the report. */
int32_t libtreadle_file_check_directory(const char *path, const char *owner, struct report report);

/* --- format.c, tables.c: the contents of the file -------------------------------------------------- */

enum { MOST_NEEDED = 256 };

/* What the dynamic section of a file says of other files. */
struct needed {
    char *strings;                    /* the string table, to be freed */
    const char *names[MOST_NEEDED];   /* DT_NEEDED and the filters, in strings */
    uint32_t count;
    const char *rpath, *runpath, *soname; /* in strings, or NULL */
    const char *calls;                /* a function of Treadle that the file does not call by a table; in strings, or NULL */
    bool is_nodelete;
};

/* A file's parts, as its program headers list them. */
struct parts {
    int fd;
    uint64_t size; /* of the file */
    Elf64_Phdr *headers;
    uint32_t count;
};

/* Checks all that the loader would read. out_needed->strings is the caller's. */
int32_t libtreadle_file_check(const struct file *file, struct needed *out_needed, bool *out_may_have_swift);
/* Checks the tables that the dynamic section leads to. */
int32_t libtreadle_tables_check(const struct parts *parts, const Elf64_Phdr *dynamic, struct needed *out_needed);
/* Reads from the file: exactly size bytes, or nothing. */
bool libtreadle_file_read(int fd, void *bytes, size_t size, uint64_t offset);

/* --- needed.c: the libraries that a file brings along ---------------------------------------------- */

/* Libraries that were mapped early: the loader has counted each of them once more. */
struct early {
    void *handles[MOST_NEEDED];
    struct { uint64_t device, inode; } seen[MOST_NEEDED]; /* files that were looked at */
    uint32_t count, seen_count;
};
/* Checks what the loader would find for a file by a search path of the file's own, and maps what it finds relative to the file. */
int32_t libtreadle_needed_open(const struct file *file, const struct needed *needed, bool takes_writable, struct early *early, struct report report);
void libtreadle_needed_close(struct early *early);

/* --- image.c ----------------------------------------------------------------------------------------- */

/* Maps exactly this open file. The loader, debuggers and dladdr know it as name afterwards. NULL if the loader refuses
 * it, which is reported. */
void *libtreadle_image_map(const struct file *file, const char *name, struct report report);

#endif
