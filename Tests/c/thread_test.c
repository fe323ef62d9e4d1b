/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_test.c: threads: making, starting, detaching and cancelling them, and how they end themselves. */
#include "thread_jobs.h"

/* --- States --------------------------------------------------------------------------------------- */

static treadle_thread subject;
static void *look_at_oneself(void *info) {
    uintptr_t native = 0;
    int32_t id = 0;
    CHECK(treadle_thread_current() == subject);
    check_state(subject, TREADLE_THREAD_EXECUTING);
    CHECK_INT(treadle_thread_get_id(subject, &id), TREADLE_OK);
    CHECK_INT(id, thread_id());
    CHECK_INT(treadle_thread_get_pthread(subject, &native), TREADLE_OK);
    CHECK(pthread_equal((pthread_t)native, pthread_self()));
    CHECK(!treadle_thread_is_main(subject) && !treadle_thread_is_main(NULL));
    return info;
}
TEST(a_thread_goes_through_its_states, "THR-1 THR-8 THR-9") {
    void *result = NULL;
    subject = thread_make(look_at_oneself, &subject);
    check_state(subject, TREADLE_THREAD_CREATED);
    CHECK(!treadle_thread_is_cancelled(subject) && !treadle_thread_is_detached(subject));
    must_have_no_system_thread(subject);
    CHECK_INT(treadle_thread_start(subject), TREADLE_OK);
    CHECK(thread_state(subject) != TREADLE_THREAD_CREATED);
    CHECK_INT(treadle_thread_join(subject, TREADLE_FOREVER, &result), TREADLE_OK);
    CHECK(result == &subject);
    check_state(subject, TREADLE_THREAD_FINISHED);
    CHECK(!treadle_thread_is_cancelled(subject));
    must_have_no_system_thread(subject);
    CHECK_INT(treadle_thread_release(subject), TREADLE_OK);
    CHECK_ERROR(treadle_thread_get_state(subject, &(uint32_t){0}), TREADLE_E_STALE, "thread");
    CHECK(!treadle_thread_is_executing(subject) && !treadle_thread_is_finished(subject));
}

TEST(a_thread_that_cannot_be_made, "THR-1 OBJ-2") {
    treadle_thread thread = (treadle_thread)&thread;
    CHECK_ERROR(treadle_thread_create(NULL, &thread), TREADLE_E_ARG, "config");
    CHECK(!thread);
    CHECK_ERROR(create_thread(nothing, NULL, count_release, NULL), TREADLE_E_ARG, "out_thread");
    CHECK_INT(releases_counted, 1);
    CHECK(!treadle_is_multithreaded());
}

/* --- Starting ------------------------------------------------------------------------------------- */

static atomic_int runs;
static void *count_runs(void *info) {
    atomic_fetch_add(&runs, 1);
    return info;
}
TEST(a_thread_starts_once, "THR-2") {
    treadle_thread thread = thread_begin(count_runs, NULL);
    CHECK_ERROR(treadle_thread_start(thread), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_ERROR(treadle_thread_start(thread), TREADLE_E_STATE, "thread"); /* also of one that is over */
    CHECK_ERROR(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(runs, 1);
    CHECK_ERROR(treadle_thread_start(treadle_thread_current()), TREADLE_E_STATE, "thread"); /* foreign */
}

static pthread_barrier_t together;
static atomic_int started, refused;
static void *start_it(void *thread) {
    pthread_barrier_wait(&together);
    treadle_status status = treadle_thread_start(thread);
    CHECK(status == TREADLE_OK || status == TREADLE_E_STATE);
    atomic_fetch_add(status == TREADLE_OK ? &started : &refused, 1);
    return NULL;
}
TEST(one_of_four_who_start_a_thread_has_started_it, "THR-2 OBJ-6") {
    int rounds = scaled(300);
    pthread_t starters[4];
    pthread_barrier_init(&together, NULL, 4);
    for (int round = 1; round <= rounds; round++) {
        treadle_thread thread = thread_make(count_runs, NULL);
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&starters[i], NULL, start_it, thread), 0);
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(starters[i], NULL), 0);
        CHECK(thread_end(thread) == NULL);
        CHECK_INT(started, round);
        CHECK_INT(refused, 3 * round);
        CHECK_INT(runs, round);
    }
}

/* --- Detaching and what is kept alive ------------------------------------------------------------- */

static struct gate finished_gate;
static atomic_int life_thread, life_runs;
static void *live(void *info) {
    CHECK(info == &life_thread);
    CHECK_INT(releases_counted, 0); /* not while the function runs */
    CHECK(treadle_thread_is_executing(treadle_thread_current()));
    atomic_store(&life_thread, thread_id());
    atomic_fetch_add(&life_runs, 1);
    return NULL;
}
static void end_life(void *info) {
    CHECK(info == &life_thread);
    CHECK_INT(life_runs, 1);
    CHECK_INT(thread_id(), life_thread); /* on the thread itself */
    count_release(info);
    gate_open(&finished_gate);
}
TEST(a_running_thread_needs_nobody, "THR-4") {
    treadle_thread thread;
    gate_make(&finished_gate);
    CHECK_INT(create_thread(live, &life_thread, end_life, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    gate_pass(&finished_gate);
    CHECK_INT(releases_counted, 1);
}
TEST(a_thread_that_never_starts_gives_its_info_back, "THR-4 THR-1") {
    treadle_thread thread;
    CHECK_INT(create_thread(live, &life_thread, count_release, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(releases_counted, 0);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(releases_counted, 1);
    CHECK_INT(life_runs, 0);
}
TEST(a_detached_thread_in_one_call, "THR-3 THR-4 THR-17") {
    struct held held;
    gate_make(&finished_gate);
    CHECK_INT(treadle_thread_detach_new(live, &life_thread, end_life, NULL), TREADLE_OK);
    gate_pass(&finished_gate);
    gate_make(&held.there);
    gate_make(&held.gate);
    treadle_thread thread = NULL;
    CHECK_INT(treadle_thread_detach_new(held_main, &held, NULL, &thread), TREADLE_OK);
    gate_pass(&held.there);
    CHECK(treadle_thread_is_detached(thread));
    CHECK(treadle_thread_is_executing(thread));
    CHECK_ERROR(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_E_STATE, "thread");
    CHECK_ERROR(treadle_thread_detach(thread), TREADLE_E_STATE, "thread");
    CHECK_ERROR(treadle_thread_start(thread), TREADLE_E_STATE, "thread");
    size_t size = 0;
    CHECK_INT(treadle_thread_get_stack_size(thread, &size), TREADLE_OK);
    CHECK_INT(size, 524288);
    gate_open(&held.gate);
    while (!treadle_thread_is_finished(thread)) sched_yield();
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

/* --- Cancelling ----------------------------------------------------------------------------------- */

TEST(a_thread_that_was_cancelled_before_its_start_never_runs, "THR-5 THR-6 THR-4 THR-17") {
    struct listener exits = {0};
    treadle_thread thread;
    void *result = &result;
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    CHECK_INT(create_thread(count_runs, &runs, count_release, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_cancel(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_cancel(thread), TREADLE_OK);
    CHECK(treadle_thread_is_cancelled(thread));
    check_state(thread, TREADLE_THREAD_CREATED);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    check_state(thread, TREADLE_THREAD_FINISHED); /* at once */
    CHECK(treadle_thread_is_cancelled(thread));
    CHECK_INT(releases_counted, 1);
    CHECK_ERROR(treadle_thread_start(thread), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
    CHECK(!result);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(runs, 0);
    CHECK_INT(exits.calls, 0);
    CHECK_INT(releases_counted, 1);
}
static void *see_the_cancellation(void *info) {
    struct held *held = info;
    CHECK(!treadle_thread_is_cancelled(treadle_thread_current()));
    held_main(held);
    CHECK(treadle_thread_is_cancelled(treadle_thread_current()));
    check_state(treadle_thread_current(), TREADLE_THREAD_EXECUTING);
    return held;
}
TEST(cancelling_sets_a_flag_and_nothing_else, "THR-5 THR-6") {
    struct server server;
    struct held held;
    server_start(&server);
    await_sleep(&server.watch);
    int sleeps = server.watch.sleeps;
    CHECK_INT(treadle_thread_cancel(server.thread), TREADLE_OK);
    CHECK_INT(treadle_thread_cancel(server.thread), TREADLE_OK);
    CHECK(treadle_thread_is_cancelled(server.thread));
    CHECK(treadle_thread_is_executing(server.thread));
    struct job job; /* its loop goes on */
    job_make(&job, NULL, NULL);
    CHECK_INT(job_perform(&job, server.thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
    await_sleep(&server.watch);
    CHECK_INT(server.watch.sleeps, sleeps + 1); /* the job's wake-up was the only one */
    gate_make(&held.there);
    gate_make(&held.gate);
    treadle_thread other = thread_begin(see_the_cancellation, &held);
    gate_pass(&held.there);
    CHECK(!treadle_thread_is_cancelled(other)); /* each thread has its own */
    CHECK_INT(treadle_thread_cancel(other), TREADLE_OK);
    gate_open(&held.gate);
    CHECK_INT(treadle_thread_retain(other), TREADLE_OK);
    CHECK(thread_end(other) == &held);
    CHECK_INT(treadle_thread_cancel(other), TREADLE_OK); /* also when it is over */
    CHECK(treadle_thread_is_cancelled(other));
    CHECK_INT(treadle_thread_release(other), TREADLE_OK);
    server_end(&server);
    CHECK(!treadle_thread_is_cancelled(treadle_thread_main()));
}

/* --- Ending oneself ------------------------------------------------------------------------------- */

static atomic_int key_ends;
static pthread_key_t key;
static treadle_thread exiting;
static void end_key(void *value) {
    CHECK(value == &key);
    CHECK(treadle_loop_current() != NULL);
    CHECK(treadle_thread_current() == exiting);
    atomic_fetch_add(&key_ends, 1);
}
static void exit_deep_inside(void *info) {
    treadle_thread_exit(info);
    CHECK(!"reached");
}
static void *exit_by_function(void *info) {
    exiting = treadle_thread_current();
    CHECK_INT(pthread_setspecific(key, &key), 0);
    exit_deep_inside(info);
    return NULL;
}
static void *exit_inside_a_callback(void *info) {
    exiting = treadle_thread_current();
    CHECK_INT(pthread_setspecific(key, &key), 0);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), exit_deep_inside, info), TREADLE_OK);
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK(!"reached");
    return NULL;
}
TEST(a_thread_ends_itself_with_a_result, "THR-7 THR-14 THR-17") {
    treadle_thread_fn functions[] = {exit_by_function, exit_inside_a_callback};
    struct listener exits = {0};
    int value = 0;
    CHECK_INT(pthread_key_create(&key, end_key), 0);
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    for (int i = 0; i < 2; i++) {
        treadle_thread thread;
        void *result = NULL;
        CHECK_INT(create_thread(functions[i], &value, count_release, &thread), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
        CHECK(result == &value);
        check_state(thread, TREADLE_THREAD_FINISHED);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
        CHECK_INT(key_ends, i + 1);
        CHECK_INT(exits.calls, i + 1);
        CHECK_INT(releases_counted, i + 1);
    }
}
static void *exit_of_a_foreign_thread(void *info) {
    CHECK_ERROR(treadle_thread_exit(info), TREADLE_E_STATE, "thread");
    CHECK(treadle_thread_current() != NULL);
    CHECK_ERROR(treadle_thread_exit(info), TREADLE_E_STATE, "thread");
    return info;
}
TEST(some_threads_may_not_end_themselves_so, "THR-7") {
    CHECK_ERROR(treadle_thread_exit(NULL), TREADLE_E_STATE, "thread");
    CHECK(on_thread(exit_of_a_foreign_thread, &key) == &key);
}

TEST_MAIN()
