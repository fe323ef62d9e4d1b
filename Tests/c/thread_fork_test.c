/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_fork_test.c: the child of a process with threads: clear errors, nothing of the parent's is touched, and
 * it can start again. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE

/* The thread sanitizer otherwise ends a child that makes threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

/* Runs body(info) in a child, and expects that it ends with 0. */
static void in_child(void (*body)(void *), void *info) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(100);
        body(info);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status) check_failed(__FILE__, __LINE__, "the child ended with %#x", (unsigned)status);
}
/* The same, without a leak checker's look at the child's end: what another thread had on its stack is lost there. */
static void in_unchecked_child(void (*body)(void *), void *info) {
    int pipe_ends[2];
    char answer = 0;
    fflush(NULL);
    CHECK_INT(pipe(pipe_ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(100);
        body(info);
        CHECK_INT(write(pipe_ends[1], "+", 1), 1);
        kill(getpid(), SIGKILL);
    }
    close(pipe_ends[1]);
    while (waitpid(child, &(int){0}, 0) < 0 && errno == EINTR) {}
    if (read(pipe_ends[0], &answer, 1) != 1 || answer != '+') check_failed(__FILE__, __LINE__, "the child has failed");
    close(pipe_ends[0]);
}
static void never(void *info) { (void)info, check_failed(__FILE__, __LINE__, "called in process %d", getpid()); }
static void *never_run(void *info) { return never(info), info; }
static void never_job(struct job *job) { never(job); }
static void never_fire(treadle_timer timer, void *info) { never(timer ? (void *)timer : info); }
static void never_use(void *value, void *info) { never(value ? value : info); }

/* --- Errors --------------------------------------------------------------------------------------- */

static void be_refused(void *info) {
    treadle_thread thread = info, made = (treadle_thread)&made;
    treadle_timer timer = (treadle_timer)&timer;
    struct job job;
    int releases = 0;
    CHECK(!treadle_thread_current() && !treadle_thread_main());
    CHECK(!treadle_thread_is_executing(thread) && !treadle_thread_is_finished(thread) && !treadle_thread_is_main(thread));
    CHECK_ERROR(treadle_thread_get_state(thread, &(uint32_t){0}), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_thread_stop(thread), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_thread_declare_ready(), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_thread_exit(NULL), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_thread_use_value(thread, "key", never_use, NULL), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_shutdown(0), TREADLE_E_FORKED, "fork");
    /* What is handed over is given back all the same. */
    CHECK_ERROR(create_thread(never_run, NULL, count_release, &made), TREADLE_E_FORKED, "fork");
    CHECK_INT(releases_counted, ++releases);
    CHECK(!made);
    CHECK_ERROR(treadle_thread_detach_new(never_run, NULL, count_release, NULL), TREADLE_E_FORKED, "fork");
    CHECK_INT(releases_counted, ++releases);
    CHECK_ERROR(treadle_thread_set_value(thread, "key", NULL, count_release), TREADLE_E_FORKED, "fork");
    CHECK_INT(releases_counted, ++releases);
    CHECK_ERROR(treadle_timer_start(1, 0, never_fire, NULL, &timer), TREADLE_E_FORKED, "fork");
    CHECK(!timer);
    job_make(&job, never_job, NULL);
    treadle_request request = job_request(&job);
    CHECK_ERROR(job_perform(&job, thread, 0), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(job_perform(&job, thread, TREADLE_PERFORM_WAIT), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(perform_on(thread, &request, NULL, 0, 0), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(perform_after(0, &request, NULL, 0), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(perform_in_background(&request), TREADLE_E_FORKED, "fork");
    job_check(&job, 0, 5);
    CHECK_ERROR(treadle_perform_cancel(&request), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(cancel_target(&job), TREADLE_E_FORKED, "fork");
}
static void *fork_on_a_thread(void *info) {
    in_child(be_refused, info);
    return info;
}
TEST(the_child_is_refused, "RL-11 PERF-8") {
    struct server server;
    server_start(&server);
    in_child(be_refused, server.thread);
    in_child(be_refused, treadle_thread_current());
    thread_end(thread_begin(fork_on_a_thread, server.thread)); /* whichever thread forks */
    on_thread(fork_on_a_thread, server.thread);
    server_end(&server);
}

/* --- Starting again ------------------------------------------------------------------------------- */

static treadle_thread old_threads[3]; /* the main thread's, the forking one's, a server's */
static int old_value;
static void *run_a_little(void *info) {
    CHECK_INT(treadle_thread_set_value(treadle_thread_current(), "key", info, count_release), TREADLE_OK);
    return info;
}
static void use_everything(void *unused) {
    struct server server;
    struct job job, delayed;
    struct listener exits = {0};
    uint64_t token;
    (void)unused;
    atomic_store(&releases_counted, 0);
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    CHECK(treadle_thread_current() && treadle_thread_current() == treadle_thread_main() && treadle_thread_is_main(NULL));
    CHECK(!treadle_thread_is_cancelled(treadle_thread_current()));
    for (int i = 1; i <= 5; i++) {
        CHECK(thread_end(thread_begin(run_a_little, &job)) == &job);
        CHECK_INT(exits.calls, i);
        CHECK_INT(releases_counted, i);
    }
    server_start(&server);
    await_sleep(&server.watch);
    job_make(&job, NULL, NULL);
    job_make(&delayed, NULL, NULL);
    CHECK_INT(job_perform(&job, server.thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
    CHECK_INT(job_perform(&job, treadle_thread_main(), 0), TREADLE_OK);
    treadle_request request = job_request(&delayed);
    CHECK_INT(perform_after(0, &request, NULL, 0), TREADLE_OK);
    CHECK_INT(treadle_pool_push(&token), TREADLE_OK);
    CHECK_INT(treadle_pool_add(NULL, count_release), TREADLE_OK);
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_INT(releases_counted, 6);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    server_end(&server);
    job_check(&job, 2, 2);
    job_check(&delayed, 1, 1);
    CHECK(treadle_is_multithreaded());
    CHECK_INT(treadle_notification_remove(exits.token), TREADLE_OK);
}
static void must_be_gone(void) {
    void *value;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_thread_get_state(old_threads[i], &(uint32_t){0}), TREADLE_E_STALE);
        CHECK_INT(treadle_thread_get_value(old_threads[i], "key", &value), TREADLE_E_STALE);
        CHECK_INT(treadle_thread_join(old_threads[i], TREADLE_FOREVER, NULL), TREADLE_E_STALE);
    }
}
static void start_again(void *unused) {
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    must_be_gone();
    for (int i = 0; i < 3; i++) CHECK(treadle_thread_current() != old_threads[i]);
    CHECK_INT(treadle_thread_get_value(treadle_thread_current(), "key", &(void *){0}), TREADLE_E_NOT_FOUND);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED); /* nothing is queued here */
    use_everything(unused);
    must_be_gone();
}
static pid_t parent;
static void release_in_parent(void *info) {
    (void)info;
    if (getpid() != parent) never(info);
    atomic_fetch_add(&releases_counted, 1);
}
static void hear_in_parent(uint32_t name, void *object, void *info) {
    (void)name, (void)object, (void)info;
    if (getpid() != parent) never(object);
}
static void perform_in_parent(void *target, void *argument) { (void)argument, release_in_parent(target); }
/* What the child must not see: a value, a pool, a registration, requests of each kind. */
static void *fork_with_much(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform_in_parent, .release_target = release_in_parent};
    uint64_t token, pool;
    old_threads[1] = treadle_thread_current();
    CHECK_INT(treadle_thread_set_value(old_threads[1], "key", &old_value, release_in_parent), TREADLE_OK);
    CHECK_INT(add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, hear_in_parent, NULL, NULL, &token), TREADLE_OK);
    CHECK_INT(treadle_pool_push(&pool), TREADLE_OK);
    CHECK_INT(treadle_pool_add(NULL, release_in_parent), TREADLE_OK);
    CHECK_INT(perform_on(old_threads[1], &request, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(perform_after(0, &request, NULL, 0), TREADLE_OK);
    atomic_store(&releases_counted, 0);
    /* The child makes threads, in which the thread sanitizer may find a lock of its own that another thread held. */
    for (int i = 0; !THREAD_SANITIZER && i < 2; i++) in_child(start_again, NULL);
    CHECK_INT(releases_counted, 0);
    CHECK_INT(treadle_pool_pop(pool), TREADLE_OK);
    CHECK_INT(releases_counted, 1);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(releases_counted, 5); /* two functions, two targets */
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
    CHECK_INT(treadle_thread_remove_value(old_threads[1], "key"), TREADLE_OK);
    return info;
}
TEST(the_child_starts_again, "RL-11 PERF-8 THR-10 THR-12") {
    struct server server;
    struct job job;
    parent = getpid();
    server_start(&server);
    old_threads[0] = treadle_thread_main();
    old_threads[2] = server.thread;
    fork_with_much(NULL); /* by the main thread, one of Treadle's, one of others: in the child each is the main one */
    thread_end(thread_begin(fork_with_much, NULL));
    on_thread(fork_with_much, NULL);
    job_make(&job, NULL, NULL); /* the parent is as it was */
    CHECK_INT(job_perform(&job, server.thread, TREADLE_PERFORM_WAIT), TREADLE_OK);
    server_end(&server);
    use_everything(NULL);
}

/* --- Threads of the parent in the child ----------------------------------------------------------- */

/* The thread that forked ends in the child. */
static void leave_the_thread(void *again) {
    if (again) CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    pthread_exit(NULL);
}
static void *fork_and_leave(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform_in_parent, .release_target = release_in_parent};
    treadle_thread self = treadle_thread_current();
    CHECK_INT(treadle_thread_set_value(self, "key", &old_value, release_in_parent), TREADLE_OK);
    CHECK_INT(perform_on(self, &request, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(treadle_pool_add(NULL, release_in_parent), TREADLE_OK);
    in_child(leave_the_thread, NULL);
    in_child(leave_the_thread, "");
    return info;
}
TEST(the_end_of_a_thread_in_the_child, "RL-11 RL-8 THR-14") {
    uint64_t token;
    if (THREAD_SANITIZER) return; /* it does not survive that a thread ends in the child */
    parent = getpid();
    CHECK_INT(add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, hear_in_parent, NULL, NULL, &token), TREADLE_OK);
    thread_end(thread_begin(fork_and_leave, NULL));
    CHECK_INT(releases_counted, 3); /* in the parent, all of it */
    on_thread(fork_and_leave, NULL);
    CHECK_INT(releases_counted, 6);
}

/* --- Locks ---------------------------------------------------------------------------------------- */

static atomic_bool over;
static struct server target;
static void *keep_locking(void *info) {
    int which = *(int *)info;
    treadle_request request = {.struct_size = sizeof request, .fn = perform_in_parent, .target = NULL};
    while (!atomic_load(&over)) {
        if (which == 0) {
            thread_end(thread_begin(run_a_little, NULL));
        } else if (which == 1) {
            CHECK_INT(perform_on(target.thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
        } else {
            CHECK_INT(treadle_thread_set_value(target.thread, "key", NULL, count_release), TREADLE_OK);
            CHECK_INT(treadle_thread_set_name(target.thread, "name"), TREADLE_OK);
            CHECK_INT(perform_after(SECONDS(1), &request, NULL, 0), TREADLE_OK);
            CHECK_INT(cancel_target(NULL), TREADLE_OK);
        }
    }
    return NULL;
}
static void must_not_hang(void *unused) {
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    use_everything(unused);
}
TEST(forks_while_other_threads_hold_locks, "RL-11 OBJ-6") {
    if (skips_fork_among_calls("forks_while_other_threads_hold_locks")) return;
    static int which[] = {0, 1, 2};
    pthread_t threads[3];
    parent = getpid();
    server_start(&target);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&threads[i], NULL, keep_locking, &which[i]), 0);
    for (int i = scaled(150); i > 0; i--) in_unchecked_child(must_not_hang, NULL);
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    server_end(&target);
}

TEST_MAIN()
