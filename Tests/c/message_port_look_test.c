/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_look_test.c: a loop that is sent messages from another processor looks for them in the memory that both sides share,
 * and has the bell left out: whatever it does next, none is overlooked, and what the other side says of itself costs nobody else. */
#include "message_port_look.h"

#define OTHER "elsewhere"

TEST(a_message_without_a_bell_is_received, "MSG-6 MSG-9") {
    struct received received = {0};
    struct sender sender;
    int with_none = count_descriptors();
    treadle_message_port port = look_for(&sender, new_name(), &received);
    for (int i = 0; i < 100; i++) {
        put_text(&sender, "second");
        if (i % 2) poll_mode(M);
        else CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        CHECK_INT(received.count, 2 + i);
        CHECK_TEXT(received.data, "second");
    }
    CHECK(!wants_bell(&sender));
    end_look(port, &sender);
    poll_mode(M);
    CHECK(count_descriptors() <= with_none + 3); /* the loop's own */
}

TEST(a_loop_that_sleeps_has_asked_for_the_bell, "MSG-9 WAKE-1") {
    struct received received = {0};
    struct sender sender;
    treadle_message_port port = look_for(&sender, new_name(), &received);
    /* A run that gets no processor until its date does not sleep. */
    do CHECK_INT(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(2), 0), TREADLE_RUN_TIMED_OUT);
    while (!wants_bell(&sender));
    send_text(&sender, "bell");
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, LONG, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TEXT(received.data, "bell");
    end_look(port, &sender);
}

/* In a mode that has other descriptors. */
static void do_nothing_with(treadle_descriptor self, uint32_t events, void *info) { (void)self, (void)events, (void)info; }
TEST(a_port_is_received_in_each_of_its_modes, "MODE-4 MSG-9") {
    struct received received = {0};
    struct sender sender;
    int fds[2];
    treadle_descriptor idle;
    treadle_loop loop = treadle_loop_current();
    treadle_message_port port = look_for(&sender, new_name(), &received);
    CHECK_INT(pipe(fds), 0);
    idle = make_descriptor(do_nothing_with, NULL, fds[0], TREADLE_READABLE);
    CHECK_INT(treadle_loop_add(loop, idle, OTHER), TREADLE_OK);
    /* One that does not have it: what comes is received when its own is run. */
    put_text(&sender, "while away");
    poll_mode(OTHER);
    CHECK_INT(received.count, 1);
    poll_mode(M);
    CHECK_INT(received.count, 2);
    /* One that has got it, and one that it has left. */
    CHECK_INT(treadle_loop_add(loop, port, OTHER), TREADLE_OK);
    for (int i = 0; i < 10; i++) {
        send_text(&sender, "in either");
        poll_mode(i % 2 ? M : OTHER), poll_mode(i % 2 ? M : OTHER);
        CHECK_INT(received.count, 3 + i);
    }
    CHECK_INT(treadle_loop_remove(loop, port, M), TREADLE_OK);
    send_text(&sender, "in the other");
    poll_mode(M);
    CHECK_INT(received.count, 12);
    poll_mode(OTHER), poll_mode(OTHER);
    CHECK_INT(received.count, 13);
    CHECK_INT(treadle_invalidate(idle), TREADLE_OK);
    CHECK_INT(treadle_release(idle), TREADLE_OK);
    close(fds[0]), close(fds[1]);
    end_look(port, &sender);
}

static uint64_t count_passes(treadle_loop loop) {
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    CHECK_INT(treadle_loop_get_counters(loop, &counters), TREADLE_OK);
    return counters.passes;
}
TEST(a_port_that_leaves_its_mode_keeps_no_loop_awake, "MSG-9 RUN-10") {
    struct received received = {0};
    struct sender sender;
    treadle_loop loop = treadle_loop_current();
    treadle_message_port port = look_for(&sender, new_name(), &received);
    put_text(&sender, "nobody's");
    CHECK_INT(treadle_loop_remove(loop, port, M), TREADLE_OK);
    uint64_t passes = count_passes(loop);
    CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(5), TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    CHECK(count_passes(loop) - passes < 10);
    CHECK_INT(received.count, 1);
    CHECK_INT(treadle_loop_add(loop, port, M), TREADLE_OK);
    poll_mode(M), poll_mode(M);
    CHECK_TEXT(received.data, "nobody's");
    end_look(port, &sender);
}

TEST(a_paused_port_keeps_no_loop_awake, "MSG-9 SRC1-11") {
    struct received received = {0};
    struct sender sender;
    treadle_loop loop = treadle_loop_current();
    treadle_message_port port = look_for(&sender, new_name(), &received);
    put_text(&sender, "while paused");
    CHECK_INT(treadle_descriptor_set_events((treadle_descriptor)port, 0), TREADLE_OK);
    do {
        uint64_t passes = count_passes(loop);
        CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(5), TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
        CHECK(count_passes(loop) - passes < 10);
    } while (!wants_bell(&sender));
    CHECK_INT(received.count, 1);
    CHECK_INT(treadle_descriptor_set_events((treadle_descriptor)port, TREADLE_READABLE), TREADLE_OK);
    poll_mode(M), poll_mode(M);
    CHECK_TEXT(received.data, "while paused");
    end_look(port, &sender);
}

/* Several loops receive from one port: each has to be told. */
struct other_loop {
    pthread_t thread;
    treadle_message_port port;
    treadle_loop loop;
    sem_t is_added;
};
static void *receive_elsewhere(void *info) {
    struct other_loop *other = info;
    other->loop = treadle_loop_current();
    CHECK_INT(treadle_retain(other->loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add(other->loop, other->port, M), TREADLE_OK);
    sem_post(&other->is_added);
    CHECK_INT(treadle_loop_run(other->loop, M, LONG, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    return NULL;
}
TEST(another_loop_that_gets_the_port_is_told, "MSG-9 OBJ-6") {
    struct received received = {0};
    struct sender sender;
    struct other_loop other = {0};
    other.port = look_for(&sender, new_name(), &received);
    sem_init(&other.is_added, 0, 0);
    CHECK_INT(pthread_create(&other.thread, NULL, receive_elsewhere, &other), 0);
    await(&other.is_added);
    CHECK(wants_bell(&sender)); /* though this loop has not run since */
    send_text(&sender, "elsewhere");
    CHECK_INT(pthread_join(other.thread, NULL), 0);
    CHECK_TEXT(received.data, "elsewhere");
    /* That thread has ended, and its loop with it. */
    for (int i = 0; i < 10; i++) {
        send_text(&sender, "here");
        poll_mode(M), poll_mode(M);
        CHECK_INT(received.count, 3 + i);
    }
    CHECK_INT(treadle_release(other.loop), TREADLE_OK);
    end_look(other.port, &sender);
}

static void *look_and_end(void *info) {
    struct sender *sender = ((void **)info)[0];
    ((void **)info)[2] = look_for(sender, new_name(), ((void **)info)[1]);
    return NULL;
}
TEST(a_thread_that_looked_hands_over_as_it_ends, "RL-8 MSG-9") {
    struct received received = {0};
    struct sender sender;
    void *parts[] = {&sender, &received, NULL};
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, look_and_end, parts), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK(wants_bell(&sender));
    CHECK_INT(treadle_loop_add(treadle_loop_current(), parts[2], M), TREADLE_OK);
    send_text(&sender, "later");
    poll_mode(M);
    CHECK_TEXT(received.data, "later");
    end_look(parts[2], &sender);
}

static void *discard_port(void *port) {
    CHECK_INT(discard(port), TREADLE_OK);
    return NULL;
}
TEST(a_port_that_another_thread_ends_is_looked_at_no_more, "MSG-7 OBJ-6") {
    int descriptors = 0;
    for (int i = 0; i < 3; i++) {
        struct received received = {0};
        struct sender sender;
        pthread_t thread;
        treadle_message_port port = look_for(&sender, new_name(), &received);
        put_text(&sender, "too late");
        CHECK_INT(pthread_create(&thread, NULL, discard_port, port), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        poll_mode(M);
        CHECK_INT(received.count, 1);
        close_sender(&sender);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), M, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
        if (i == 1) descriptors = count_descriptors();
        if (i == 2) CHECK_INT(count_descriptors(), descriptors);
    }
}

/* --- Lies ------------------------------------------------------------------------------------------------------------- */

TEST(what_a_sender_says_of_itself_is_a_hint, "MSG-9") {
    const unsigned hints[] = {0, 1, 2, ELSEWHERE, UINT32_MAX};
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    for (unsigned i = 0; i < 25; i++) {
        struct sender sender;
        open_sender(&sender, server.name);
        take_ring(&sender);
        for (int message = 0; message < 20; message++) {
            atomic_store(&sender.way->processor, hints[i % 5]);
            put_frame(sender.way, sender.ring.memory->bytes_to_server, sender.ring.other_bell, head_of(MESSAGE, 0, 1, 0), "m", 1);
            atomic_store(&sender.way->is_asleep, hints[i / 5]);
            CHECK_SERVED(remote);
        }
        CHECK(!is_ended(sender.fd));
        close_sender(&sender);
    }
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

static void check_lie(const char *what, unsigned sent) {
    struct received received = {0};
    struct sender sender;
    char byte;
    treadle_message_port port = look_for(&sender, new_name(), &received);
    atomic_store(&sender.way->sent, sent);
    poll_mode(M);
    CHECK_INT(received.count, 1);
    if (recv(sender.fd, &byte, 1, MSG_DONTWAIT) != 0) check_failed(__FILE__, __LINE__, "%s is taken", what);
    end_look(port, &sender);
}
TEST(a_lie_that_is_seen_without_a_bell_ends_the_connection, "MSG-9") {
    check_lie("less than was sent", 0);
    check_lie("more than a ring has", 64 + RING_BYTES + 32);
    check_lie("a part of a unit", 65);
    check_lie("a head of zeroes", 96);
}

/* One that never stops sending: the others of its port, and of its loop, have their turn. */
struct flood {
    struct sender sender;
    atomic_bool is_over;
};
static void *flood(void *info) {
    struct flood *flood = info;
    struct head head = head_of(MESSAGE, 0, 0, 0);
    for (unsigned at = 0; at < RING_BYTES; at += sizeof head) memcpy(flood->sender.ring.memory->bytes_to_server + at, &head, sizeof head);
    while (!atomic_load(&flood->is_over)) {
        unsigned sent = atomic_load(&flood->sender.way->sent);
        if (sent - atomic_load(&flood->sender.way->received) < RING_BYTES) atomic_store(&flood->sender.way->sent, sent + 32);
        if (atomic_exchange(&flood->sender.way->is_asleep, 0)) ring_bell(flood->sender.ring.other_bell);
    }
    return NULL;
}
TEST(a_sender_that_floods_leaves_others_their_turn, "PORT-6 MSG-9 PASS-12") {
    struct server server;
    struct flood one = {0};
    pthread_t thread;
    start_server(&server, new_name());
    open_sender(&one.sender, server.name);
    take_ring(&one.sender);
    CHECK_INT(pthread_create(&thread, NULL, flood, &one), 0);
    treadle_message_port remote = make_remote(server.name);
    for (int i = 0; i < scaled(200); i++) CHECK_SERVED(remote);
    atomic_store(&one.is_over, true);
    CHECK_INT(pthread_join(thread, NULL), 0);
    close_sender(&one.sender);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

/* --- Between processes: the death of one, several threads of the other, and the child of a fork --------------------- */

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
    end_process(server);
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
