/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * seccomp_test.c: sandboxes, whose filters refuse system calls. Those that Treadle uses are those of docs/guide/host.md and no
 * others; where one that has no older call is refused, a status says so and all else works. (scripts/test-c refused runs the
 * tests of the core under filters that refuse the others.) */
#include "thread_jobs.h"

#include "refuse.h"

#define MODE TREADLE_DEFAULT_MODE

static bool are_filters_permitted(void) {
    int status = -1;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(refuse_call(refusables, EPERM) ? 0 : 1);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status != 0) fprintf(stderr, "skipped: this process may not install filters\n");
    return status == 0;
}

/* --- What a program does with Treadle --------------------------------------------------------------------------- */

static int calls;
static treadle_loop loop;
static void on_timer(treadle_timer timer, void *info) { (void)timer, (void)info, calls++; }
static void on_post(void *info) { (void)info, calls++; }
static void on_request(void *target, void *argument) { (void)target, (void)argument, calls++; }
static void stop_loop(void *info) {
    (void)info;
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
}
static void on_ready(treadle_descriptor descriptor, uint32_t ready, void *info) {
    (void)descriptor, (void)info, calls++;
    CHECK_INT(ready, TREADLE_READABLE);
}
static void *post_from_outside(void *info) {
    for (int i = 0; i < 100; i++) CHECK_INT(treadle_loop_post(loop, on_post, NULL), TREADLE_OK);
    CHECK_INT(treadle_thread_sleep_for(MILLISECONDS(1)), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, stop_loop, NULL), TREADLE_OK);
    return info;
}
/* Timers, posts of a thread, deadlines, as long as a run may take. */
static void use_a_loop(void) {
    treadle_timer timer = make_timer(on_timer, NULL, treadle_time_now() + MILLISECONDS(1), 0);
    treadle_timer keeper = make_timer(on_timer, NULL, FAR_AWAY, 0);
    loop = treadle_loop_current();
    calls = 0;
    CHECK_INT(treadle_loop_add_timer(loop, keeper, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, MODE, MILLISECONDS(3), 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(calls, 1);
    treadle_thread thread = thread_begin(post_from_outside, &timer);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK(thread_end(thread) == &timer);
    CHECK_INT(calls, 101);
    CHECK_INT(treadle_timer_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_timer_release(keeper), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}
static void use_a_server(void) {
    struct server server;
    treadle_request request = {.struct_size = sizeof request, .fn = on_request};
    server_start(&server);
    calls = 0;
    for (int i = 0; i < 100; i++)
        CHECK_INT(perform_on(server.thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    CHECK_INT(calls, 100);
    server_end(&server);
}
/* A counter that Treadle reads itself, in a loop that also has a date. */
static void use_descriptors(void) {
    int counter = eventfd(0, EFD_CLOEXEC);
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready = on_ready, .fd = counter,
                                          .events = TREADLE_READABLE, .flags = TREADLE_DESCRIPTOR_ACKNOWLEDGED};
    treadle_descriptor descriptor;
    CHECK(counter >= 0);
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
    for (int i = 0; i < 10; i++) {
        calls = 0;
        CHECK_INT(eventfd_write(counter, 1), 0);
        CHECK_INT(treadle_loop_run(loop, MODE, MILLISECONDS(3), 0), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(calls, 1);
    }
    use_a_loop();
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    close(counter);
}

/* --- Tests ------------------------------------------------------------------------------------------------------ */

static void tell_of_the_call(int number, siginfo_t *info, void *context) {
    char text[64];
    (void)number, (void)context;
    int length = snprintf(text, sizeof text, "system call %d is in no table\n", info->si_syscall);
    if (write(2, text, (size_t)length) < 0) {}
    _exit(1);
}
/* Of Treadle, of the C library for memory, threads and the program's end, and of this test. */
static const uint32_t permitted[] = {
    SYS_clock_gettime, SYS_close, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_fcntl, SYS_futex,
    SYS_getcpu, SYS_getpid, SYS_gettid, SYS_membarrier, SYS_mmap, SYS_munmap, SYS_openat, SYS_ppoll, SYS_prctl, SYS_preadv2, SYS_read,
    SYS_restart_syscall, SYS_sched_yield, SYS_timerfd_create, SYS_timerfd_settime, SYS_write,
#ifdef SYS_epoll_wait
    SYS_epoll_wait, SYS_poll,
#endif
    SYS_brk, SYS_clone, SYS_clone3, SYS_exit, SYS_exit_group, SYS_getrandom, SYS_madvise, SYS_mprotect, SYS_mremap,
    SYS_rseq, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sched_getaffinity, SYS_set_robust_list,
#ifdef SYS_alarm
    SYS_alarm, /* each check may renew the watchdog */
#endif
    SYS_setitimer};
enum { PERMITTED = sizeof permitted / sizeof *permitted };
TEST(no_system_call_is_made_that_the_table_does_not_name, "RL-1 RUN-14 SRC1-1") {
    struct sock_filter filter[PERMITTED + 3] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sigaction action = {.sa_sigaction = tell_of_the_call, .sa_flags = SA_SIGINFO};
    if (!are_filters_permitted()) return;
    if (SANITIZER) return; /* it makes calls of its own */
    for (uint8_t i = 0; i < PERMITTED; i++)
        filter[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, permitted[i], (uint8_t)(PERMITTED - i), 0);
    filter[PERMITTED + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    filter[PERMITTED + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    CHECK_INT(sigaction(SIGSYS, &action, NULL), 0);
    CHECK(install_filter(filter, PERMITTED + 3));
    use_a_loop();
    use_a_server();
    use_descriptors();
    use_a_server();
}

/* What descriptors need; a loop without any needs none of it. */
static const struct refusable necessary[] = {
    {"epoll_create1", SYS_epoll_create1, -1, 0, 0},
    {"epoll_ctl", SYS_epoll_ctl, -1, 0, 0},
    {"eventfd2", SYS_eventfd2, -1, 0, 0},
};
enum { NECESSARY = sizeof necessary / sizeof *necessary };
static void must_be_refused(const struct refusable *call, int error) {
    int pipes[2];
    treadle_error_info info = {.struct_size = sizeof info};
    CHECK_INT(pipe(pipes), 0);
    CHECK(refuse_call(call, error));
    treadle_descriptor descriptor = make_descriptor(on_ready, NULL, pipes[0], TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), descriptor, MODE), TREADLE_E_SYSTEM);
    CHECK_INT(treadle_last_error(&info), TREADLE_OK);
    CHECK_INT(info.os_errno, error);
    use_a_loop();
    use_a_server();
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
}
TEST(where_descriptors_cannot_be_watched_a_status_says_so, "SRC1-1 RUN-14") {
    if (!are_filters_permitted()) return;
    for (int i = 0; i < 2 * NECESSARY; i++) {
        int status = -1;
        fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60); /* the watchdog is not inherited */
            must_be_refused(&necessary[i / 2], i % 2 ? ENOSYS : EPERM);
            _exit(0);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        if (status != 0) check_failed(__FILE__, __LINE__, "%s was refused", necessary[i / 2].name);
    }
}

TEST(a_counter_is_read_where_neither_way_to_look_at_it_is_permitted, "SRC1-1 RUN-14") {
    struct refusable look = {"ppoll", SYS_ppoll, -1, 0, 0};
    if (!are_filters_permitted()) return;
#ifdef SYS_poll
    struct refusable other_look = {"poll", SYS_poll, -1, 0, 0};
    CHECK(refuse_call(&other_look, EPERM));
#endif
    CHECK(refuse_call(&look, EPERM));
    CHECK(refuse_by_name("preadv2", 7, EPERM));
    use_descriptors();
}

/* A wait with a limit that was stopped, as by Ctrl-Z, goes on by a call of the kernel's own. Conditions wait by the C library. */
static void wait_with_limits(void) {
    treadle_timer keeper = make_timer(on_timer, NULL, FAR_AWAY, 0);
    int64_t begun = treadle_time_now();
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), keeper, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, MILLISECONDS(50), 0), TREADLE_RUN_TIMED_OUT);
    CHECK(treadle_time_now() - begun >= MILLISECONDS(50));
    CHECK_INT(treadle_thread_sleep_until(begun + MILLISECONDS(100)), TREADLE_OK);
    CHECK(treadle_time_now() - begun >= MILLISECONDS(100));
}
TEST(a_stopped_wait_goes_on_where_it_may_not_be_restarted, "RUN-14 THR-15") {
    struct refusable restart = {"restart_syscall", SYS_restart_syscall, -1, 0, 0};
    if (!are_filters_permitted()) return;
    for (int i = 0; i < 2; i++) {
        int status = -1;
        fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);
            CHECK(refuse_call(&restart, i ? ENOSYS : EPERM));
            wait_with_limits();
            _exit(0);
        }
        while (waitpid(child, &status, WNOHANG) == 0) {
            CHECK_INT(usleep(2000), 0);
            CHECK_INT(kill(child, SIGSTOP), 0);
            CHECK_INT(waitpid(child, &status, WUNTRACED), child);
            if (!WIFSTOPPED(status)) break;
            CHECK_INT(kill(child, SIGCONT), 0);
        }
        CHECK_INT(status, 0);
    }
}

TEST_MAIN()
