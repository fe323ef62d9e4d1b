/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_current_test.c: which thread one is, threads of others, the loops of threads, sleeping. */
#include "thread_jobs.h"

/* --- Who one is ----------------------------------------------------------------------------------- */

static void ask_in_a_callback(void *info) { CHECK(treadle_thread_current() == info); }
static void *ask_the_same(void *main) {
    treadle_thread self = treadle_thread_current();
    CHECK(self && self != main);
    for (int i = 0; i < 10; i++) CHECK(treadle_thread_current() == self);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), ask_in_a_callback, self), TREADLE_OK);
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK(treadle_thread_main() == main);
    CHECK(treadle_thread_is_main(main) && !treadle_thread_is_main(self) && !treadle_thread_is_main(NULL));
    check_state(main, TREADLE_THREAD_EXECUTING);
    check_state(self, TREADLE_THREAD_EXECUTING);
    CHECK_ERROR(treadle_thread_join(main, 0, NULL), TREADLE_E_STATE, "thread"); /* Treadle did not start it */
    return NULL;
}
TEST(the_main_thread_is_the_same_for_all, "THR-10 THR-9") {
    on_thread(ask_the_same, treadle_thread_main()); /* asked there before the main thread has asked */
    treadle_thread main = treadle_thread_main();
    uintptr_t native = 0;
    int32_t id = 0;
    CHECK(treadle_thread_current() == main);
    CHECK(treadle_thread_is_main(main) && treadle_thread_is_main(NULL));
    check_state(main, TREADLE_THREAD_EXECUTING);
    CHECK_INT(treadle_thread_get_id(main, &id), TREADLE_OK);
    CHECK_INT(id, getpid());
    CHECK_INT(treadle_thread_get_pthread(main, &native), TREADLE_OK);
    CHECK(pthread_equal((pthread_t)native, pthread_self()));
    thread_end(thread_begin(ask_the_same, main));
    CHECK(!treadle_thread_is_main((treadle_thread)&main));
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
TEST(threads_of_others_are_adopted, "THR-9 THR-17 THR-20 RL-2") {
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
        CHECK_ERROR(treadle_thread_detach(thread), TREADLE_E_STATE, "thread");
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
    treadle_post block = {.struct_size = sizeof block, .fn = count_block, .destroy = count_release};
    treadle_thread thread = thread_make(nothing, NULL);
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK(treadle_source_is_valid(source));
    CHECK(!treadle_loop_is_waiting(loop));
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(releases_counted, 1); /* the block was discarded at the latest with the loop */
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

/* --- Threads of loops ----------------------------------------------------------------------------- */

static treadle_thread thread_of(treadle_loop loop) {
    treadle_thread thread = NULL;
    CHECK_INT(treadle_loop_copy_thread(loop, &thread), TREADLE_OK);
    return thread;
}
static void must_have_no_thread(treadle_loop loop, treadle_status status, const char *words) {
    treadle_thread thread = (void *)1;
    CHECK_ERROR(treadle_loop_copy_thread(loop, &thread), status, words);
    CHECK(!thread);
}
static void *wait_with_a_loop(void *info) {
    CHECK(treadle_loop_current());
    return held_main(info);
}
TEST(a_loop_tells_its_thread_from_before_the_start_to_the_end, "RL-9 THR-9") {
    struct held held = {.result = &held};
    char name[16];
    size_t length = 0;
    treadle_loop loop;
    gate_make(&held.there), gate_make(&held.gate);
    treadle_thread thread = thread_make(wait_with_a_loop, &held);
    CHECK_INT(treadle_thread_set_name(thread, "of a loop"), TREADLE_OK);
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    CHECK(thread_of(loop) == thread);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK); /* the one that was copied */
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    gate_pass(&held.there);
    treadle_thread copy = thread_of(loop);
    CHECK(copy == thread);
    CHECK_INT(treadle_thread_get_name(copy, name, sizeof name, &length), TREADLE_OK);
    CHECK_TEXT(name, "of a loop");
    gate_open(&held.gate);
    CHECK(thread_end(thread) == &held);
    check_state(copy, TREADLE_THREAD_FINISHED); /* one's own reference outlives the owner's */
    must_have_no_thread(loop, TREADLE_E_NOT_FOUND, "finished");
    CHECK_INT(treadle_thread_release(copy), TREADLE_OK);
    CHECK_INT(treadle_thread_retain(copy), TREADLE_E_STALE);
    /* Its slot serves the next thread, which is not the loop's. */
    treadle_thread next = held_begin(&held, NULL);
    must_have_no_thread(loop, TREADLE_E_NOT_FOUND, "finished");
    gate_open(&held.gate);
    thread_end(next);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}

static void *ask_for_main(void *unused) {
    treadle_thread main = thread_of(treadle_loop_main()); /* neither has asked for an object */
    CHECK(main == treadle_thread_main() && treadle_thread_is_main(main));
    CHECK_INT(treadle_thread_release(main), TREADLE_OK);
    return unused;
}
TEST(the_main_loop_s_thread_is_the_main_thread, "THR-10 RL-3") {
    on_thread(ask_for_main, NULL);
    treadle_thread main = thread_of(treadle_loop_current());
    CHECK(main == treadle_thread_current());
    CHECK_INT(treadle_thread_release(main), TREADLE_OK);
}

/* A thread of somebody else's with a loop: first it has no object, then it asks for its loop's thread itself. */
struct other { struct held first, second; treadle_loop loop; treadle_thread at_end; uint32_t state; };
static void ask_at_the_end(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct other *other = info;
    (void)source, (void)mode;
    other->at_end = thread_of(loop);
    CHECK(other->at_end == treadle_thread_current());
    other->state = thread_state(other->at_end);
}
static void *other_main(void *info) {
    struct other *other = info;
    treadle_source_context context = {.struct_size = sizeof context, .info = info, .cancel = ask_at_the_end};
    treadle_source source;
    other->loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(other->loop), TREADLE_OK);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(other->loop, source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    held_main(&other->first);
    treadle_thread self = thread_of(other->loop);
    CHECK(self == treadle_thread_current());
    CHECK_INT(treadle_thread_release(self), TREADLE_OK);
    return held_main(&other->second);
}
TEST(a_thread_of_others_is_told_once_it_has_asked, "THR-9 THR-14 RL-9") {
    struct other other = {0};
    pthread_t native;
    gate_make(&other.first.there), gate_make(&other.first.gate), gate_make(&other.second.there), gate_make(&other.second.gate);
    CHECK_INT(pthread_create(&native, NULL, other_main, &other), 0);
    gate_pass(&other.first.there);
    must_have_no_thread(other.loop, TREADLE_E_NOT_FOUND, "not started by Treadle");
    gate_open(&other.first.gate);
    gate_pass(&other.second.there);
    treadle_thread thread = thread_of(other.loop);
    check_state(thread, TREADLE_THREAD_EXECUTING);
    gate_open(&other.second.gate);
    CHECK_INT(pthread_join(native, NULL), 0);
    CHECK(other.at_end == thread);
    CHECK_INT(other.state, TREADLE_THREAD_FINISHED); /* the thread's own teardown */
    must_have_no_thread(other.loop, TREADLE_E_NOT_FOUND, "finished");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(treadle_loop_release(other.loop), TREADLE_OK);
}

TEST(a_loop_s_thread_may_have_all_its_references, "OBJ-2 RL-9") {
    treadle_thread self = treadle_thread_current();
    int taken = take_all_references(self);
    must_have_no_thread(treadle_loop_current(), TREADLE_E_RANGE, "as many references");
    return_references(self, taken);
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

static atomic_int sleep_began, sleep_ended;
static void *sleep_on(void *duration) {
    atomic_store(&sleep_began, 1);
    treadle_thread_sleep_for(*(const int64_t *)duration);
    atomic_store(&sleep_ended, 1);
    return NULL;
}
TEST(a_sleep_beyond_the_last_date_lasts_for_ever, "THR-15") {
    static const int64_t durations[] = {TREADLE_FOREVER, TREADLE_FOREVER - 1};
    for (int i = 0; i < 2; i++) {
        treadle_thread thread = NULL;
        int32_t id = 0;
        atomic_store(&sleep_began, 0);
        CHECK_INT(treadle_thread_detach_new(sleep_on, (void *)&durations[i], NULL, &thread), TREADLE_OK);
        while (!atomic_load(&sleep_began)) sched_yield();
        CHECK_INT(treadle_thread_get_id(thread, &id), TREADLE_OK);
        while (!is_in_kernel_wait(id) && !atomic_load(&sleep_ended)) sched_yield();
        CHECK(!atomic_load(&sleep_ended));
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK); /* it sleeps until the process ends */
    }
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

/* --- Threads of POSIX --------------------------------------------------------------------------------- */

static pthread_t its_own;
static void *tell_and_wait(void *held) {
    its_own = pthread_self();
    return held_main(held);
}
TEST(the_pthread_of_a_started_thread, "THR-20") {
    struct held held = {0};
    treadle_thread thread = thread_make(tell_and_wait, &held);
    uintptr_t native = 5;
    int policy;
    struct sched_param parameters;
    gate_make(&held.there), gate_make(&held.gate);
    CHECK_ERROR(treadle_thread_get_pthread(thread, &native), TREADLE_E_STATE, "thread");
    CHECK_INT(native, 0);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    gate_pass(&held.there);
    CHECK_INT(treadle_thread_get_pthread(thread, &native), TREADLE_OK);
    CHECK(pthread_equal((pthread_t)native, its_own));
    CHECK_INT(pthread_getschedparam((pthread_t)native, &policy, &parameters), 0); /* POSIX takes it */
    CHECK_ERROR(treadle_thread_get_pthread(thread, NULL), TREADLE_E_ARG, "out_pthread");
    gate_open(&held.gate);
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_ERROR(treadle_thread_get_pthread(thread, &native), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

/* --- A thread owns its loop and its object, also when others asked for them first ----------------------- */

/* Each test is a process of its own, whose first call is the one that matters. */
TEST(the_main_loop_is_run_by_those_who_never_asked_for_theirs, "RL-3 RL-1") {
    treadle_loop loop = treadle_loop_main();
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_FINISHED);
    CHECK(treadle_loop_is_current(loop));
    CHECK(treadle_loop_current() == loop);
}
TEST(the_main_loop_is_current_on_the_main_thread_alone, "RL-3") {
    CHECK(treadle_loop_is_current(treadle_loop_main()));
}

static void note(void *ran) { ++*(int *)ran; }
static void *run_given(void *loop) {
    /* The first call that this thread makes. */
    treadle_status result = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    return treadle_loop_current() == loop ? (void *)(intptr_t)result : NULL;
}
TEST(a_loop_that_was_made_for_a_thread_before_its_start_is_its_own, "RL-1 RL-9 THR-18") {
    int ran = 0;
    treadle_loop loop = NULL;
    treadle_thread thread = NULL;
    CHECK_INT(create_thread(run_given, NULL, NULL, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    CHECK(!treadle_loop_is_current(loop));
    CHECK_ERROR(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_E_WRONG_THREAD, "loop");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK); /* never started: its loop ends with it */
    CHECK_INT(treadle_loop_post(loop, note, &ran), TREADLE_E_CLOSED);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}

static void *run_handed(void *slot) { return run_given(*(treadle_loop *)slot); }
TEST(a_thread_runs_the_loop_that_was_filled_before_its_start, "RL-1 PERF-3") {
    int ran = 0;
    treadle_loop loop = NULL;
    treadle_thread thread = NULL;
    void *result = NULL;
    CHECK_INT(create_thread(run_handed, &loop, NULL, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_copy_loop(thread, &loop), TREADLE_OK);
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_loop_post(loop, note, &ran), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, &result), TREADLE_OK);
    CHECK_INT((intptr_t)result, TREADLE_RUN_FINISHED);
    CHECK_INT(ran, 3);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

TEST(the_main_thread_may_set_its_own_priority_at_once, "THR-10 THR-13") {
    CHECK_INT(treadle_thread_set_priority(treadle_thread_main(), 0.5), TREADLE_OK);
}

TEST_MAIN()
