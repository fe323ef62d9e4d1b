/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * shim.h: libffi for Swift. */
#ifndef TREADLE_FFI_SHIM_H
#define TREADLE_FFI_SHIM_H

#include <ffi.h>

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

#endif
