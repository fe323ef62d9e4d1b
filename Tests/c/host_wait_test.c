/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_wait_test.c: waits for a word of the host's own. */
#include "helpers.h"

/* Several threads wait for one word. */
struct wait {
    treadle_loop loop;
    uint32_t word;
    int written; /* before the end, without a lock */
    atomic_int thread_id;
    treadle_status status;
};
static void *wait_for_word(void *info) {
    struct wait *wait = info;
    CHECK_INT(treadle_host_wait(wait->loop, &wait->word, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(wait->written, 7);
    return NULL;
}
static void end_word(void *info) {
    struct wait *wait = info;
    wait->written = 7;
    CHECK_INT(treadle_host_end_wait(&wait->word), TREADLE_OK);
}
TEST(a_word_ends_all_waits, "ABI-1 ABI-7") {
    struct worker worker;
    worker_start(&worker);
    for (int round = 0; round < scaled(2000); round++) {
        struct wait wait = {.loop = worker.loop};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, wait_for_word, &wait), 0);
        CHECK_INT(treadle_loop_post(worker.loop, end_word, &wait), TREADLE_OK);
        CHECK_INT(treadle_host_wait(worker.loop, &wait.word, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(wait.written, 7);
        CHECK_INT(treadle_host_wait(worker.loop, &wait.word, 0), TREADLE_OK);
        for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    }
    struct wait wait = {.loop = worker.loop};
    CHECK_ERROR(treadle_host_wait(wait.loop, &wait.word, 0), TREADLE_E_TIMEOUT, "");
    CHECK_ERROR(treadle_host_wait(wait.loop, &wait.word, MILLISECONDS(1)), TREADLE_E_TIMEOUT, "");
    CHECK_ERROR(treadle_host_wait(wait.loop, NULL, 0), TREADLE_E_ARG, "word");
    CHECK_ERROR(treadle_host_wait(wait.loop, (uint32_t *)((char *)&wait.word + 1), 0), TREADLE_E_ARG, "word");
    CHECK_ERROR(treadle_host_wait(NULL, &wait.word, 0), TREADLE_E_ARG, "loop");
    CHECK_ERROR(treadle_host_end_wait(NULL), TREADLE_E_ARG, "word");
    worker_stop(&worker);
}

static void ignore_signal(int number) { (void)number; }
static void *wait_until_signal(void *info) {
    struct wait *wait = info;
    wait->loop = treadle_loop_current();
    atomic_store(&wait->thread_id, thread_id());
    wait->status = treadle_host_wait(wait->loop, &wait->word, TREADLE_FOREVER);
    return NULL;
}
TEST(a_signal_ends_a_wait, "ABI-1") {
    struct sigaction action = {.sa_handler = ignore_signal};
    struct wait wait = {0};
    pthread_t thread;
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_INT(pthread_create(&thread, NULL, wait_until_signal, &wait), 0);
    while (!atomic_load(&wait.thread_id) || !is_in_kernel_wait(atomic_load(&wait.thread_id))) sched_yield();
    CHECK_INT(pthread_kill(thread, SIGUSR1), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(wait.status, TREADLE_E_TIMEOUT);
}

TEST_MAIN()
