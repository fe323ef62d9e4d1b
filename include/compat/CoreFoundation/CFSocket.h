/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFSocket.h: sockets that a run loop watches, in its own kernel wait: no helper thread, no limit of 1,024.
 *
 * Most functions return nothing. Refusals, a closed descriptor or a second source for one in a mode, are reported
 * with TREADLE_DEBUG set in the environment: one line on standard error for an object, which names the function, the
 * descriptor and the status. */
#ifndef CF_COMPAT_CFSOCKET_H
#define CF_COMPAT_CFSOCKET_H

#include "CFData.h"
#include "CFRunLoop.h"

CF_EXTERN_C_BEGIN

typedef struct __CFSocket *CFSocketRef;
/** A descriptor. */
typedef int CFSocketNativeHandle;

/** The result of a request (SOCK-7). */
typedef CFIndex CFSocketError;
enum { kCFSocketSuccess = 0, kCFSocketError = -1, kCFSocketTimeout = -2 };
/** Kinds of callbacks; of Read, Accept and Data a socket has one at most (SOCK-2).
 *
 *  Connect is for stream sockets that do not accept, once for a socket: when the connection is there, which may have been
 *  so from the beginning, or has failed. A descriptor that does not connect, such as a pipe, has no Connect, even if it is created with it.
 *  A stream socket that was never connected counts as finished; give it to CFSocketCreateWithNative when its connect has
 *  begun, or let CFSocketCreate make it (SOCK-12). */
typedef CFOptionFlags CFSocketCallBackType;
enum {
    kCFSocketNoCallBack = 0,
    kCFSocketReadCallBack = 1,
    kCFSocketAcceptCallBack = 2,
    kCFSocketDataCallBack = 3,
    kCFSocketConnectCallBack = 4,
    kCFSocketWriteCallBack = 8
};
/** Flags: which kinds are enabled again after each call, once it has returned, and what invalidation does (SOCK-2).
 *  SO_ERROR is only read to pass Connect its error; if Connect is disabled, or there is none, Write is called, and
 *  the error is left (SOCK-12). */
enum {
    kCFSocketAutomaticallyReenableReadCallBack = 1,
    kCFSocketAutomaticallyReenableAcceptCallBack = 2,
    kCFSocketAutomaticallyReenableDataCallBack = 3,
    kCFSocketAutomaticallyReenableWriteCallBack = 8,
    kCFSocketLeaveErrors = 64, /* Connect is called without its error, which the program reads as SO_ERROR, and Write after it */
    kCFSocketCloseOnInvalidate = 128
};

/** How to make a socket and where to bind or connect it. address: a struct sockaddr. */
typedef struct {
    int32_t protocolFamily;
    int32_t socketType;
    int32_t protocol;
    CFDataRef address;
} CFSocketSignature;

/** [callback] on the loop's thread. data: for Read and Write NULL; for Accept a pointer to the new
 *  CFSocketNativeHandle, which is the callback's; for Data a CFDataRef, of length 0 at the end; for Connect NULL, or
 *  a pointer to the 32-bit errno. address: the peer's, for Accept and Data; empty if it has none. Both live until the
 *  return (SOCK-3). */
typedef void (*CFSocketCallBack)(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info);
typedef struct {
    CFIndex version; /* 0 */
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFSocketContext;

CF_EXPORT CFTypeID CFSocketGetTypeID(void);
/** A new socket. A family, type or protocol of 0 or less means TCP over IPv4. */
CF_EXPORT CFSocketRef CFSocketCreate(CFAllocatorRef allocator, int32_t protocolFamily, int32_t socketType, int32_t protocol,
                                     CFOptionFlags callBackTypes, CFSocketCallBack callout, const CFSocketContext *context);
/** A socket for a descriptor; if there is one already, that one, and the other arguments have no effect (SOCK-1).
 *  callBackTypes may have flags from kCFSocketLeaveErrors on, too. */
CF_EXPORT CFSocketRef CFSocketCreateWithNative(CFAllocatorRef allocator, CFSocketNativeHandle sock,
                                               CFOptionFlags callBackTypes, CFSocketCallBack callout,
                                               const CFSocketContext *context);
/** A new socket, bound to the signature's address; NULL if that fails. */
CF_EXPORT CFSocketRef CFSocketCreateWithSocketSignature(CFAllocatorRef allocator, const CFSocketSignature *signature,
                                                        CFOptionFlags callBackTypes, CFSocketCallBack callout,
                                                        const CFSocketContext *context);
/** A new socket, connected to the signature's address as by CFSocketConnectToAddress; NULL if that fails. */
CF_EXPORT CFSocketRef CFSocketCreateConnectedToSocketSignature(CFAllocatorRef allocator, const CFSocketSignature *signature,
                                                               CFOptionFlags callBackTypes, CFSocketCallBack callout,
                                                               const CFSocketContext *context, CFTimeInterval timeout);

/** Binds, and listens unless it is a datagram socket (SOCK-11). */
CF_EXPORT CFSocketError CFSocketSetAddress(CFSocketRef s, CFDataRef address);
/** Connects. timeout in seconds: 0 or more waits, 0 for as long as the system does; less than 0 returns at once, and
 *  the Connect callback tells; kCFSocketError then means that the connect could not begin, and no callback is called (SOCK-7). */
CF_EXPORT CFSocketError CFSocketConnectToAddress(CFSocketRef s, CFDataRef address, CFTimeInterval timeout);
/** Ends the socket and its source, releases the context, and closes the descriptor if the flag is set (SOCK-9). */
CF_EXPORT void CFSocketInvalidate(CFSocketRef s);
CF_EXPORT unsigned char CFSocketIsValid(CFSocketRef s);
/** The own and the peer's address; the caller owns them. NULL if there is none. */
CF_EXPORT CFDataRef CFSocketCopyAddress(CFSocketRef s);
CF_EXPORT CFDataRef CFSocketCopyPeerAddress(CFSocketRef s);
CF_EXPORT void CFSocketGetContext(CFSocketRef s, CFSocketContext *context);
/** The descriptor; -1 when invalid. */
CF_EXPORT CFSocketNativeHandle CFSocketGetNative(CFSocketRef s);
/** The socket's source, which the caller owns; always the same while that is valid (SOCK-8). */
CF_EXPORT CFRunLoopSourceRef CFSocketCreateRunLoopSource(CFAllocatorRef allocator, CFSocketRef s, CFIndex order);
CF_EXPORT CFOptionFlags CFSocketGetSocketFlags(CFSocketRef s);
CF_EXPORT void CFSocketSetSocketFlags(CFSocketRef s, CFOptionFlags flags);
/** Kinds that the socket does not have are left out. On the loop's own thread this is in force when it returns. Without
 *  effect while the source is in no mode: every kind is enabled when it comes into its first one (SOCK-7, SOCK-10). */
CF_EXPORT void CFSocketDisableCallBacks(CFSocketRef s, CFOptionFlags callBackTypes);
CF_EXPORT void CFSocketEnableCallBacks(CFSocketRef s, CFOptionFlags callBackTypes);
/** Sends all of the data, waiting for room: for so many seconds, or without limit if the timeout is 0 or less. address: NULL
 *  for a connected socket. No data is an error, although a socket for datagrams sends one without bytes. */
CF_EXPORT CFSocketError CFSocketSendData(CFSocketRef s, CFDataRef address, CFDataRef data, CFTimeInterval timeout);

/* The name registry. Linux has no server for it, as Apple's systems have none any more, so nothing is registered or found:
 * the functions return at once what CoreFoundation on Linux returns after it has found no server, and connect to nothing. Use
 * CFMessagePort for names. */
/** kCFSocketTimeout; kCFSocketError if name is no string, or value NULL. */
CF_EXPORT CFSocketError CFSocketRegisterValue(const CFSocketSignature *nameServerSignature, CFTimeInterval timeout,
                                              CFStringRef name, CFPropertyListRef value);
/** kCFSocketTimeout; kCFSocketError if name is no string. *value and *nameServerAddress stay as they are. */
CF_EXPORT CFSocketError CFSocketCopyRegisteredValue(const CFSocketSignature *nameServerSignature, CFTimeInterval timeout,
                                                    CFStringRef name, CFPropertyListRef *value, CFDataRef *nameServerAddress);
/** kCFSocketTimeout; kCFSocketError if name is no string, or signature NULL. */
CF_EXPORT CFSocketError CFSocketRegisterSocketSignature(const CFSocketSignature *nameServerSignature, CFTimeInterval timeout,
                                                        CFStringRef name, const CFSocketSignature *signature);
/** kCFSocketError. *signature and *nameServerAddress stay as they are. */
CF_EXPORT CFSocketError CFSocketCopyRegisteredSocketSignature(const CFSocketSignature *nameServerSignature,
                                                              CFTimeInterval timeout, CFStringRef name,
                                                              CFSocketSignature *signature, CFDataRef *nameServerAddress);
/** kCFSocketTimeout; kCFSocketError if name is no string. */
CF_EXPORT CFSocketError CFSocketUnregister(const CFSocketSignature *nameServerSignature, CFTimeInterval timeout,
                                           CFStringRef name);
/** The port of the process's default server, 2454 at first. */
CF_EXPORT void CFSocketSetDefaultNameRegistryPortNumber(uint16_t port);
CF_EXPORT uint16_t CFSocketGetDefaultNameRegistryPortNumber(void);
/** The words of a server's requests and replies. */
CF_EXPORT const CFStringRef kCFSocketCommandKey;
CF_EXPORT const CFStringRef kCFSocketNameKey;
CF_EXPORT const CFStringRef kCFSocketValueKey;
CF_EXPORT const CFStringRef kCFSocketResultKey;
CF_EXPORT const CFStringRef kCFSocketErrorKey;
CF_EXPORT const CFStringRef kCFSocketRegisterCommand;
CF_EXPORT const CFStringRef kCFSocketRetrieveCommand;

CF_EXTERN_C_END
#endif
