/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Blocks, without a compiler that has them: a block begins with these members, and the program that makes one
 * brings the runtime that copies it. */
#include "CTreadleCF.h"

#include <dlfcn.h>

struct block {
    void *isa;
    int32_t flags, reserved;
    void (*invoke)(void *block, ...);
};

typedef void *(*copy_fn)(const void *block);
typedef void (*release_fn)(const void *block);
extern void *_Block_copy(const void *block) __attribute__((weak));
extern void _Block_release(const void *block) __attribute__((weak));

uintptr_t treadle_cf_block_copy(uintptr_t block) {
    /* The runtime may have been loaded after this library, which has no need of its own for it. */
    copy_fn copy = _Block_copy ? _Block_copy : (copy_fn)(uintptr_t)dlsym(RTLD_DEFAULT, "_Block_copy");
    return block && copy ? (uintptr_t)copy((const void *)block) : 0;
}
void treadle_cf_block_release(uintptr_t block) {
    release_fn release = _Block_release ? _Block_release : (release_fn)(uintptr_t)dlsym(RTLD_DEFAULT, "_Block_release");
    if (block && release) release((const void *)block);
}

static void *code_of(uintptr_t block) { return (void *)(uintptr_t)((struct block *)block)->invoke; }
void treadle_cf_block_call(uintptr_t block) { ((void (*)(uintptr_t))(uintptr_t)code_of(block))(block); }
void treadle_cf_block_call_timer(uintptr_t block, uintptr_t timer) {
    ((void (*)(uintptr_t, uintptr_t))(uintptr_t)code_of(block))(block, timer);
}
void treadle_cf_block_call_observer(uintptr_t block, uintptr_t observer, unsigned long activity) {
    ((void (*)(uintptr_t, uintptr_t, unsigned long))(uintptr_t)code_of(block))(block, observer, activity);
}
