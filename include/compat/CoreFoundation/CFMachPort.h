/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFMachPort.h: ports inside of a process. A port is a queue of at most 1,024 messages, which any thread fills by mach_msg
 * (mach/message.h) and a run loop performs. No other process can have one: the kernel knows nothing of them. */
#ifndef CF_COMPAT_CFMACHPORT_H
#define CF_COMPAT_CFMACHPORT_H

#include "CFRunLoop.h"
#ifndef CF_OMIT_SYSTEM_NAMES
#include "../mach/port.h"
#endif

CF_EXTERN_C_BEGIN

typedef struct __CFMachPort *CFMachPortRef;

typedef struct {
    CFIndex version; /* 0 */
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFMachPortContext;

/** [callback] on the thread of a loop that has the port's source, for each message. msg: a mach_msg_header_t, with what the
 *  sender put behind it; msgh_local_port is this port, msgh_remote_port the one for an answer, or 0. It is there until the
 *  return. size: its bytes (MPORT-4). */
typedef void (*CFMachPortCallBack)(CFMachPortRef port, void *msg, CFIndex size, void *info);
/** [callback] once, when the port has become invalid, before its info is released (MPORT-4). */
typedef void (*CFMachPortInvalidationCallBack)(CFMachPortRef port, void *info);

CF_EXPORT CFTypeID CFMachPortGetTypeID(void);
/** A new port. *shouldFreeInfo (may be NULL): true if there is none, and context was not taken. */
CF_EXPORT CFMachPortRef CFMachPortCreate(CFAllocatorRef allocator, CFMachPortCallBack callout, CFMachPortContext *context,
                                         unsigned char *shouldFreeInfo);
/** The object of a port that CFMachPortCreate has made: the same one, with *shouldFreeInfo true, and the other arguments have
 *  no effect. NULL for any other number, since there are no other ports (MPORT-4). */
CF_EXPORT CFMachPortRef CFMachPortCreateWithPort(CFAllocatorRef allocator, unsigned int portNum, CFMachPortCallBack callout,
                                                 CFMachPortContext *context, unsigned char *shouldFreeInfo);
/** The port's number, a mach_port_t: what messages are sent to. Never 0. */
CF_EXPORT unsigned int CFMachPortGetPort(CFMachPortRef port);
/** info is NULL once the port is invalid. */
CF_EXPORT void CFMachPortGetContext(CFMachPortRef port, CFMachPortContext *context);
/** Drops the messages that wait, refuses senders, ends the source, calls the callback for that, and releases the info (PORT-2). */
CF_EXPORT void CFMachPortInvalidate(CFMachPortRef port);
CF_EXPORT unsigned char CFMachPortIsValid(CFMachPortRef port);
CF_EXPORT CFMachPortInvalidationCallBack CFMachPortGetInvalidationCallBack(CFMachPortRef port);
/** Sets the callback for the end; NULL: none. If the port is invalid, and none was set, it is called here (MPORT-4). */
CF_EXPORT void CFMachPortSetInvalidationCallBack(CFMachPortRef port, CFMachPortInvalidationCallBack callout);
/** The port's source, which the caller owns: always the same while that is valid. NULL for an invalid port. */
CF_EXPORT CFRunLoopSourceRef CFMachPortCreateRunLoopSource(CFAllocatorRef allocator, CFMachPortRef port, CFIndex order);

/** Called by mach_msg to send: see mach/message.h. */
CF_EXPORT int _CFMachMessageSend(const void *message, int option, unsigned int size, unsigned int milliseconds);

CF_EXTERN_C_END
#endif
