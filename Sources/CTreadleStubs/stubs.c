/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleStubs.h"

#define TEXT_OF(value) TEXT(value)
#define TEXT(value) #value

static struct treadle_stub_pool_room pool;
struct treadle_stub_pool_room *treadle_stub_pool(void) { return &pool; }

/* One stub: begins where an indirect call may land, and jumps by a register that allows the next landing. Nothing of the
 * frame is touched, so one description for the unwinder holds for all of them. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define STUB_SIZE 16
#define STUB                                                                           \
    "    .p2align 4, 0xcc\n"                                                           \
    "    endbr64\n"                                                                    \
    "    leaq treadle_stub_slots + 64 * treadle_stub_index(%rip), %r10\n"              \
    "    jmpq *(%r10)\n"
#elif defined(__aarch64__) && !defined(__ILP32__)
#define STUB_SIZE 32
#define STUB                                                                           \
    "    .p2align 5\n"                                                                 \
    "    hint #34\n" /* bti c */                                                       \
    "    adrp x18, treadle_stub_slots + 64 * treadle_stub_index\n"                     \
    "    add x18, x18, :lo12:treadle_stub_slots + 64 * treadle_stub_index\n"           \
    "    ldr x16, [x18]\n"                                                             \
    "    br x16\n"
#endif

#ifdef STUB

enum { STUBS = TREADLE_STUB_TABLES * 1024 };

#pragma GCC visibility push(hidden)
/* Named by the stubs, so neither static nor left out. */
extern struct treadle_stub_room treadle_stub_slots[STUBS];
__attribute__((used)) struct treadle_stub_room treadle_stub_slots[STUBS];
extern const unsigned char treadle_stub_table[];
#pragma GCC visibility pop

__asm__("    .pushsection .text.treadle_stubs, \"ax\", %progbits\n"
        "    .p2align 6\n"
        "    .hidden treadle_stub_table\n"
        "    .globl treadle_stub_table\n"
        "    .type treadle_stub_table, %function\n"
        "treadle_stub_table:\n"
        "    .cfi_startproc\n"
        "    .set treadle_stub_index, 0\n"
        "    .rept 1024 * " TEXT_OF(TREADLE_STUB_TABLES) "\n"
        STUB
        "    .set treadle_stub_index, treadle_stub_index + 1\n"
        "    .endr\n"
        "    .cfi_endproc\n"
        "    .size treadle_stub_table, . - treadle_stub_table\n"
        "    .popsection\n");

uint32_t treadle_stub_count(void) { return STUBS; }
struct treadle_stub_room *treadle_stub_slot(uint32_t index) { return index < STUBS ? &treadle_stub_slots[index] : NULL; }
void *treadle_stub_code(uint32_t index) {
    return index < STUBS ? (void *)(uintptr_t)(treadle_stub_table + (size_t)index * STUB_SIZE) : NULL;
}

#else

uint32_t treadle_stub_count(void) { return 0; }
struct treadle_stub_room *treadle_stub_slot(uint32_t index) { return (void)index, (struct treadle_stub_room *)NULL; }
void *treadle_stub_code(uint32_t index) { return (void)index, (void *)NULL; }

#endif
