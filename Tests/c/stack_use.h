/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * stack_use.h: using the stack of a thread, down to a given depth. */
#ifndef TREADLE_TEST_STACK_USE_H
#define TREADLE_TEST_STACK_USE_H

#include <alloca.h>
#include <stddef.h>

/* Touches so many bytes of the stack, in frames of at most 32 KB. */
__attribute__((noinline)) static unsigned touch(size_t bytes) {
    size_t here = bytes > 32768 ? 32768 : bytes;
    volatile char *room = alloca(here);
    for (size_t i = 0; i < here; i += 64) room[i] = (char)i;
    /* What a frame takes besides goes off the rest, too. */
    unsigned below = bytes - here > 1024 ? touch(bytes - here - 512) : 0;
    return below + (unsigned char)room[here / 128 * 64];
}

#endif
