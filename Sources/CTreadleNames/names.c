/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * names.c: one runtime in a process, however many copies of Treadle it has: a host's library and the one that a Python package
 * brings, an archive that is linked into a program and a library that a plugin needs.
 *
 * Each exported name is one jump. A copy decides once where its jumps lead, under a lock of the loader's that all copies share
 * and before any of its functions runs: at its constructor, or at its first call where that comes earlier. The first copy that
 * decides is the process's runtime, and stays loaded; the jumps of all others lead to its functions. What it has not, since it
 * is of another version, is refused. */
#define _GNU_SOURCE
#include "CTreadleNames.h"

#include "CTreadleSystem.h"
#include "list.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define TREADLE_OWN_NAMES
#include "own_names.h"
#include <treadle/error.h>
#include <treadle/version.h>

/* --- The names ----------------------------------------------------------------------------------- */

#define NAME(index, name, kind) +1
enum { COUNT = 0 LIBTREADLE_NAMES };
#undef NAME
#define NAME(index, name, kind) AT_##name = index,
enum { LIBTREADLE_NAMES };
#undef NAME

/* How far each of this copy's own functions is from its own entry here: needs nothing of the loader. */
#define NAME(index, name, kind) ".hidden libtreadle_own_" #name "\n.long libtreadle_own_" #name " - .\n"
__asm__(".pushsection .rodata.libtreadle_own, \"a\", %progbits\n"
        ".balign 4\n"
        ".hidden libtreadle_own_offsets\n"
        ".globl libtreadle_own_offsets\n"
        "libtreadle_own_offsets:\n" LIBTREADLE_NAMES ".popsection\n");
#undef NAME
extern const int32_t libtreadle_own_offsets[COUNT] __attribute__((visibility("hidden")));

/* How far each name's function is from its own entry here. Until this copy has decided, that is what decides. */
#define NAME(index, name, kind) ".quad libtreadle_names_undecided - .\n"
__asm__(".pushsection .data.libtreadle_names, \"aw\", %progbits\n"
        ".balign 8\n"
        ".hidden libtreadle_names\n"
        ".globl libtreadle_names\n"
        "libtreadle_names:\n" LIBTREADLE_NAMES ".popsection\n");
#undef NAME
extern intptr_t libtreadle_names[COUNT] __attribute__((visibility("hidden")));

/* Each jump leaves the address of its entry in a register that the caller has no use for. The frames of none of them differ
 * from those of their callers: the unwind tables know them as one function. */
#if defined(__x86_64__)
enum { JUMP_SIZE = 16 };
#define JUMP(entry) "leaq " entry "(%rip), %r10\nmovq (%r10), %r11\naddq %r10, %r11\njmpq *%r11\n"
#elif defined(__aarch64__)
enum { JUMP_SIZE = 24 };
/* Each begins with bti c (hint #34), as everything that the jumps lead to does: the object files say so of all of their code. */
#define JUMP(entry)                                                                                               \
    "hint #34\nadrp x16, " entry "\nadd x16, x16, :lo12:" entry "\nldr x17, [x16]\nadd x17, x17, x16\nbr x17\n"
#else
#error "the exported names are jumps, which this processor's instructions are missing for"
#endif
#define NAME(index, name, kind)                                                                                    \
    ".globl treadle_" #name "\n.type treadle_" #name ", %function\ntreadle_" #name ":\n"               \
    JUMP("libtreadle_names+8*" #index) ".size treadle_" #name ", . - treadle_" #name "\n"
__asm__(".pushsection .text.libtreadle_names, \"ax\", %progbits\n"
        ".balign 16\n"
        "libtreadle_names_jumps:\n"
        ".hidden libtreadle_names_jumps\n"
        ".globl libtreadle_names_jumps\n"
        ".cfi_startproc\n" LIBTREADLE_NAMES ".cfi_endproc\n"
        ".popsection\n");
#undef NAME
extern const char libtreadle_names_jumps[COUNT][JUMP_SIZE] __attribute__((visibility("hidden")));

/* Where a name leads at first: decides, and goes on with the caller's arguments. And where one leads that is refused. */
#if defined(__x86_64__)
__asm__(".pushsection .text.libtreadle_names_undecided, \"ax\", %progbits\n"
        "libtreadle_names_undecided:\n"
        ".cfi_startproc\n"
        "pushq %r10\npushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\nsubq $32, %rsp\n"
        ".cfi_adjust_cfa_offset 88\n"
        "movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\n"
        "call libtreadle_names_decide\n"
        "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\n"
        "addq $32, %rsp\npopq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\npopq %r10\n"
        ".cfi_adjust_cfa_offset -88\n"
        "movq (%r10), %r11\naddq %r10, %r11\njmpq *%r11\n"
        ".hidden libtreadle_names_refused\n.globl libtreadle_names_refused\n"
        "libtreadle_names_refused:\n"
        "movq %r10, %rdi\njmp libtreadle_names_refuse\n"
        ".cfi_endproc\n"
        ".popsection\n");
#else
__asm__(".pushsection .text.libtreadle_names_undecided, \"ax\", %progbits\n"
        ".balign 4\n"
        "libtreadle_names_undecided:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        "stp x29, x30, [sp, #-128]!\n"
        ".cfi_def_cfa_offset 128\n.cfi_offset x29, -128\n.cfi_offset x30, -120\n"
        "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\nstp x8, x16, [sp, #80]\n"
        "stp q0, q1, [sp, #96]\n"
        "bl libtreadle_names_decide\n"
        "ldp q0, q1, [sp, #96]\n"
        "ldp x8, x16, [sp, #80]\nldp x6, x7, [sp, #64]\nldp x4, x5, [sp, #48]\nldp x2, x3, [sp, #32]\nldp x0, x1, [sp, #16]\n"
        "ldp x29, x30, [sp], #128\n"
        ".cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n"
        "ldr x17, [x16]\nadd x17, x17, x16\nbr x17\n"
        ".hidden libtreadle_names_refused\n.globl libtreadle_names_refused\n"
        "libtreadle_names_refused:\n"
        "hint #34\nmov x0, x16\nb libtreadle_names_refuse\n"
        ".cfi_endproc\n"
        ".popsection\n");
#endif
void libtreadle_names_refused(void) __attribute__((visibility("hidden")));

static void lead(size_t index, const void *function) {
    __atomic_store_n(&libtreadle_names[index], (intptr_t)function - (intptr_t)&libtreadle_names[index], __ATOMIC_RELEASE);
}

/* --- How copies know each other ------------------------------------------------------------------ */

enum { UNDECIDED, RUNTIME, OTHER };
/* Of whatever version a copy is: only what is behind the end of this may change. */
struct copy {
    char magic[8];
    uint32_t size;    /* of what that copy has of this struct */
    uint32_t version; /* as treadle_version tells it */
    uint32_t count;   /* of the functions that it knows */
    uint32_t state;   /* under the lock of dl_iterate_phdr */
    const int32_t *own; /* its own functions in the order of list.h, each by its distance from there */
};
__attribute__((visibility("hidden"), used)) struct copy libtreadle_copy = {
    .magic = "treadle", .size = sizeof(struct copy), .version = TREADLE_VERSION, .count = COUNT, .own = libtreadle_own_offsets};

/* The note by which others find it: how far it is from there. */
__asm__(".pushsection .note.treadle, \"a\", %note\n"
        ".balign 4\n"
        ".long 8, 4, 1\n"
        ".asciz \"Treadle\"\n"
        ".long libtreadle_copy - .\n"
        ".popsection\n");

static void *function_of(const struct copy *copy, size_t index) {
    return (char *)(uintptr_t)&copy->own[index] + copy->own[index];
}
void *libtreadle_own_function(size_t index) { return index < COUNT ? function_of(&libtreadle_copy, index) : NULL; }

struct search {
    const struct copy *runtime;
    const char *own_object; /* under this name the loader has the one that this copy is in */
};

static bool is_inside(const struct dl_phdr_info *info, uintptr_t address, size_t size, uint32_t rights) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & rights) != rights) continue;
        uintptr_t from = info->dlpi_addr + part->p_vaddr;
        if (address >= from && size <= part->p_memsz && address - from <= part->p_memsz - size) return true;
    }
    return false;
}

static bool is_runtime(const struct dl_phdr_info *info, uintptr_t address) {
    const struct copy *copy = (const struct copy *)address;
    if (address % _Alignof(struct copy) != 0 || !is_inside(info, address, sizeof *copy, PF_R | PF_W)) return false;
    if (memcmp(copy->magic, "treadle", 8) != 0 || copy->size < sizeof *copy || copy->state != RUNTIME) return false;
    uintptr_t own = (uintptr_t)copy->own;
    if (own % _Alignof(int32_t) != 0 || !is_inside(info, own, copy->count * sizeof *copy->own, PF_R)) return false;
    for (size_t i = 0; i < copy->count; i++)
        if (!is_inside(info, (uintptr_t)function_of(copy, i), 1, PF_X)) return false;
    return true;
}

/* Nothing that a note of others says is believed. */
static void look_at_notes(const struct dl_phdr_info *info, const ElfW(Phdr) *part, struct search *search) {
    const size_t unit = part->p_align == 8 ? 8 : 4, size = part->p_memsz;
    const uintptr_t start = info->dlpi_addr + part->p_vaddr;
    ElfW(Nhdr) note;
    if (!is_inside(info, start, size, PF_R)) return;
    for (size_t at = 0; at <= size && size - at >= sizeof note;) {
        memcpy(&note, (const void *)(start + at), sizeof note);
        size_t name = at + sizeof note, text = (name + note.n_namesz + unit - 1) & ~(unit - 1), end = text + note.n_descsz;
        if (end > size) return;
        if (note.n_type == 1 && note.n_namesz == 8 && note.n_descsz == 4 && memcmp((const void *)(start + name), "Treadle", 8) == 0) {
            int32_t offset;
            memcpy(&offset, (const void *)(start + text), sizeof offset);
            uintptr_t found = start + text + (uintptr_t)(intptr_t)offset;
            if (found == (uintptr_t)&libtreadle_copy) search->own_object = info->dlpi_name;
            else if (is_runtime(info, found)) search->runtime = (const struct copy *)found;
        }
        at = (end + unit - 1) & ~(unit - 1);
    }
}

static int look(struct dl_phdr_info *info, size_t size, void *context) {
    struct search *search = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && !search->runtime; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE) look_at_notes(info, &info->dlpi_phdr[i], search);
    return search->runtime != NULL;
}

/* --- What the runtime has not -------------------------------------------------------------------- */

enum { STATUS, VALUE, ALWAYS };
#define NAME(index, name, kind) kind,
static const uint8_t kinds[COUNT] = {LIBTREADLE_NAMES};
#undef NAME

/* These lie beside the table, where the rest of a page is free. */
#define BESIDE __attribute__((section(".data.libtreadle_names")))
static char why[96] BESIDE;
/* The runtime's, where some of its functions are called: a thread has one last error. NULL: this copy's own. */
static treadle_status (*their_last_error)(treadle_error_info *info) BESIDE;

static uint64_t their_sequence(void) {
    treadle_error_info info = {.struct_size = sizeof info};
    return their_last_error && their_last_error(&info) == TREADLE_OK ? info.sequence : 0;
}

/* A function that was called by its name. All that is not a status is zero. */
__attribute__((visibility("hidden"), used)) uintptr_t libtreadle_names_refuse(const intptr_t *entry) {
    struct treadle_system_failure *last = treadle_system_failure();
    size_t index = (size_t)(entry - libtreadle_names);
    Dl_info info;
    last->sequence++;
    last->code = TREADLE_E_NOT_SUPPORTED;
    last->subject = "process";
    last->text = why;
    last->place = NULL;
    last->os_errno = 0;
    /* Only what is linked without a table of names does not know them. */
    bool is_known = dladdr(libtreadle_names_jumps[index], &info) && info.dli_saddr == libtreadle_names_jumps[index];
    last->function = is_known ? info.dli_sname : "treadle";
    last->number = (int64_t)their_sequence();
    return kinds[index] == STATUS ? (uint32_t)TREADLE_E_NOT_SUPPORTED : 0;
}

/* Of the runtime's last failure and this copy's last refusal the later. */
static treadle_status last_error_of_both(treadle_error_info *info) {
    struct treadle_system_failure *last = treadle_system_failure();
    uint64_t theirs = their_sequence();
    bool is_refusal = last->code != 0 && (uint64_t)last->number == theirs;
    treadle_status status = is_refusal ? treadle_last_error(info) : their_last_error(info);
    if (status == TREADLE_OK) info->sequence = theirs + last->sequence;
    return status;
}

/* Of one's own copy there is all. */
static void lead_to(const struct copy *runtime) {
    bool is_other = runtime->version >> 16 != TREADLE_VERSION_MAJOR;
    size_t count = is_other ? 0 : runtime->count;
    for (size_t i = 0; i < COUNT; i++) {
        if (i < count) lead(i, function_of(runtime, i));
        else lead(i, kinds[i] == ALWAYS ? libtreadle_own_function(i) : (void *)(uintptr_t)libtreadle_names_refused);
    }
    if (count >= COUNT) return;
    snprintf(why, sizeof why, "has a runtime of another version of Treadle, %u.%u.%u, which %s", runtime->version >> 16,
        runtime->version >> 8 & 0xFF, runtime->version & 0xFF, is_other ? "cannot be called in its place" : "has no such function");
    if (count <= AT_last_error) return;
    their_last_error = (treadle_status(*)(treadle_error_info *))(uintptr_t)function_of(runtime, AT_last_error);
    lead(AT_last_error, (void *)(uintptr_t)last_error_of_both);
}

/* --- Deciding ------------------------------------------------------------------------------------ */

/* The object that this copy is in, as the loader calls it, if it is the runtime. */
static const char *own_object BESIDE;

/* The first call holds the lock, which the one inside takes again. */
static int decide(struct dl_phdr_info *info, size_t size, void *context) {
    struct search search = {0};
    (void)info, (void)size, (void)context;
    if (libtreadle_copy.state != UNDECIDED) return 1;
    dl_iterate_phdr(look, &search);
    lead_to(search.runtime ? search.runtime : &libtreadle_copy);
    if (!search.runtime) own_object = search.own_object;
    libtreadle_copy.state = search.runtime ? OTHER : RUNTIME;
    return 1;
}

__attribute__((visibility("hidden"), used)) void libtreadle_names_decide(void) { dl_iterate_phdr(decide, NULL); }

/* Of the object that this copy is in. A program that is linked statically has none, whose name need not be empty: musl says
 * /proc/self/exe. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

/* The runtime stays, as threads of the host end in its code. A program stays anyway, and has no name; and so does a library that
 * was linked so. The loader is called from here alone: before the constructor of the C library it must not be. */
__attribute__((constructor(101))) static void stay(void) {
    libtreadle_names_decide();
    if (!own_object || !own_object[0] || !_DYNAMIC) return;
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_FLAGS_1 && entry->d_un.d_val & DF_1_NODELETE) return;
    dlopen(own_object, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
