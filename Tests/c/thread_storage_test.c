/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_storage_test.c: threads in a program with much static thread-local storage, which glibc takes from each thread's stack. */
#include "stack_use.h"
#include "thread_jobs.h"

enum { STORAGE = 700 * 1024 };
static _Thread_local volatile char storage[STORAGE];

static void *use_both(void *info) {
    for (size_t i = 0; i < STORAGE; i += 512) storage[i] = 1;
    touch(*(size_t *)info - 1024);
    return info;
}
TEST(static_storage_takes_nothing_of_the_stack, "THR-13") {
    static size_t sizes[] = {16384, 65536, 524288};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        treadle_thread thread = thread_make(use_both, &sizes[i]);
        CHECK_INT(treadle_thread_set_stack_size(thread, sizes[i]), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK(thread_end(thread) == &sizes[i]);
    }
}

TEST_MAIN()
