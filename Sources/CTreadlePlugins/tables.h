/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * tables.h: what tables.c and symbols.c know of each other: a dynamic section, and the pieces of the file that it leads to. */
#ifndef CTREADLE_PLUGINS_TABLES_H
#define CTREADLE_PLUGINS_TABLES_H

#include "files.h"

enum { MOST_TAGS = 40 };

/* Of libraries that a newer linker has made than the C library's headers know. */
#ifndef DT_RELR
enum { DT_RELRSZ = 35, DT_RELR = 36 };
#endif

/* A piece of the file, read at once. */
struct piece {
    char *bytes;
    uint64_t size;
};

struct tables {
    const struct parts *parts;
    uint64_t values[MOST_TAGS]; /* of the tags below MOST_TAGS; 0: not there */
    uint64_t gnu_hash, versym, verdef, verdef_count, verneed, verneed_count, relative_count, flags, flags_1;
    struct piece strings, symbols;
    uint64_t symbol_count;
    bool is_count_unknown;
    uint64_t set_starters, set_enders; /* how many places of these arrays are relocated */
    struct needed *needed;
};

/* Reads what will be at an address, which must come from the file. False: it is not there. bytes are to be freed in either case. */
bool libtreadle_tables_read(const struct tables *tables, uint64_t address, uint64_t size, struct piece *out_piece);
bool libtreadle_tables_is_zero(const void *bytes, size_t size);
/* A text of the string table; NULL behind its end. */
const char *libtreadle_tables_string(const struct tables *tables, uint64_t offset);

/* symbols.c */
bool libtreadle_tables_check_symbols(struct tables *tables);
bool libtreadle_tables_check_versions(const struct tables *tables);
/* Whether there is such a symbol, which the file refers to. Notes a function of Treadle. */
bool libtreadle_tables_take_symbol(struct tables *tables, uint64_t index);

#endif
