/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Listing 3-16: a port that is registered under a name, by which another process gets it.
 *
 * The parent registers its port, adds it to its loop, and runs that. The child cannot be handed the port itself: it asks for the
 * name, sends two numbers and waits for the reply to each, and then sends word to end, for which it does not wait. */
#define _POSIX_C_SOURCE 200809L
#include "require.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SQUARE = 1, END = 2 };
static const int64_t minute = 60 * (int64_t)1000000000;

/* --- The process that asks -------------------------------------------------------------------------- */

static void keep(const void *data, size_t size, void *info) {
    if (size == sizeof(int)) memcpy(info, data, size);
}

static int ask(const char *name) {
    treadle_message_port port;
    require(treadle_message_port_create_remote(name, NULL, &port), "find the port by its name");
    for (int number = 7; number <= 8; number++) {
        int square = 0;
        /* What else is in the mode is served meanwhile: here, nothing. */
        require(treadle_message_port_request(port, SQUARE, &number, sizeof number, minute, minute, "replies", keep, &square), "ask");
        if (square != number * number) return 1;
    }
    require(treadle_message_port_send(port, END, NULL, 0, minute), "say that this was all");
    require(treadle_release(port), "release the port");
    return 0;
}

/* --- The process that serves the name ---------------------------------------------------------------- */

static void receive(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    int number;
    if (message->id == END) {
        printf("that was all\n");
        require(treadle_invalidate(port), "end the port"); /* the loop has nothing to wait for then */
    } else if (message->id == SQUARE && message->size == sizeof number) {
        memcpy(&number, message->data, sizeof number);
        printf("%d from %s\n", number, message->sender_process == *(pid_t *)info ? "the child" : "somebody else");
        number *= number;
        require(treadle_message_port_reply(message->call, &number, sizeof number), "reply");
    }
}

int main(void) {
    char name[64], byte = 0;
    int ready[2], status = 1;
    snprintf(name, sizeof name, "org.example.squares.%d", (int)getpid());
    if (pipe(ready) != 0) return 1;
    /* The child waits until the name is registered. */
    pid_t child = fork();
    if (child == 0) return read(ready[0], &byte, 1) == 1 ? ask(name) : 1;

    treadle_message_port port;
    treadle_message_port_context context = TREADLE_INIT(treadle_message_port_context);
    context.receive = receive;
    context.info = &child;
    require(treadle_message_port_create_local(name, &context, &port), "register the port under its name");
    require(treadle_loop_add(treadle_loop_current(), port, TREADLE_DEFAULT_MODE), "add it to the loop");
    if (write(ready[1], &byte, 1) != 1) return 1;

    treadle_status result = require(treadle_loop_run_default(treadle_loop_current()), "run the loop");
    printf("the run is over: %s\n", treadle_status_name(result));
    require(treadle_release(port), "release the port");
    waitpid(child, &status, 0);
    printf("the child is %s\n", status == 0 ? "content" : "not content");
    return 0;
}
