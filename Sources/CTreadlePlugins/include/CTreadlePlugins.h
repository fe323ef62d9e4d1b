/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadlePlugins.h: shared libraries as files and as images, and the table of functions that plugins are given. */
#ifndef CTREADLE_PLUGINS_H
#define CTREADLE_PLUGINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A library that is, or was, mapped for a plugin. */
struct libtreadle_image {
    struct libtreadle_image *next;
    char *name; /* under which the loader knows it */
    void *handle;
    uint64_t device, inode;
    int64_t changed_s, changed_ns, size; /* of the file, when it was opened */
    uint32_t users;
    bool is_closing; /* its reference goes back to the loader: its name is taken still, and nobody joins it */
    bool is_left;    /* it has gone back, and the loader keeps the library for reasons of its own */
    const char *stays; /* why it stays mapped whatever is asked; NULL: it may go */
};

/* Why a library was not opened: one of these, or -errno. */
enum {
    LIBTREADLE_IMAGE_OK = 0,
    LIBTREADLE_IMAGE_NO_FILE = 2,  /* a directory, a device */
    LIBTREADLE_IMAGE_WRITABLE = 3, /* by somebody else */
    LIBTREADLE_IMAGE_FORMAT = 4,   /* no library of this machine's */
    LIBTREADLE_IMAGE_CUT = 5,      /* shorter than it says */
    LIBTREADLE_IMAGE_LOADER = 6,   /* text says why */
    LIBTREADLE_IMAGE_CHANGED = 7,  /* written over in its place while it is mapped */
    LIBTREADLE_IMAGE_MEMORY = 8,
    LIBTREADLE_IMAGE_OPEN = 9,     /* somebody else may replace it, or a directory or link on its way: text says where */
    LIBTREADLE_IMAGE_DAMAGED = 10, /* a table that the loader reads makes no sense: bytes are lost */
    LIBTREADLE_IMAGE_CALLS = 12,   /* it calls Treadle, not by its host's table: text says which function, and of which library */
    LIBTREADLE_IMAGE_SEARCH = 11   /* it needs libraries of a directory that somebody else may write: text says which */
};
/* text: of size bytes, at least 1; empty, or more about the failure. */
int32_t libtreadle_image_open(const char *path, bool takes_writable, struct libtreadle_image **out_image, char *text, size_t size);
void *libtreadle_image_find(struct libtreadle_image *image, const char *symbol);
/* One user less. stays: why it is not to be unmapped; NULL: if that was the last, it is. NULL if it is gone, else why it is not. */
const char *libtreadle_image_close(struct libtreadle_image *image, const char *stays);

/* The table; the headers know its type. */
const void *libtreadle_plugin_table(void);

#endif
