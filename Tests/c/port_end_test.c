/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port_end_test.c: the end of ports: invalidation and what is told of it, from wherever it comes; threads, loops and processes
 * that end; ports that are in messages that are in ports. */
#include "ports.h"

#define MODE TREADLE_DEFAULT_MODE

static treadle_port told_of;
static pthread_t told_on;
static void look_at_invalid(uint32_t name, void *object, void *info) {
    (void)name;
    told_of = object;
    told_on = pthread_self();
    CHECK(!treadle_is_valid(object));
    CHECK(!treadle_loop_contains(info, object, MODE) && !treadle_loop_contains(info, object, "second"));
    trace("told");
}
TEST(a_port_that_ends_is_told_of_once_when_it_has_left_all_loops, "PORT-2 NOTE-1 OBJ-5") {
    int before = count_descriptors();
    treadle_port port = make_port_of(trace_message, "", 0), other = make_port_of(NULL, NULL, 0);
    treadle_component descriptor = {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2};
    uint64_t token = tell_of_ports(port, look_at_invalid, treadle_loop_current());
    add_port(port, MODE);
    add_port(port, "second");
    for (int i = 0; i < 10; i++) CHECK_INT(send_parts(port, 1, &descriptor, 1, other), TREADLE_OK);
    CHECK_INT(count_descriptors(), before + 10);
    CHECK_INT(treadle_port_release(other), TREADLE_OK);
    CHECK(treadle_is_valid(other));
    CHECK_INT(treadle_port_invalidate(port), TREADLE_OK);
    CHECK_TRACE("told");
    CHECK(told_of == port && pthread_equal(told_on, pthread_self()));
    CHECK_INT(treadle_port_invalidate(port), TREADLE_OK);
    CHECK_INT(treadle_port_close(port, 0), TREADLE_OK);
    CHECK_TRACE("");
    CHECK(!treadle_is_valid(other));
    CHECK_INT(count_descriptors(), before);
    CHECK_INT(queued_in(port), 0);
    CHECK_INT(treadle_loop_add_port(treadle_loop_current(), port, MODE), TREADLE_IGNORED);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    CHECK_TRACE("");
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
}

TEST(the_last_reference_ends_a_port_and_that_is_told, "PORT-2 NOTE-1 OBJ-4") {
    atomic_int told = 0;
    treadle_port port = make_port_of(NULL, NULL, 0);
    uint64_t token = tell_of_ports(NULL, count_told, &told);
    add_port(port, MODE);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    CHECK_INT(told, 0);
    CHECK_INT(treadle_loop_remove(treadle_loop_current(), port, MODE), TREADLE_OK);
    CHECK_INT(told, 1);
    CHECK(!treadle_is_valid(port));
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
    CHECK_INT(treadle_notification_add(&(treadle_notification_config){.struct_size = sizeof(treadle_notification_config), .name = 4, .fn = count_told}, &token), TREADLE_E_ARG);
}

/* What is done in the callback: each of them ends the port. */
static enum { INVALIDATE, CLOSE, RELEASE, REMOVE, CLOSE_SCOPE, WAYS } way;
static treadle_scope scope;
static void end_inside(treadle_port port, treadle_message message, void *info) {
    (void)info;
    trace("%u", info_of(message).id);
    switch (way) {
    case INVALIDATE: CHECK_INT(treadle_port_invalidate(port), TREADLE_OK); break;
    case CLOSE: CHECK_INT(treadle_port_close(port, TREADLE_FOREVER), TREADLE_E_DEADLOCK); break;
    case RELEASE:
        CHECK_INT(treadle_port_release(port), TREADLE_OK);
        CHECK_INT(treadle_loop_remove_port(treadle_loop_current(), port, MODE), TREADLE_OK);
        break;
    case REMOVE: CHECK_INT(treadle_loop_remove_port(treadle_loop_current(), port, MODE), TREADLE_OK); break;
    default: CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_DEFERRED);
    }
    CHECK_INT(info_of(message).length, 4);
    CHECK(memcmp(info_of(message).bytes, "text", 4) == 0);
    if (way != RELEASE && way != REMOVE) CHECK(!treadle_is_valid(port));
}
TEST(no_message_follows_the_one_whose_callback_ends_the_port, "PORT-2 OBJ-9 SCOPE-3") {
    for (way = 0; way < WAYS; way++) {
        treadle_port port = NULL;
        treadle_port_context context = {.struct_size = sizeof context, .receive = end_inside};
        CHECK_INT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), &scope), TREADLE_OK);
        context.scope = scope;
        CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
        add_port(port, MODE);
        for (uint32_t id = 1; id <= 3; id++) CHECK_INT(treadle_port_send_bytes(port, id, "text", 4, 0), TREADLE_OK);
        for (int i = 0; i < 3; i++) poll_mode(MODE);
        CHECK_TRACE("1");
        CHECK(!treadle_loop_contains_port(treadle_loop_current(), port, MODE));
        if (way == REMOVE) CHECK_INT(queued_in(port), 2);
        if (way == RELEASE || way == CLOSE_SCOPE) CHECK_INT(treadle_port_retain(port), TREADLE_E_STALE);
        else end_port(port);
        CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_scope_release(scope), TREADLE_OK);
    }
}

/* The callback of another thread runs on while the port ends; who closes waits for it. */
static sem_t inside, go_on;
static void stay_inside(treadle_port port, treadle_message message, void *info) {
    sem_post(&inside);
    await(&go_on);
    CHECK(!treadle_is_valid(port));
    CHECK_INT(info_of(message).id, 1);
    atomic_fetch_add((atomic_int *)info, 1);
}
TEST(a_callback_that_runs_goes_on_when_its_port_ends, "PORT-2 OBJ-9") {
    struct worker worker;
    atomic_int calls = 0;
    treadle_port port = make_port_of(stay_inside, &calls, 0);
    sem_init(&inside, 0, 0), sem_init(&go_on, 0, 0);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_port(worker.loop, port, MODE), TREADLE_OK);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    CHECK_INT(send_id(port, 2), TREADLE_OK);
    await(&inside);
    CHECK_INT(treadle_port_invalidate(port), TREADLE_OK);
    CHECK_INT(treadle_port_close(port, 0), TREADLE_E_TIMEOUT);
    sem_post(&go_on);
    CHECK_INT(treadle_port_close(port, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(calls, 1);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(calls, 1);
}

/* A thread's end: messages stay with the port, which another loop may serve. */
static void *add_and_end(void *info) {
    add_port(info, MODE);
    return NULL;
}
TEST(messages_outlive_the_thread_that_was_to_receive_them, "RL-8 PORT-1 PORT-4") {
    treadle_port port = make_port_of(trace_message, "", 0);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    on_thread(add_and_end, port);
    CHECK(treadle_is_valid(port));
    CHECK_INT(queued_in(port), 1);
    add_port(port, MODE);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1");
    end_port(port);
}
static void exit_thread(treadle_port port, treadle_message message, void *info) {
    (void)port, (void)message, (void)info;
    pthread_exit(NULL);
}
static void *run_to_exit(void *info) {
    add_port(info, MODE);
    treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0);
    return info;
}
TEST(a_thread_may_end_inside_of_a_callback, "RL-8 THR-7 PORT-2") {
    int before = count_descriptors();
    atomic_int told = 0;
    treadle_port port = make_port_of(exit_thread, NULL, 0), carried = make_port_of(NULL, NULL, 0);
    treadle_component components[] = {{.kind = TREADLE_COMPONENT_PORT, .port = carried}, {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2}};
    uint64_t token = tell_of_ports(NULL, count_told, &told);
    for (int i = 0; i < 3; i++) CHECK_INT(send_parts(port, 1, components, 2, NULL), TREADLE_OK);
    CHECK_INT(treadle_port_release(carried), TREADLE_OK);
    for (int i = 1; i <= 3; i++) {
        CHECK(on_thread(run_to_exit, port) == NULL);
        CHECK_INT(queued_in(port), 3 - i);
    }
    CHECK(!treadle_is_valid(carried));
    CHECK_INT(told, 1);
    CHECK_INT(count_descriptors(), before);
    CHECK_INT(treadle_port_close(port, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    CHECK_INT(told, 2);
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
}

/* The release of a port's info, as a message goes, ends the thread: what else was to go with the message goes too. */
static atomic_int released;
static void release_and_exit(void *info) {
    (void)info;
    if (atomic_fetch_add(&released, 1) == 1) pthread_exit(NULL);
}
static void *drop_all(void *info) {
    end_port(info);
    return info;
}
TEST(a_thread_may_end_as_a_message_gives_up_its_ports, "PORT-2 OBJ-3 THR-7") {
    int before = count_descriptors();
    treadle_port port = make_port_of(NULL, NULL, 0);
    for (int i = 0; i < 2; i++) {
        treadle_component components[5] = {{.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2}};
        for (int k = 1; k < 5; k++) {
            treadle_port_context context = {.struct_size = sizeof context, .release = release_and_exit};
            components[k].kind = TREADLE_COMPONENT_PORT;
            CHECK_INT(treadle_port_create(&context, &components[k].port), TREADLE_OK);
        }
        CHECK_INT(send_parts(port, 1, components, 5, NULL), TREADLE_OK);
        for (int k = 1; k < 5; k++) CHECK_INT(treadle_port_release(components[k].port), TREADLE_OK);
    }
    CHECK_INT(treadle_port_retain(port), TREADLE_OK);
    CHECK(on_thread(drop_all, port) == NULL);
    CHECK_INT(released, 8);
    CHECK_INT(count_descriptors(), before);
    treadle_port_release(port);
}

/* Each port in the next one's queue, and the last in the first's: ten thousand of them, which must not end inside one another. */
TEST(a_long_chain_of_ports_in_messages_ends_link_by_link, "PORT-2 MPORT-2 OBJ-3") {
    enum { MANY = 10000 };
    static treadle_port ports[MANY];
    atomic_int told = 0;
    uint64_t token = tell_of_ports(NULL, count_told, &told);
    for (int is_ring = 0; is_ring < 2; is_ring++) {
        atomic_store(&told, 0);
        for (int i = 0; i < MANY; i++) ports[i] = make_port_of(NULL, NULL, 1);
        for (int i = 0; i < MANY - !is_ring; i++) {
            treadle_component component = {.kind = TREADLE_COMPONENT_PORT, .port = ports[(i + 1) % MANY]};
            CHECK_INT(send_parts(ports[i], 1, &component, 1, i % 2 ? component.port : NULL), TREADLE_OK);
        }
        for (int i = 1; i < MANY; i++) CHECK_INT(treadle_port_release(ports[i]), TREADLE_OK);
        for (int i = 0; i < MANY; i++) CHECK(treadle_is_valid(ports[i]));
        if (is_ring) CHECK_INT(treadle_port_invalidate(ports[0]), TREADLE_OK);
        CHECK_INT(treadle_port_release(ports[0]), TREADLE_OK);
        for (int i = 0; i < MANY; i++) CHECK_INT(treadle_port_retain(ports[i]), TREADLE_E_STALE);
        CHECK_INT(told, MANY);
    }
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
}
TEST(a_port_in_its_own_queue_ends_with_its_invalidation, "PORT-2 OBJ-3") {
    treadle_port port = make_port_of(NULL, NULL, 0);
    treadle_component component = {.kind = TREADLE_COMPONENT_PORT, .port = port};
    for (int i = 0; i < 10; i++) CHECK_INT(send_parts(port, 1, &component, 1, port), TREADLE_OK);
    CHECK_INT(treadle_port_invalidate(port), TREADLE_OK);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    CHECK_INT(treadle_port_retain(port), TREADLE_E_STALE);
}

/* From the notification: of a port that goes with its last reference, the end is going on. */
static void close_scope(uint32_t name, void *object, void *info) {
    (void)name;
    bool is_going = treadle_port_retain(object) == TREADLE_E_STALE;
    if (!is_going) CHECK_INT(treadle_port_release(object), TREADLE_OK);
    CHECK_INT(treadle_scope_close(info, TREADLE_FOREVER), is_going ? TREADLE_DEFERRED : TREADLE_OK);
    trace("told");
}
TEST(the_scope_may_be_closed_when_its_port_has_ended, "PORT-2 SCOPE-3 NOTE-1") {
    for (int by_release = 0; by_release < 2; by_release++) {
        treadle_scope closed = NULL;
        treadle_port port = NULL;
        CHECK_INT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), &closed), TREADLE_OK);
        treadle_port_context context = {.struct_size = sizeof context, .scope = closed};
        CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
        uint64_t token = tell_of_ports(port, close_scope, closed);
        CHECK_INT(by_release ? treadle_port_release(port) : treadle_port_invalidate(port), TREADLE_OK);
        CHECK_TRACE("told");
        CHECK_INT(treadle_scope_close(closed, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_port_retain(port), TREADLE_E_STALE);
        CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
        CHECK_INT(treadle_scope_release(closed), TREADLE_OK);
    }
}

TEST(a_closed_scope_takes_its_port_out_of_messages_elsewhere, "SCOPE-2 MPORT-2") {
    treadle_scope closed = NULL;
    treadle_port inside_port = NULL, outside = make_port_of(NULL, NULL, 0);
    CHECK_INT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), &closed), TREADLE_OK);
    treadle_port_context context = {.struct_size = sizeof context, .scope = closed};
    CHECK_INT(treadle_port_create(&context, &inside_port), TREADLE_OK);
    treadle_component component = {.kind = TREADLE_COMPONENT_PORT, .port = inside_port};
    CHECK_INT(send_parts(outside, 1, &component, 1, inside_port), TREADLE_OK);
    CHECK_INT(treadle_scope_close(closed, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_port_retain(inside_port), TREADLE_E_STALE);
    CHECK_INT(treadle_scope_release(closed), TREADLE_OK);
    end_port(outside);
}

TEST(the_child_of_a_fork_has_no_port, "RL-11 PORT-2") {
    treadle_port port = make_port_of(trace_message, "", 0);
    add_port(port, MODE);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    pid_t child = fork();
    if (child == 0) {
        if (send_id(port, 2) != TREADLE_E_FORKED) _exit(1);
        if (treadle_after_fork_child() != TREADLE_OK || send_id(port, 2) != TREADLE_E_STALE) _exit(2);
        treadle_port mine = make_port_of(trace_message, "", 0);
        add_port(mine, MODE);
        if (send_id(mine, 3) != TREADLE_OK || poll_mode(MODE) != TREADLE_RUN_TIMED_OUT || strcmp(trace_text, "3") != 0) _exit(3);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1");
    end_port(port);
}

TEST_MAIN()
