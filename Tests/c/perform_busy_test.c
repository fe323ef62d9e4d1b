/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_busy_test.c: a loop that has one request after the other of threads that wait. Whatever else comes up has its
 * turn, and requests keep their order. */
#include "coming_up.h"

enum { BUSY = 200, CALLERS = 3 };

static atomic_long performed;
static atomic_bool is_seen;
static sem_t is_ready;
static void note(void) { atomic_store(&is_seen, true); }
static void (*const all[])(void) = {ALL_THAT_COMES};

static void work(void *target, void *argument) {
    (void)target, (void)argument;
    if (atomic_fetch_add(&performed, 1) + 1 == THIRD && come_up) come_up();
}
static treadle_status have_performed(treadle_request_fn fn, void *target) {
    treadle_request request = {.struct_size = sizeof request, .fn = fn, .target = target};
    return perform_on(loop_thread, &request, NULL, 0, TREADLE_PERFORM_WAIT);
}
static void *run_the_loop(void *info) {
    (void)info;
    treadle_source keeper = make_source(NULL, NULL);
    loop = treadle_loop_current();
    loop_thread = treadle_thread_current();
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_retain(loop_thread), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, keeper, MODE), TREADLE_OK);
    CHECK_INT(sem_post(&is_ready), 0);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    return NULL;
}
static pthread_t start_loop(void) {
    pthread_t thread;
    atomic_store(&performed, 0);
    atomic_store(&is_seen, false);
    CHECK_INT(sem_init(&is_ready, 0, 0), 0);
    CHECK_INT(pthread_create(&thread, NULL, run_the_loop, NULL), 0);
    await(&is_ready);
    return thread;
}
static void release_loop(void) {
    CHECK_INT(treadle_thread_release(loop_thread), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}
static void end_loop(pthread_t thread) {
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    CHECK_INT(pthread_join(thread, NULL), 0);
    release_loop();
}

TEST(what_comes_up_in_a_request_has_its_turn, "PERF-5 PASS-4 PASS-5 PASS-12 OBS-1") {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pthread_t thread = start_loop();
        come_up = all[i];
        while (!atomic_load(&is_seen)) CHECK_INT(have_performed(work, NULL), TREADLE_OK);
        end_loop(thread);
    }
}

static void *keep_it_busy(void *info) {
    (void)info;
    while (!atomic_load(&is_seen)) CHECK_INT(have_performed(work, NULL), TREADLE_OK);
    return NULL;
}
TEST(what_another_thread_brings_has_its_turn, "PERF-5 PASS-4 PASS-5 PASS-12 OBS-1") {
    come_up = NULL;
    for (int round = 0; round < scaled(20); round++) {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            pthread_t thread = start_loop(), caller;
            CHECK_INT(pthread_create(&caller, NULL, keep_it_busy, NULL), 0);
            while (atomic_load(&performed) < BUSY) sched_yield();
            all[i]();
            CHECK_INT(pthread_join(caller, NULL), 0);
            end_loop(thread);
        }
    }
}

static void *call_until_closed(void *info) {
    long *count = info;
    treadle_status status;
    while ((status = have_performed(work, NULL)) == TREADLE_OK) ++*count;
    CHECK_INT(status, TREADLE_E_CLOSED);
    return NULL;
}
TEST(a_stop_ends_a_run_of_requests, "STOP-2 STOP-9 PERF-9") {
    come_up = NULL;
    for (int round = 0; round < scaled(100); round++) {
        pthread_t thread = start_loop(), callers[CALLERS];
        long counts[CALLERS] = {0}, sum = 0;
        for (int i = 0; i < CALLERS; i++) CHECK_INT(pthread_create(&callers[i], NULL, call_until_closed, &counts[i]), 0);
        while (atomic_load(&performed) < BUSY) sched_yield();
        CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
        CHECK_INT(pthread_join(thread, NULL), 0);
        for (int i = 0; i < CALLERS; i++) {
            CHECK_INT(pthread_join(callers[i], NULL), 0);
            sum += counts[i];
        }
        CHECK_INT(sum, atomic_load(&performed)); /* each that was performed was waited for to its end */
        CHECK_ERROR(have_performed(work, NULL), TREADLE_E_CLOSED, "thread");
        release_loop();
    }
}

TEST(a_plain_request_is_checked, "PERF-7 PERF-9") {
    treadle_request request = {.struct_size = sizeof request, .fn = work};
    pthread_t thread = start_loop();
    CHECK_ERROR(perform_on(NULL, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "on");
    CHECK_ERROR(perform_on(&request, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_STALE, "on");
    CHECK_INT(perform_on(loop, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    CHECK_ERROR(perform_on(loop_thread, &request, NULL, 1, TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "mode");
    request.struct_size--;
    CHECK_ERROR(perform_on(loop_thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_ARG, "struct_size");
    request.struct_size++;
    CHECK_INT(perform_on(loop_thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    treadle_thread gone = loop_thread;
    end_loop(thread);
    CHECK_ERROR(perform_on(gone, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_STALE, "on");
}

TEST_MAIN()
