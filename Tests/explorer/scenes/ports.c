/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * ports.c: messages to a port while its loop sleeps, while its queue is full, and while it ends. */
#include "owner.h"

#include <string.h>

static treadle_port port;
static counter received;
static void receive(treadle_port self, treadle_message message, void *info) {
    (void)self;
    REQUIRE(counted(&freed) == 0);
    treadle_message_info about = {.struct_size = sizeof about};
    REQUIRE_OK(treadle_message_get_info(message, &about));
    REQUIRE(about.length == sizeof(int) && *(const int *)about.bytes == 7);
    if (count(&received) == (int)(intptr_t)info) stop_loop(NULL);
}
static void make_port(int limit) {
    treadle_port_context context = {.struct_size = sizeof context, .receive = receive, .release = count_release, .capacity = 1,
                                    .info = (void *)(intptr_t)limit};
    REQUIRE_OK(treadle_port_create(&context, &port));
    add(port);
}
static void make_port_for_two(void) { make_port(2); }
static void make_port_for_ever(void) { make_port(-1); }
static treadle_status send(void) { return treadle_port_send_bytes(port, 1, &(int){7}, sizeof(int), TREADLE_FOREVER); }
static void *send_one(void *unused) {
    treadle_status status = send();
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED || status == TREADLE_E_STALE);
    if (status == TREADLE_OK) count(&called);
    return unused;
}
static void *send_one_for_sure(void *unused) {
    REQUIRE_OK(send());
    return unused;
}
SCENE(a_sender_waits_for_room, "MPORT-1, PORT-6") {
    pthread_t owner = start_owner(make_port_for_two);
    REQUIRE_OK(send());
    REQUIRE_OK(send());
    join_owner(owner);
    REQUIRE_OK(treadle_release(port));
    REQUIRE(counted(&received) == 2 && counted(&freed) == 1);
}
/* The wait lies on the sender's stack, where something else lies when the message is sent. */
static void fill(char *bytes, size_t size) { memset(bytes, 1, size); }
static void (*volatile fill_stack)(char *, size_t) = fill;
__attribute__((noinline)) static void use_the_stack(void) {
    char bytes[8192];
    fill_stack(bytes, sizeof bytes);
}
SCENE(a_sender_waits_for_room_and_goes_on, "MPORT-1, PORT-6") {
    pthread_t owner = start_owner(make_port_for_two);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(send());
        use_the_stack();
    }
    join_owner(owner);
    REQUIRE_OK(treadle_release(port));
    REQUIRE(counted(&received) == 2 && counted(&freed) == 1);
}
SCENE(two_send_to_a_port_with_room_for_one, "MPORT-1, PORT-5") {
    pthread_t owner = start_owner(make_port_for_two), other = start(send_one_for_sure, NULL);
    REQUIRE_OK(send());
    join(other);
    join_owner(owner);
    REQUIRE_OK(treadle_release(port));
    REQUIRE(counted(&received) == 2 && counted(&freed) == 1);
}
SCENE(senders_wait_against_the_ports_end, "PORT-2, OBJ-5") {
    pthread_t owner = start_owner(make_port_for_ever), other = start(send_one, NULL);
    send_one(NULL);
    REQUIRE_OK(treadle_invalidate(port));
    REQUIRE_OK(treadle_release(port));
    join(other);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&received) <= counted(&called) && counted(&freed) == 1);
}
/* A message that is there before the port is in a mode. */
static void make_port_outside(void) {
    treadle_port_context context = {.struct_size = sizeof context, .receive = receive, .release = count_release, .info = (void *)1};
    REQUIRE_OK(treadle_port_create(&context, &port));
}
SCENE(a_message_against_adding_its_port, "PORT-5") {
    pthread_t owner = start_owner(make_port_outside), other = start(send_one_for_sure, NULL);
    treadle_status status = treadle_loop_add(loop, port, TREADLE_DEFAULT_MODE);
    REQUIRE(status == TREADLE_OK || (status == TREADLE_IGNORED && counted(&received) == 1)); /* the loop has ended */
    join(other);
    join_owner(owner);
    REQUIRE_OK(treadle_release(port));
    REQUIRE(counted(&received) == 1 && counted(&freed) == 1);
}

/* The port moves from one mode to another one, which the loop runs: its membership there is another one than the first. */
#define FIRST_MODE "first"
static void make_port_elsewhere(void) {
    make_port_outside();
    REQUIRE_OK(treadle_loop_add(loop, port, FIRST_MODE));
}
SCENE(a_message_against_moving_its_port, "PORT-4, PORT-5") {
    pthread_t owner = start_owner(make_port_elsewhere), other = start(send_one_for_sure, NULL);
    add(port);
    treadle_status status = treadle_loop_remove(loop, port, FIRST_MODE);
    REQUIRE(status == TREADLE_OK || (status == TREADLE_IGNORED && counted(&received)));
    join(other);
    join_owner(owner);
    REQUIRE_OK(treadle_release(port));
    REQUIRE(counted(&received) == 1 && counted(&freed) == 1);
}

/* A message is kept by a client, and given up by it and by the loop at the same time. */
static treadle_message kept;
static struct event is_kept;
static void keep(treadle_port self, treadle_message message, void *info) {
    (void)self, (void)info;
    REQUIRE_OK(treadle_retain(message));
    kept = message;
    set(&is_kept);
}
static void make_port_that_keeps(void) {
    treadle_port_context context = {.struct_size = sizeof context, .receive = keep};
    REQUIRE_OK(treadle_port_create(&context, &port));
    add(port);
}
SCENE(a_message_is_given_up_by_two, "OBJ-4, MPORT-2") {
    pthread_t owner = start_owner(make_port_that_keeps);
    REQUIRE_OK(send());
    await(&is_kept);
    treadle_message_info about = {.struct_size = sizeof about};
    REQUIRE_OK(treadle_message_get_info(kept, &about));
    REQUIRE(*(const int *)about.bytes == 7);
    REQUIRE_OK(treadle_release(kept));
    REQUIRE_OK(send()); /* which may get the same slot */
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(port));
}
