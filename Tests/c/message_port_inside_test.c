/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_inside_test.c: what clients do in functions that a call with a message port runs: they close the port, or a scope
 * that it is in, or end the thread. Neither waits for that call, and the port is freed afterwards. */
#include "message_ports.h"

static atomic_int released;
static void count_release(void *info) { (void)info, atomic_fetch_add(&released, 1); }

/* A remote port in a scope of its own. */
struct remote {
    treadle_message_port port;
    treadle_scope scope;
    int closed; /* how many functions have closed it */
};
static struct remote make_closable(const char *name, treadle_message_port_invalidated_fn invalidated) {
    struct remote made = {0};
    const treadle_scope_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_scope_create(&config, &made.scope), TREADLE_OK);
    treadle_message_port_context context = {
        .struct_size = sizeof context, .release = count_release, .scope = made.scope, .invalidated = invalidated};
    CHECK_INT(treadle_message_port_create_remote(name, &context, &made.port), TREADLE_OK);
    return made;
}

/* --- Closing --------------------------------------------------------------------------------------------------------------- */

static void close_port(struct remote *remote) {
    CHECK_INT(treadle_close(remote->port, TREADLE_FOREVER), TREADLE_E_DEADLOCK);
    CHECK(!treadle_is_valid(remote->port));
    remote->closed++;
}
static void close_scope(struct remote *remote) {
    CHECK_INT(treadle_scope_close(remote->scope, TREADLE_FOREVER), TREADLE_DEFERRED);
    remote->closed++;
}
static void close_port_with_reply(const void *data, size_t size, void *info) { (void)data, (void)size, close_port(info); }
static void close_scope_with_reply(const void *data, size_t size, void *info) { (void)data, (void)size, close_scope(info); }
static void close_port_when_fired(treadle_timer timer, void *info) { (void)timer, close_port(info); }
static void close_scope_when_fired(treadle_timer timer, void *info) { (void)timer, close_scope(info); }

static void check_closed(struct remote *remote) {
    CHECK_INT(remote->closed, 1);
    CHECK_INT(treadle_scope_close(remote->scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(remote->scope), TREADLE_OK);
    CHECK_INT(released, 1);
    released = 0;
}
static void close_in_reply(const char *name, treadle_message_port_reply_fn close) {
    struct remote remote = make_closable(name, NULL);
    CHECK_INT(treadle_message_port_request(remote.port, ECHO, "x", 1, LONG, LONG, REPLIES, close, &remote), TREADLE_OK);
    check_closed(&remote);
}
static void close_while_waiting(const char *name, treadle_timer_fn close) {
    struct remote remote = make_closable(name, NULL);
    treadle_timer timer = make_timer(close, &remote, 1, 0);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, REPLIES), TREADLE_OK);
    CHECK_INT(request_text(remote.port, HOLD, "", LONG, NULL), TREADLE_E_CLOSED);
    CHECK_INT(discard(timer), TREADLE_OK);
    check_closed(&remote);
}
TEST(a_close_inside_of_a_request_does_not_wait_for_it, "MSG-6 MSG-7 OBJ-9 SCOPE-3") {
    struct server server;
    start_server(&server, new_name());
    close_in_reply(server.name, close_port_with_reply);
    close_in_reply(server.name, close_scope_with_reply);
    close_while_waiting(server.name, close_port_when_fired);
    sem_post(&server.go_on);
    close_while_waiting(server.name, close_scope_when_fired);
    sem_post(&server.go_on);
    end_server(&server);
}

/* --- Ends of threads ------------------------------------------------------------------------------------------------------- */

static void exit_when_fired(treadle_timer timer, void *info) { (void)timer, (void)info, pthread_exit(NULL); }
static void exit_with_reply(const void *data, size_t size, void *info) { (void)data, (void)size, (void)info, pthread_exit(NULL); }
static void exit_when_invalid(treadle_message_port port, void *info) { (void)port, (void)info, pthread_exit(NULL); }

static char large[100000];
static void *exit_while_waiting(void *info) {
    treadle_timer timer = make_timer(exit_when_fired, NULL, 1, 0);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, REPLIES), TREADLE_OK);
    CHECK_INT(treadle_release(timer), TREADLE_OK);
    treadle_message_port_request(info, HOLD, large, sizeof large, LONG, LONG, REPLIES, NULL, NULL);
    return info;
}
static void *exit_in_reply(void *info) {
    treadle_message_port_request(info, ECHO, large, sizeof large, LONG, LONG, REPLIES, exit_with_reply, NULL);
    return info;
}
/* None of these calls returns. */
static void *check_and_exit(void *info) {
    treadle_message_port_check(info);
    return info;
}
static void *send_and_exit(void *info) {
    treadle_message_port_send(info, 1, large, sizeof large, LONG);
    return info;
}
static void *request_and_exit(void *info) {
    request_text(info, 1, "x", LONG, NULL);
    return info;
}
static void *invalidate_and_exit(void *info) {
    treadle_invalidate(info);
    return info;
}
static void *run_and_exit(void *info) {
    CHECK_INT(treadle_loop_add(treadle_loop_current(), info, M), TREADLE_OK);
    treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0);
    return info;
}

static void end_thread_in(const char *name, treadle_message_port other_side, treadle_message_port_invalidated_fn invalidated, void *(*run)(void *)) {
    struct remote remote = make_closable(name, invalidated);
    if (other_side) CHECK_INT(discard(other_side), TREADLE_OK);
    CHECK(on_thread(run, remote.port) == NULL);
    CHECK_INT(treadle_close(remote.port, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(remote.port), TREADLE_OK);
    CHECK_INT(treadle_scope_close(remote.scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(remote.scope), TREADLE_OK);
    CHECK_INT(released, 1);
    released = 0;
}
TEST(a_thread_that_ends_inside_of_a_request_leaves_nothing, "MSG-6 OBJ-4 THR-19") {
    struct server server;
    start_server(&server, new_name());
    treadle_loop_current();
    for (int round = 0, before = 0; round < 2; round++) {
        end_thread_in(server.name, NULL, NULL, exit_while_waiting);
        sem_post(&server.go_on);
        end_thread_in(server.name, NULL, NULL, exit_in_reply);
        treadle_message_port remote = make_remote(server.name); /* its connection comes behind theirs */
        CHECK_INT(request_text(remote, ECHO, "x", LONG, NULL), TREADLE_OK);
        if (round == 0) before = count_descriptors();
        else CHECK_INT(count_descriptors(), before);
        CHECK_INT(discard(remote), TREADLE_OK);
    }
    end_server(&server);
}
TEST(a_thread_that_ends_when_it_is_told_of_the_end_leaves_nothing, "MSG-7 OBJ-4 THR-19") {
    void *(*const ways[])(void *) = {check_and_exit, send_and_exit, request_and_exit, invalidate_and_exit, run_and_exit};
    treadle_loop_current();
    int descriptors = count_descriptors();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *name = new_name();
        end_thread_in(name, make_local(name, NULL, NULL), exit_when_invalid, ways[i]);
        CHECK_INT(count_descriptors(), descriptors);
    }
}

static void take_and_leave(const char *bytes) {
    CHECK(bytes[0] == 'x');
    pthread_exit(NULL);
}
static treadle_message_port own_remote;
static void *call_oneself(void *info) {
    static const treadle_port_function own[] = {{"take", "vO^c", (void (*)(void))take_and_leave}};
    treadle_message_port_context context = {.struct_size = sizeof context, .functions = own, .function_count = 1};
    treadle_message_port local = NULL;
    static char bytes[60000] = "x";
    treadle_port_value values[] = {{bytes, sizeof bytes}};
    const char *name = new_name();
    (void)info;
    CHECK_INT(treadle_message_port_create_local(name, &context, &local), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, REPLIES), TREADLE_OK);
    CHECK_INT(treadle_release(local), TREADLE_OK);
    own_remote = make_remote(name);
    treadle_port_call(own_remote, "take", "vO^c", values, 1, NULL, 0, LONG, REPLIES);
    CHECK(!"it returned");
    return NULL;
}
TEST(a_function_that_ends_its_caller_s_thread_leaves_nothing_of_the_call, "MSG-11 OBJ-4 THR-19") {
    long before = 0;
    treadle_loop_current();
    for (int round = 0; round < 6; round++) {
        on_thread(call_oneself, NULL);
        CHECK_INT(treadle_close(own_remote, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_release(own_remote), TREADLE_OK);
        if (round == 1) before = (long)bytes_in_use();
    }
    /* Less than the bytes of one call. */
    long left = (long)bytes_in_use() - before;
    if (left > 50000) check_failed(__FILE__, __LINE__, "%ld bytes are left", left);
}

TEST_MAIN()
