/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * condition_test.c: conditions, with locks. */
#include "helpers.h"

/* The thread sanitizer reports what these tests do on purpose: waiting with a lock that one does not own. */
#define MAY_MISUSE (!THREAD_SANITIZER)

static treadle_lock lock;
static treadle_condition condition;
static void make_both(uint32_t flags) {
    CHECK_INT(treadle_lock_create(flags, &lock), TREADLE_OK);
    CHECK_INT(treadle_condition_create(&condition), TREADLE_OK);
    CHECK(condition);
}
static void release_both(void) {
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
    CHECK_INT(treadle_condition_release(condition), TREADLE_OK);
}
static void lock_it(void) { CHECK_INT(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_OK); }
static void unlock_it(void) { CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK); }
static void wait_for_it(void) { CHECK_INT(treadle_condition_wait(condition, lock, TREADLE_FOREVER), TREADLE_OK); }

/* Guarded by the lock. */
static int waiters, tickets, served;
static void *take_a_ticket(void *unused) {
    lock_it();
    waiters++;
    while (tickets == 0) wait_for_it();
    tickets--;
    served++;
    CHECK_INT(treadle_condition_broadcast(condition), TREADLE_OK);
    unlock_it();
    return unused;
}
static void hand_out(int count, treadle_status (*wake)(treadle_condition)) {
    enum { MOST = 8 };
    pthread_t threads[MOST];
    waiters = tickets = served = 0;
    for (int i = 0; i < count; i++) CHECK_INT(pthread_create(&threads[i], NULL, take_a_ticket, NULL), 0);
    for (bool all = false; !all; sched_yield()) {
        lock_it();
        all = waiters == count;
        unlock_it();
    }
    lock_it(); /* all are inside of their waits */
    CHECK_INT(served, 0);
    tickets = count;
    CHECK_INT(wake(condition), TREADLE_OK);
    while (served < count) wait_for_it();
    unlock_it();
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    CHECK_INT(tickets, 0);
}
TEST(a_signal_wakes_a_waiter, "THR-20") {
    for (uint32_t flags = 0; flags <= TREADLE_LOCK_RECURSIVE; flags++) {
        make_both(flags);
        for (int i = scaled(20); i > 0; i--) hand_out(1, treadle_condition_signal);
        release_both();
    }
}
TEST(a_broadcast_wakes_all_waiters, "THR-20") {
    for (uint32_t flags = 0; flags <= TREADLE_LOCK_RECURSIVE; flags++) {
        make_both(flags);
        for (int i = scaled(20); i > 0; i--) hand_out(8, treadle_condition_broadcast);
        release_both();
    }
}

/* A bounded queue between threads: nothing is lost, nothing arrives twice. */
enum { ROOM = 4 };
static treadle_condition not_full;
static int64_t queue[ROOM], sum;
static int queued;
static void *produce(void *count) {
    for (int64_t i = *(int *)count; i > 0; i--) {
        lock_it();
        while (queued == ROOM) CHECK_INT(treadle_condition_wait(not_full, lock, TREADLE_FOREVER), TREADLE_OK);
        queue[queued++] = i;
        CHECK_INT(treadle_condition_signal(condition), TREADLE_OK);
        unlock_it();
    }
    return NULL;
}
static void *consume(void *count) {
    for (int i = *(int *)count; i > 0; i--) {
        lock_it();
        while (queued == 0) {
            treadle_status status = treadle_condition_wait(condition, lock, i % 2 ? MILLISECONDS(5) : TREADLE_FOREVER);
            CHECK(status == TREADLE_OK || status == TREADLE_E_TIMEOUT);
        }
        sum += queue[--queued];
        CHECK_INT(treadle_condition_signal(not_full), TREADLE_OK);
        unlock_it();
    }
    return NULL;
}
TEST(a_queue_of_two_conditions, "THR-20") {
    pthread_t threads[4];
    int count = scaled(20000);
    make_both(0);
    CHECK_INT(treadle_condition_create(&not_full), TREADLE_OK);
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, i % 2 ? produce : consume, &count), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK_INT(sum, (int64_t)count * (count + 1));
    CHECK_INT(queued, 0);
    CHECK_INT(treadle_condition_release(not_full), TREADLE_OK);
    release_both();
}

TEST(a_wait_times_out_with_the_lock, "THR-20") {
    static const int64_t timeouts[] = {0, -1, INT64_MIN, 1, MILLISECONDS(1)};
    make_both(0);
    CHECK_INT(treadle_condition_signal(condition), TREADLE_OK); /* nobody waits: it is not kept */
    CHECK_INT(treadle_condition_broadcast(condition), TREADLE_OK);
    lock_it();
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        CHECK_ERROR(treadle_condition_wait(condition, lock, timeouts[i]), TREADLE_E_TIMEOUT, "timeout_ns");
        CHECK_ERROR(treadle_lock_lock(lock, 0), TREADLE_E_DEADLOCK, "lock"); /* this thread has it */
    }
    int64_t begun = treadle_time_now();
    treadle_status status;
    while ((status = treadle_condition_wait(condition, lock, MILLISECONDS(20))) == TREADLE_OK) begun = treadle_time_now();
    CHECK_INT(status, TREADLE_E_TIMEOUT);
    CHECK(treadle_time_now() - begun >= MILLISECONDS(20));
    unlock_it();
    release_both();
}

static void *lock_and_tell(void *both) {
    sem_t *semaphores = both;
    lock_it();
    lock_it(); /* recursive */
    sem_post(&semaphores[0]);
    await(&semaphores[1]);
    unlock_it();
    unlock_it();
    return NULL;
}
TEST(a_wait_without_the_lock, "THR-20") {
    if (!MAY_MISUSE) return;
    for (uint32_t flags = 0; flags <= TREADLE_LOCK_RECURSIVE; flags++) {
        make_both(flags);
        CHECK_ERROR(treadle_condition_wait(condition, lock, 0), TREADLE_E_WRONG_THREAD, "lock");
        CHECK_ERROR(treadle_condition_wait(condition, lock, TREADLE_FOREVER), TREADLE_E_WRONG_THREAD, "lock");
        lock_it();
        unlock_it();
        release_both();
    }
    pthread_t thread;
    sem_t semaphores[2];
    sem_init(&semaphores[0], 0, 0);
    sem_init(&semaphores[1], 0, 0);
    make_both(TREADLE_LOCK_RECURSIVE);
    CHECK_INT(pthread_create(&thread, NULL, lock_and_tell, semaphores), 0);
    await(&semaphores[0]);
    CHECK_ERROR(treadle_condition_wait(condition, lock, TREADLE_FOREVER), TREADLE_E_WRONG_THREAD, "lock");
    sem_post(&semaphores[1]);
    pthread_join(thread, NULL);
    release_both();
}

TEST(a_wait_with_a_lock_locked_twice, "THR-20") {
    make_both(TREADLE_LOCK_RECURSIVE);
    lock_it();
    lock_it();
    CHECK_ERROR(treadle_condition_wait(condition, lock, TREADLE_FOREVER), TREADLE_E_STATE, "lock");
    CHECK_ERROR(treadle_condition_wait(condition, lock, 0), TREADLE_E_STATE, "lock");
    unlock_it();
    CHECK_ERROR(treadle_condition_wait(condition, lock, 0), TREADLE_E_TIMEOUT, "timeout_ns");
    unlock_it();
    release_both();
}

TEST(bad_arguments_of_conditions, "THR-20") {
    make_both(0);
    CHECK_ERROR(treadle_condition_create(NULL), TREADLE_E_ARG, "out_condition");
    CHECK(treadle_condition_get_pthread_cond(NULL) == NULL);
    CHECK_ERROR(treadle_condition_wait(NULL, lock, 0), TREADLE_E_ARG, "condition");
    CHECK_ERROR(treadle_condition_wait(condition, NULL, 0), TREADLE_E_ARG, "lock");
    CHECK_ERROR(treadle_condition_wait((treadle_condition)(void *)lock, lock, 0), TREADLE_E_KIND, "condition");
    CHECK_ERROR(treadle_condition_wait(condition, (treadle_lock)(void *)condition, 0), TREADLE_E_KIND, "lock");
    treadle_condition gone = condition;
    treadle_lock gone_lock = lock;
    release_both();
    make_both(0);
    CHECK(gone != condition && gone_lock != lock);
    CHECK_ERROR(treadle_condition_wait(gone, lock, 0), TREADLE_E_STALE, "condition");
    CHECK_ERROR(treadle_condition_wait(condition, gone_lock, 0), TREADLE_E_STALE, "lock");
    CHECK_ERROR(treadle_condition_signal(gone), TREADLE_E_STALE, "condition");
    CHECK_ERROR(treadle_condition_broadcast(gone), TREADLE_E_STALE, "condition");
    CHECK_ERROR(treadle_condition_retain(gone), TREADLE_E_STALE, "object");
    CHECK_ERROR(treadle_condition_release(gone), TREADLE_E_STALE, "object");
    CHECK(treadle_condition_get_pthread_cond(gone) == NULL);
    release_both();
}

/* A waiter keeps both: the clients' references may go meanwhile. */
static void *wait_and_find_it_gone(void *unused) {
    treadle_condition mine = condition;
    treadle_lock my_lock = lock;
    lock_it();
    waiters = 1;
    while (tickets == 0) CHECK_INT(treadle_condition_wait(mine, my_lock, TREADLE_FOREVER), TREADLE_OK);
    CHECK_ERROR(treadle_condition_signal(mine), TREADLE_E_STALE, "condition");
    unlock_it();
    return unused;
}
TEST(a_waiter_keeps_its_condition, "THR-20 OBJ-3") {
    pthread_t thread;
    make_both(0);
    CHECK_INT(pthread_create(&thread, NULL, wait_and_find_it_gone, NULL), 0);
    for (bool waits = false; !waits; sched_yield()) {
        lock_it();
        waits = waiters == 1;
        unlock_it();
    }
    lock_it();
    CHECK_INT(treadle_condition_release(condition), TREADLE_OK);
    CHECK_ERROR(treadle_condition_release(condition), TREADLE_E_STALE, "object");
    tickets = 1;
    CHECK_INT(treadle_condition_signal(condition), TREADLE_OK); /* it lives as long as the wait */
    unlock_it();
    pthread_join(thread, NULL);
    CHECK_ERROR(treadle_condition_signal(condition), TREADLE_E_STALE, "condition");
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
}

TEST(the_native_condition_is_on_the_monotonic_clock, "THR-20") {
    make_both(0);
    pthread_cond_t *native = treadle_condition_get_pthread_cond(condition);
    pthread_mutex_t *mutex = treadle_lock_get_pthread_mutex(lock);
    CHECK(native && native == treadle_condition_get_pthread_cond(condition));
    CHECK((uintptr_t)native % _Alignof(pthread_cond_t) == 0);
    int64_t until = treadle_time_now() + MILLISECONDS(20);
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
    int error;
    CHECK_INT(pthread_mutex_lock(mutex), 0);
    while ((error = pthread_cond_timedwait(native, mutex, &at)) == 0) {}
    CHECK_INT(error, ETIMEDOUT);
    CHECK_INT(pthread_mutex_unlock(mutex), 0);
    CHECK(treadle_time_now() >= until); /* by the wall clock that date is long past */
    release_both();
}

TEST(ten_thousand_conditions, "THR-20 OBJ-2") {
    enum { COUNT = 10000 };
    static treadle_condition conditions[COUNT];
    long before = 0;
    CHECK_INT(treadle_lock_create(0, &lock), TREADLE_OK);
    lock_it();
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < COUNT; i++) CHECK_INT(treadle_condition_create(&conditions[i]), TREADLE_OK);
        for (int i = 0; i < COUNT; i++) {
            CHECK_INT(treadle_condition_retain(conditions[i]), TREADLE_OK);
            CHECK_INT(treadle_condition_wait(conditions[i], lock, 0), TREADLE_E_TIMEOUT);
            CHECK_INT(treadle_condition_release(conditions[i]), TREADLE_OK);
        }
        for (int i = 0; i < COUNT; i++) CHECK_INT(treadle_condition_release(conditions[i]), TREADLE_OK);
        if (round == 0) before = resident_kilobytes();
    }
    if (!THREAD_SANITIZER && !ADDRESS_SANITIZER) CHECK(resident_kilobytes() < before + 4096);
    unlock_it();
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
}

TEST_MAIN()
