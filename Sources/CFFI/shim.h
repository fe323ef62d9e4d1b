/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * shim.h: libffi for Swift. */
#ifndef TREADLE_FFI_SHIM_H
#define TREADLE_FFI_SHIM_H

#include <ffi.h>
#include <stdbool.h>
#include <stddef.h>

/* The types of scalars are global variables of libffi, which Swift would take for mutable state. */
static inline ffi_type *treadle_ffi_void(void) { return &ffi_type_void; }
static inline ffi_type *treadle_ffi_sint8(void) { return &ffi_type_sint8; }
static inline ffi_type *treadle_ffi_uint8(void) { return &ffi_type_uint8; }
static inline ffi_type *treadle_ffi_sint16(void) { return &ffi_type_sint16; }
static inline ffi_type *treadle_ffi_uint16(void) { return &ffi_type_uint16; }
static inline ffi_type *treadle_ffi_sint32(void) { return &ffi_type_sint32; }
static inline ffi_type *treadle_ffi_uint32(void) { return &ffi_type_uint32; }
static inline ffi_type *treadle_ffi_sint64(void) { return &ffi_type_sint64; }
static inline ffi_type *treadle_ffi_uint64(void) { return &ffi_type_uint64; }
static inline ffi_type *treadle_ffi_float(void) { return &ffi_type_float; }
static inline ffi_type *treadle_ffi_double(void) { return &ffi_type_double; }
static inline ffi_type *treadle_ffi_pointer(void) { return &ffi_type_pointer; }

/* Calls body with memory on the stack, aligned to 16 bytes. A call must not fail for want of memory,
 * and Swift's own temporary memory comes from the heap when it is large. */
static inline void treadle_ffi_with_stack(size_t size, void (*body)(void *memory, void *context), void *context) {
    body(__builtin_alloca_with_align(size, 128), context);
}

/* What a closure's calls arrive at. */
typedef void (*treadle_ffi_entry)(ffi_cif *cif, void *result, void **arguments, void *data);

/* Closures whose data is in a stub's slot; false where libffi has none. */
static inline bool treadle_ffi_prepare_stub(void *slot, ffi_cif *cif, treadle_ffi_entry entry) {
#if FFI_GO_CLOSURES
    return ffi_prep_go_closure((ffi_go_closure *)slot, cif, entry) == FFI_OK;
#else
    return (void)slot, (void)cif, (void)entry, false;
#endif
}

/* Closures in libffi's own executable memory; NULL and false where there are none. */
static inline void *treadle_ffi_allocate_closure(void **out_code) {
#if FFI_CLOSURES
    return ffi_closure_alloc(sizeof(ffi_closure), out_code);
#else
    return *out_code = NULL;
#endif
}
static inline bool treadle_ffi_prepare_closure(void *writable, ffi_cif *cif, treadle_ffi_entry entry, void *data, void *code) {
#if FFI_CLOSURES
    return ffi_prep_closure_loc((ffi_closure *)writable, cif, entry, data, code) == FFI_OK;
#else
    return (void)writable, (void)cif, (void)entry, (void)data, (void)code, false;
#endif
}

/* Newer versions of libffi know their version. */
extern const char *ffi_get_version(void) __attribute__((weak));
static inline const char *treadle_ffi_version(void) { return ffi_get_version ? ffi_get_version() : ""; }

#endif
