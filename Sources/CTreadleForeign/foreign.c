/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * foreign.c: where libffi comes from. The Swift package compiles this file so that libffi is linked; scripts/build-library
 * compiles it once more for the shared library, with the name of libffi's file, and takes that one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CTreadleForeign.h"

#ifdef TREADLE_FOREIGN_FILE

#include <dlfcn.h>
#include <string.h>

void *treadle_foreign_parts[TREADLE_FOREIGN_PARTS];
uint32_t treadle_foreign_state;

/* In the table's order; in one piece, since a table of pointers would be written to when the library is loaded. */
static const char names[] =
    "ffi_prep_cif\0ffi_prep_cif_var\0ffi_call\0"
    "ffi_type_void\0ffi_type_sint8\0ffi_type_uint8\0ffi_type_sint16\0ffi_type_uint16\0ffi_type_sint32\0ffi_type_uint32\0"
    "ffi_type_sint64\0ffi_type_uint64\0ffi_type_float\0ffi_type_double\0ffi_type_pointer\0"
    "ffi_prep_go_closure\0ffi_closure_alloc\0ffi_prep_closure_loc\0ffi_get_version\0";

/* For those who make packages: what this file names is needed, though not by the linker's account. The format is the
 * one of "ELF dlopen metadata": an owner, FDO, a type of its own, and a text. */
#define NOTE                                                                                                     \
    "[{\"feature\":\"calls\",\"description\":\"Calls that pass structs by value or many arguments\","          \
    "\"priority\":\"recommended\",\"soname\":[\"" TREADLE_FOREIGN_FILE "\"]}]"
__attribute__((used, aligned(4), section(".note.dlopen"))) static const struct {
    uint32_t name_size, text_size, type;
    char name[4], text[sizeof NOTE];
} note = {4, sizeof NOTE, 0x407c0c0a, "FDO", NOTE};

/* Two threads may both do it, and find the same: so that nobody waits for a thread that may be gone in the child of a
 * fork. It stays loaded for ever, as this library does, since its functions are in calls' way from then on. */
bool treadle_foreign_load_now(void) {
    void *library = dlopen(TREADLE_FOREIGN_FILE, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        dlerror(); /* it was ours: nobody else is to take it for his own */
        return false;
    }
    const char *name = names;
    for (int part = 0; part < TREADLE_FOREIGN_PARTS; part++) {
        void *found = dlsym(library, name);
        if (!found) {
            dlerror();
            if (part < TREADLE_FOREIGN_NEEDED) {
                dlclose(library);
                return false;
            }
        }
        __atomic_store_n(&treadle_foreign_parts[part], found, __ATOMIC_RELAXED);
        name += strlen(name) + 1;
    }
    __atomic_store_n(&treadle_foreign_state, 1, __ATOMIC_RELEASE);
    return true;
}

#else

extern const char *ffi_get_version(void) __attribute__((weak));

#define FUNCTION(name) (void *)(uintptr_t)name
void *treadle_foreign_parts[TREADLE_FOREIGN_PARTS] = {
    FUNCTION(ffi_prep_cif), FUNCTION(ffi_prep_cif_var), FUNCTION(ffi_call),
    &ffi_type_void, &ffi_type_sint8, &ffi_type_uint8, &ffi_type_sint16, &ffi_type_uint16, &ffi_type_sint32,
    &ffi_type_uint32, &ffi_type_sint64, &ffi_type_uint64, &ffi_type_float, &ffi_type_double, &ffi_type_pointer,
#if FFI_GO_CLOSURES
    FUNCTION(ffi_prep_go_closure),
#else
    NULL,
#endif
#if FFI_CLOSURES
    FUNCTION(ffi_closure_alloc), FUNCTION(ffi_prep_closure_loc),
#else
    NULL, NULL,
#endif
    FUNCTION(ffi_get_version),
};
uint32_t treadle_foreign_state = 1;

bool treadle_foreign_load_now(void) { return true; }

#endif
