/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_race_test.c: what may be changed and asked of thread objects, by other threads while they start, run and end.
 * The thread sanitizer is the judge. */
#include "helpers.h"

enum { CALLERS = 3, TARGETS = 3 };

static treadle_thread targets[TARGETS];
static atomic_int released, added;

static void *run_until_stopped(void *info) {
    (void)info;
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    treadle_status status;
    do status = treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    while (status != TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    return NULL;
}
static void release_value(void *value) { (void)value, atomic_fetch_add(&released, 1); }
static void use_value(void *value, void *info) { (void)value, (void)info; }
static void be_told(uint32_t name, void *object, void *info) { (void)name, (void)object, (void)info; }

static void change(treadle_thread thread, unsigned *seed) {
    char key[8], name[16];
    uint64_t token;
    snprintf(key, sizeof key, "k%d", rand_r(seed) % 4);
    snprintf(name, sizeof name, "name%d", rand_r(seed) % 1000);
    switch (rand_r(seed) % 8) {
    case 0: (void)treadle_thread_set_name(thread, name); break;
    case 1: (void)treadle_thread_set_priority(thread, 0.5); break;
    case 2: (void)treadle_thread_set_policy(thread, TREADLE_POLICY_DEFAULT); break;
    case 3: (void)treadle_thread_set_stack_size(thread, 1 << 18); break;
    case 4:
        if (treadle_thread_set_value(thread, key, key, release_value) == TREADLE_OK) atomic_fetch_add(&added, 1);
        else atomic_fetch_sub(&released, 1); /* a refused value is released, too */
        break;
    case 5: CHECK(treadle_thread_remove_value(thread, key) >= TREADLE_E_RANGE); break;
    case 6:
        CHECK_INT(add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, thread, be_told, NULL, NULL, &token), TREADLE_OK);
        CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
        break;
    default: (void)treadle_thread_start(thread);
    }
}
static void ask(treadle_thread thread, unsigned *seed) {
    char text[64];
    size_t size;
    double priority;
    int32_t number;
    uint32_t state;
    void *value;
    treadle_loop loop;
    uintptr_t pthread;
    switch (rand_r(seed) % 12) {
    case 0: CHECK_INT(treadle_thread_get_name(thread, text, sizeof text, &size), TREADLE_OK); break;
    case 1: CHECK_INT(treadle_thread_get_priority(thread, &priority, &number), TREADLE_OK); break;
    case 2: CHECK_INT(treadle_thread_get_policy(thread, &state), TREADLE_OK); break;
    case 3: CHECK_INT(treadle_thread_get_stack_size(thread, &size), TREADLE_OK); break;
    case 4: CHECK_INT(treadle_thread_get_state(thread, &state), TREADLE_OK); break;
    case 5: (void)treadle_thread_get_value(thread, "k1", &value); break;
    case 6: (void)treadle_thread_use_value(thread, "k2", use_value, NULL); break;
    case 7: (void)treadle_thread_get_pthread(thread, &pthread); break;
    case 8: (void)treadle_thread_get_id(thread, &number); break;
    case 9:
        if (treadle_thread_copy_loop(thread, &loop) == TREADLE_OK) {
            (void)treadle_loop_is_waiting(loop);
            CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
            CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
        }
        break;
    case 10: (void)treadle_thread_is_cancelled(thread); break;
    default: (void)treadle_thread_is_executing(thread);
    }
}
static void *change_and_ask(void *number) {
    unsigned seed = (unsigned)(intptr_t)number * 7919 + 29;
    for (int i = scaled(5000); i > 0; i--) {
        change(targets[rand_r(&seed) % TARGETS], &seed);
        ask(targets[rand_r(&seed) % TARGETS], &seed);
    }
    return NULL;
}

TEST(everything_is_changed_and_asked_while_threads_start_run_and_end, "OBJ-6 OBJ-7 THR-8 THR-10 THR-18") {
    for (int round = scaled(4); round > 0; round--) {
        pthread_t threads[CALLERS];
        for (int i = 0; i < TARGETS; i++) CHECK_INT(create_thread(run_until_stopped, NULL, NULL, &targets[i]), TREADLE_OK);
        for (intptr_t i = 0; i < CALLERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, change_and_ask, (void *)i), 0);
        /* Two end while they are talked to, one after that. */
        for (int i = 0; i < TARGETS; i++) {
            if (i == TARGETS - 1)
                for (int k = 0; k < CALLERS; k++) CHECK_INT(pthread_join(threads[k], NULL), 0);
            (void)treadle_thread_start(targets[i]);
            CHECK_INT(treadle_thread_stop_and_join(targets[i], TREADLE_FOREVER, NULL), TREADLE_OK);
        }
        for (int i = 0; i < TARGETS; i++) CHECK_INT(treadle_thread_release(targets[i]), TREADLE_OK);
    }
    CHECK(added > 0);
    CHECK_INT(released, added);
}

TEST_MAIN()
