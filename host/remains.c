/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * remains.c: pointers into a plugin that has ended, in the variables of other libraries: what they would call, or read, when its
 * code is gone. */
#include "host.h"

#include <link.h>
#include <string.h>

/* What is searched for, and in whose variables it was found first. */
struct search {
    const char *path; /* the plugin's */
    uintptr_t first, end;
    const char *found;
    uintptr_t offset;
};

static bool is_own(const struct dl_phdr_info *info, const struct search *search) { return *info->dlpi_name && same_file(info->dlpi_name, search->path); }

/* Where the plugin is mapped. */
static int find_range(struct dl_phdr_info *info, size_t size, void *memory) {
    struct search *search = memory;
    (void)size;
    if (!is_own(info, search)) return 0;
    search->first = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t first = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD) continue;
        if (first < search->first) search->first = first;
        if (first + header->p_memsz > search->end) search->end = first + header->p_memsz;
    }
    return 1;
}

/* The program's own variables know the plugin that is checked; so do Treadle's and the loader's, and the C library's have a list of
 * all that was ever to be called at the exit. */
static bool may_have_some(const char *name) {
    static const char *const knowing[] = {"libtreadle", "ld-", "libc.so", "linux-vdso"};
    const char *last = strrchr(name, '/');
    bool is_searched = *name != 0;
    for (size_t i = 0; i < sizeof knowing / sizeof *knowing; i++)
        if (strncmp(last ? last + 1 : name, knowing[i], strlen(knowing[i])) == 0) is_searched = false;
    return is_searched;
}

static int find_pointer(struct dl_phdr_info *info, size_t size, void *memory) {
    struct search *search = memory;
    (void)size;
    if (!may_have_some(info->dlpi_name) || is_own(info, search)) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W)) continue;
        uintptr_t at = (info->dlpi_addr + header->p_vaddr + sizeof at - 1) & ~(sizeof at - 1);
        for (uintptr_t end = info->dlpi_addr + header->p_vaddr + header->p_memsz; at + sizeof at <= end; at += sizeof at) {
            uintptr_t value = *(const uintptr_t *)at;
            if (value < search->first || value >= search->end) continue;
            search->found = info->dlpi_name, search->offset = value - search->first;
            return 1;
        }
    }
    return 0;
}

bool compare_pointers(const char *own_path) {
    struct search search = {.path = own_path};
    if (dl_iterate_phdr(find_range, &search) == 0 || dl_iterate_phdr(find_pointer, &search) == 0) return true;
    return point(false, "pointers", "no other library points into it: %s does, to its byte %#lx, and its code may be unmapped", search.found,
                 (unsigned long)search.offset);
}
