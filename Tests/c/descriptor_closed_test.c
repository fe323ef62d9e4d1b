/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_closed_test.c: descriptors that end, are closed or re-used while they are watched,
 * files that epoll refuses, bad arguments, and changes while the loop sleeps. */
#include "helpers.h"
#include <sys/socket.h>

static const char *const M = TREADLE_DEFAULT_MODE;

struct watched {
    treadle_descriptor source, victim; /* victim: invalidated by the callback */
    int reads, writes;
    atomic_int performs;
    uint32_t events;
    sem_t performed;
};
static void on_ready(treadle_descriptor source, uint32_t events, void *info) {
    struct watched *watched = info;
    CHECK(source == watched->source);
    atomic_fetch_add(&watched->performs, 1);
    watched->events = events;
    if (watched->victim) treadle_descriptor_invalidate(watched->victim);
}
static void open_pipe(struct watched *watched) {
    int ends[2];
    CHECK_INT(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    *watched = (struct watched){.reads = ends[0], .writes = ends[1]};
}
static void watch(struct watched *watched, int fd, uint32_t events) {
    watched->source = make_descriptor(on_ready, watched, fd, events);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), watched->source, M), TREADLE_OK);
}
/* Two pipes; the second's read end can be moved to the first one's number. */
static void reuse_number(int number, struct watched *other) {
    open_pipe(other);
    if (other->reads == number) return; /* the kernel gives the lowest number that is free */
    CHECK_INT(dup3(other->reads, number, O_CLOEXEC), number);
    close(other->reads);
    other->reads = number;
}

static atomic_int wakes;
static void count_wake(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    atomic_fetch_add(&wakes, 1);
}
/* Runs the mode for a while; how many passes that took. A loop that spins takes thousands. */
static int passes_of_an_idle_run(void) {
    treadle_loop loop = treadle_loop_current();
    treadle_observer observer = make_observer(count_wake, NULL, TREADLE_BEFORE_TIMERS);
    atomic_store(&wakes, 0);
    CHECK_INT(treadle_loop_add_observer(loop, observer, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, make_source(NULL, NULL), M), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(30), 0), TREADLE_RUN_TIMED_OUT);
    treadle_observer_invalidate(observer);
    return atomic_load(&wakes);
}

TEST(hangup_and_error_are_reported, "SRC1-8") {
    struct watched watched;
    int pair[2];
    open_pipe(&watched);
    watch(&watched, watched.reads, TREADLE_READABLE);
    close(watched.writes);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK(watched.events & TREADLE_HANGUP);
    CHECK_INT(treadle_descriptor_invalidate(watched.source), TREADLE_OK);
    open_pipe(&watched);
    watch(&watched, watched.writes, TREADLE_WRITABLE);
    close(watched.reads);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK(watched.events & TREADLE_FAILED);
    CHECK_INT(treadle_descriptor_invalidate(watched.source), TREADLE_OK);
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    watched.performs = 0;
    watch(&watched, pair[0], TREADLE_READABLE);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 0);
    close(pair[1]);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK((watched.events & (TREADLE_READABLE | TREADLE_HANGUP)) == (TREADLE_READABLE | TREADLE_HANGUP));
    CHECK_INT(read(pair[0], &(char){0}, 1), 0);
}

TEST(a_paused_source_that_hangs_up_does_not_spin, "SRC1-8") {
    struct watched watched;
    open_pipe(&watched);
    watch(&watched, watched.reads, TREADLE_READABLE);
    CHECK_INT(treadle_descriptor_set_events(watched.source, 0), TREADLE_OK);
    close(watched.writes);
    CHECK(passes_of_an_idle_run() <= 3);
    CHECK_INT(watched.performs, 0);
    CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK(watched.events & TREADLE_HANGUP);
}

TEST(closing_a_watched_descriptor_neither_spins_nor_crashes, "SRC1-8") {
    struct watched watched;
    open_pipe(&watched);
    watch(&watched, watched.reads, TREADLE_READABLE);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    close(watched.reads);
    CHECK(passes_of_an_idle_run() <= 10);
    CHECK(treadle_descriptor_is_valid(watched.source));
    CHECK(treadle_loop_contains_descriptor(treadle_loop_current(), watched.source, M)); /* stays scheduled */
    treadle_descriptor_set_events(watched.source, TREADLE_WRITABLE);                    /* may fail, must not crash */
    CHECK_INT(treadle_loop_remove_descriptor(treadle_loop_current(), watched.source, M), TREADLE_OK);
    CHECK(passes_of_an_idle_run() <= 3);
    CHECK_INT(treadle_descriptor_release(watched.source), TREADLE_OK);
}

TEST(a_reused_number_is_not_served_under_the_old_source, "SRC1-8") {
    treadle_loop loop = treadle_loop_current();
    struct watched old, new;
    open_pipe(&old);
    watch(&old, old.reads, TREADLE_READABLE);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    reuse_number(old.reads, &new);
    CHECK_INT(write(new.writes, "x", 1), 1);
    CHECK(passes_of_an_idle_run() <= 10);
    CHECK(old.performs == 0 || (old.events & TREADLE_READABLE) == 0);
    /* The new descriptor is watched by a source of its own, and the old one's end leaves it alone. */
    new.source = make_descriptor(on_ready, &new, new.reads, TREADLE_READABLE);
    treadle_status status = treadle_loop_add_descriptor(loop, new.source, M);
    if (status == TREADLE_E_EXISTS) {
        CHECK_INT(treadle_loop_remove_descriptor(loop, old.source, M), TREADLE_OK);
        CHECK_INT(treadle_loop_add_descriptor(loop, new.source, M), TREADLE_OK);
    } else {
        CHECK_INT(status, TREADLE_OK);
    }
    CHECK_INT(treadle_descriptor_invalidate(old.source), TREADLE_OK);
    old.performs = 0;
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(new.performs, 1);
    CHECK_INT(old.performs, 0);
    CHECK_INT(treadle_descriptor_release(old.source), TREADLE_OK);
}

/* The trap of epoll: the file stays registered while a copy of the descriptor lives, and its number can no
 * longer be used to take it out. */
static void end_with_a_copy_open(treadle_status (*end)(struct watched *), bool reused) {
    struct watched watched, other = {.reads = -1};
    open_pipe(&watched);
    watch(&watched, watched.reads, TREADLE_READABLE);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    int copy = dup(watched.reads);
    close(watched.reads);
    if (reused) reuse_number(watched.reads, &other);
    CHECK_INT(write(watched.writes, "x", 1), 1); /* readable for ever: nobody reads the copy */
    CHECK_INT(end(&watched), TREADLE_OK);
    watched.performs = 0;
    CHECK(passes_of_an_idle_run() <= 3);
    CHECK_INT(watched.performs, 0);
    if (reused) { /* the new one works */
        CHECK_INT(write(other.writes, "x", 1), 1);
        watch(&other, other.reads, TREADLE_READABLE);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(other.performs, 1);
    }
    /* And so do others of the mode. */
    struct watched third;
    open_pipe(&third);
    watch(&third, third.reads, TREADLE_READABLE);
    CHECK_INT(write(third.writes, "x", 1), 1);
    for (int pass = 0; pass < 2; pass++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(third.performs, reused ? 1 : 2);
    CHECK_INT(treadle_descriptor_release(watched.source), TREADLE_OK);
    close(copy);
}
static treadle_status by_removal(struct watched *watched) {
    return treadle_loop_remove_descriptor(treadle_loop_current(), watched->source, M);
}
static treadle_status by_invalidation(struct watched *watched) { return treadle_descriptor_invalidate(watched->source); }
static treadle_status by_itself(struct watched *watched) {
    watched->victim = watched->source;
    return poll_mode(M) == TREADLE_RUN_TIMED_OUT && !treadle_descriptor_is_valid(watched->source) ? TREADLE_OK : TREADLE_E_STATE;
}
TEST(closed_with_a_copy_open_then_removed, "SRC1-8") { end_with_a_copy_open(by_removal, false); }
TEST(closed_with_a_copy_open_then_invalidated, "SRC1-8") { end_with_a_copy_open(by_invalidation, false); }
TEST(closed_with_a_copy_open_then_invalidated_in_its_callback, "SRC1-8") { end_with_a_copy_open(by_itself, false); }
TEST(closed_with_a_copy_open_and_reused_then_removed, "SRC1-8") { end_with_a_copy_open(by_removal, true); }
TEST(closed_with_a_copy_open_and_reused_then_invalidated, "SRC1-8") { end_with_a_copy_open(by_invalidation, true); }

TEST(a_number_that_is_restored_from_a_copy_can_be_watched_again, "SRC1-8 SRC1-9") {
    struct watched watched;
    open_pipe(&watched);
    watch(&watched, watched.reads, TREADLE_READABLE);
    int copy = dup(watched.reads);
    close(watched.reads);
    CHECK_INT(treadle_loop_remove_descriptor(treadle_loop_current(), watched.source, M), TREADLE_OK);
    CHECK_INT(dup2(copy, watched.reads), watched.reads); /* the same number, and the same file */
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), watched.source, M), TREADLE_OK);
    CHECK_INT(write(watched.writes, "x", 1), 1);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 1);
    CHECK_INT(watched.events, TREADLE_READABLE);
}

TEST(events_taken_in_a_batch_do_not_outlive_their_source, "SRC1-8 OBJ-9") {
    struct watched watched[2], new;
    for (int i = 0; i < 2; i++) {
        open_pipe(&watched[i]);
        watch(&watched[i], watched[i].reads, TREADLE_READABLE);
    }
    for (int i = 0; i < 2; i++) {
        watched[i].victim = watched[1 - i].source; /* whoever comes first ends the other */
        CHECK_INT(write(watched[i].writes, "x", 1), 1);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched[0].performs + watched[1].performs, 1);
    int first = watched[0].performs ? 0 : 1;
    close(watched[1 - first].reads);
    reuse_number(watched[1 - first].reads, &new); /* not readable */
    watch(&new, new.reads, TREADLE_READABLE);
    for (int pass = 0; pass < 3; pass++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched[first].performs, 4);
    CHECK_INT(watched[1 - first].performs, 0);
    CHECK_INT(new.performs, 0);
}

TEST(a_regular_file_is_always_ready, "SRC1-2 SRC1-8") {
    struct watched watched = {0}, piped;
    treadle_loop loop = treadle_loop_current();
    FILE *file = tmpfile();
    CHECK(file);
    watch(&watched, fileno(file), TREADLE_READABLE);
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(watched.events, TREADLE_READABLE);
    CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE | TREADLE_WRITABLE), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.events, TREADLE_READABLE | TREADLE_WRITABLE);
    CHECK_INT(watched.performs, 2);
    open_pipe(&piped); /* takes turns with what the kernel reports */
    watch(&piped, piped.reads, TREADLE_READABLE);
    CHECK_INT(write(piped.writes, "x", 1), 1);
    for (int pass = 0; pass < 6; pass++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(piped.performs, 3);
    CHECK_INT(watched.performs, 5);
    CHECK_INT(treadle_descriptor_set_events(watched.source, 0), TREADLE_OK);
    CHECK_INT(read(piped.reads, &(char){0}, 1), 1);
    CHECK(passes_of_an_idle_run() <= 3);
    CHECK_INT(watched.performs, 5);
    CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 6);
    CHECK_INT(treadle_loop_remove_descriptor(loop, watched.source, M), TREADLE_OK);
    CHECK(passes_of_an_idle_run() <= 3);
    CHECK_INT(watched.performs, 6);
}

TEST(bad_contexts_are_refused, "SRC1-1 ABI-7") {
    struct watched watched;
    treadle_descriptor source;
    open_pipe(&watched);
    const treadle_descriptor_context good = {
        .struct_size = sizeof good, .info = &watched, .ready = on_ready, .fd = watched.reads, .events = TREADLE_READABLE};
    treadle_descriptor_context bad = good;
    CHECK_ERROR(treadle_descriptor_create(NULL, &source), TREADLE_E_ARG, "context");
    CHECK_ERROR(treadle_descriptor_create(&good, NULL), TREADLE_E_ARG, "descriptor");
    bad.fd = -1;
    CHECK_ERROR(treadle_descriptor_create(&bad, &source), TREADLE_E_ARG, "fd");
    bad.fd = 987654;
    CHECK_ERROR(treadle_descriptor_create(&bad, &source), TREADLE_E_ARG, "fd");
    bad = good, bad.ready = NULL;
    CHECK_ERROR(treadle_descriptor_create(&bad, &source), TREADLE_E_ARG, "ready");
    CHECK_ERROR(treadle_descriptor_start(watched.reads, TREADLE_READABLE, NULL, NULL, &source), TREADLE_E_ARG, "ready");
    bad = good, bad.events = 0;
    CHECK_ERROR(treadle_descriptor_create(&bad, &source), TREADLE_E_ARG, "events");
    bad.events = TREADLE_READABLE | TREADLE_HANGUP;
    CHECK_ERROR(treadle_descriptor_create(&bad, &source), TREADLE_E_ARG, "events");
    bad = good, bad.flags = 2;
    CHECK_ERROR(treadle_descriptor_create(&bad, &source), TREADLE_E_ARG, "flags");
    bad = good, bad.struct_size = sizeof good - 8;
    CHECK_ERROR(treadle_descriptor_create(&bad, &source), TREADLE_E_ARG, "struct_size");
    struct { treadle_descriptor_context context; uint64_t tail; } longer = {good, 0};
    longer.context.struct_size = sizeof longer;
    longer.tail = 1;
    CHECK_ERROR(treadle_descriptor_create(&longer.context, &source), TREADLE_E_TOO_NEW, "");
    CHECK(source == NULL);
    longer.tail = 0;
    CHECK_INT(treadle_descriptor_create(&longer.context, &source), TREADLE_OK);
    close(watched.reads);
    treadle_error_info error = {.struct_size = sizeof error};
    CHECK_ERROR(treadle_loop_add_descriptor(treadle_loop_current(), source, M), TREADLE_E_SYSTEM, "");
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    CHECK_INT(error.os_errno, EBADF);
    CHECK(!treadle_loop_contains_descriptor(treadle_loop_current(), source, M));
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
}

static void tell(treadle_descriptor source, uint32_t events, void *info) {
    struct watched *watched = info;
    (void)events;
    CHECK_INT(treadle_descriptor_set_events(source, 0), TREADLE_OK);
    sem_post(&watched->performed);
}
TEST(changes_reach_a_sleeping_loop, "MODE-10 SRC1-9") {
    struct worker worker;
    struct watched watched;
    worker_start(&worker);
    open_pipe(&watched);
    sem_init(&watched.performed, 0, 0);
    CHECK_INT(write(watched.writes, "x", 1), 1);
    watched.source = make_descriptor(tell, &watched, watched.reads, TREADLE_READABLE);
    worker_await_sleep(&worker);
    CHECK_INT(treadle_loop_add_descriptor(worker.loop, watched.source, M), TREADLE_OK);
    await(&watched.performed);
    for (int i = 0; i < scaled(200); i++) { /* paused by each callback */
        if (i % 2) worker_await_sleep(&worker);
        CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_OK);
        await(&watched.performed);
    }
    worker_stop(&worker);
    CHECK_INT(treadle_descriptor_release(watched.source), TREADLE_OK);
}

TEST_MAIN()
