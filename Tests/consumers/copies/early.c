/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * early.c: a library that calls Treadle in its constructor: for a program that has a copy of its own, whose constructors come
 * later. Where POST is defined it posts to the main thread's loop, else it remembers that. */
#include <stdio.h>
#include <treadle.h>

treadle_loop early_loop;

#ifdef POST
static void told(void *info) { (void)info, puts("told"), fflush(stdout); }
#endif
__attribute__((constructor)) static void begin(void) {
    early_loop = treadle_loop_main();
#ifdef POST
    treadle_loop_post(early_loop, told, NULL);
#endif
}
