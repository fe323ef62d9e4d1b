/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_cancel_test.c: pthread_cancel. No function of the library is a cancellation point: what waits, waits to its end, and
 * the thread ends where the client meets a cancellation point next; in a callback, too. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE

/* --- Cancelled while they wait -------------------------------------------------------------------- */

static treadle_loop loop;
static treadle_thread thread;
static struct held held;
static int ends[2];
static treadle_lock lock;
static treadle_condition condition;
static treadle_source source;
static struct gate is_inside, may_leave;

static void hold_job(struct job *job) { (void)job, gate_open(&is_inside), gate_pass(&may_leave); }
static void hold_source(treadle_source performed, void *info) { (void)performed, (void)info, hold_job(NULL); }

static void begin_held(void) { thread = held_begin(&held, NULL); }
static void join_for_ever(void) { CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK); }
static void join_in_time(void) { CHECK_INT(treadle_thread_join(thread, SECONDS(1000), NULL), TREADLE_OK); }
static void open_held(void) { gate_open(&held.gate); }
static void end_held(void) {
    CHECK_ERROR(treadle_thread_join(thread, 0, NULL), TREADLE_E_STATE, "before"); /* it is not "being joined" for ever */
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

static void *be_ready(void *info) {
    held_main(&held);
    CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    return info;
}
static void make_starting(void) {
    gate_make(&held.there), gate_make(&held.gate);
    thread = thread_make(be_ready, NULL);
}
static void start_and_wait(void) { CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_OK); }
static void end_starting(void) { thread_end(thread); }

static void watch(void) {
    CHECK_INT(pipe(ends), 0);
    gate_make(&is_inside);
}
static void run_loop(void) {
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, ends[0], TREADLE_READABLE);
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    gate_open(&is_inside);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
}
static void run_idle_loop(void) {
    treadle_source keeper = make_source(NULL, NULL);
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_add_source(loop, keeper, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    gate_open(&is_inside);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
}
static void stop_loop(void) {
    gate_pass(&is_inside);
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
}
static void unwatch(void) { close(ends[0]), close(ends[1]); }

static struct server server;
static struct job job;
static void serve(void) {
    server_start(&server);
    gate_make(&is_inside), gate_make(&may_leave);
    job_make(&job, hold_job, NULL);
    source = make_source(hold_source, NULL);
    CHECK_INT(treadle_loop_add_source(server.loop, source, MODE), TREADLE_OK);
}
static void perform_and_wait(void) { CHECK_INT(job_perform(&job, server.thread, TREADLE_PERFORM_WAIT), TREADLE_OK); }
static void let_leave(void) { gate_pass(&is_inside), gate_open(&may_leave); }
static void serve_source(void) {
    serve();
    CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
    gate_pass(&is_inside);
    gate_open(&is_inside);
}
static void close_source(void) { CHECK_INT(treadle_source_close(source, TREADLE_FOREVER), TREADLE_OK); }
static void end_serving(void) {
    treadle_source_invalidate(source);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    server_end(&server);
}

static atomic_bool is_waiting;
static void make_condition(void) {
    CHECK_INT(treadle_lock_create(0, &lock), TREADLE_OK);
    CHECK_INT(treadle_condition_create(&condition), TREADLE_OK);
}
static void wait_for_condition(void) {
    CHECK_INT(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_OK);
    atomic_store(&is_waiting, true);
    while (atomic_load(&is_waiting)) CHECK_INT(treadle_condition_wait(condition, lock, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
}
static void signal_condition(void) {
    CHECK_INT(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_OK);
    atomic_store(&is_waiting, false);
    CHECK_INT(treadle_condition_signal(condition), TREADLE_OK);
    CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
}
static void end_condition(void) {
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
    CHECK_INT(treadle_condition_release(condition), TREADLE_OK);
}

static void nap(void) { CHECK_INT(treadle_thread_sleep_for(MILLISECONDS(300)), TREADLE_OK); }
static void do_nothing(void) {}

static const struct scene {
    const char *name;
    void (*begin)(void), (*wait)(void), (*release)(void), (*end)(void);
} scenes[] = {
    {"join", begin_held, join_for_ever, open_held, end_held},
    {"join with a timeout", begin_held, join_in_time, open_held, end_held},
    {"start", make_starting, start_and_wait, open_held, end_starting},
    {"run with descriptors", watch, run_loop, stop_loop, unwatch},
    {"run without", watch, run_idle_loop, stop_loop, unwatch},
    {"perform", serve, perform_and_wait, let_leave, end_serving},
    {"close", serve_source, close_source, let_leave, end_serving},
    {"condition", make_condition, wait_for_condition, signal_condition, end_condition},
    {"sleep", do_nothing, nap, do_nothing, do_nothing},
};
/* A thread that is inside of each: its own code has no cancellation point but the last. */
static atomic_int waiter_id;
static atomic_bool has_returned;
static void *wait_in(void *scene) {
    atomic_store(&waiter_id, thread_id());
    ((const struct scene *)scene)->wait();
    atomic_store(&has_returned, true);
    pthread_testcancel();
    check_failed(__FILE__, __LINE__, "%s: the cancellation was lost", ((const struct scene *)scene)->name);
    return NULL;
}
TEST(who_is_cancelled_in_a_wait_waits_to_its_end, "THR-17 THR-18 OBJ-6") {
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        pthread_t waiter;
        void *result = NULL;
        scenes[i].begin();
        atomic_store(&waiter_id, 0);
        atomic_store(&has_returned, false);
        CHECK_INT(pthread_create(&waiter, NULL, wait_in, (void *)&scenes[i]), 0);
        /* It sleeps in the wait, or, in one of these cases out of many, does not yet. */
        while (!atomic_load(&waiter_id)) sched_yield();
        for (int looks = 0; looks < 1000 && count_blocks(atomic_load(&waiter_id)) < 0; looks++) sched_yield();
        CHECK_INT(pthread_cancel(waiter), 0);
        scenes[i].release();
        CHECK_INT(pthread_join(waiter, &result), 0);
        if (result != PTHREAD_CANCELED || !atomic_load(&has_returned))
            check_failed(__FILE__, __LINE__, "%s: cancelled inside of it", scenes[i].name);
        scenes[i].end();
    }
}

/* --- Cancelled before they call ------------------------------------------------------------------- */

/* Everything that enters the kernel, on a thread that a cancellation point would end. */
static void *call_while_cancelled(void *info) {
    struct worker *worker = info;
    struct sleep_watch *sleeping = &worker->watch;
    int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC), inner[2];
    CHECK_INT(pipe(inner), 0);
    treadle_loop own = treadle_loop_current();
    treadle_descriptor context = make_descriptor(NULL, NULL, fd, TREADLE_READABLE), acknowledged;
    CHECK_INT(treadle_descriptor_start(inner[0], TREADLE_READABLE, ready_for_nothing, NULL, &acknowledged), TREADLE_OK);
    await_sleep(sleeping);
    CHECK_INT(pthread_cancel(pthread_self()), 0);
    CHECK_INT(treadle_loop_wake(worker->loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(own, context, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run(own, MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(treadle_descriptor_invalidate(context), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(context), TREADLE_OK);
    CHECK_INT(treadle_descriptor_invalidate(acknowledged), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(acknowledged), TREADLE_OK);
    thread_end(thread_begin(nothing, NULL));
    CHECK_INT(treadle_thread_sleep_for(1), TREADLE_OK);
    atomic_store(&has_returned, true);
    pthread_testcancel();
    return NULL;
}
TEST(who_is_cancelled_may_call_everything, "THR-17 WAKE-1 OBJ-6") {
    struct worker worker;
    pthread_t caller;
    void *result = NULL;
    CHECK_INT(pipe(ends), 0);
    worker_start(&worker);
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, ends[0], TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(worker.loop, descriptor, MODE), TREADLE_OK);
    CHECK_INT(pthread_create(&caller, NULL, call_while_cancelled, &worker), 0);
    CHECK_INT(pthread_join(caller, &result), 0);
    CHECK(result == PTHREAD_CANCELED && atomic_load(&has_returned));
    worker_stop(&worker); /* whose teardown waits for those who wake it */
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    unwatch();
}

/* --- Cancelled in a callback ---------------------------------------------------------------------- */

#if ADDRESS_SANITIZER
/* It is not told of a stack that is unwound here, and has to forget what it knows of the frames. */
void __asan_handle_no_return(void);
#else
static void __asan_handle_no_return(void) {}
#endif

static int cancels;
static void end_here(void) {
    CHECK_INT(pthread_cancel(pthread_self()), 0);
    __asan_handle_no_return();
    pthread_testcancel();
    check_failed(__FILE__, __LINE__, "still there");
}
static void end_in_callback(treadle_timer timer, void *info) { (void)timer, (void)info, end_here(); }
static void end_in_job(void *target, void *argument) { (void)target, (void)argument, end_here(); }
static void count_cancel(treadle_source cancelled, treadle_loop left, const char *mode, void *info) {
    (void)cancelled, (void)left, (void)mode, (void)info;
    cancels++;
}
static void *run_to_cancellation(void *info) {
    treadle_source_context context = {.struct_size = sizeof context, .cancel = count_cancel, .release = count_release};
    treadle_source kept;
    treadle_timer timer = make_timer(end_in_callback, NULL, treadle_time_now(), 0);
    CHECK_INT(treadle_source_create(&context, &kept), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), kept, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(kept), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_thread_set_value(treadle_thread_current(), "key", NULL, count_release), TREADLE_OK);
    treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0);
    return info;
}
static void *perform_to_cancellation(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = end_in_job};
    perform_on(treadle_thread_current(), &request, NULL, 0, TREADLE_PERFORM_WAIT);
    return info;
}
TEST(who_is_cancelled_in_a_callback_ends_in_order, "RL-8 THR-14 THR-17 THR-21") {
    struct listener exits = {0};
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    CHECK(!thread_end(thread_begin(run_to_cancellation, "")));
    CHECK_INT(exits.calls, 1);
    CHECK_INT(cancels, 1);
    CHECK_INT(releases_counted, 2);
    /* A call outside of runs loses a few bytes that it had allocated, which valgrind finds. */
    if (!is_way("valgrind")) CHECK(!thread_end(thread_begin(perform_to_cancellation, "")));
    CHECK_INT(exits.calls, is_way("valgrind") ? 1 : 2);
    CHECK_INT(treadle_notification_remove(exits.token), TREADLE_OK);
    CHECK_INT(treadle_shutdown(SECONDS(1000)), TREADLE_OK); /* the call that never returned is not waited for */
}

TEST_MAIN()
