/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * worker_test.c: runs that do not end for want of anything to wait for, and threads that are made of one. */
#include "thread_jobs.h"
#include "host_items.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static void stop_loop(void *loop) { CHECK_INT(treadle_loop_stop(loop), TREADLE_OK); }
static treadle_thread make_worker(uint32_t flags) {
    treadle_thread_config config = {.struct_size = sizeof config, .flags = flags};
    treadle_thread thread = NULL;
    CHECK_INT(treadle_thread_create(&config, &thread), TREADLE_OK);
    return thread;
}
static treadle_loop loop_of(treadle_thread thread) {
    treadle_loop loop = NULL;
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    return loop;
}

static void notice(void *semaphore) { CHECK_INT(sem_post(semaphore), 0); }
TEST(a_worker_serves_its_loop_until_it_is_stopped, "THR-18 RUN-16 STOP-9") {
    treadle_thread worker = make_worker(0);
    sem_t called;
    CHECK_INT(sem_init(&called, 0, 0), 0);
    CHECK_INT(treadle_thread_start_and_wait(worker, TREADLE_FOREVER), TREADLE_OK);
    treadle_loop loop = loop_of(worker);
    for (int i = 0; i < 100; i++) { /* nothing is in its mode, before and after */
        CHECK_INT(treadle_loop_post(loop, notice, &called), TREADLE_OK);
        await(&called);
    }
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    void *result = NULL;
    CHECK_INT(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, &result), TREADLE_OK);
    CHECK_INT((intptr_t)result, TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_thread_release(worker), TREADLE_OK);
}

TEST(a_worker_ends_when_its_loop_is_stopped, "THR-18 STOP-2") {
    treadle_thread worker = make_worker(0);
    treadle_loop loop = loop_of(worker); /* before the start: what is queued waits for it (RL-9) */
    CHECK_INT(treadle_loop_post(loop, stop_loop, loop), TREADLE_OK);
    CHECK_INT(treadle_thread_start(worker), TREADLE_OK);
    CHECK_INT((intptr_t)thread_end(worker), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}

static sem_t performed;
static void perform_and_end(treadle_source source, void *info) {
    (void)info;
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(sem_post(&performed), 0);
}
TEST(items_come_and_go_in_a_worker, "THR-18 RUN-10 MODE-10") {
    treadle_thread worker = make_worker(0);
    int fd = eventfd(0, EFD_NONBLOCK);
    CHECK_INT(sem_init(&performed, 0, 0), 0);
    CHECK_INT(treadle_thread_start_and_wait(worker, TREADLE_FOREVER), TREADLE_OK);
    treadle_loop loop = loop_of(worker);
    for (int i = 0; i < 50; i++) {
        treadle_source source = make_source(perform_and_end, NULL);
        CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        await(&performed);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
        treadle_descriptor descriptor = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
        CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, M), TREADLE_OK);
        CHECK_INT(discard(descriptor), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_stop(worker), TREADLE_OK);
    CHECK_INT((intptr_t)thread_end(worker), TREADLE_RUN_STOPPED);
}

static void note_end(void *semaphore) { CHECK_INT(sem_post(semaphore), 0); }
TEST(a_detached_thread_without_a_function_is_a_worker, "THR-3 THR-18") {
    treadle_thread worker = NULL;
    sem_t called, ended;
    CHECK(sem_init(&called, 0, 0) == 0 && sem_init(&ended, 0, 0) == 0);
    CHECK_INT(treadle_thread_detach_new(NULL, &ended, note_end, &worker), TREADLE_OK);
    CHECK(treadle_thread_is_detached(worker));
    treadle_loop loop = loop_of(worker);
    CHECK_INT(treadle_loop_post(loop, notice, &called), TREADLE_OK);
    await(&called);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_stop(worker), TREADLE_OK);
    await(&ended); /* destroy */
    CHECK_INT(treadle_thread_release(worker), TREADLE_OK);
}

TEST(a_worker_that_was_stopped_before_its_start_ends, "THR-5 THR-18") {
    treadle_thread worker = make_worker(0);
    CHECK_INT(treadle_thread_stop(worker), TREADLE_OK);
    CHECK_ERROR(treadle_thread_start_and_wait(worker, TREADLE_FOREVER), TREADLE_E_STATE, "before it was ready");
    CHECK(thread_end(worker) == NULL); /* it never ran */
}

static void *run_default(void *info) {
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    return info;
}
TEST(who_waits_for_a_thread_is_told_of_its_empty_mode, "THR-18 RUN-1") {
    treadle_thread idle = thread_make(run_default, NULL), other = thread_make(nothing, NULL);
    CHECK_ERROR(treadle_thread_start_and_wait(idle, TREADLE_FOREVER), TREADLE_E_STATE, "its mode was empty");
    CHECK_ERROR(treadle_thread_start_and_wait(other, TREADLE_FOREVER), TREADLE_E_STATE, "ended before it was ready");
    treadle_error_info error = {.struct_size = sizeof error};
    treadle_last_error(&error);
    CHECK(!strstr(error.message, "mode"));
    thread_end(idle);
    thread_end(other);
}

static treadle_loop own;
static void remove_source(treadle_observer observer, uint32_t activity, void *source) {
    (void)activity;
    CHECK_INT(treadle_loop_remove_source(own, source, "m"), TREADLE_OK);
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK_INT(treadle_loop_post(own, stop_loop, own), TREADLE_OK); /* common: not in this mode, and so not performed here */
    CHECK_INT(treadle_loop_wake(own), TREADLE_OK);
}
TEST(an_empty_mode_does_not_end_a_run_that_says_so, "RUN-16 RUN-1 RUN-10") {
    char names[128];
    size_t length = 0;
    own = treadle_loop_current();
    /* An unknown mode, and with a source that came before. */
    CHECK_INT(treadle_loop_run(own, "m", 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_run(own, "m", MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_run(own, "m", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_get_modes(own, names, sizeof names, &length), TREADLE_OK);
    CHECK_INT(length, strlen(M) + 1); /* nobody has put anything into it (RL-7) */
    CHECK_INT(treadle_loop_request_stop(own, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run(own, "m", TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_STOPPED);
    /* The common modes are none, and there is no mode without a name. */
    CHECK_INT(treadle_loop_run(own, TREADLE_COMMON_MODES, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_run(own, NULL, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_FINISHED);
    /* A run whose mode becomes empty before its sleep, which a wake-up ends; the next lasts until its time. */
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(own, source, "m"), TREADLE_OK);
    treadle_observer observer = make_observer(remove_source, source, TREADLE_BEFORE_WAITING);
    CHECK_INT(treadle_loop_add_observer(own, observer, "m"), TREADLE_OK);
    while (treadle_is_valid(observer)) /* again if the time was over before the sleep */
        CHECK_INT(treadle_loop_run(own, "m", MILLISECONDS(5), TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_run(own, M, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_STOPPED);
}

TEST(a_run_when_empty_returns_after_a_source_all_the_same, "RUN-6 RUN-16") {
    treadle_source source = make_source(NULL, NULL);
    own = treadle_loop_current();
    CHECK_INT(treadle_loop_add_source(own, source, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(own, M, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY | TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
}

TEST(a_thread_may_be_detached_from_the_beginning, "THR-3 THR-17") {
    treadle_thread worker = make_worker(TREADLE_THREAD_DETACHED);
    CHECK(treadle_thread_is_detached(worker));
    CHECK_INT(treadle_thread_start_and_wait(worker, TREADLE_FOREVER), TREADLE_OK);
    CHECK_ERROR(treadle_thread_join(worker, TREADLE_FOREVER, NULL), TREADLE_E_STATE, "detached");
    CHECK_ERROR(treadle_thread_detach(worker), TREADLE_E_STATE, "detached");
    treadle_loop loop = loop_of(worker);
    CHECK_INT(treadle_thread_stop(worker), TREADLE_OK);
    for (int32_t id = 1; id != 0;) CHECK_INT(treadle_loop_get_thread_id(loop, &id), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_release(worker), TREADLE_OK);
}

static int given_back;
static void give_back(void *info) { (void)info, given_back++; }
static void *must_not_run(void *info) {
    CHECK(!info);
    return NULL;
}
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) { return (void)event, ~ticket; }
TEST(what_threads_are_made_of_is_checked, "THR-1 THR-17 ABI-7") {
    treadle_host_config host_config = {.struct_size = sizeof host_config, .dispatch = dispatch};
    treadle_thread_config good = {.struct_size = sizeof good, .fn = must_not_run, .info = &given_back, .destroy = give_back};
    treadle_thread thread = NULL;
    treadle_host host;
    CHECK_INT(treadle_host_register(&host_config, &host), TREADLE_OK);
#define REFUSED(member, name)                                                                     \
    do {                                                                                            \
        treadle_thread_config config = good;                                                        \
        config.member;                                                                              \
        given_back = 0;                                                                             \
        CHECK_ERROR(treadle_thread_create(&config, &thread), TREADLE_E_ARG, name);                  \
        CHECK(thread == NULL && given_back == (config.destroy ? 1 : 0));                            \
    } while (0)
    for (int bit = 1; bit < 32; bit++) REFUSED(flags = 1u << bit, "flags");
    REFUSED(reserved = 1, "reserved");
    REFUSED(token = 1, "token");
    REFUSED(host = host, "fn");
    good.fn = NULL;
    REFUSED(host = host, "info");
    good.info = NULL;
    REFUSED(host = host, "destroy");
    CHECK_INT(*treadle_host_get_retired_count(host), 0);
    good.destroy = NULL, good.host = host, good.token = 3;
    CHECK_INT(treadle_thread_create(&good, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK); /* it never ran */
    uint64_t token = 0;
    size_t count = 0;
    CHECK_INT(treadle_host_take_retired(host, &token, 1, &count), TREADLE_OK);
    CHECK(count == 1 && token == 3);
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
    CHECK_ERROR(treadle_thread_create(&good, &thread), TREADLE_E_CLOSED, "host");
}

TEST(a_worker_gives_its_info_back_at_its_end, "THR-17 ABI-2") {
    treadle_thread_config config = {.struct_size = sizeof config, .info = &given_back, .destroy = give_back};
    treadle_thread worker = NULL;
    CHECK_INT(treadle_thread_create(&config, &worker), TREADLE_OK);
    CHECK_INT(treadle_thread_start_and_wait(worker, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_thread_stop(worker), TREADLE_OK);
    CHECK_INT((intptr_t)thread_end(worker), TREADLE_RUN_STOPPED);
    CHECK_INT(given_back, 1);
}

TEST_MAIN()
