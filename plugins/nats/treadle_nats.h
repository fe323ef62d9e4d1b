/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle_nats.h: message ports between machines: the extension of the plugin treadle-nats, for programs and other plugins.
 *
 * Its functions are those of treadle/message_port.h, with the same arguments, waits and results, for names of the form
 *
 *     nats://host:port/subject        tls://host:port/subject
 *
 * where a NATS server listens at host:port (4222 unless it is given), and subject is one of that server's subjects, without
 * wildcards. The engine is libnats. Each function may be called late: after the plugin's end it returns TREADLE_E_CLOSED. A
 * function that fails has its reason, which names the argument, in last_error. */
#ifndef TREADLE_NATS_H
#define TREADLE_NATS_H

#include <treadle.h>

TREADLE_BEGIN_DECLS

/** The name of the extension. */
#define TREADLE_NATS "treadle.nats/1"

/** A port: a descriptor source of the plugin's, as a treadle_message_port is one of the library's. treadle_loop_add,
 *  treadle_is_valid, treadle_describe, treadle_retain and treadle_release accept it, and treadle_descriptor_set_events, by which a local
 *  port is paused. It has a connection of its own to the server. End it by the extension's invalidate: treadle_invalidate alone
 *  leaves it connected until its last release, and its messages unreceived. */
typedef struct treadle_nats_port_s *treadle_nats_port;

/** A received message. It lives until the callback returns. */
typedef struct treadle_nats_message {
    size_t struct_size;  /* of the plugin that fills it in; later versions only append */
    const void *data;    /* NULL if there are no bytes */
    size_t size;
    uint64_t call;       /* identifies this message for reply */
    int32_t id;          /* set by the sender; 0 from clients that are no ports */
    uint32_t flags;      /* TREADLE_MESSAGE_PORT_WANTS_REPLY */
    const char *subject; /* the port's */
} treadle_nats_message;

/** Called for a received message, on the thread of a loop that the port is in, at most once a pass. If it returns without a
 *  reply, the sender gets an empty one; if the port ends first, TREADLE_E_CLOSED. It must return: it cannot end its thread. */
typedef void (*treadle_nats_receive_fn)(treadle_nats_port port, const treadle_nats_message *message, void *info);
/** Called once when the engine has given up the connection (setting max-reconnects), on the thread that detects it. The port is
 *  invalid then. */
typedef void (*treadle_nats_invalidated_fn)(treadle_nats_port port, void *info);

/** The configuration of a port. Every member but struct_size may be zero. */
typedef struct treadle_nats_context {
    size_t struct_size; /* sizeof(treadle_nats_context) */
    void *info;
    treadle_release_fn release; /* called once with info, when no callback comes any more; also if create fails */
    treadle_nats_receive_fn receive; /* of a local port; NULL: messages are dropped, with empty replies */
    treadle_nats_invalidated_fn invalidated;
    const char *queue; /* of a local port: its queue group, each message goes to one of its ports; NULL: "treadle" */
    const char *label; /* NULL, or its name in reports: UTF-8 of at most 255 bytes, copied */
} treadle_nats_context;

/** The states of a port's connection. */
enum {
    TREADLE_NATS_CONNECTED = 0,
    TREADLE_NATS_RECONNECTING = 1, /* the connection is lost; the engine tries to get another one */
    TREADLE_NATS_CLOSED = 2        /* the port is invalid */
};

/** What a port has done. */
typedef struct treadle_nats_info {
    size_t struct_size; /* set by the caller: sizeof(treadle_nats_info) */
    uint32_t state;     /* TREADLE_NATS_... */
    uint32_t is_remote; /* 0 or 1 */
    uint64_t received;  /* messages and replies that the engine has received */
    uint64_t sent;      /* and sent */
    uint64_t reconnects;
    uint64_t buffered;  /* bytes that wait to be sent */
    uint64_t dropped;   /* messages that the engine has dropped, beyond the settings pending-messages and pending-bytes */
} treadle_nats_info;

/** The extension. Its address is valid until the plugin ends; its function pointers for ever. */
typedef struct treadle_nats {
    size_t struct_size;

    /** Creates a port that serves a name; add it to a mode of a loop. When this returns the server knows of it. Any number of ports, in any number of
     *  processes, may serve a name: those of one queue group share its messages, so a message is received once. Ports of another group
     *  get each message as well, and a request the first reply: use one group.
     *  [any] Waits for the server, setting connect-timeout-ms. Errors: TREADLE_E_ARG for a NULL or malformed name, a bad
     *  struct_size, a malformed queue; TREADLE_E_RANGE for a name of more than 255 bytes; TREADLE_E_NOT_FOUND if no server can be
     *  reached there, or it refuses the credentials or the subject; TREADLE_E_SYSTEM if TLS fails; TREADLE_E_CLOSED; TREADLE_E_NOMEM. */
    treadle_status (*create_local)(const char *name, const treadle_nats_context *context, treadle_nats_port *out_port);

    /** Creates a port that sends to a name. Whether a port serves it is detected at each request. The port need not be in a loop; in a
     *  loop it detects by itself that the connection is lost, and answers the server's pings.
     *  [any] Waits, and errors, as create_local; TREADLE_E_ARG also for receive or queue. context: NULL for none. */
    treadle_status (*create_remote)(const char *name, const treadle_nats_context *context, treadle_nats_port *out_port);

    /** Sends a message that wants no reply: it is in the engine's buffer then, which the loops that the port is in write. A port in no
     *  loop writes it before this returns: as much as the kernel takes, and the rest, or all while there is no connection, until
     *  timeout_ns has passed; what is left then is written by the next calls, and by invalidate. If the buffer has no room (setting
     *  buffer-bytes), waits for some. Runs no loop meanwhile. NATS delivers it at most once, and drops it if no port serves the name.
     *  timeout_ns: 0 or less does not wait; TREADLE_FOREVER sets no limit.
     *  [any] Errors: TREADLE_E_TIMEOUT if there was no room in time; TREADLE_E_RANGE for more than the server allows;
     *  TREADLE_E_STATE for a local or invalid port; TREADLE_E_CLOSED; TREADLE_E_ARG for NULL data of a size; TREADLE_E_STALE;
     *  TREADLE_E_NOMEM. */
    treadle_status (*send)(treadle_nats_port port, int32_t id, const void *data, size_t size, int64_t timeout_ns);

    /** Sends a message and waits for its reply. The calling thread's loop runs in mode meanwhile. A late reply is dropped. reply:
     *  called with the reply before this returns; NULL drops it. send_timeout_ns: as in send. reply_timeout_ns: counts from the
     *  sending; 0 or less makes one pass; TREADLE_FOREVER sets no limit: then the end of a serving process by a
     *  signal is never detected, since NATS does not report it.
     *  [any] Errors: TREADLE_E_TIMEOUT if there was no room in time, with nothing sent; TREADLE_E_NO_REPLY if the reply did not
     *  arrive in time; TREADLE_E_NOT_FOUND if no port serves the name; TREADLE_E_CLOSED if the port that received the message has
     *  ended and did not reply, the connection was lost meanwhile (the message may have been received), or the plugin is being closed; TREADLE_E_ARG for a NULL mode, or that of the common modes;
     *  the others of send. */
    treadle_status (*request)(treadle_nats_port port, int32_t id, const void *data, size_t size, int64_t send_timeout_ns,
                              int64_t reply_timeout_ns, const char *mode, treadle_message_port_reply_fn reply, void *info);

    /** Replies to the message whose callback is running on the calling thread. This never waits. TREADLE_IGNORED if the sender
     *  does not wait for a reply, or the port has ended, which the sender was told.
     *  [any] Errors: TREADLE_E_NOT_FOUND if call is not that of a callback that runs on this thread; TREADLE_E_STATE if it was
     *  replied to already; TREADLE_E_RANGE for more than the server allows; TREADLE_E_CLOSED if the connection is lost, and its
     *  buffer full; TREADLE_E_ARG for NULL data of a size; TREADLE_E_NOMEM. */
    treadle_status (*reply)(uint64_t call, const void *data, size_t size);

    /** Ends a port: it is invalid, its callbacks are over as treadle_invalidate says, and it is disconnected. When this returns, the
     *  server gives it no more messages. The senders of those that it has got and not replied to get TREADLE_E_CLOSED, clients that
     *  are no ports an empty reply; without a connection nobody is told. Idempotent.
     *  [any] Waits for the server, setting connect-timeout-ms. Errors: TREADLE_E_STALE. */
    treadle_status (*invalidate)(treadle_nats_port port);

    /** Whether the port is connected now.
     *  [any] Errors: TREADLE_E_STATE if it is invalid; TREADLE_E_CLOSED while the engine reconnects; TREADLE_E_STALE. */
    treadle_status (*check)(treadle_nats_port port);

    /** Stores what a port has done.
     *  [any] Errors: TREADLE_E_ARG for NULL or a bad struct_size; TREADLE_E_STALE. */
    treadle_status (*get_info)(treadle_nats_port port, treadle_nats_info *info);

    /** Writes why the last of these functions that failed on this thread did: at most capacity bytes, NUL included; stores the
     *  full length, without NUL. Empty without a failure. Once the plugin has ended it returns TREADLE_E_CLOSED, like all of these
     *  functions, and writes nothing: clear the buffer first.
     *  [any] Errors: TREADLE_E_ARG for NULL out_length, or NULL buffer of a capacity. */
    treadle_status (*last_error)(char *buffer, size_t capacity, size_t *out_length);
} treadle_nats;

TREADLE_END_DECLS
#endif
