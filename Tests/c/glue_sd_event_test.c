/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * glue_sd_event_test.c: run loops and sd-event's loops, either inside of the other: a program with sd-event's timers, a socket, a
 * child, a signal, deferred and exit sources.
 * pkg-config: libsystemd */
#include "glue.h"

#include <sys/socket.h>
#include <treadle-sd-event.h>

static sd_event *event;
static int exits;
static void quit_theirs(void) { CHECK(sd_event_exit(event, 7) >= 0); }

/* Threads call sd-event, which has no call for that, by an eventfd. */
static int bell, other_bell;
static void call_theirs(void) { CHECK_INT(write(bell, &(uint64_t){1}, 8), 8); }
static int rung(sd_event_source *source, int fd, uint32_t events, void *info) {
    uint64_t count;
    (void)source, (void)events, (void)info;
    CHECK_INT(read(fd, &count, 8), 8);
    while (fd == bell && count--) theirs_called();
    return 0;
}

/* A timer of sd-event's, which runs ours inside of its callback. */
static int beats_left;
static int beat(sd_event_source *source, uint64_t usec, void *info) {
    (void)info;
    if (beats_left % 8 == 0) {
        CHECK_INT(write(other_bell, &(uint64_t){1}, 8), 8); /* makes its descriptor readable */
        uint64_t passes = count_passes(), posts_before = (uint64_t)atomic_load(&program.posted);
        treadle_status status = treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY);
        CHECK(status == TREADLE_RUN_TIMED_OUT || status == TREADLE_RUN_STOPPED);
        /* A pass for what came, and no more. */
        CHECK(count_passes() - passes <= IDLE_TURNS + 2 * ((uint64_t)atomic_load(&program.posted) - posts_before));
    }
    if (--beats_left == 0) return part_ends(), 0;
    CHECK(sd_event_source_set_time(source, usec + 1000) >= 0);
    CHECK(sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) >= 0);
    return 0;
}

/* Two ends of a socket, each with a source: what one sends the other sends back, and posts of ours send again. */
static int ends[2], rounds_left;
static void send_letter(void *info) {
    (void)info;
    CHECK_INT(write(ends[0], "x", 1), 1);
}
static int received(sd_event_source *source, int fd, uint32_t events, void *info) {
    char letter;
    (void)source, (void)events, (void)info;
    CHECK_INT(read(fd, &letter, 1), 1);
    if (fd == ends[1]) CHECK_INT(write(fd, &letter, 1), 1);
    else if (--rounds_left == 0) part_ends();
    else CHECK_INT(treadle_loop_post(program.loop, send_letter, NULL), TREADLE_OK);
    return 0;
}

/* A child's end, then a signal, then a deferred source. */
static int deferred(sd_event_source *source, void *info) {
    (void)source, (void)info;
    part_ends();
    return 0;
}
static int signalled(sd_event_source *source, const struct signalfd_siginfo *details, void *info) {
    (void)source, (void)info;
    CHECK_INT(details->ssi_signo, SIGUSR1);
    CHECK(sd_event_add_defer(event, NULL, deferred, NULL) >= 0);
    return 0;
}
static void send_signal(void *info) {
    (void)info;
    CHECK_INT(kill(getpid(), SIGUSR1), 0);
}
static int child_ended(sd_event_source *source, const siginfo_t *details, void *info) {
    (void)source, (void)info;
    CHECK_INT(details->si_status, 42);
    CHECK_INT(treadle_loop_post(program.loop, send_signal, NULL), TREADLE_OK);
    return 0;
}
static int exiting(sd_event_source *source, void *info) {
    (void)source, (void)info;
    exits++;
    return 0;
}

static void begin(void) {
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    CHECK(sd_event_new(&event) >= 0);
    program.loop = treadle_loop_current();
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    other_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    exits = 0;
}
static void begin_theirs(void) {
    uint64_t now;
    beats_left = 40, rounds_left = 100;
    part_begins(), part_begins(), part_begins();
    CHECK(sd_event_add_io(event, NULL, bell, EPOLLIN, rung, NULL) >= 0);
    CHECK(sd_event_add_io(event, NULL, other_bell, EPOLLIN, rung, NULL) >= 0);
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    for (int i = 0; i < 2; i++) CHECK(sd_event_add_io(event, NULL, ends[i], EPOLLIN, received, NULL) >= 0);
    send_letter(NULL);
    CHECK(sd_event_now(event, CLOCK_MONOTONIC, &now) >= 0);
    CHECK(sd_event_add_time(event, NULL, CLOCK_MONOTONIC, now + 1000, 1, beat, NULL) >= 0);
    CHECK(sd_event_add_signal(event, NULL, SIGUSR1, signalled, NULL) >= 0);
    pid_t child = fork();
    if (child == 0) _exit(42);
    CHECK(child > 0 && sd_event_add_child(event, NULL, child, WEXITED, child_ended, NULL) >= 0);
    CHECK(sd_event_add_exit(event, NULL, exiting, NULL) >= 0);
}
static void end_theirs(void) {
    sd_event_unref(event);
    close(bell), close(other_bell), close(ends[0]), close(ends[1]);
}

static int prepared;
static int count_prepare(sd_event_source *source, void *info) { return (void)source, (void)info, prepared++, 0; }
static int idle_is_over(sd_event_source *source, uint64_t usec, void *info) { return (void)source, (void)usec, (void)info, quit_theirs(), 0; }

/* Nothing happens for a while, and neither loop is asked for much. */
static void stay_idle(bool ours_is_outer) {
    sd_event_source *source;
    uint64_t now, passes = count_passes();
    CHECK(sd_event_now(event, CLOCK_MONOTONIC, &now) >= 0);
    CHECK(sd_event_add_time(event, &source, CLOCK_MONOTONIC, now + 200000, 1, idle_is_over, NULL) >= 0);
    CHECK(sd_event_source_set_prepare(source, count_prepare) >= 0);
    prepared = 0;
    if (ours_is_outer) CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_FINISHED);
    else CHECK_INT(sd_event_loop(event), 7);
    CHECK(count_passes() - passes <= IDLE_TURNS);
    CHECK(prepared > 0 && prepared <= IDLE_TURNS);
    sd_event_source_unref(source);
}
static int was_over;
static void quit_nested(void) { was_over = 1; }

TEST(ours_inside_of_sd_event, "ABI-9") {
    sd_event_source *source;
    begin();
    CHECK_INT(treadle_sd_event_start(event, program.loop, TREADLE_DEFAULT_MODE, NULL, NULL, &source), TREADLE_OK);
    begin_program(quit_nested, call_theirs);
    begin_theirs();
    while (!was_over) CHECK(sd_event_run(event, UINT64_MAX) >= 0);
    end_program();
    stay_idle(false); /* and theirs ends with that */
    CHECK_INT(exits, 1);
    int before = count_descriptors();
    sd_event_source_disable_unref(source);
    CHECK_INT(count_descriptors(), before - 1);
    end_theirs();
    /* Ours is as it was. */
    atomic_store(&program.posted, -1000);
    CHECK_INT(treadle_loop_post(program.loop, posted, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(atomic_load(&program.posted), -999);
}

TEST(sd_event_inside_of_ours, "ABI-9 RUN-10") {
    treadle_foreign *foreign, *refused;
    begin();
    CHECK_INT(treadle_sd_event_add(program.loop, TREADLE_DEFAULT_MODE, event, &foreign), TREADLE_OK);
    begin_program(stop_ours, call_theirs);
    begin_theirs();
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_STOPPED);
    end_program();
    stay_idle(true); /* theirs has ended then, and nothing is left in the mode */
    CHECK_INT(exits, 1);
    CHECK_INT(treadle_sd_event_add(program.loop, TREADLE_DEFAULT_MODE, event, &refused), TREADLE_E_STATE);
    CHECK(!refused);
    treadle_foreign_remove(foreign);
    end_theirs();
}

static treadle_status told;
static bool note_end(treadle_status status, void *info) {
    told = status;
    return *(bool *)info;
}
static void stop_at_once(void *info) {
    (void)info;
    CHECK_INT(treadle_loop_stop(program.loop), TREADLE_OK);
}
TEST(ends_are_told, "ABI-9 STOP-2") {
    sd_event_source *source;
    bool goes_on = true;
    int enabled;
    begin();
    CHECK_INT(treadle_sd_event_start(event, program.loop, TREADLE_DEFAULT_MODE, note_end, &goes_on, &source), TREADLE_OK);
    for (int round = 0; round < 2; round++) {
        told = 0, goes_on = round == 0;
        CHECK_INT(treadle_loop_post(program.loop, stop_at_once, NULL), TREADLE_OK);
        while (!told) CHECK(sd_event_run(event, UINT64_MAX) >= 0);
        CHECK_INT(told, TREADLE_RUN_STOPPED);
        CHECK(sd_event_source_get_enabled(source, &enabled) >= 0);
        CHECK_INT(enabled, goes_on ? SD_EVENT_ON : SD_EVENT_OFF);
    }
    sd_event_source_disable_unref(source);
    /* The event loop's own, and closed with it. */
    int before = count_descriptors(), taken = take_all_references(program.loop);
    CHECK_ERROR(treadle_sd_event_start(event, program.loop, TREADLE_DEFAULT_MODE, NULL, NULL, NULL), TREADLE_E_RANGE, "references");
    return_references(program.loop, taken);
    CHECK_INT(count_descriptors(), before);
    CHECK_INT(treadle_sd_event_start(event, program.loop, TREADLE_DEFAULT_MODE, NULL, NULL, NULL), TREADLE_OK);
    CHECK_INT(count_descriptors(), before + 1);
    CHECK_INT(treadle_loop_post(program.loop, stop_at_once, NULL), TREADLE_OK);
    CHECK(sd_event_run(event, UINT64_MAX) >= 0);
    sd_event_unref(event);
    CHECK_INT(count_descriptors(), before - 1);
    CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
}

TEST_MAIN()
