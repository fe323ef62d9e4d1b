/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The functions that take blocks; compiled by clang with -fblocks. */
#include "helpers.h"

TEST(blocks_run_once_in_their_modes, "BLK-1 BLK-2 BLK-3 BLK-4 BLK-5") {
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    __block int runs = 0;
    keep_busy(loop, kCFRunLoopDefaultMode);
    keep_busy(loop, CFSTR("other"));
    const void *names[] = {CFSTR("other"), kCFRunLoopCommonModes};
    CFArrayRef array = CFArrayCreate(NULL, names, 2, &kCFTypeArrayCallBacks);
    CFSetRef set = CFSetCreate(NULL, names, 1, &kCFTypeSetCallBacks);
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, ^{ runs += 1; trace("default"); });
    CFRunLoopPerformBlock(loop, array, ^{ runs += 1; trace("array"); });
    CFRunLoopPerformBlock(loop, set, ^{ runs += 1; trace("set"); });
    CFRunLoopPerformBlock(loop, kCFBooleanTrue, ^{ trace("never"); });
    CFRunLoopPerformBlock(loop, NULL, ^{ trace("never"); });
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, NULL);
    CFRunLoopPerformBlock(NULL, kCFRunLoopDefaultMode, ^{ trace("never"); });
    CFRelease(array);
    CFRelease(set);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false), kCFRunLoopRunTimedOut);
    CHECK_TRACE("default array");
    CHECK_INT(CFRunLoopRunInMode(CFSTR("other"), 0, false), kCFRunLoopRunTimedOut);
    CHECK_TRACE("set");
    CHECK_INT(runs, 3);
}

TEST(handlers_of_timers_and_observers_are_blocks, "TMR-7 OBS-8") {
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    __block int left = 3;
    CFRunLoopTimerRef timer = CFRunLoopTimerCreateWithHandler(NULL, CFAbsoluteTimeGetCurrent(), 0.001, 0, 0, ^(CFRunLoopTimerRef t) {
        CHECK(CFGetTypeID(t) == CFRunLoopTimerGetTypeID());
        trace("tick");
        if (--left == 0) CFRunLoopTimerInvalidate(t);
    });
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreateWithHandler(NULL, kCFRunLoopEntry | kCFRunLoopExit, true, 0, ^(CFRunLoopObserverRef o, CFRunLoopActivity activity) {
            CHECK(CFRunLoopObserverIsValid(o));
            trace(activity == kCFRunLoopEntry ? "enter" : "leave");
        });
    CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode);
    CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);
    CFRelease(timer);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, false), kCFRunLoopRunFinished);
    CHECK_TRACE("enter tick tick tick leave");
    CHECK(!CFRunLoopTimerIsValid(timer));
    CFRunLoopObserverInvalidate(observer);
    CFRelease(observer);
    CHECK(CFRunLoopTimerCreateWithHandler(NULL, 0, 0, 0, 0, NULL) == NULL);
    CHECK(CFRunLoopObserverCreateWithHandler(NULL, 0, 0, 0, NULL) == NULL);
}

TEST_MAIN()
