/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * rings.c: message ports whose loops look for messages in the memory that both sides share, and have the bell left out meanwhile,
 * against their way to sleep. Both sides are in one process here, on a processor each. */
#include "owner.h"

#include <string.h>

#define NAME "scene"
static treadle_message_port local, remote;
static counter requests, replies, ends;

static void answer_request(treadle_message_port self, const treadle_message_port_message *message, void *info) {
    (void)self, (void)info;
    count(&requests);
    if (!message->flags) return;
    treadle_status status = treadle_message_port_reply(message->call, message->data, message->size);
    REQUIRE(status == TREADLE_OK || (status == TREADLE_IGNORED && counted(&ends)));
}
static treadle_message_port_receive_fn receiver = answer_request;
static void serve(void) {
    treadle_message_port_context context = {.struct_size = sizeof context, .receive = receiver};
    give_each_thread_a_processor(true);
    REQUIRE_OK(treadle_message_port_create_local(NAME, &context, &local));
    add(local);
}
static void *run_server(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    serve();
    set(&is_there);
    result = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    return info;
}
static void take_reply(const void *data, size_t size, void *info) {
    (void)info;
    REQUIRE(size == 4 && memcmp(data, "text", 4) == 0);
    count(&replies);
}
static treadle_status ask(treadle_message_port port) {
    return treadle_message_port_request(port, 1, "text", 4, TREADLE_FOREVER, TREADLE_FOREVER, "replies", take_reply, NULL);
}
/* Both sides have the ring, and have seen each other on another processor. */
static pthread_t start_server_and_ask(int how_often) {
    pthread_t server = start(run_server, NULL);
    await(&is_there);
    REQUIRE_OK(treadle_message_port_create_remote(NAME, NULL, &remote));
    REQUIRE_OK(treadle_loop_add(treadle_loop_current(), remote, "replies"));
    for (int i = 0; i < how_often; i++) REQUIRE_OK(ask(remote));
    return server;
}
static pthread_t start_server(void) { return start_server_and_ask(3); }
static void end(pthread_t server) {
    REQUIRE(treadle_invalidate(remote) >= 0);
    REQUIRE_OK(treadle_release(remote));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(server);
    REQUIRE_OK(treadle_release(local));
}

/* From here on neither side waits awake any more: behind its next message the server hands over what it looked at, and sleeps. */
static pthread_t start_tired_server(void) {
    pthread_t server = start_server();
    give_each_thread_a_processor(false);
    explore_from_here();
    return server;
}

SCENE(a_request_meets_a_server_on_its_way_to_sleep, "MSG-6 MSG-9 WAKE-1") {
    pthread_t server = start_tired_server();
    for (int i = 0; i < 2; i++) REQUIRE_OK(ask(remote));
    REQUIRE(counted(&replies) == 5);
    end(server);
}

/* Whatever the server does besides, it looks again before it sleeps. */
static void do_nothing_at_all(void *info) { (void)info; }
SCENE(a_post_and_a_message_meet_a_loop_on_its_way_to_sleep, "MSG-6 MSG-9 BLK-2") {
    pthread_t server = start_tired_server();
    REQUIRE_OK(treadle_message_port_send(remote, 1, "text", 4, TREADLE_FOREVER));
    REQUIRE_OK(treadle_loop_post(loop, do_nothing_at_all, NULL));
    REQUIRE_OK(ask(remote));
    REQUIRE(counted(&requests) == 5);
    end(server);
}

static void end_port(void *info) {
    (void)info;
    count(&ends);
    REQUIRE_OK(treadle_invalidate(local));
}
SCENE(a_port_ends_while_both_sides_look, "MSG-7 MSG-8") {
    pthread_t server = start_server();
    explore_from_here();
    REQUIRE_OK(treadle_loop_post(loop, end_port, NULL));
    treadle_status status = ask(remote);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
    REQUIRE(counted(&replies) == (status == TREADLE_OK ? 4 : 3));
    if (status == TREADLE_OK) status = ask(remote);
    REQUIRE(status == TREADLE_E_CLOSED);
    end(server);
}

/* The port ends on a thread that looks at nothing: the server gives up what it looks at when it comes to that. */
SCENE(a_port_ends_by_another_thread_while_both_sides_look, "MSG-7 MSG-8") {
    pthread_t server = start_server();
    explore_from_here();
    count(&ends);
    REQUIRE_OK(treadle_invalidate(local));
    treadle_status rest = treadle_loop_run(treadle_loop_current(), "nothing", 1000000, TREADLE_RUN_WHEN_EMPTY);
    REQUIRE(rest == TREADLE_RUN_TIMED_OUT);
    REQUIRE(ask(remote) == TREADLE_E_CLOSED && counted(&replies) == 3);
    end(server);
}

/* Another thread's loop takes in the reply, for which the sender may have ceased to wait. */
static treadle_loop taker;
static struct event takes_replies;
static void *take_replies(void *info) {
    taker = treadle_loop_current();
    REQUIRE_OK(treadle_retain(taker));
    REQUIRE_OK(treadle_loop_add(taker, remote, TREADLE_DEFAULT_MODE));
    set(&takes_replies);
    REQUIRE(treadle_loop_run(taker, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
    return info;
}
SCENE(a_reply_comes_to_another_loop_when_its_time_is_up, "MSG-6") {
    pthread_t server = start_server(), other = start(take_replies, NULL);
    await(&takes_replies);
    explore_from_here();
    treadle_status status = treadle_message_port_request(remote, 1, "text", 4, TREADLE_FOREVER, 5000, "replies", take_reply, NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_NO_REPLY);
    REQUIRE(counted(&replies) == (status == TREADLE_OK ? 4 : 3));
    REQUIRE_OK(treadle_loop_request_stop(taker, 0));
    join(other);
    REQUIRE_OK(treadle_release(taker));
    count(&ends);
    end(server);
}

/* The ring is full until the server has received a message; the next one has room where that was. */
int __wrap_sched_yield(void);
static char large[16384];
static void send_large(int how_many) {
    while (how_many-- > 0) REQUIRE_OK(treadle_message_port_send(remote, 1, large, sizeof large, TREADLE_FOREVER));
}
SCENE(a_message_is_sent_as_the_server_makes_room_in_the_ring, "MSG-6 MSG-9") {
    pthread_t server = start_server();
    explore_from_here();
    send_large(3);
    while (counted(&requests) < 4) __wrap_sched_yield();
    send_large(1);
    REQUIRE_OK(ask(remote));
    REQUIRE(counted(&requests) == 8 && counted(&replies) == 4);
    end(server);
}

/* The server is in a callback meanwhile: the ring is filled to its last byte, or a message is sent by the socket for which one unit is
 * lacking. Either way the connection is sound, and the messages behind it are received. */
static struct event may_serve;
static void wait_to_serve(void *info) {
    (void)info;
    await(&may_serve);
    may_serve = (struct event){0};
}
static void fill_the_ring(size_t last) {
    int before = counted(&requests);
    REQUIRE_OK(treadle_loop_post(loop, wait_to_serve, NULL));
    send_large(3);
    REQUIRE_OK(treadle_message_port_send(remote, 1, large, last, TREADLE_FOREVER));
    REQUIRE_OK(treadle_message_port_send(remote, 1, large, 1, TREADLE_FOREVER));
    set(&may_serve);
    REQUIRE_OK(ask(remote));
    REQUIRE(counted(&requests) == before + 6);
}
SCENE(a_ring_is_filled_to_its_last_byte, "MSG-6 MSG-9") {
    enum { HEAD = 32, LEFT = 65536 - 3 * (HEAD + (int)sizeof large) - HEAD };
    pthread_t server = start_server();
    fill_the_ring(LEFT);
    explore_from_here();
    fill_the_ring(LEFT + 1);
    end(server);
}

/* There are more replies than are taken at a time. Nobody waits for them but for the last, whose thread sleeps when they come. */
enum { TAKEN_AT_A_TIME = 256 };
static void answer_many(treadle_message_port self, const treadle_message_port_message *message, void *info) {
    if (counted(&requests) == 3 + TAKEN_AT_A_TIME) explore_from_here();
    answer_request(self, message, info);
}
SCENE(a_reply_comes_behind_those_that_are_taken_at_a_time, "MSG-6 MSG-9") {
    receiver = answer_many;
    pthread_t server = start_server_and_ask(0);
    give_each_thread_a_processor(false); /* so that this side has the bell rung, and does not look */
    for (int i = 0; i < 3; i++) REQUIRE_OK(ask(remote));
    REQUIRE_OK(treadle_loop_post(loop, wait_to_serve, NULL));
    for (int i = 0; i < TAKEN_AT_A_TIME; i++)
        REQUIRE(treadle_message_port_request(remote, 1, "text", 4, TREADLE_FOREVER, 0, "replies", take_reply, NULL) == TREADLE_E_NO_REPLY);
    set(&may_serve);
    REQUIRE_OK(ask(remote));
    REQUIRE(counted(&replies) == 4);
    end(server);
}

/* The sender asks for its ring, and sends by the socket until it has one, and while the server has yet to receive what is there. */
SCENE(a_sender_gets_its_ring, "MSG-3 MSG-6 MSG-9") {
    pthread_t server = start(run_server, NULL);
    await(&is_there);
    explore_from_here();
    REQUIRE_OK(treadle_message_port_create_remote(NAME, NULL, &remote));
    REQUIRE_OK(treadle_loop_add(treadle_loop_current(), remote, "replies"));
    for (int i = 0; i < 2; i++) REQUIRE_OK(ask(remote));
    REQUIRE(counted(&requests) == 2 && counted(&replies) == 2);
    end(server);
}

/* Its loop has not served the port. Both threads that wait are told that the sender's end is invalid. */
static void *ask_in_vain(void *info) {
    treadle_status status = ask(remote);
    REQUIRE(status == TREADLE_E_CLOSED || status == TREADLE_E_STATE);
    return info;
}
SCENE(two_wait_for_replies_of_a_port_that_is_invalidated, "MSG-6 MSG-7") {
    loop = treadle_loop_current();
    serve();
    REQUIRE_OK(treadle_message_port_create_remote(NAME, NULL, &remote));
    explore_from_here();
    struct two waiters = start_two(ask_in_vain, NULL);
    REQUIRE_OK(treadle_invalidate(remote));
    join_two(waiters);
    REQUIRE_OK(treadle_release(remote));
    REQUIRE_OK(treadle_invalidate(local));
    REQUIRE_OK(treadle_release(local));
}
