/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * symbols.c: the symbols of a library, the hashes by which they are found, and their versions. */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

/* --- Symbols -------------------------------------------------------------------------------------- */

static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++) hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool read_symbols(struct tables *tables, uint64_t count) {
    if (tables->symbols.bytes) return true;
    if (count == 0 || count > tables->parts->size / sizeof(Elf64_Sym)) return false;
    tables->symbol_count = count;
    if (!libtreadle_tables_read(tables, tables->values[DT_SYMTAB], count * sizeof(Elf64_Sym), &tables->symbols)) return false;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(void *)tables->symbols.bytes;
    for (uint64_t i = 1; i < count; i++) {
        if (symbols[i].st_name >= tables->strings.size || libtreadle_tables_is_zero(&symbols[i], sizeof *symbols)) return false;
    }
    return true;
}

/* What a plugin's code creates by a function of Treadle that the loader finds for it belongs to nobody. One that the file itself has
 * is a copy of Treadle, which leads to the same. */
static void note_function(struct tables *tables, const Elf64_Sym *symbol) {
    const char *name = libtreadle_tables_string(tables, symbol->st_name);
    if (symbol->st_shndx != SHN_UNDEF ? strcmp(name, "treadle_loop_run") == 0 : strncmp(name, "treadle_", 8) == 0) tables->needed->calls = name;
}

/* A library that shows no symbol does not say how many it has. */
bool libtreadle_tables_take_symbol(struct tables *tables, uint64_t index) {
    struct piece piece = {NULL, 0};
    const Elf64_Sym *symbol = (const Elf64_Sym *)(void *)tables->symbols.bytes + index;
    bool is_there = index < tables->symbol_count;
    if (!is_there && tables->is_count_unknown && index <= tables->parts->size) {
        is_there = libtreadle_tables_read(tables, tables->values[DT_SYMTAB] + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym), &piece);
        symbol = (const Elf64_Sym *)(void *)piece.bytes;
        is_there = is_there && symbol->st_name < tables->strings.size;
    }
    if (is_there) note_function(tables, symbol);
    free(piece.bytes);
    return is_there;
}

/* Of the last symbol that a chain leads to, plus 1; 0 if the chain has no end. */
static uint64_t end_of_chain(const struct tables *tables, uint64_t chains, uint64_t at) {
    struct piece link;
    for (;; at++) {
        bool is_read = libtreadle_tables_read(tables, chains + at * 4, 4, &link);
        uint32_t value = is_read ? *(const uint32_t *)(void *)link.bytes : 0;
        free(link.bytes);
        if (!is_read) return 0;
        if (value & 1) return at + 1;
    }
}

/* Each symbol that the library shows is found by the hash of its name, so the names, the symbols and the hashes prove each other. */
static bool check_gnu_hash(struct tables *tables) {
    struct piece head, buckets, chain = {NULL, 0};
    uint64_t at = tables->gnu_hash;
    if (at == 0) return true;
    bool is_good = libtreadle_tables_read(tables, at, 16, &head);
    uint32_t count = 0, first = 0, bloom = 0;
    if (is_good) {
        const uint32_t *words = (const uint32_t *)(void *)head.bytes;
        count = words[0], first = words[1], bloom = words[2];
        is_good = count > 0 && bloom > 0 && (bloom & (bloom - 1)) == 0 && words[3] < 64;
    }
    free(head.bytes);
    if (!is_good) return false;
    uint64_t filter_size = (uint64_t)bloom * 8, chains = at + 16 + filter_size + (uint64_t)count * 4;
    is_good = libtreadle_tables_read(tables, at + 16 + filter_size, (uint64_t)count * 4, &buckets);
    uint64_t last = 0;
    for (uint32_t i = 0; i < count && is_good; i++) {
        uint32_t symbol = ((const uint32_t *)(void *)buckets.bytes)[i];
        if (symbol != 0 && symbol < first) is_good = false;
        if (symbol > last) last = symbol;
    }
    uint64_t symbols = first;
    tables->is_count_unknown = last == 0;
    if (is_good && last > 0) {
        symbols = end_of_chain(tables, chains, last - first);
        is_good = symbols > 0;
        symbols += first;
    }
    if (is_good) is_good = read_symbols(tables, symbols);
    if (is_good && symbols > first) is_good = libtreadle_tables_read(tables, chains, (symbols - first) * 4, &chain);
    for (uint64_t i = first; i < symbols && is_good; i++) {
        const Elf64_Sym *symbol = (const Elf64_Sym *)(void *)tables->symbols.bytes + i;
        uint32_t hash = hash_of(libtreadle_tables_string(tables, symbol->st_name));
        if ((hash | 1) != (((const uint32_t *)(void *)chain.bytes)[i - first] | 1)) is_good = false;
        else if (((const uint32_t *)(void *)buckets.bytes)[hash % count] == 0) is_good = false;
    }
    free(buckets.bytes);
    free(chain.bytes);
    return is_good;
}

/* The older form: a chain is a list of symbols, and each symbol is in one list. */
static bool check_hash(struct tables *tables) {
    struct piece head, words;
    uint64_t at = tables->values[DT_HASH];
    if (at == 0) return true;
    bool is_good = libtreadle_tables_read(tables, at, 8, &head);
    uint32_t buckets = is_good ? ((const uint32_t *)(void *)head.bytes)[0] : 0, count = is_good ? ((const uint32_t *)(void *)head.bytes)[1] : 0;
    free(head.bytes);
    if (buckets == 0 || count == 0 || !read_symbols(tables, count)) return false;
    is_good = libtreadle_tables_read(tables, at + 8, ((uint64_t)buckets + count) * 4, &words);
    const uint32_t *bucket = (const uint32_t *)(void *)words.bytes, *chain = bucket + buckets;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < buckets && is_good; i++) {
        for (uint32_t symbol = bucket[i]; symbol != 0 && is_good; symbol = chain[symbol])
            if (symbol >= count || ++steps > count) is_good = false;
    }
    free(words.bytes);
    return is_good;
}

/* --- Versions ------------------------------------------------------------------------------------- */

static bool is_needed(const struct tables *tables, const char *name) {
    for (uint32_t i = 0; i < tables->needed->count; i++)
        if (strcmp(tables->needed->names[i], name) == 0) return true;
    return false;
}

static bool check_needed_versions(const struct tables *tables) {
    uint64_t at = tables->verneed;
    for (uint64_t i = 0; i < tables->verneed_count; i++) {
        struct piece piece;
        bool is_good = libtreadle_tables_read(tables, at, sizeof(Elf64_Verneed), &piece);
        Elf64_Verneed need = {0};
        if (is_good) memcpy(&need, piece.bytes, sizeof need);
        free(piece.bytes);
        const char *file = libtreadle_tables_string(tables, need.vn_file);
        /* The loader asserts that the file is there. */
        if (!is_good || need.vn_version != 1 || need.vn_cnt == 0 || !file || !is_needed(tables, file)) return false;
        uint64_t next = at + need.vn_aux;
        for (uint32_t k = 0; k < need.vn_cnt; k++) {
            Elf64_Vernaux version = {0};
            is_good = libtreadle_tables_read(tables, next, sizeof version, &piece);
            if (is_good) memcpy(&version, piece.bytes, sizeof version);
            free(piece.bytes);
            const char *name = libtreadle_tables_string(tables, version.vna_name);
            if (!is_good || !name || *name == 0 || (k + 1 < need.vn_cnt) != (version.vna_next != 0)) return false;
            next += version.vna_next;
        }
        if ((i + 1 < tables->verneed_count) != (need.vn_next != 0)) return false;
        at += need.vn_next;
    }
    return true;
}

static bool check_defined_versions(const struct tables *tables) {
    uint64_t at = tables->verdef;
    for (uint64_t i = 0; i < tables->verdef_count; i++) {
        struct piece piece;
        Elf64_Verdef defined = {0};
        Elf64_Verdaux name = {0};
        bool is_good = libtreadle_tables_read(tables, at, sizeof defined, &piece);
        if (is_good) memcpy(&defined, piece.bytes, sizeof defined);
        free(piece.bytes);
        is_good = is_good && libtreadle_tables_read(tables, at + defined.vd_aux, sizeof name, &piece);
        if (is_good) memcpy(&name, piece.bytes, sizeof name), free(piece.bytes);
        if (!is_good || defined.vd_version != 1 || defined.vd_cnt == 0 || !libtreadle_tables_string(tables, name.vda_name)) return false;
        if ((i + 1 < tables->verdef_count) != (defined.vd_next != 0)) return false;
        at += defined.vd_next;
    }
    return true;
}

bool libtreadle_tables_check_symbols(struct tables *tables) {
    if (!check_gnu_hash(tables) || !check_hash(tables)) return false;
    for (uint64_t i = 1; i < tables->symbol_count; i++) note_function(tables, (const Elf64_Sym *)(void *)tables->symbols.bytes + i);
    return true;
}

bool libtreadle_tables_check_versions(const struct tables *tables) {
    struct piece piece;
    bool is_there = !tables->versym || libtreadle_tables_read(tables, tables->versym, 2 * tables->symbol_count, &piece);
    if (tables->versym) free(piece.bytes);
    return is_there && check_needed_versions(tables) && check_defined_versions(tables);
}
