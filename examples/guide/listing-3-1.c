/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The Guide's listing 3-1 in CF names: a thread attaches an observer to its run loop, and a timer that gives the
 * loop something to do. Compiled unchanged with pkg-config treadle-cf. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>

struct watch {
    int entries, exits, sleeps, wakes, passes;
    int fired;
};

static void observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    struct watch *watch = info;
    (void)observer;
    switch (activity) {
    case kCFRunLoopEntry: watch->entries++; break;
    case kCFRunLoopBeforeTimers: watch->passes++; break;
    case kCFRunLoopBeforeWaiting: watch->sleeps++; break;
    case kCFRunLoopAfterWaiting: watch->wakes++; break;
    case kCFRunLoopExit: watch->exits++; break;
    default: break;
    }
}

static void fire(CFRunLoopTimerRef timer, void *info) {
    struct watch *watch = info;
    (void)timer;
    if (++watch->fired % 3 == 0) CFRunLoopStop(CFRunLoopGetCurrent());
}

static void *thread_main(void *argument) {
    struct watch *watch = argument;
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFRunLoopObserverContext observed = {0, watch, NULL, NULL, NULL};
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(kCFAllocatorDefault, kCFRunLoopAllActivities, TRUE, 0, observe, &observed);
    if (observer) CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);

    CFRunLoopTimerContext timed = {0, watch, NULL, NULL, NULL};
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + 0.01, 0.01, 0, 0, fire, &timed);
    CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode);

    /* The loop is run several times; the timer ends each run after three more fires. */
    for (int runs = 0; runs < 4; runs++) CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, FALSE);

    CFRunLoopTimerInvalidate(timer);
    CFRelease(timer);
    CFRunLoopObserverInvalidate(observer);
    CFRelease(observer);
    return NULL;
}

int main(void) {
    struct watch watch = {0, 0, 0, 0, 0, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, &watch) != 0) return 1;
    pthread_join(thread, NULL);
    printf("entered %d times, left %d times\n", watch.entries, watch.exits);
    printf("the timer fired %d times\n", watch.fired);
    printf("every sleep ended: %s\n", watch.sleeps == watch.wakes && watch.sleeps > 0 ? "yes" : "no");
    printf("a pass for every sleep: %s\n", watch.passes >= watch.sleeps ? "yes" : "no");
    return 0;
}
