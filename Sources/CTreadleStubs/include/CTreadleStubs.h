/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleStubs.h: function pointers that exist from the start. Each stub is a few instructions of the library's
 * code: it loads the address of its slot into the register where libffi expects a closure's data, and jumps to
 * the function whose address the slot begins with. So closures need no executable memory at run time. */
#ifndef CTREADLE_STUBS_H
#define CTREADLE_STUBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wnullability-completeness"
#define TREADLE_STUBS_NONNULL _Nonnull
#else
#define TREADLE_STUBS_NONNULL
#endif

#pragma GCC visibility push(hidden)

/* How many tables of 1,024 stubs there are; the build may ask for more. */
#ifndef TREADLE_STUB_TABLES
#define TREADLE_STUB_TABLES 1
#endif
#if TREADLE_STUB_TABLES < 1 || TREADLE_STUB_TABLES > 64
#error "TREADLE_STUB_TABLES is 1 to 64"
#endif

enum { TREADLE_STUB_ROOM = 64, TREADLE_STUB_POOL_ROOM = 128 };

/* What one closure is called through; the caller lays a struct of its own over the bytes. Zero at first. */
struct treadle_stub_room {
    _Alignas(64) unsigned char bytes[TREADLE_STUB_ROOM];
};

/* Guards what is common to all slots; the caller lays a struct of its own over the bytes. Zero at first. */
struct treadle_stub_pool_room {
    _Alignas(64) unsigned char bytes[TREADLE_STUB_POOL_ROOM];
};
struct treadle_stub_pool_room *TREADLE_STUBS_NONNULL treadle_stub_pool(void);

/* 0 for a processor that nobody has written stubs for. */
uint32_t treadle_stub_count(void);
/* The slot of a stub, and the stub itself; NULL for an index that does not exist. */
struct treadle_stub_room *treadle_stub_slot(uint32_t index);
void *treadle_stub_code(uint32_t index);

/* Stubs in memory that is mapped for them: so many bytes of code, then as many of slots, one each 64 bytes of both. The code is the
 * same wherever it lies. Writes it; false for a processor that nobody has written stubs for. */
enum { TREADLE_STUB_BLOCK = 16384 };
bool treadle_stub_write_block(void *code);

/* What a slot may begin with in place of libffi's function, if all arguments of the stub's type travel in registers: it
 * stores these, six general and eight vector ones (eight and eight on 64-bit Arm), as an image, and calls the handler
 * with the slot, the image, and what is in the slot's second word. What the handler returns is the function's result,
 * whichever register that has. NULL where nobody has written it. The handler is set before any stub is used. */
void *treadle_stub_register_entry(void);
typedef uint64_t (*treadle_stub_handler_fn)(void *slot, void *image, void *type);
void treadle_stub_set_handler(treadle_stub_handler_fn handler);

#pragma GCC visibility pop

#endif
