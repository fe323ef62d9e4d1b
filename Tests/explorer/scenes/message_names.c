/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_names.c: names of message ports, against the end of the ports that serve them. */
#include "owner.h"

#define OLD "scene-old"
#define NEW "scene-new"
static treadle_message_port local;

static treadle_message_port make_local(const char *name) {
    treadle_message_port_context context = {.struct_size = sizeof context};
    treadle_message_port port;
    REQUIRE_OK(treadle_message_port_create_local(name, &context, &port));
    return port;
}
/* Nobody serves it: this process has no port of the name, and the kernel knows none. */
static void require_free(const char *name) {
    treadle_message_port port = make_local(name);
    REQUIRE_OK(treadle_invalidate(port));
    REQUIRE_OK(treadle_release(port));
}

static void *rename_port(void *info) {
    treadle_status status = treadle_message_port_set_name(local, NEW);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STATE || status == TREADLE_E_STALE);
    return info;
}
static void *end_port(void *info) {
    REQUIRE_OK(treadle_invalidate(local));
    REQUIRE_OK(treadle_release(local));
    return info;
}
static void rename_while_it_ends(const char *name) {
    local = make_local(name);
    explore_from_here();
    pthread_t other = start(rename_port, NULL);
    end_port(NULL);
    join(other);
    require_free(OLD);
    require_free(NEW);
}
SCENE(a_port_is_renamed_while_it_ends, "MSG-2 MSG-7") { rename_while_it_ends(OLD); }
SCENE(a_port_gets_its_first_name_while_it_ends, "MSG-1 MSG-7") { rename_while_it_ends(NULL); }

/* A port that has left its name to another one does not take it away again. */
SCENE(a_name_goes_to_another_port_while_its_own_ends, "MSG-1 MSG-7") {
    local = make_local(OLD);
    treadle_message_port next = make_local(NULL);
    explore_from_here();
    pthread_t other = start(end_port, NULL);
    treadle_status status = treadle_message_port_set_name(next, OLD);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_EXISTS);
    join(other);
    if (status == TREADLE_OK) {
        treadle_message_port same, remote;
        treadle_message_port_context context = {.struct_size = sizeof context};
        REQUIRE(treadle_message_port_create_local(OLD, &context, &same) == TREADLE_IGNORED && same == next);
        REQUIRE_OK(treadle_release(same));
        REQUIRE_OK(treadle_message_port_create_remote(OLD, NULL, &remote));
        REQUIRE_OK(treadle_invalidate(remote));
        REQUIRE_OK(treadle_release(remote));
    }
    REQUIRE_OK(treadle_invalidate(next));
    REQUIRE_OK(treadle_release(next));
    require_free(OLD);
}

/* The maker's context has a retain function that waits for a thread, which waits for the port: one of the two is refused. */
static void perform_nothing(void *target, void *argument) { (void)target, (void)argument; }
static void *retain_and_ask(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform_nothing, .flags = TREADLE_PERFORM_WAIT};
    treadle_status status = treadle_perform(loop, &request);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_DEADLOCK || status == TREADLE_E_CLOSED); /* the loop may have ended */
    return info;
}
static void make_the_same(void *info) {
    treadle_message_port_context context = {.struct_size = sizeof context};
    treadle_message_port same;
    treadle_status status = treadle_message_port_create_local(OLD, &context, &same);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_DEADLOCK);
    if (status >= 0) REQUIRE_OK(treadle_release(same));
    stop_loop(info);
}
static void post_the_same(void) { REQUIRE_OK(treadle_loop_post(loop, make_the_same, NULL)); }
SCENE(a_ports_maker_waits_for_a_thread_that_waits_for_the_port, "MSG-7, PERF-7") {
    pthread_t owner = start_owner(post_the_same);
    treadle_message_port_context context = {.struct_size = sizeof context, .retain = retain_and_ask, .info = &local};
    treadle_status status = treadle_message_port_create_local(OLD, &context, &local);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    join_owner(owner);
    REQUIRE_OK(treadle_release(local));
}
