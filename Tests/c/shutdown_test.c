/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * shutdown_test.c: the end of all run loops, and the end of the process with threads still there. */
#include "thread_jobs.h"

#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

static void never(void *info) { (void)info, check_failed(__FILE__, __LINE__, "a callback started after the end"); }
static void never_fire(treadle_timer timer, void *info) { (void)timer, never(info); }
static void never_perform(treadle_source source, void *info) { (void)source, never(info); }
static void *never_run(void *info) { return never(info), info; }
static void never_job(struct job *job) { never(job); }

/* --- What is closed ------------------------------------------------------------------------------- */

TEST(every_loop_ends_and_none_runs_again, "THR-21 ABI-5") {
    static struct server servers[3];
    struct worker worker;
    for (int i = 0; i < 3; i++) server_start_in_mode(&servers[i], i ? MODE : "a mode");
    worker_start(&worker);
    for (int i = 0; i < 3; i++) await_sleep(&servers[i].watch);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    for (int i = 0; i < 3; i++) server_end_with(&servers[i], TREADLE_E_CLOSED); /* join, release: as ever */
    CHECK_INT(pthread_join(worker.thread, NULL), 0);
    CHECK_INT(worker.result, TREADLE_E_CLOSED);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_IGNORED); /* nothing is left to do */
    CHECK_INT(treadle_shutdown(0), TREADLE_IGNORED);
    keep_mode(MODE);
    CHECK_ERROR(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_E_CLOSED, "");
    CHECK_ERROR(poll_mode(MODE), TREADLE_E_CLOSED, "");
    CHECK_ERROR(treadle_loop_run_default(treadle_loop_current()), TREADLE_E_CLOSED, "");
}
static void *run_new_loop(void *info) {
    make_timer(never_fire, NULL, 1, 0);
    CHECK_INT(treadle_timer_start(1, 100000, never_fire, NULL, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_E_CLOSED);
    return info;
}
TEST(a_loop_made_afterwards_does_not_run_either, "THR-21") {
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    on_thread(run_new_loop, NULL);
}
TEST(no_thread_starts_and_nothing_is_performed, "THR-21 THR-2 PERF-8 PERF-9") {
    struct job job;
    treadle_thread thread = (treadle_thread)&thread, made;
    CHECK_INT(create_thread(never_run, NULL, count_release, &made), TREADLE_OK);
    job_make(&job, never_job, NULL);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    treadle_request request = job_request(&job);
    CHECK_ERROR(treadle_thread_start(made), TREADLE_E_CLOSED, "");
    CHECK_ERROR(treadle_thread_start_and_wait(made, TREADLE_FOREVER), TREADLE_E_CLOSED, "");
    CHECK_INT(releases_counted, 0);
    CHECK_ERROR(treadle_thread_detach_new(never_run, NULL, count_release, &thread), TREADLE_E_CLOSED, "");
    CHECK(!thread);
    CHECK_INT(releases_counted, 1);
    CHECK_ERROR(job_perform(&job, treadle_thread_current(), 0), TREADLE_E_CLOSED, "");
    CHECK_ERROR(job_perform(&job, treadle_thread_current(), TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED, ""); /* no call either */
    CHECK_ERROR(job_perform(&job, made, 0), TREADLE_E_CLOSED, "");
    CHECK_ERROR(perform_on_main(&request, NULL, 0, 0), TREADLE_E_CLOSED, "");
    CHECK_ERROR(perform_in_background(&request), TREADLE_E_CLOSED, "");
    job_check(&job, 0, 5);
    CHECK_INT(treadle_thread_release(made), TREADLE_OK);
    CHECK_INT(releases_counted, 2);
}
struct waiting { struct job job; struct held *held; treadle_thread thread; treadle_status status; };
static void *wait_for_a_perform(void *info) {
    struct waiting *waiting = info;
    waiting->status = job_perform(&waiting->job, waiting->thread, TREADLE_PERFORM_WAIT);
    return NULL;
}
TEST(who_waits_for_a_perform_is_released, "THR-21 PERF-9") {
    struct held held; /* a thread that never runs its loop */
    struct waiting waiting = {.held = &held, .thread = held_begin(&held, NULL), .status = 99};
    pthread_t thread;
    job_make(&waiting.job, never_job, NULL);
    CHECK_INT(pthread_create(&thread, NULL, wait_for_a_perform, &waiting), 0);
    linger(MICROSECONDS(200));
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK); /* a thread's entry function is not waited for */
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(waiting.status, TREADLE_E_CLOSED);
    gate_open(&held.gate);
    thread_end(waiting.thread);
    job_check(&waiting.job, 0, 1);
}

/* --- Callbacks that run --------------------------------------------------------------------------- */

static struct held busy;
static atomic_bool busy_is_over;
static void be_busy(void *info) {
    (void)info;
    held_main(&busy);
    linger(MICROSECONDS(200));
    atomic_store(&busy_is_over, true);
}
static void *open_later(void *info) {
    linger(MICROSECONDS(200));
    gate_open(info);
    return NULL;
}
TEST(running_callbacks_are_waited_for, "THR-21") {
    struct server server;
    struct job behind;
    pthread_t opener;
    gate_make(&busy.there);
    gate_make(&busy.gate);
    server_start(&server);
    CHECK_INT(treadle_loop_post(server.loop, be_busy, NULL), TREADLE_OK);
    gate_pass(&busy.there);
    job_make(&behind, never_job, NULL);
    CHECK_INT(job_perform(&behind, server.thread, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_post(server.loop, never, NULL), TREADLE_OK);
    CHECK_ERROR(treadle_shutdown(0), TREADLE_E_TIMEOUT, "");
    CHECK_ERROR(treadle_shutdown(MILLISECONDS(1)), TREADLE_E_TIMEOUT, "");
    CHECK_ERROR(poll_mode(MODE), TREADLE_E_CLOSED, ""); /* everything is closed all the same */
    CHECK_INT(pthread_create(&opener, NULL, open_later, &busy.gate), 0);
    CHECK(treadle_shutdown(TREADLE_FOREVER) >= 0);
    CHECK(busy_is_over);
    CHECK_INT(pthread_join(opener, NULL), 0);
    server_end_with(&server, TREADLE_E_CLOSED);
    job_check(&behind, 0, 1);
}
static treadle_status inside;
static void shut_down_inside(void *info) {
    (void)info;
    inside = treadle_shutdown(TREADLE_FOREVER);
    CHECK_INT(poll_mode(MODE), TREADLE_E_CLOSED); /* nor does a nested run start */
}
TEST(a_callback_may_shut_down, "THR-21 OBJ-6") {
    struct server server;
    server_start(&server);
    keep_mode(MODE);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), shut_down_inside, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), never, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_E_CLOSED);
    CHECK_INT(inside, TREADLE_OK); /* it did not wait for itself */
    server_end_with(&server, TREADLE_E_CLOSED);
}
/* Neither of two callbacks ends that wait for each other: the shutdown that would is refused, with everything closed. */
static atomic_bool is_refused_there;
static void shut_down_as_asked(void *target, void *argument) {
    (void)target, (void)argument;
    CHECK_ERROR(treadle_shutdown(TREADLE_FOREVER), TREADLE_E_DEADLOCK, "thread");
    atomic_store(&is_refused_there, true);
}
static void ask_for_a_shutdown(void *server) {
    treadle_request request = {.struct_size = sizeof request, .fn = shut_down_as_asked};
    CHECK_INT(perform_on(((struct server *)server)->thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
}
TEST(a_callback_that_waits_for_a_shutdown_is_not_waited_for, "THR-21 PERF-7") {
    struct server server;
    server_start(&server);
    keep_mode(MODE);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), ask_for_a_shutdown, &server), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_E_CLOSED);
    CHECK(is_refused_there);
    server_end_with(&server, TREADLE_E_CLOSED);
}
static void run_nested_and_shut_down(void *levels) {
    int left = (int)(intptr_t)levels;
    CHECK_INT(treadle_loop_post(treadle_loop_current(), left ? run_nested_and_shut_down : shut_down_inside, (void *)(intptr_t)(left - 1)), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_E_CLOSED);
}
TEST(all_levels_of_a_nested_run_end, "THR-21") {
    keep_mode(MODE);
    run_nested_and_shut_down((void *)(intptr_t)4);
    CHECK_INT(inside, TREADLE_OK);
}

/* Everything happens at once, and from one moment on nothing does. */
static atomic_bool closed, quit;
static atomic_long callbacks;
static void count_callback(void *info) {
    (void)info;
    CHECK(!atomic_load(&closed));
    atomic_fetch_add(&callbacks, 1);
}
static void count_source(treadle_source source, void *info) { (void)source, count_callback(info); }
static void count_timer(treadle_timer timer, void *info) { (void)timer, count_callback(info); }
static void count_observer(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, count_callback(info); }
static void count_perform(void *target, void *argument) { (void)argument, count_callback(target); }
static void *keep_busy(void *info) {
    struct server *server = info;
    treadle_source source = make_source(count_source, NULL);
    treadle_timer timer = make_timer(count_timer, NULL, 1, 1000);
    treadle_observer observer = make_observer(count_observer, NULL, TREADLE_ALL_ACTIVITIES);
    treadle_request request = {.struct_size = sizeof request, .fn = count_perform};
    CHECK(treadle_loop_add_source(server->loop, source, MODE) >= 0);
    CHECK(treadle_loop_add_timer(server->loop, timer, MODE) >= 0);
    CHECK(treadle_loop_add_observer(server->loop, observer, MODE) >= 0);
    while (!atomic_load(&quit)) {
        CHECK(treadle_source_signal_and_wake(source) >= 0);
        treadle_status status = treadle_loop_post(server->loop, count_callback, NULL);
        CHECK(status == TREADLE_OK || status == TREADLE_E_CLOSED);
        status = perform_on(server->thread, &request, NULL, 0, TREADLE_PERFORM_WAIT);
        CHECK(status == TREADLE_OK || status == TREADLE_E_CLOSED);
        status = treadle_timer_fire(timer);
        CHECK(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_CLOSED);
    }
    CHECK(treadle_source_invalidate(source) >= 0);
    CHECK(treadle_timer_invalidate(timer) >= 0);
    CHECK(treadle_observer_invalidate(observer) >= 0);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    return NULL;
}
static void shut_down_in_full_flight(unsigned delay) {
    static struct server servers[2];
    pthread_t threads[4];
    for (int i = 0; i < 2; i++) server_start(&servers[i]);
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, keep_busy, &servers[i % 2]), 0);
    while (atomic_load(&callbacks) < 100) sched_yield();
    linger(MICROSECONDS(delay));
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    atomic_store(&closed, true); /* every callback looks at this */
    linger(MICROSECONDS(100));
    atomic_store(&quit, true);
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) server_end_with(&servers[i], TREADLE_E_CLOSED);
}

/* Runs body in a child of its own, made before Treadle is used, and expects that it ends with 0. */
static void in_new_process(void (*body)(unsigned), unsigned number) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(100);
        body(number);
        exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status) check_failed(__FILE__, __LINE__, "process %u ended with %#x", number, (unsigned)status);
}
TEST(after_the_end_no_callback_starts, "THR-21 ABI-5 OBJ-6") {
    for (int i = scaled(40); i > 0; i--) in_new_process(shut_down_in_full_flight, (unsigned)i % 7 * 5);
}

/* --- What goes on --------------------------------------------------------------------------------- */

static void count_end(void *info) { count_release(info); }
static void *live_past_the_end(void *info) {
    treadle_post block = {.struct_size = sizeof block, .fn = never, .destroy = count_end};
    CHECK_INT(post_block(treadle_loop_current(), &block), TREADLE_OK);
    CHECK_INT(treadle_thread_set_value(treadle_thread_current(), "key", NULL, count_release), TREADLE_OK);
    held_main(info);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_E_CLOSED);
    CHECK_INT(treadle_thread_sleep_for(1), TREADLE_OK);
    return info;
}
TEST(entry_functions_and_releases_go_on, "THR-21 THR-17 THR-12 RL-8") {
    struct held held;
    treadle_source_context context = {.struct_size = sizeof context, .release = count_release, .perform = never_perform};
    treadle_source source;
    treadle_thread thread;
    gate_make(&held.there);
    gate_make(&held.gate);
    CHECK_INT(create_thread(live_past_the_end, &held, count_end, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    gate_pass(&held.there);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, MODE), TREADLE_OK);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    CHECK(treadle_thread_is_executing(thread));
    gate_open(&held.gate);
    CHECK(thread_end(thread) == &held);
    CHECK_INT(releases_counted, 3); /* the block's, the value's, the thread's */
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(releases_counted, 4); /* and the source's */
}

/* --- The end of the process ----------------------------------------------------------------------- */

static void *run_for_ever(void *unused) {
    CHECK_INT(treadle_timer_start(100000, 100000, count_timer, NULL, NULL), TREADLE_OK);
    treadle_loop_run_default(treadle_loop_current());
    return unused;
}
static void shut_down_at_exit(void) { treadle_shutdown(SECONDS(50)); }
/* Detached and joinable threads run their loops when the process ends; with a shutdown and without. */
static void leave_with_threads(unsigned number) {
    treadle_thread thread;
    if (number % 3 == 1) CHECK_INT(atexit(shut_down_at_exit), 0);
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_thread_detach_new(run_for_ever, NULL, NULL, NULL), TREADLE_OK);
    thread = thread_make(run_for_ever, NULL);
    CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK);
    if (THREAD_SANITIZER) CHECK_INT(treadle_thread_release(thread), TREADLE_OK); /* it reports what is not joined */
    if (number % 2) {
        while (atomic_load(&callbacks) < 20) sched_yield();
    }
    if (number % 3 == 2) CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
}
TEST(a_process_ends_with_threads_and_loops_alive, "THR-21") {
    for (int i = scaled(200) + 5; i > 0; i--) in_new_process(leave_with_threads, (unsigned)i);
}

TEST_MAIN()
