/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port.h: ports in a process: messages from any thread, which a loop performs one by one. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_PORT_H
#define TREADLE_PORT_H

#include "loop.h"

TREADLE_BEGIN_DECLS

/** What a component of a message is. New ones may be added. Since 1.0. */
enum {
    TREADLE_COMPONENT_BYTES = 1,     /* bytes and length */
    TREADLE_COMPONENT_PORT = 2,      /* port */
    TREADLE_COMPONENT_DESCRIPTOR = 3 /* descriptor */
};

/** One component of a message. Members that do not belong to its kind are not looked at in what is sent; in what was
 *  received they are 0, NULL, or -1 for the descriptor. Since 1.0. */
typedef struct treadle_component {
    uint32_t kind;      /* TREADLE_COMPONENT_... */
    int32_t descriptor; /* sent: any open one, which stays the sender's; received: a copy, which is the message's */
    const void *bytes;  /* may be NULL with length 0; received: aligned to 16 */
    size_t length;
    treadle_port port;  /* received: borrowed, it stays as long as the message */
} treadle_component;

/** What is sent. Since 1.0. */
typedef struct treadle_message_content {
    size_t struct_size; /* sizeof(treadle_message_content) */
    uint32_t id;        /* of whatever meaning; the receiver gets it as it is */
    uint32_t reserved;  /* 0 */
    const treadle_component *components;
    size_t component_count; /* at most 65,535 */
    treadle_port reply_port; /* where an answer goes; NULL: none is expected */
} treadle_message_content;

/** Called with each message, one in a pass of the loop (PORT-6). The message lives until this returns; to keep it longer,
 *  retain it, and release it once (treadle_message_retain).
 *  [callback] on the loop's thread. Since 1.0. */
typedef void (*treadle_message_fn)(treadle_port port, treadle_message message, void *info);

/** What a port is made of. Since 1.0. */
typedef struct treadle_port_context {
    size_t struct_size; /* sizeof(treadle_port_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_message_fn receive;      /* NULL: messages are taken and dropped (PORT-3) */
    treadle_routine receive_routine; /* in place of receive (routine.h); not both */
    uint32_t capacity;               /* how many messages may wait, at most 16,777,215; 0: 1,024 (MPORT-1) */
    uint32_t reserved;               /* 0 */
    const char *label;               /* NULL, or what reports call it: UTF-8 of at most 255 bytes, copied */
    treadle_host host;   /* its events take the place of the callbacks, TREADLE_EVENT_MESSAGE, as in a source's context */
    uint64_t token;      /* what the host's events carry; 0 without a host */
    treadle_scope scope; /* what is made belongs to it; NULL: to the one that the thread has entered (scope.h) */
} treadle_port_context;

/** Makes a port, an item as a source is one: add it to the loop that is to receive, hand it to the threads that are to send.
 *  The port itself is the address (MPORT-1). In a mode it is a version 1 source without a descriptor: it keeps the mode from
 *  being empty, wakes its loop by itself, and what it performs counts as handled (PORT-5). In several loops each message goes to
 *  one of them (PORT-4). Messages wait while it is in no mode.
 *  When it becomes invalid it leaves all loops, its messages are dropped, threads that wait for room are refused, and then
 *  TREADLE_NOTIFY_PORT_INVALID is told, once, on the thread that made it so (PORT-2): that is treadle_invalidate and
 *  treadle_close, the end of its scope, or the return of the last reference; a message refers to its reply port and to the
 *  ports among its components.
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, a callback and its routine, either or info besides a host, a token
 *  without one; TREADLE_E_RANGE for a larger capacity; TREADLE_E_CLOSED if the host is quiet; TREADLE_E_TOO_NEW;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_port_create(const treadle_port_context *context, treadle_port *out_port);

/** Sends a message. What is in it is copied before this returns, descriptors are duplicated and ports retained (MPORT-2).
 *  Messages of one thread to one port arrive in their order (PORT-6). If the port has no room, this waits for some, behind
 *  those who wait already.
 *  timeout_ns: how long it waits; 0 or less only tries; TREADLE_FOREVER.
 *  [any] Errors, with nothing sent: TREADLE_E_TIMEOUT without room in time; TREADLE_E_DEADLOCK if it had to wait, and only one
 *  loop receives, whose thread is the calling one, or waits for it, with a timeout or without, directly or through others;
 *  TREADLE_E_CLOSED for a port that is invalid, or becomes so meanwhile, and after treadle_shutdown; TREADLE_E_ARG for NULL, a
 *  bad struct_size, a component of an unknown kind, NULL bytes with a length, a port that is NULL, a descriptor that is not open,
 *  NULL components; TREADLE_E_STALE, TREADLE_E_KIND for a bad port among them too; TREADLE_E_RANGE for too many components, or a
 *  port in 32,767 messages; TREADLE_E_SYSTEM, with os_errno, for a descriptor that cannot be duplicated (EMFILE);
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_port_send(treadle_port port, const treadle_message_content *content, int64_t timeout_ns);

/** treadle_port_send of a message with one component of bytes, or, with length 0, with none: the quickest way to send. The
 *  bytes may be NULL then.
 *  [any] Errors: as treadle_port_send. Since 1.0. */
TREADLE_API treadle_status treadle_port_send_bytes(treadle_port port, uint32_t id, const void *bytes, size_t length,
                                                   int64_t timeout_ns);

/** How many messages wait, and how many may (MPORT-1).
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_port_get_count(treadle_port port, size_t *out_count, size_t *out_capacity);

/** What a message says of itself. Since 1.0. */
typedef struct treadle_message_info {
    size_t struct_size; /* set by the caller: sizeof(treadle_message_info) */
    uint32_t id;        /* as it was sent */
    uint32_t component_count;
    treadle_port port;       /* the one that it arrived on (MPORT-3); borrowed, and stale when that is gone */
    treadle_port reply_port; /* where an answer goes (MPORT-3), or NULL; borrowed, it stays as long as the message */
    const void *bytes;       /* of the first component, if that is bytes; else NULL. They stay as long as the message */
    size_t length;
} treadle_message_info;

/** Stores what a message says of itself.
 *  [any] Errors: TREADLE_E_STALE for one that is gone: its callback has returned, and nobody retained it; TREADLE_E_ARG for
 *  NULL or a struct_size below the struct's; TREADLE_E_TOO_NEW. Since 1.0. */
TREADLE_API treadle_status treadle_message_get_info(treadle_message message, treadle_message_info *out_info);

/** Stores a component, by its index. All of it is borrowed, and stays as long as the message: retain a port, and duplicate or
 *  take a descriptor, to keep them longer.
 *  [any] Errors: TREADLE_E_RANGE for an index that no component has. Since 1.0. */
TREADLE_API treadle_status treadle_message_get_component(treadle_message message, size_t index,
                                                         treadle_component *out_component);

/** Takes a descriptor out of a message: it is the caller's to close. The component says -1 from then on. One that nobody takes
 *  is closed when the message goes.
 *  [any] Errors: TREADLE_E_RANGE for an index that no component has; TREADLE_E_NOT_FOUND for one that is no descriptor, or whose
 *  descriptor was taken. Since 1.0. */
TREADLE_API treadle_status treadle_message_take_descriptor(treadle_message message, size_t index, int32_t *out_descriptor);

/* The verbs of object.h, for a port, and for a message. */
TREADLE_TYPED_ITEM(port)
TREADLE_TYPED_REFERENCES(message)

TREADLE_END_DECLS
#endif
