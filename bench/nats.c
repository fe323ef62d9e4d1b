/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * nats.c: what a request of 64 bytes and its reply cost over a NATS server, through the plugin treadle-nats and by libnats alone. Prints
 * a row of a table for each pair of clients; run-nats says more.
 *
 * Each side that serves is a process of its own. A client sends one request at a time, by turns with the other clients. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <nats/nats.h>
#include <treadle.h>

#include "median.h"
#include "../plugins/nats/treadle_nats.h"

enum { SIZE = 64, REQUESTS = 200, MOST_SAMPLES = 10000, WAYS = 3 };
#define MODE "replies"

static const char *server, *plugin_path;
static char bytes[SIZE];

static void require(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "nats: %s\n", what);
    exit(1);
}
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* --- By libnats alone ---------------------------------------------------------------------------------------- */

static natsConnection *connect_bare(void) {
    natsConnection *connection = NULL;
    require(natsConnection_ConnectTo(&connection, server) == NATS_OK, "libnats connects");
    return connection;
}
static void echo_bare(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *info) {
    (void)subscription, (void)info;
    natsConnection_Publish(connection, natsMsg_GetReply(message), natsMsg_GetData(message), natsMsg_GetDataLength(message));
    natsMsg_Destroy(message);
}
static void serve_bare(void) {
    natsSubscription *subscription = NULL;
    natsOptions *options = NULL;
    natsConnection *connection = NULL;
    /* A reply is written at once, as a request is, and not by another thread. */
    require(natsOptions_Create(&options) == NATS_OK && natsOptions_SetURL(options, server) == NATS_OK, "options of libnats");
    require(natsOptions_SetSendAsap(options, true) == NATS_OK, "options of libnats");
    require(natsConnection_Connect(&connection, options) == NATS_OK, "libnats connects");
    require(natsConnection_QueueSubscribe(&subscription, connection, "bare", "bench", echo_bare, NULL) == NATS_OK, "libnats serves");
    require(natsConnection_Flush(connection) == NATS_OK, "libnats serves");
}
static void ask_bare(natsConnection *connection) {
    natsMsg *reply = NULL;
    require(natsConnection_Request(&reply, connection, "bare", bytes, SIZE, 1000000000) == NATS_OK, "libnats gets its reply");
    require(natsMsg_GetDataLength(reply) == SIZE, "the reply has the request's bytes");
    natsMsg_Destroy(reply);
}

/* --- By the plugin ------------------------------------------------------------------------------------------ */

static const treadle_nats *load_plugin(void) {
    treadle_plugin plugin;
    const void *extension = NULL;
    /* The clients by libnats alone are in the same process. */
    const char *const settings[] = {"shares-library", "true", NULL};
    treadle_plugin_config config = TREADLE_INIT(treadle_plugin_config);
    config.path = plugin_path, config.settings = settings;
    require(treadle_plugin_load(&config, &plugin) == TREADLE_OK, "the plugin is loaded");
    require(treadle_plugin_start(plugin) == TREADLE_OK, "the plugin starts");
    require(treadle_plugin_get_extension(plugin, TREADLE_NATS, &extension) == TREADLE_OK, "the plugin has its extension");
    return extension;
}
static const treadle_nats *nats;
static void echo(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)port, (void)info;
    nats->reply(message->call, message->data, message->size);
}
static treadle_nats_port open_port(const char *subject, bool serves) {
    char name[300];
    treadle_nats_port port = NULL;
    treadle_nats_context context = {.struct_size = sizeof context, .receive = echo};
    snprintf(name, sizeof name, "%s/%s", server, subject);
    treadle_status status = serves ? nats->create_local(name, &context, &port) : nats->create_remote(name, NULL, &port);
    require(status == TREADLE_OK, "a port is created");
    if (serves) require(treadle_loop_add(treadle_loop_current(), port, TREADLE_DEFAULT_MODE) == TREADLE_OK, "a port is added");
    return port;
}
static void count_bytes(const void *data, size_t size, void *info) { (void)data, *(size_t *)info = size; }
static void ask_port(treadle_nats_port port) {
    size_t size = 0;
    treadle_status status = nats->request(port, 0, bytes, SIZE, TREADLE_FOREVER, TREADLE_FOREVER, MODE, count_bytes, &size);
    require(status == TREADLE_OK, treadle_status_name(status));
    require(size == SIZE, "the reply has the request's bytes");
}

/* --- The samples -------------------------------------------------------------------------------------------- */

/* A process that serves both names until this one ends. */
static void start_servers(void) {
    for (int way = 0; way < 2; way++) {
        int ready[2];
        char byte;
        require(pipe(ready) == 0, "pipe");
        pid_t child = fork();
        require(child >= 0, "fork");
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (way == 0) {
                serve_bare();
            } else {
                nats = load_plugin();
                open_port("port", true);
            }
            require(write(ready[1], "r", 1) == 1, "write");
            if (way == 0)
                for (;;) pause();
            treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
            _exit(0);
        }
        close(ready[1]);
        require(read(ready[0], &byte, 1) == 1, "a process serves");
        close(ready[0]);
    }
}

static natsConnection *bare;
static treadle_nats_port to_bare, to_port;
static void ask(int way) {
    if (way == 0) ask_bare(bare);
    if (way == 1) ask_port(to_bare);
    if (way == 2) ask_port(to_port);
}
static double microseconds(int way) {
    int64_t begun = now();
    for (int i = 0; i < REQUESTS; i++) ask(way);
    return (double)(now() - begun) / REQUESTS / 1000;
}
int main(int count, char **arguments) {
    static double times[WAYS][MOST_SAMPLES], ratios[WAYS][MOST_SAMPLES];
    static const char *const names[WAYS] = {"libnats to libnats", "treadle-nats to libnats", "treadle-nats to treadle-nats"};
    if (count != 4) return fprintf(stderr, "nats SERVER PLUGIN SAMPLES\n"), 2;
    int samples = atoi(arguments[3]);
    server = arguments[1], plugin_path = arguments[2];
    require(samples > 0 && samples <= MOST_SAMPLES, "1 to 10000 samples");
    memset(bytes, 'x', sizeof bytes);
    start_servers();
    nats = load_plugin();
    bare = connect_bare(), to_bare = open_port("bare", false), to_port = open_port("port", false);
    for (int way = 0; way < WAYS; way++) microseconds(way);
    for (int i = 0; i < samples; i++)
        for (int way = 0; way < WAYS; way++) {
            times[way][i] = microseconds(way);
            ratios[way][i] = times[way][i] / times[0][i];
        }
    printf("| client and server | a request of 64 bytes and its reply | ratio |\n| --- | --- | --- |\n");
    for (int way = 0; way < WAYS; way++) printf("| %s | %.1f us | %.2f |\n", names[way], median(times[way], samples), median(ratios[way], samples));
    return 0;
}
