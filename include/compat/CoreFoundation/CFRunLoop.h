/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFRunLoop.h: run loops, their sources, timers and observers. Treadle's rules (RL, MODE, RUN, PASS, OBS, SRC0,
 * SRC1, TMR, BLK, WAKE, STOP) say what each does; docs/porting.md, where that is not what CoreFoundation does. */
#ifndef CF_COMPAT_CFRUNLOOP_H
#define CF_COMPAT_CFRUNLOOP_H

#include "CFArray.h"
#include "CFBase.h"
#include "CFDate.h"
#include "CFString.h"

CF_EXTERN_C_BEGIN

/** The name of a mode; compared as text (MODE-1). */
typedef CFStringRef CFRunLoopMode;
typedef struct __CFRunLoop *CFRunLoopRef;
typedef struct __CFRunLoopSource *CFRunLoopSourceRef;
typedef struct __CFRunLoopObserver *CFRunLoopObserverRef;
typedef struct __CFRunLoopTimer *CFRunLoopTimerRef;

/** Why a run ended (RUN-4). */
typedef int32_t CFRunLoopRunResult;
enum {
    kCFRunLoopRunFinished = 1,
    kCFRunLoopRunStopped = 2,
    kCFRunLoopRunTimedOut = 3,
    kCFRunLoopRunHandledSource = 4
};
/** The activities of a loop (OBS-1). */
typedef CFOptionFlags CFRunLoopActivity;
enum {
    kCFRunLoopEntry = 0x1,
    kCFRunLoopBeforeTimers = 0x2,
    kCFRunLoopBeforeSources = 0x4,
    kCFRunLoopBeforeWaiting = 0x20,
    kCFRunLoopAfterWaiting = 0x40,
    kCFRunLoopExit = 0x80,
    kCFRunLoopAllActivities = 0x0FFFFFFF
};

/** The mode that a loop has from the beginning, and the name for all common modes (MODE-2). */
CF_EXPORT const CFRunLoopMode kCFRunLoopDefaultMode;
CF_EXPORT const CFRunLoopMode kCFRunLoopCommonModes;

CF_EXPORT CFTypeID CFRunLoopGetTypeID(void);
/** The calling thread's loop. Borrowed: valid while the thread lives (RL-1, RL-9). */
CF_EXPORT CFRunLoopRef CFRunLoopGetCurrent(void);
/** The loop of the process's initial thread (RL-3). */
CF_EXPORT CFRunLoopRef CFRunLoopGetMain(void);
/** The mode that is run, or NULL; the caller owns it (RL-6). */
CF_EXPORT CFRunLoopMode CFRunLoopCopyCurrentMode(CFRunLoopRef rl);
/** The names of all modes; the caller owns the array (RL-7). */
CF_EXPORT CFArrayRef CFRunLoopCopyAllModes(CFRunLoopRef rl);
CF_EXPORT void CFRunLoopAddCommonMode(CFRunLoopRef rl, CFRunLoopMode mode);
/** The date of the timer that is next in a mode; 0 if there is none (TMR-9). */
CF_EXPORT CFAbsoluteTime CFRunLoopGetNextTimerFireDate(CFRunLoopRef rl, CFRunLoopMode mode);
/** Runs the calling thread's loop in the default mode until it is stopped or finished (RUN-3). */
CF_EXPORT void CFRunLoopRun(void);
/** Runs the calling thread's loop in a mode, for so many seconds at most (RUN-1, RUN-2). */
CF_EXPORT CFRunLoopRunResult CFRunLoopRunInMode(CFRunLoopMode mode, CFTimeInterval seconds,
                                                unsigned char returnAfterSourceHandled);
CF_EXPORT unsigned char CFRunLoopIsWaiting(CFRunLoopRef rl);
CF_EXPORT void CFRunLoopWakeUp(CFRunLoopRef rl);
CF_EXPORT void CFRunLoopStop(CFRunLoopRef rl);
#if defined(__BLOCKS__)
/** Queues a block; mode is a name, or an array or a set of names (BLK-1). Does not wake the loop. */
CF_EXPORT void CFRunLoopPerformBlock(CFRunLoopRef rl, CFTypeRef mode, void (^block)(void));
#endif

/** Membership (MODE-5, MODE-6, MODE-8). */
CF_EXPORT unsigned char CFRunLoopContainsSource(CFRunLoopRef rl, CFRunLoopSourceRef source, CFRunLoopMode mode);
CF_EXPORT void CFRunLoopAddSource(CFRunLoopRef rl, CFRunLoopSourceRef source, CFRunLoopMode mode);
CF_EXPORT void CFRunLoopRemoveSource(CFRunLoopRef rl, CFRunLoopSourceRef source, CFRunLoopMode mode);
CF_EXPORT unsigned char CFRunLoopContainsObserver(CFRunLoopRef rl, CFRunLoopObserverRef observer, CFRunLoopMode mode);
CF_EXPORT void CFRunLoopAddObserver(CFRunLoopRef rl, CFRunLoopObserverRef observer, CFRunLoopMode mode);
CF_EXPORT void CFRunLoopRemoveObserver(CFRunLoopRef rl, CFRunLoopObserverRef observer, CFRunLoopMode mode);
CF_EXPORT unsigned char CFRunLoopContainsTimer(CFRunLoopRef rl, CFRunLoopTimerRef timer, CFRunLoopMode mode);
CF_EXPORT void CFRunLoopAddTimer(CFRunLoopRef rl, CFRunLoopTimerRef timer, CFRunLoopMode mode);
CF_EXPORT void CFRunLoopRemoveTimer(CFRunLoopRef rl, CFRunLoopTimerRef timer, CFRunLoopMode mode);

/** A custom source: signalled by any thread, performed by a loop (SRC0-1). The context is copied. */
typedef struct {
    CFIndex version; /* 0 */
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
    unsigned char (*equal)(const void *info1, const void *info2);
    CFHashCode (*hash)(const void *info);
    void (*schedule)(void *info, CFRunLoopRef rl, CFRunLoopMode mode);
    void (*cancel)(void *info, CFRunLoopRef rl, CFRunLoopMode mode);
    void (*perform)(void *info);
} CFRunLoopSourceContext;
/** A source that is performed while a descriptor is readable (SRC1-1). getPort returns the descriptor, -1 for none.
 *  It is level-triggered, and Treadle never reads from it: perform does (SRC1-2). */
typedef struct {
    CFIndex version; /* 1 */
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
    unsigned char (*equal)(const void *info1, const void *info2);
    CFHashCode (*hash)(const void *info);
    int (*getPort)(void *info);
    void (*perform)(void *info);
} CFRunLoopSourceContext1;

CF_EXPORT CFTypeID CFRunLoopSourceGetTypeID(void);
/** context: one of the two above, by its version; NULL or another version makes no source. */
CF_EXPORT CFRunLoopSourceRef CFRunLoopSourceCreate(CFAllocatorRef allocator, CFIndex order, CFRunLoopSourceContext *context);
CF_EXPORT CFIndex CFRunLoopSourceGetOrder(CFRunLoopSourceRef source);
CF_EXPORT void CFRunLoopSourceInvalidate(CFRunLoopSourceRef source);
CF_EXPORT unsigned char CFRunLoopSourceIsValid(CFRunLoopSourceRef source);
/** Fills in the context of the version that context->version names, if that is the source's. */
CF_EXPORT void CFRunLoopSourceGetContext(CFRunLoopSourceRef source, CFRunLoopSourceContext *context);
/** Marks a custom source; does not wake a loop (SRC0-6). Without effect on the others (SRC1-6). */
CF_EXPORT void CFRunLoopSourceSignal(CFRunLoopSourceRef source);
/** True between a signal and the perform that it leads to, for custom sources; false for the others (SRC0-14, SRC1-6). */
CF_EXPORT unsigned char CFRunLoopSourceIsSignalled(CFRunLoopSourceRef source);

typedef struct {
    CFIndex version; /* 0 */
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFRunLoopObserverContext;
/** [callback] on the loop's thread. */
typedef void (*CFRunLoopObserverCallBack)(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info);

CF_EXPORT CFTypeID CFRunLoopObserverGetTypeID(void);
CF_EXPORT CFRunLoopObserverRef CFRunLoopObserverCreate(CFAllocatorRef allocator, CFOptionFlags activities,
                                                       unsigned char repeats, CFIndex order,
                                                       CFRunLoopObserverCallBack callout, CFRunLoopObserverContext *context);
#if defined(__BLOCKS__)
CF_EXPORT CFRunLoopObserverRef CFRunLoopObserverCreateWithHandler(
    CFAllocatorRef allocator, CFOptionFlags activities, unsigned char repeats, CFIndex order,
    void (^block)(CFRunLoopObserverRef observer, CFRunLoopActivity activity));
#endif
CF_EXPORT CFOptionFlags CFRunLoopObserverGetActivities(CFRunLoopObserverRef observer);
CF_EXPORT unsigned char CFRunLoopObserverDoesRepeat(CFRunLoopObserverRef observer);
CF_EXPORT CFIndex CFRunLoopObserverGetOrder(CFRunLoopObserverRef observer);
CF_EXPORT void CFRunLoopObserverInvalidate(CFRunLoopObserverRef observer);
CF_EXPORT unsigned char CFRunLoopObserverIsValid(CFRunLoopObserverRef observer);
/** info is NULL once the observer is invalid. */
CF_EXPORT void CFRunLoopObserverGetContext(CFRunLoopObserverRef observer, CFRunLoopObserverContext *context);

typedef struct {
    CFIndex version; /* 0 */
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFRunLoopTimerContext;
/** [callback] on the loop's thread. */
typedef void (*CFRunLoopTimerCallBack)(CFRunLoopTimerRef timer, void *info);

CF_EXPORT CFTypeID CFRunLoopTimerGetTypeID(void);
/** interval: seconds; 0 or less fires once. flags: 0. NULL for a date or an interval that is no number. A date after
 *  4,039,289,856, in the year 2129, means that one, here and in CFRunLoopTimerSetNextFireDate (TMR-1). */
CF_EXPORT CFRunLoopTimerRef CFRunLoopTimerCreate(CFAllocatorRef allocator, CFAbsoluteTime fireDate, CFTimeInterval interval,
                                                 CFOptionFlags flags, CFIndex order, CFRunLoopTimerCallBack callout,
                                                 CFRunLoopTimerContext *context);
#if defined(__BLOCKS__)
CF_EXPORT CFRunLoopTimerRef CFRunLoopTimerCreateWithHandler(CFAllocatorRef allocator, CFAbsoluteTime fireDate,
                                                            CFTimeInterval interval, CFOptionFlags flags, CFIndex order,
                                                            void (^block)(CFRunLoopTimerRef timer));
#endif
/** The date as it was asked for, until the timer is rescheduled; 0 when invalid (TMR-2, TMR-4). */
CF_EXPORT CFAbsoluteTime CFRunLoopTimerGetNextFireDate(CFRunLoopTimerRef timer);
CF_EXPORT void CFRunLoopTimerSetNextFireDate(CFRunLoopTimerRef timer, CFAbsoluteTime fireDate);
CF_EXPORT CFTimeInterval CFRunLoopTimerGetInterval(CFRunLoopTimerRef timer);
CF_EXPORT unsigned char CFRunLoopTimerDoesRepeat(CFRunLoopTimerRef timer);
CF_EXPORT CFIndex CFRunLoopTimerGetOrder(CFRunLoopTimerRef timer);
CF_EXPORT void CFRunLoopTimerInvalidate(CFRunLoopTimerRef timer);
CF_EXPORT unsigned char CFRunLoopTimerIsValid(CFRunLoopTimerRef timer);
/** info is NULL once the timer is invalid (TMR-7). */
CF_EXPORT void CFRunLoopTimerGetContext(CFRunLoopTimerRef timer, CFRunLoopTimerContext *context);
/** Seconds by which the timer may be late so that wake-ups can be shared (TMR-5). */
CF_EXPORT CFTimeInterval CFRunLoopTimerGetTolerance(CFRunLoopTimerRef timer);
CF_EXPORT void CFRunLoopTimerSetTolerance(CFRunLoopTimerRef timer, CFTimeInterval tolerance);

CF_EXTERN_C_END
#endif
