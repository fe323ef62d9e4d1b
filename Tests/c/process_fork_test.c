/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process_fork_test.c: pools, notifications, the last-resort handler and locks in the child of a fork. */
#include "helpers.h"

#define WILL_EXIT TREADLE_NOTIFY_THREAD_WILL_EXIT

/* The thread sanitizer otherwise ends a child that makes threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

/* The address sanitizer keeps freed memory under a lock of its own, which a child may inherit locked: its first thread to end
 * would wait for that for ever. Without such a store nobody takes the lock. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"; }

static pid_t parent;
static pid_t fork_child(void) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) alarm(60); /* the watchdog is not inherited */
    return child;
}
static void child_must_succeed(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK_INT(status, 0);
}
static void in_child(void (*body)(void *), void *info) {
    pid_t child = fork_child();
    if (child == 0) {
        body(info);
        _exit(0);
    }
    child_must_succeed(child);
}

/* What belongs to the parent and must not be called in a child. */
static void only_in_parent(void *info) {
    if (getpid() != parent) _exit(7);
    trace("%s", (const char *)info);
}
static void told_in_parent(uint32_t name, void *object, void *info) {
    (void)name, (void)object;
    only_in_parent(info);
}
static bool asked_in_parent(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message;
    only_in_parent(info);
    return true;
}

static struct {
    uint64_t pool, notification;
    treadle_lock lock;
    treadle_condition condition;
} theirs;
static void make_theirs(void) {
    parent = getpid();
    CHECK_INT(treadle_pool_add("base", only_in_parent), TREADLE_OK);
    CHECK_INT(treadle_pool_push(&theirs.pool), TREADLE_OK);
    CHECK_INT(treadle_pool_add("pool", only_in_parent), TREADLE_OK);
    CHECK_INT(add_notification(WILL_EXIT, NULL, told_in_parent, "told", only_in_parent, &theirs.notification), TREADLE_OK);
    CHECK_INT(treadle_set_last_resort(asked_in_parent, "asked", only_in_parent), TREADLE_OK);
    CHECK_INT(treadle_lock_create(0, &theirs.lock), TREADLE_OK);
    CHECK_INT(treadle_condition_create(&theirs.condition), TREADLE_OK);
    CHECK_INT(treadle_lock_lock(theirs.lock, TREADLE_FOREVER), TREADLE_OK);
}
static void *have_an_object(void *unused) { return (void)unused, treadle_thread_current(); }
static void must_be_whole(void) {
    CHECK_TRACE("");
    CHECK_INT(treadle_pool_pop(theirs.pool), TREADLE_OK);
    CHECK_TRACE("pool");
    on_thread(have_an_object, NULL);
    CHECK_TRACE("told");
    CHECK_INT(treadle_report_error("kind", "message"), TREADLE_OK);
    CHECK_TRACE("asked");
    CHECK_INT(treadle_notification_remove(theirs.notification), TREADLE_OK);
    CHECK_TRACE("told");
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK_TRACE("asked");
    CHECK_INT(treadle_lock_unlock(theirs.lock), TREADLE_OK);
    CHECK_INT(treadle_lock_release(theirs.lock), TREADLE_OK);
    CHECK_INT(treadle_condition_release(theirs.condition), TREADLE_OK);
}

static int destroyed, released;
static void count_destroyed(void *info) { (void)info, destroyed++; }
static void count_released(void *info) { (void)info, released++; }
static void told(uint32_t name, void *object, void *info) { (void)name, (void)object, ++*(int *)info; }
static bool asked(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message;
    return ++*(int *)info, true;
}

/* Before treadle_after_fork_child everything is refused, and what was offered is given back. */
static void must_refuse(void *unused) {
    uint64_t token = 9;
    (void)unused;
    CHECK_ERROR(treadle_pool_push(&token), TREADLE_E_FORKED, "fork");
    CHECK_INT(token, 0);
    CHECK_ERROR(treadle_pool_add(NULL, count_released), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_pool_pop(theirs.pool), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(add_notification(WILL_EXIT, NULL, told, NULL, count_destroyed, &token), TREADLE_E_FORKED, "fork");
    CHECK_INT(destroyed, 1);
    CHECK_ERROR(treadle_notification_remove(theirs.notification), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_set_last_resort(asked, NULL, count_destroyed), TREADLE_E_FORKED, "fork");
    CHECK_INT(destroyed, 2);
    CHECK_ERROR(treadle_report_error("kind", "message"), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_lock_lock(theirs.lock, 0), TREADLE_E_FORKED, "fork");
    CHECK_ERROR(treadle_lock_unlock(theirs.lock), TREADLE_E_FORKED, "fork");
    CHECK(treadle_lock_get_pthread_mutex(theirs.lock) == NULL);
    CHECK_ERROR(treadle_condition_signal(theirs.condition), TREADLE_E_FORKED, "fork");
    CHECK_INT(released, 0);
}
TEST(a_child_is_refused, "RL-11 POOL-2 NOTE-1 THR-19 THR-20") {
    make_theirs();
    in_child(must_refuse, NULL);
    must_be_whole();
}

/* Everything works anew. */
static void use_everything(void) {
    uint64_t token = 0, notification = 0;
    int calls = 0;
    treadle_lock lock;
    treadle_condition condition;
    destroyed = released = 0;
    CHECK_INT(treadle_pool_push(&token), TREADLE_OK);
    CHECK_INT(treadle_pool_add(NULL, count_released), TREADLE_OK);
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_INT(released, 1);
    CHECK_INT(add_notification(WILL_EXIT, NULL, told, &calls, count_destroyed, &notification), TREADLE_OK);
    on_thread(have_an_object, NULL);
    CHECK_INT(calls, 1);
    CHECK_INT(treadle_notification_remove(notification), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    CHECK_INT(treadle_set_last_resort(asked, &calls, count_destroyed), TREADLE_OK);
    CHECK_INT(treadle_report_error("kind", "message"), TREADLE_OK);
    CHECK_INT(calls, 2);
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK_INT(destroyed, 2);
    CHECK_INT(treadle_lock_create(0, &lock), TREADLE_OK);
    CHECK_INT(treadle_condition_create(&condition), TREADLE_OK);
    CHECK_INT(treadle_lock_lock(lock, 0), TREADLE_OK);
    CHECK_INT(treadle_condition_wait(condition, lock, 1), TREADLE_E_TIMEOUT);
    CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
    CHECK_INT(treadle_condition_release(condition), TREADLE_OK);
}
static void start_again(void *ends_thread) {
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    CHECK_ERROR(treadle_pool_pop(theirs.pool), TREADLE_E_ARG, "token");
    CHECK_ERROR(treadle_notification_remove(theirs.notification), TREADLE_E_NOT_FOUND, "token");
    CHECK_ERROR(treadle_lock_lock(theirs.lock, 0), TREADLE_E_STALE, "lock");
    CHECK_ERROR(treadle_condition_signal(theirs.condition), TREADLE_E_STALE, "condition");
    on_thread(have_an_object, NULL); /* nobody is told */
    for (int i = 0; i < 3; i++) use_everything();
    CHECK_ERROR(treadle_pool_pop(theirs.pool), TREADLE_E_ARG, "token");
    CHECK_ERROR(treadle_notification_remove(theirs.notification), TREADLE_E_NOT_FOUND, "token");
    if (ends_thread && !THREAD_SANITIZER) pthread_exit(NULL);
}
static void just_end(void *unused) { pthread_exit(unused); }
TEST(a_child_starts_again_without_what_the_parent_had, "RL-11 POOL-2 NOTE-1 THR-19 THR-20") {
    make_theirs();
    in_child(start_again, NULL);
    must_be_whole();
}
static void *fork_on_a_thread(void *unused) {
    make_theirs();
    in_child(start_again, "and end the thread");
    if (!THREAD_SANITIZER) in_child(just_end, NULL);
    must_be_whole();
    return unused;
}
TEST(the_end_of_a_child_s_thread_releases_nothing_of_the_parent_s, "RL-11 POOL-2") {
    on_thread(fork_on_a_thread, NULL);
    CHECK_TRACE("base");
}

/* --- Forks in the middle -------------------------------------------------------------------------- */

static pid_t forked = -1;
static void fork_here(void *starts_again) {
    only_in_parent("fork");
    forked = fork_child();
    if (forked == 0 && starts_again) {
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        use_everything();
        CHECK_INT(treadle_pool_add(NULL, count_released), TREADLE_OK);
    }
}
static void told_and_fork(uint32_t name, void *object, void *info) { (void)name, (void)object, fork_here(info); }
static bool asked_and_fork(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message;
    return fork_here(info), true;
}

TEST(a_fork_in_a_release, "RL-11 POOL-5") {
    parent = getpid();
    for (int again = 0; again < 2; again++) {
        uint64_t token;
        CHECK_INT(treadle_pool_push(&token), TREADLE_OK);
        CHECK_INT(treadle_pool_add("first", only_in_parent), TREADLE_OK);
        CHECK_INT(treadle_pool_add(again ? "" : NULL, fork_here), TREADLE_OK);
        treadle_status status = treadle_pool_pop(token);
        if (forked == 0) {
            CHECK(treadle_pool_pop(token) < 0);
            CHECK_INT(released, again); /* what the child added waits */
            _exit(0);
        }
        CHECK_INT(status, TREADLE_OK);
        CHECK_TRACE("fork first");
        child_must_succeed(forked);
    }
}

/* Run on a thread: with what is behind the fork in a child. */
static void *fork_in_a_notification(void *again) {
    uint64_t tokens[3];
    CHECK_INT(add_notification(WILL_EXIT, NULL, told_in_parent, "before", only_in_parent, &tokens[0]), TREADLE_OK);
    CHECK_INT(add_notification(WILL_EXIT, NULL, told_and_fork, again, NULL, &tokens[1]), TREADLE_OK);
    CHECK_INT(add_notification(WILL_EXIT, NULL, told_in_parent, "behind", only_in_parent, &tokens[2]), TREADLE_OK);
    on_thread(have_an_object, NULL); /* the child comes out of it as an ending thread */
    CHECK_TRACE("before fork behind");
    child_must_succeed(forked);
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_notification_remove(tokens[i]), TREADLE_OK);
    CHECK_TRACE("before behind");
    return NULL;
}
TEST(a_fork_in_a_notification, "RL-11 NOTE-1") {
    if (THREAD_SANITIZER) return; /* it does not survive that a thread ends in the child */
    parent = getpid();
    fork_in_a_notification(NULL);
    fork_in_a_notification("");
}

TEST(a_fork_in_the_last_resort, "RL-11 THR-19") {
    parent = getpid();
    for (int again = 0; again < 2; again++) {
        CHECK_INT(treadle_set_last_resort(asked_and_fork, again ? "" : NULL, NULL), TREADLE_OK);
        treadle_status status = treadle_report_error("kind", "message");
        if (forked == 0) _exit(status == TREADLE_OK ? 0 : 8);
        CHECK_INT(status, TREADLE_OK);
        child_must_succeed(forked);
        CHECK_TRACE("fork");
    }
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
}

/* Other threads are inside of everything at the moment of the fork. */
static atomic_int over;
static void count_nothing(void *info) { (void)info; }
static void told_nothing(uint32_t name, void *object, void *info) { (void)name, (void)object, (void)info; }
static void *keep_busy(void *unused) {
    while (!atomic_load(&over)) {
        uint64_t token;
        CHECK_INT(add_notification(WILL_EXIT, NULL, told_nothing, NULL, NULL, &token), TREADLE_OK);
        CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
        CHECK_INT(treadle_set_last_resort(NULL, NULL, count_nothing), TREADLE_OK);
    }
    return unused;
}
/* Ends by a signal: what threads that are not in the child were just about to use is no leak to be reported. */
static void must_not_hang(void) {
    pid_t child = fork_child();
    int status = 0;
    if (child == 0) {
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        use_everything();
        kill(getpid(), SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGKILL);
}
TEST(a_fork_while_other_threads_hold_the_locks, "RL-11 OBJ-6") {
    if (skips_fork_among_calls("a_fork_while_other_threads_hold_the_locks")) return;
    pthread_t threads[2];
    parent = getpid();
    CHECK(treadle_loop_current()); /* a process that does not use Treadle yet has no such children */
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, keep_busy, NULL), 0);
    for (int i = scaled(100); i > 0; i--) must_not_hang();
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

TEST_MAIN()
