/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleForeign.h: libffi for Swift. Few programs have a function that needs it, and loading it is a good part of what
 * the library costs at the start: so the shared library looks for it when it is first needed, and all calls go through a
 * table of what was found. Otherwise (the static library, the Swift package) it is linked, and the table is constant. */
#ifndef CTREADLE_FOREIGN_H
#define CTREADLE_FOREIGN_H

#include <ffi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* What the library uses of libffi, in the order of the table. Those behind the types may be missing. */
enum treadle_foreign_part {
    TREADLE_FOREIGN_PREP_CIF,
    TREADLE_FOREIGN_PREP_CIF_VAR,
    TREADLE_FOREIGN_CALL,
    TREADLE_FOREIGN_VOID,
    TREADLE_FOREIGN_SINT8,
    TREADLE_FOREIGN_UINT8,
    TREADLE_FOREIGN_SINT16,
    TREADLE_FOREIGN_UINT16,
    TREADLE_FOREIGN_SINT32,
    TREADLE_FOREIGN_UINT32,
    TREADLE_FOREIGN_SINT64,
    TREADLE_FOREIGN_UINT64,
    TREADLE_FOREIGN_FLOAT,
    TREADLE_FOREIGN_DOUBLE,
    TREADLE_FOREIGN_POINTER,
    TREADLE_FOREIGN_NEEDED,
    TREADLE_FOREIGN_PREP_GO_CLOSURE = TREADLE_FOREIGN_NEEDED,
    TREADLE_FOREIGN_CLOSURE_ALLOC,
    TREADLE_FOREIGN_PREP_CLOSURE,
    TREADLE_FOREIGN_VERSION,
    TREADLE_FOREIGN_PARTS
};

extern void *treadle_foreign_parts[TREADLE_FOREIGN_PARTS];
extern uint32_t treadle_foreign_state; /* 1: the table is complete, for ever */

static inline bool treadle_foreign_is_loaded(void) { return __atomic_load_n(&treadle_foreign_state, __ATOMIC_ACQUIRE) != 0; }
/* Looks for libffi unless it is there; false if it cannot be had now. Not while a lock is held: it runs the system's
 * loader, which may run others' code. Only what is made after it has returned true may use what is below. */
bool treadle_foreign_load_now(void);
static inline bool treadle_foreign_load(void) { return treadle_foreign_is_loaded() || treadle_foreign_load_now(); }

/* Who comes here has seen the table complete, or what another thread has made since. */
static inline void *treadle_foreign_part(enum treadle_foreign_part part) {
    return __atomic_load_n(&treadle_foreign_parts[part], __ATOMIC_RELAXED);
}
static inline ffi_type *treadle_foreign_type(enum treadle_foreign_part part) { return (ffi_type *)treadle_foreign_part(part); }

static inline ffi_status treadle_foreign_prepare(ffi_cif *cif, unsigned count, ffi_type *result, ffi_type **arguments) {
    return ((__typeof__(&ffi_prep_cif))(uintptr_t)treadle_foreign_part(TREADLE_FOREIGN_PREP_CIF))(
        cif, FFI_DEFAULT_ABI, count, result, arguments);
}
static inline ffi_status treadle_foreign_prepare_variadic(ffi_cif *cif, unsigned fixed, unsigned count, ffi_type *result,
                                                          ffi_type **arguments) {
    return ((__typeof__(&ffi_prep_cif_var))(uintptr_t)treadle_foreign_part(TREADLE_FOREIGN_PREP_CIF_VAR))(
        cif, FFI_DEFAULT_ABI, fixed, count, result, arguments);
}
static inline void treadle_foreign_call(ffi_cif *cif, void (*code)(void), void *result, void **arguments) {
    ((__typeof__(&ffi_call))(uintptr_t)treadle_foreign_part(TREADLE_FOREIGN_CALL))(cif, code, result, arguments);
}

/* Calls body with memory on the stack, aligned to 16 bytes. A call must not fail for want of memory,
 * and Swift's own temporary memory comes from the heap when it is large. */
static inline void treadle_foreign_with_stack(size_t size, void (*body)(void *memory, void *context), void *context) {
    body(__builtin_alloca_with_align(size, 128), context);
}

/* What a closure's calls arrive at. */
typedef void (*treadle_foreign_entry)(ffi_cif *cif, void *result, void **arguments, void *data);

/* The three words of a stub's slot that libffi knows: where the stub jumps to, the type, and the entry. */
struct treadle_foreign_stub {
    uintptr_t code, type, entry;
};

/* Closures whose data is in a stub's slot; false where libffi has none. */
static inline bool treadle_foreign_prepare_stub(struct treadle_foreign_stub *stub, ffi_cif *cif, treadle_foreign_entry entry) {
#if FFI_GO_CLOSURES
    _Static_assert(sizeof *stub == sizeof(ffi_go_closure), "libffi's closures have other words");
    __typeof__(&ffi_prep_go_closure) prepare =
        (__typeof__(prepare))(uintptr_t)treadle_foreign_part(TREADLE_FOREIGN_PREP_GO_CLOSURE);
    return prepare && prepare((ffi_go_closure *)stub, cif, entry) == FFI_OK;
#else
    return (void)stub, (void)cif, (void)entry, false;
#endif
}

/* Closures in libffi's own executable memory; NULL and false where there are none. */
static inline void *treadle_foreign_allocate_closure(void **out_code) {
    *out_code = NULL;
#if FFI_CLOSURES
    __typeof__(&ffi_closure_alloc) allocate =
        (__typeof__(allocate))(uintptr_t)treadle_foreign_part(TREADLE_FOREIGN_CLOSURE_ALLOC);
    return allocate ? allocate(sizeof(ffi_closure), out_code) : NULL;
#else
    return NULL;
#endif
}
static inline bool treadle_foreign_prepare_closure(void *writable, ffi_cif *cif, treadle_foreign_entry entry, void *data,
                                                   void *code) {
#if FFI_CLOSURES
    __typeof__(&ffi_prep_closure_loc) prepare =
        (__typeof__(prepare))(uintptr_t)treadle_foreign_part(TREADLE_FOREIGN_PREP_CLOSURE);
    return prepare && prepare((ffi_closure *)writable, cif, entry, data, code) == FFI_OK;
#else
    return (void)writable, (void)cif, (void)entry, (void)data, (void)code, false;
#endif
}

/* Newer versions of libffi know their version. Empty also before it was loaded. */
static inline const char *treadle_foreign_version(void) {
    const char *(*version)(void) = treadle_foreign_is_loaded()
                                       ? (const char *(*)(void))(uintptr_t)treadle_foreign_part(TREADLE_FOREIGN_VERSION)
                                       : NULL;
    return version ? version() : "";
}

#pragma GCC visibility pop

#endif
