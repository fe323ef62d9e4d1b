/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * requests.c: requests to a message port of another process and their replies, of 64 and of 4,096 bytes, one at a time; beside
 * two loops of epoll with a bare SOCK_SEQPACKET socket. Both processes are on one processor, or on one each. */
#include "by_hand.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES = 5, REQUESTS = 10000, WARM = 200, MOST = 4096 };

static char request[MOST], reply[MOST];
static size_t length;

/* --- By message ports ----------------------------------------------------------------------------------- */

static const char *name_of(pid_t parent) {
    static char name[64];
    snprintf(name, sizeof name, "treadle.bench.%d", (int)parent);
    return name;
}
static void echo(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port, (void)info;
    check(treadle_message_port_reply(message->call, message->data, message->size));
}
static void serve_port(int ready) {
    treadle_message_port_context context = TREADLE_INIT(treadle_message_port_context);
    treadle_message_port port;
    treadle_loop loop = treadle_loop_current();
    live_in(loop);
    context.receive = echo;
    check(treadle_message_port_create_local(name_of(getppid()), &context, &port));
    check(treadle_loop_add(loop, port, TREADLE_DEFAULT_MODE));
    demand(write(ready, "r", 1) == 1, "a pipe can be written");
    treadle_loop_run_default(loop);
}
static void keep(const void *data, size_t size, void *info) {
    (void)info;
    demand(size == length, "a reply has the size of its request");
    memcpy(reply, data, size);
}
static treadle_message_port remote;
static void ask_port(void) {
    check(treadle_message_port_request(remote, 1, request, length, TREADLE_FOREVER, TREADLE_FOREVER, "replies", keep, NULL));
}

/* --- By a bare socket ------------------------------------------------------------------------------------ */

static void serve_bare(int ready) {
    watch(ends[1]);
    demand(write(ready, "r", 1) == 1, "a pipe can be written");
    for (;;) {
        size_t size = receive(ends[1], request, MOST);
        if (size == 0 || send(ends[1], request, size, 0) != (ssize_t)size) return;
    }
}
static void ask_bare(void) {
    demand(send(ends[0], request, length, 0) == (ssize_t)length, "a message can be sent");
    demand(receive(ends[0], reply, MOST) == length, "a reply has the size of its request");
}

/* --- Both -------------------------------------------------------------------------------------------------- */

static void measure(const char *name, enum way way, size_t size, int processor) {
    int ready[2];
    char byte;
    length = size;
    demand(pipe(ready) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "there are descriptors");
    pid_t child = fork();
    demand(child >= 0, "a process can be made");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bind_thread(first_processor);
        if (way == BY_TREADLE) serve_port(ready[1]);
        else serve_bare(ready[1]);
        _exit(0);
    }
    demand(read(ready[0], &byte, 1) == 1, "the server is there");
    bind_thread(processor);
    if (way == BY_TREADLE) {
        live_in(treadle_loop_current());
        check(treadle_message_port_create_remote(name_of(getpid()), NULL, &remote));
        check(treadle_loop_add(treadle_loop_current(), remote, "replies"));
    } else {
        watch(ends[0]);
    }
    void (*ask)(void) = way == BY_TREADLE ? ask_port : ask_bare;
    uint64_t least = UINT64_MAX, number = 0;
    size_t count = amount(REQUESTS);
    for (int i = 0; i < WARM; i++) ask();
    for (int sample = 0; sample < SAMPLES; sample++) {
        uint64_t begun = clock_ns();
        for (size_t i = 0; i < count; i++) {
            number++;
            memcpy(request, &number, sizeof number);
            ask();
            demand(memcmp(reply, &number, sizeof number) == 0, "each request gets its own reply");
        }
        uint64_t took = clock_ns() - begun;
        if (took < least) least = took;
    }
    tell(name, (double)count * 1e6 / (double)least, "k/s");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
static void msg_64(const char *name, enum way way) { measure(name, way, 64, first_processor); }
static void msg_4k(const char *name, enum way way) { measure(name, way, 4096, first_processor); }
static void msg_64_2(const char *name, enum way way) { measure(name, way, 64, second_processor); }
static void msg_4k_2(const char *name, enum way way) { measure(name, way, 4096, second_processor); }

const struct workload request_workloads[] = {
    {"msg_64", msg_64, WAY(BY_TREADLE) | WAY(BY_HAND), false},
    {"msg_4k", msg_4k, WAY(BY_TREADLE) | WAY(BY_HAND), false},
    {"msg_64_2", msg_64_2, WAY(BY_TREADLE) | WAY(BY_HAND), true},
    {"msg_4k_2", msg_4k_2, WAY(BY_TREADLE) | WAY(BY_HAND), true},
    {NULL, NULL, 0, false},
};
