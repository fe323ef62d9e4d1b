/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * second_modes.c: an item's second membership, which has a cell of its own, against signals, invalidations and removals of the item. */
#include "owner.h"

static const char *const other_mode = "other mode";
static void use_and_stop(treadle_source self, void *info) {
    (void)self, (void)info;
    use_released();
    stop_loop(NULL);
}
static void add_to_another_mode(void) {
    source = make_source(use_and_stop, count_release, NULL);
    REQUIRE_OK(treadle_loop_add(loop, source, other_mode));
}
static void *add_to_this_mode(void *unused) {
    treadle_status status = treadle_loop_add(loop, source, TREADLE_DEFAULT_MODE);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    return unused;
}

/* A signal that comes while the source is added to its second mode leads to a perform in that mode. */
static void *signal_it(void *unused) {
    REQUIRE_OK(treadle_source_signal(source));
    return unused;
}
SCENE(a_signal_against_adding_to_a_second_mode, "SRC0-6") {
    pthread_t owner = start_sleeping_owner(add_to_another_mode), other = start(signal_it, NULL);
    add_to_this_mode(NULL);
    join(other);
    end_by_the_signal(owner);
}

/* The same where the loop's own thread adds it, and runs behind that. */
SCENE(a_signal_against_adding_to_a_second_mode_before_the_run, "SRC0-6") {
    loop = treadle_loop_current();
    add_to_another_mode();
    explore_from_here();
    pthread_t other = start(signal_it, NULL);
    add_to_this_mode(NULL);
    join(other);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    REQUIRE(counted(&called) == 1);
    REQUIRE_OK(treadle_release(source));
}

/* An invalid item is in no mode: nothing keeps it for its loop's life. */
SCENE(an_item_is_invalidated_while_it_is_added_to_a_second_mode, "OBJ-5, SRC0-2") {
    pthread_t owner = start_owner(add_to_another_mode), other = start(add_to_this_mode, NULL);
    REQUIRE_OK(treadle_invalidate(source));
    join(other);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}

/* A message that comes while its port is added to a mode is received in that mode. */
static treadle_port port;
static void receive(treadle_port self, treadle_message message, void *info) {
    (void)self, (void)message;
    stop_loop(info);
}
static void *add_port(void *unused) {
    add(port);
    return unused;
}
static void send_against_adding(const char *first_mode) {
    treadle_port_context context = {.struct_size = sizeof context, .receive = receive, .capacity = 1};
    REQUIRE_OK(treadle_port_create(&context, &port));
    loop = treadle_loop_current();
    if (first_mode) REQUIRE_OK(treadle_loop_add(loop, port, first_mode));
    explore_from_here();
    pthread_t other = start(add_port, NULL);
    REQUIRE_OK(treadle_port_send_bytes(port, 1, &(int){7}, sizeof(int), TREADLE_FOREVER));
    join(other);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    REQUIRE(counted(&called) == 1);
    REQUIRE_OK(treadle_release(port));
}
SCENE(a_message_against_adding_its_port_by_another_thread, "MPORT-1, PORT-5") { send_against_adding(NULL); }
SCENE(a_message_against_adding_its_port_to_a_second_mode, "MPORT-1, PORT-5") { send_against_adding(other_mode); }

/* A source of which its creator knows no more than a function gets a context for its second membership, while the loop performs it. */
SCENE(a_plain_source_is_added_to_a_second_mode_while_it_is_performed, "OBJ-5, SRC0-6") {
    source = make_source(use_and_stop, NULL, NULL);
    REQUIRE_OK(treadle_source_signal(source));
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_loop_add(loop, source, other_mode));
    explore_from_here();
    pthread_t other = start(add_to_this_mode, NULL);
    treadle_loop_run(loop, other_mode, 0, TREADLE_RUN_WHEN_EMPTY);
    join(other);
    REQUIRE(counted(&called) == 1);
    REQUIRE(treadle_loop_contains(loop, source, TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_invalidate(source));
    REQUIRE(!treadle_loop_contains(loop, source, TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_release(source));
}
