/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal_race_test.c: two threads signal one source at the same moment, and only one of them wants the
 * loop woken: whichever comes first, the source is performed. */
#include "helpers.h"

static treadle_source source;
static treadle_loop worker_loop;
static sem_t performed, loop_is_ready;
static pthread_barrier_t start, end;
enum { ROUNDS = 3000 };

static void on_perform(treadle_source self, void *info) {
    (void)self, (void)info;
    CHECK_INT(sem_post(&performed), 0);
}
static void *run_the_loop(void *info) {
    (void)info;
    worker_loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(worker_loop), TREADLE_OK);
    source = make_source(on_perform, NULL);
    CHECK_INT(treadle_loop_add_source(worker_loop, source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(sem_post(&loop_is_ready), 0);
    CHECK_INT(treadle_loop_run(worker_loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return NULL;
}
static void *signal_quietly(void *info) {
    (void)info;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&start);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        pthread_barrier_wait(&end);
    }
    return NULL;
}

TEST(a_wanted_wake_is_not_lost_to_a_signal_without_one, "SRC0-6 WAKE-1 WAKE-3") {
    pthread_t loop_thread, quiet_thread;
    CHECK_INT(sem_init(&performed, 0, 0), 0);
    CHECK_INT(sem_init(&loop_is_ready, 0, 0), 0);
    CHECK_INT(pthread_barrier_init(&start, NULL, 2), 0);
    CHECK_INT(pthread_barrier_init(&end, NULL, 2), 0);
    CHECK_INT(pthread_create(&loop_thread, NULL, run_the_loop, NULL), 0);
    await(&loop_is_ready);
    CHECK_INT(pthread_create(&quiet_thread, NULL, signal_quietly, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        while (sem_trywait(&performed) == 0) {} /* what the last round did more than once */
        pthread_barrier_wait(&start);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        pthread_barrier_wait(&end);
        await(&performed);
    }
    CHECK_INT(pthread_join(quiet_thread, NULL), 0);
    CHECK_INT(treadle_loop_request_stop(worker_loop, 0), TREADLE_OK);
    CHECK_INT(pthread_join(loop_thread, NULL), 0);
    CHECK_INT(treadle_loop_release(worker_loop), TREADLE_OK);
}
TEST_MAIN()
