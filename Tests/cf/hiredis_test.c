/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * A third party's program: hiredis and the adapter for CFRunLoop and CFSocket that it ships, unchanged, as Debian
 * packages it (libhiredis-dev), against a real redis-server on loopback. Representative because it uses CFSocket
 * as event libraries do: a descriptor that somebody else made and is still connecting, both kinds enabled and
 * disabled all the time, and invalidated in its own callback. */
#include "helpers.h"

#include <arpa/inet.h>
#include <hiredis/adapters/macosx.h>
#include <netinet/in.h>
#include <sys/socket.h>

static int free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)(void *)&address, size) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)(void *)&address, &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

/* Starts a server and waits for its word that it is ready; its port, and its process. Another may have taken the
 * port in the meantime: then it ends, and the next port is tried. */
static int start_server(pid_t *out_process) {
    for (int attempt = 0; attempt < 10; attempt++) {
        int port = free_port(), ends[2];
        char text[20], line[500];
        snprintf(text, sizeof text, "%d", port);
        CHECK(pipe2(ends, O_CLOEXEC) == 0);
        *out_process = fork();
        CHECK(*out_process >= 0);
        if (*out_process == 0) {
            dup2(ends[1], 1);
            dup2(ends[1], 2);
            execlp("redis-server", "redis-server", "--port", text, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                   "--daemonize", "no", "--dir", "/tmp", (char *)NULL);
            _exit(127);
        }
        close(ends[1]);
        FILE *output = fdopen(ends[0], "r");
        CHECK(output != NULL);
        while (fgets(line, sizeof line, output))
            if (strstr(line, "eady to accept connections")) return port; /* the pipe stays open for its later words */
        fclose(output);
        CHECK(waitpid(*out_process, NULL, 0) == *out_process);
    }
    check_failed(__FILE__, __LINE__, "redis-server does not start");
}
static void stop_server(pid_t process) {
    kill(process, SIGTERM);
    CHECK(waitpid(process, NULL, 0) == process);
}

static int connected = -2, disconnected = -2, replies;
static void on_connect(const redisAsyncContext *context, int status) {
    (void)context;
    connected = status;
}
static void on_disconnect(const redisAsyncContext *context, int status) {
    (void)context;
    disconnected = status;
    CFRunLoopStop(CFRunLoopGetCurrent());
}
enum { COMMANDS = 500 };
static void on_set(redisAsyncContext *context, void *reply, void *info) {
    (void)context, (void)info;
    CHECK(reply != NULL);
    CHECK_TEXT(((redisReply *)reply)->str, "OK");
}
static void on_get(redisAsyncContext *context, void *reply, void *info) {
    char expected[50];
    CHECK(reply != NULL);
    snprintf(expected, sizeof expected, "value %d", (int)(intptr_t)info);
    CHECK_TEXT(((redisReply *)reply)->str, expected);
    CHECK_INT((intptr_t)info, replies++); /* in the order of the commands */
    if (replies == COMMANDS) redisAsyncDisconnect(context);
}

TEST(a_client_pipelines_commands, "SOCK-1 SOCK-4 SOCK-8 SOCK-9") {
    pid_t server;
    int port = start_server(&server);
    redisAsyncContext *context = redisAsyncConnect("127.0.0.1", port);
    CHECK(context != NULL && context->err == 0);
    CHECK_INT(redisMacOSAttach(context, CFRunLoopGetCurrent()), REDIS_OK);
    CHECK_INT(redisMacOSAttach(context, CFRunLoopGetCurrent()), REDIS_ERR);
    redisAsyncSetConnectCallback(context, on_connect);
    redisAsyncSetDisconnectCallback(context, on_disconnect);
    for (int i = 0; i < COMMANDS; i++) {
        redisAsyncCommand(context, on_set, NULL, "SET key%d %s", i, "x");
        char value[50];
        snprintf(value, sizeof value, "value %d", i);
        redisAsyncCommand(context, on_set, NULL, "SET key%d %b", i, value, strlen(value));
        redisAsyncCommand(context, on_get, (void *)(intptr_t)i, "GET key%d", i);
    }
    CFRunLoopRun();
    CHECK(connected == REDIS_OK && disconnected == REDIS_OK && replies == COMMANDS);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false), kCFRunLoopRunFinished); /* nothing is left */
    stop_server(server);
}

static void on_message(redisAsyncContext *context, void *reply, void *info) {
    redisReply *message = reply;
    redisAsyncContext *publisher = info;
    if (!message) return; /* the end */
    if (strcmp(message->element[0]->str, "subscribe") == 0) {
        for (int i = 0; i < 3; i++) redisAsyncCommand(publisher, NULL, NULL, "PUBLISH news %d", i);
        return;
    }
    trace("%s", message->element[2]->str);
    if (strcmp(message->element[2]->str, "2") == 0) {
        redisAsyncFree(context); /* from its own callback */
        redisAsyncDisconnect(publisher);
    }
}

TEST(two_clients_share_a_loop, "SOCK-4 SOCK-9 SRC1-5") {
    pid_t server;
    int port = start_server(&server);
    redisAsyncContext *subscriber = redisAsyncConnect("127.0.0.1", port), *publisher = redisAsyncConnect("127.0.0.1", port);
    CHECK(redisMacOSAttach(subscriber, CFRunLoopGetCurrent()) == REDIS_OK);
    CHECK(redisMacOSAttach(publisher, CFRunLoopGetCurrent()) == REDIS_OK);
    redisAsyncSetDisconnectCallback(publisher, on_disconnect);
    redisAsyncCommand(subscriber, on_message, publisher, "SUBSCRIBE news");
    CFRunLoopRun();
    CHECK_TRACE("0 1 2");
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false), kCFRunLoopRunFinished);
    stop_server(server);
}

TEST(a_client_learns_that_nobody_listens, "SOCK-9") {
    redisAsyncContext *context = redisAsyncConnect("127.0.0.1", free_port());
    CHECK(context != NULL);
    if (context->err == 0) { /* or the kernel has said so at once */
        CHECK_INT(redisMacOSAttach(context, CFRunLoopGetCurrent()), REDIS_OK);
        redisAsyncSetConnectCallback(context, on_connect);
        while (connected == -2) CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true) != kCFRunLoopRunTimedOut);
        CHECK_INT(connected, REDIS_ERR);
        CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false), kCFRunLoopRunFinished);
    } else {
        redisAsyncFree(context);
    }
}

TEST_MAIN()
