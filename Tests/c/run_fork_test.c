/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * run_fork_test.c: a callback forks, and in the child returns into the parent's run: that ends there, and calls nobody. */
#include "forked.h"
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE

/* A hidden fork is one that the C library does not see. */
static bool is_hidden, has_own_life, in_child;
static treadle_loop loop;
static treadle_timer timer;

static void must_be_refused(treadle_status status) {
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    CHECK_INT(treadle_loop_wake(loop), status);
    CHECK_INT(treadle_timer_invalidate(timer), status);
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), status);
    treadle_last_error(&error);
    CHECK_INT(error.code, status);
}
static void fork_here(void) {
    fflush(NULL);
    pid_t child = is_hidden ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
    CHECK(child >= 0);
    if (child == 0) {
        in_child = true;
        alarm(60);
        must_be_refused(TREADLE_E_FORKED);
        CHECK(!treadle_loop_current() && !treadle_thread_current());
        if (has_own_life) live_anew();
        return;
    }
    int status = 1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status) check_failed(__FILE__, __LINE__, "the child ended with %#x", (unsigned)status);
}
/* The call around the callback that forked: in the child it ends with the news, and so does the child. */
static void must_come_to(treadle_status status, treadle_status in_parent) {
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    if (!in_child) {
        CHECK_INT(status, in_parent);
        return;
    }
    CHECK_INT(status, TREADLE_E_FORKED);
    treadle_last_error(&error);
    CHECK_INT(error.code, TREADLE_E_FORKED);
    if (has_own_life) CHECK(treadle_loop_current() && treadle_loop_current() != loop);
    else must_be_refused(TREADLE_E_FORKED);
    _exit(0);
}
static void in_each_way(void (*scene)(void)) {
    loop = treadle_loop_current();
    for (int i = 0; i < 4; i++) {
        is_hidden = i & 1, has_own_life = i & 2;
        /* A child that it was not told of finds the thread sanitizer's own locks as they were. */
        if (is_hidden && THREAD_SANITIZER) continue;
        scene();
    }
}

/* --- Callbacks of each kind ----------------------------------------------------------------------- */

/* Every callback counts itself; the one whose turn it is forks. */
static int calls, turn;
static void call(void) {
    CHECK(!in_child);
    if (++calls == turn) fork_here();
}
static void on_source(treadle_source source, void *info) { (void)source, (void)info, call(); }
static void on_timer(treadle_timer fired, void *info) { (void)fired, (void)info, call(); }
static void on_observer(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info, call(); }
static void on_descriptor(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info, call(); }
static void on_info(void *info) { (void)info, call(); }
static void on_job(void *target, void *argument) { (void)argument, on_info(target); }

/* One pass meets something of each kind, and each observer's activities; its callbacks fork one after the other. */
static void fork_in_each_callback(void) {
    enum { PASSES = 2 };
    treadle_source_context context = {.struct_size = sizeof context, .perform = on_source, .release = on_info};
    treadle_request request = {.struct_size = sizeof request, .fn = on_job, .release_target = on_info};
    treadle_post block = {.struct_size = sizeof block, .fn = on_info, .destroy = on_info};
    treadle_source source;
    int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC), callbacks = 0;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    timer = make_timer(on_timer, NULL, treadle_time_now(), 1);
    treadle_observer observer = make_observer(on_observer, NULL, TREADLE_ALL_ACTIVITIES);
    treadle_descriptor descriptor = make_descriptor(on_descriptor, NULL, fd, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
    for (turn = 0; turn <= callbacks; turn++) {
        calls = 0;
        for (int i = 0; i < PASSES; i++) {
            CHECK_INT(treadle_source_signal(source), TREADLE_OK);
            CHECK_INT(post_block(loop, &block), TREADLE_OK);
            CHECK_INT(treadle_loop_post(loop, on_info, NULL), TREADLE_OK);
            CHECK_INT(perform_on(treadle_thread_current(), &request, NULL, 0, 0), TREADLE_OK);
            must_come_to(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
        }
        if (turn == 0) callbacks = calls; /* the first time nobody forks */
        CHECK(calls >= PASSES * 8);
    }
    turn = 0;
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    treadle_source_release(source), treadle_timer_release(timer), treadle_observer_release(observer), treadle_descriptor_release(descriptor);
    CHECK_INT(close(fd), 0);
}
TEST(a_run_ends_in_the_child_of_any_callback, "RL-11 RUN-1") { in_each_way(fork_in_each_callback); }

/* What a pass's pool releases forks, at the beginning of a run and at the end of a pass. */
static void on_pooled(void *which) {
    if (which == &turn) call();
}
static void pool_it(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    CHECK(!in_child);
    CHECK_INT(treadle_pool_add(info, on_pooled), TREADLE_OK);
}
static void fork_in_releases(void) {
    timer = make_timer(on_timer, NULL, treadle_time_now(), 1);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    for (uint32_t activity = TREADLE_ENTRY; activity; activity = activity == TREADLE_ENTRY ? TREADLE_BEFORE_SOURCES : 0) {
        treadle_observer observer = make_observer(pool_it, &turn, activity);
        CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
        calls = 0, turn = activity == TREADLE_ENTRY ? 1 : 2; /* behind the timer */
        must_come_to(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(calls, 2);
        CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
        CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    }
    turn = 0;
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}
TEST(a_run_ends_in_the_child_of_what_its_pool_releases, "RL-11 POOL-5") { in_each_way(fork_in_releases); }

/* --- Runs that would sleep, runs inside of runs --------------------------------------------------- */

static int depth;
static void run_deeper(treadle_timer fired, void *info) {
    (void)fired, (void)info;
    CHECK(!in_child);
    if (--depth == 0) {
        fork_here();
    } else {
        treadle_timer inner = make_timer(run_deeper, NULL, treadle_time_now(), 0);
        CHECK_INT(treadle_loop_add_timer(loop, inner, MODE), TREADLE_OK);
        treadle_status status = treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0);
        CHECK_INT(status, in_child ? TREADLE_E_FORKED : TREADLE_RUN_STOPPED);
        if (!in_child) CHECK_INT(treadle_timer_release(inner), TREADLE_OK);
    }
    if (!in_child) CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
}
static void fork_at_depths(void) {
    for (int deepest = 1; deepest <= 3; deepest++) {
        depth = deepest;
        timer = make_timer(run_deeper, NULL, treadle_time_now(), 0);
        CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
        must_come_to(treadle_loop_run_default(loop), TREADLE_RUN_STOPPED);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
}
TEST(all_runs_end_in_the_child_of_the_innermost, "RL-11 RUN-13") { in_each_way(fork_at_depths); }

/* A signal handler forks while the loop sleeps: the child does not go on to sleep in the parent's kernel set. */
static atomic_bool was_handled;
static pthread_t sleeper;
static void on_signal(int number) {
    (void)number;
    pid_t child = is_hidden ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
    if (child == 0) in_child = true, alarm(60);
    else atomic_store(&was_handled, true);
}
static void *interrupt(void *watch) {
    await_sleep(watch);
    CHECK_INT(pthread_kill(sleeper, SIGUSR1), 0);
    while (!atomic_load(&was_handled)) sched_yield();
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    return watch;
}
static void fork_in_sleeps(void) {
    if (has_own_life) return;
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
    timer = make_timer(NULL, NULL, INT64_MAX - 1, 0);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    for (int in_kernel_set = 0; in_kernel_set < 2; in_kernel_set++) {
        struct sleep_watch watch;
        pthread_t thread;
        int status = 1;
        if (in_kernel_set) CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
        watch_sleep(&watch, loop, MODE);
        atomic_store(&was_handled, false);
        CHECK_INT(pthread_create(&thread, NULL, interrupt, &watch), 0);
        must_come_to(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
        CHECK_INT(pthread_join(thread, NULL), 0);
        unwatch_sleep(&watch);
        while (wait(&status) < 0 && errno == EINTR) {}
        CHECK_INT(status, 0);
    }
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    treadle_timer_release(timer), treadle_descriptor_release(descriptor);
    CHECK_INT(close(fd), 0);
}
TEST(a_sleep_ends_in_the_child_of_a_signal_handler, "RL-11 PASS-10") {
    struct sigaction action = {.sa_handler = on_signal};
    sleeper = pthread_self();
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    in_each_way(fork_in_sleeps);
}

/* --- Callbacks outside of runs -------------------------------------------------------------------- */

static void perform_here(void) {
    treadle_request request = {.struct_size = sizeof request, .fn = on_job, .release_target = on_info};
    calls = 0, turn = 1;
    must_come_to(perform_on(treadle_thread_current(), &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    CHECK_INT(calls, 2);
}
static void fire_here(void) {
    treadle_timer fired = make_timer(on_timer, NULL, treadle_time_now(), 0);
    calls = 0, turn = 1;
    must_come_to(treadle_timer_fire(fired), TREADLE_OK);
    CHECK_INT(treadle_timer_release(fired), TREADLE_OK);
}
TEST(what_is_called_at_once_ends_in_the_child_too, "RL-11 PERF-2 PERF-8") {
    timer = make_timer(NULL, NULL, 0, 0);
    in_each_way(perform_here);
    in_each_way(fire_here);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}

/* --- Other threads' locks ------------------------------------------------------------------------- */

static atomic_bool is_over;
static void do_nothing(void *info) { (void)info; }
static void *disturb(void *info) {
    treadle_source source = make_source(NULL, NULL);
    treadle_timer moved = make_timer(NULL, NULL, INT64_MAX - 1, 0);
    while (!atomic_load(&is_over)) {
        CHECK_INT(treadle_loop_post(loop, do_nothing, NULL), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(loop, moved, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_remove_timer(loop, moved, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_remove_source(loop, source, MODE), TREADLE_OK);
    }
    treadle_source_release(source), treadle_timer_release(moved);
    return info;
}
static void fork_and_stop(treadle_timer fired, void *info) {
    (void)fired, (void)info;
    CHECK(!in_child);
    fork_here();
    if (!in_child) CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
}
TEST(locks_that_others_held_do_not_hold_the_child_up, "RL-11 OBJ-6") {
    if (skips_fork_among_calls("locks_that_others_held_do_not_hold_the_child_up")) return;
    pthread_t thread;
    loop = treadle_loop_current();
    CHECK_INT(pthread_create(&thread, NULL, disturb, NULL), 0);
    for (int i = scaled(300); i > 0; i--) {
        timer = make_timer(fork_and_stop, NULL, treadle_time_now(), 0);
        CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
        must_come_to(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
    atomic_store(&is_over, true);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST_MAIN()
