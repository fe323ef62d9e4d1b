/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_test.c: message ports: messages, requests and their replies. */
#include "message_ports.h"

TEST(a_request_is_answered_by_the_same_threads_loop, "MSG-5 MSG-6 MSG-8") {
    const char *name = new_name();
    struct received received = {0};
    struct reply reply = {0};
    treadle_message_port local = serve_here(name, receive_and_keep, &received), remote = make_remote(name);
    CHECK(!treadle_message_port_is_remote(local));
    CHECK(treadle_message_port_is_remote(remote));
    CHECK_INT(request_text(remote, -7, "question", LONG, &reply), TREADLE_OK);
    CHECK_INT(received.count, 1);
    CHECK_INT(received.id, -7);
    CHECK_INT(received.flags, TREADLE_MESSAGE_PORT_WANTS_REPLY);
    CHECK_TEXT(received.data, "question");
    CHECK_INT(received.process, getpid());
    CHECK_INT(received.user, geteuid());
    CHECK(received.port == local);
    CHECK_INT(reply.count, 1);
    CHECK_REPLY(reply, "answer");
    /* Without data, and without a reply of the callback's. */
    CHECK_INT(treadle_message_port_request(remote, 8, NULL, 0, LONG, LONG, REPLIES, keep_reply, &reply), TREADLE_OK);
    CHECK_INT(received.id, 8);
    CHECK_INT(received.size, 0);
    CHECK_INT(reply.count, 2);
    CHECK_REPLY(reply, "");
    /* Nobody wants to know the reply. */
    CHECK_INT(request_text(remote, 9, "question", LONG, NULL), TREADLE_OK);
    CHECK_INT(received.count, 3);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_port_that_is_not_in_the_reply_mode_does_not_answer, "MSG-6") {
    const char *name = new_name();
    struct received received = {0};
    treadle_message_port local = make_local(name, receive_and_keep, &received), remote = make_remote(name);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, M), TREADLE_OK);
    CHECK_ERROR(request_text(remote, 1, "question", MILLISECONDS(20), NULL), TREADLE_E_NO_REPLY, "reply");
    CHECK_INT(received.count, 0);
    /* It is there still, and what it brings is dropped. */
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(received.count, 1);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_message_without_a_reply_is_sent_at_once, "MSG-6 PORT-6") {
    const char *name = new_name();
    struct received received = {0};
    treadle_message_port local = serve_here(name, receive_and_keep, &received), remote = make_remote(name);
    for (int i = 1; i <= 3; i++) CHECK_INT(treadle_message_port_send(remote, i, "text", 4, 0), TREADLE_OK);
    for (int i = 1; i <= 3; i++) {
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(received.count, i);
        CHECK_INT(received.id, i);
        CHECK_INT(received.flags, 0);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(received.count, 3);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_port_without_a_callback_takes_messages_and_drops_them, "PORT-3 MSG-5") {
    const char *name = new_name();
    struct reply reply = {0};
    treadle_message_port local = serve_here(name, NULL, NULL), remote = make_remote(name);
    CHECK_INT(request_text(remote, 1, "question", LONG, &reply), TREADLE_OK);
    CHECK_INT(reply.count, 1);
    CHECK_INT(reply.size, 0);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* A port that has served, and all that it took for its messages, goes with it, whichever side is the first to go. */
static void serve_once(int round) {
    static char big[200000]; /* a message that nobody receives */
    const char *name = new_name();
    struct reply reply = {0};
    struct received received = {0};
    treadle_message_port local = serve_here(name, receive_and_keep, &received), remote = make_remote(name);
    CHECK_INT(request_text(remote, 1, "question", LONG, &reply), TREADLE_OK);
    CHECK_INT(received.count, 1);
    drop_reply(&reply);
    if (round % 4 > 1) CHECK_INT(treadle_message_port_send(remote, 1, big, sizeof big, 0), TREADLE_OK);
    CHECK_INT(discard(round % 2 ? remote : local), TREADLE_OK);
    CHECK_INT(discard(round % 2 ? local : remote), TREADLE_OK);
    poll_mode(REPLIES), poll_mode(M);
}
TEST(ports_that_have_served_leave_nothing, "MSG-5 MSG-9 OBJ-1 OBJ-4") {
    for (int i = 0; i < 8; i++) serve_once(i);
    size_t before = bytes_in_use();
    int descriptors = count_descriptors();
    for (int i = 0; i < 48; i++) {
        serve_once(i);
        CHECK_INT(count_descriptors(), descriptors);
    }
    CHECK(bytes_in_use() < before + 4096);
}

TEST(another_process_answers_and_any_size_comes_through, "MSG-6 MSG-9") {
    const char *name = new_name();
    struct reply reply = {0};
    pid_t child = start_process(name);
    treadle_message_port remote = make_remote(name);
    const size_t sizes[] = {0, 1, 31, 32, 33, 4095, 4096, 65535, 65536, 65537, 131072, 1 << 20, ((size_t)scaled(64) << 20) + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *bytes = malloc(sizes[i] + 1), text[32];
        for (size_t j = 0; j < sizes[i]; j++) bytes[j] = (char)(j * 31 + i);
        CHECK_INT(treadle_message_port_request(remote, ECHO, bytes, sizes[i], LONG, LONG, REPLIES, keep_reply, &reply), TREADLE_OK);
        CHECK_INT(reply.size, sizes[i]);
        CHECK(sizes[i] == 0 || memcmp(reply.data, bytes, sizes[i]) == 0);
        free(bytes);
        snprintf(text, sizeof text, "%zu", sizes[i]);
        CHECK_INT(request_text(remote, SIZE, text, LONG, &reply), TREADLE_OK);
        CHECK_INT(reply.size, sizes[i]);
        for (size_t j = 0; j < reply.size; j++) CHECK(reply.data[j] == (char)(j * 7 + reply.size));
    }
    drop_reply(&reply);
    CHECK_INT(treadle_message_port_send(remote, STOP, NULL, 0, LONG), TREADLE_OK);
    CHECK_INT(await_process(child), 0);
    CHECK_INT(discard(remote), TREADLE_OK);
}

TEST(too_much_and_nothing_are_refused, "MSG-6") {
    const char *name = new_name();
    treadle_message_port local = serve_here(name, NULL, NULL), remote = make_remote(name);
    char byte = 0;
    CHECK_ERROR(treadle_message_port_send(remote, 1, &byte, TREADLE_MESSAGE_PORT_MOST + 1, 0), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_message_port_send(remote, 1, &byte, SIZE_MAX, 0), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_message_port_send(remote, 1, NULL, 1, 0), TREADLE_E_ARG, "data");
    CHECK_ERROR(treadle_message_port_send(local, 1, &byte, 1, 0), TREADLE_E_STATE, "port");
    CHECK_ERROR(treadle_message_port_request(remote, 1, &byte, 1, 0, 0, NULL, NULL, NULL), TREADLE_E_ARG, "mode");
    CHECK_ERROR(treadle_message_port_request(remote, 1, &byte, 1, 0, 0, TREADLE_COMMON_MODES, NULL, NULL), TREADLE_E_ARG, "mode");
    CHECK_ERROR(treadle_message_port_reply(0, NULL, 0), TREADLE_E_NOT_FOUND, "call");
    CHECK_ERROR(treadle_message_port_reply(1, NULL, 0), TREADLE_E_NOT_FOUND, "call");
    treadle_source source = make_source(NULL, NULL);
    int number = eventfd(0, EFD_CLOEXEC); /* there may be no standard input */
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, number, TREADLE_READABLE);
    CHECK_ERROR(treadle_message_port_send((void *)source, 1, NULL, 0, 0), TREADLE_E_KIND, "port");
    CHECK_ERROR(treadle_message_port_send((void *)descriptor, 1, NULL, 0, 0), TREADLE_E_KIND, "port");
    CHECK_INT(treadle_release(source), TREADLE_OK);
    CHECK_INT(treadle_release(descriptor), TREADLE_OK);
    close(number);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
    CHECK_ERROR(treadle_message_port_send(remote, 1, NULL, 0, 0), TREADLE_E_STALE, "port");
}

static void reply_twice(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port;
    *(uint64_t *)info = message->call;
    CHECK_INT(treadle_message_port_reply(message->call, "one", 3), TREADLE_OK);
    CHECK_ERROR(treadle_message_port_reply(message->call, "two", 3), TREADLE_E_STATE, "call");
    CHECK_ERROR(treadle_message_port_reply(message->call + 1, "two", 3), TREADLE_E_NOT_FOUND, "call");
}
TEST(a_message_has_one_reply, "MSG-5") {
    const char *name = new_name();
    uint64_t call = 0;
    struct reply reply = {0};
    treadle_message_port local = serve_here(name, reply_twice, &call), remote = make_remote(name);
    CHECK_INT(request_text(remote, 1, "question", LONG, &reply), TREADLE_OK);
    CHECK_INT(reply.count, 1);
    CHECK_REPLY(reply, "one");
    CHECK_ERROR(treadle_message_port_reply(call, "late", 4), TREADLE_E_NOT_FOUND, "call");
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* A server that asks another port of its own, or the same one, before it answers. */
struct asking {
    treadle_message_port remote;
    int depth, deepest;
};
static void receive_and_ask(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    struct asking *asking = info;
    struct reply reply = {0};
    char text[16];
    (void)port;
    asking->deepest = message->id > asking->deepest ? message->id : asking->deepest;
    if (message->id < asking->depth) {
        CHECK_INT(request_text(asking->remote, message->id + 1, "", LONG, &reply), TREADLE_OK);
    }
    CHECK(reply.size < sizeof text - 2);
    if (reply.size) memcpy(text, reply.data, reply.size);
    text[reply.size] = (char)('a' + message->id);
    CHECK_INT(treadle_message_port_reply(message->call, text, reply.size + 1), TREADLE_OK);
    drop_reply(&reply);
}
TEST(a_callback_may_send_requests_to_its_own_port, "MSG-6 OBJ-7") {
    const char *name = new_name();
    struct asking asking = {.depth = 6};
    struct reply reply = {0};
    treadle_message_port local = serve_here(name, receive_and_ask, &asking);
    asking.remote = make_remote(name);
    CHECK_INT(request_text(asking.remote, 0, "", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "gfedcba");
    CHECK_INT(asking.deepest, 6);
    CHECK_INT(discard(asking.remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* What else is in the reply mode is served while a thread waits. */
static void count_fire(treadle_timer timer, void *info) { (void)timer, ++*(int *)info; }
TEST(the_loop_runs_in_the_reply_mode_meanwhile, "MSG-6") {
    struct server server;
    struct reply reply = {0};
    int fired = 0;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    treadle_timer other = make_timer(count_fire, &fired, 1, 0), timer = make_timer(go_on_when_fired, &server.go_on, treadle_time_now() + MILLISECONDS(5), 0);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), timer, REPLIES), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), other, M), TREADLE_OK);
    CHECK_INT(request_text(remote, HOLD, "", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "held");
    CHECK_INT(fired, 0); /* it is in another mode */
    CHECK(!treadle_loop_contains(treadle_loop_current(), remote, REPLIES));
    /* A port that was in the mode before stays there. */
    CHECK_INT(treadle_loop_add(treadle_loop_current(), remote, REPLIES), TREADLE_OK);
    CHECK_INT(request_text(remote, ECHO, "x", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "x");
    CHECK(treadle_loop_contains(treadle_loop_current(), remote, REPLIES));
    end_server(&server);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(discard(other), TREADLE_OK);
}

static void stop_when_fired(treadle_timer timer, void *info) {
    (void)timer;
    CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
    sem_post(info);
}
TEST(a_stop_does_not_end_the_wait, "MSG-6 STOP-1") {
    struct server server;
    struct reply reply = {0};
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    treadle_timer timer = make_timer(stop_when_fired, &server.go_on, 1, 0);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), timer, REPLIES), TREADLE_OK);
    CHECK_INT(request_text(remote, HOLD, "", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "held");
    end_server(&server);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
}

TEST_MAIN()
