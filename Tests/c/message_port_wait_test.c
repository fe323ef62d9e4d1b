/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_wait_test.c: how long senders wait, and many of them at once. */
#include "message_ports.h"

TEST(a_late_reply_is_dropped_and_matched_with_nothing, "MSG-6") {
    struct server server;
    struct reply late = {0}, reply = {0};
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_INT(request_text(remote, HOLD, "", 0, &late), TREADLE_E_NO_REPLY);
    await(&server.is_holding);
    CHECK_INT(request_text(remote, COUNT, "", -1, &late), TREADLE_E_NO_REPLY);
    sem_post(&server.go_on);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(request_text(remote, ECHO, "mine", LONG, &reply), TREADLE_OK);
        CHECK_REPLY(reply, "mine");
    }
    CHECK_INT(late.count, 0);
    CHECK_INT(reply.count, 10);
    CHECK_INT(server.messages, 12);
    end_server(&server);
    CHECK_INT(discard(remote), TREADLE_OK);
}

TEST(a_full_queue_holds_the_sender_up_until_its_timeout, "MSG-6 MSG-8") {
    static char block[32768];
    struct received received = {0};
    const char *name = new_name();
    treadle_message_port local = make_local(name, NULL, &received), remote = make_remote(name);
    int sent = 0;
    treadle_status status;
    while ((status = treadle_message_port_send(remote, sent, block, sizeof block, 0)) == TREADLE_OK) sent++;
    CHECK_INT(status, TREADLE_E_TIMEOUT);
    CHECK(sent > 0 && sent < 10000); /* bounded */
    CHECK_ERROR(treadle_message_port_send(remote, 1, block, sizeof block, MILLISECONDS(10)), TREADLE_E_TIMEOUT, "timeout_ns");
    CHECK_ERROR(treadle_message_port_request(remote, 1, block, sizeof block, MILLISECONDS(10), LONG, REPLIES, NULL, NULL), TREADLE_E_TIMEOUT,
                "send_timeout_ns");
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, M), TREADLE_OK);
    for (int i = 0; i < sent; i++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_message_port_send(remote, 1, block, sizeof block, 0), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* A sender who waits for room gets it, or learns that the other side has gone. */
struct sending {
    atomic_int sent;
    const char *name;
};
static void *send_much(void *info) {
    static char block[32768];
    treadle_status status;
    struct sending *sending = info;
    treadle_message_port remote = make_remote(sending->name);
    while ((status = treadle_message_port_send(remote, 1, block, sizeof block, TREADLE_FOREVER)) == TREADLE_OK) atomic_fetch_add(&sending->sent, 1);
    CHECK(status == TREADLE_E_CLOSED || status == TREADLE_E_STATE);
    discard(remote);
    return NULL;
}
TEST(the_end_of_the_port_is_seen_by_who_waits_for_room, "MSG-6 MSG-7") {
    struct sending sending = {.name = new_name()};
    pthread_t thread;
    treadle_message_port local = make_local(sending.name, NULL, NULL);
    CHECK_INT(pthread_create(&thread, NULL, send_much, &sending), 0);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, M), TREADLE_OK);
    while (atomic_load(&sending.sent) < 100) poll_mode(M);
    CHECK_INT(discard(local), TREADLE_OK);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

/* While a sender's replies find no room the server receives nothing from it: a sender that waits for room takes them. */
static char reply_bytes[16000];
static void reply_much(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    struct server *server = info;
    (void)port;
    if (server->messages++ == 0) await(&server->go_on);
    CHECK(treadle_message_port_reply(message->call, reply_bytes, sizeof reply_bytes) >= 0);
}
static void *serve_much(void *info) {
    struct server *server = info;
    server->port = make_local(server->name, reply_much, server);
    server->loop = treadle_loop_current();
    CHECK_INT(treadle_retain(server->loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add(server->loop, server->port, M), TREADLE_OK);
    sem_post(&server->is_ready);
    treadle_loop_run(server->loop, M, TREADLE_FOREVER, 0);
    return NULL;
}
TEST(a_sender_that_waits_for_room_takes_its_replies, "MSG-6") {
    struct server server = {.name = new_name()};
    struct reply reply = {0};
    treadle_status status;
    sem_init(&server.is_ready, 0, 0), sem_init(&server.go_on, 0, 0);
    CHECK_INT(pthread_create(&server.thread, NULL, serve_much, &server), 0);
    await(&server.is_ready);
    treadle_message_port remote = make_remote(server.name);
    int asked = 0;
    /* Until there is no room; nobody waits for the replies. */
    while ((status = treadle_message_port_request(remote, 1, "text", 4, 0, 0, REPLIES, NULL, NULL)) == TREADLE_E_NO_REPLY) asked++;
    CHECK_INT(status, TREADLE_E_TIMEOUT);
    sem_post(&server.go_on);
    CHECK_INT(treadle_message_port_request(remote, 1, "text", 4, TREADLE_FOREVER, TREADLE_FOREVER, REPLIES, keep_reply, &reply), TREADLE_OK);
    CHECK_INT(reply.size, sizeof reply_bytes);
    drop_reply(&reply);
    CHECK_INT(server.messages, asked + 1);
    end_server(&server);
    CHECK_INT(discard(remote), TREADLE_OK);
}

enum { THREADS = 8 };
static treadle_message_port shared_remote;
static void *ask_often(void *info) {
    struct reply reply = {0};
    char text[64];
    for (int i = 0; i < scaled(2000); i++) {
        snprintf(text, sizeof text, "%p %d", info, i);
        CHECK_INT(request_text(shared_remote, ECHO, text, LONG, &reply), TREADLE_OK);
        CHECK_REPLY(reply, text);
    }
    drop_reply(&reply);
    return NULL;
}
TEST(processes_ask_at_once, "MSG-6 MSG-9") {
    pid_t children[6];
    const char *name = new_name();
    pid_t server = start_process(name);
    for (int i = 0; i < 6; i++) {
        if ((children[i] = fork()) == 0) {
            shared_remote = make_remote(name);
            ask_often((void *)(size_t)i);
            CHECK_INT(discard(shared_remote), TREADLE_OK);
            exit(0);
        }
    }
    for (int i = 0; i < 6; i++) CHECK_INT(await_process(children[i]), 0);
    end_process(server);
}

/* In several loops, each message comes to one of them, and each of the threads that share a remote port gets its own replies. */
static atomic_int shared_count;
static void receive_and_count(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port, (void)info;
    atomic_fetch_add(&shared_count, 1);
    CHECK(treadle_message_port_reply(message->call, message->data, message->size) >= 0);
}
TEST(a_port_in_several_loops_gives_each_message_to_one, "PORT-4 MSG-5 MSG-6") {
    struct worker workers[3] = {0};
    pthread_t threads[THREADS];
    const char *name = new_name();
    treadle_message_port local = make_local(name, receive_and_count, NULL);
    for (int i = 0; i < 3; i++) {
        worker_start(&workers[i]);
        CHECK_INT(treadle_loop_add(workers[i].loop, local, M), TREADLE_OK);
    }
    shared_remote = make_remote(name);
    for (size_t i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, ask_often, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(shared_count, THREADS * scaled(2000));
    for (int i = 0; i < 3; i++) worker_stop(&workers[i]);
    CHECK_INT(discard(shared_remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST_MAIN()
