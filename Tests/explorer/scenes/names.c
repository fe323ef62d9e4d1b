/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * names.c: message ports that several threads create under one name: one creates the port, and the others wait until it is there. */
#include "owner.h"

#include <string.h>

#define NAME "scene"
static treadle_message_port ports[2];
static counter created, found;
static void receive(treadle_message_port self, const treadle_message_port_message *message, void *info) { (void)self, (void)message, (void)info; }
static treadle_status create_named(const char *name, int place, treadle_retain_fn retain) {
    treadle_message_port_context context = {
        .struct_size = sizeof context, .receive = receive, .info = &ports[place], .retain = retain, .release = count_release};
    return treadle_message_port_create_local(name, &context, &ports[place]);
}
static treadle_status create(int place, treadle_retain_fn retain) { return create_named(NAME, place, retain); }
/* A thread that finds the port finds all of it. */
static void look_at(treadle_message_port port) {
    char name[8];
    size_t length = 0;
    REQUIRE(treadle_is_valid(port) && !treadle_message_port_is_remote(port));
    REQUIRE_OK(treadle_message_port_get_name(port, name, sizeof name, &length));
    REQUIRE(length == sizeof NAME - 1 && memcmp(name, NAME, sizeof NAME) == 0);
}
static void *create_one(void *place) {
    treadle_message_port *port = place;
    treadle_status status = create((int)(port - ports), NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    count(status == TREADLE_OK ? &created : &found);
    look_at(*port);
    return place;
}
static void end_port(treadle_message_port port) {
    REQUIRE(treadle_invalidate(port) >= 0);
    REQUIRE_OK(treadle_release(port));
}
SCENE(two_create_a_port_of_one_name, "MSG-1") {
    explore_from_here();
    pthread_t other = start(create_one, &ports[1]);
    create_one(&ports[0]);
    join(other);
    REQUIRE(ports[0] == ports[1] && counted(&created) == 1 && counted(&found) == 1);
    REQUIRE_OK(treadle_release(ports[0]));
    end_port(ports[1]);
    REQUIRE(counted(&freed) == 1);
}

/* The creation is given up behind the claim of the name: a thread that waits for the port creates it instead. */
static void *end_this_thread(void *info) { pthread_exit(info); }
static void *give_up_the_creation(void *unused) {
    REQUIRE(create(1, end_this_thread) == TREADLE_IGNORED);
    count(&found);
    return unused;
}
SCENE(a_port_is_created_while_another_thread_gives_it_up, "MSG-1") {
    explore_from_here();
    pthread_t other = start(give_up_the_creation, NULL);
    REQUIRE_OK(create(0, NULL));
    look_at(ports[0]);
    join(other);
    if (counted(&found)) {
        REQUIRE(ports[0] == ports[1]);
        REQUIRE_OK(treadle_release(ports[1]));
    }
    end_port(ports[0]);
}

/* The port of the name ends while another thread creates one: that finds the old port, or none. */
static void *create_against_the_end(void *unused) {
    treadle_status status = create(1, NULL);
    REQUIRE(status == TREADLE_OK || (status == TREADLE_IGNORED && ports[0] == ports[1]));
    if (status >= 0) REQUIRE_OK(treadle_release(ports[1]));
    return unused;
}
SCENE(a_port_is_created_while_the_one_of_its_name_ends, "MSG-1, MSG-7") {
    REQUIRE_OK(create(0, NULL));
    explore_from_here();
    pthread_t other = start(create_against_the_end, NULL);
    end_port(ports[0]);
    join(other);
}
/* The same of a port that gets the name. */
static void *rename_against_the_end(void *unused) {
    bool was_valid = treadle_is_valid(ports[0]);
    treadle_status status = treadle_message_port_set_name(ports[1], NAME);
    REQUIRE(status == TREADLE_OK || (was_valid && status == TREADLE_E_EXISTS));
    return unused;
}
SCENE(a_port_gets_the_name_of_one_that_ends, "MSG-2, MSG-7") {
    REQUIRE_OK(create(0, NULL));
    REQUIRE_OK(create_named(NULL, 1, NULL));
    explore_from_here();
    pthread_t other = start(rename_against_the_end, NULL);
    end_port(ports[0]);
    join(other);
    end_port(ports[1]);
}
