/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * kernel_calls_test.c: how often the kernel is asked. The test program stands between the library and
 * the C library's functions that enter the kernel, and counts. */
#include "helpers.h"

#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

#if !THREAD_SANITIZER && !ADDRESS_SANITIZER /* which stand there themselves */

static atomic_int waits, wakes, receives, all_calls;

static int registrations, looks;
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    static int (*real)(int, int, int, struct epoll_event *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "epoll_ctl");
    registrations++;
    return real(epoll, operation, fd, event);
}
int fcntl(int fd, int command, ...) {
    static int (*real)(int, int, ...);
    va_list arguments;
    va_start(arguments, command);
    long argument = command == F_GETFD ? 0 : va_arg(arguments, long);
    va_end(arguments);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fcntl");
    looks++;
    return real(fd, command, argument);
}
long syscall(long number, ...) {
    static long (*real)(long, ...);
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    atomic_fetch_add(&all_calls, 1);
    if (number == SYS_epoll_pwait) atomic_fetch_add(&waits, 1);
    if (number == SYS_recvmsg) atomic_fetch_add(&receives, 1);
    if (number == SYS_write) atomic_fetch_add(&wakes, 1); /* of the eventfd */
    if (number == SYS_futex) atomic_fetch_add((a[1] & 127) == 1 /* FUTEX_WAKE */ ? &wakes : &waits, 1);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int slack_sets;
static unsigned long slack_set;
int prctl(int option, ...) {
    static int (*real)(int, ...);
    unsigned long a[4];
    va_list arguments;
    va_start(arguments, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "prctl");
    if (option == PR_SET_TIMERSLACK) slack_sets++, slack_set = a[0];
    return real(option, a[0], a[1], a[2], a[3]);
}
static int slack_now(void) { return prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); }

static int timer_sets;
int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "timerfd_settime");
    timer_sets++;
    return real(fd, flags, new, old);
}

enum { MANY = 1000 };
static treadle_source source;
static int performed, posted;
static void on_perform(treadle_source self, void *info) {
    (void)self, (void)info;
    performed++;
}
static void on_post(void *info) {
    (void)info;
    posted++;
}
static void *post_and_signal(void *loop) {
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(treadle_loop_post(loop, on_post, NULL), TREADLE_OK);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    }
    return NULL;
}
static void let_another_thread_call(void *loop) {
    pthread_t thread;
    int before = atomic_load(&wakes);
    CHECK_INT(pthread_create(&thread, NULL, post_and_signal, loop), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(atomic_load(&wakes) - before, 0);
}

TEST(a_loop_that_is_awake_is_woken_without_a_system_call, "WAKE-1 SRC0-6 BLK-2") {
    treadle_loop loop = treadle_loop_current();
    source = make_source(on_perform, NULL);
    CHECK_INT(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, let_another_thread_call, loop), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE),
              TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(posted, MANY);
    CHECK_INT(performed, 1);
}

static int passes, handled;
static void count_pass(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    passes++;
}
static void read_and_write_again(treadle_descriptor descriptor, uint32_t events, void *info) {
    int *ends = info;
    char byte;
    (void)descriptor, (void)events;
    CHECK_INT(read(ends[0], &byte, 1), 1);
    if (++handled == MANY) CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
    else CHECK_INT(write(ends[1], "x", 1), 1);
}

/* A timer that is always due, in a loop that watches a descriptor too: the kernel's timer is not set for it, and the kernel is
 * asked no more than once a pass, for the descriptor. */
static int fired;
static void fire_again(treadle_timer timer, void *info) {
    (void)info;
    if (++fired == MANY) CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
    else CHECK_INT(treadle_timer_set_next_fire(timer, fired % 2 ? 1 : treadle_time_now() - 1), TREADLE_OK);
}
TEST(a_due_timer_sets_no_timer_of_the_kernel_s, "PASS-10 TMR-8") {
    treadle_loop loop = treadle_loop_current();
    treadle_descriptor descriptor = make_descriptor(ready_for_nothing, NULL, eventfd(0, EFD_CLOEXEC), TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, TREADLE_DEFAULT_MODE), TREADLE_OK);
    treadle_observer observer = make_observer(count_pass, NULL, TREADLE_BEFORE_TIMERS);
    CHECK_INT(treadle_loop_add_observer(loop, observer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    for (int flags = 0; flags < 2; flags++) {
        armed_timer(fire_again, NULL, NULL, 1, 0);
        int before = atomic_load(&waits);
        fired = passes = timer_sets = 0;
        CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, flags ? TREADLE_RUN_RETURN_ON_INTERRUPT : 0), TREADLE_RUN_STOPPED);
        CHECK_INT(fired, MANY);
        CHECK_INT(timer_sets, 0);
        CHECK(atomic_load(&waits) - before <= passes * (1 + flags));
    }
}

/* A sleep ends on time, and threads and children that callbacks start inherit nothing of that. */
static void *slack_of_thread(void *unused) { return (void)unused, (void *)(intptr_t)slack_now(); }
static void look_at_slack(treadle_timer timer, void *slack) {
    (void)timer;
    CHECK_INT(slack_now(), *(int *)slack);
    CHECK_INT((intptr_t)on_thread(slack_of_thread, NULL), *(int *)slack);
    CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
static void *stop_it_asleep(void *info) {
    struct sleep_watch *watch = info;
    while (!is_asleep(watch)) sched_yield();
    CHECK_INT(treadle_loop_stop(watch->loop), TREADLE_OK);
    return NULL;
}
TEST(a_sleep_has_no_timer_slack_and_leaves_none_behind, "RUN-14 TMR-22") {
    treadle_loop loop = treadle_loop_current();
    struct sleep_watch watch;
    pthread_t stopper;
    int slack = slack_now();
    CHECK(slack > 1 && slack_sets == 0);
    armed_timer(look_at_slack, &slack, NULL, treadle_time_now() + MILLISECONDS(20), 0);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK(slack_sets >= 2 && slack_sets % 2 == 0);
    CHECK_INT(slack_set, slack);
    /* For a date that is far away the kernel is not asked. */
    int before = slack_sets;
    armed_timer(look_at_slack, &slack, NULL, treadle_time_now() + SECONDS(1000), 0);
    watch_sleep(&watch, loop, TREADLE_DEFAULT_MODE);
    CHECK_INT(pthread_create(&stopper, NULL, stop_it_asleep, &watch), 0);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(pthread_join(stopper, NULL), 0);
    CHECK(slack_sets == before && slack_now() == slack);
}

TEST(a_pass_waits_in_the_kernel_once, "PASS-8 PASS-10 PASS-12") {
    treadle_loop loop = treadle_loop_current();
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
    context.fd = ends[0];
    context.events = TREADLE_READABLE;
    context.ready = read_and_write_again;
    context.info = ends;
    treadle_descriptor descriptor;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, TREADLE_DEFAULT_MODE), TREADLE_OK);
    treadle_observer observer = make_observer(count_pass, NULL, TREADLE_BEFORE_TIMERS);
    CHECK_INT(treadle_loop_add_observer(loop, observer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(write(ends[1], "x", 1), 1);
    int before = atomic_load(&waits);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(handled, MANY);
    CHECK(passes >= MANY);
    CHECK(atomic_load(&waits) - before <= passes);
}

/* Descriptors come and go; `stays_open`: not those, but their sources. */
static void count_and_stop(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events, (void)info;
    handled++;
    CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
static int calls_of_lives(bool stays_open) {
    treadle_descriptor descriptor = NULL;
    int before = 0, fd = -1;
    handled = 0;
    for (int i = 0; i <= MANY; i++) {
        if (i == 1) before = registrations, looks = 0; /* the mode's set is made with the first */
        if (fd < 0) CHECK((fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
        CHECK_INT(treadle_descriptor_start(fd, TREADLE_READABLE, count_and_stop, NULL, &descriptor), TREADLE_OK);
        CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_STOPPED);
        CHECK_INT(discard(descriptor), TREADLE_OK);
        if (stays_open) {
            treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0);
        } else {
            CHECK_INT(close(fd), 0);
            fd = -1;
        }
    }
    CHECK_INT(handled, MANY + 1);
    CHECK_INT(looks, 0); /* whether it is open, the kernel says when it is added */
    return registrations - before;
}
TEST(a_descriptor_s_source_comes_and_goes_with_a_call_each, "SRC1-8") { CHECK_INT(calls_of_lives(false), 2 * MANY); }
TEST(a_descriptor_that_stays_open_takes_no_more, "SRC1-8") {
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(calls_of_lives(true), 2 * MANY);
}

TEST(a_loop_without_descriptors_needs_no_kernel_object, "RL-4 RUN-14") {
    treadle_loop loop = treadle_loop_current();
    int descriptors = fcntl(2, F_DUPFD, 3), before = atomic_load(&waits);
    CHECK_INT(close(descriptors), 0);
    /* On a slow machine a date may have passed when the loop would wait for it: a later one is tried then. */
    for (int64_t delay = MILLISECONDS(1); atomic_load(&waits) == before; delay *= 4) {
        treadle_timer timer = make_timer(NULL, NULL, treadle_time_now() + delay, 0);
        CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
    int next = fcntl(2, F_DUPFD, 3); /* the same number as before: the loop has opened nothing */
    CHECK_INT(next, descriptors);
    CHECK_INT(close(next), 0);
}

static void make_and_close(treadle_loop loop) {
    treadle_timer timer;
    for (int i = 0; i < MANY; i++) {
        timer = make_timer(NULL, NULL, treadle_time_now() + SECONDS(3600), 0);
        CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
        CHECK_INT(treadle_close(timer, 0), TREADLE_OK);
        CHECK_INT(treadle_loop_post(loop, on_post, NULL), TREADLE_OK);
    }
    while (posted < MANY) treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    posted = 0;
}
static void reply_nothing(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port, (void)message, (void)info;
    performed++;
}
TEST(a_request_receives_each_frame_once, "MSG-6") {
    char name[64];
    treadle_message_port local, remote;
    treadle_message_port_context context = {.struct_size = sizeof context, .receive = reply_nothing};
    snprintf(name, sizeof name, "treadle.test.calls.%d", (int)getpid());
    CHECK_INT(treadle_message_port_create_local(name, &context, &local), TREADLE_OK);
    CHECK_INT(treadle_message_port_create_remote(name, NULL, &remote), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, "replies"), TREADLE_OK);
    /* The first one brings the connection. */
    CHECK_INT(treadle_message_port_request(remote, 1, NULL, 0, 0, TREADLE_FOREVER, "replies", NULL, NULL), TREADLE_OK);
    receives = performed = 0;
    for (int i = 0; i < MANY; i++)
        CHECK_INT(treadle_message_port_request(remote, 1, NULL, 0, 0, TREADLE_FOREVER, "replies", NULL, NULL), TREADLE_OK);
    CHECK_INT(performed, MANY);
    CHECK_INT(receives, 0); /* message and reply go by memory */
    static const char large[20000];
    performed = 0;
    for (int i = 0; i < MANY; i++)
        CHECK_INT(treadle_message_port_request(remote, 1, large, sizeof large, 0, TREADLE_FOREVER, "replies", NULL, NULL), TREADLE_OK);
    CHECK_INT(performed, MANY);
    CHECK_INT(receives, MANY); /* the messages, by the socket */
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(what_nobody_waits_for_ends_without_a_system_call, "OBJ-9 SCOPE-1 SCOPE-2") {
    treadle_scope scope;
    treadle_scope_config config = TREADLE_INIT(treadle_scope_config);
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
    make_and_close(loop);
    for (int is_inside = 0; is_inside <= 1; is_inside++) {
        int before = atomic_load(&all_calls);
        if (is_inside) CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
        make_and_close(loop);
        if (is_inside) CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
        CHECK(atomic_load(&all_calls) - before < MANY / 10); /* of the runs, not one for each thing */
    }
    CHECK_INT(treadle_scope_close(scope, 0), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}
#endif
TEST_MAIN()
