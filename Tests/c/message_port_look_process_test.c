/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_look_process_test.c: processes whose loops look for each other's messages in memory: the death of one, several threads
 * of the other, and the child of a fork. */
#include "message_port_look.h"

static void answer_or_die(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port;
    if (--*(int *)info == 0) kill(getpid(), SIGKILL);
    treadle_message_port_reply(message->call, message->data, message->size);
}
struct mortal {
    const char *name;
    int left; /* requests until it dies */
};
static treadle_message_port open_mortal(void *info) {
    struct mortal *mortal = info;
    treadle_message_port port = make_local(mortal->name, answer_or_die, &mortal->left);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    return port;
}
/* The sender's loop looks for a reply that never comes. */
TEST(a_server_that_dies_while_its_sender_looks_is_seen, "MSG-7 MSG-8") {
    for (int requests = 1; requests <= 60; requests += requests < 10 ? 1 : 10) {
        struct mortal mortal = {new_name(), requests};
        pid_t server = start_serving(open_mortal, &mortal);
        treadle_message_port remote = make_remote(mortal.name);
        for (int i = 1; i < requests; i++) CHECK_SERVED(remote);
        CHECK_INT(request_text(remote, ECHO, "last", LONG, NULL), TREADLE_E_CLOSED);
        CHECK(!treadle_is_valid(remote));
        CHECK_INT(treadle_release(remote), TREADLE_OK);
        CHECK_INT(await_process(server), SIGKILL);
    }
}

/* The port is in the mode for the length of each request, or for good; the threads have one port, or each their own. */
struct client {
    pthread_t thread;
    treadle_message_port port;
    bool is_added;
};
static void *ask_often(void *info) {
    struct client *client = info;
    struct reply reply = {0};
    char text[32];
    if (client->is_added) CHECK_INT(treadle_loop_add(treadle_loop_current(), client->port, REPLIES), TREADLE_OK);
    for (int i = 0; i < scaled(3000); i++) {
        snprintf(text, sizeof text, "%d of %p", i, (void *)client);
        CHECK_INT(request_text(client->port, ECHO, text, LONG, &reply), TREADLE_OK);
        CHECK_REPLY(reply, text);
        progress();
    }
    return NULL;
}
TEST(each_thread_gets_its_own_replies, "MSG-6 MSG-9 OBJ-6") {
    const char *name = new_name();
    pid_t server = start_process(name);
    for (int way = 0; way < 4; way++) {
        struct client clients[2];
        treadle_message_port ports[2] = {make_remote(name), NULL};
        for (int i = 0; i < 2; i++) {
            clients[i] = (struct client){.port = ports[0], .is_added = way & 1};
            if (way < 2 && i == 1) break; /* alone */
            CHECK_INT(pthread_create(&clients[i].thread, NULL, ask_often, &clients[i]), 0);
        }
        for (int i = 0; i < (way < 2 ? 1 : 2); i++) CHECK_INT(pthread_join(clients[i].thread, NULL), 0);
        CHECK_INT(discard(ports[0]), TREADLE_OK);
    }
    kill(server, SIGKILL);
    await_process(server);
}

TEST(the_child_of_a_fork_looks_at_nothing_of_its_parents, "MSG-7 MSG-9") {
    struct received received = {0};
    struct sender sender;
    treadle_message_port port = look_for(&sender, new_name(), &received);
    put_text(&sender, "the parent's");
    pid_t child = fork();
    if (child == 0) {
        CHECK(treadle_after_fork_child() >= 0);
        poll_mode(M);
        _exit(received.count);
    }
    CHECK_INT(WEXITSTATUS(await_process(child)), 1);
    poll_mode(M);
    CHECK_INT(received.count, 2);
    end_look(port, &sender);
}

TEST_MAIN()
