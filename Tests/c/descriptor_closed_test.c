/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_closed_test.c: descriptors that end or are closed while they are watched, files that epoll refuses, bad arguments, and
 * changes while the loop sleeps. Of what is closed the kernel says nothing, so its sources go silent; with TREADLE_DEBUG the loop looks
 * before it sleeps, and tells them once. */
#include "watched_pipes.h"

#include <sys/socket.h>

TEST(hangup_and_error_are_reported, "SRC1-8") {
    struct watched watched;
    int pair[2];
    open_pipe(&watched);
    watch(&watched);
    close(watched.writes);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK(watched.events & TREADLE_HANGUP);
    CHECK_INT(treadle_descriptor_invalidate(watched.source), TREADLE_OK);
    open_pipe(&watched);
    watch_fd(&watched, watched.writes, TREADLE_WRITABLE);
    close(watched.reads);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK(watched.events & TREADLE_FAILED);
    CHECK_INT(treadle_descriptor_invalidate(watched.source), TREADLE_OK);
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    watched.performs = 0;
    watch_fd(&watched, pair[0], TREADLE_READABLE);
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
    watch(&watched);
    set_events(&watched, 0);
    close(watched.writes);
    check_sleeps(M);
    CHECK_INT(watched.performs, 0);
    CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK(watched.events & TREADLE_HANGUP);
}

TEST(closed_descriptors_go_silent, "SRC1-8 PASS-10") {
    unsetenv("TREADLE_DEBUG");
    struct watched watched;
    open_pipe(&watched);
    watch(&watched);
    CHECK_INT(performs_of(&watched, 1), 0);
    close(watched.reads);
    check_sleeps(M);
    CHECK_INT(watched.performs, 0);
    CHECK(treadle_descriptor_is_valid(watched.source));
    CHECK(treadle_loop_contains_descriptor(treadle_loop_current(), watched.source, M)); /* stays scheduled */
    treadle_descriptor_set_events(watched.source, TREADLE_WRITABLE);                    /* may fail, must not crash */
    CHECK_INT(treadle_loop_remove_descriptor(treadle_loop_current(), watched.source, M), TREADLE_OK);
    check_sleeps(M);
    CHECK_INT(treadle_descriptor_release(watched.source), TREADLE_OK);
}
static void run_until_told(struct watched *watched, const char *mode) {
    int before = watched->performs;
    CHECK_INT(treadle_loop_run(treadle_loop_current(), mode, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE),
              TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(watched->performs, before + 1);
    CHECK_INT(watched->events, TREADLE_FAILED);
    check_sleeps(mode); /* and once it is */
    CHECK_INT(watched->performs, before + 1);
}
TEST(closed_descriptors_are_told_when_debugging, "SRC1-8 PASS-10") {
    setenv("TREADLE_DEBUG", "1", 1);
    struct watched watched, other;
    for (int variant = 0; variant < 4; variant++) { /* closed, with a copy open, used again, both */
        open_pipe(&watched);
        watch(&watched);
        check_sleeps(M);
        int copy = variant & 1 ? dup(watched.reads) : -1;
        if (variant & 2) {
            reuse_number(&watched, &other);
            fill(&other);
        } else {
            close(watched.reads);
        }
        run_until_told(&watched, M);
        CHECK(treadle_loop_contains_descriptor(treadle_loop_current(), watched.source, M)); /* stays scheduled */
        if (variant & 2) { /* enabled after a pause it is the number's new file that is watched */
            set_events(&watched, 0);
            set_events(&watched, TREADLE_READABLE);
            CHECK_INT(performs_of(&watched, 2), 2);
            CHECK_INT(watched.events, TREADLE_READABLE);
            close(other.reads), close(other.writes);
        }
        end(&watched);
        if (copy >= 0) close(copy);
        close(watched.writes);
    }
}
TEST(only_what_is_watched_is_looked_at, "SRC1-8 SRC1-2 SRC1-11") {
    setenv("TREADLE_DEBUG", "1", 1);
    struct watched paused, counter = {.reads = eventfd(0, EFD_NONBLOCK)}, other;
    open_pipe(&paused);
    watch(&paused);
    set_events(&paused, 0);
    close(paused.reads);
    check_sleeps(M);
    CHECK_INT(paused.performs, 0);
    CHECK_ERROR(treadle_descriptor_set_events(paused.source, TREADLE_READABLE), TREADLE_E_SYSTEM, "fd");
    /* A counter that Treadle reads: nothing is read from what its number means now. */
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = &counter, .ready = on_ready,
        .fd = counter.reads, .events = TREADLE_READABLE, .flags = TREADLE_DESCRIPTOR_ACKNOWLEDGED};
    CHECK_INT(treadle_descriptor_create(&context, &counter.source), TREADLE_OK);
    add(&counter, N);
    reuse_number(&counter, &other);
    for (int i = 0; i < 8; i++) fill(&other);
    run_until_told(&counter, N);
    CHECK_INT(read(other.reads, &(char[20]){0}, 20), 8);
}

TEST(events_taken_in_a_batch_do_not_outlive_their_source, "SRC1-8 OBJ-9") {
    struct watched watched[2], new;
    for (int i = 0; i < 2; i++) {
        open_pipe(&watched[i]);
        watch(&watched[i]);
    }
    for (int i = 0; i < 2; i++) {
        watched[i].victim = watched[1 - i].source; /* whoever comes first ends the other */
        fill(&watched[i]);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched[0].performs + watched[1].performs, 1);
    int first = watched[0].performs ? 0 : 1;
    close(watched[1 - first].reads);
    reuse_number(&watched[1 - first], &new); /* not readable */
    watch(&new);
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
    watch_fd(&watched, fileno(file), TREADLE_READABLE);
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(watched.events, TREADLE_READABLE);
    CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE | TREADLE_WRITABLE), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.events, TREADLE_READABLE | TREADLE_WRITABLE);
    CHECK_INT(watched.performs, 2);
    open_pipe(&piped); /* takes turns with what the kernel reports */
    watch(&piped);
    fill(&piped);
    for (int pass = 0; pass < 6; pass++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(piped.performs, 3);
    CHECK_INT(watched.performs, 5);
    CHECK_INT(treadle_descriptor_set_events(watched.source, 0), TREADLE_OK);
    CHECK_INT(read(piped.reads, &(char){0}, 1), 1);
    check_sleeps(M);
    CHECK_INT(watched.performs, 5);
    CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(watched.performs, 6);
    CHECK_INT(treadle_loop_remove_descriptor(loop, watched.source, M), TREADLE_OK);
    check_sleeps(M);
    CHECK_INT(watched.performs, 6);
    add(&watched, M);
    end(&watched);
    check_sleeps(M);
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

static sem_t performed;
static void tell(treadle_descriptor source, uint32_t events, void *info) {
    (void)events, (void)info;
    CHECK_INT(treadle_descriptor_set_events(source, 0), TREADLE_OK);
    sem_post(&performed);
}
TEST(changes_reach_a_sleeping_loop, "MODE-10 SRC1-9") {
    struct worker worker;
    struct watched watched;
    worker_start(&worker);
    open_pipe(&watched);
    sem_init(&performed, 0, 0);
    fill(&watched);
    watched.source = make_descriptor(tell, NULL, watched.reads, TREADLE_READABLE);
    worker_await_sleep(&worker);
    CHECK_INT(treadle_loop_add_descriptor(worker.loop, watched.source, M), TREADLE_OK);
    await(&performed);
    for (int i = 0; i < scaled(200); i++) { /* paused by each callback */
        if (i % 2) worker_await_sleep(&worker);
        CHECK_INT(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_OK);
        await(&performed);
    }
    worker_stop(&worker);
    CHECK_INT(treadle_descriptor_release(watched.source), TREADLE_OK);
}

TEST_MAIN()
