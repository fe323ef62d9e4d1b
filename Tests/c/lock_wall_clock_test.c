/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * lock_wall_clock_test.c: timed locks where the C library waits for a mutex by the wall clock alone, like glibc before 2.30 and musl. The
 * program stands between the library and the C library: no function is found by its name, and timed waits end when the test says. */
#include "helpers.h"
#include <dlfcn.h>

void *dlsym(void *restrict handle, const char *restrict name) { return (void)handle, (void)name, NULL; }
/* A wait that ended without another result has set the clock forward: it ends at once, again and again. */
static atomic_int waits, jumps;
static int64_t latest; /* the wall clock's date of the last wait */
int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    atomic_fetch_add(&waits, 1);
    latest = until->tv_sec;
    if (atomic_load(&jumps) > 0 && until->tv_sec) {
        atomic_fetch_sub(&jumps, 1);
        return ETIMEDOUT;
    }
    struct timespec now;
    for (int error; (error = pthread_mutex_trylock(mutex)) == EBUSY;) {
        if (mutex->__data.__owner == (int)syscall(SYS_gettid)) return EDEADLK;
        clock_gettime(CLOCK_REALTIME, &now);
        if (now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec)) return ETIMEDOUT;
        sched_yield();
    }
    return 0;
}

static treadle_lock made(void) {
    treadle_lock lock = NULL;
    CHECK_INT(treadle_lock_create(0, &lock), TREADLE_OK);
    return lock;
}
static void *time_out(void *lock) {
    static const int64_t timeouts[] = {INT64_MIN, -1, 0, 1, MILLISECONDS(5)};
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        int64_t begun = treadle_time_now();
        CHECK_ERROR(treadle_lock_lock(lock, timeouts[i]), TREADLE_E_TIMEOUT, "timeout_ns");
        CHECK(treadle_time_now() - begun >= timeouts[i]);
    }
    return NULL;
}
TEST(a_timeout_is_not_early_where_the_wall_clock_is_set_forward, "THR-20") {
    treadle_lock lock = made();
    CHECK_INT(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_OK);
    atomic_store(&jumps, 3);
    on_thread(time_out, lock);
    CHECK_INT(atomic_load(&jumps), 0);
    CHECK(atomic_load(&waits) >= 8); /* the C library's own function was not found */
    CHECK_ERROR(treadle_lock_lock(lock, SECONDS(1)), TREADLE_E_DEADLOCK, "lock");
    CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
}

TEST(a_lock_that_is_free_is_locked_whatever_the_timeout, "THR-20") {
    treadle_lock lock = made();
    static const int64_t timeouts[] = {INT64_MIN, 0, 1, INT64_MAX - 1, TREADLE_FOREVER, SECONDS(6000000000)};
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        CHECK_INT(treadle_lock_lock(lock, timeouts[i]), TREADLE_OK);
        CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
    }
    CHECK(latest > 7000000000); /* two hundred years behind today */
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
}

static void *unlock_later(void *lock) {
    CHECK_INT(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_OK);
    atomic_store(&waits, 0);
    while (!atomic_load(&waits)) sched_yield();
    CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
    return NULL;
}
TEST(a_lock_is_had_once_it_is_free, "THR-20") {
    treadle_lock lock = made();
    pthread_t other;
    CHECK_INT(pthread_create(&other, NULL, unlock_later, lock), 0);
    while (treadle_lock_lock(lock, 0) == TREADLE_OK) { /* until the other has it */
        CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
        sched_yield();
    }
    atomic_store(&jumps, 2);
    CHECK_INT(treadle_lock_lock(lock, SECONDS(1000)), TREADLE_OK);
    CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
    CHECK_INT(pthread_join(other, NULL), 0);
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
}

TEST_MAIN()
