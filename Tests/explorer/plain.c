/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plain.c: the compiler's other calls (-fsanitize=thread): plain accesses, and where functions begin and end. */
#include "world.h"

#include <string.h>

#define SITE __builtin_return_address(0)

void __tsan_init(void) {}
void __tsan_func_entry(const void *caller) {
    if (reached) note_reached(SITE);
    struct vthread *thread = me();
    if (thread->depth < FRAMES) thread->frames[thread->depth] = caller;
    thread->depth++;
}
void __tsan_func_exit(void) {
    if (me()->depth > 0) me()->depth--;
}

#define ACCESSES(BYTES)                                                                                                \
    void __tsan_read##BYTES(const void *a) { access_plainly(a, BYTES, false, SITE); }                                  \
    void __tsan_unaligned_read##BYTES(const void *a) { access_plainly(a, BYTES, false, SITE); }                        \
    void __tsan_write##BYTES(void *a) { access_plainly(a, BYTES, true, SITE); }                                        \
    void __tsan_unaligned_write##BYTES(void *a) { access_plainly(a, BYTES, true, SITE); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
/* Swift's note of an inout access, which touches nothing by itself. */
void __tsan_external_write(void *address, void *caller, void *tag) { (void)address, (void)caller, (void)tag; }

void *__tsan_memcpy(void *to, const void *from, size_t size) {
    access_plainly(from, size, false, SITE);
    access_plainly(to, size, true, SITE);
    return memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, size_t size) {
    access_plainly(from, size, false, SITE);
    access_plainly(to, size, true, SITE);
    return memmove(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size) {
    access_plainly(to, size, true, SITE);
    return memset(to, value, size);
}
/* The C library is not compiled here; this is how labels and names are read. */
int __wrap_strcmp(const char *a, const char *b) {
    size_t same = 0;
    while (a[same] && a[same] == b[same]) same++;
    access_plainly(a, same + 1, false, SITE);
    access_plainly(b, same + 1, false, SITE);
    return (unsigned char)a[same] - (unsigned char)b[same];
}
