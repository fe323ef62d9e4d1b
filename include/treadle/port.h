/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port.h: ports in a process: messages from any thread, which a loop performs one by one. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_PORT_H
#define TREADLE_PORT_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** Kinds of a message's components. New ones may be added. Since 1.0. */
enum {
    TREADLE_COMPONENT_BYTES = 1,     /* bytes and length */
    TREADLE_COMPONENT_PORT = 2,      /* port */
    TREADLE_COMPONENT_DESCRIPTOR = 3 /* descriptor */
};

/** One component of a message. Members that do not belong to its kind are ignored in a message that is sent; in a
 *  received one they are 0, NULL, or -1 for the descriptor. Since 1.0. */
typedef struct treadle_component {
    uint32_t kind;      /* TREADLE_COMPONENT_... */
    int32_t descriptor; /* sent: an open descriptor, which the sender still owns; received: a duplicate, which the message owns */
    const void *bytes;  /* may be NULL with length 0; received: aligned to 16 */
    size_t length;
    treadle_port port;  /* received: borrowed, valid as long as the message */
} treadle_component;

/** The content of a message to be sent. Since 1.0. */
typedef struct treadle_message_content {
    size_t struct_size; /* sizeof(treadle_message_content) */
    uint32_t id;        /* chosen by the sender; the receiver gets it unchanged */
    uint32_t reserved;  /* 0 */
    const treadle_component *components;
    size_t component_count; /* at most 65,535 */
    treadle_port reply_port; /* where a reply is to be sent; NULL: none is expected */
} treadle_message_content;

/** Called with each message, one in a pass of the loop (PORT-6). The message lives until this returns; to keep it longer,
 *  retain it, and release it once (treadle_message_retain).
 *  [callback] on the loop's thread. Since 1.0. */
typedef void (*treadle_message_fn)(treadle_port port, treadle_message message, void *info);

/** The configuration of a port. Since 1.0. */
typedef struct treadle_port_context {
    size_t struct_size; /* sizeof(treadle_port_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_message_fn receive;      /* NULL: messages are received and dropped (PORT-3) */
    treadle_routine receive_routine; /* in place of receive (routine.h); not both */
    uint32_t capacity;               /* of the queue, in messages, at most 16,777,215; 0: 1,024 (MPORT-1) */
    uint32_t reserved;               /* 0 */
    const char *label;               /* NULL, or its name in reports: UTF-8 of at most 255 bytes, copied */
    treadle_host host;   /* its events TREADLE_EVENT_MESSAGE replace the callbacks, as in a source's context */
    uint64_t token;      /* carried by the host's events; 0 without a host */
    treadle_scope scope; /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
} treadle_port_context;

/** Creates a port, an item like a source: add it to the receiving loop, and pass it to the sending threads. The port itself is
 *  the address (MPORT-1). In a mode it is a version 1 source without a descriptor: it keeps the mode from being empty, wakes its
 *  loop by itself, and counts as a handled source when it is performed (PORT-5). If it is in several loops, each message is
 *  received by one of them (PORT-4). Messages stay queued while it is in no mode. A port becomes invalid by treadle_invalidate
 *  or treadle_close, at the end of its scope, or when its last reference is released; a message holds references to its reply
 *  port and to the ports among its components. When it becomes invalid it leaves all loops, its messages are dropped, waits for
 *  room end with an error, and then TREADLE_NOTIFY_PORT_INVALID is posted, once, on the thread that invalidated it (PORT-2).
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, a callback and its routine, either or info with a host, a
 *  token without one; TREADLE_E_RANGE for a larger capacity; TREADLE_E_CLOSED if the host is quiet or the scope is
 *  closed; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_port_create(const treadle_port_context *context, treadle_port *out_port);

/** Sends a message. The message's content is copied before this function returns; descriptors are duplicated and ports retained
 *  (MPORT-2). Messages from one thread to one port arrive in the order of sending (PORT-6). If the port's queue is full, this
 *  waits for room, after earlier waiters. timeout_ns: limits the wait; 0 or less does not wait; TREADLE_FOREVER sets no limit.
 *  [any] Errors, with nothing sent: TREADLE_E_TIMEOUT without room in time; TREADLE_E_DEADLOCK if it would have to wait, and the
 *  only receiving loop's thread is the calling one, or waits for the calling one, directly or through other threads, with a
 *  timeout or without;
 *  TREADLE_E_CLOSED for a port that is invalid, or becomes so meanwhile, and after treadle_shutdown; TREADLE_E_ARG for NULL, a
 *  bad struct_size, a component of an unknown kind, NULL bytes with a length, a port that is NULL, a descriptor that is not open,
 *  NULL components; TREADLE_E_STALE, TREADLE_E_KIND for a bad port among them too; TREADLE_E_RANGE for too many components, or a
 *  port in 32,767 messages; TREADLE_E_SYSTEM, with os_errno, for a descriptor that cannot be duplicated (EMFILE);
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_port_send(treadle_port port, const treadle_message_content *content, int64_t timeout_ns);

/** treadle_port_send of a message with one component of bytes, the fastest way to send. With length 0 the message has no
 *  component, and bytes may be NULL.
 *  [any] Errors: as treadle_port_send. Since 1.0. */
TREADLE_API treadle_status treadle_port_send_bytes(treadle_port port, uint32_t id, const void *bytes, size_t length,
                                                   int64_t timeout_ns);

/** Stores the number of queued messages, and the queue's capacity (MPORT-1).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_port_get_count(treadle_port port, size_t *out_count, size_t *out_capacity);

/** The fields of a received message. Since 1.0. */
typedef struct treadle_message_info {
    size_t struct_size; /* set by the caller: sizeof(treadle_message_info) */
    uint32_t id;        /* as it was sent */
    uint32_t component_count;
    treadle_port port;       /* the port that it arrived on (MPORT-3); borrowed, stale if the port no longer exists */
    treadle_port reply_port; /* where a reply is to be sent (MPORT-3), or NULL; borrowed, valid as long as the message */
    const void *bytes;       /* of the first component, if its kind is bytes; else NULL. Valid as long as the message */
    size_t length;
} treadle_message_info;

/** Stores the fields of a message.
 *  [any] Errors: TREADLE_E_STALE if the message no longer exists: its callback has returned, and it was not retained;
 *  TREADLE_E_ARG for
 *  NULL or a struct_size below the struct's; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_message_get_info(treadle_message message, treadle_message_info *out_info);

/** Stores a component, by its index. It is borrowed, and valid as long as the message: to keep it longer, retain a port, and
 *  duplicate or take a descriptor.
 *  [any] Errors: TREADLE_E_RANGE for an index that no component has. Since 1.0. */
TREADLE_API treadle_status treadle_message_get_component(treadle_message message, size_t index,
                                                         treadle_component *out_component);

/** Takes a descriptor out of a message: the caller owns and closes it, and the component's descriptor is -1 from then on. A
 *  descriptor that is not taken is closed when the message is freed.
 *  [any] Errors: TREADLE_E_RANGE for an index that no component has; TREADLE_E_NOT_FOUND for a component that is not a
 *  descriptor, or whose descriptor was taken. Since 1.0. */
TREADLE_API treadle_status treadle_message_take_descriptor(treadle_message message, size_t index, int32_t *out_descriptor);

/* The functions of object.h, typed for ports and messages. */
TREADLE_TYPED_ITEM(port)
TREADLE_TYPED_REFERENCES(message)

TREADLE_END_DECLS
#endif
