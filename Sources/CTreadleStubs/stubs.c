/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleStubs.h"

#include <string.h>

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
/* The slot is 16 KiB behind the stub, whose second instruction ends 11 bytes from its beginning. */
#define BLOCK_STUB                                                                     \
    "    endbr64\n"                                                                    \
    "    leaq (16384 - 11)(%rip), %r10\n"                                              \
    "    jmpq *(%r10)\n"
#define REGISTER_ENTRY                                                                 \
    "    endbr64\n"                                                                    \
    "    subq $120, %rsp\n"                                                            \
    "    .cfi_adjust_cfa_offset 120\n"                                                 \
    "    movq %rdi, (%rsp)\n"                                                          \
    "    movq %rsi, 8(%rsp)\n"                                                         \
    "    movq %rdx, 16(%rsp)\n"                                                        \
    "    movq %rcx, 24(%rsp)\n"                                                        \
    "    movq %r8, 32(%rsp)\n"                                                         \
    "    movq %r9, 40(%rsp)\n"                                                         \
    "    movsd %xmm0, 48(%rsp)\n"                                                      \
    "    movsd %xmm1, 56(%rsp)\n"                                                      \
    "    movsd %xmm2, 64(%rsp)\n"                                                      \
    "    movsd %xmm3, 72(%rsp)\n"                                                      \
    "    movsd %xmm4, 80(%rsp)\n"                                                      \
    "    movsd %xmm5, 88(%rsp)\n"                                                      \
    "    movsd %xmm6, 96(%rsp)\n"                                                      \
    "    movsd %xmm7, 104(%rsp)\n"                                                     \
    "    movq %r10, %rdi\n"                                                            \
    "    movq %rsp, %rsi\n"                                                            \
    "    movq 8(%r10), %rdx\n"                                                         \
    "    callq *treadle_stub_handler(%rip)\n"                                          \
    "    movq %rax, %xmm0\n"                                                           \
    "    addq $120, %rsp\n"                                                            \
    "    .cfi_adjust_cfa_offset -120\n"                                                \
    "    retq\n"
#elif defined(__aarch64__) && !defined(__ILP32__)
#define STUB_SIZE 32
#define STUB                                                                           \
    "    .p2align 5\n"                                                                 \
    "    hint #34\n" /* bti c */                                                       \
    "    adrp x18, treadle_stub_slots + 64 * treadle_stub_index\n"                     \
    "    add x18, x18, :lo12:treadle_stub_slots + 64 * treadle_stub_index\n"           \
    "    ldar x16, [x18]\n" /* before the slot's other words are read: StubSlot.lead */  \
    "    br x16\n"
#define BLOCK_STUB                                                                     \
    "    hint #34\n"                                                                   \
    "    adr x18, . + 16380\n" /* the slot is 16 KiB behind the stub */                \
    "    ldar x16, [x18]\n"                                                            \
    "    br x16\n"
#ifdef __AARCH64EL__
#define REGISTER_ENTRY                                                                 \
    "    hint #34\n" /* bti c */                                                       \
    "    stp x29, x30, [sp, #-144]!\n"                                                 \
    "    .cfi_adjust_cfa_offset 144\n"                                                 \
    "    .cfi_offset x29, -144\n"                                                      \
    "    .cfi_offset x30, -136\n"                                                      \
    "    mov x29, sp\n"                                                                \
    "    stp x0, x1, [sp, #16]\n"                                                      \
    "    stp x2, x3, [sp, #32]\n"                                                      \
    "    stp x4, x5, [sp, #48]\n"                                                      \
    "    stp x6, x7, [sp, #64]\n"                                                      \
    "    stp d0, d1, [sp, #80]\n"                                                      \
    "    stp d2, d3, [sp, #96]\n"                                                      \
    "    stp d4, d5, [sp, #112]\n"                                                     \
    "    stp d6, d7, [sp, #128]\n"                                                     \
    "    mov x0, x18\n"                                                                \
    "    add x1, sp, #16\n"                                                            \
    "    ldr x2, [x18, #8]\n"                                                          \
    "    adrp x16, treadle_stub_handler\n"                                             \
    "    ldr x16, [x16, :lo12:treadle_stub_handler]\n"                                 \
    "    blr x16\n"                                                                    \
    "    fmov d0, x0\n"                                                                \
    "    ldp x29, x30, [sp], #144\n"                                                   \
    "    .cfi_restore x29\n"                                                           \
    "    .cfi_restore x30\n"                                                           \
    "    .cfi_adjust_cfa_offset -144\n"                                                \
    "    ret\n"
#endif
#endif

#ifdef STUB

enum { STUBS = TREADLE_STUB_TABLES * 1024 };

#pragma GCC visibility push(hidden)
/* Named by the stubs, so neither static nor left out. */
extern struct treadle_stub_room treadle_stub_slots[STUBS];
__attribute__((used)) struct treadle_stub_room treadle_stub_slots[STUBS];
extern const unsigned char treadle_stub_table[];
extern treadle_stub_handler_fn treadle_stub_handler;
__attribute__((used)) treadle_stub_handler_fn treadle_stub_handler;
extern const unsigned char treadle_stub_from_registers[];
extern const unsigned char treadle_stub_of_block[], treadle_stub_of_block_end[];
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

/* A pattern, which is never called where it lies. */
__asm__("    .pushsection .rodata.treadle_stubs, \"a\", %progbits\n"
        "    .hidden treadle_stub_of_block\n"
        "    .globl treadle_stub_of_block\n"
        "treadle_stub_of_block:\n"
        BLOCK_STUB
        "    .hidden treadle_stub_of_block_end\n"
        "    .globl treadle_stub_of_block_end\n"
        "treadle_stub_of_block_end:\n"
        "    .popsection\n");

bool treadle_stub_write_block(void *code) {
    size_t size = (size_t)(treadle_stub_of_block_end - treadle_stub_of_block);
    char *bytes = code;
    for (size_t at = 0; at < TREADLE_STUB_BLOCK; at += TREADLE_STUB_ROOM) memcpy(bytes + at, treadle_stub_of_block, size);
    __builtin___clear_cache(bytes, bytes + TREADLE_STUB_BLOCK);
    return true;
}

#ifdef REGISTER_ENTRY
__asm__("    .pushsection .text.treadle_stubs, \"ax\", %progbits\n"
        "    .p2align 4\n"
        "    .hidden treadle_stub_from_registers\n"
        "    .globl treadle_stub_from_registers\n"
        "    .type treadle_stub_from_registers, %function\n"
        "treadle_stub_from_registers:\n"
        "    .cfi_startproc\n"
        REGISTER_ENTRY
        "    .cfi_endproc\n"
        "    .size treadle_stub_from_registers, . - treadle_stub_from_registers\n"
        "    .popsection\n");
void *treadle_stub_register_entry(void) { return (void *)(uintptr_t)treadle_stub_from_registers; }
#else
void *treadle_stub_register_entry(void) { return NULL; }
#endif
/* Before any stub is used, and always the same. Relaxed: a stub jumps here by a word of its slot that is released behind this. */
void treadle_stub_set_handler(treadle_stub_handler_fn handler) { __atomic_store_n(&treadle_stub_handler, handler, __ATOMIC_RELAXED); }

/* The explorer's pool is soon used up, so that scenes see a stub that is used again. */
#ifdef TREADLE_EXPLORED
uint32_t treadle_stub_count(void) { return 2; }
#else
uint32_t treadle_stub_count(void) { return STUBS; }
#endif
struct treadle_stub_room *treadle_stub_slot(uint32_t index) { return index < STUBS ? &treadle_stub_slots[index] : NULL; }
void *treadle_stub_code(uint32_t index) {
    return index < STUBS ? (void *)(uintptr_t)(treadle_stub_table + (size_t)index * STUB_SIZE) : NULL;
}

#else

uint32_t treadle_stub_count(void) { return 0; }
struct treadle_stub_room *treadle_stub_slot(uint32_t index) { return (void)index, (struct treadle_stub_room *)NULL; }
void *treadle_stub_code(uint32_t index) { return (void)index, (void *)NULL; }
bool treadle_stub_write_block(void *code) { return (void)code, false; }
void *treadle_stub_register_entry(void) { return NULL; }
void treadle_stub_set_handler(treadle_stub_handler_fn handler) { (void)handler; }

#endif
