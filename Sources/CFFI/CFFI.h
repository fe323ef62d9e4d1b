/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFFI.h: libffi as Swift sees it: libffi's own header, and the shortest way past what the importer drops. Its constants
 * are mutable globals, parts of it are missing on some processors, and nothing in Swift takes memory from the stack. */
#ifndef CFFI_H
#define CFFI_H

#include <ffi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Types --------------------------------------------------------------------------------------- */

#define TREADLE_FFI_TYPE(name) \
    static inline ffi_type *treadle_ffi_##name(void) { return &ffi_type_##name; }
TREADLE_FFI_TYPE(void)
TREADLE_FFI_TYPE(sint8)
TREADLE_FFI_TYPE(uint8)
TREADLE_FFI_TYPE(sint16)
TREADLE_FFI_TYPE(uint16)
TREADLE_FFI_TYPE(sint32)
TREADLE_FFI_TYPE(uint32)
TREADLE_FFI_TYPE(sint64)
TREADLE_FFI_TYPE(uint64)
TREADLE_FFI_TYPE(float)
TREADLE_FFI_TYPE(double)
TREADLE_FFI_TYPE(pointer)
#undef TREADLE_FFI_TYPE

/* --- Calls --------------------------------------------------------------------------------------- */

/* Calls body with memory on the stack, aligned to 16 bytes. A call must not fail for want of memory,
 * and Swift's own temporary memory comes from the heap when it is large. */
static inline void treadle_ffi_with_stack(size_t size, void (*body)(void *memory, void *context), void *context) {
    body(__builtin_alloca_with_align(size, 128), context);
}

/* --- Closures ------------------------------------------------------------------------------------ */

/* What a closure's calls arrive at. */
typedef void (*treadle_ffi_entry)(ffi_cif *cif, void *result, void **arguments, void *data);

/* The three words of a stub's slot that libffi knows: where the stub jumps to, the type, and the entry. */
struct treadle_ffi_stub {
    uintptr_t code, type, entry;
};

/* Closures whose data is in a stub's slot; false where libffi has none. */
static inline bool treadle_ffi_prepare_stub(struct treadle_ffi_stub *stub, ffi_cif *cif, treadle_ffi_entry entry) {
#if FFI_GO_CLOSURES
    _Static_assert(sizeof *stub == sizeof(ffi_go_closure), "libffi's closures have other words");
    return ffi_prep_go_closure((ffi_go_closure *)stub, cif, entry) == FFI_OK;
#else
    return (void)stub, (void)cif, (void)entry, false;
#endif
}

/* Closures in libffi's own executable memory; NULL and false where there are none. */
static inline void *treadle_ffi_allocate_closure(void **out_code) {
    *out_code = NULL;
#if FFI_CLOSURES
    return ffi_closure_alloc(sizeof(ffi_closure), out_code);
#else
    return NULL;
#endif
}
static inline bool treadle_ffi_prepare_closure(void *writable, ffi_cif *cif, treadle_ffi_entry entry, void *data, void *code) {
#if FFI_CLOSURES
    return ffi_prep_closure_loc((ffi_closure *)writable, cif, entry, data, code) == FFI_OK;
#else
    return (void)writable, (void)cif, (void)entry, (void)data, (void)code, false;
#endif
}

/* --- Version ------------------------------------------------------------------------------------- */

/* libffi tells its version since 3.5; empty before. */
extern const char *ffi_get_version(void) __attribute__((weak));
static inline const char *treadle_ffi_version(void) { return ffi_get_version ? ffi_get_version() : ""; }

#endif
