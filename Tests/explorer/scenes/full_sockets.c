/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * full_sockets.c: message ports while a socket has no room: in any schedule one or two have none for a further message, each from
 * the message on that the scheduler chooses. There are no rings. */
#include "owner.h"

#define NAME "scene"
static treadle_message_port local, remote;
static counter received, replies;
static int last; /* the number of the message behind which the server's run ends */

static void serve_one(treadle_message_port self, const treadle_message_port_message *message, void *info) {
    (void)self, (void)info;
    if (message->flags) REQUIRE_OK(treadle_message_port_reply(message->call, message->data, message->size));
    if (count(&received) == last) REQUIRE_OK(treadle_loop_stop(loop));
}
static void take_reply(const void *data, size_t size, void *info) {
    (void)data, (void)info;
    REQUIRE(size == 4);
    count(&replies);
}
static treadle_status ask(int64_t timeout) {
    return treadle_message_port_request(remote, 1, "text", 4, TREADLE_FOREVER, timeout, "replies", take_reply, NULL);
}
/* The port is served by the scene's first thread, when that runs its loop. */
static void open_ports(void) {
    loop = treadle_loop_current();
    refuse_memory_files();
    treadle_message_port_context context = {.struct_size = sizeof context, .receive = serve_one};
    REQUIRE_OK(treadle_message_port_create_local(NAME, &context, &local));
    add(local);
    REQUIRE_OK(treadle_loop_add(loop, local, "replies"));
    REQUIRE_OK(treadle_message_port_create_remote(NAME, NULL, &remote));
    REQUIRE_OK(ask(TREADLE_FOREVER)); /* the connection has been accepted */
    received = replies = 0;
    explore_from_here();
    let_the_kernel_fail(FULL_SOCKETS);
}
static void serve(void) {
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
}
static void close_ports(void) {
    REQUIRE(treadle_invalidate(remote) >= 0);
    REQUIRE_OK(treadle_release(remote));
    REQUIRE(treadle_invalidate(local) >= 0);
    REQUIRE_OK(treadle_release(local));
}

enum { SENT = 3 };
static treadle_status send_one(void) { return treadle_message_port_send(remote, 1, "text", 4, TREADLE_FOREVER); }
static void *send_all(void *info) {
    for (int i = 0; i < SENT; i++) REQUIRE_OK(send_one());
    return info;
}
SCENE(a_sender_waits_for_room_in_its_socket, "MSG-6") {
    open_ports();
    last = SENT;
    pthread_t sender = start(send_all, NULL);
    serve();
    join(sender);
    close_ports();
}

/* Nobody serves the port. */
static void *send_until_its_end(void *info) {
    for (int i = 0; i < SENT; i++) {
        treadle_status status = send_one();
        if (status == TREADLE_OK) continue;
        REQUIRE(status == TREADLE_E_CLOSED || status == TREADLE_E_STATE);
        break;
    }
    return info;
}
static void end_while_two_send(treadle_message_port port) {
    struct two senders = start_two(send_until_its_end, NULL);
    REQUIRE_OK(treadle_invalidate(port));
    join_two(senders);
    close_ports();
}
SCENE(two_wait_for_room_in_the_socket_of_a_port_that_is_invalidated, "MSG-6, MSG-7") {
    open_ports();
    end_while_two_send(remote);
}
SCENE(two_wait_for_room_in_the_socket_of_a_port_that_ends, "MSG-6, MSG-7") {
    open_ports();
    end_while_two_send(local);
}

/* A server that has no room for a reply receives nothing from its sender until it has: the sender takes its replies while it waits for room
 * itself, though nobody waits for them but for the last. */
static void *ask_and_await_the_last(void *info) {
    for (int i = 0; i < SENT; i++) {
        treadle_status status = ask(0);
        REQUIRE(status == TREADLE_OK || status == TREADLE_E_NO_REPLY);
    }
    REQUIRE_OK(ask(TREADLE_FOREVER));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    return info;
}
SCENE(a_reply_waits_for_room_while_its_sender_does, "MSG-5, MSG-6") {
    open_ports();
    leave_accepted_sockets_room(1);
    pthread_t sender = start(ask_and_await_the_last, NULL);
    serve();
    join(sender);
    REQUIRE(counted(&received) == SENT + 1 && counted(&replies) >= 1);
    close_ports();
}
