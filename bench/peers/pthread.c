/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pthread.c: bare threads of POSIX, with default attributes; there is no loop. */
#include "../bench.h"

#include <pthread.h>

static void *start_thread(void *(*run)(void *), void *info) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, info) != 0) abort();
    return (void *)thread;
}
static void join_thread(void *thread) { pthread_join((pthread_t)thread, NULL); }

const struct operations library = {
    .name = "pthread",
    .thread_start = start_thread,
    .thread_join = join_thread,
};
