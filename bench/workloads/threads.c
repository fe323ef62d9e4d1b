/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * threads.c: what it takes to have a thread, and one with a loop. thread_start: to the first instruction of its
 * function; thread_join: to start it and to wait for its end; thread_loop: to start it, make a loop on it, run a
 * posted task, stop, and wait for its end. */
#include "../harness/support.h"
#include "one_loop.h"

enum { MOST_THREADS = 1000 };

static void run_to_end(void *(*run)(void *), void *info) {
    if (library.thread_start) {
        library.thread_join(library.thread_start(run, info));
        return;
    }
    pthread_t thread;
    demand(pthread_create(&thread, NULL, run, info) == 0, "a thread can be made");
    pthread_join(thread, NULL);
}

static void *note_time(void *info) {
    *(uint64_t *)info = clock_ns();
    return NULL;
}
static void thread_start(void) {
    static int64_t until_begun[MOST_THREADS], until_ended[MOST_THREADS];
    size_t count = amount(MOST_THREADS);
    for (size_t i = 0; i < count; i++) {
        uint64_t begun = 0, before = clock_ns();
        run_to_end(note_time, &begun);
        until_ended[i] = (int64_t)(clock_ns() - before);
        demand(begun > before, "the thread's function has run");
        until_begun[i] = (int64_t)(begun - before);
    }
    tell("thread_start", quantile(until_begun, count, 0.5) / 1e3, "us");
    tell("thread_join", quantile(until_ended, count, 0.5) / 1e3, "us");
}

static void *one_loop_main(void *info) {
    run_one_task(info);
    return NULL;
}
static void thread_loop(void) {
    static int64_t taken[MOST_THREADS];
    size_t count = is_quick ? 10 : 300, performed = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t before = clock_ns();
        run_to_end(one_loop_main, &performed);
        taken[i] = (int64_t)(clock_ns() - before);
    }
    demand(performed == count, "each thread's loop runs its task once");
    tell("thread_loop", quantile(taken, count, 0.5) / 1e3, "us");
}

const struct workload thread_workloads[] = {
    {"thread_start", thread_start, NEEDS_THREAD},
    {"thread_loop", thread_loop, NEEDS_LOOP | NEEDS_POST},
    {NULL, NULL, 0},
};
