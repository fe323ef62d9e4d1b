/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFMessagePort.h: ports with a name, for requests and their replies between threads and processes of one user.
 *
 * The names are those of Treadle's message ports (treadle/message_port.h), over the same sockets: a program in these names and
 * one in Treadle's own talk to each other. CFMessagePortSetDispatchQueue is not there: it needs libdispatch. */
#ifndef CF_COMPAT_CFMESSAGEPORT_H
#define CF_COMPAT_CFMESSAGEPORT_H

#include "CFData.h"
#include "CFRunLoop.h"

CF_EXTERN_C_BEGIN

typedef struct __CFMessagePort *CFMessagePortRef;

/** The result of CFMessagePortSendRequest (MSG-8). */
enum {
    kCFMessagePortSuccess = 0,
    kCFMessagePortSendTimeout = -1,       /* the other side had no room in time; nothing was sent */
    kCFMessagePortReceiveTimeout = -2,    /* no reply in time */
    kCFMessagePortIsInvalid = -3,         /* the port was invalid before, or is no remote port */
    kCFMessagePortTransportError = -4,    /* too much data, no memory, or another error of the system's */
    kCFMessagePortBecameInvalidError = -5 /* the other side has gone meanwhile */
};

typedef struct {
    CFIndex version; /* 0 */
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFMessagePortContext;

/** [callback] on the thread of a loop that has the port's source, for each message. data: its bytes, of length 0 for a message
 *  without any; they are there until the return, and a data object that is kept longer is empty then. Returns the reply, which
 *  Treadle releases, or NULL. A reply is sent only to a sender that waits for it; one of length 0 arrives as NULL (MSG-5). */
typedef CFDataRef (*CFMessagePortCallBack)(CFMessagePortRef local, int32_t msgid, CFDataRef data, void *info);
/** [callback] once, when a port has become invalid, before its info is released (MSG-7). info: NULL for a remote port. */
typedef void (*CFMessagePortInvalidationCallBack)(CFMessagePortRef ms, void *info);

CF_EXPORT CFTypeID CFMessagePortGetTypeID(void);
/** A port that serves a name, which is the user's; NULL as the name: it cannot be reached until CFMessagePortSetName. If this
 *  process has a local port of that name, returns that one, and the other arguments have no effect. NULL if another process
 *  serves the name, or the name is empty or has a NUL inside. *shouldFreeInfo (may be NULL): true unless a new port has taken
 *  context, whose info is retained once then. A name ends after 255 bytes of UTF-8 (MSG-1). */
CF_EXPORT CFMessagePortRef CFMessagePortCreateLocal(CFAllocatorRef allocator, CFStringRef name, CFMessagePortCallBack callout,
                                                    CFMessagePortContext *context, unsigned char *shouldFreeInfo);
/** A port that sends to a name; NULL if no port of this user serves it. The same object for the same name while it is valid (MSG-3). */
CF_EXPORT CFMessagePortRef CFMessagePortCreateRemote(CFAllocatorRef allocator, CFStringRef name);
CF_EXPORT unsigned char CFMessagePortIsRemote(CFMessagePortRef ms);
/** The name, or NULL for a port without one. It is borrowed, until the next change of the name. */
CF_EXPORT CFStringRef CFMessagePortGetName(CFMessagePortRef ms);
/** Gives a local port another name. False, with nothing changed, if the name is served by another port. Unlike on Apple's
 *  systems the port's source goes on (MSG-2). */
CF_EXPORT unsigned char CFMessagePortSetName(CFMessagePortRef ms, CFStringRef newName);
/** info is NULL once the port is invalid, and for a remote port. */
CF_EXPORT void CFMessagePortGetContext(CFMessagePortRef ms, CFMessagePortContext *context);
/** Frees the name, ends the port's source, calls the callback for that, and releases the info. Senders that wait for a reply
 *  get kCFMessagePortBecameInvalidError (MSG-7). */
CF_EXPORT void CFMessagePortInvalidate(CFMessagePortRef ms);
/** Of a remote port: also looks whether the other side is still there (MSG-7). */
CF_EXPORT unsigned char CFMessagePortIsValid(CFMessagePortRef ms);
CF_EXPORT CFMessagePortInvalidationCallBack CFMessagePortGetInvalidationCallBack(CFMessagePortRef ms);
/** Sets the callback for the end; NULL: none. If the port is invalid it is called here. For a remote port, a thread of
 *  Treadle's watches from now on, and calls it as soon as the other side has gone, whatever the program's loops do (MSG-7). */
CF_EXPORT void CFMessagePortSetInvalidationCallBack(CFMessagePortRef ms, CFMessagePortInvalidationCallBack callout);
/** Sends a message, and waits at most sendTimeout seconds for room, without running a loop. With a NULL replyMode that is all,
 *  and *returnData is left as it is. Otherwise the calling thread's loop is run in replyMode until the reply has come, at most
 *  rcvTimeout seconds; *returnData (may be NULL) is the reply then, which the caller owns, or NULL for an empty one. A time-out
 *  of 0 or less tries once; one of more than 10 days never passes. Returns kCFMessagePortSuccess or another code (MSG-6, MSG-8). */
CF_EXPORT int32_t CFMessagePortSendRequest(CFMessagePortRef remote, int32_t msgid, CFDataRef data, CFTimeInterval sendTimeout,
                                           CFTimeInterval rcvTimeout, CFStringRef replyMode, CFDataRef *returnData);
/** The source of a local port, which the caller owns: always the same while that is valid. order: what CFRunLoopSourceGetOrder
 *  returns. NULL for a remote or invalid port (MSG-4). */
CF_EXPORT CFRunLoopSourceRef CFMessagePortCreateRunLoopSource(CFAllocatorRef allocator, CFMessagePortRef local, CFIndex order);

CF_EXTERN_C_END
#endif
