/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pressure.c: threads that post to the main loop and wake it all the time, while a plugin comes and goes. */
#include "host.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, MOST_WAITING = 256 };

static pthread_t threads[THREADS];
static int running;
static atomic_bool is_over;
static atomic_int waiting;

static void posted(void *info) { (void)info, atomic_fetch_sub(&waiting, 1); }

/* Never more than the loop can take: it is served only now and then. */
static void *press(void *info) {
    (void)info;
    while (!atomic_load(&is_over)) {
        if (atomic_load(&waiting) < MOST_WAITING) {
            atomic_fetch_add(&waiting, 1);
            if (treadle_loop_post(main_loop, posted, NULL) < 0) atomic_fetch_sub(&waiting, 1);
        }
        treadle_loop_wake(main_loop);
        sched_yield();
    }
    return NULL;
}

bool begin_pressure(void) {
    atomic_store(&is_over, false);
    for (running = 0; running < THREADS; running++)
        if (pthread_create(&threads[running], NULL, press, NULL) != 0) return false;
    return true;
}

bool end_pressure(void) {
    bool runs = true;
    atomic_store(&is_over, true);
    while (running > 0) pthread_join(threads[--running], NULL);
    while (runs && atomic_load(&waiting) > 0) runs = treadle_loop_run(main_loop, TREADLE_DEFAULT_MODE, 0, 0) >= 0;
    return runs;
}
