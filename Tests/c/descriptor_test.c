/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_test.c: descriptor sources: what is watched, what is reported, and whose turn it is. */
#include "helpers.h"
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

static const char *const M = TREADLE_DEFAULT_MODE;

/* A descriptor source, what it reported, and how often. */
struct watched {
    treadle_descriptor source;
    int reads, writes; /* the ends of a pipe, or the same for others */
    int performs;
    uint32_t events;
    bool drains;
};
static void on_ready(treadle_descriptor source, uint32_t events, void *info) {
    struct watched *watched = info;
    char byte;
    CHECK(source == watched->source);
    watched->performs++;
    watched->events = events;
    if (watched->drains) CHECK_INT(read(watched->reads, &byte, 1), 1);
}
static void open_pipe(struct watched *watched) {
    int ends[2];
    CHECK_INT(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    *watched = (struct watched){.reads = ends[0], .writes = ends[1]};
}
static void watch(struct watched *watched, int fd, uint32_t events, const char *mode) {
    watched->source = make_descriptor(on_ready, watched, fd, events);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), watched->source, mode), TREADLE_OK);
}
static void fill(struct watched *watched, const char *text) {
    CHECK_INT(write(watched->writes, text, strlen(text)), strlen(text));
}
static void make_eventfd(struct watched *watched, uint32_t flags) {
    *watched = (struct watched){.reads = eventfd(0, EFD_NONBLOCK)};
    watched->writes = watched->reads;
    treadle_descriptor_context context = {
        .struct_size = sizeof context, .info = watched, .ready = on_ready, .fd = watched->reads, .events = TREADLE_READABLE, .flags = flags};
    CHECK_INT(treadle_descriptor_create(&context, &watched->source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), watched->source, M), TREADLE_OK);
}

TEST(never_reads_and_performs_while_ready, "SRC1-2 D-11") {
    struct watched watched;
    int available = 0;
    eventfd_t value = 0;
    open_pipe(&watched);
    watch(&watched, watched.reads, TREADLE_READABLE, M);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 0);
    fill(&watched, "four");
    for (int pass = 1; pass <= 3; pass++) {
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(watched.performs, pass);
        CHECK_INT(watched.events, TREADLE_READABLE);
        CHECK_INT(ioctl(watched.reads, FIONREAD, &available), 0);
        CHECK_INT(available, 4);
    }
    watched.drains = true;
    for (int pass = 4; pass <= 9; pass++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 7);
    make_eventfd(&watched, 0);
    CHECK_INT(eventfd_write(watched.reads, 41), 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 2);
    CHECK_INT(eventfd_read(watched.reads, &value), 0);
    CHECK_INT(value, 41);
}

TEST(acknowledged_counters_are_read_and_coalesce, "SRC1-2 SRC1-4") {
    struct watched watched;
    uint64_t value;
    make_eventfd(&watched, TREADLE_DESCRIPTOR_ACKNOWLEDGED);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 5; i++) CHECK_INT(eventfd_write(watched.reads, 3), 0);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(watched.performs, round);
        CHECK_INT(watched.events, TREADLE_READABLE);
        CHECK(read(watched.reads, &value, sizeof value) < 0 && errno == EAGAIN);
    }
}
TEST(an_acknowledged_timer_is_read, "SRC1-2") {
    struct watched watched = {0};
    if (is_refused("timerfd")) return; /* to the test, too */
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec soon = {.it_value.tv_nsec = 1, .it_interval.tv_nsec = 0};
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = &watched, .ready = on_ready, .fd = timer,
                                          .events = TREADLE_READABLE, .flags = TREADLE_DESCRIPTOR_ACKNOWLEDGED};
    CHECK_INT(treadle_descriptor_create(&context, &watched.source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), watched.source, "clock"), TREADLE_OK);
    CHECK_INT(timerfd_settime(timer, 0, &soon, NULL), 0);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), "clock", TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE),
              TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(watched.performs, 1);
    CHECK_INT(poll_mode("clock"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 1);
}

static int fd_to_answer, times_asked;
static int32_t answer_fd(void *info) {
    (void)info;
    times_asked++;
    return fd_to_answer;
}
TEST(get_fd_is_asked_once_an_add, "SRC1-1 SRC1-3") {
    struct watched one, other;
    treadle_loop loop = treadle_loop_current();
    int32_t fd = 0;
    open_pipe(&one), open_pipe(&other);
    treadle_descriptor_context context = {
        .struct_size = sizeof context, .info = &one, .ready = on_ready, .get_fd = answer_fd, .fd = -7, .events = TREADLE_READABLE};
    CHECK_INT(treadle_descriptor_create(&context, &one.source), TREADLE_OK);
    fd_to_answer = one.reads;
    CHECK_INT(treadle_loop_add_descriptor(loop, one.source, M), TREADLE_OK);
    CHECK_INT(times_asked, 1);
    CHECK_INT(treadle_descriptor_get_fd(one.source, &fd), TREADLE_OK);
    CHECK_INT(fd, one.reads);
    fd_to_answer = other.reads; /* the answer is not asked again, not even to remove */
    fill(&one, "x"), fill(&other, "y");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(one.performs, 1);
    CHECK_INT(treadle_loop_remove_descriptor(loop, one.source, M), TREADLE_OK);
    CHECK_INT(times_asked, 1);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_add_descriptor(loop, one.source, "x"), TREADLE_OK);
    CHECK_INT(times_asked, 2);
    CHECK_INT(treadle_descriptor_get_fd(one.source, &fd), TREADLE_OK);
    CHECK_INT(fd, other.reads);
    CHECK_INT(read(other.reads, &(char){0}, 1), 1);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(one.performs, 1); /* the new descriptor is watched, and no longer the old one */
    fill(&other, "y");
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(one.performs, 2);
    fd_to_answer = -1;
    CHECK_ERROR(treadle_loop_add_descriptor(loop, one.source, "y"), TREADLE_E_ARG, "");
    CHECK(!treadle_loop_contains_descriptor(loop, one.source, "y"));
}

TEST(one_descriptor_a_pass_in_turn, "SRC1-5 PASS-12") {
    struct watched watched[3];
    for (int i = 0; i < 3; i++) {
        open_pipe(&watched[i]);
        watch(&watched[i], watched[i].reads, TREADLE_READABLE, M);
        fill(&watched[i], "x");
    }
    for (int pass = 1; pass <= 12; pass++) {
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(watched[0].performs + watched[1].performs + watched[2].performs, pass);
        for (int i = 0; i < 3 && pass % 3 == 0; i++) CHECK_INT(watched[i].performs, pass / 3);
    }
}

static int fires;
static void count_fire(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    fires++;
}
TEST(timers_and_descriptors_take_turns, "PASS-12 SRC1-5") {
    struct watched watched;
    open_pipe(&watched);
    watch(&watched, watched.reads, TREADLE_READABLE, M);
    fill(&watched, "x");
    treadle_timer timer = make_timer(count_fire, NULL, 0, 1000); /* due again in every pass */
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    for (int pass = 0; pass < 20; pass++) {
        int64_t begin = treadle_time_now();
        while (treadle_time_now() < begin + 2000) {}
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    }
    CHECK(watched.performs >= 9 && fires >= 9);
    CHECK_INT(watched.performs + fires, 20); /* and only one class a pass */
}

TEST(signal_is_not_for_descriptors, "SRC1-6") {
    struct watched watched;
    open_pipe(&watched);
    watch(&watched, watched.reads, TREADLE_READABLE, M);
    CHECK_ERROR(treadle_source_signal((treadle_source)watched.source), TREADLE_E_KIND, "source");
    CHECK_ERROR(treadle_source_signal_and_wake((treadle_source)watched.source), TREADLE_E_KIND, "source");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 0);
}

TEST(one_source_a_descriptor_and_mode, "SRC1-7 MODE-6") {
    struct watched first, second;
    treadle_loop loop = treadle_loop_current();
    open_pipe(&first);
    second = first;
    watch(&first, first.reads, TREADLE_READABLE, M);
    CHECK_INT(treadle_loop_add_descriptor(loop, first.source, M), TREADLE_IGNORED);
    second.source = make_descriptor(on_ready, &second, first.reads, TREADLE_READABLE);
    CHECK_ERROR(treadle_loop_add_descriptor(loop, second.source, M), TREADLE_E_EXISTS, "");
    CHECK(!treadle_loop_contains_descriptor(loop, second.source, M));
    CHECK_INT(treadle_loop_add_descriptor(loop, second.source, "x"), TREADLE_OK);
    fill(&first, "x");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(first.performs * 10 + second.performs, 10);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(first.performs * 10 + second.performs, 11);
    CHECK_INT(treadle_loop_remove_descriptor(loop, first.source, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, second.source, M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(first.performs * 10 + second.performs, 12);
    first.source = make_descriptor(on_ready, &first, dup(first.reads), TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(loop, first.source, M), TREADLE_OK); /* another number: no duplicate */
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(first.performs * 10 + second.performs, 23);
}

TEST(readiness_waits_for_its_mode, "SRC1-9 MODE-4") {
    struct watched watched, other;
    treadle_loop loop = treadle_loop_current();
    open_pipe(&watched), open_pipe(&other);
    watch(&watched, watched.reads, TREADLE_READABLE, "x");
    watch(&other, other.reads, TREADLE_READABLE, M);
    fill(&watched, "x");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 0);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 1);
    CHECK_INT(treadle_loop_remove_descriptor(loop, watched.source, "x"), TREADLE_OK);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_FINISHED);
    CHECK_INT(watched.performs, 1);
    CHECK_INT(treadle_loop_add_descriptor(loop, watched.source, "x"), TREADLE_OK);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 2);
    CHECK_INT(treadle_loop_add_descriptor(loop, watched.source, M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 3);
}

static int retained, released;
static void *retain(void *info) { return retained++, info; }
static void release(void *info) { (void)info, released++; }
static int32_t always_equal(void *one, void *other) { return one != NULL && other != NULL; }
TEST(handled_and_context_as_for_sources, "SRC1-10 SRC1-1 RUN-7") {
    struct watched one, other;
    treadle_loop loop = treadle_loop_current();
    int32_t fd = -1;
    void *info;
    open_pipe(&one), open_pipe(&other);
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = &one, .retain = retain, .release = release,
                                          .equal = always_equal, .ready = on_ready, .fd = one.reads, .events = TREADLE_READABLE};
    CHECK_INT(treadle_descriptor_create(&context, &one.source), TREADLE_OK);
    context.info = &other, context.fd = other.reads;
    CHECK_INT(treadle_descriptor_create(&context, &other.source), TREADLE_OK);
    CHECK_INT(retained, 2);
    CHECK_INT(treadle_loop_add_descriptor(loop, one.source, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, other.source, M), TREADLE_IGNORED); /* the same by value */
    CHECK_INT(treadle_descriptor_release(other.source), TREADLE_OK);
    CHECK_INT(released, 1);
    fill(&one, "x");
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(one.performs, 1);
    CHECK_INT(treadle_descriptor_invalidate(one.source), TREADLE_OK);
    CHECK(!treadle_descriptor_is_valid(one.source));
    CHECK_INT(released, 1);
    CHECK_INT(treadle_descriptor_get_context_info(one.source, &info), TREADLE_OK);
    CHECK(info == &one);
    CHECK_INT(treadle_descriptor_get_fd(one.source, &fd), TREADLE_OK);
    CHECK_INT(fd, one.reads);
    CHECK_INT(fstat(fd, &(struct stat){0}), 0); /* stays open */
    CHECK_INT(treadle_descriptor_release(one.source), TREADLE_OK);
    CHECK_INT(treadle_descriptor_get_fd(one.source, &fd), TREADLE_E_STALE);
    CHECK_INT(released, 2);
}

TEST(events_are_those_asked_for, "SRC1-2") {
    struct watched watched = {0};
    int pair[2];
    uint32_t events = 0;
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    watched.reads = pair[0], watched.writes = pair[1];
    watch(&watched, pair[0], TREADLE_READABLE | TREADLE_WRITABLE, M);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.events, TREADLE_WRITABLE);
    fill(&watched, "x");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.events, TREADLE_READABLE | TREADLE_WRITABLE); /* both, in one call */
    CHECK_INT(watched.performs, 2);
    CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_OK);
    CHECK_INT(treadle_descriptor_get_events(watched.source, &events), TREADLE_OK);
    CHECK_INT(events, TREADLE_READABLE);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.events, TREADLE_READABLE);
    CHECK_INT(treadle_descriptor_set_events(watched.source, 0), TREADLE_OK); /* a pause */
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);                          /* not Finished */
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(5), 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 3);
    CHECK_ERROR(treadle_descriptor_set_events(watched.source, TREADLE_HANGUP), TREADLE_E_ARG, "events");
    CHECK_ERROR(treadle_descriptor_set_events(watched.source, 1u << 31), TREADLE_E_ARG, "events");
    CHECK_INT(treadle_descriptor_get_events(watched.source, &events), TREADLE_OK);
    CHECK_INT(events, 0);
    CHECK_INT(treadle_descriptor_invalidate(watched.source), TREADLE_OK);
    CHECK_ERROR(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_E_STATE, "");
}

TEST_MAIN()
