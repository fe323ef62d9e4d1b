/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * server.h: a nats-server for the tests of treadle-nats, and the plugin in this process. */
#ifndef TREADLE_NATS_TEST_SERVER_H
#define TREADLE_NATS_TEST_SERVER_H

#include "../../../examples/plugins/test/host.h"

#include <sys/prctl.h>

#include "../treadle_nats.h"

#define PLUGIN "treadle-nats"
#define MODE "replies"
#define LONG SECONDS(100)

static struct nats_server {
    pid_t process;
    int output, port;
} nats_server;

/* Reads the server's lines until it is ready; its port is in one of them. */
HELPER void await_ready(void) {
    char line[1024];
    size_t length = 0;
    while (true) {
        char byte;
        if (read(nats_server.output, &byte, 1) != 1) check_failed(__FILE__, __LINE__, "nats-server has ended: %.*s", (int)length, line);
        if (byte != '\n') {
            if (length < sizeof line - 1) line[length++] = byte;
            continue;
        }
        line[length] = 0, length = 0;
        const char *found = strstr(line, "client connections on 127.0.0.1:");
        if (found) nats_server.port = atoi(strrchr(found, ':') + 1);
        if (strstr(line, "Server is ready")) return;
    }
}
/* port: -1 for any. configuration: the text of its file, or NULL. The server gives clients 2 s for credentials and for a TLS
 * handshake, which pass on a busy machine: a configuration that asks for one sets its timeout. */
HELPER void start_nats(int port, const char *configuration) {
    int output[2];
    char number[16];
    const char *folder = configuration ? new_folder() : NULL, *file = folder ? in_folder(folder, "configuration") : NULL;
    const char *arguments[] = {"nats-server", "-a", "127.0.0.1", "-p", number, file ? "-c" : NULL, file, NULL};
    if (file) append(file, configuration);
    snprintf(number, sizeof number, "%d", port);
    CHECK(pipe2(output, O_CLOEXEC) == 0);
    nats_server.process = fork();
    CHECK(nats_server.process >= 0);
    if (nats_server.process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test is at fault */
        dup2(output[1], 2);
        execvp("nats-server", (char *const *)arguments);
        _exit(127);
    }
    close(output[1]);
    nats_server.output = output[0];
    await_ready();
    CHECK(nats_server.port > 0);
    if (folder) remove_folder(folder);
}
HELPER void stop_nats(void) {
    int status;
    CHECK_INT(kill(nats_server.process, SIGKILL), 0);
    CHECK_INT(waitpid(nats_server.process, &status, 0), nats_server.process);
    close(nats_server.output);
}
HELPER const char *name_of(const char *subject) {
    static __thread char name[300];
    snprintf(name, sizeof name, "nats://127.0.0.1:%d/%s", nats_server.port, subject);
    return name;
}

/* --- The plugin ---------------------------------------------------------------------------------------- */

/* A copy: the functions may be called after the plugin's end. */
static treadle_nats extension;
static const treadle_nats *const nats = &extension;
HELPER treadle_plugin start_plugin(const char *const *settings) {
    /* However slow the machine is. */
    const char *all[32] = {"connect-timeout-ms", "100000"};
    for (int i = 0; settings && settings[i]; i++) all[2 + i] = settings[i];
    treadle_plugin plugin = load(PLUGIN, all);
    extension = *(const treadle_nats *)start(plugin, TREADLE_NATS);
    return plugin;
}
HELPER const char *nats_error(void) {
    static __thread char text[256];
    size_t length;
    CHECK_INT(nats->last_error(text, sizeof text, &length), TREADLE_OK);
    CHECK_INT(length, strlen(text));
    return text;
}
#define CHECK_REFUSED(call, status, word)                                                                                     \
    do {                                                                                                                      \
        CHECK_INT(call, status);                                                                                              \
        if (!strstr(nats_error(), word)) check_failed(__FILE__, __LINE__, "no “%s” in “%s”", word, nats_error()); \
    } while (0)

HELPER treadle_nats_port make_remote(const char *name) {
    treadle_nats_port port = NULL;
    treadle_status status = nats->create_remote(name, NULL, &port);
    if (status != TREADLE_OK) check_failed(__FILE__, __LINE__, "create_remote: %s: %s", treadle_status_name(status), nats_error());
    return port;
}
/* The reply with its end is "REPLY ID TEXT". */
static atomic_int messages;
HELPER void echo(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    char text[256];
    (void)port, (void)info;
    snprintf(text, sizeof text, "re %d %.*s", (int)message->id, (int)message->size, message->data ? (const char *)message->data : "");
    treadle_status status = nats->reply(message->call, text, strlen(text));
    CHECK_INT(status, message->flags & TREADLE_MESSAGE_PORT_WANTS_REPLY ? TREADLE_OK : TREADLE_IGNORED);
    atomic_fetch_add(&messages, 1);
    has_come();
}
HELPER treadle_nats_port make_local_in(const char *name, treadle_nats_receive_fn receive, const char *mode) {
    treadle_nats_port port = NULL;
    treadle_nats_context context = {.struct_size = sizeof context, .receive = receive};
    treadle_status status = nats->create_local(name, &context, &port);
    if (status != TREADLE_OK) check_failed(__FILE__, __LINE__, "create_local: %s: %s", treadle_status_name(status), nats_error());
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, mode), TREADLE_OK);
    return port;
}
HELPER void end(treadle_nats_port port) {
    CHECK_INT(nats->invalidate(port), TREADLE_OK);
    CHECK(!treadle_is_valid(port));
    CHECK_INT(treadle_release(port), TREADLE_OK);
}

struct answer {
    char text[256];
    int count;
};
HELPER void keep(const void *data, size_t size, void *info) {
    struct answer *answer = info;
    CHECK(size < sizeof answer->text);
    if (size) memcpy(answer->text, data, size);
    answer->text[size] = 0;
    answer->count++;
}
HELPER treadle_status ask(treadle_nats_port port, int32_t id, const char *text, int64_t timeout, struct answer *answer) {
    *answer = (struct answer){0};
    return nats->request(port, id, text, strlen(text), LONG, timeout, MODE, keep, answer);
}

#endif
