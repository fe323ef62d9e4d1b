/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * format.c: whether a file is a complete shared library of this machine's kind: its header, its parts, its sections. */
#include "files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __aarch64__
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif
enum { MOST_HEADERS = 1024 };
/* Above this no process has memory. */
#define MOST_MEMORY ((uint64_t)1 << 47)

bool libtreadle_file_read(int fd, void *bytes, size_t size, uint64_t offset) {
    return offset <= INT64_MAX && pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* --- Sections ------------------------------------------------------------------------------------- */

/* The loader reads no section. Linkers write their table last, so a file that has lost its end has lost the last entry. */
static int32_t check_sections(const struct parts *parts, const Elf64_Ehdr *header, bool *out_may_have_swift) {
    *out_may_have_swift = true;
    if (header->e_shoff == 0 || header->e_shnum == 0) return LIBTREADLE_IMAGE_OK;
    if (header->e_shentsize != sizeof(Elf64_Shdr)) return LIBTREADLE_IMAGE_FORMAT;
    size_t size = (size_t)header->e_shnum * sizeof(Elf64_Shdr);
    if (header->e_shoff > parts->size || size > parts->size - header->e_shoff) return LIBTREADLE_IMAGE_CUT;
    Elf64_Shdr *sections = malloc(size);
    if (!sections) return LIBTREADLE_IMAGE_MEMORY;
    int32_t result = libtreadle_file_read(parts->fd, sections, size, header->e_shoff) ? LIBTREADLE_IMAGE_OK : LIBTREADLE_IMAGE_CUT;
    for (uint32_t i = 1; i < header->e_shnum && result == LIBTREADLE_IMAGE_OK; i++) {
        bool is_empty = sections[i].sh_type == SHT_NULL || sections[i].sh_type == SHT_NOBITS;
        if (i + 1 == header->e_shnum && sections[i].sh_type == SHT_NULL) result = LIBTREADLE_IMAGE_DAMAGED;
        else if (!is_empty && (sections[i].sh_offset > parts->size || sections[i].sh_size > parts->size - sections[i].sh_offset))
            result = LIBTREADLE_IMAGE_CUT;
    }
    if (result == LIBTREADLE_IMAGE_OK && header->e_shstrndx < header->e_shnum) {
        const Elf64_Shdr *names = &sections[header->e_shstrndx];
        *out_may_have_swift = false;
        for (uint32_t i = 1; i < header->e_shnum && !*out_may_have_swift; i++) {
            char name[12] = {0};
            if (sections[i].sh_type == SHT_NULL) continue;
            bool is_read = sections[i].sh_name < names->sh_size &&
                           pread(parts->fd, name, sizeof name - 1, (off_t)(names->sh_offset + sections[i].sh_name)) > 0;
            if (!is_read || strncmp(name, "swift5_", 7) == 0 || strncmp(name, ".swift5_", 8) == 0) *out_may_have_swift = true;
        }
    }
    free(sections);
    return result;
}

/* --- Parts ---------------------------------------------------------------------------------------- */

/* Whether a part that the loader reads or protects lies in what is mapped. */
static bool is_mapped(const struct parts *parts, const Elf64_Phdr *part) {
    for (uint32_t i = 0; i < parts->count; i++) {
        const Elf64_Phdr *load = &parts->headers[i];
        if (load->p_type != PT_LOAD || part->p_vaddr < load->p_vaddr) continue;
        uint64_t at = part->p_vaddr - load->p_vaddr;
        /* The protected part may reach into the rest of its last page. */
        uint64_t room = part->p_type == PT_GNU_RELRO ? (load->p_memsz + 0xFFFF) & ~(uint64_t)0xFFFF : load->p_memsz;
        /* Thread-local storage that begins as zeroes has no place in the image. */
        bool is_in_memory = part->p_type == PT_TLS || (at <= room && part->p_memsz <= room - at);
        bool is_in_file = part->p_filesz == 0 || part->p_type == PT_GNU_RELRO ||
                          (at <= load->p_filesz && part->p_filesz <= load->p_filesz - at && part->p_offset == load->p_offset + at);
        if (is_in_memory && is_in_file) return true;
    }
    return false;
}

/* Whether two parts are mapped from the same bytes: then one has lost its place in the file. */
static bool is_shared(const struct parts *parts, uint32_t index) {
    const Elf64_Phdr *one = &parts->headers[index];
    for (uint32_t i = 0; i < index; i++) {
        const Elf64_Phdr *other = &parts->headers[i];
        if (other->p_type != PT_LOAD || one->p_filesz == 0 || other->p_filesz == 0) continue;
        if (one->p_offset < other->p_offset + other->p_filesz && other->p_offset < one->p_offset + one->p_filesz) return true;
    }
    return false;
}

/* Parts that are mapped lie one behind the other: the loader reserves memory from the first to the last, and maps into that. */
static int32_t check_parts(const struct parts *parts, const Elf64_Phdr **out_dynamic) {
    uint64_t end = 0;
    bool is_first = true;
    *out_dynamic = NULL;
    for (uint32_t i = 0; i < parts->count; i++) {
        const Elf64_Phdr *part = &parts->headers[i];
        if (part->p_type != PT_LOAD && part->p_type != PT_DYNAMIC) continue;
        if (part->p_offset > parts->size || part->p_filesz > parts->size - part->p_offset) return LIBTREADLE_IMAGE_CUT;
        if (part->p_vaddr > MOST_MEMORY || part->p_memsz > MOST_MEMORY || part->p_filesz > part->p_memsz) return LIBTREADLE_IMAGE_DAMAGED;
        if (part->p_type == PT_DYNAMIC) {
            *out_dynamic = part;
            continue;
        }
        if (part->p_align & (part->p_align - 1) || (!is_first && part->p_vaddr < end) || is_shared(parts, i)) return LIBTREADLE_IMAGE_DAMAGED;
        end = part->p_vaddr + part->p_memsz;
        is_first = false;
    }
    if (!*out_dynamic || is_first) return LIBTREADLE_IMAGE_FORMAT;
    for (uint32_t i = 0; i < parts->count; i++) {
        const Elf64_Phdr *part = &parts->headers[i];
        bool is_used = part->p_type == PT_DYNAMIC || part->p_type == PT_TLS || part->p_type == PT_NOTE ||
                       part->p_type == PT_GNU_PROPERTY || part->p_type == PT_GNU_RELRO || part->p_type == PT_GNU_EH_FRAME;
        bool is_empty = part->p_type == PT_TLS ? part->p_filesz == 0 : part->p_memsz == 0;
        if (is_used && !is_empty && !is_mapped(parts, part)) return LIBTREADLE_IMAGE_DAMAGED;
        if (part->p_type == PT_TLS && (part->p_align & (part->p_align - 1) || part->p_memsz > MOST_MEMORY)) return LIBTREADLE_IMAGE_DAMAGED;
    }
    return LIBTREADLE_IMAGE_OK;
}

/* --- The file ------------------------------------------------------------------------------------- */

int32_t libtreadle_file_check(const struct file *file, struct needed *out_needed, bool *out_may_have_swift) {
    struct parts parts = {.fd = file->fd, .size = (uint64_t)file->status.st_size};
    const Elf64_Phdr *dynamic;
    Elf64_Ehdr header;
    memset(out_needed, 0, sizeof *out_needed);
    if (!libtreadle_file_read(file->fd, &header, sizeof header, 0)) return LIBTREADLE_IMAGE_FORMAT;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return LIBTREADLE_IMAGE_FORMAT;
    if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN || header.e_machine != MACHINE) return LIBTREADLE_IMAGE_FORMAT;
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > MOST_HEADERS) return LIBTREADLE_IMAGE_FORMAT;
    size_t size = header.e_phnum * sizeof(Elf64_Phdr);
    if (header.e_phoff > parts.size || size > parts.size - header.e_phoff) return LIBTREADLE_IMAGE_CUT;
    parts.headers = malloc(size);
    parts.count = header.e_phnum;
    if (!parts.headers) return LIBTREADLE_IMAGE_MEMORY;
    int32_t result = libtreadle_file_read(file->fd, parts.headers, size, header.e_phoff) ? LIBTREADLE_IMAGE_OK : LIBTREADLE_IMAGE_CUT;
    if (result == LIBTREADLE_IMAGE_OK) result = check_parts(&parts, &dynamic);
    if (result == LIBTREADLE_IMAGE_OK) result = check_sections(&parts, &header, out_may_have_swift);
    if (result == LIBTREADLE_IMAGE_OK) result = libtreadle_tables_check(&parts, dynamic, out_needed);
    free(parts.headers);
    return result;
}
