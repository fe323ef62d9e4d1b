/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFBase.h: the types and the reference counting that every CF object shares.
 *
 * How to read these headers
 *   - Every function is [any]: callable from any thread and from inside every callback. Only CFRunLoopRun and
 *     CFRunLoopRunInMode concern the calling thread's own loop. A mutable container or string is for one
 *     thread at a time. Callback types are [callback]: called by Treadle, with no lock held.
 *   - Create and Copy give a reference that the caller returns with CFRelease; Get borrows (OBJ-2).
 *   - A reference is a number that is looked up, never an address. A NULL, released or foreign reference has no
 *     effect and returns 0, false or NULL. With TREADLE_DEBUG set in the environment, the first such call of
 *     each function writes a line to standard error.
 *   - Allocators are accepted and, but for a no-copy creation, have no effect: objects come from malloc.
 *   - Since 1.0, all of it.
 *
 * CF_OMIT_SYSTEM_NAMES, defined before the first of these headers is included, leaves out the few names
 * outside CF and kCF that code written on Apple's systems expects of every system header. */
#ifndef CF_COMPAT_CFBASE_H
#define CF_COMPAT_CFBASE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CF_EXTERN_C_BEGIN extern "C" {
#define CF_EXTERN_C_END }
#else
#define CF_EXTERN_C_BEGIN
#define CF_EXTERN_C_END
#endif
#define CF_EXPORT extern
#define CF_INLINE static inline
#if defined(__GNUC__)
#define CF_UNUSED_FUNCTION __attribute__((__unused__))
#else
#define CF_UNUSED_FUNCTION
#endif

/* Annotations of Apple's compilers and analysers, which mean nothing here. */
#define CF_ASSUME_NONNULL_BEGIN
#define CF_ASSUME_NONNULL_END
#define CF_IMPLICIT_BRIDGING_ENABLED
#define CF_IMPLICIT_BRIDGING_DISABLED
#define CF_RETURNS_RETAINED
#define CF_RETURNS_NOT_RETAINED
#define CF_RELEASES_ARGUMENT
#define CF_CONSUMED
#define CF_BRIDGED_TYPE(type)
#define CF_BRIDGED_MUTABLE_TYPE(type)
#define CF_AVAILABLE(mac, ios)
#define CF_DEPRECATED(...)
#define CF_NOESCAPE
#define CF_REFINED_FOR_SWIFT
#define CF_SWIFT_NAME(name)
#define CF_ENUM_AVAILABLE(mac, ios)

/* The type of a set of enumerators in front of it: typedef CF_ENUM(CFIndex, CFColour) { ... };
 * C before C23 has no enumerations of a chosen size, so the name stands for the integer type. */
#define CF_COMPAT_ENUM_2(type, name) type name; enum
#define CF_COMPAT_ENUM_1(type) enum
#define CF_COMPAT_ENUM_PICK(first, second, chosen, ...) chosen
#define CF_ENUM(...) CF_COMPAT_ENUM_PICK(__VA_ARGS__, CF_COMPAT_ENUM_2, CF_COMPAT_ENUM_1, )(__VA_ARGS__)
#define CF_OPTIONS(type, name) type name; enum

#ifndef CF_OMIT_SYSTEM_NAMES
typedef unsigned char Boolean;
typedef uint8_t UInt8;
typedef int8_t SInt8;
typedef uint16_t UInt16;
typedef int16_t SInt16;
typedef uint32_t UInt32;
typedef int32_t SInt32;
typedef uint64_t UInt64;
typedef int64_t SInt64;
typedef float Float32;
typedef double Float64;
typedef uint16_t UniChar;
typedef uint32_t UTF32Char;
typedef uint16_t UTF16Char;
typedef uint8_t UTF8Char;
typedef int32_t OSStatus;
typedef int16_t OSErr;
#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif
#ifndef __unused
#define __unused __attribute__((__unused__))
#endif
#ifndef __used
#define __used __attribute__((__used__))
#endif
#ifndef __dead2
#define __dead2 __attribute__((__noreturn__))
#endif
#ifndef __printflike
#define __printflike(format, arguments) __attribute__((__format__(__printf__, format, arguments)))
#endif
#ifndef API_AVAILABLE
#define API_AVAILABLE(...)
#endif
#ifndef API_DEPRECATED
#define API_DEPRECATED(...)
#endif
#endif

CF_EXTERN_C_BEGIN

/** Which type an object has. */
typedef unsigned long CFTypeID;
/** A set of flags. */
typedef unsigned long CFOptionFlags;
/** A hash. */
typedef unsigned long CFHashCode;
/** A count, an index, an order. */
typedef signed long CFIndex;

/** Any object. */
typedef const void *CFTypeRef;
/** A string; CFString.h. */
typedef const struct __CFString *CFStringRef;
/** A string that may be changed. */
typedef struct __CFString *CFMutableStringRef;
/** An object that a property list may hold. */
typedef CFTypeRef CFPropertyListRef;
/** An allocator. */
typedef const struct __CFAllocator *CFAllocatorRef;
/** The object that stands for nothing. */
typedef const struct __CFNull *CFNullRef;

/** The result of a comparison. */
typedef CFIndex CFComparisonResult;
enum { kCFCompareLessThan = -1, kCFCompareEqualTo = 0, kCFCompareGreaterThan = 1 };
/** [callback] Compares two values of a container. */
typedef CFComparisonResult (*CFComparatorFunction)(const void *val1, const void *val2, void *context);
/** No index. */
enum { kCFNotFound = -1 };

/** A part of something: where it begins, how long it is. */
typedef struct {
    CFIndex location;
    CFIndex length;
} CFRange;
/** A range from its parts. */
CF_UNUSED_FUNCTION CF_INLINE CFRange CFRangeMake(CFIndex loc, CFIndex len) {
    CFRange range;
    range.location = loc;
    range.length = len;
    return range;
}

/** The default allocator: NULL, as on Apple's systems. */
CF_EXPORT const CFAllocatorRef kCFAllocatorDefault;
/** malloc and free; the three have the same effect. */
CF_EXPORT const CFAllocatorRef kCFAllocatorSystemDefault;
CF_EXPORT const CFAllocatorRef kCFAllocatorMalloc;
CF_EXPORT const CFAllocatorRef kCFAllocatorMallocZone;
/** Allocates nothing and frees nothing: as a deallocator, it leaves the bytes to the caller. */
CF_EXPORT const CFAllocatorRef kCFAllocatorNull;
/** The only CFNull. */
CF_EXPORT const CFNullRef kCFNull;

/** The type of allocators. */
CF_EXPORT CFTypeID CFAllocatorGetTypeID(void);
/** The allocator that kCFAllocatorDefault stands for. */
CF_EXPORT CFAllocatorRef CFAllocatorGetDefault(void);
/** Memory of `size` bytes, as malloc; NULL for 0 or less, for kCFAllocatorNull, and when there is none. hint: 0. */
CF_EXPORT void *CFAllocatorAllocate(CFAllocatorRef allocator, CFIndex size, CFOptionFlags hint);
/** Changes the size of memory of CFAllocatorAllocate, as realloc; frees it for a size of 0. */
CF_EXPORT void *CFAllocatorReallocate(CFAllocatorRef allocator, void *ptr, CFIndex newsize, CFOptionFlags hint);
/** Frees memory of CFAllocatorAllocate. NULL is allowed. */
CF_EXPORT void CFAllocatorDeallocate(CFAllocatorRef allocator, void *ptr);
/** The type of kCFNull. */
CF_EXPORT CFTypeID CFNullGetTypeID(void);

/** The type of an object; 0 for what is none. */
CF_EXPORT CFTypeID CFGetTypeID(CFTypeRef cf);
/** The name of a type, such as "CFString". The caller owns it. */
CF_EXPORT CFStringRef CFCopyTypeIDDescription(CFTypeID type_id);
/** Adds a reference and returns its argument. */
CF_EXPORT CFTypeRef CFRetain(CFTypeRef cf);
/** Returns a reference. The last one frees the object; run loop items are invalidated first (OBJ-4). */
CF_EXPORT void CFRelease(CFTypeRef cf);
/** How many references there are, for debugging only: others may hold some for a moment. */
CF_EXPORT CFIndex CFGetRetainCount(CFTypeRef cf);
/** Whether two objects are the same, or equal by the rules of their common type. */
CF_EXPORT unsigned char CFEqual(CFTypeRef cf1, CFTypeRef cf2);
/** Equal objects have equal hashes. */
CF_EXPORT CFHashCode CFHash(CFTypeRef cf);
/** A line of text about an object, for debugging only (RL-12). The caller owns it. */
CF_EXPORT CFStringRef CFCopyDescription(CFTypeRef cf);
/** The allocator of an object: always the default one. */
CF_EXPORT CFAllocatorRef CFGetAllocator(CFTypeRef cf);

CF_EXTERN_C_END
#endif
