/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_host_test.c: message ports of host languages, scopes and children of forks. */
#include "message_ports.h"

#include "host_items.h"

static int messages, ends;
static bool completes = true;
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    CHECK_INT(event->kind, TREADLE_EVENT_MESSAGE_PORT);
    CHECK_INT(event->token, 77);
    CHECK(event->loop == NULL && event->mode == NULL);
    const treadle_message_port_message *message = event->argument;
    if (message) {
        messages++;
        CHECK_INT(treadle_message_port_reply(message->call, message->data, message->size), TREADLE_OK);
    } else {
        ends++;
    }
    return completes ? ~ticket : 0;
}
static treadle_host make_host(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_host host = NULL;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    return host;
}
static treadle_message_port make_for(treadle_host host, const char *name) {
    treadle_message_port port = NULL;
    treadle_message_port_context context = {.struct_size = sizeof context, .host = host, .token = 77};
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, REPLIES), TREADLE_OK);
    return port;
}
static size_t take_retired(treadle_host host) {
    uint64_t tokens[4];
    size_t count;
    CHECK_INT(treadle_host_take_retired(host, tokens, 4, &count), TREADLE_OK);
    for (size_t i = 0; i < count; i++) CHECK_INT(tokens[i], 77);
    return count;
}

TEST(a_host_gets_messages_and_the_end_as_events, "MSG-5 MSG-7 ABI-2") {
    const char *name = new_name();
    struct reply reply = {0};
    treadle_host host = make_host();
    treadle_message_port local = make_for(host, name), remote = make_remote(name);
    CHECK_INT(request_text(remote, 1, "hello", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "hello");
    CHECK_INT(messages, 1);
    CHECK_ERROR(treadle_message_port_set_invalidated(local, server_ended), TREADLE_E_STATE, "host");
    CHECK_INT(treadle_invalidate(local), TREADLE_OK);
    CHECK_INT(ends, 1);
    CHECK_INT(take_retired(host), 0);
    CHECK_INT(treadle_release(local), TREADLE_OK);
    CHECK_INT(ends, 1);
    CHECK_INT(take_retired(host), 1);
    CHECK_INT(treadle_message_port_check(remote), TREADLE_E_STATE);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    /* What is refused retires nothing. */
    treadle_message_port_context context = {.struct_size = sizeof context, .host = host, .token = 77, .receive = server_receive};
    treadle_message_port port = NULL;
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &port), TREADLE_E_ARG, "receive");
    context.receive = NULL, context.invalidated = server_ended;
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &port), TREADLE_E_ARG, "invalidated");
    context.invalidated = NULL, context.host = NULL;
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &port), TREADLE_E_ARG, "token");
    CHECK_INT(treadle_host_quiesce(host, 0), TREADLE_OK);
    context.host = host;
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &port), TREADLE_E_CLOSED, "host");
    CHECK_INT(take_retired(host), 0);
}

TEST(a_host_that_does_not_complete_a_message_ends_the_run, "MSG-6 ABI-2") {
    const char *name = new_name();
    struct reply reply = {0};
    treadle_host host = make_host();
    treadle_message_port local = make_for(host, name), remote = make_remote(name);
    completes = false;
    CHECK_INT(request_text(remote, 1, "hello", LONG, &reply), TREADLE_E_CALLBACK);
    completes = true;
    CHECK_INT(request_text(remote, 1, "again", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "again");
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* A pipe that stands for signals, and what the host does when it is told of one. */
static int bell[2], rings, rings_left;
static treadle_message_port to_answer;
static uint64_t dispatch_ring(uint64_t ticket, const treadle_event *event) {
    char byte;
    if (event->kind != TREADLE_EVENT_INTERRUPT) return ~ticket; /* the message, which is not replied to */
    rings++;
    CHECK_INT(read(bell[0], &byte, 1), 1);
    if (--rings_left > 0) {
        CHECK_INT(write(bell[1], "s", 1), 1);
        return ~ticket;
    }
    if (!to_answer) return 0;
    CHECK_INT(treadle_loop_add(treadle_loop_current(), to_answer, REPLIES), TREADLE_OK);
    return ~ticket;
}
TEST(a_host_is_told_of_signals_while_it_waits_for_a_reply, "MSG-6 ABI-4 RUN-14") {
    const char *name = new_name();
    struct reply reply = {0};
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch_ring};
    treadle_host host = NULL;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    treadle_message_port local = make_local(name, NULL, NULL), remote = NULL;
    treadle_message_port_context context = {.struct_size = sizeof context, .host = host, .token = 77};
    CHECK_INT(treadle_message_port_create_remote(name, &context, &remote), TREADLE_OK);
    CHECK_INT(pipe(bell), 0);
    CHECK_INT(treadle_loop_set_interrupt_descriptor(treadle_loop_current(), bell[0]), TREADLE_OK);
    /* The wait goes on after a signal that the host completes; nobody answers before the third. */
    CHECK_INT(write(bell[1], "s", 1), 1);
    rings_left = 3, to_answer = local;
    CHECK_INT(request_text(remote, 1, "hello", LONG, &reply), TREADLE_OK);
    CHECK_INT(reply.count, 1);
    CHECK_INT(rings, 3);
    CHECK_INT(treadle_loop_remove(treadle_loop_current(), local, REPLIES), TREADLE_OK);
    /* One that it does not complete ends the wait. */
    CHECK_INT(write(bell[1], "s", 1), 1);
    rings_left = 1, to_answer = NULL;
    CHECK_INT(request_text(remote, 1, "hello", LONG, &reply), TREADLE_E_CALLBACK);
    CHECK_INT(rings, 4);
    CHECK_INT(treadle_loop_set_interrupt_descriptor(treadle_loop_current(), -1), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_scope_ends_its_ports, "MSG-7") {
    const char *name = new_name();
    treadle_scope scope = NULL;
    CHECK_INT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), &scope), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    treadle_message_port local = serve_here(name, NULL, NULL), again = NULL;
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    treadle_message_port remote = make_remote(name);
    /* Who only gets it again does not own it. */
    treadle_scope other = NULL;
    CHECK_INT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), &other), TREADLE_OK);
    treadle_message_port_context context = {.struct_size = sizeof context, .scope = other};
    CHECK_INT(treadle_message_port_create_local(name, &context, &again), TREADLE_IGNORED);
    CHECK_INT(treadle_release(again), TREADLE_OK);
    CHECK_INT(treadle_scope_close(other, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(request_text(remote, 1, "still there", LONG, NULL), TREADLE_OK);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_message_port_check(local), TREADLE_E_STALE);
    CHECK_INT(treadle_message_port_check(remote), TREADLE_E_STATE);
    CHECK_INT(treadle_message_port_create_local(name, &context, &again), TREADLE_E_CLOSED);
    context.scope = NULL;
    CHECK_INT(treadle_message_port_create_local(name, &context, &again), TREADLE_OK);
    CHECK_INT(discard(again), TREADLE_OK);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
    CHECK_INT(treadle_release(other), TREADLE_OK);
}

/* --- Forks ------------------------------------------------------------------------------------------------ */

static treadle_message_port forked_local, forked_remote;
TEST(the_ports_of_the_parent_are_not_the_childs, "RL-11 MSG-9") {
    const char *name = new_name();
    char in_child[64];
    struct reply reply = {0};
    int go[2];
    snprintf(in_child, sizeof in_child, "%s", new_name());
    forked_local = serve_here(name, server_receive, &(struct server){0});
    forked_remote = make_remote(name);
    CHECK_INT(request_text(forked_remote, ECHO, "before", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "before");
    CHECK_INT(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(go[1]);
        CHECK_INT(treadle_message_port_send(forked_remote, ECHO, "x", 1, 0), TREADLE_E_FORKED);
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        CHECK_INT(treadle_message_port_send(forked_remote, ECHO, "x", 1, 0), TREADLE_E_STALE);
        CHECK_INT(treadle_message_port_check(forked_local), TREADLE_E_STALE);
        /* It is a sender as any other process, and may serve names of its own. */
        treadle_message_port port = serve_here(in_child, server_receive, &(struct server){0}), remote = make_remote(in_child), to_parent = NULL;
        CHECK_INT(request_text(remote, ECHO, "own", LONG, &reply), TREADLE_OK);
        CHECK_INT(treadle_message_port_create_remote(name, NULL, &to_parent), TREADLE_OK);
        CHECK_INT(treadle_message_port_send(to_parent, STOP, "", 0, LONG), TREADLE_OK);
        CHECK_INT(read(go[0], &byte, 1), 0); /* until the parent closes it */
        CHECK_INT(treadle_message_port_check(to_parent), TREADLE_E_STATE);
        CHECK_INT(discard(port), TREADLE_OK);
        _exit(0);
    }
    close(go[0]);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, LONG, 0), TREADLE_RUN_STOPPED);
    /* The child keeps nothing of the parent's open: its end is seen, and its name is free, though the child lives. */
    CHECK_INT(discard(forked_local), TREADLE_OK);
    CHECK_INT(treadle_message_port_check(forked_remote), TREADLE_E_STATE);
    CHECK_INT(treadle_release(forked_remote), TREADLE_OK);
    forked_local = make_local(name, NULL, NULL);
    close(go[1]);
    CHECK_INT(await_process(child), 0);
    CHECK_INT(discard(forked_local), TREADLE_OK);
}

static int fork_status = -1;
static void receive_and_fork(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port, (void)info;
    pid_t child = fork();
    if (child != 0) {
        fork_status = await_process(child);
        CHECK_INT(treadle_message_port_reply(message->call, "parent", 6), TREADLE_OK);
    }
}
TEST(a_callback_may_fork, "RL-11 MSG-5") {
    const char *name = new_name();
    struct reply reply = {0};
    treadle_message_port local = serve_here(name, receive_and_fork, NULL), remote = make_remote(name);
    treadle_status status = request_text(remote, 1, "question", LONG, &reply);
    if (status == TREADLE_E_FORKED) {
        CHECK_INT(reply.count, 0);
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        CHECK_INT(treadle_message_port_check(local), TREADLE_E_STALE);
        exit(0);
    }
    CHECK_INT(status, TREADLE_OK);
    CHECK_REPLY(reply, "parent");
    CHECK_INT(fork_status, 0);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_shutdown_ends_the_wait_for_a_reply, "THR-21 MSG-6") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_INT(treadle_message_port_send(remote, HOLD, "", 0, LONG), TREADLE_OK);
    await(&server.is_holding);
    CHECK_INT(request_text(remote, ECHO, "", MILLISECONDS(5), NULL), TREADLE_E_NO_REPLY);
    treadle_shutdown(0);
    CHECK_INT(request_text(remote, ECHO, "", LONG, NULL), TREADLE_E_CLOSED);
    sem_post(&server.go_on);
    CHECK_INT(pthread_join(server.thread, NULL), 0);
}

TEST_MAIN()
