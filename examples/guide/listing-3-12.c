/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Listings 3-12 to 3-15: a worker thread that checks in with the main thread, by ports.
 *
 * The main thread makes a port, adds it to its own loop, and hands it to the thread that it detaches (3-12). The worker
 * keeps that port, makes one of its own, and sends a check-in message whose reply port that is (3-15); then it runs its loop
 * until it is to exit (3-14). The main thread learns from the message where the worker can be reached, keeps that (3-13), and
 * uses it: it sends work, and at last word to exit. */
#include "require.h"

enum { CHECK_IN = 100, WORK, RESULT, EXIT, BYE };

static treadle_port make_port(treadle_message_fn receive, void *info) {
    treadle_port port;
    treadle_port_context context = TREADLE_INIT(treadle_port_context);
    context.receive = receive;
    context.info = info;
    require(treadle_port_create(&context, &port), "make a port");
    require(treadle_loop_add_port(treadle_loop_current(), port, TREADLE_DEFAULT_MODE), "add it to the thread's loop");
    return port;
}

static treadle_message_info read_message(treadle_message message) {
    treadle_message_info info = TREADLE_INIT(treadle_message_info);
    require(treadle_message_get_info(message, &info), "read a message");
    return info;
}

static void end_port(treadle_port port) {
    require(treadle_port_invalidate(port), "end a port");
    require(treadle_port_release(port), "release it");
}

/* --- The worker ------------------------------------------------------------------------------------- */

struct worker {
    treadle_port remote; /* the main thread's */
    treadle_port local;  /* its own */
    bool should_exit;
};

/* What the main thread sends to the worker. */
static void handle_order(treadle_port port, treadle_message message, void *info) {
    struct worker *worker = info;
    treadle_message_info order = read_message(message);
    (void)port;
    if (order.id == WORK) {
        int number = *(const int *)order.bytes, square = number * number;
        require(treadle_port_send_bytes(worker->remote, RESULT, &square, sizeof square, 0), "send the result");
    } else if (order.id == EXIT) {
        worker->should_exit = true;
    }
}

/* Listing 3-15. A limit that is over already: the message is sent now, or not at all. */
static void send_check_in(struct worker *worker, treadle_port out) {
    worker->remote = out; /* the reference was handed over with the thread's argument */
    worker->local = make_port(handle_order, worker);

    treadle_message_content content = TREADLE_INIT(treadle_message_content);
    content.id = CHECK_IN;
    content.reply_port = worker->local;
    require(treadle_port_send(out, &content, 0), "send the check-in message");
}

/* Listing 3-14. */
static void *run_worker(void *info) {
    struct worker worker = {0};
    send_check_in(&worker, info);

    /* Each run returns when it has handled a message. */
    do {
        require(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE),
                "run the worker's loop");
    } while (!worker.should_exit);

    end_port(worker.local);
    require(treadle_port_send_bytes(worker.remote, BYE, NULL, 0, 0), "say that this was all");
    require(treadle_port_release(worker.remote), "release the main thread's port");
    return NULL;
}

/* --- The main thread -------------------------------------------------------------------------------- */

/* Listing 3-13. */
static void handle_message(treadle_port port, treadle_message message, void *info) {
    treadle_port *distant = info;
    treadle_message_info sent = read_message(message);
    switch (sent.id) {
    case CHECK_IN:
        /* Lent as long as the message: to keep it takes a reference. */
        *distant = sent.reply_port;
        require(treadle_port_retain(*distant), "keep the worker's port");
        printf("the worker has checked in\n");
        for (int number = 1; number <= 3; number++) {
            require(treadle_port_send_bytes(*distant, WORK, &number, sizeof number, TREADLE_FOREVER), "send some work");
        }
        require(treadle_port_send_bytes(*distant, EXIT, NULL, 0, TREADLE_FOREVER), "tell the worker to exit");
        break;
    case RESULT: printf("a result: %d\n", *(const int *)sent.bytes); break;
    case BYE:
        printf("the worker's port is %s\n", treadle_port_is_valid(*distant) ? "valid" : "invalid");
        require(treadle_port_invalidate(port), "end the port"); /* the loop has nothing to wait for then */
        break;
    }
}

/* Listing 3-12. */
int main(void) {
    treadle_port distant = NULL, port = make_port(handle_message, &distant);

    /* The worker gets a reference of its own, and releases it. */
    require(treadle_port_retain(port), "retain the port for the worker");
    require(treadle_thread_detach_new(run_worker, port, NULL, NULL), "detach the worker");

    treadle_status result = require(treadle_loop_run_default(treadle_loop_current()), "run the main loop");
    printf("the run is over: %s\n", treadle_status_name(result));
    require(treadle_port_release(distant), "release the worker's port");
    require(treadle_port_release(port), "release the port");
    return 0;
}
