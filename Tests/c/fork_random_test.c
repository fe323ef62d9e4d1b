/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * fork_random_test.c: forks in callbacks of all kinds, at any depth, while other threads post, signal and make things. Each
 * child finds everything refused, the run that it was in first; some begin a life of their own. The parent notices nothing.
 *
 * TREADLE_TEST_SEED sets what is done, though not when; TREADLE_TEST_SCALE how often. */
#include "chance.h"
#include "forked.h"

#include <sys/wait.h>

#define MODE TREADLE_DEFAULT_MODE
enum { OTHERS = 2, DEEPEST = 3 };

static treadle_loop loop;
static treadle_source source;
static atomic_bool is_over;
static atomic_long forks, posts;
static bool in_child, has_own_life;
static int depth;

static void must_be_refused(treadle_status status) {
    CHECK_INT(treadle_loop_wake(loop), status);
    CHECK_INT(treadle_source_signal(source), status);
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), status);
}
/* Whose callers see to it that the child ends. */
static void fork_here(void) {
    fflush(NULL);
    bool is_bare = chance(2) && !THREAD_SANITIZER; /* the C library's locks are as another thread left them */
    pid_t child = is_bare ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
    CHECK(child >= 0);
    if (child == 0) {
        in_child = true;
        alarm(60);
        must_be_refused(TREADLE_E_FORKED);
        if ((has_own_life = chance(2) && !is_bare)) live_anew();
        return;
    }
    int status = 1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status) check_failed(__FILE__, __LINE__, "child %ld ended with %#x", forks, (unsigned)status);
    atomic_fetch_add(&forks, 1);
}

/* The run in which a child finds itself is over, with the news; the one around it is as well. */
static void run(int64_t timeout) {
    treadle_status status = treadle_loop_run(loop, MODE, timeout, 0);
    if (!in_child) {
        CHECK(status >= 0);
        return;
    }
    CHECK_INT(status, TREADLE_E_FORKED);
    if (!has_own_life) must_be_refused(TREADLE_E_FORKED);
    if (depth == 0) _exit(0);
}
static void act(void) {
    CHECK(!in_child); /* nobody is called there any more */
    switch (chance(4)) {
    case 0: fork_here(); break;
    case 1:
        if (depth >= DEEPEST) break;
        depth++;
        run(0);
        depth--;
        break;
    default: treadle_source_signal(source);
    }
}
static void perform(treadle_source which, void *info) { (void)which, (void)info, act(); }
static void fire(treadle_timer timer, void *info) { (void)timer, (void)info, act(); }
static void notify(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    if (chance(8) == 0) act();
}
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    uint64_t count;
    (void)descriptor, (void)events;
    CHECK_INT(read(*(int *)info, &count, sizeof count), sizeof count);
    act();
}
static void posted(void *info) {
    (void)info;
    atomic_fetch_add(&posts, 1);
    if (chance(4) == 0) act();
}
static void nothing(void *info) { (void)info; }

static void *disturb(void *number) {
    begin_chance((uint64_t)(uintptr_t)number);
    while (!is_over) {
        switch (chance(4)) {
        case 0: CHECK_INT(treadle_loop_post(loop, chance(4) ? nothing : posted, NULL), TREADLE_OK); break;
        case 1: treadle_source_signal_and_wake(source); break;
        case 2: {
            treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, 0);
            CHECK_INT(treadle_loop_add(loop, timer, MODE), TREADLE_OK);
            CHECK_INT(discard(timer), TREADLE_OK);
            break;
        }
        default: treadle_thread_sleep_for(MILLISECONDS(1));
        }
    }
    return NULL;
}

TEST(children_that_return_from_a_callback_go_on_with_nothing, "RL-11") {
    if (skips_fork_among_calls("children_that_return_from_a_callback_go_on_with_nothing")) return;
    pthread_t others[OTHERS];
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), goal = scaled(300);
    choose_seed();
    begin_chance(0);
    loop = treadle_loop_current();
    source = make_source(perform, NULL);
    treadle_timer timer = make_timer(fire, NULL, 1, MILLISECONDS(1));
    treadle_observer observer = make_observer(notify, NULL, TREADLE_ALL_ACTIVITIES);
    treadle_descriptor descriptor = make_descriptor(ready, &fd, fd, TREADLE_READABLE);
    treadle_object items[] = {source, timer, observer, descriptor};
    for (int i = 0; i < 4; i++) CHECK_INT(treadle_loop_add(loop, items[i], MODE), TREADLE_OK);
    for (uintptr_t i = 0; i < OTHERS; i++) CHECK_INT(pthread_create(&others[i], NULL, disturb, (void *)(i + 1)), 0);
    while (forks < goal) {
        CHECK(write(fd, &(uint64_t){1}, 8) == 8);
        run(MILLISECONDS(2));
    }
    is_over = true;
    for (int i = 0; i < OTHERS; i++) pthread_join(others[i], NULL);
    for (int i = 0; i < 4; i++) CHECK_INT(discard(items[i]), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, "nothing", 0, 0), TREADLE_RUN_FINISHED);
    close(fd);
}

TEST_MAIN()
