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
    atomic_store(&wait->thread_id, thread_id());
    wait->status = treadle_host_wait(wait->loop, &wait->word, TREADLE_FOREVER);
    return NULL;
}
TEST(a_signal_ends_a_wait, "ABI-1") {
    struct sigaction action = {.sa_handler = ignore_signal};
    struct worker worker;
    worker_start(&worker);
    struct wait wait = {.loop = worker.loop};
    pthread_t thread;
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_INT(pthread_create(&thread, NULL, wait_until_signal, &wait), 0);
    while (!atomic_load(&wait.thread_id) || !is_in_kernel_wait(atomic_load(&wait.thread_id))) sched_yield();
    CHECK_INT(pthread_kill(thread, SIGUSR1), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(wait.status, TREADLE_E_TIMEOUT);
    worker_stop(&worker);
}

/* Waits in a circle. */
static treadle_loop first_loop; /* of the test's thread */
static uint32_t first_word, other_word;
static int performed;
static void perform_and_stop(void *target, void *argument) {
    (void)target, (void)argument;
    performed++;
    CHECK_INT(treadle_loop_stop(first_loop), TREADLE_OK);
}
static treadle_status ask_first(void) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform_and_stop, .flags = TREADLE_PERFORM_WAIT};
    return treadle_perform(first_loop, &request);
}
static void serve_first(void) {
    treadle_status result = treadle_loop_run(first_loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    CHECK_INT(result, TREADLE_RUN_STOPPED);
}

static treadle_status asked;
static atomic_bool has_begun;
static void ask_while_waited_for(void *none) {
    (void)none;
    atomic_store(&has_begun, true);
    asked = ask_first();
}
static void wait_for_first(treadle_timer timer, void *none) {
    (void)timer, (void)none;
    atomic_store(&has_begun, true);
    CHECK_INT(treadle_host_wait(first_loop, &other_word, TREADLE_FOREVER), TREADLE_OK);
}
TEST(a_wait_for_a_thread_that_waits_is_refused, "PERF-7 ABI-1 OBJ-6") {
    struct worker worker;
    worker_start(&worker);
    first_loop = treadle_loop_current(), first_word = 0, asked = TREADLE_E_STATE;
    CHECK_ERROR(treadle_host_wait(first_loop, &first_word, TREADLE_FOREVER), TREADLE_E_DEADLOCK, "thread"); /* itself */
    CHECK_INT(treadle_loop_post(worker.loop, ask_while_waited_for, NULL), TREADLE_OK);
    while (!atomic_exchange(&has_begun, false)) sched_yield();
    while (!is_in_kernel_wait(worker.thread_id)) sched_yield();
    CHECK_ERROR(treadle_host_wait(worker.loop, &first_word, TREADLE_FOREVER), TREADLE_E_DEADLOCK, "thread");
    CHECK_ERROR(treadle_host_wait(worker.loop, &first_word, 0), TREADLE_E_TIMEOUT, ""); /* which does not wait */
    serve_first();
    CHECK_INT(treadle_host_end_wait(&first_word), TREADLE_OK);
    CHECK_INT(treadle_host_wait(worker.loop, &first_word, TREADLE_FOREVER), TREADLE_OK); /* what is over is no wait */
    worker_stop(&worker);
    CHECK_INT(asked, TREADLE_OK);

    /* The close of an item whose callback waits for the calling thread, as for any other wait. */
    treadle_timer timer;
    treadle_timer_context context = {.struct_size = sizeof context, .fire = wait_for_first, .fire_at = 1};
    worker_start(&worker);
    other_word = 0;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    while (!atomic_load(&has_begun) || !is_in_kernel_wait(worker.thread_id)) sched_yield();
    CHECK_ERROR(treadle_close(timer, TREADLE_FOREVER), TREADLE_E_DEADLOCK, "thread");
    CHECK_INT(treadle_host_end_wait(&other_word), TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(treadle_release(timer), TREADLE_OK);
}

/* A thread that ends a wait may ask the waiting thread at once, also before that knows. */
static void end_and_ask(void *none) {
    (void)none;
    CHECK_INT(treadle_host_end_wait(&first_word), TREADLE_OK);
    CHECK_INT(ask_first(), TREADLE_OK);
}
TEST(a_wait_that_was_ended_is_none, "PERF-7 ABI-1") {
    struct worker worker;
    worker_start(&worker);
    first_loop = treadle_loop_current(), performed = 0;
    for (int round = 0; round < scaled(2000); round++) {
        first_word = 0;
        CHECK_INT(treadle_loop_post(worker.loop, end_and_ask, NULL), TREADLE_OK);
        CHECK_INT(treadle_host_wait(worker.loop, &first_word, TREADLE_FOREVER), TREADLE_OK);
        serve_first();
        CHECK_INT(performed, round + 1);
    }
    worker_stop(&worker);
}

/* A callback of a timer in a scope waits again and again, having entered the scope or not: one that began to end cannot be. */
struct looks {
    treadle_scope scope;
    bool enters;
    int64_t timeout;
    treadle_status last;
};
static void look_for_first(treadle_timer timer, void *info) {
    struct looks *looks = info;
    (void)timer;
    if (looks->enters) CHECK_INT(treadle_scope_enter(looks->scope), TREADLE_OK);
    atomic_store(&has_begun, true);
    do {
        looks->last = treadle_host_wait(first_loop, &other_word, looks->timeout);
        progress();
    } while (looks->last == TREADLE_E_TIMEOUT);
    if (looks->enters) CHECK_INT(treadle_scope_leave(looks->scope), TREADLE_OK);
}
static void start_looks(struct worker *worker, struct looks *looks, bool enters, int64_t timeout) {
    treadle_timer timer;
    treadle_timer_context context = {.struct_size = sizeof context, .fire = look_for_first, .fire_at = 1, .info = looks};
    treadle_scope_config config = {.struct_size = sizeof config};
    *looks = (struct looks){.enters = enters, .timeout = timeout};
    other_word = 0;
    atomic_store(&has_begun, false);
    worker_start(worker);
    CHECK_INT(treadle_scope_create(&config, &looks->scope), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(looks->scope), TREADLE_OK);
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(looks->scope), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(worker->loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_release(timer), TREADLE_OK);
    while (!atomic_load(&has_begun) || !is_in_kernel_wait(worker->thread_id)) sched_yield();
}
TEST(the_end_of_a_scope_is_not_refused_for_a_look, "PERF-7 SCOPE-2 ABI-1") {
    struct worker worker;
    struct looks looks;
    first_loop = treadle_loop_current();
    for (int enters = 0; enters < 2; enters++) {
        start_looks(&worker, &looks, enters, MILLISECONDS(100));
        CHECK_INT(treadle_close(looks.scope, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(looks.last, TREADLE_E_DEADLOCK);
        worker_stop(&worker);
        CHECK_INT(treadle_release(looks.scope), TREADLE_OK);
    }
    /* A longer wait is none. */
    start_looks(&worker, &looks, true, SECONDS(1000));
    CHECK_ERROR(treadle_close(looks.scope, TREADLE_FOREVER), TREADLE_E_DEADLOCK, "thread");
    CHECK_INT(treadle_host_end_wait(&other_word), TREADLE_OK);
    CHECK_INT(treadle_close(looks.scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(looks.last, TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(treadle_release(looks.scope), TREADLE_OK);
}

TEST_MAIN()
