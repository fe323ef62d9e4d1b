/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFFileDescriptor.h: descriptors that a run loop watches, one call for each arming. Refusals are reported as for
 * sockets: see CFSocket.h. */
#ifndef CF_COMPAT_CFFILEDESCRIPTOR_H
#define CF_COMPAT_CFFILEDESCRIPTOR_H

#include "CFRunLoop.h"

CF_EXTERN_C_BEGIN

typedef int CFFileDescriptorNativeDescriptor;
typedef struct __CFFileDescriptor *CFFileDescriptorRef;
/** Kinds of callbacks. */
enum { kCFFileDescriptorReadCallBack = 1, kCFFileDescriptorWriteCallBack = 2 };
/** [callback] on the loop's thread, with one kind, which is disabled by then (FD-2, FD-4). */
typedef void (*CFFileDescriptorCallBack)(CFFileDescriptorRef f, CFOptionFlags callBackTypes, void *info);
typedef struct {
    CFIndex version; /* 0 */
    void *info;
    void *(*retain)(void *info);
    void (*release)(void *info);
    CFStringRef (*copyDescription)(void *info);
} CFFileDescriptorContext;

CF_EXPORT CFTypeID CFFileDescriptorGetTypeID(void);
/** An object for an open descriptor, with no kind enabled (FD-1); NULL for one that is not open, or no callout. */
CF_EXPORT CFFileDescriptorRef CFFileDescriptorCreate(CFAllocatorRef allocator, CFFileDescriptorNativeDescriptor fd,
                                                     unsigned char closeOnInvalidate, CFFileDescriptorCallBack callout,
                                                     const CFFileDescriptorContext *context);
/** The descriptor; -1 when invalid (FD-6). */
CF_EXPORT CFFileDescriptorNativeDescriptor CFFileDescriptorGetNativeDescriptor(CFFileDescriptorRef f);
CF_EXPORT void CFFileDescriptorGetContext(CFFileDescriptorRef f, CFFileDescriptorContext *context);
/** Arms and disarms kinds, at once also in a sleeping loop (FD-2, FD-3). */
CF_EXPORT void CFFileDescriptorEnableCallBacks(CFFileDescriptorRef f, CFOptionFlags callBackTypes);
CF_EXPORT void CFFileDescriptorDisableCallBacks(CFFileDescriptorRef f, CFOptionFlags callBackTypes);
/** Ends the object and its source, releases the context, closes the descriptor if that was asked for (FD-6). */
CF_EXPORT void CFFileDescriptorInvalidate(CFFileDescriptorRef f);
CF_EXPORT unsigned char CFFileDescriptorIsValid(CFFileDescriptorRef f);
/** The object's source, which the caller owns; always the same while that is valid (FD-7). */
CF_EXPORT CFRunLoopSourceRef CFFileDescriptorCreateRunLoopSource(CFAllocatorRef allocator, CFFileDescriptorRef f, CFIndex order);

CF_EXTERN_C_END
#endif
