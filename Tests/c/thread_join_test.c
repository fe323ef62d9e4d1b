/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_join_test.c: joining and detaching: what a join gives, who may join, and what is over then. */
#include "thread_jobs.h"

#include "probe.h"

static treadle_status join(treadle_thread thread) { return treadle_thread_join(thread, TREADLE_FOREVER, NULL); }

/* --- Results and errors --------------------------------------------------------------------------- */

TEST(a_join_gives_the_result, "THR-17 THR-8") {
    int value;
    void *const results[] = {NULL, &value, (void *)1, (void *)UINTPTR_MAX};
    for (int i = 0; i < 4; i++) {
        treadle_thread thread = thread_begin(nothing, results[i]);
        void *result = &result;
        CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
        CHECK(result == results[i]);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
        thread = thread_begin(nothing, results[i]);
        CHECK_INT(join(thread), TREADLE_OK); /* who does not want the result need not take it */
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
}
TEST(a_thread_is_joined_once, "THR-17") {
    treadle_thread thread = thread_begin(nothing, &thread);
    void *result = &result;
    CHECK_INT(join(thread), TREADLE_OK);
    CHECK_ERROR(treadle_thread_join(thread, TREADLE_FOREVER, &result), TREADLE_E_STATE, "thread");
    CHECK(!result);
    CHECK_ERROR(treadle_thread_join(thread, 0, NULL), TREADLE_E_STATE, "thread");
    CHECK_ERROR(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, NULL), TREADLE_E_STATE, "thread");
    CHECK_ERROR(treadle_thread_detach(thread), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}
static void *join_oneself(void *info) {
    treadle_thread self = treadle_thread_current();
    void *result = &result;
    CHECK_ERROR(treadle_thread_join(self, TREADLE_FOREVER, &result), TREADLE_E_DEADLOCK, "thread");
    CHECK(!result);
    CHECK_ERROR(treadle_thread_join(self, MILLISECONDS(1), NULL), TREADLE_E_DEADLOCK, "thread");
    gate_open(info);
    return info;
}
TEST(a_thread_does_not_join_itself, "THR-17 OBJ-6") {
    struct gate tried;
    gate_make(&tried);
    treadle_thread thread = thread_begin(join_oneself, &tried);
    gate_pass(&tried);
    CHECK(thread_end(thread) == &tried); /* and may be joined by another still */
}
TEST(a_thread_that_was_not_started_is_not_joined, "THR-17") {
    treadle_thread thread = thread_make(nothing, NULL);
    CHECK_ERROR(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    thread_end(thread);
}

TEST(a_join_that_times_out_changes_nothing, "THR-17") {
    struct held held;
    treadle_thread thread = held_begin(&held, &held);
    const int64_t timeouts[] = {0, -1, INT64_MIN, 1, MILLISECONDS(2)};
    for (int i = 0; i < 5; i++) {
        void *result = &result;
        CHECK_ERROR(treadle_thread_join(thread, timeouts[i], &result), TREADLE_E_TIMEOUT, "");
        CHECK(!result);
        CHECK(!treadle_thread_is_detached(thread) && treadle_thread_is_executing(thread));
    }
    gate_open(&held.gate);
    CHECK(thread_end(thread) == &held);
}
TEST(joins_with_timeouts_raced_with_the_end, "THR-17") {
    for (int i = scaled(2000); i > 0; i--) {
        struct held held;
        void *result = NULL;
        treadle_thread thread = held_begin(&held, &held);
        treadle_status status;
        gate_open(&held.gate);
        while ((status = treadle_thread_join(thread, i % 3 * 1000, &result)) == TREADLE_E_TIMEOUT) CHECK(!result);
        CHECK_INT(status, TREADLE_OK);
        CHECK(result == &held);
        CHECK_INT(join(thread), TREADLE_E_STATE);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
}

/* --- More than one -------------------------------------------------------------------------------- */

struct joiner { treadle_thread thread; treadle_status status; void *result; sem_t *returned; };
static void *join_and_tell(void *info) {
    struct joiner *joiner = info;
    joiner->status = treadle_thread_join(joiner->thread, TREADLE_FOREVER, &joiner->result);
    sem_post(joiner->returned);
    return NULL;
}
TEST(one_joiner_at_a_time, "THR-17") {
    for (int round = scaled(100); round > 0; round--) {
        struct held held;
        struct joiner joiners[2];
        pthread_t threads[2];
        sem_t returned;
        treadle_thread thread = held_begin(&held, &held);
        sem_init(&returned, 0, 0);
        for (int i = 0; i < 2; i++) {
            joiners[i] = (struct joiner){.thread = thread, .result = &joiners[i], .returned = &returned, .status = 1};
            CHECK_INT(pthread_create(&threads[i], NULL, join_and_tell, &joiners[i]), 0);
        }
        await(&returned); /* one returns at once, although the thread goes on */
        CHECK(treadle_thread_is_executing(thread));
        CHECK_ERROR(treadle_thread_join(thread, 0, NULL), TREADLE_E_STATE, "thread"); /* it is being joined */
        CHECK_ERROR(treadle_thread_detach(thread), TREADLE_E_STATE, "thread");
        gate_open(&held.gate);
        for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
        int winner = joiners[0].status == TREADLE_OK ? 0 : 1;
        CHECK_INT(joiners[winner].status, TREADLE_OK);
        CHECK(joiners[winner].result == &held);
        CHECK_INT(joiners[1 - winner].status, TREADLE_E_STATE);
        CHECK(!joiners[1 - winner].result);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
}

/* --- What is over --------------------------------------------------------------------------------- */

/* In how many rounds the destructor is called; the thread sanitizer is gone before the last. */
enum { ROUNDS = THREAD_SANITIZER ? 2 : 4 };
static pthread_key_t key;
static atomic_int destructions, told;
static void end_value(void *value) {
    if (atomic_fetch_add(&destructions, 1) < ROUNDS - 1) pthread_setspecific(key, value); /* once more in the next one */
    linger(MICROSECONDS(100));
}
static void hear(uint32_t name, void *object, void *info) {
    (void)name, (void)object, (void)info;
    linger(MICROSECONDS(100));
    atomic_fetch_add(&told, 1);
}
static void *have_much_to_end(void *info) {
    struct probe *probes = info;
    CHECK_INT(pthread_setspecific(key, &key), 0);
    for (int k = 0; k < KINDS; k++)
        CHECK_INT(kinds[k]->add(treadle_loop_current(), probes[k].item, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_thread_set_value(treadle_thread_current(), "key", info, count_release), TREADLE_OK);
    return info;
}
TEST(who_was_joined_is_gone, "THR-17 RL-8 THR-14 THR-12") {
    uint64_t token;
    CHECK_INT(pthread_key_create(&key, end_value), 0);
    CHECK_INT(add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, hear, NULL, NULL, &token), TREADLE_OK);
    for (int round = 1; round <= scaled(50); round++) {
        struct probe probes[KINDS] = {0};
        atomic_store(&destructions, 0);
        for (int k = 0; k < KINDS; k++) probe_make(&probes[k], kinds[k]);
        treadle_thread thread = thread_begin(have_much_to_end, probes);
        CHECK(thread_end(thread) == probes);
        CHECK_INT(told, round);
        CHECK_INT(destructions, ROUNDS);
        CHECK_INT(releases_counted, round);
        CHECK_INT(probes[0].schedules, 1); /* the source has left the loop */
        CHECK_INT(probes[0].cancels, 1);
        for (int k = 0; k < KINDS; k++) { /* each can be used elsewhere */
            CHECK_INT(kinds[k]->add(treadle_loop_current(), probes[k].item, TREADLE_DEFAULT_MODE), TREADLE_OK);
            probe_end(&probes[k]);
        }
    }
}

/* --- Detaching ------------------------------------------------------------------------------------ */

static void must_be_detached(treadle_thread thread) {
    CHECK(treadle_thread_is_detached(thread));
    CHECK_ERROR(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_E_STATE, "thread");
    CHECK_ERROR(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, NULL), TREADLE_E_STATE, "thread");
    CHECK_ERROR(treadle_thread_detach(thread), TREADLE_E_STATE, "thread"); /* once */
}
TEST(a_thread_is_detached_before_during_or_after_its_life, "THR-17") {
    for (int when = 0; when < 3; when++) {
        struct held held;
        gate_make(&held.there);
        gate_make(&held.gate);
        treadle_thread thread = thread_make(held_main, &held);
        CHECK(!treadle_thread_is_detached(thread));
        if (when == 0) {
            CHECK_INT(treadle_thread_detach(thread), TREADLE_OK);
            CHECK_ERROR(treadle_thread_detach(thread), TREADLE_E_STATE, "thread");
            CHECK(treadle_thread_is_detached(thread));
        }
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        gate_pass(&held.there);
        if (when == 1) {
            CHECK_ERROR(treadle_thread_join(thread, 0, NULL), TREADLE_E_TIMEOUT, ""); /* a join in vain does not count */
            CHECK_INT(treadle_thread_detach(thread), TREADLE_OK);
        }
        if (when < 2) must_be_detached(thread);
        gate_open(&held.gate);
        while (!treadle_thread_is_finished(thread)) sched_yield();
        if (when == 2) CHECK_INT(treadle_thread_detach(thread), TREADLE_OK);
        must_be_detached(thread);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
}
static void *detach_oneself(void *info) {
    CHECK_INT(treadle_thread_detach(treadle_thread_current()), TREADLE_OK);
    CHECK(treadle_thread_is_detached(treadle_thread_current()));
    CHECK_ERROR(treadle_thread_detach(treadle_thread_current()), TREADLE_E_STATE, "thread");
    gate_open(info);
    return NULL;
}
TEST(a_thread_may_detach_itself, "THR-17 THR-4") {
    struct gate gate;
    gate_make(&gate);
    CHECK_INT(treadle_thread_release(thread_begin(detach_oneself, &gate)), TREADLE_OK);
    gate_pass(&gate);
}

static long mapped_megabytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return pages / (1024 * 1024 / sysconf(_SC_PAGESIZE));
}
TEST(threads_that_nobody_joins_are_reclaimed, "THR-17 THR-4") {
    thread_end(thread_begin(nothing, NULL));
    int threads = count_threads(), times = scaled(1000);
    long megabytes = mapped_megabytes();
    for (int i = 0; i < times; i++) {
        treadle_thread thread = thread_begin(nothing, NULL);
        if (i % 3 == 1) while (!treadle_thread_is_finished(thread)) sched_yield(); /* after the end too */
        if (i % 3 == 2) CHECK_INT(treadle_thread_detach(thread), TREADLE_OK);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
        while (count_threads() > threads + 20) sched_yield();
    }
    while (count_threads() > threads) sched_yield();
    /* Each would keep half a megabyte of stack; the C library caches 40 of them. */
    if (!SANITIZER) CHECK(mapped_megabytes() - megabytes < 150);
}

TEST_MAIN()
