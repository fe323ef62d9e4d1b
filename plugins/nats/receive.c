/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * receive.c: receiving the messages of a local port, one a pass, and replying. While a message waits nothing is read: the server and
 * the kernel hold the rest back. */
#include <stdlib.h>

#include "nats_port.h"

/* A message whose callback runs on this thread. */
struct nats_delivery {
    struct nats_delivery *outer; /* on this thread */
    struct nats_delivery *next;  /* of this port; port->lock, as the flags */
    struct nats_port *port;
    natsMsg *message;
    const char *reply; /* where its sender waits; NULL: nowhere */
    uint64_t call;
    bool is_replied;
    bool is_abandoned; /* the port has ended: its sender got that in place of a reply */
};
static __thread struct nats_delivery *innermost;
static atomic_uint_fast64_t last_call;

static natsMsg *next_message(struct nats_port *port) {
    natsMsg *message = NULL;
    return natsSubscription_NextMsg(&message, port->subscription, 0) == NATS_OK ? message : NULL;
}

/* If more wait, the source is called again. port->lock is held. */
static void arrange_next(struct nats_port *port) {
    uint64_t waiting = 0;
    if (!port->is_over) natsSubscription_QueuedMsgs(port->subscription, &waiting);
    nats_io_hold_back(port, waiting > 0);
    if (waiting > 0) nats_io_ring(port);
}

/* Takes the next message. In one step with its entry among the port's deliveries, or the port's end in between would miss it. */
static bool begin_delivery(struct nats_port *port, struct nats_delivery *delivery) {
    *delivery = (struct nats_delivery){.outer = innermost, .port = port, .call = atomic_fetch_add(&last_call, 1) + 1};
    pthread_mutex_lock(&port->lock);
    if (!port->is_over && (delivery->message = next_message(port))) {
        delivery->reply = natsMsg_GetReply(delivery->message);
        delivery->next = port->deliveries;
        port->deliveries = delivery;
    }
    arrange_next(port);
    pthread_mutex_unlock(&port->lock);
    return delivery->message;
}
/* A sender without a reply gets an empty one. */
static void end_delivery(struct nats_port *port, struct nats_delivery *delivery) {
    pthread_mutex_lock(&port->lock);
    struct nats_delivery **at = &port->deliveries;
    while (*at != delivery) at = &(*at)->next;
    *at = delivery->next;
    if (delivery->reply && !delivery->is_replied && !delivery->is_abandoned) nats_publish(port, delivery->reply, NULL, 0, NULL, 0);
    pthread_mutex_unlock(&port->lock);
    natsMsg_Destroy(delivery->message);
}

/* The port has ended: the senders that wait for its replies get that. */
void nats_abandon(struct nats_port *port) {
    natsMsg *message;
    pthread_mutex_lock(&port->lock);
    for (struct nats_delivery *delivery = port->deliveries; delivery; delivery = delivery->next) {
        if (!delivery->reply || delivery->is_replied || delivery->is_abandoned) continue;
        nats_publish_end(port, delivery->reply);
        delivery->is_abandoned = true;
    }
    while ((message = next_message(port))) {
        const char *reply = natsMsg_GetReply(message);
        if (reply) nats_publish_end(port, reply);
        natsMsg_Destroy(message);
    }
    pthread_mutex_unlock(&port->lock);
}

static void deliver(struct nats_port *port, struct nats_delivery *delivery) {
    natsMsg *message = delivery->message;
    const char *id = NULL;
    size_t size = (size_t)natsMsg_GetDataLength(message);
    treadle_nats_message view = {.struct_size = sizeof view, .data = size ? natsMsg_GetData(message) : NULL, .size = size,
                                 .call = delivery->call, .flags = delivery->reply ? TREADLE_MESSAGE_PORT_WANTS_REPLY : 0,
                                 .subject = port->name.subject};
    if (natsMsgHeader_Get(message, "Treadle-Id", &id) == NATS_OK && id) view.id = (int32_t)strtol(id, NULL, 10);
    innermost = delivery;
    if (port->receive) {
        bool is_outside = treadle_scope_enter(NULL) == TREADLE_OK;
        port->receive((treadle_nats_port)port->source, &view, port->info);
        if (is_outside) treadle_scope_leave(NULL);
    }
    innermost = delivery->outer;
}

void nats_receive(struct nats_port *port) {
    nats_io_pump(port);
    /* A client that does not read its replies is not received from. */
    int buffered = natsConnection_Buffered(port->connection);
    if (buffered > 0 && (size_t)buffered > port->buffer_bytes) return;
    struct nats_delivery delivery;
    if (!begin_delivery(port, &delivery)) return;
    deliver(port, &delivery);
    end_delivery(port, &delivery);
}

treadle_status nats_reply(uint64_t call, const void *data, size_t size) {
    struct nats_delivery *delivery = innermost;
    treadle_status status = TREADLE_IGNORED;
    while (delivery && delivery->call != call) delivery = delivery->outer;
    if (!delivery) return nats_fail(TREADLE_E_NOT_FOUND, "call is not that of a message whose callback runs on this thread");
    if (!delivery->reply) return status;
    pthread_mutex_lock(&delivery->port->lock);
    if (delivery->is_replied)
        status = nats_fail(TREADLE_E_STATE, "call has its reply");
    else if (!delivery->is_abandoned)
        status = nats_publish(delivery->port, delivery->reply, NULL, 0, data, size);
    if (status == TREADLE_OK) delivery->is_replied = true;
    pthread_mutex_unlock(&delivery->port->lock);
    return status;
}
