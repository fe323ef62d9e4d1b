/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * fault_test.c: the n-th system call fails, for every n: each public call then fails with a message and
 * changes nothing, or succeeds; afterwards everything works, and no descriptor is left behind. */
#include "faults.h"
#include <sys/resource.h>

static const char *const M = TREADLE_DEFAULT_MODE;

static atomic_int performs, fires, readies, blocks, activities;
static void on_perform(treadle_source source, void *info) { (void)source, (void)info, performs++; }
static void on_fire(treadle_timer timer, void *info) { (void)timer, (void)info, fires++; }
static void on_ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info, readies++; }
static void on_block(void *info) { (void)info, blocks++; }
static void on_activity(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info, activities++;
}

/* A call that succeeds, or fails with a status, a function and a message. */
#define SANE(call) sane((call), #call)
static treadle_status sane(treadle_status status, const char *call) {
    treadle_error_info error = {.struct_size = sizeof error};
    if (status >= 0) return status;
    treadle_last_error(&error);
    if (error.code != status || !error.message[0] || !error.function[0])
        check_failed(__FILE__, __LINE__, "%s returned %d without a message of its own", call, status);
    if (status != TREADLE_E_NOMEM && status != TREADLE_E_SYSTEM)
        check_failed(__FILE__, __LINE__, "%s returned %s", call, treadle_status_name(status));
    if (status == TREADLE_E_SYSTEM) CHECK_INT(error.os_errno, fault.error);
    return status;
}

struct pipes { int ends[2], others[2]; };

/* Uses most of the API once. What cannot be made is left out. */
static void use_everything(const struct pipes *pipes) {
    treadle_source source = NULL;
    treadle_timer timer = NULL;
    treadle_observer observer = NULL;
    treadle_descriptor descriptors[2] = {NULL, NULL};
    treadle_source_context source_context = {.struct_size = sizeof source_context, .perform = on_perform};
    treadle_timer_context timer_context = {.struct_size = sizeof timer_context, .fire = on_fire, .fire_at = 1, .interval_ns = 1000};
    treadle_observer_context observer_context = {
        .struct_size = sizeof observer_context, .notify = on_activity, .activities = TREADLE_ALL_ACTIVITIES};
    treadle_descriptor_context descriptor_context = {.struct_size = sizeof descriptor_context, .ready = on_ready, .events = TREADLE_READABLE};
    treadle_post block = {.struct_size = sizeof block, .fn = on_block, .destroy = NULL};
    treadle_loop loop = treadle_loop_current();
    if (!loop) {
        treadle_error_info error = {.struct_size = sizeof error};
        treadle_last_error(&error);
        SANE(error.code);
        CHECK(error.code < 0);
        return;
    }
    SANE(treadle_source_create(&source_context, &source));
    SANE(treadle_timer_create(&timer_context, &timer));
    SANE(treadle_observer_create(&observer_context, &observer));
    for (int i = 0; i < 2; i++) {
        descriptor_context.fd = i ? pipes->others[0] : pipes->ends[0];
        SANE(treadle_descriptor_create(&descriptor_context, &descriptors[i]));
    }
    SANE(treadle_loop_add_common_mode(loop, "x"));
    if (source) CHECK((SANE(treadle_loop_add_source(loop, source, M)) == TREADLE_OK) == treadle_loop_contains_source(loop, source, M));
    if (source) SANE(treadle_loop_add_source(loop, source, TREADLE_COMMON_MODES));
    if (timer) CHECK((SANE(treadle_loop_add_timer(loop, timer, M)) == TREADLE_OK) == treadle_loop_contains_timer(loop, timer, M));
    if (timer) SANE(treadle_loop_add_timer(loop, timer, "x"));
    if (observer) CHECK((SANE(treadle_loop_add_observer(loop, observer, M)) == TREADLE_OK) == treadle_loop_contains_observer(loop, observer, M));
    for (int i = 0; i < 2; i++) {
        if (!descriptors[i]) continue;
        CHECK((SANE(treadle_loop_add_descriptor(loop, descriptors[i], M)) == TREADLE_OK) == treadle_loop_contains_descriptor(loop, descriptors[i], M));
        SANE(treadle_loop_add_descriptor(loop, descriptors[i], "x"));
    }
    SANE(post_block(loop, &block));
    SANE(treadle_loop_post(loop, on_block, NULL));
    if (source) SANE(treadle_source_signal_and_wake(source));
    SANE(treadle_loop_run(loop, M, 0, 0));
    if (descriptors[0]) SANE(treadle_descriptor_set_events(descriptors[0], TREADLE_READABLE | TREADLE_WRITABLE));
    if (descriptors[1]) SANE(treadle_descriptor_set_events(descriptors[1], 0));
    SANE(treadle_loop_run(loop, "x", MILLISECONDS(1), 0));
    SANE(treadle_loop_run(loop, M, MILLISECONDS(1), 0));
    if (timer) SANE(treadle_timer_invalidate(timer));
    SANE(treadle_loop_run(loop, M, 1, 0));
    for (int i = 0; i < 2; i++) {
        if (!descriptors[i]) continue;
        SANE(treadle_loop_remove_descriptor(loop, descriptors[i], "x"));
        SANE(treadle_descriptor_invalidate(descriptors[i]));
        SANE(treadle_descriptor_release(descriptors[i]));
    }
    if (source) SANE(treadle_source_invalidate(source)), SANE(treadle_source_release(source));
    if (observer) SANE(treadle_observer_invalidate(observer)), SANE(treadle_observer_release(observer));
    if (timer) SANE(treadle_timer_release(timer));
}

static void check_that_everything_works(const struct pipes *pipes) {
    treadle_loop loop = treadle_loop_current();
    CHECK(loop);
    CHECK_INT(write(pipes->ends[1], "x", 1), 1);
    performs = fires = readies = blocks = activities = 0;
    treadle_source source = make_source(on_perform, NULL);
    treadle_timer timer = make_timer(on_fire, NULL, treadle_time_now() + 1000, 0);
    treadle_descriptor descriptor = make_descriptor(on_ready, NULL, pipes->ends[0], TREADLE_READABLE);
    for (int i = 0; i < 3; i++) poll_mode(M); /* blocks that are left */
    blocks = 0;
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, M), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, on_block, NULL), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    while (fires == 0 || readies == 0) CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(1), 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, 1);
    CHECK_INT(fires, 1);
    CHECK_INT(blocks, 1);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
}

#ifndef SANITIZED
struct attempt {
    unsigned kinds;
    int error, at, hits;
    bool for_ever;
};
static void *attempt_main(void *info) {
    struct attempt *attempt = info;
    struct pipes pipes;
    CHECK(pipe2(pipes.ends, O_NONBLOCK) == 0 && pipe2(pipes.others, O_NONBLOCK) == 0);
    arm(attempt->kinds, attempt->error, attempt->at, attempt->for_ever);
    use_everything(&pipes);
    attempt->hits = disarm();
    check_that_everything_works(&pipes);
    for (int i = 0; i < 2; i++) close(pipes.ends[i]), close(pipes.others[i]);
    return NULL;
}
/* One process for each attempt, so that what is made once a process can fail, too. */
static int try_in_child(struct attempt *attempt) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int before = count_descriptors();
        on_thread(attempt_main, attempt);
        CHECK_INT(count_descriptors(), before);
        _exit(attempt->hits ? 2 : 0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2))
        check_failed(__FILE__, __LINE__, "fault %u, errno %d, call %d%s: status 0x%x", attempt->kinds, attempt->error, attempt->at,
                     attempt->for_ever ? " and all after it" : "", status);
    return WEXITSTATUS(status);
}
static void fail_each(unsigned kinds, int error) {
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        struct attempt attempt = {.kinds = kinds, .error = error, .for_ever = for_ever};
        do attempt.at++;
        while (try_in_child(&attempt));
        CHECK(attempt.at > 1); /* at least one call was made, and failed */
    }
}

TEST(epoll_create_fails, "RL-1 ABI-7") { fail_each(FAULT_EPOLL_CREATE, EMFILE); }
TEST(eventfd_fails, "RL-1") { fail_each(FAULT_EVENTFD, EMFILE); }
TEST(the_kernel_s_timer_fails, "RL-1 RUN-14") { fail_each(FAULT_TIMER, EMFILE); }
/* Each error takes the same way; the slow ways of testing are about memory, for which one will do. */
TEST(epoll_control_fails, "SRC1-7 SRC1-8") {
    const int errors[] = {ENOMEM, ENOSPC, EPERM};
    for (int i = 0; i < scaled(3); i++) fail_each(FAULT_EPOLL_CONTROL, errors[i]);
}
TEST(waiting_fails, "RUN-14") {
    const int errors[] = {ENOMEM, EPERM, EINVAL};
    for (int i = 0; i < scaled(3); i++) fail_each(FAULT_EPOLL_WAIT, errors[i]);
}
TEST(memory_fails, "BLK-1") {
    if (have_memory_faults()) fail_each(FAULT_MEMORY, ENOMEM);
}
TEST(an_accepted_signal_is_not_lost_without_memory, "SRC0-6 SRC0-7") {
    enum { COUNT = 100 };
    if (!have_memory_faults()) return;
    treadle_loop loop = treadle_loop_current();
    treadle_source sources[COUNT];
    int accepted = 0;
    performs = 0;
    for (int i = 0; i < COUNT; i++) {
        sources[i] = make_source(on_perform, NULL);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], M), TREADLE_OK);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    for (int i = 0; i < COUNT / 2; i++) accepted += treadle_source_signal(sources[i]) == TREADLE_OK;
    CHECK_INT(accepted, COUNT / 2);
    arm(FAULT_MEMORY, ENOMEM, 1, true);
    for (int i = COUNT / 2; i < COUNT; i++) {
        treadle_status status = treadle_source_signal(sources[i]);
        CHECK(status == TREADLE_OK || status == TREADLE_E_NOMEM);
        CHECK(treadle_source_is_signalled(sources[i]) == (status == TREADLE_OK));
        accepted += status == TREADLE_OK;
    }
    CHECK_INT(treadle_loop_run(loop, M, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    disarm();
    CHECK_INT(performs, 1);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, accepted);
    for (int i = 0; i < COUNT; i++) { /* a refused one can be signalled again */
        CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, accepted + COUNT);
}
/* Timers with a tolerance that fire make room for others, and have none when they are queued again: in whichever of the
 * queue's two orders that fails, nothing stays behind in the other, which would end sleeps for ever. */
enum { TOLERANT = 16 };
static struct { treadle_timer again[TOLERANT], others[TOLERANT]; int at; const char *mode; } crowd;
static treadle_timer make_tolerant(treadle_timer_fn fire, int64_t date, int64_t interval_ns) {
    treadle_timer timer = make_timer(fire, NULL, date, interval_ns);
    CHECK_INT(treadle_timer_set_tolerance(timer, MILLISECONDS(2)), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, crowd.mode), TREADLE_OK);
    return timer;
}
static void take_the_room(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    if (crowd.others[0]) return;
    for (int i = 0; i < TOLERANT; i++) crowd.others[i] = make_tolerant(NULL, FAR_AWAY, 0);
    arm(FAULT_MEMORY, ENOMEM, crowd.at, false);
}
static void end_timer(treadle_timer timer) {
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}
TEST(a_timer_that_finds_no_room_leaves_nothing_behind, "TMR-5 TMR-23 RUN-14") {
    static const char *const new_modes[] = {"one", "two", "three", "four"};
    if (!have_memory_faults()) return;
    treadle_loop loop = treadle_loop_current();
    for (crowd.at = 1; crowd.at <= 4; crowd.at++) {
        treadle_timer far = make_timer(NULL, NULL, FAR_AWAY, 0);
        treadle_descriptor idle = make_descriptor(NULL, NULL, eventfd(0, EFD_CLOEXEC), TREADLE_READABLE);
        crowd.mode = new_modes[crowd.at - 1];
        memset(crowd.others, 0, sizeof crowd.others);
        CHECK_INT(treadle_loop_add_timer(loop, far, crowd.mode), TREADLE_OK);
        CHECK_INT(treadle_loop_add_descriptor(loop, idle, crowd.mode), TREADLE_OK);
        for (int i = 0; i < TOLERANT; i++) crowd.again[i] = make_tolerant(take_the_room, 1, MILLISECONDS(4));
        CHECK_INT(poll_mode(crowd.mode), TREADLE_RUN_TIMED_OUT);
        CHECK(crowd.others[0]);
        CHECK_INT(disarm(), crowd.at <= 2); /* one allocation for each of the two orders */
        for (int i = 0; i < TOLERANT; i++) end_timer(crowd.again[i]), end_timer(crowd.others[i]);
        arm(FAULT_EPOLL_WAIT, 0, INT32_MAX, false); /* counts the waits */
        CHECK_INT(treadle_loop_run(loop, crowd.mode, MILLISECONDS(20), 0), TREADLE_RUN_TIMED_OUT);
        CHECK(fault.calls <= 5);
        disarm();
        end_timer(far);
        CHECK_INT(discard(idle), TREADLE_OK);
    }
}
TEST(thread_keys_and_fork_hooks_fail, "RL-8 RL-11") {
    fail_each(FAULT_THREAD_KEY, ENOMEM);
    fail_each(FAULT_FORK_HOOK, ENOMEM);
}
/* Where the kernel empties no page in the child of a fork, the C library's word is enough for those that go by it. */
TEST(a_fork_is_seen_without_the_kernel_s_help, "RL-11") {
    arm(FAULT_ADVICE, EINVAL, 1, true);
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(disarm(), 1);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_INT(treadle_loop_wake(loop), TREADLE_E_FORKED);
        CHECK(!treadle_loop_current());
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        CHECK(treadle_loop_current());
        CHECK_INT(treadle_loop_wake(loop), TREADLE_E_STALE);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
}
TEST(anything_fails, "OBJ-2 ABI-7") {
    unsigned all = FAULT_EPOLL_CREATE | FAULT_EVENTFD | FAULT_TIMER | FAULT_EPOLL_CONTROL | FAULT_EPOLL_WAIT | FAULT_THREAD_KEY;
    fail_each(all | (have_memory_faults() ? FAULT_MEMORY : 0), ENOMEM);
}

/* No failures for a client: the kernel's interruptions. */
static void *sleep_through(void *info) {
    treadle_loop loop = treadle_loop_current();
    struct attempt *attempt = info;
    treadle_observer observer = make_observer(on_activity, NULL, TREADLE_AFTER_WAITING);
    treadle_timer timer = make_timer(on_fire, NULL, treadle_time_now() + MILLISECONDS(3), 0);
    int pipe_ends[2];
    CHECK_INT(pipe(pipe_ends), 0);
    treadle_descriptor descriptor = make_descriptor(on_ready, NULL, pipe_ends[0], TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_observer(loop, observer, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, M), TREADLE_OK);
    arm(attempt->kinds, attempt->error, attempt->at, attempt->for_ever);
    CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(8), 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(fires, 1);
    CHECK(activities <= 2); /* the timer, the end: what is waited for; an interruption is not */
    CHECK_INT(write(pipe_ends[1], "x", 1), 1);
    CHECK_INT(treadle_loop_run(loop, M, SECONDS(1000), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    attempt->hits = disarm();
    return NULL;
}
/* On a very busy machine both dates may have passed before the first wait: then it has shown nothing. */
static void see_it_sleep_through(struct attempt *attempt) {
    do {
        fires = readies = activities = 0;
        on_thread(sleep_through, attempt);
    } while (!activities);
}
TEST(an_interrupted_wait_goes_on, "RUN-14") {
    struct attempt attempt = {.kinds = FAULT_EPOLL_WAIT, .error = EINTR};
    do {
        attempt.at++;
        see_it_sleep_through(&attempt);
    } while (attempt.hits);
    CHECK(attempt.at > 2);
}

#endif /* SANITIZED */

static void *meet_the_limit(void *info) {
    struct pipes *pipes = info;
    struct rlimit limit;
    fault.error = EMFILE; /* what the calls may fail with */
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int allowed = 0; allowed < 8; allowed++) {
        int next = open("/dev/null", O_RDONLY);
        CHECK(next >= 0);
        close(next);
        struct rlimit tight = {.rlim_cur = (rlim_t)(next + allowed), .rlim_max = limit.rlim_max};
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &tight), 0);
        use_everything(pipes);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
        check_that_everything_works(pipes);
    }
    return NULL;
}
TEST(out_of_descriptors, "ABI-7 RL-1") {
    struct pipes pipes;
    for (int i = 0; i < 3; i++) {
        CHECK(pipe2(pipes.ends, O_NONBLOCK) == 0 && pipe2(pipes.others, O_NONBLOCK) == 0);
        int before = count_descriptors();
        on_thread(meet_the_limit, &pipes);
        CHECK_INT(count_descriptors(), before);
    }
}

TEST_MAIN()
