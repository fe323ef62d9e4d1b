/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_end_test.c: the end of message ports: by a call, with the last reference, with a process or a thread.
 * What renames a port that ends the explorer plays: message_names.c. */
#include "message_ports.h"

#include <sys/syscall.h>

static void count_end(treadle_message_port port, void *info) { (void)port, ++*(int *)info; }
static treadle_message_port make_told(const char *name, int *ends, bool is_remote) {
    treadle_message_port port = NULL;
    treadle_message_port_context context = {.struct_size = sizeof context, .invalidated = count_end, .info = ends};
    CHECK_INT(is_remote ? treadle_message_port_create_remote(name, &context, &port) : treadle_message_port_create_local(name, &context, &port), TREADLE_OK);
    return port;
}
TEST(the_end_is_told_once, "MSG-7") {
    const char *name = new_name();
    int ends[2] = {0, 0}, late = 0;
    treadle_message_port local = make_told(name, &ends[0], false), remote = make_told(name, &ends[1], true);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), remote, M), TREADLE_OK);
    CHECK_INT(treadle_invalidate(local), TREADLE_OK);
    CHECK_INT(ends[0], 1);
    CHECK_INT(treadle_invalidate(local), TREADLE_OK);
    CHECK_INT(ends[0], 1);
    CHECK(!treadle_is_valid(local));
    /* The remote port's loop finds out. */
    CHECK_INT(ends[1], 0);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, LONG, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(ends[1], 1);
    CHECK(!treadle_is_valid(remote));
    CHECK_INT(treadle_release(local), TREADLE_OK);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    CHECK_INT(ends[0] + ends[1], 2);
    /* Who asks too late is told at once, and once. */
    local = make_local(name, NULL, &late);
    CHECK_INT(treadle_invalidate(local), TREADLE_OK);
    CHECK_INT(treadle_message_port_set_invalidated(local, count_end), TREADLE_OK);
    CHECK_INT(late, 1);
    CHECK_INT(treadle_message_port_set_invalidated(local, count_end), TREADLE_OK);
    CHECK_INT(late, 1);
    CHECK_INT(treadle_release(local), TREADLE_OK);
}

TEST(the_last_release_ends_a_port_and_frees_its_name, "MSG-7 OBJ-4") {
    const char *name = new_name();
    int ends = 0;
    treadle_message_port local = make_told(name, &ends, false), remote = make_remote(name);
    CHECK_INT(treadle_release(local), TREADLE_OK);
    CHECK_INT(ends, 1);
    CHECK_INT(treadle_message_port_check(remote), TREADLE_E_STATE);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    local = make_local(name, NULL, NULL);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(who_waits_for_a_reply_learns_of_the_end, "MSG-7 MSG-8") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    sem_post(&server.go_on);
    CHECK_INT(request_text(remote, HOLD, "", LONG, NULL), TREADLE_OK);
    CHECK_INT(treadle_message_port_send(remote, HOLD, "", 0, LONG), TREADLE_OK);
    /* It is invalidated while the request lies in its queue. */
    await(&server.is_holding), await(&server.is_holding);
    treadle_timer timer = make_timer(go_on_when_fired, &server.go_on, 1, 0);
    CHECK_INT(treadle_invalidate(server.port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), timer, REPLIES), TREADLE_OK);
    treadle_status status = request_text(remote, ECHO, "", LONG, NULL);
    CHECK(status == TREADLE_E_CLOSED || status == TREADLE_E_STATE);
    sem_post(&server.go_on);
    CHECK_INT(request_text(remote, ECHO, "", LONG, NULL), TREADLE_E_STATE);
    end_server(&server);
    CHECK_INT(server.ends, 1);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
}

TEST(the_death_of_the_serving_process_is_seen_at_once, "MSG-7 MSG-8") {
    const char *name = new_name(), *other_name = new_name();
    int ends = 0;
    pid_t child = start_process(name), other = start_process(other_name);
    treadle_message_port remote = make_told(name, &ends, true);
    CHECK_INT(request_text(remote, LEAVE, "", LONG, NULL), TREADLE_E_CLOSED);
    CHECK_INT(ends, 1);
    CHECK(!treadle_is_valid(remote));
    await_process(child);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    remote = make_told(other_name, &ends, true);
    end_process(other);
    CHECK_ERROR(treadle_message_port_check(remote), TREADLE_E_STATE, "port");
    CHECK_INT(ends, 2);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
}

TEST(a_thread_that_ends_in_place_of_an_answer_is_told_of, "MSG-8 THR-19") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_INT(request_text(remote, LEAVE, "some text", LONG, NULL), TREADLE_E_CLOSED);
    CHECK_INT(pthread_join(server.thread, NULL), 0);
    /* The port is there still; its next loop serves it. */
    CHECK_INT(treadle_message_port_check(remote), TREADLE_OK);
    server.loop = treadle_loop_current();
    struct reply reply = {0};
    CHECK_INT(treadle_loop_add(server.loop, server.port, REPLIES), TREADLE_OK);
    CHECK_INT(request_text(remote, ECHO, "here", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "here");
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(server.port), TREADLE_OK);
}

/* A thread that ends while it waits leaves nothing behind. */
static void exit_when_fired(treadle_timer timer, void *info) { (void)timer, (void)info, pthread_exit(NULL); }
static void exit_with_reply(const void *data, size_t size, void *info) { (void)data, (void)size, (void)info, pthread_exit(NULL); }
static void *wait_and_exit(void *info) {
    treadle_timer timer = make_timer(exit_when_fired, NULL, treadle_time_now() + MILLISECONDS(1), 0);
    treadle_loop_add(treadle_loop_current(), timer, REPLIES);
    treadle_release(timer);
    request_text(info, HOLD, "", LONG, NULL);
    CHECK(false);
    return NULL;
}
static void *exit_in_reply(void *info) {
    treadle_message_port_request(info, ECHO, "reply", 5, LONG, LONG, REPLIES, exit_with_reply, NULL);
    CHECK(false);
    return NULL;
}
TEST(a_thread_may_end_while_it_waits, "MSG-6 THR-19") {
    struct server server;
    struct reply reply = {0};
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    on_thread(wait_and_exit, remote);
    sem_post(&server.go_on);
    on_thread(exit_in_reply, remote);
    CHECK_INT(request_text(remote, ECHO, "me", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "me");
    end_server(&server);
    CHECK_INT(discard(remote), TREADLE_OK);
}

/* A copy of every socket: a child that the C library does not tell of its fork, and that does not run another program. */
struct copier {
    const char *name;
    int wait[2];
    pid_t child;
};
static void copy_sockets(struct copier *copier) {
    char byte;
    CHECK_INT(pipe(copier->wait), 0);
    copier->child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    CHECK(copier->child >= 0);
    if (copier->child != 0) return;
    close(copier->wait[1]);
    while (read(copier->wait[0], &byte, 1) < 0) {}
    _exit(0);
}
static void end_copier(struct copier *copier) {
    int status = 0;
    CHECK(close(copier->wait[0]) == 0 && close(copier->wait[1]) == 0);
    CHECK_INT(waitpid(copier->child, &status, 0), copier->child);
    CHECK_INT(status, 0);
}
static void copy_and_end(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)message;
    copy_sockets(info);
    CHECK_INT(treadle_invalidate(port), TREADLE_OK);
}
static void *request_until_the_end(void *info) {
    const struct copier *copier = info;
    treadle_message_port remote = make_remote(copier->name);
    CHECK_INT(request_text(remote, 1, "wait", LONG, NULL), TREADLE_E_CLOSED);
    CHECK_INT(treadle_message_port_check(remote), TREADLE_E_STATE);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    return NULL;
}
TEST(a_child_with_copies_of_the_sockets_does_not_delay_the_end, "MSG-7 MSG-9") {
    struct copier copier = {.name = new_name()};
    treadle_message_port remote, local = serve_here(copier.name, copy_and_end, &copier);
    pthread_t sender;
    CHECK_INT(pthread_create(&sender, NULL, request_until_the_end, &copier), 0);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(pthread_join(sender, NULL), 0);
    CHECK_INT(treadle_message_port_create_remote(copier.name, NULL, &remote), TREADLE_E_NOT_FOUND);
    end_copier(&copier);
    CHECK_INT(treadle_release(local), TREADLE_OK);
    /* A sender that is not accepted yet, of a port that gets another name. */
    local = make_local(copier.name, NULL, NULL);
    remote = make_remote(copier.name);
    copy_sockets(&copier);
    CHECK_INT(treadle_message_port_set_name(local, new_name()), TREADLE_OK);
    CHECK_INT(treadle_message_port_check(remote), TREADLE_E_STATE);
    end_copier(&copier);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST_MAIN()
