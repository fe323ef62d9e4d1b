/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port.h: message ports: messages and their replies, under a name, between threads and processes of one user. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_MESSAGE_PORT_H
#define TREADLE_MESSAGE_PORT_H

#include "descriptor.h"

TREADLE_BEGIN_DECLS

/** A message port: local, if it serves a name, or remote, if it sends to one. It is a descriptor source of the kind
 *  TREADLE_KIND_DESCRIPTOR, and every function for descriptor sources accepts it: treadle_loop_add, treadle_invalidate,
 *  treadle_describe, and treadle_descriptor_set_events, which pauses it. Since 1.0. */
typedef struct treadle_message_port_s *treadle_message_port;

/** Bits of a message's flags. Since 1.0. */
enum {
    TREADLE_MESSAGE_PORT_WANTS_REPLY = 1 /* the sender waits for a reply, or for the end of the callback without one */
};

/** A received message. Lives until the callback returns. Since 1.0. */
typedef struct treadle_message_port_message {
    size_t struct_size;  /* of the library that fills it in; later versions only append */
    const void *data;    /* the bytes, which cannot change; NULL if there are none */
    size_t size;
    uint64_t call;       /* identifies this message for treadle_message_port_reply */
    int32_t id;          /* set by the sender */
    uint32_t flags;      /* TREADLE_MESSAGE_PORT_... */
    int32_t sender_process; /* the kernel's id of the process that made the remote port */
    uint32_t sender_user;   /* and its user's */
} treadle_message_port_message;

/** Called for a received message. The callback may reply once, by treadle_message_port_reply; if it returns without a reply,
 *  the sender gets an empty one. message and its data live until the callback returns (MSG-5). Called once for each message,
 *  at most once a pass.
 *  [callback] on the thread of a loop that the port is in. Since 1.0. */
typedef void (*treadle_message_port_receive_fn)(treadle_message_port port, const treadle_message_port_message *message, void *info);
/** Called once when the port has become invalid: it has left all loops, and its name is free. A remote port becomes invalid
 *  when it is invalidated, or when the other side has ended (MSG-7).
 *  [callback] on the thread that invalidates it, or detects the end. Since 1.0. */
typedef void (*treadle_message_port_invalidated_fn)(treadle_message_port port, void *info);
/** Called with a reply. data lives until the callback returns; NULL, and size 0, for an empty reply.
 *  [callback] on the thread that waits in treadle_message_port_request, before that returns. Since 1.0. */
typedef void (*treadle_message_port_reply_fn)(const void *data, size_t size, void *info);

/** The maximum size of a message, and of a reply, in bytes (MSG-6). Since 1.0. */
#define TREADLE_MESSAGE_PORT_MOST ((size_t)0x60000000)
/** The maximum size of a name, in bytes; a longer name is cut, at the end of a character (MSG-1). Since 1.0. */
enum { TREADLE_MESSAGE_PORT_NAME = 255 };

/** The mode in which languages with default arguments run the caller's loop during a request, unless the call names another one. It
 *  contains nothing but what a client adds. Since 1.0. */
#define TREADLE_REPLIES_MODE "treadle.replies"

/** A function that the senders to a local port may call by treadle_port_call.
 *  [callback] on the thread of a loop that the port is in, one a pass, in order with the messages. Since 1.0. */
typedef struct treadle_port_function {
    const char *name;      /* UTF-8 of 1 to 255 bytes, copied; the first one of a name counts */
    const char *signature; /* its type, as treadle_signature_parse reads it: see treadle_port_call */
    void (*code)(void);    /* the function; cast its pointer */
} treadle_port_function;

/** The configuration of a message port. Every member but struct_size may be zero. Since 1.0. */
typedef struct treadle_message_port_context {
    size_t struct_size; /* sizeof(treadle_message_port_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_message_port_receive_fn receive; /* of a local port; NULL: messages are dropped, with empty replies (MSG-5) */
    treadle_message_port_invalidated_fn invalidated;
    const uint32_t *users; /* of a local port: other users that may send to it, copied; NULL: only the port's own user */
    size_t user_count;     /* at most 1,024 */
    uint32_t owner;        /* of a remote port: the user that owns the name, if has_owner is 1; else the process's user */
    uint32_t has_owner;    /* 0 or 1 */
    const char *label;     /* NULL, or its name in reports: UTF-8 of at most 255 bytes, copied */
    treadle_host host;     /* its events TREADLE_EVENT_MESSAGE_PORT replace the callbacks; it is notified of signals that
                            * end a sleep of treadle_message_port_request, as in treadle_host_run */
    uint64_t token;        /* carried by the host's events; 0 without a host */
    treadle_scope scope;   /* the new object's scope; NULL: the one that the calling thread has entered (scope.h) */
    const treadle_port_function *functions; /* of a local port: functions that senders may call; NULL: none */
    size_t function_count; /* at most 1,024 */
} treadle_message_port_context;

/** Creates a port that serves a name of the user: every process of the user, in the same network namespace, finds it by this
 *  name. Add it to a mode of a loop, like any source: its messages are received on that loop (MSG-4). Any number of senders, in
 *  any number of processes, may be connected. With a NULL name the port cannot be reached until treadle_message_port_set_name.
 *  If a local port of this process has the name, returns TREADLE_IGNORED: *out_port is that port, with another reference, and
 *  context was not used (MSG-1).
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, an empty name or one that is not UTF-8, owner or has_owner,
 *  a callback or info with a host, a function without name or code; TREADLE_E_SIGNATURE for a function whose signature
 *  is malformed, or cannot be called in another process; TREADLE_E_RANGE for too many users or functions, too long a
 *  label or name, or if this process's port of the name has 32,767 references; TREADLE_E_EXISTS if a process of any
 *  user serves the name, or if the port that served it has ended and a child process still has a copy of its socket: a
 *  child closes its copy before fork returns in it, or when it runs another program; TREADLE_E_NOT_SUPPORTED if the
 *  process's user, or one of users, cannot be distinguished from users that the process's user namespace does not map;
 *  TREADLE_E_DEADLOCK in the retain of the same port's context, or if the thread that makes a port of the name waits for the
 *  calling thread, or for a port that it makes; TREADLE_E_CLOSED if the host is quiet or the scope is closed;
 *  TREADLE_E_TOO_NEW; TREADLE_E_NOMEM; TREADLE_E_SYSTEM, with os_errno. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_create_local(const char *name, const treadle_message_port_context *context,
                                                             treadle_message_port *out_port);

/** Creates a port that sends to a name, and connects it. The other side is checked: it must run as the name's user. If this
 *  process has a valid remote port with the same name and owner, returns TREADLE_IGNORED: *out_port is that port, with another
 *  reference, and context was not used (MSG-3). context: NULL for none. The port need not be in a loop; in a loop it detects by
 *  itself that the other side has ended. If the other side's queue of connections is full, waits for a place for up to 5 seconds,
 *  without running the loop.
 *  [any] Errors: TREADLE_E_NOT_FOUND if no port serves the name, another user than its owner serves it, or the port
 *  refuses this user (which may be detected only later, as the other side's end); TREADLE_E_ARG for a NULL or empty
 *  name, or one that is not UTF-8, a bad struct_size, receive, users, functions, a callback or info with a host;
 *  TREADLE_E_RANGE for too long a label, or if this process's port of the name has 32,767 references;
 *  TREADLE_E_NOT_SUPPORTED if the owner cannot be distinguished from users that the process's user namespace does not map;
 *  TREADLE_E_DEADLOCK as treadle_message_port_create_local; TREADLE_E_CLOSED if the host is quiet or the scope is
 *  closed; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM; TREADLE_E_SYSTEM, with os_errno: EAGAIN if the other side's queue of
 *  connections stays full, or too many descriptors of another user wait to be closed. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_create_remote(const char *name, const treadle_message_port_context *context,
                                                              treadle_message_port *out_port);

/** True for a port that sends to a name (MSG-3).
 *  [any] Since 1.0. */
TREADLE_API bool treadle_message_port_is_remote(treadle_message_port port);

/** Writes a port's name: at most capacity bytes, NUL included, into buffer (NULL with capacity 0 asks for the length); stores
 *  the full length, without NUL: 0 for none.
 *  [any] Errors: TREADLE_E_ARG for NULL. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_get_name(treadle_message_port port, char *buffer, size_t capacity,
                                                          size_t *out_length);

/** Sets a local port's first or a new name. It stays in its loops. Remote ports of the old name become invalid, as at the
 *  port's end. TREADLE_IGNORED if the port already has the name (MSG-2).
 *  [any] Errors, with the port unchanged: TREADLE_E_ARG for a NULL or empty name, or one that is not UTF-8; TREADLE_E_EXISTS if
 *  another port serves it; TREADLE_E_STATE for a remote or invalid port; TREADLE_E_NOMEM; TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_set_name(treadle_message_port port, const char *name);

/** Replaces the context's `invalidated`; NULL: none. If the port is already invalid, and no such callback was called, this one
 *  is called here (MSG-7).
 *  [any] Errors: TREADLE_E_STATE for a port whose events are a host's. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_set_invalidated(treadle_message_port port,
                                                                treadle_message_port_invalidated_fn invalidated);

/** Checks whether a port can be used now. For a remote port it checks whether the other side still exists, without waiting for
 *  a loop to detect it, and invalidates the port if not. treadle_is_valid does not check, but returns the known state.
 *  [any] Errors: TREADLE_E_STATE if the port is invalid, or has become invalid here. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_check(treadle_message_port port);

/** Sends a message, and waits only for room: TREADLE_OK means that the message is in the other side's queue (MSG-6). The caller
 *  may then free data, which may be NULL with size 0. Messages of one thread arrive in the order in which they were sent.
 *  There is room for a message of more than 64 KiB, which goes as a file, once the other side has accepted the connection.
 *  timeout_ns: limits the wait for room, which runs no loop: 0 or less does not wait; TREADLE_FOREVER sets no limit.
 *  [any] Errors: TREADLE_E_TIMEOUT if there was no room in time; TREADLE_E_STATE for a local or invalid port; TREADLE_E_CLOSED
 *  if the other side has ended; TREADLE_E_RANGE for more than TREADLE_MESSAGE_PORT_MOST; TREADLE_E_ARG for NULL data of a size;
 *  TREADLE_E_NOMEM; TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_send(treadle_message_port port, int32_t id, const void *data, size_t size,
                                                     int64_t timeout_ns);

/** Sends a message, and waits for its reply. During the wait the calling thread's loop runs in mode, and serves the mode's
 *  other items. The wait ends with the reply, its timeout or the other side's end; stop requests do not end it. A late reply is
 *  dropped (MSG-6). A port that this thread's loop serves itself replies only if it is in mode. reply: called with the reply;
 *  NULL: the reply is dropped. send_timeout_ns: as in treadle_message_port_send. reply_timeout_ns: counts from the sending; 0
 *  or less makes one pass; TREADLE_FOREVER sets no limit. A close of the port on the calling thread meanwhile, also in reply, is
 *  one from inside of its callbacks (treadle_close).
 *  [any] Errors: TREADLE_E_TIMEOUT if there was no room in time, with nothing sent; TREADLE_E_NO_REPLY if the reply did not
 *  arrive in time; TREADLE_E_CLOSED if the other side has ended, its thread ended before it replied, or it could not send the
 *  reply; TREADLE_E_CALLBACK if a host's callback did not complete meanwhile; TREADLE_E_ARG for a NULL mode, or that of the common modes; the others of
 *  treadle_message_port_send. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_request(treadle_message_port port, int32_t id, const void *data, size_t size,
                                                        int64_t send_timeout_ns, int64_t reply_timeout_ns, const char *mode,
                                                        treadle_message_port_reply_fn reply, void *info);

/** Replies to the message whose callback is running on the calling thread; call: the message's member of that name. This never
 *  waits: if the sender has no room, or as many files of the user's processes are on their way as the system allows, the reply is
 *  kept until there is room. Until then no other message of that sender is received.
 *  TREADLE_IGNORED if the sender does not wait for a reply, or has ended (MSG-5).
 *  [any] Errors: TREADLE_E_NOT_FOUND if call is not that of a callback that runs on this thread; TREADLE_E_STATE if it was
 *  replied to already;
 *  TREADLE_E_RANGE for more than TREADLE_MESSAGE_PORT_MOST; TREADLE_E_ARG for NULL data of a size; TREADLE_E_NOMEM;
 *  TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_reply(uint64_t call, const void *data, size_t size);

/** A value of treadle_port_call. Since 1.0. */
typedef struct treadle_port_value {
    void *bytes; /* the value; for a pointer argument, the memory that it points to: NULL with size 0 passes NULL */
    size_t size; /* of the signature's type; of the memory that a pointer points to; of a string with its NUL */
} treadle_port_value;

/** Calls a function that the other side has exported by name (treadle_port_function), with these arguments, and waits for its
 *  result, as treadle_message_port_request waits for a reply. The signature must be the exporter's, except for names and frame
 *  offsets. Arguments may be numbers, booleans, structs and arrays of those, and pointers that are qualified as O (the memory is
 *  copied to the callee), N (and copied back) or o (only copied back; zeros at the call), "O*" and "N*" as C strings. The callee
 *  gets the address of a copy, aligned to 16, until it returns. All other pointers are refused, function pointers and closures
 *  included, and so are variadic arguments. V has no effect. Padding in structs is sent as zeros. The o arguments of a call
 *  have 16 MiB together at most.
 *  result: result_size bytes, the size of the signature's result; NULL drops it. The result and the arguments are written only
 *  with TREADLE_OK. timeout_ns: limits the wait for room, and the wait for the reply; TREADLE_FOREVER sets no limit. mode: as in
 *  treadle_message_port_request. After a timeout the function may have been called, or may still be running.
 *  [any] Errors, with the function not called: TREADLE_E_NOT_FOUND for a name that the other side has not exported;
 *  TREADLE_E_SIGNATURE for a signature that is malformed, cannot be called in another process, or is not the exporter's;
 *  TREADLE_E_RANGE for a name of 0 or
 *  more than 255 bytes, another number of arguments, a size that is not the type's, or too much; TREADLE_E_ARG for a NULL name,
 *  arguments or mode, a string without its NUL, a truth value above 1. TREADLE_E_CLOSED also if the function has ended its
 *  thread, or the other side's reply is malformed, which invalidates the port. The others of treadle_message_port_request.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_port_call(treadle_message_port port, const char *name, const char *signature,
                                             const treadle_port_value *arguments, size_t argument_count, void *result,
                                             size_t result_size, int64_t timeout_ns, const char *mode);

/* treadle_message_port_retain and the other functions of object.h, typed for message ports. */
TREADLE_TYPED_ITEM(message_port)

TREADLE_END_DECLS
#endif
