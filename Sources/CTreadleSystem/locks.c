/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * locks.c: clients' locks and conditions. */
#include "CTreadleSystem.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { ROOM = TREADLE_SYSTEM_NATIVE_STRIDE - TREADLE_SYSTEM_NATIVE_OFFSET };
_Static_assert(sizeof(pthread_mutex_t) <= ROOM && sizeof(pthread_cond_t) <= ROOM, "the slots need more room");
_Static_assert(TREADLE_SYSTEM_NATIVE_OFFSET % _Alignof(pthread_mutex_t) == 0, "a mutex lies askew");
_Static_assert(TREADLE_SYSTEM_NATIVE_OFFSET % _Alignof(pthread_cond_t) == 0, "a condition lies askew");

static struct timespec timespec_of(int64_t ns) {
    if (ns < 0) ns = 0;
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

/* Locks a mutex until a date of the monotonic clock. */
typedef int (*clocklock_fn)(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until);

/* For C libraries that know the wall clock alone here: musl, and glibc before 2.30. If that is set forward
 * meanwhile, the rest is waited for. If it is set back, the wait is no longer with musl, which computes its length as it begins. */
static int lock_by_the_wall_clock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    for (;;) {
        struct timespec now, wall;
        clock_gettime(clock, &now);
        int64_t left = (until->tv_sec - now.tv_sec) * 1000000000 + until->tv_nsec - now.tv_nsec;
        if (left <= 0) return pthread_mutex_timedlock(mutex, &(struct timespec){0, 0}); /* not trylock: see below */
        clock_gettime(CLOCK_REALTIME, &wall);
        long ns = wall.tv_nsec + (long)(left % 1000000000);
        wall = (struct timespec){.tv_sec = wall.tv_sec + (time_t)(left / 1000000000) + ns / 1000000000, .tv_nsec = ns % 1000000000};
        int error = pthread_mutex_timedlock(mutex, &wall);
        if (error != ETIMEDOUT) return error;
    }
}

/* The C library's own function is looked up, not linked: with it, the library would load with glibc 2.34 and later alone. That is done
 * as a lock is created, when the caller holds none, since the loader's lock is taken. */
static clocklock_fn clocklock;
static void find_clocklock(void) {
    if (__atomic_load_n(&clocklock, __ATOMIC_RELAXED)) return;
    clocklock_fn found;
    *(void **)(void *)&found = dlsym(RTLD_DEFAULT, "pthread_mutex_clocklock");
    __atomic_store_n(&clocklock, found ? found : lock_by_the_wall_clock, __ATOMIC_RELAXED);
}

int32_t treadle_system_native_mutex_create(void *mutex, bool is_recursive) {
    find_clocklock();
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error) return -error;
    error = pthread_mutexattr_settype(&attributes, is_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_ERRORCHECK);
    if (!error) error = pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return -error;
}

/* glibc alone refuses to destroy a locked mutex. */
static bool is_locked(pthread_mutex_t *mutex) {
    if (pthread_mutex_trylock(mutex) != 0) return true;
    pthread_mutex_unlock(mutex);
    /* A recursive one lets its owner in once more. Only of an owner's is there still something to be unlocked. */
    if (pthread_mutex_unlock(mutex) != 0) return false;
    pthread_mutex_trylock(mutex);
    return true;
}

int32_t treadle_system_native_mutex_destroy(void *mutex) { return is_locked(mutex) ? -EBUSY : -pthread_mutex_destroy(mutex); }

int32_t treadle_system_native_mutex_lock(void *mutex, int64_t until) {
    if (until == INT64_MAX) return -pthread_mutex_lock(mutex);
    /* Not trylock: it does not tell the owner from others. */
    struct timespec at = timespec_of(until);
    return -__atomic_load_n(&clocklock, __ATOMIC_RELAXED)(mutex, CLOCK_MONOTONIC, &at);
}

int32_t treadle_system_native_mutex_unlock(void *mutex) { return -pthread_mutex_unlock(mutex); }

int32_t treadle_system_native_condition_create(void *condition) {
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error) return -error;
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!error) error = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return -error;
}

void treadle_system_native_condition_destroy(void *condition) {
    /* Who waits by POSIX's own functions, against the rules, must not keep us here. */
    pthread_cond_broadcast(condition);
    pthread_cond_destroy(condition);
}

int32_t treadle_system_native_condition_wait(void *condition, void *mutex, int64_t until) {
    struct timespec at = timespec_of(until);
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    int error = until == INT64_MAX ? pthread_cond_wait(condition, mutex) : pthread_cond_timedwait(condition, mutex, &at);
    pthread_setcancelstate(state, NULL);
    return -error;
}

void treadle_system_native_condition_signal(void *condition) { pthread_cond_signal(condition); }
void treadle_system_native_condition_broadcast(void *condition) { pthread_cond_broadcast(condition); }
