/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * trace.h: what the programs share that are compiled against two CoreFoundations. Words of a trace go to one
 * line of standard output; each scenario runs on a thread of its own, since the main loop differs (D-04). */
#ifndef CF_DIFFERENTIAL_TRACE_H
#define CF_DIFFERENTIAL_TRACE_H

#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HELPER __attribute__((unused)) static

__attribute__((format(printf, 1, 2))) HELPER void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar(' ');
}

#define LOOP CFRunLoopGetCurrent()
#define DEFAULT kCFRunLoopDefaultMode
#define NOW CFAbsoluteTimeGetCurrent()

/* A callback's info: a name for the trace, and what to do besides. */
struct part {
    const char *name;
    void (*also)(struct part *part);
    CFRunLoopSourceRef source;
    CFRunLoopTimerRef timer;
    CFRunLoopObserverRef observer;
    int count;
};

HELPER void perform_part(void *info) {
    struct part *part = info;
    say("%s", part->name);
    part->count++;
    if (part->also) part->also(part);
}
HELPER void fire_part(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    perform_part(info);
}
HELPER const char *activity_name(CFRunLoopActivity activity) {
    return activity == kCFRunLoopEntry ? "entry" : activity == kCFRunLoopBeforeTimers ? "timers"
         : activity == kCFRunLoopBeforeSources ? "sources" : activity == kCFRunLoopBeforeWaiting ? "wait"
         : activity == kCFRunLoopAfterWaiting ? "woke" : activity == kCFRunLoopExit ? "exit" : "?";
}
HELPER void notify_part(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    struct part *part = info;
    (void)observer;
    say("%s:%s", part->name, activity_name(activity));
    part->count++;
    if (part->also) part->also(part);
}

HELPER CFRunLoopSourceRef make_source(struct part *part, CFIndex order) {
    CFRunLoopSourceContext context = {.info = part, .perform = perform_part};
    return part->source = CFRunLoopSourceCreate(NULL, order, &context);
}
HELPER CFRunLoopTimerRef make_timer(struct part *part, CFAbsoluteTime date, CFTimeInterval interval) {
    CFRunLoopTimerContext context = {.info = part};
    return part->timer = CFRunLoopTimerCreate(NULL, date, interval, 0, 0, fire_part, &context);
}
HELPER CFRunLoopObserverRef make_observer(struct part *part, CFOptionFlags activities, Boolean repeats, CFIndex order) {
    CFRunLoopObserverContext context = {.info = part};
    return part->observer = CFRunLoopObserverCreate(NULL, activities, repeats, order, notify_part, &context);
}
HELPER void add_source(struct part *part, CFIndex order, CFStringRef mode) {
    if (!part->source) make_source(part, order);
    CFRunLoopAddSource(LOOP, part->source, mode);
}
HELPER void add_timer(struct part *part, CFAbsoluteTime date, CFTimeInterval interval, CFStringRef mode) {
    if (!part->timer) make_timer(part, date, interval);
    CFRunLoopAddTimer(LOOP, part->timer, mode);
}
/* After a timer became due, before a poll. */
HELPER void settle(void) {
#ifdef PEER
    /* Its kernel timer is armed for a moment that is past, and fires a moment later: a poll may be quicker. */
    CFAbsoluteTime end = NOW + 0.0001;
    while (NOW < end) {}
#endif
}
HELPER void add_observer(struct part *part, CFOptionFlags activities, CFIndex order, CFStringRef mode) {
    if (!part->observer) make_observer(part, activities, true, order);
    CFRunLoopAddObserver(LOOP, part->observer, mode);
}
/* An endless timer, so that a mode is not empty. */
HELPER void keep_busy(CFStringRef mode) {
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, NOW + 100000, 0, 0, 0, NULL, NULL);
    CFRunLoopAddTimer(LOOP, timer, mode);
}
HELPER void run(CFStringRef mode, double seconds, Boolean once) { say("=%d", (int)CFRunLoopRunInMode(mode, seconds, once)); }

HELPER void await(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {}
}

/* Lets another thread know that a loop is about to sleep. */
struct sleeper {
    CFRunLoopRef loop;
    sem_t asleep;
};
HELPER void tell_sleep(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)observer, (void)activity;
    sem_post(&((struct sleeper *)info)->asleep);
}
HELPER void watch_sleep(struct sleeper *sleeper) {
    sleeper->loop = LOOP;
    sem_init(&sleeper->asleep, 0, 0);
    CFRunLoopObserverContext context = {.info = sleeper};
    CFRunLoopAddObserver(LOOP, CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, 999, tell_sleep, &context), DEFAULT);
}
/* On another thread: until the loop sleeps, its observers being done. */
HELPER void await_sleep(struct sleeper *sleeper) {
    await(&sleeper->asleep);
    while (!CFRunLoopIsWaiting(sleeper->loop)) sched_yield();
}

#endif
