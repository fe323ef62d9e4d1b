/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFNumber.h: numbers and truth values as objects. */
#ifndef CF_COMPAT_CFNUMBER_H
#define CF_COMPAT_CFNUMBER_H

#include "CFBase.h"

CF_EXTERN_C_BEGIN

typedef const struct __CFBoolean *CFBooleanRef;
typedef const struct __CFNumber *CFNumberRef;

CF_EXPORT const CFBooleanRef kCFBooleanTrue;
CF_EXPORT const CFBooleanRef kCFBooleanFalse;
CF_EXPORT CFTypeID CFBooleanGetTypeID(void);
CF_EXPORT unsigned char CFBooleanGetValue(CFBooleanRef boolean);

/** The type of a number, stored or requested. */
typedef CFIndex CFNumberType;
enum {
    kCFNumberSInt8Type = 1,
    kCFNumberSInt16Type = 2,
    kCFNumberSInt32Type = 3,
    kCFNumberSInt64Type = 4,
    kCFNumberFloat32Type = 5,
    kCFNumberFloat64Type = 6,
    kCFNumberCharType = 7,
    kCFNumberShortType = 8,
    kCFNumberIntType = 9,
    kCFNumberLongType = 10,
    kCFNumberLongLongType = 11,
    kCFNumberFloatType = 12,
    kCFNumberDoubleType = 13,
    kCFNumberCFIndexType = 14,
    kCFNumberNSIntegerType = 15,
    kCFNumberCGFloatType = 16,
    kCFNumberMaxType = 16
};

CF_EXPORT CFTypeID CFNumberGetTypeID(void);
/** A number of the value at valuePtr, which is of this type. */
CF_EXPORT CFNumberRef CFNumberCreate(CFAllocatorRef allocator, CFNumberType theType, const void *valuePtr);
CF_EXPORT CFNumberType CFNumberGetType(CFNumberRef number);
CF_EXPORT CFIndex CFNumberGetByteSize(CFNumberRef number);
CF_EXPORT unsigned char CFNumberIsFloatType(CFNumberRef number);
/** Stores the number as this type; false if that lost something: a whole number is cut to its low bytes, a floating one
 *  towards 0 first, and to the least of 4 or 8 bytes if it is too large or none. */
CF_EXPORT unsigned char CFNumberGetValue(CFNumberRef number, CFNumberType theType, void *valuePtr);
/** context: NULL. */
CF_EXPORT CFComparisonResult CFNumberCompare(CFNumberRef number, CFNumberRef otherNumber, void *context);

CF_EXTERN_C_END
#endif
