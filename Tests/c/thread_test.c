/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_test.c: threads: making, starting, cancelling, ending themselves, who they are, how long they sleep. */
#include "threads.h"

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
    CHECK(!treadle_thread_is_main(subject) && !treadle_is_main_thread());
    return info;
}
static void must_have_no_system_thread(treadle_thread thread) {
    uintptr_t native = 1;
    int32_t id = 1;
    CHECK_INT(treadle_thread_get_id(thread, &id), TREADLE_OK);
    CHECK_INT(id, 0);
    CHECK_INT(treadle_thread_get_pthread(thread, &native), TREADLE_E_STATE);
    CHECK_INT(native, 0);
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
}

TEST(a_thread_that_cannot_be_made, "THR-1 OBJ-2") {
    treadle_thread thread = (treadle_thread)&thread;
    CHECK_ERROR(treadle_thread_create(NULL, NULL, count_release, &thread), TREADLE_E_ARG, "fn");
    CHECK(!thread);
    CHECK_ERROR(treadle_thread_create(nothing, NULL, count_release, NULL), TREADLE_E_ARG, "out_thread");
    CHECK_INT(releases_counted, 2);
    thread = (treadle_thread)&thread;
    CHECK_ERROR(treadle_thread_detach_new(NULL, NULL, count_release, &thread), TREADLE_E_ARG, "fn");
    CHECK(!thread);
    CHECK_INT(releases_counted, 3);
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
    CHECK_INT(treadle_thread_create(live, &life_thread, end_life, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    gate_pass(&finished_gate);
    CHECK_INT(releases_counted, 1);
}
TEST(a_thread_that_never_starts_gives_its_info_back, "THR-4 THR-1") {
    treadle_thread thread;
    CHECK_INT(treadle_thread_create(live, &life_thread, count_release, &thread), TREADLE_OK);
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
    CHECK_ERROR(treadle_thread_set_detached(thread), TREADLE_E_STATE, "thread");
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
    CHECK_INT(treadle_thread_create(count_runs, &runs, count_release, &thread), TREADLE_OK);
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
        CHECK_INT(treadle_thread_create(functions[i], &value, count_release, &thread), TREADLE_OK);
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

/* --- Who one is ----------------------------------------------------------------------------------- */

static void ask_in_a_callback(void *info) { CHECK(treadle_thread_current() == info); }
static void *ask_the_same(void *main) {
    treadle_thread self = treadle_thread_current();
    CHECK(self && self != main);
    for (int i = 0; i < 10; i++) CHECK(treadle_thread_current() == self);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), ask_in_a_callback, self), TREADLE_OK);
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK(treadle_thread_main() == main);
    CHECK(treadle_thread_is_main(main) && !treadle_thread_is_main(self) && !treadle_is_main_thread());
    check_state(main, TREADLE_THREAD_EXECUTING);
    check_state(self, TREADLE_THREAD_EXECUTING);
    CHECK_ERROR(treadle_thread_join(main, 0, NULL), TREADLE_E_STATE, "thread"); /* Treadle did not start it */
    return NULL;
}
TEST(the_main_thread_is_the_same_for_all, "THR-10 THR-9") {
    on_thread(ask_the_same, treadle_thread_main()); /* asked there before the main thread has asked */
    treadle_thread main = treadle_thread_main();
    int32_t id = 0;
    CHECK(treadle_thread_current() == main);
    CHECK(treadle_thread_is_main(main) && treadle_is_main_thread());
    check_state(main, TREADLE_THREAD_EXECUTING);
    CHECK_INT(treadle_thread_get_id(main, &id), TREADLE_OK);
    CHECK_INT(id, getpid());
    thread_end(thread_begin(ask_the_same, main));
    CHECK(!treadle_thread_is_main(NULL));
}
static void *ask_first(void *unused) {
    treadle_thread main = treadle_thread_main();
    CHECK(main && treadle_thread_is_main(main) && treadle_thread_current() != main);
    int32_t id = 0;
    CHECK_INT(treadle_thread_get_id(main, &id), TREADLE_OK);
    CHECK_INT(id, getpid());
    check_state(main, TREADLE_THREAD_EXECUTING);
    return (void)unused, main;
}
TEST(the_main_thread_need_not_be_the_first_to_ask, "THR-10") {
    void *main = on_thread(ask_first, NULL);
    CHECK(treadle_thread_current() == main);
}

struct foreign { struct gate there, gate; treadle_thread thread, kept; pthread_t native; bool keep; };
static void *foreign_main(void *info) {
    struct foreign *foreign = info;
    uintptr_t native = 0;
    int32_t id = 0;
    foreign->thread = treadle_thread_current();
    if (foreign->keep) CHECK_INT(treadle_thread_retain(foreign->thread), TREADLE_OK);
    CHECK_INT(treadle_thread_get_pthread(foreign->thread, &native), TREADLE_OK);
    CHECK(pthread_equal((pthread_t)native, pthread_self()));
    CHECK_INT(treadle_thread_get_id(foreign->thread, &id), TREADLE_OK);
    CHECK_INT(id, thread_id());
    gate_open(&foreign->there);
    gate_pass(&foreign->gate);
    CHECK(treadle_thread_current() == foreign->thread);
    return NULL;
}
TEST(threads_of_others_are_adopted, "THR-9 THR-17 RL-2") {
    struct foreign foreign[3];
    size_t size = 1;
    for (int i = 0; i < 3; i++) {
        gate_make(&foreign[i].there);
        gate_make(&foreign[i].gate);
        foreign[i].keep = i < 2;
        CHECK_INT(pthread_create(&foreign[i].native, NULL, foreign_main, &foreign[i]), 0);
        gate_pass(&foreign[i].there);
        for (int j = 0; j < i; j++) CHECK(foreign[j].thread != foreign[i].thread);
    }
    for (int i = 0; i < 3; i++) {
        treadle_thread thread = foreign[i].thread;
        check_state(thread, TREADLE_THREAD_EXECUTING);
        CHECK(!treadle_thread_is_main(thread));
        CHECK(treadle_thread_is_detached(thread));
        CHECK_INT(treadle_thread_get_stack_size(thread, &size), TREADLE_OK);
        CHECK_INT(size, 0);
        CHECK_ERROR(treadle_thread_join(thread, 0, NULL), TREADLE_E_STATE, "thread");
        CHECK_ERROR(treadle_thread_set_detached(thread), TREADLE_E_STATE, "thread");
        CHECK_ERROR(treadle_thread_start(thread), TREADLE_E_STATE, "thread");
    }
    for (int i = 0; i < 3; i++) {
        gate_open(&foreign[i].gate);
        CHECK_INT(pthread_join(foreign[i].native, NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        check_state(foreign[i].thread, TREADLE_THREAD_FINISHED);
        must_have_no_system_thread(foreign[i].thread);
        CHECK_INT(treadle_thread_release(foreign[i].thread), TREADLE_OK);
    }
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_thread_retain(foreign[i].thread), TREADLE_E_STALE); /* borrowed, and gone */
    CHECK(!treadle_is_multithreaded()); /* THR-11: threads of others do not count */
}

/* --- Loops of threads ----------------------------------------------------------------------------- */

static void count_block(void *counter) { atomic_fetch_add((atomic_int *)counter, 1); }
static void *run_until_empty(void *loop) {
    CHECK(treadle_loop_current() == loop);
    treadle_status first = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    CHECK_INT(first, TREADLE_RUN_STOPPED); /* the stop that was asked for before there was a thread */
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    return loop;
}
static void fire_once(treadle_timer timer, void *counter) { (void)timer, count_block(counter); }
struct with_loop { treadle_loop loop; };
static void *with_loop_main(void *info) { return run_until_empty(((struct with_loop *)info)->loop); }
TEST(a_thread_s_loop_exists_before_its_start, "RL-9 RL-1 STOP-9") {
    atomic_int fired = 0, posted = 0;
    struct with_loop with;
    treadle_loop again;
    treadle_timer timer = make_timer(fire_once, &fired, 1, 0), late = make_timer(fire_once, &fired, 1, 0);
    treadle_thread thread = thread_make(with_loop_main, &with);
    CHECK_INT(treadle_thread_copy_loop(thread, &with.loop), TREADLE_OK);
    CHECK_INT(treadle_thread_copy_loop(thread, &again), TREADLE_OK);
    CHECK(again == with.loop && again != treadle_loop_current());
    CHECK(!treadle_loop_is_current(again) && !treadle_loop_is_waiting(again));
    CHECK_INT(treadle_loop_release(again), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(with.loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_post(with.loop, count_block, &posted), TREADLE_OK);
    CHECK_INT(treadle_loop_request_stop(with.loop, 0), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
    CHECK(thread_end(thread) == with.loop);
    CHECK_INT(fired, 1);
    CHECK_INT(posted, 1);
    /* The loop of a thread that is over stays a safe thing to hold. */
    again = (treadle_loop)&again;
    CHECK_ERROR(treadle_thread_copy_loop(thread, &again), TREADLE_E_STATE, "thread");
    CHECK(!again);
    CHECK_INT(treadle_loop_add_timer(with.loop, late, TREADLE_DEFAULT_MODE), TREADLE_IGNORED);
    CHECK(!treadle_loop_contains_timer(with.loop, late, TREADLE_DEFAULT_MODE));
    CHECK_INT(treadle_loop_post(with.loop, count_block, &posted), TREADLE_E_CLOSED);
    CHECK_INT(treadle_loop_wake(with.loop), TREADLE_OK);
    CHECK_INT(treadle_loop_request_stop(with.loop, 0), TREADLE_OK);
    CHECK(treadle_thread_stop(thread) >= 0);
    CHECK_INT(treadle_loop_release(with.loop), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(late), TREADLE_OK);
    CHECK_INT(fired, 1);
}
TEST(a_loop_whose_thread_never_starts, "RL-9 RL-8") {
    treadle_loop loop;
    treadle_block block = {.struct_size = sizeof block, .fn = count_block, .destroy = count_release};
    treadle_thread thread = thread_make(nothing, NULL);
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_perform_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK(treadle_source_is_valid(source));
    CHECK(!treadle_loop_is_waiting(loop));
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(releases_counted, 1); /* the block was discarded at the latest with the loop */
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

/* --- Sleeping ------------------------------------------------------------------------------------- */

static atomic_int signals, slept;
static void on_signal(int number) { (void)number, atomic_fetch_add(&signals, 1); }
static void *disturb_sleep(void *thread) {
    while (!atomic_load(&slept)) {
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
        sched_yield();
    }
    return NULL;
}
TEST(a_sleep_is_not_cut_short, "THR-15") {
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART */
    pthread_t self = pthread_self(), disturber;
    atomic_int fired = 0;
    treadle_timer timer = make_timer(fire_once, &fired, 1, 0);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_INT(pthread_create(&disturber, NULL, disturb_sleep, &self), 0);
    while (!atomic_load(&signals)) sched_yield();
    int64_t begin = treadle_time_now();
    CHECK_INT(treadle_thread_sleep_for(MILLISECONDS(40)), TREADLE_OK);
    CHECK(treadle_time_now() - begin >= MILLISECONDS(40));
    begin = treadle_time_now();
    CHECK_INT(treadle_thread_sleep_until(begin + MILLISECONDS(40)), TREADLE_OK);
    CHECK(treadle_time_now() >= begin + MILLISECONDS(40));
    atomic_store(&slept, 1);
    CHECK_INT(pthread_join(disturber, NULL), 0);
    CHECK_INT(fired, 0); /* the loop was not served */
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fired, 1);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}
TEST(a_sleep_of_no_length_returns, "THR-15") {
    const int64_t none[] = {0, -1, -SECONDS(1), INT64_MIN};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(treadle_thread_sleep_for(none[i]), TREADLE_OK);
        CHECK_INT(treadle_thread_sleep_until(none[i]), TREADLE_OK);
    }
    CHECK_INT(treadle_thread_sleep_until(treadle_time_now()), TREADLE_OK);
    CHECK_INT(treadle_thread_sleep_for(1), TREADLE_OK);
}

/* --- Many ----------------------------------------------------------------------------------------- */

static void *use_the_loop(void *info) {
    CHECK(treadle_loop_current() && treadle_thread_current());
    CHECK_INT(treadle_loop_post(treadle_loop_current(), count_block, info), TREADLE_OK);
    poll_mode(TREADLE_DEFAULT_MODE);
    return info;
}
TEST(threads_leave_nothing_behind, "RL-8 THR-17") {
    atomic_int count = 0;
    int times = scaled(3000);
    thread_end(thread_begin(use_the_loop, &count));
    int descriptors = count_descriptors(), threads = count_threads();
    for (int i = 0; i < times; i++) CHECK(thread_end(thread_begin(use_the_loop, &count)) == &count);
    CHECK_INT(count, times + 1);
    CHECK_INT(count_descriptors(), descriptors);
    while (count_threads() > threads) sched_yield();
}

TEST_MAIN()
