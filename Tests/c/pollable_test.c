/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pollable_test.c: another loop waits for this one, here a loop of poll(), by a descriptor that is readable when there is something to
 * do. */
#include "helpers.h"

#include <poll.h>
#include <sys/eventfd.h>

static const char *const mode = TREADLE_DEFAULT_MODE, *const other = "other";
static treadle_loop loop;
static int pollable = -1;

/* Each test has a process of its own. */
static void open_pollable(void) {
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_open_pollable(loop, mode, &pollable), TREADLE_OK);
    CHECK(pollable >= 0 && fcntl(pollable, F_GETFD) == FD_CLOEXEC);
}
static bool is_readable(int timeout) {
    struct pollfd one = {.fd = pollable, .events = POLLIN};
    int result;
    while ((result = poll(&one, 1, timeout)) < 0 && errno == EINTR) {}
    return result == 1;
}
static treadle_status dispatch(void) { return treadle_loop_run(loop, mode, 0, TREADLE_RUN_WHEN_EMPTY); }
/* Until there is nothing to do. It is readable for nothing a few times at most. */
static void dispatch_all(void) {
    for (int passes = 0; is_readable(0); passes++) {
        CHECK(passes < 10);
        CHECK_INT(dispatch(), TREADLE_RUN_TIMED_OUT);
    }
}
/* What another thread, or this one, has done is told, and a pass does it. */
static atomic_int called;
static void call(void *info) { (void)info, atomic_fetch_add(&called, 1); }
static void perform(treadle_source source, void *info) { (void)source, call(info); }
static void fire(treadle_timer timer, void *info) { (void)timer, call(info); }
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    uint64_t count;
    (void)descriptor, (void)events;
    CHECK_INT(read(*(int *)info, &count, sizeof count), sizeof count);
    call(NULL);
}
#define TELLS(does, times)                                 \
    do {                                                   \
        atomic_store(&called, 0);                          \
        dispatch_all();                                    \
        CHECK_INT(atomic_load(&called), 0);                \
        does;                                              \
        do {                                               \
            CHECK(is_readable(60000));                     \
            CHECK_INT(dispatch(), TREADLE_RUN_TIMED_OUT);  \
        } while (atomic_load(&called) < (times));          \
        dispatch_all();                                    \
        CHECK_INT(atomic_load(&called), times);            \
    } while (0)

/* Everything that a loop may be asked for, by its own thread outside of runs, or by another. */
struct cast {
    treadle_source source, late;
    treadle_timer timer;
    int bell;
    void (*deed)(struct cast *);
};
static void post(struct cast *cast) { (void)cast; CHECK_INT(treadle_loop_post(loop, call, NULL), TREADLE_OK); }
static void wake(struct cast *cast) { (void)cast; CHECK_INT(treadle_loop_wake(loop), TREADLE_OK); }
static void signal_and_wake(struct cast *cast) { CHECK_INT(treadle_source_signal_and_wake(cast->source), TREADLE_OK); }
static void signal_alone(struct cast *cast) { CHECK_INT(treadle_source_signal(cast->source), TREADLE_OK); }
static void add_signalled(struct cast *cast) {
    cast->late = make_source(perform, NULL);
    CHECK_INT(treadle_source_signal(cast->late), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, cast->late, mode), TREADLE_OK);
}
static void arm(struct cast *cast) { CHECK_INT(treadle_timer_arm(cast->timer, MILLISECONDS(1)), TREADLE_OK); }
static void add_timer(struct cast *cast) {
    (void)cast;
    treadle_timer timer = make_ending_timer(fire, NULL, treadle_time_now());
    CHECK_INT(treadle_loop_add(loop, timer, mode), TREADLE_OK);
    CHECK_INT(treadle_release(timer), TREADLE_OK);
}
/* The short forms, of the owner alone. */
static void start_timer(void) { CHECK_INT(treadle_timer_start(MILLISECONDS(1), 0, fire, NULL, NULL), TREADLE_OK); }
static void call_request(void *target, void *argument) { (void)target, call(argument); }
static void perform_later(void) {
    treadle_request request = {.struct_size = sizeof request, .fn = call_request, .flags = TREADLE_PERFORM_AFTER, .delay_ns = MILLISECONDS(1)};
    CHECK_INT(treadle_perform(NULL, &request), TREADLE_OK);
}
static void read_file(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)events;
    CHECK_INT(treadle_invalidate(descriptor), TREADLE_OK);
    call(info);
}
static void start_file(void) {
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); /* a file is always ready, and in no epoll set */
    CHECK_INT(treadle_descriptor_start(fd, TREADLE_READABLE, read_file, NULL, NULL), TREADLE_OK);
}
static void ring(struct cast *cast) { CHECK_INT(write(cast->bell, &(uint64_t){1}, 8), 8); }
static void *from_elsewhere(void *info) {
    struct cast *cast = info;
    cast->deed(cast);
    return NULL;
}
static void elsewhere(struct cast *cast, void (*deed)(struct cast *)) {
    pthread_t thread;
    cast->deed = deed;
    CHECK_INT(pthread_create(&thread, NULL, from_elsewhere, cast), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST(all_that_ends_a_sleep_is_told_to_another_loop, "ABI-9 WAKE-1 BLK-2 SRC0-6 SRC0-13 TMR-9 MODE-10 SRC1-2") {
    struct cast cast = {.bell = eventfd(0, EFD_CLOEXEC)};
    open_pollable();
    CHECK(is_readable(0)); /* what was there before was told to nobody */
    cast.source = make_source(perform, NULL);
    cast.timer = make_timer(fire, NULL, FAR_AWAY, 0);
    CHECK_INT(treadle_loop_add(loop, cast.source, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, cast.timer, mode), TREADLE_OK);
    treadle_descriptor descriptor = make_descriptor(ready, &cast.bell, cast.bell, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add(loop, descriptor, mode), TREADLE_OK);
    for (int round = 0; round < 3; round++) {
        void (*const deeds[])(struct cast *) = {post, signal_and_wake, add_signalled, arm, add_timer, ring};
        for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
            TELLS(deeds[i](&cast), 1);
            if (cast.late) CHECK_INT(discard(cast.late), TREADLE_OK);
            cast.late = NULL;
            TELLS(elsewhere(&cast, deeds[i]), 1);
            if (cast.late) CHECK_INT(discard(cast.late), TREADLE_OK);
            cast.late = NULL;
        }
        TELLS(start_timer(), 1);
        TELLS(perform_later(), 1);
        TELLS(start_file(), 1);
        TELLS(wake(&cast), 0);
        TELLS(elsewhere(&cast, wake), 0);
        TELLS(signal_alone(&cast), 1); /* a thread that gives it is not asleep */
        dispatch_all();
        elsewhere(&cast, signal_alone);
        CHECK(!is_readable(0)); /* as it would not end a sleep */
        TELLS(wake(&cast), 1);
        CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
        CHECK(is_readable(60000));
        CHECK_INT(dispatch(), TREADLE_RUN_STOPPED);
    }
    dispatch_all();
    CHECK(!is_readable(20));
    discard(cast.source), discard(cast.timer), discard(descriptor);
    close(pollable);
}

TEST(what_comes_in_runs_of_other_modes_is_told, "ABI-9 RUN-12") {
    struct cast cast = {.bell = eventfd(0, EFD_CLOEXEC)};
    open_pollable();
    cast.source = make_source(perform, NULL);
    CHECK_INT(treadle_loop_add(loop, cast.source, mode), TREADLE_OK);
    treadle_descriptor descriptor = make_descriptor(ready, &cast.bell, cast.bell, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add(loop, descriptor, mode), TREADLE_OK);
    for (int round = 0; round < 3; round++) {
        TELLS((signal_and_wake(&cast), ring(&cast), treadle_loop_run(loop, other, MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY)), 2);
        TELLS((elsewhere(&cast, signal_and_wake), treadle_loop_run(loop, other, MILLISECONDS(1), 0)), 1); /* finishes at once */
    }
    discard(cast.source), discard(descriptor);
    close(pollable);
}

TEST(an_empty_mode_is_left_in_peace, "ABI-9 MODE-7 RUN-16") {
    open_pollable();
    dispatch_all();
    for (int i = 0; i < 3; i++) {
        wake(NULL);
        CHECK(is_readable(60000));
        CHECK_INT(treadle_loop_run(loop, mode, 0, 0), TREADLE_RUN_FINISHED); /* as newcomers do it */
        CHECK(!is_readable(0));
        TELLS(post(NULL), 1);
    }
    close(pollable);
}

/* Two descriptors for one mode, and one of another. */
TEST(modes_have_descriptors_of_their_own, "ABI-9") {
    int first, second, of_other;
    open_pollable();
    first = pollable;
    CHECK_INT(treadle_loop_open_pollable(loop, mode, &second), TREADLE_OK);
    CHECK_INT(treadle_loop_open_pollable(loop, other, &of_other), TREADLE_OK);
    CHECK(first != second && second != of_other);
    dispatch_all();
    treadle_source source = make_source(perform, NULL);
    CHECK_INT(treadle_loop_add(loop, source, other), TREADLE_OK);
    CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
    pollable = of_other;
    CHECK(is_readable(0));
    CHECK_INT(treadle_loop_run(loop, other, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(atomic_load(&called), 1);
    close(of_other), close(first);
    pollable = second;
    TELLS(post(NULL), 1);
    discard(source);
    close(second);
}

TEST(a_stale_entry_of_the_kernels_set_costs_no_wake, "ABI-9 SRC1-11") {
    struct cast cast = {.bell = eventfd(0, EFD_CLOEXEC)};
    open_pollable();
    treadle_descriptor descriptor = make_descriptor(ready, &cast.bell, cast.bell, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add(loop, descriptor, mode), TREADLE_OK);
    TELLS(ring(&cast), 1);
    int copy = dup(cast.bell);
    close(cast.bell);
    CHECK_INT(treadle_invalidate(descriptor), TREADLE_OK);
    cast.bell = copy;
    ring(&cast); /* nobody watches it, and the kernel still reports it */
    dispatch_all();
    for (int i = 0; i < 3; i++) TELLS(post(NULL), 1);
    TELLS(elsewhere(&cast, post), 1);
    treadle_release(descriptor);
    close(copy), close(pollable);
}

/* Posts and signals of four threads, as the other loop dispatches: none is lost, and it is never spun for nothing. */
enum { THREADS = 4, EACH = 5000 };
static void *post_many(void *info) {
    for (int i = 0; i < EACH; i++) {
        CHECK_INT(treadle_loop_post(loop, call, NULL), TREADLE_OK);
        if (i % 64 == 0) usleep(1);
    }
    return info;
}
static void nested(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    CHECK_INT(treadle_loop_run(loop, other, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
}
TEST(nothing_is_lost_between_dispatches, "ABI-9 WAKE-1 BLK-2") {
    pthread_t threads[THREADS];
    open_pollable();
    treadle_timer timer = make_timer(nested, NULL, treadle_time_now(), MILLISECONDS(1));
    CHECK_INT(treadle_loop_add(loop, timer, mode), TREADLE_OK);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, post_many, NULL), 0);
    for (int i = 0; atomic_load(&called) < THREADS * EACH; i++) {
        CHECK(is_readable(60000));
        CHECK_INT(dispatch(), TREADLE_RUN_TIMED_OUT);
        /* The other loop runs this one for a reason of its own. */
        if (i % 100 == 0) CHECK_INT(treadle_loop_run(loop, other, MILLISECONDS(1) / 10, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    }
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    discard(timer);
    close(pollable);
}

/* What is posted while the loop runs in another mode wakes that run, which does not call it: it is told behind the run. */
static atomic_int sleeps;
static void count_sleep(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    atomic_fetch_add(&sleeps, 1);
}
static void *post_and_stop(void *unused) {
    while (atomic_load(&sleeps) < 1) sched_yield();
    CHECK_INT(treadle_loop_post(loop, call, NULL), TREADLE_OK);
    while (atomic_load(&sleeps) < 2) sched_yield();
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
    return unused;
}
static int64_t prepared(void) {
    int64_t date;
    CHECK_INT(treadle_loop_prepare(loop, mode, &date), TREADLE_OK);
    return date;
}
static void expect_a_call(void) {
    CHECK(is_readable(0) && atomic_load(&called) == 0);
    CHECK_INT(prepared(), 0);
    CHECK_INT(dispatch(), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(atomic_load(&called), 1);
    dispatch_all();
    CHECK_INT(prepared(), TREADLE_FOREVER);
}
TEST(what_a_run_in_another_mode_was_woken_for_is_told, "ABI-9 WAKE-3 BLK-4") {
    pthread_t thread;
    open_pollable();
    treadle_observer_context context = {.struct_size = sizeof context, .notify = count_sleep, .activities = TREADLE_BEFORE_WAITING};
    treadle_observer observer;
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, observer, other), TREADLE_OK);
    dispatch_all();
    CHECK_INT(pthread_create(&thread, NULL, post_and_stop, NULL), 0);
    CHECK_INT(treadle_loop_run(loop, other, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_STOPPED);
    CHECK_INT(pthread_join(thread, NULL), 0);
    /* Nor does a run in a third mode change that. */
    CHECK_INT(treadle_loop_run(loop, "third", 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    expect_a_call();
    discard(observer);
    close(pollable);
}
static void call_by_request(void *target, void *argument) { (void)target, call(argument); }
TEST(a_run_in_an_empty_mode_leaves_what_waits_for_another_one, "ABI-9 WAKE-3 BLK-4 PERF-6 RUN-1") {
    int of_other = -1;
    open_pollable();
    CHECK_INT(treadle_loop_open_pollable(loop, other, &of_other), TREADLE_OK);
    dispatch_all();
    for (int i = 0; i < 4; i++) {
        atomic_store(&called, 0);
        treadle_request request = {.struct_size = sizeof request, .fn = call_by_request};
        CHECK_INT(i < 2 ? treadle_loop_post(loop, call, NULL) : treadle_perform(loop, &request), TREADLE_OK);
        CHECK_INT(treadle_loop_run(loop, other, 0, i % 2 ? TREADLE_RUN_WHEN_EMPTY : 0), i % 2 ? TREADLE_RUN_TIMED_OUT : TREADLE_RUN_FINISHED);
        expect_a_call();
    }
    close(of_other);
    close(pollable);
}

static void *open_and_leave(void *info) {
    CHECK_INT(treadle_loop_open_pollable(treadle_loop_current(), info, &pollable), TREADLE_OK);
    return NULL;
}
TEST(it_outlives_its_loop_and_costs_nothing_then, "ABI-9 RL-8") {
    pthread_t thread;
    int before = fcntl(2, F_DUPFD, 3), after;
    close(before);
    for (int i = 0; i < 200; i++) {
        CHECK_INT(pthread_create(&thread, NULL, open_and_leave, (void *)(i % 2 ? mode : other)), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK(!is_readable(0));
        close(pollable);
    }
    after = fcntl(2, F_DUPFD, 3);
    CHECK_INT(after, before);
    close(after);
}

static void *open_of_another(void *info) {
    int fd = -7;
    CHECK_ERROR(treadle_loop_open_pollable(info, mode, &fd), TREADLE_E_WRONG_THREAD, "loop");
    CHECK_INT(fd, 0);
    return NULL;
}
TEST(bad_input_opens_nothing, "ABI-9") {
    pthread_t thread;
    int fd = -7;
    loop = treadle_loop_current();
    CHECK_ERROR(treadle_loop_open_pollable(loop, NULL, &fd), TREADLE_E_ARG, "mode");
    CHECK_INT(fd, 0);
    CHECK_ERROR(treadle_loop_open_pollable(loop, TREADLE_COMMON_MODES, &fd), TREADLE_E_ARG, "mode");
    CHECK_ERROR(treadle_loop_open_pollable(loop, mode, NULL), TREADLE_E_ARG, "out_fd");
    CHECK_ERROR(treadle_loop_open_pollable(NULL, mode, &fd), TREADLE_E_ARG, "loop");
    CHECK_INT(pthread_create(&thread, NULL, open_of_another, loop), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(treadle_loop_run(loop, mode, 0, 0), TREADLE_RUN_FINISHED);
}

TEST_MAIN()
