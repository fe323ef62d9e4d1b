/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFDate.h: dates, as seconds since 2001-01-01 00:00 UTC. */
#ifndef CF_COMPAT_CFDATE_H
#define CF_COMPAT_CFDATE_H

#include "CFBase.h"

CF_EXTERN_C_BEGIN

/** Seconds. */
typedef double CFTimeInterval;
/** A date. */
typedef CFTimeInterval CFAbsoluteTime;
/** A date as an object. */
typedef const struct __CFDate *CFDateRef;

/** Seconds from 1970, and from 1904, to 2001. */
CF_EXPORT const CFTimeInterval kCFAbsoluteTimeIntervalSince1970;
CF_EXPORT const CFTimeInterval kCFAbsoluteTimeIntervalSince1904;

/** Now, by the wall clock. */
CF_EXPORT CFAbsoluteTime CFAbsoluteTimeGetCurrent(void);
CF_EXPORT CFTypeID CFDateGetTypeID(void);
CF_EXPORT CFDateRef CFDateCreate(CFAllocatorRef allocator, CFAbsoluteTime at);
CF_EXPORT CFAbsoluteTime CFDateGetAbsoluteTime(CFDateRef theDate);
CF_EXPORT CFTimeInterval CFDateGetTimeIntervalSinceDate(CFDateRef theDate, CFDateRef otherDate);
/** context: NULL. */
CF_EXPORT CFComparisonResult CFDateCompare(CFDateRef theDate, CFDateRef otherDate, void *context);

CF_EXTERN_C_END
#endif
