/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_ports.h: message ports with defaults, a thread and a process that serve one, and replies that are kept. */
#ifndef TREADLE_TEST_MESSAGE_PORTS_H
#define TREADLE_TEST_MESSAGE_PORTS_H

#include "helpers.h"

#include <sys/prctl.h>

#define M TREADLE_DEFAULT_MODE
static const char *const REPLIES = "replies";
/* No test waits so long. */
#define LONG SECONDS(1000)

/* A name that no other test has. */
HELPER const char *new_name(void) {
    static char names[16][64];
    static atomic_uint used;
    unsigned number = atomic_fetch_add(&used, 1);
    snprintf(names[number % 16], sizeof names[0], "treadle.test.%d.%u", (int)getpid(), number);
    return names[number % 16];
}

HELPER treadle_message_port make_local(const char *name, treadle_message_port_receive_fn receive, void *info) {
    treadle_message_port_context context = {.struct_size = sizeof context, .receive = receive, .info = info};
    treadle_message_port port = NULL;
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_OK);
    return port;
}
HELPER treadle_message_port make_remote(const char *name) {
    treadle_message_port port = NULL;
    CHECK_INT(treadle_message_port_create_remote(name, NULL, &port), TREADLE_OK);
    return port;
}
/* A local port in the default mode of this thread's loop, and in the mode for replies. */
HELPER treadle_message_port serve_here(const char *name, treadle_message_port_receive_fn receive, void *info) {
    treadle_message_port port = make_local(name, receive, info);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, REPLIES), TREADLE_OK);
    return port;
}

/* A reply that has come. */
struct reply {
    int count;
    char *data;
    size_t size;
};
HELPER void keep_reply(const void *data, size_t size, void *info) {
    struct reply *reply = info;
    CHECK((data == NULL) == (size == 0));
    reply->count++;
    free(reply->data);
    reply->data = size ? malloc(size) : NULL;
    if (size) memcpy(reply->data, data, size);
    reply->size = size;
}
HELPER treadle_status request_text(treadle_message_port port, int32_t id, const char *text, int64_t timeout, struct reply *reply) {
    return treadle_message_port_request(port, id, text, strlen(text), LONG, timeout, REPLIES, reply ? keep_reply : NULL, reply);
}
HELPER void drop_reply(struct reply *reply) {
    free(reply->data);
    *reply = (struct reply){.count = reply->count};
}
#define CHECK_REPLY(reply, text)                                     \
    do {                                                             \
        CHECK_INT((reply).size, strlen(text));                       \
        CHECK((reply).size == 0 || memcmp((reply).data, text, (reply).size) == 0); \
        drop_reply(&(reply));                                        \
    } while (0)

/* What servers do with a message, by its id. */
enum {
    ECHO = 1,    /* replies with the same bytes */
    SILENT = 2,  /* replies nothing */
    STOP = 3,    /* ends the server's run */
    COUNT = 4,   /* replies with how many messages have come, as text */
    HOLD = 5,    /* waits for the server's semaphore before it replies */
    LEAVE = 6,   /* ends the server's thread, or process */
    SIZE = 7,    /* replies with so many bytes as the text says */
};
struct server {
    const char *name;
    pthread_t thread;
    treadle_message_port port;
    treadle_loop loop;
    sem_t is_ready, is_holding, go_on;
    atomic_int messages, ends;
    bool is_process;
};
HELPER void server_receive(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    struct server *server = info;
    char text[32];
    int count = atomic_fetch_add(&server->messages, 1) + 1;
    CHECK(port == server->port || server->port == NULL);
    CHECK(is_size(message->struct_size, sizeof *message));
    CHECK((message->data == NULL) == (message->size == 0));
    switch (message->id) {
    case ECHO: treadle_message_port_reply(message->call, message->data, message->size); break;
    case STOP: treadle_loop_stop(treadle_loop_current()); break;
    case COUNT:
        snprintf(text, sizeof text, "%d", count);
        CHECK(treadle_message_port_reply(message->call, text, strlen(text)) >= 0);
        break;
    case HOLD:
        sem_post(&server->is_holding);
        await(&server->go_on);
        treadle_message_port_reply(message->call, "held", 4);
        break;
    case LEAVE:
        if (server->is_process) _exit(0);
        pthread_exit(NULL);
    case SIZE: {
        size_t size = strtoul(memcpy(memset(text, 0, sizeof text), message->data, message->size), NULL, 10);
        char *bytes = malloc(size);
        for (size_t i = 0; i < size; i++) bytes[i] = (char)(i * 7 + size);
        CHECK(treadle_message_port_reply(message->call, bytes, size) >= 0);
        free(bytes);
        break;
    }
    }
}
HELPER void server_ended(treadle_message_port port, void *info) { (void)port, atomic_fetch_add(&((struct server *)info)->ends, 1); }
HELPER void server_open(struct server *server) {
    treadle_message_port_context context = {.struct_size = sizeof context, .receive = server_receive, .info = server, .invalidated = server_ended};
    CHECK_INT(treadle_message_port_create_local(server->name, &context, &server->port), TREADLE_OK);
    server->loop = treadle_loop_current();
    CHECK_INT(treadle_retain(server->loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add(server->loop, server->port, M), TREADLE_OK);
}
HELPER void *server_main(void *info) {
    struct server *server = info;
    server_open(server);
    sem_post(&server->is_ready);
    treadle_loop_run(server->loop, M, TREADLE_FOREVER, 0);
    return NULL;
}
HELPER void start_server(struct server *server, const char *name) {
    memset(server, 0, sizeof *server);
    server->name = name;
    sem_init(&server->is_ready, 0, 0), sem_init(&server->is_holding, 0, 0), sem_init(&server->go_on, 0, 0);
    CHECK_INT(pthread_create(&server->thread, NULL, server_main, server), 0);
    await(&server->is_ready);
}
HELPER void end_server(struct server *server) {
    treadle_loop_request_stop(server->loop, 0);
    CHECK_INT(pthread_join(server->thread, NULL), 0);
    CHECK_INT(treadle_release(server->loop), TREADLE_OK);
    CHECK_INT(discard(server->port), TREADLE_OK);
}

/* A process that serves a port until it is killed, or stops its loop: `open` creates the port, in M of the loop of the process. It is open
 * when this returns. */
HELPER pid_t start_serving(treadle_message_port (*open)(void *info), void *info) {
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ready[0]);
        CHECK_INT(prctl(PR_SET_PDEATHSIG, SIGKILL), 0); /* it lives as long as the test, under whose watchdog it is */
        CHECK(treadle_after_fork_child() >= 0);
        treadle_message_port port = open(info);
        CHECK_INT(write(ready[1], "r", 1), 1);
        close(ready[1]);
        treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0);
        discard(port);
        _exit(0);
    }
    close(ready[1]);
    CHECK_INT(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}
/* The same server in a process of its own. `become` is called in it once the port is open; NULL: nothing. */
struct process {
    const char *name;
    void (*become)(void);
};
HELPER treadle_message_port open_process(void *info) {
    static struct server server;
    const struct process *process = info;
    server = (struct server){.name = process->name, .is_process = true};
    sem_init(&server.is_holding, 0, 0), sem_init(&server.go_on, 0, 0);
    server_open(&server);
    if (process->become) process->become();
    return server.port;
}
HELPER pid_t start_process_that(const char *name, void (*become)(void)) {
    struct process process = {name, become};
    return start_serving(open_process, &process);
}
HELPER pid_t start_process(const char *name) { return start_process_that(name, NULL); }
HELPER int await_process(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return status;
}
HELPER void end_process(pid_t child) { kill(child, SIGKILL), await_process(child); }

/* What has come. Data is answered. */
struct received {
    int count;
    int32_t id;
    uint32_t flags, user;
    int32_t process;
    size_t size;
    char data[64];
    treadle_message_port port;
};
HELPER void receive_and_keep(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    struct received *received = info;
    received->count++;
    received->id = message->id, received->flags = message->flags, received->size = message->size;
    received->user = message->sender_user, received->process = message->sender_process;
    received->port = port;
    CHECK(message->size < sizeof received->data);
    if (message->size) memcpy(received->data, message->data, message->size);
    received->data[message->size] = 0;
    bool is_awaited = message->flags & TREADLE_MESSAGE_PORT_WANTS_REPLY;
    if (message->size) CHECK_INT(treadle_message_port_reply(message->call, "answer", 6), is_awaited ? TREADLE_OK : TREADLE_IGNORED);
}

HELPER void go_on_when_fired(treadle_timer timer, void *info) { (void)timer, sem_post(info); }

#endif
