/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * tables.c: the tables that the dynamic section of a library leads to. The loader believes all that they say; here they are
 * checked first, so that a file that has lost bytes (a power cut leaves zeroes) is refused and does not crash the loader. */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#ifdef __aarch64__
enum { RELATIVE = R_AARCH64_RELATIVE, IRELATIVE = R_AARCH64_IRELATIVE };
#else
enum { RELATIVE = R_X86_64_RELATIVE, IRELATIVE = R_X86_64_IRELATIVE };
#endif
enum { MOST_DYNAMIC = 4096 };

/* --- Places --------------------------------------------------------------------------------------- */

static const Elf64_Phdr *find_part(const struct tables *tables, uint64_t address, uint64_t size) {
    for (uint32_t i = 0; i < tables->parts->count; i++) {
        const Elf64_Phdr *part = &tables->parts->headers[i];
        if (part->p_type != PT_LOAD || address < part->p_vaddr) continue;
        uint64_t at = address - part->p_vaddr;
        if (at < part->p_memsz && size <= part->p_memsz - at) return part;
    }
    return NULL;
}
static bool is_code(const struct tables *tables, uint64_t address) {
    const Elf64_Phdr *part = find_part(tables, address, 1);
    return part && part->p_flags & PF_X;
}
static bool is_writable(const struct tables *tables, uint64_t address) {
    const Elf64_Phdr *part = find_part(tables, address, 8);
    bool may_write_code = tables->values[DT_TEXTREL] || tables->flags & DF_TEXTREL;
    return part && (part->p_flags & PF_W || may_write_code);
}

bool libtreadle_tables_read(const struct tables *tables, uint64_t address, uint64_t size, struct piece *out_piece) {
    const Elf64_Phdr *part = find_part(tables, address, size);
    *out_piece = (struct piece){NULL, size};
    if (!part || address - part->p_vaddr > part->p_filesz || size > part->p_filesz - (address - part->p_vaddr)) return false;
    out_piece->bytes = malloc(size + 1);
    return out_piece->bytes && libtreadle_file_read(tables->parts->fd, out_piece->bytes, size, part->p_offset + (address - part->p_vaddr));
}
bool libtreadle_tables_is_zero(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const char *)bytes)[i]) return false;
    return true;
}
const char *libtreadle_tables_string(const struct tables *tables, uint64_t offset) {
    return offset < tables->strings.size ? tables->strings.bytes + offset : NULL;
}

/* --- The dynamic section -------------------------------------------------------------------------- */

static void take_entry(struct tables *tables, const Elf64_Dyn *entry) {
    uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
    case DT_GNU_HASH: tables->gnu_hash = value; break;
    case DT_VERSYM: tables->versym = value; break;
    case DT_VERDEF: tables->verdef = value; break;
    case DT_VERDEFNUM: tables->verdef_count = value; break;
    case DT_VERNEED: tables->verneed = value; break;
    case DT_VERNEEDNUM: tables->verneed_count = value; break;
    case DT_RELACOUNT: tables->relative_count = value; break;
    case DT_FLAGS_1: tables->flags_1 = value; break;
    case DT_FLAGS: tables->flags = value; break;
    case DT_TEXTREL: tables->values[DT_TEXTREL] = 1; break;
    default:
        if (entry->d_tag > 0 && entry->d_tag < MOST_TAGS) tables->values[entry->d_tag] = value;
    }
}

static bool read_strings(struct tables *tables) {
    uint64_t size = tables->values[DT_STRSZ];
    if (size == 0 || !libtreadle_tables_read(tables, tables->values[DT_STRTAB], size, &tables->strings)) return false;
    return tables->strings.bytes[0] == 0 && tables->strings.bytes[size - 1] == 0;
}

/* Whatever names another library. */
static bool take_names(struct tables *tables, const Elf64_Dyn *entries, size_t count) {
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        const Elf64_Sxword tag = entries[i].d_tag;
        if (tag != DT_NEEDED && tag != DT_FILTER && tag != DT_AUXILIARY && tag != DT_RPATH && tag != DT_RUNPATH && tag != DT_SONAME) continue;
        const char *text = libtreadle_tables_string(tables, entries[i].d_un.d_val);
        bool is_path = tag == DT_RPATH || tag == DT_RUNPATH;
        if (!text || (*text == 0 && !is_path)) return false;
        if (tag == DT_RPATH) tables->needed->rpath = text;
        else if (tag == DT_RUNPATH) tables->needed->runpath = text;
        else if (tag == DT_SONAME) tables->needed->soname = text;
        else if (tables->needed->count == MOST_NEEDED) return false;
        else tables->needed->names[tables->needed->count++] = text;
    }
    return true;
}

static bool read_dynamic(struct tables *tables, const Elf64_Phdr *dynamic) {
    size_t count = dynamic->p_filesz / sizeof(Elf64_Dyn), at = 0;
    struct piece piece;
    if (count == 0 || count > MOST_DYNAMIC) return false;
    bool is_good = libtreadle_tables_read(tables, dynamic->p_vaddr, count * sizeof(Elf64_Dyn), &piece);
    const Elf64_Dyn *entries = (const Elf64_Dyn *)(void *)piece.bytes;
    while (is_good && at < count && entries[at].d_tag != DT_NULL) take_entry(tables, &entries[at++]);
    if (at == count) is_good = false;
    /* Linkers leave entries without a tag behind the last one, and no others. */
    for (size_t i = at; i < count && is_good; i++) is_good = entries[i].d_tag == DT_NULL;
    if (is_good) is_good = read_strings(tables) && take_names(tables, entries, count);
    free(piece.bytes);
    return is_good;
}

/* --- Relocations ---------------------------------------------------------------------------------- */

static void note_place(struct tables *tables, uint64_t address) {
    if (address - tables->values[DT_INIT_ARRAY] < tables->values[DT_INIT_ARRAYSZ]) tables->set_starters++;
    if (address - tables->values[DT_FINI_ARRAY] < tables->values[DT_FINI_ARRAYSZ]) tables->set_enders++;
}

static bool check_relocations(struct tables *tables, uint64_t address, uint64_t size, uint64_t relative) {
    struct piece piece;
    uint64_t count = size / sizeof(Elf64_Rela);
    if (size % sizeof(Elf64_Rela) != 0 || relative > count) return false;
    if (size == 0) return true;
    bool is_good = libtreadle_tables_read(tables, address, size, &piece);
    const Elf64_Rela *all = (const Elf64_Rela *)(void *)piece.bytes;
    for (uint64_t i = 0; i < count && is_good; i++) {
        uint64_t type = ELF64_R_TYPE(all[i].r_info), symbol = ELF64_R_SYM(all[i].r_info);
        if (type == 0) {
            /* Linkers leave these behind, and sort them to the end. */
            if (i < relative || (i + 1 < count && ELF64_R_TYPE(all[i + 1].r_info) != 0)) is_good = false;
            continue;
        }
        if ((i < relative && type != RELATIVE) || !is_writable(tables, all[i].r_offset)) is_good = false;
        if (symbol > 0 && !libtreadle_tables_take_symbol(tables, symbol)) is_good = false;
        if (type == IRELATIVE && !is_code(tables, (uint64_t)all[i].r_addend)) is_good = false;
        note_place(tables, all[i].r_offset);
    }
    free(piece.bytes);
    return is_good;
}

/* The packed form: an address, or 63 bits that say which of the next words there are. */
static bool check_packed_relocations(struct tables *tables) {
    struct piece piece;
    uint64_t size = tables->values[DT_RELRSZ], next = 0;
    if (size == 0 || size % 8 != 0) return size == 0;
    bool is_good = libtreadle_tables_read(tables, tables->values[DT_RELR], size, &piece);
    for (uint64_t i = 0; i < size / 8 && is_good; i++) {
        uint64_t word = ((const uint64_t *)(void *)piece.bytes)[i];
        if (word & 1) {
            if (next == 0) is_good = false;
            for (int bit = 1; bit < 64 && is_good; bit++) {
                if (!(word >> bit & 1)) continue;
                is_good = is_writable(tables, next + 8 * (uint64_t)(bit - 1));
                note_place(tables, next + 8 * (uint64_t)(bit - 1));
            }
            next += 63 * 8;
        } else {
            is_good = is_writable(tables, word);
            note_place(tables, word);
            next = word + 8;
        }
    }
    free(piece.bytes);
    return is_good;
}

/* --- Functions that the loader calls -------------------------------------------------------------- */

static bool is_function(const struct tables *tables, uint64_t address) {
    struct piece piece = {NULL, 0};
    uint64_t size = 4; /* less, where the code ends before: musl's _fini has three bytes */
    if (address == 0) return true;
    while (size > 1 && !find_part(tables, address, size)) size--;
    bool is_good = is_code(tables, address) && libtreadle_tables_read(tables, address, size, &piece) && !libtreadle_tables_is_zero(piece.bytes, size);
    free(piece.bytes);
    return is_good;
}

/* An address in it is that of the file until it is relocated. */
static bool is_relocated(const struct tables *tables, uint64_t address, uint64_t size, uint64_t set) {
    return size == 0 || (find_part(tables, address, size) && size % 8 == 0 && set >= size / 8);
}

/* --- All ------------------------------------------------------------------------------------------ */

/* A table comes with its size, or not at all. */
static bool are_whole(const struct tables *tables) {
    const uint64_t *values = tables->values;
    static const struct { Elf64_Sxword tag, size; } pairs[] = {
        {DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}, {DT_RELR, DT_RELRSZ}, {DT_INIT_ARRAY, DT_INIT_ARRAYSZ}, {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!values[pairs[i].tag] != !values[pairs[i].size]) return false;
    return !tables->verneed == !tables->verneed_count && !tables->verdef == !tables->verdef_count &&
           (tables->versym || (!tables->verneed && !tables->verdef));
}

static bool are_sound(struct tables *tables, const Elf64_Phdr *dynamic) {
    const uint64_t *values = tables->values;
    if (!read_dynamic(tables, dynamic) || !are_whole(tables)) return false;
    if ((tables->gnu_hash == 0 && values[DT_HASH] == 0) || values[DT_SYMENT] != sizeof(Elf64_Sym)) return false;
    if (!libtreadle_tables_check_symbols(tables) || !libtreadle_tables_check_versions(tables)) return false;
    if (values[DT_RELASZ] && values[DT_RELAENT] != sizeof(Elf64_Rela)) return false;
    if (values[DT_REL] || (values[DT_PLTRELSZ] && values[DT_PLTREL] != DT_RELA)) return false;
    if (!check_relocations(tables, values[DT_RELA], values[DT_RELASZ], tables->relative_count)) return false;
    if (!check_relocations(tables, values[DT_JMPREL], values[DT_PLTRELSZ], 0) || !check_packed_relocations(tables)) return false;
    if (!is_function(tables, values[DT_INIT]) || !is_function(tables, values[DT_FINI])) return false;
    return is_relocated(tables, values[DT_INIT_ARRAY], values[DT_INIT_ARRAYSZ], tables->set_starters) &&
           is_relocated(tables, values[DT_FINI_ARRAY], values[DT_FINI_ARRAYSZ], tables->set_enders);
}

int32_t libtreadle_tables_check(const struct parts *parts, const Elf64_Phdr *dynamic, struct needed *out_needed) {
    struct tables tables = {.parts = parts, .needed = out_needed};
    bool is_sound = are_sound(&tables, dynamic);
    out_needed->is_nodelete = (tables.flags_1 & DF_1_NODELETE) != 0;
    free(tables.symbols.bytes);
    if (is_sound) {
        out_needed->strings = tables.strings.bytes;
        return LIBTREADLE_IMAGE_OK;
    }
    free(tables.strings.bytes);
    return LIBTREADLE_IMAGE_DAMAGED;
}
