/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * helpers.h: what the tests in CF names share; include it first. */
#ifndef CF_TEST_HELPERS_H
#define CF_TEST_HELPERS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../c/check.h"

#include <CoreFoundation/CoreFoundation.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#define HELPER __attribute__((unused)) static

/* A date that no test reaches: for timers that only keep a mode from being empty. */
#define FAR_AWAY (CFAbsoluteTimeGetCurrent() + 100000)

HELPER void check_string(CFStringRef string, const char *expected) {
    char text[1024];
    CHECK(CFStringGetCString(string, text, sizeof text, kCFStringEncodingUTF8));
    CHECK_TEXT(text, expected);
}

/* An endless timer, so that a mode is not empty; released by its mode. */
HELPER void keep_busy(CFRunLoopRef loop, CFStringRef mode) {
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, FAR_AWAY, 0, 0, 0, NULL, NULL);
    CFRunLoopAddTimer(loop, timer, mode);
    CFRelease(timer);
}

/* The processor's time that the calling thread has had. */
HELPER int64_t own_time(void) {
    struct timespec used;
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
    return SECONDS(used.tv_sec) + used.tv_nsec;
}

/* A semaphore wait that a signal does not cut short. */
HELPER void await(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR) {}
}

#endif
