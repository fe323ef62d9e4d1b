/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFData.h: bytes. */
#ifndef CF_COMPAT_CFDATA_H
#define CF_COMPAT_CFDATA_H

#include "CFBase.h"

CF_EXTERN_C_BEGIN

/** Bytes, and bytes that may be changed. */
typedef const struct __CFData *CFDataRef;
typedef struct __CFData *CFMutableDataRef;

CF_EXPORT CFTypeID CFDataGetTypeID(void);
/** Copies the bytes. NULL for NULL bytes with a length, and for a negative length. */
CF_EXPORT CFDataRef CFDataCreate(CFAllocatorRef allocator, const uint8_t *bytes, CFIndex length);
/** Keeps the caller's bytes and, unless the deallocator is kCFAllocatorNull, frees them with the object. */
CF_EXPORT CFDataRef CFDataCreateWithBytesNoCopy(CFAllocatorRef allocator, const uint8_t *bytes, CFIndex length,
                                                CFAllocatorRef bytesDeallocator);
CF_EXPORT CFDataRef CFDataCreateCopy(CFAllocatorRef allocator, CFDataRef theData);
/** capacity: a hint. */
CF_EXPORT CFMutableDataRef CFDataCreateMutable(CFAllocatorRef allocator, CFIndex capacity);
CF_EXPORT CFMutableDataRef CFDataCreateMutableCopy(CFAllocatorRef allocator, CFIndex capacity, CFDataRef theData);

CF_EXPORT CFIndex CFDataGetLength(CFDataRef theData);
/** The object's own bytes, until it changes or is freed. */
CF_EXPORT const uint8_t *CFDataGetBytePtr(CFDataRef theData);
CF_EXPORT uint8_t *CFDataGetMutableBytePtr(CFMutableDataRef theData);
/** Copies a range; nothing for one that is not inside. */
CF_EXPORT void CFDataGetBytes(CFDataRef theData, CFRange range, uint8_t *buffer);

/** Changing. Immutable data is left as it is; new bytes are 0. */
CF_EXPORT void CFDataSetLength(CFMutableDataRef theData, CFIndex length);
CF_EXPORT void CFDataIncreaseLength(CFMutableDataRef theData, CFIndex extraLength);
CF_EXPORT void CFDataAppendBytes(CFMutableDataRef theData, const uint8_t *bytes, CFIndex length);
CF_EXPORT void CFDataReplaceBytes(CFMutableDataRef theData, CFRange range, const uint8_t *newBytes, CFIndex newLength);
CF_EXPORT void CFDataDeleteBytes(CFMutableDataRef theData, CFRange range);

CF_EXTERN_C_END
#endif
