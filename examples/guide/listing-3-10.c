/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The Guide's listing 3-10 in CF names: two timers, one that is added to the loop by hand, with a date of its
 * own, and one that a helper makes and adds in one go. */
#include <CoreFoundation/CoreFoundation.h>

static int first_fires, second_fires;

static void first_fired(CFRunLoopTimerRef timer, void *info) {
    (void)info;
    if (++first_fires == 2) CFRunLoopTimerInvalidate(timer);
}
static void second_fired(CFRunLoopTimerRef timer, void *info) {
    (void)info;
    if (++second_fires == 3) CFRunLoopTimerInvalidate(timer);
}

/* Makes a timer and adds it to the current loop's default mode, which keeps it. */
static CFRunLoopTimerRef scheduled_timer(CFTimeInterval interval, CFRunLoopTimerCallBack callout, void *info) {
    CFRunLoopTimerContext context = {0, info, NULL, NULL, NULL};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + interval, interval,
                                                   0, 0, callout, &context);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    CFRelease(timer);
    return timer;
}

int main(void) {
    /* In 0.05 seconds first, then every 0.01. */
    CFRunLoopTimerContext context = {0, NULL, NULL, NULL, NULL};
    CFAbsoluteTime date = CFAbsoluteTimeGetCurrent() + 0.05;
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(kCFAllocatorDefault, date, 0.01, 0, 0, first_fired, &context);
    printf("the first date is the one that was asked for: %s\n", CFRunLoopTimerGetNextFireDate(timer) == date ? "yes" : "no");
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);

    scheduled_timer(0.02, second_fired, NULL);

    CFRunLoopRun(); /* until no timer is left */
    printf("fired %d and %d times\n", first_fires, second_fires);
    printf("not before its date: %s\n", CFAbsoluteTimeGetCurrent() >= date ? "yes" : "no");
    CFRelease(timer);
    return 0;
}
