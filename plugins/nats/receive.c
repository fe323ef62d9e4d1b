/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * receive.c: receiving the messages of a local port, one a pass, and replying. While a message waits nothing is read: the server and
 * the kernel hold the rest back. */
#include <stdlib.h>

#include "nats_port.h"

/* A message whose callback runs on this thread. */
struct delivery {
    struct delivery *outer;
    struct nats_port *port;
    natsMsg *message;
    uint64_t call;
    bool is_replied;
};
static __thread struct delivery *innermost;
static atomic_uint_fast64_t last_call;

static natsMsg *next_message(struct nats_port *port) {
    natsMsg *message = NULL;
    return natsSubscription_NextMsg(&message, port->subscription, 0) == NATS_OK ? message : NULL;
}

/* If more wait, the source is called again. */
static void arrange_next(struct nats_port *port) {
    uint64_t waiting = 0;
    natsSubscription_QueuedMsgs(port->subscription, &waiting);
    nats_io_hold_back(port, waiting > 0);
    if (waiting > 0) nats_io_ring(port);
}

static void deliver(struct nats_port *port, natsMsg *message) {
    struct delivery delivery = {innermost, port, message, atomic_fetch_add(&last_call, 1) + 1, false};
    const char *id = NULL, *reply = natsMsg_GetReply(message);
    size_t size = (size_t)natsMsg_GetDataLength(message);
    treadle_nats_message view = {.struct_size = sizeof view, .data = size ? natsMsg_GetData(message) : NULL, .size = size,
                                 .call = delivery.call, .flags = reply ? TREADLE_MESSAGE_PORT_WANTS_REPLY : 0,
                                 .subject = port->name.subject};
    if (natsMsgHeader_Get(message, "Treadle-Id", &id) == NATS_OK && id) view.id = (int32_t)strtol(id, NULL, 10);
    innermost = &delivery;
    if (port->receive) {
        bool is_outside = treadle_scope_enter(NULL) == TREADLE_OK;
        port->receive((treadle_nats_port)port->source, &view, port->info);
        if (is_outside) treadle_scope_leave(NULL);
    }
    innermost = delivery.outer;
    if (reply && !delivery.is_replied) nats_publish(port, reply, NULL, 0, NULL, 0);
}

void nats_receive(struct nats_port *port) {
    nats_io_pump(port);
    /* A client that does not read its replies is not received from. */
    int buffered = natsConnection_Buffered(port->connection);
    if (buffered > 0 && (size_t)buffered > port->buffer_bytes) return;
    natsMsg *message = next_message(port);
    arrange_next(port);
    if (!message) return;
    deliver(port, message);
    natsMsg_Destroy(message);
}

treadle_status nats_reply(uint64_t call, const void *data, size_t size) {
    struct delivery *delivery = innermost;
    while (delivery && delivery->call != call) delivery = delivery->outer;
    if (!delivery) return nats_fail(TREADLE_E_NOT_FOUND, "call is not that of a message whose callback runs on this thread");
    if (delivery->is_replied) return nats_fail(TREADLE_E_STATE, "call has its reply");
    const char *reply = natsMsg_GetReply(delivery->message);
    if (!reply) return TREADLE_IGNORED;
    treadle_status status = nats_publish(delivery->port, reply, NULL, 0, data, size);
    if (status == TREADLE_OK) delivery->is_replied = true;
    return status;
}
