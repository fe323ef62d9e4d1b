/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_want_test.c: message ports that have no memory for a frame, or no descriptor for a sender. They rest, by the port's
 * timer, and nothing is lost. */
#include "message_port_raw.h"

#include "faults.h"

#ifndef SANITIZED

/* A run is so long, and a port that rests for up to 10 ms at a time, or for 1 ms without a timer, makes so many calls in vain at most. One
 * that does not rest makes thousands. */
enum { RUN_MS = 100, MOST_TRIES = 500 };

static void run_for_a_while(unsigned kinds, int error) {
    arm(kinds, error, 1, true);
    CHECK(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(RUN_MS), 0) >= 0);
    int tries = disarm();
    CHECK(tries >= 1);
    if (tries > MOST_TRIES) check_failed(__FILE__, __LINE__, "%d tries while %d is refused with %d", tries, (int)kinds, error);
}
static void run_until(const int *count, int wanted) {
    while (*count < wanted) {
        CHECK(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(10), 0) >= 0);
        progress();
    }
}
/* A timer that fires meanwhile: the loop serves others. */
static void count_up(treadle_timer timer, void *info) { (void)timer, ++*(int *)info; }

TEST(a_port_rests_while_there_is_no_memory_for_a_frame, "MSG-5 MSG-9") {
    const int errors[] = {ENOMEM, ENOBUFS};
    struct received got = {0};
    int fired = 0;
    const char *name = new_name();
    treadle_message_port local = serve_here(name, receive_and_keep, &got);
    treadle_timer timer = make_timer(count_up, &fired, 1, MILLISECONDS(1));
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    int fd = raw_greeted(name);
    poll_mode(M);
    for (int i = 0; i < 2; i++) {
        CHECK(send_frame(fd, head_of(MESSAGE, 0, 1, 0), "1", 1) > 0);
        CHECK(send_frame(fd, head_of(MESSAGE, 0, 1, 0), "2", 1) > 0);
        fired = 0;
        run_for_a_while(FAULT_RECEIVING, errors[i]);
        CHECK_INT(got.count, 2 * i);
        CHECK(fired > 0);
        run_until(&got.count, 2 * i + 2);
        CHECK(strcmp(got.data, "2") == 0);
    }
    /* A sender that has gone meanwhile. */
    CHECK(send_frame(fd, head_of(MESSAGE, 0, 1, 0), "3", 1) > 0);
    close(fd);
    run_for_a_while(FAULT_RECEIVING, ENOMEM);
    run_until(&got.count, 5);
    CHECK(strcmp(got.data, "3") == 0);
    int descriptors = count_descriptors();
    for (fd = raw_connect(name); count_descriptors() > descriptors + 1; progress()) poll_mode(M);
    close(fd);
    /* Its end. */
    fd = raw_greeted(name);
    poll_mode(M);
    CHECK(send_frame(fd, head_of(MESSAGE, 0, 1, 0), "4", 1) > 0);
    run_for_a_while(FAULT_RECEIVING, ENOMEM);
    close(fd);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_port_rests_while_there_is_no_memory_for_a_frame_of_a_ring, "MSG-5 MSG-9") {
    if (!have_memory_faults()) return;
    struct received got = {0};
    const char *name = new_name();
    treadle_message_port local = serve_here(name, receive_and_keep, &got);
    struct raw_ring ring;
    int fd = connect_here(name, &ring);
    for (int i = 1; i <= 3; i++) {
        put_frame(&ring.memory->to_server, ring.memory->bytes_to_server, ring.other_bell, head_of(MESSAGE, 0, 4, 0), "word", 4);
        run_for_a_while(FAULT_MEMORY, ENOMEM);
        CHECK_INT(got.count, i - 1);
        run_until(&got.count, i);
    }
    drop_ring(&ring), close(fd);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_port_rests_while_there_is_no_descriptor_for_a_sender, "MSG-9") {
    const int errors[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS};
    struct received got = {0};
    const char *name = new_name();
    treadle_message_port local = serve_here(name, receive_and_keep, &got);
    for (int i = 0; i < 4; i++) {
        int fd = raw_greeted(name);
        CHECK(send_frame(fd, head_of(MESSAGE, 0, 1, 0), "1", 1) > 0);
        run_for_a_while(FAULT_ACCEPTING, errors[i]);
        CHECK_INT(got.count, i);
        run_until(&got.count, i + 1);
        close(fd);
    }
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_port_without_a_timer_rests_as_well, "MSG-9") {
    struct received got = {0};
    const char *name = new_name();
    arm(FAULT_TIMER_CREATE, EMFILE, 1, true);
    treadle_message_port local = make_local(name, receive_and_keep, &got);
    disarm();
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, M), TREADLE_OK);
    int fd = raw_greeted(name);
    CHECK(send_frame(fd, head_of(MESSAGE, 0, 1, 0), "1", 1) > 0);
    run_for_a_while(FAULT_TIMER_CREATE | FAULT_ACCEPTING, EMFILE);
    poll_mode(M), poll_mode(M);
    CHECK(send_frame(fd, head_of(MESSAGE, 0, 1, 0), "2", 1) > 0);
    run_for_a_while(FAULT_TIMER_CREATE | FAULT_RECEIVING, ENOMEM);
    run_until(&got.count, 2);
    close(fd);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* The other side. */
static struct {
    int tries, fired;
} until_allowed;
static void allow(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    if (++until_allowed.fired == RUN_MS) until_allowed.tries = disarm();
}
static void request_in_want(unsigned kinds, size_t size) {
    char text[16];
    struct server server;
    struct reply reply = {0};
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    treadle_timer timer = make_timer(allow, NULL, 1, MILLISECONDS(1));
    CHECK_SERVED(remote);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, REPLIES), TREADLE_OK);
    until_allowed.fired = until_allowed.tries = 0;
    snprintf(text, sizeof text, "%zu", size);
    /* The request itself is sent by then. */
    CHECK_INT(treadle_message_port_send(remote, SILENT, NULL, 0, LONG), TREADLE_OK);
    arm(kinds, ENOMEM, kinds == FAULT_MEMORY ? 2 : 1, true);
    CHECK_INT(request_text(remote, SIZE, text, LONG, &reply), TREADLE_OK);
    CHECK_INT(reply.size, size);
    if (until_allowed.tries > MOST_TRIES) check_failed(__FILE__, __LINE__, "%d tries", until_allowed.tries);
    drop_reply(&reply);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}
TEST(a_remote_port_rests_while_there_is_no_memory_for_a_reply, "MSG-6 MSG-9") {
    request_in_want(FAULT_RECEIVING, 60000);
    if (have_memory_faults()) request_in_want(FAULT_MEMORY, 100);
}

#endif

TEST_MAIN()
