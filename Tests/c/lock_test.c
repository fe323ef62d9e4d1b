/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * lock_test.c: locks; condition_test.c has the conditions. */
#include "helpers.h"

/* The thread sanitizer reports what these tests do on purpose: unlocking what one does not own. */
#define MAY_MISUSE (!THREAD_SANITIZER)

static treadle_lock make_lock(uint32_t flags) {
    treadle_lock lock = NULL;
    CHECK_INT(treadle_lock_create(flags, &lock), TREADLE_OK);
    CHECK(lock);
    return lock;
}
static void lock_it(treadle_lock lock) { CHECK_INT(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_OK); }
static void unlock_it(treadle_lock lock) { CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK); }
static void release_it(treadle_lock lock) { CHECK_INT(treadle_lock_release(lock), TREADLE_OK); }

/* Waits that must end without the lock, and without waiting longer than said: all of these return. */
static void *must_time_out(void *lock) {
    static const int64_t timeouts[] = {0, -1, INT64_MIN, 1, MILLISECONDS(1)};
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++)
        CHECK_ERROR(treadle_lock_lock(lock, timeouts[i]), TREADLE_E_TIMEOUT, "timeout_ns");
    if (MAY_MISUSE) CHECK_ERROR(treadle_lock_unlock(lock), TREADLE_E_WRONG_THREAD, "lock");
    return NULL;
}
static void *must_get_it(void *lock) {
    static const int64_t timeouts[] = {0, -1, INT64_MIN, 1, SECONDS(100), INT64_MAX - 1, TREADLE_FOREVER};
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        CHECK_INT(treadle_lock_lock(lock, timeouts[i]), TREADLE_OK);
        unlock_it(lock);
    }
    return NULL;
}

TEST(a_lock_keeps_others_out, "THR-20") {
    for (uint32_t flags = 0; flags <= TREADLE_LOCK_RECURSIVE; flags++) {
        treadle_lock lock = make_lock(flags);
        must_get_it(lock);
        lock_it(lock);
        on_thread(must_time_out, lock);
        unlock_it(lock);
        on_thread(must_get_it, lock);
        release_it(lock);
    }
}

TEST(a_timed_lock_waits_that_long, "THR-20") {
    treadle_lock lock = make_lock(0);
    lock_it(lock);
    on_thread(must_time_out, lock);
    unlock_it(lock);
    release_it(lock);
}
static void *wait_a_while(void *lock) {
    int64_t begun = treadle_time_now();
    CHECK_INT(treadle_lock_lock(lock, MILLISECONDS(20)), TREADLE_E_TIMEOUT);
    CHECK(treadle_time_now() - begun >= MILLISECONDS(20)); /* not less; how much more is the machine's */
    return NULL;
}
TEST(a_timeout_is_never_early, "THR-20") {
    treadle_lock lock = make_lock(TREADLE_LOCK_RECURSIVE);
    lock_it(lock);
    on_thread(wait_a_while, lock);
    unlock_it(lock);
    release_it(lock);
}

TEST(locking_twice, "THR-20") {
    treadle_lock lock = make_lock(0);
    lock_it(lock);
    CHECK_ERROR(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_E_DEADLOCK, "lock");
    CHECK_ERROR(treadle_lock_lock(lock, SECONDS(1)), TREADLE_E_DEADLOCK, "lock");
    CHECK_ERROR(treadle_lock_lock(lock, 0), TREADLE_E_DEADLOCK, "lock");
    CHECK_ERROR(treadle_lock_lock(lock, -5), TREADLE_E_DEADLOCK, "lock");
    unlock_it(lock); /* once is enough */
    on_thread(must_get_it, lock);
    if (MAY_MISUSE) CHECK_ERROR(treadle_lock_unlock(lock), TREADLE_E_WRONG_THREAD, "lock");
    release_it(lock);
}

TEST(a_recursive_lock, "THR-20") {
    treadle_lock lock = make_lock(TREADLE_LOCK_RECURSIVE);
    for (int i = 0; i < 1000; i++) CHECK_INT(treadle_lock_lock(lock, i % 2 ? 0 : TREADLE_FOREVER), TREADLE_OK);
    for (int i = 0; i < 1000; i++) {
        if (i % 100 == 0) on_thread(must_time_out, lock);
        unlock_it(lock);
    }
    on_thread(must_get_it, lock);
    if (MAY_MISUSE) CHECK_ERROR(treadle_lock_unlock(lock), TREADLE_E_WRONG_THREAD, "lock");
    release_it(lock);
}

#ifdef __GLIBC__
TEST(a_recursive_lock_locked_too_often, "THR-20") {
    treadle_lock lock = make_lock(TREADLE_LOCK_RECURSIVE);
    pthread_mutex_t *mutex = treadle_lock_get_pthread_mutex(lock);
    lock_it(lock);
    mutex->__data.__count = UINT32_MAX; /* as if it had been locked so often */
    CHECK_ERROR(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_E_RANGE, "lock");
    CHECK_ERROR(treadle_lock_lock(lock, 0), TREADLE_E_RANGE, "lock");
    mutex->__data.__count = 1;
    unlock_it(lock);
    on_thread(must_get_it, lock);
    release_it(lock);
}
#endif

static treadle_lock guard;
static int64_t guarded;
static void *count_up(void *times) {
    for (int i = *(int *)times; i > 0; i--) {
        CHECK_INT(treadle_lock_lock(guard, i % 3 ? TREADLE_FOREVER : SECONDS(1000)), TREADLE_OK);
        guarded++;
        unlock_it(guard);
    }
    return NULL;
}
TEST(a_lock_excludes, "THR-20") {
    pthread_t threads[4];
    int times = scaled(100000);
    for (uint32_t flags = 0; flags <= TREADLE_LOCK_RECURSIVE; flags++) {
        guard = make_lock(flags);
        guarded = 0;
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, count_up, &times), 0);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        CHECK_INT(guarded, 4 * (int64_t)times);
        release_it(guard);
    }
}

TEST(bad_arguments_of_locks, "THR-20") {
    treadle_lock lock = (treadle_lock)1;
    CHECK_ERROR(treadle_lock_create(2, &lock), TREADLE_E_ARG, "flags");
    CHECK(lock == NULL);
    CHECK_ERROR(treadle_lock_create(UINT32_MAX, &lock), TREADLE_E_ARG, "flags");
    CHECK_ERROR(treadle_lock_create(0, NULL), TREADLE_E_ARG, "out_lock");
    CHECK(treadle_lock_get_pthread_mutex(NULL) == NULL);
    CHECK(treadle_lock_get_pthread_mutex((treadle_lock)0x1234567) == NULL);
    lock = make_lock(0);
    release_it(lock);
    CHECK(treadle_lock_get_pthread_mutex(lock) == NULL);
    CHECK_ERROR(treadle_lock_lock(lock, 0), TREADLE_E_STALE, "lock");
    CHECK_ERROR(treadle_lock_unlock(lock), TREADLE_E_STALE, "lock");
    CHECK_ERROR(treadle_lock_retain(lock), TREADLE_E_STALE, "object");
    CHECK_ERROR(treadle_lock_release(lock), TREADLE_E_STALE, "object");
    treadle_lock kept = make_lock(0);
    CHECK(kept != lock);
    CHECK_ERROR(treadle_lock_lock((treadle_lock)(void *)treadle_loop_current(), 0), TREADLE_E_KIND, "lock");
    release_it(kept);
}

TEST(references_of_a_lock, "OBJ-2 THR-20") {
    treadle_lock lock = make_lock(0);
    CHECK_INT(treadle_lock_retain(lock), TREADLE_OK);
    release_it(lock);
    must_get_it(lock);
    release_it(lock);
    CHECK_ERROR(treadle_lock_release(lock), TREADLE_E_STALE, "object");
}

/* --- The native mutex ----------------------------------------------------------------------------- */

static void *must_be_busy(void *mutex) {
    CHECK_INT(pthread_mutex_trylock(mutex), EBUSY);
    return NULL;
}
TEST(the_native_mutex_is_the_lock, "THR-20") {
    for (uint32_t flags = 0; flags <= TREADLE_LOCK_RECURSIVE; flags++) {
        treadle_lock lock = make_lock(flags);
        pthread_mutex_t *mutex = treadle_lock_get_pthread_mutex(lock);
        CHECK(mutex && mutex == treadle_lock_get_pthread_mutex(lock));
        CHECK((uintptr_t)mutex % _Alignof(pthread_mutex_t) == 0);
        CHECK_INT(pthread_mutex_lock(mutex), 0);
        on_thread(must_be_busy, mutex);
        if (MAY_MISUSE) on_thread(must_time_out, lock);
        CHECK_INT(pthread_mutex_lock(mutex), flags ? 0 : EDEADLK); /* its type */
        if (flags) CHECK_INT(pthread_mutex_unlock(mutex), 0);
        CHECK_INT(pthread_mutex_unlock(mutex), 0);
        on_thread(must_get_it, lock);
        release_it(lock);
    }
}

/* --- The end of a lock ---------------------------------------------------------------------------- */

/* Nobody else ever gets the memory of a lock that was locked at its end: its owner may use the mutex still. */
TEST(a_lock_released_while_it_is_locked, "THR-20") {
    enum { LOCKED = 4, OTHERS = 10000 };
    static treadle_lock others[OTHERS];
    pthread_mutex_t *mutexes[LOCKED];
    for (uint32_t i = 0; i < LOCKED; i++) {
        treadle_lock lock = make_lock(i & TREADLE_LOCK_RECURSIVE);
        mutexes[i] = treadle_lock_get_pthread_mutex(lock);
        lock_it(lock);
        release_it(lock);
        CHECK_ERROR(treadle_lock_unlock(lock), TREADLE_E_STALE, "lock");
    }
    for (int i = 0; i < OTHERS; i++) {
        others[i] = make_lock(0);
        for (int k = 0; k < LOCKED; k++) CHECK(treadle_lock_get_pthread_mutex(others[i]) != (void *)mutexes[k]);
    }
    for (int k = 0; k < LOCKED; k++) CHECK_INT(pthread_mutex_unlock(mutexes[k]), 0);
    for (int i = 0; i < OTHERS; i++) release_it(others[i]);
}

/* Locked through POSIX's functions only, it stays all the same. */
TEST(a_native_mutex_that_is_locked_at_the_end, "THR-20") {
    if (!MAY_MISUSE) return; /* the sanitizer reports the end of a locked mutex */
    treadle_lock lock = make_lock(0), other;
    pthread_mutex_t *mutex = treadle_lock_get_pthread_mutex(lock);
    CHECK_INT(pthread_mutex_lock(mutex), 0);
    release_it(lock);
    for (int i = 0; i < 100; i++) {
        other = make_lock(0);
        CHECK(treadle_lock_get_pthread_mutex(other) != (void *)mutex);
        release_it(other);
    }
    CHECK_INT(pthread_mutex_unlock(mutex), 0);
}

/* Who waits for a lock keeps it: the last client's reference may go meanwhile. */
static atomic_int waiting_thread;
static sem_t unlocked;
static void *wait_for_it(void *lock) {
    atomic_store(&waiting_thread, thread_id());
    CHECK_INT(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_OK);
    await(&unlocked); /* the other thread's call keeps it too */
    CHECK_ERROR(treadle_lock_unlock(lock), TREADLE_E_STALE, "lock"); /* it kept no reference of its own */
    return NULL;
}
static bool is_blocked(int thread) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    CHECK(file && fscanf(file, "%*d %*s %c", &state) == 1);
    fclose(file);
    return state == 'S';
}
TEST(a_waiter_keeps_its_lock, "THR-20 OBJ-3") {
    treadle_lock lock = make_lock(0);
    pthread_t thread;
    sem_init(&unlocked, 0, 0);
    lock_it(lock);
    CHECK_INT(pthread_create(&thread, NULL, wait_for_it, lock), 0);
    while (!atomic_load(&waiting_thread) || !is_blocked(waiting_thread)) sched_yield();
    release_it(lock);
    CHECK_ERROR(treadle_lock_release(lock), TREADLE_E_STALE, "object");
    unlock_it(lock);
    sem_post(&unlocked);
    pthread_join(thread, NULL);
    CHECK_ERROR(treadle_lock_lock(lock, 0), TREADLE_E_STALE, "lock");
}

static void *lock_and_end(void *lock) { return lock_it(lock), NULL; }
TEST(a_thread_that_ends_with_a_lock_keeps_it_locked, "THR-20") {
    treadle_lock lock = make_lock(0);
    on_thread(lock_and_end, lock);
    must_time_out(lock);
    release_it(lock);
}

TEST(ten_thousand_locks, "THR-20 OBJ-2") {
    enum { COUNT = 10000 };
    static treadle_lock locks[COUNT];
    long before = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < COUNT; i++) locks[i] = make_lock(i & TREADLE_LOCK_RECURSIVE);
        int held = THREAD_SANITIZER ? 50 : COUNT; /* at a time: the sanitizer can follow 128 */
        for (int i = 0; i < COUNT; i += held) {
            for (int k = i; k < i + held; k++) lock_it(locks[k]);
            for (int k = i + held - 1; k >= i; k--) unlock_it(locks[k]);
        }
        for (int i = 0; i < COUNT; i++) release_it(locks[i]);
        if (round == 0) before = resident_kilobytes();
    }
    if (!THREAD_SANITIZER && !ADDRESS_SANITIZER) CHECK(resident_kilobytes() < before + 4096); /* slots are used again */
}

/* Locks come and go under others who use their handles: each call succeeds or tells that the lock is gone. */
static _Atomic(treadle_lock) shared[4];
static atomic_int over;
static void *use_shared(void *seed) {
    unsigned random = (unsigned)(uintptr_t)seed;
    while (!atomic_load(&over)) {
        treadle_lock lock = atomic_load(&shared[(random = random * 1103515245 + 12345) >> 16 & 3]);
        treadle_status status = treadle_lock_retain(lock);
        if (status != TREADLE_OK) {
            CHECK_INT(status, TREADLE_E_STALE);
            continue;
        }
        status = treadle_lock_lock(lock, random >> 20 & 1 ? TREADLE_FOREVER : MILLISECONDS(1));
        CHECK(status == TREADLE_OK || status == TREADLE_E_TIMEOUT);
        if (status == TREADLE_OK) unlock_it(lock);
        release_it(lock);
        /* Without a reference: it may end before, during and after this. */
        status = treadle_lock_lock(lock, 0);
        if (status == TREADLE_OK) {
            status = treadle_lock_unlock(lock);
            CHECK(status == TREADLE_OK || status == TREADLE_E_STALE);
        } else {
            CHECK(status == TREADLE_E_TIMEOUT || status == TREADLE_E_STALE);
        }
    }
    return NULL;
}
TEST(locks_that_end_while_they_are_used, "THR-20 OBJ-6") {
    pthread_t threads[3];
    for (int i = 0; i < 4; i++) atomic_store(&shared[i], make_lock((uint32_t)i & 1));
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&threads[i], NULL, use_shared, (void *)(uintptr_t)(i + 1)), 0);
    for (int i = scaled(20000); i > 0; i--) release_it(atomic_exchange(&shared[i & 3], make_lock((uint32_t)i & 1)));
    atomic_store(&over, 1);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) release_it(shared[i]);
}

TEST_MAIN()
