/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * main_end_test.c: the process's initial thread ends by pthread_exit, and others go on. Each test runs on that thread. */
#include "thread_jobs.h"

static treadle_thread main_thread;
static struct listener exits;
static treadle_loop main_loop;
static struct job waiting;
static struct gate may_end;
static bool has_asked; /* the initial thread has used the library */

static void be_refused(uint32_t flags) {
    struct job job;
    job_make(&job, NULL, NULL);
    treadle_request request = job_request(&job);
    CHECK_ERROR(perform_on_main(&request, NULL, 0, flags), TREADLE_E_CLOSED, "ended");
    CHECK_ERROR(job_perform(&job, treadle_thread_main(), flags), TREADLE_E_CLOSED, "ended");
    job_check(&job, 0, 2);
}
static bool is_over(void) {
    char state = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
    fclose(file);
    return state == 'Z';
}
static void *outlive(void *info) {
    treadle_status waited = 1;
    treadle_loop own = NULL;
    if (info) { /* asks before and while the initial thread ends */
        main_thread = treadle_thread_main();
        CHECK_INT(treadle_thread_retain(main_thread), TREADLE_OK);
        CHECK_INT(treadle_thread_copy_loop(main_thread, &main_loop), TREADLE_OK);
    }
    gate_open(&may_end);
    if (info && has_asked) waited = job_perform(&waiting, main_thread, TREADLE_PERFORM_WAIT);
    while (!is_over()) sched_yield();
    if (waited != 1) {
        CHECK_INT(waited, TREADLE_E_CLOSED);
        job_check(&waiting, 0, 1);
    }
    for (int i = 0; i < 2; i++) be_refused(0), be_refused(TREADLE_PERFORM_WAIT);
    treadle_thread now = treadle_thread_main();
    CHECK(now && (!info || now == main_thread) && treadle_thread_main() == now);
    check_state(now, TREADLE_THREAD_FINISHED);
    CHECK(treadle_thread_is_main(now) && !treadle_thread_is_main(NULL));
    CHECK_INT(exits.calls, has_asked && info); /* one that had an object, and whose end Treadle is told of */
    CHECK_ERROR(treadle_thread_copy_loop(now, &own), TREADLE_E_STATE, "finished");
    CHECK(!treadle_loop_main());
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    treadle_last_error(&error);
    CHECK_INT(error.code, TREADLE_E_STATE);
    if (info) {
        CHECK_INT(treadle_loop_wake(main_loop), TREADLE_OK); /* a loop whose thread is gone is safe (RL-9) */
        treadle_thread none = main_thread;
        CHECK_ERROR(treadle_loop_copy_thread(main_loop, &none), TREADLE_E_NOT_FOUND, "finished");
        CHECK(!none);
        CHECK_INT(treadle_loop_release(main_loop), TREADLE_OK);
        CHECK_INT(treadle_thread_release(main_thread), TREADLE_OK);
    }
    CHECK(treadle_thread_current() && treadle_thread_current() != now); /* who is left has his own */
    thread_end(thread_begin(nothing, NULL));
    exit(PASSED);
}
static void end_the_initial_thread(void *asks_first) {
    pthread_t thread;
    gate_make(&may_end);
    job_make(&waiting, NULL, NULL);
    CHECK_INT(pthread_create(&thread, NULL, outlive, asks_first), 0);
    gate_pass(&may_end);
    pthread_exit(NULL);
}
TEST(the_initial_thread_ends_with_its_loop, "PERF-9 THR-9 THR-10") {
    has_asked = treadle_loop_current() && treadle_thread_current();
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    end_the_initial_thread("");
}
TEST(the_initial_thread_ends_with_a_loop_and_no_object, "PERF-9 THR-10") {
    has_asked = treadle_loop_current();
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    end_the_initial_thread(NULL);
}
TEST(the_initial_thread_ends_with_what_others_made_for_it, "PERF-9 THR-10") { end_the_initial_thread(""); }
TEST(an_initial_thread_that_was_over_before_anybody_asked, "PERF-9 THR-10") { end_the_initial_thread(NULL); }

TEST_MAIN()
