/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Listing 2-1: a detached thread, made with the calls of POSIX, and then with one of Treadle's.
 *
 * Nobody joins a detached thread: the system takes its resources back when it ends. So it must tell in another
 * way what it found out; here it does so with a lock and a condition. */
#include <pthread.h>
#include <string.h>

#include "require.h"

/* What a thread is to do, and what it tells about it. The lock guards everything below it. */
struct work {
    int last;
    treadle_lock lock;
    treadle_condition changed;
    bool is_done;
    int sum;
    bool was_detached;
    bool was_executing;
    bool was_multithreaded;
};

static void prepare(struct work *work, int last) {
    *work = (struct work){.last = last};
    require(treadle_lock_create(0, &work->lock), "make a lock");
    require(treadle_condition_create(&work->changed), "make a condition");
}

static void clean_up(struct work *work) {
    require(treadle_condition_release(work->changed), "release the condition");
    require(treadle_lock_release(work->lock), "release the lock");
}

/* The entry function of both threads. */
static void *add_up(void *info) {
    struct work *work = info;
    int sum = 0;
    for (int number = 1; number <= work->last; number++) sum += number;
    /* A thread that Treadle did not start has an object too, from the first time that somebody asks. */
    treadle_thread self = treadle_thread_current();

    require(treadle_lock_lock(work->lock, TREADLE_FOREVER), "lock");
    work->sum = sum;
    work->was_detached = treadle_thread_is_detached(self);
    work->was_executing = treadle_thread_is_executing(self);
    work->was_multithreaded = treadle_is_multithreaded();
    work->is_done = true;
    require(treadle_condition_signal(work->changed), "signal");
    require(treadle_lock_unlock(work->lock), "unlock");
    return NULL;
}

static void wait_and_report(struct work *work, const char *how) {
    require(treadle_lock_lock(work->lock, TREADLE_FOREVER), "lock");
    while (!work->is_done) {
        require(treadle_condition_wait(work->changed, work->lock, TREADLE_FOREVER), "wait");
    }
    require(treadle_lock_unlock(work->lock), "unlock");
    printf("%s: the sum of 1 to %d is %d\n", how, work->last, work->sum);
    printf("  executing: %s, detached: %s, Treadle has started threads: %s\n", work->was_executing ? "yes" : "no",
           work->was_detached ? "yes" : "no", work->was_multithreaded ? "yes" : "no");
}

/* POSIX makes joinable threads unless its attributes say otherwise. */
static void launch_with_posix(struct work *work) {
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    if (!error) {
        error = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        if (!error) error = pthread_create(&thread, &attributes, add_up, work);
        pthread_attr_destroy(&attributes);
    }
    if (error) {
        fprintf(stderr, "cannot make a thread: %s\n", strerror(error));
        exit(1);
    }
}

static void launch_with_treadle(struct work *work) {
    require(treadle_thread_detach_new(add_up, work, NULL, NULL), "make a thread");
}

int main(void) {
    struct work first, second;
    prepare(&first, 100);
    launch_with_posix(&first);
    wait_and_report(&first, "a thread of POSIX");
    clean_up(&first);

    prepare(&second, 1000);
    launch_with_treadle(&second);
    wait_and_report(&second, "a thread of Treadle");
    clean_up(&second);
    return 0;
}
