/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port.h: message ports: messages and their replies, under a name, between threads and processes of one user. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_MESSAGE_PORT_H
#define TREADLE_MESSAGE_PORT_H

#include "descriptor.h"

TREADLE_BEGIN_DECLS

/** A message port: the end that serves a name, or one that sends to it. It is a descriptor source, and every function that
 *  takes one of these takes a message port: treadle_loop_add, treadle_invalidate, treadle_describe, also
 *  treadle_descriptor_set_events, by which it pauses; TREADLE_KIND_DESCRIPTOR is its kind. Since 1.0. */
typedef struct treadle_message_port_s *treadle_message_port;

/** Bits of a message's flags. Since 1.0. */
enum {
    TREADLE_MESSAGE_PORT_WANTS_REPLY = 1 /* the sender waits for a reply, or for the end of the callback without one */
};

/** A message that has come in. Lives until the callback returns. Since 1.0. */
typedef struct treadle_message_port_message {
    size_t struct_size;  /* of the library that fills it in; later versions only append */
    const void *data;    /* the bytes, of which nobody can change one; NULL without any */
    size_t size;
    uint64_t call;       /* what treadle_message_port_reply knows this message by */
    int32_t id;          /* as the sender gave it */
    uint32_t flags;      /* TREADLE_MESSAGE_PORT_... */
    int32_t sender_process; /* the kernel's id of the process that made the remote port */
    uint32_t sender_user;   /* and its user's */
} treadle_message_port_message;

/** A message has come. The callback may reply to it, once, by treadle_message_port_reply; the sender gets an empty reply when
 *  it returns without. message and its data live until then (MSG-5). Never two calls for one message; one a pass.
 *  [callback] on the thread of a loop that the port is in. Since 1.0. */
typedef void (*treadle_message_port_receive_fn)(treadle_message_port port, const treadle_message_port_message *message, void *info);
/** The port has become invalid: it is in no loop any more, and its name is free. Called once. Of a remote port: it was
 *  invalidated, or the other side has gone (MSG-7).
 *  [callback] on the thread that invalidates it, or finds out. Since 1.0. */
typedef void (*treadle_message_port_invalidated_fn)(treadle_message_port port, void *info);
/** A reply has come. data lives until the callback returns; NULL, and size 0, for an empty one.
 *  [callback] on the thread that waits in treadle_message_port_request, before that returns. Since 1.0. */
typedef void (*treadle_message_port_reply_fn)(const void *data, size_t size, void *info);

/** The most bytes of a message, and of a reply (MSG-6). Since 1.0. */
#define TREADLE_MESSAGE_PORT_MOST ((size_t)0x60000000)
/** The most bytes of a name; what is longer is cut there, at the end of a character (MSG-1). Since 1.0. */
enum { TREADLE_MESSAGE_PORT_NAME = 255 };

/** A function that the senders to a local port may call by treadle_port_call.
 *  [callback] on the thread of a loop that the port is in, one a pass, in its turn among the messages. Since 1.0. */
typedef struct treadle_port_function {
    const char *name;      /* UTF-8 of 1 to 255 bytes, copied; the first one of a name counts */
    const char *signature; /* its type, as treadle_signature_parse reads it: see treadle_port_call */
    void (*code)(void);    /* the function; cast its pointer */
} treadle_port_function;

/** What a message port is made of. Every member but struct_size may be zero. Since 1.0. */
typedef struct treadle_message_port_context {
    size_t struct_size; /* sizeof(treadle_message_port_context) */
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_message_port_receive_fn receive; /* of a local port; NULL: messages are dropped, with empty replies (MSG-5) */
    treadle_message_port_invalidated_fn invalidated;
    const uint32_t *users; /* of a local port: other users who may send to it, copied; NULL: nobody but the port's own */
    size_t user_count;     /* at most 1,024 */
    uint32_t owner;        /* of a remote port: the user whose name is meant, if has_owner is 1; else the process's own */
    uint32_t has_owner;    /* 0 or 1 */
    const char *label;     /* NULL, or what reports call it: UTF-8 of at most 255 bytes, copied */
    treadle_host host;     /* its events, TREADLE_EVENT_MESSAGE_PORT, take the place of the callbacks; it is told of signals that
                            * end a sleep of treadle_message_port_request, as in treadle_host_run */
    uint64_t token;        /* what the host's events carry; 0 without a host */
    treadle_scope scope;   /* what is made belongs to it; NULL: to the one that the thread has entered (scope.h) */
    const treadle_port_function *functions; /* of a local port: what senders may call; NULL: nothing */
    size_t function_count; /* at most 1,024 */
} treadle_message_port_context;

/** Makes a port that serves a name, which is the user's: every process of the user, in the same network namespace, finds it by
 *  that. Add it to a mode of a loop, as any source: its messages are received where that runs (MSG-4). Any number of senders,
 *  of any number of processes, may be connected. With a NULL name it has none, and nobody reaches it
 *  (treadle_message_port_set_name).
 *  TREADLE_IGNORED if a local port of this process has the name: *out_port is that one, with a reference more, and nothing of
 *  context was taken (MSG-1).
 *  [any] Errors: TREADLE_E_ARG for NULL, a bad struct_size, an empty name or one that is not UTF-8, owner or has_owner, what a
 *  host's token takes the place of, a function without name or code; TREADLE_E_SIGNATURE for one whose signature is wrong, or
 *  does not travel; TREADLE_E_RANGE for too many users or functions, or too long a label or name; TREADLE_E_EXISTS if another
 *  process, of whatever user, has the name; TREADLE_E_CLOSED if the host is quiet; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM;
 *  TREADLE_E_SYSTEM, with os_errno. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_create_local(const char *name, const treadle_message_port_context *context,
                                                             treadle_message_port *out_port);

/** Makes a port that sends to a name, and connects it. The other side is checked: it must run as the name's user. A port of the
 *  same name, and the same owner, that this process has and that is valid is returned again, with a reference more and
 *  TREADLE_IGNORED; nothing of context was taken then (MSG-3). context: NULL for none. It need not be in any loop; in one, it
 *  finds out by itself that the other side has gone.
 *  [any] Errors: TREADLE_E_NOT_FOUND if nobody serves the name, or not the user whose it is, or one who refuses this user (who
 *  may find that out later only, as the other side's end); TREADLE_E_ARG for a NULL or empty name, or one that is not UTF-8, a
 *  bad struct_size, receive, users, functions, what a host's token takes the place of; TREADLE_E_RANGE for too long a label;
 *  TREADLE_E_CLOSED if the host is quiet; TREADLE_E_TOO_NEW; TREADLE_E_NOMEM; TREADLE_E_SYSTEM, with os_errno: EAGAIN while
 *  more want to connect than the other side takes in. Since 1.0. */
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

/** Gives a local port another name, or its first one. It stays in its loops. Remote ports by the old name become invalid, as
 *  when the port goes. TREADLE_IGNORED if it is the port's name already (MSG-2).
 *  [any] Errors, with the port as it was: TREADLE_E_ARG for a NULL or empty name, or one that is not UTF-8; TREADLE_E_EXISTS if
 *  it is taken; TREADLE_E_STATE for a remote or invalid port; TREADLE_E_NOMEM; TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_set_name(treadle_message_port port, const char *name);

/** Puts a callback in the place of the context's `invalidated`; NULL: none. If the port is invalid already, and none was
 *  called, this one is called here (MSG-7).
 *  [any] Errors: TREADLE_E_STATE for a port whose events are a host's. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_set_invalidated(treadle_message_port port,
                                                                treadle_message_port_invalidated_fn invalidated);

/** Looks whether a port can be used now: of a remote one, whether the other side is still there, without waiting for a loop to
 *  find out. It becomes invalid here if not. treadle_is_valid tells what is known.
 *  [any] Errors: TREADLE_E_STATE if it is invalid, or was found to be. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_check(treadle_message_port port);

/** Sends a message, and waits for nothing but room: OK says that the other side's queue has it (MSG-6). data is not needed any
 *  more then, and is NULL or not with size 0. Messages of one thread arrive in the order in which they were sent.
 *  timeout_ns: how long to wait for room, without running any loop: 0 or less tries once; TREADLE_FOREVER.
 *  [any] Errors: TREADLE_E_TIMEOUT if there was no room in time; TREADLE_E_STATE for a local or invalid port; TREADLE_E_CLOSED
 *  if the other side has gone by now; TREADLE_E_RANGE for more than TREADLE_MESSAGE_PORT_MOST; TREADLE_E_ARG for NULL data of a
 *  size; TREADLE_E_NOMEM; TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_send(treadle_message_port port, int32_t id, const void *data, size_t size,
                                                     int64_t timeout_ns);

/** Sends a message, and waits for its reply, for which the calling thread's loop is run in mode: what else is in it is served
 *  meanwhile. The wait ends with the reply, and not before, whatever stops are asked for, but for its timeout and the other
 *  side's end. A reply that comes later is dropped (MSG-6). A port that this thread's loop serves itself answers only if it is
 *  in mode.
 *  reply: gets the reply; NULL: nobody wants to know it. send_timeout_ns: as in treadle_message_port_send. reply_timeout_ns:
 *  from the sending on; 0 or less looks once; TREADLE_FOREVER.
 *  [any] Errors: TREADLE_E_TIMEOUT if there was no room in time, with nothing sent; TREADLE_E_NO_REPLY if the reply did not
 *  come in time; TREADLE_E_CLOSED if the other side has gone, or has ended its thread in place of an answer; TREADLE_E_CALLBACK
 *  if a host's callback did not complete meanwhile; TREADLE_E_ARG for a NULL mode, or that of the common modes; the others of
 *  treadle_message_port_send. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_request(treadle_message_port port, int32_t id, const void *data, size_t size,
                                                        int64_t send_timeout_ns, int64_t reply_timeout_ns, const char *mode,
                                                        treadle_message_port_reply_fn reply, void *info);

/** Replies to the message whose callback is running on the calling thread; call: its member of that name. It never waits: a
 *  reply for which the sender has no room lies here until it has, and no other message of that sender is received meanwhile.
 *  TREADLE_IGNORED if the sender wants no reply, or has gone (MSG-5).
 *  [any] Errors: TREADLE_E_NOT_FOUND for the call of no callback that runs on this thread; TREADLE_E_STATE if it has its reply;
 *  TREADLE_E_RANGE for more than TREADLE_MESSAGE_PORT_MOST; TREADLE_E_ARG for NULL data of a size; TREADLE_E_NOMEM;
 *  TREADLE_E_SYSTEM. Since 1.0. */
TREADLE_API treadle_status treadle_message_port_reply(uint64_t call, const void *data, size_t size);

/** A value of treadle_port_call. Since 1.0. */
typedef struct treadle_port_value {
    void *bytes; /* the value; of a pointer argument, what it points to: NULL with size 0 passes NULL */
    size_t size; /* of the signature's type; of what a pointer points to, of a string with its NUL */
} treadle_port_value;

/** Calls a function that the other side has exported by name (treadle_port_function), with these arguments, and waits for what it
 *  returns, as treadle_message_port_request waits for a reply. The signature must be the exporter's, but for names and frame offsets.
 *  What travels is what means the same in both processes: numbers, truth values, structs and arrays of those, and pointers as
 *  arguments that are qualified as O (what it points to is copied to the callee), N (and back) or o (it is only copied back, from
 *  zeros), "O*" and "N*" as C strings. The callee gets the address of a copy, aligned to 16, until it returns. Other pointers,
 *  function pointers, closures among them, and variadic arguments are refused; V changes nothing. Padding in structs is sent as
 *  zeros. The o arguments of a call have 16 MiB together at most.
 *  result: gets result_size bytes, the size of the signature's result; NULL drops it. It and the arguments are written only with
 *  TREADLE_OK. timeout_ns: of the wait for room, and of that for the answer; TREADLE_FOREVER. mode: as in
 *  treadle_message_port_request. If the time passes, the function may have been called, or still be.
 *  [any] Errors, with the function not called: TREADLE_E_NOT_FOUND for a name that the other side has not exported;
 *  TREADLE_E_SIGNATURE for one that cannot be read, does not travel, or is not the exporter's; TREADLE_E_RANGE for a name of 0 or
 *  more than 255 bytes, another number of arguments, a size that is not the type's, or too much; TREADLE_E_ARG for a NULL name,
 *  arguments or mode, a string without its NUL, a truth value above 1. TREADLE_E_CLOSED also if the function has ended its
 *  thread, or the other side's answer is none, with which the port becomes invalid. The others of treadle_message_port_request.
 *  Since 1.0. */
TREADLE_API treadle_status treadle_port_call(treadle_message_port port, const char *name, const char *signature,
                                             const treadle_port_value *arguments, size_t argument_count, void *result,
                                             size_t result_size, int64_t timeout_ns, const char *mode);

/* treadle_message_port_retain and the other verbs of object.h, for a message port alone. */
TREADLE_TYPED_ITEM(message_port)

TREADLE_END_DECLS
#endif
