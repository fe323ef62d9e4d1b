/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The exported constants, and that the structs which Swift sees are those of the public headers. */
#include "CTreadleCF.h"

#include <CoreFoundation/CoreFoundation.h>
#include <mach/mach.h>

const CFAllocatorRef kCFAllocatorDefault = NULL;
const CFAllocatorRef kCFAllocatorSystemDefault = (CFAllocatorRef)TREADLE_CF_STATIC(TREADLE_CF_ALLOCATOR_SYSTEM);
const CFAllocatorRef kCFAllocatorMalloc = (CFAllocatorRef)TREADLE_CF_STATIC(TREADLE_CF_ALLOCATOR_MALLOC);
const CFAllocatorRef kCFAllocatorMallocZone = (CFAllocatorRef)TREADLE_CF_STATIC(TREADLE_CF_ALLOCATOR_MALLOC_ZONE);
const CFAllocatorRef kCFAllocatorNull = (CFAllocatorRef)TREADLE_CF_STATIC(TREADLE_CF_ALLOCATOR_NULL);
const CFNullRef kCFNull = (CFNullRef)TREADLE_CF_STATIC(TREADLE_CF_NULL);
const CFBooleanRef kCFBooleanTrue = (CFBooleanRef)TREADLE_CF_STATIC(TREADLE_CF_TRUE);
const CFBooleanRef kCFBooleanFalse = (CFBooleanRef)TREADLE_CF_STATIC(TREADLE_CF_FALSE);
const CFRunLoopMode kCFRunLoopDefaultMode = (CFRunLoopMode)TREADLE_CF_STATIC(TREADLE_CF_DEFAULT_MODE);
const CFRunLoopMode kCFRunLoopCommonModes = (CFRunLoopMode)TREADLE_CF_STATIC(TREADLE_CF_COMMON_MODES);
const CFStringRef kCFSocketCommandKey = (CFStringRef)TREADLE_CF_STATIC(TREADLE_CF_SOCKET_COMMAND);
const CFStringRef kCFSocketNameKey = (CFStringRef)TREADLE_CF_STATIC(TREADLE_CF_SOCKET_NAME);
const CFStringRef kCFSocketValueKey = (CFStringRef)TREADLE_CF_STATIC(TREADLE_CF_SOCKET_VALUE);
const CFStringRef kCFSocketResultKey = (CFStringRef)TREADLE_CF_STATIC(TREADLE_CF_SOCKET_RESULT);
const CFStringRef kCFSocketErrorKey = (CFStringRef)TREADLE_CF_STATIC(TREADLE_CF_SOCKET_ERROR);
const CFStringRef kCFSocketRegisterCommand = (CFStringRef)TREADLE_CF_STATIC(TREADLE_CF_SOCKET_REGISTER);
const CFStringRef kCFSocketRetrieveCommand = (CFStringRef)TREADLE_CF_STATIC(TREADLE_CF_SOCKET_RETRIEVE);
const CFTimeInterval kCFAbsoluteTimeIntervalSince1970 = 978307200.0;
const CFTimeInterval kCFAbsoluteTimeIntervalSince1904 = 3061152000.0;

static const void *retain(CFAllocatorRef allocator, const void *value) {
    (void)allocator;
    return CFRetain(value);
}
static void release(CFAllocatorRef allocator, const void *value) {
    (void)allocator;
    CFRelease(value);
}
static const void *copy_string(CFAllocatorRef allocator, const void *value) { return CFStringCreateCopy(allocator, value); }

const CFArrayCallBacks kCFTypeArrayCallBacks = {0, retain, release, CFCopyDescription, CFEqual};
const CFSetCallBacks kCFTypeSetCallBacks = {0, retain, release, CFCopyDescription, CFEqual, CFHash};
const CFSetCallBacks kCFCopyStringSetCallBacks = {0, copy_string, release, CFCopyDescription, CFEqual, CFHash};
const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks = {0, retain, release, CFCopyDescription, CFEqual, CFHash};
const CFDictionaryKeyCallBacks kCFCopyStringDictionaryKeyCallBacks = {0, copy_string, release, CFCopyDescription, CFEqual, CFHash};
const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks = {0, retain, release, CFCopyDescription, CFEqual};

#define SAME(ours, theirs, member, their_member)                                             \
    _Static_assert(offsetof(struct ours, member) == offsetof(theirs, their_member), #their_member)
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs)
SAME_SIZE(treadle_cf_context, CFRunLoopTimerContext);
SAME(treadle_cf_context, CFRunLoopTimerContext, describe, copyDescription);
SAME_SIZE(treadle_cf_context, CFRunLoopObserverContext);
SAME(treadle_cf_context, CFRunLoopObserverContext, release, release);
SAME_SIZE(treadle_cf_source_context, CFRunLoopSourceContext);
SAME(treadle_cf_source_context, CFRunLoopSourceContext, schedule, schedule);
SAME(treadle_cf_source_context, CFRunLoopSourceContext, perform, perform);
SAME_SIZE(treadle_cf_port_context, CFRunLoopSourceContext1);
SAME(treadle_cf_port_context, CFRunLoopSourceContext1, get_port, getPort);
SAME(treadle_cf_port_context, CFRunLoopSourceContext1, perform, perform);
SAME_SIZE(treadle_cf_value_callbacks, CFArrayCallBacks);
SAME(treadle_cf_value_callbacks, CFArrayCallBacks, equal, equal);
SAME_SIZE(treadle_cf_value_callbacks, CFDictionaryValueCallBacks);
SAME_SIZE(treadle_cf_key_callbacks, CFDictionaryKeyCallBacks);
SAME(treadle_cf_key_callbacks, CFDictionaryKeyCallBacks, hash, hash);
SAME_SIZE(treadle_cf_key_callbacks, CFSetCallBacks);
SAME(treadle_cf_key_callbacks, CFSetCallBacks, hash, hash);
SAME_SIZE(treadle_cf_range, CFRange);
SAME_SIZE(treadle_cf_context, CFSocketContext);
SAME_SIZE(treadle_cf_context, CFFileDescriptorContext);
SAME_SIZE(treadle_cf_signature, CFSocketSignature);
SAME(treadle_cf_signature, CFSocketSignature, address, address);
SAME_SIZE(treadle_cf_context, CFMessagePortContext);
SAME_SIZE(treadle_cf_context, CFMachPortContext);
SAME_SIZE(treadle_cf_mach_header, mach_msg_header_t);
SAME(treadle_cf_mach_header, mach_msg_header_t, remote_port, msgh_remote_port);
SAME(treadle_cf_mach_header, mach_msg_header_t, local_port, msgh_local_port);
SAME(treadle_cf_mach_header, mach_msg_header_t, id, msgh_id);
