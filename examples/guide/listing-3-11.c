/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The Guide's listing 3-11 in CF names: a repeating timer with a context. */
#include <CoreFoundation/CoreFoundation.h>

static void fire(CFRunLoopTimerRef timer, void *info) {
    int *left = info;
    printf("fired, %d left\n", --*left);
    if (*left == 0) CFRunLoopTimerInvalidate(timer);
}

int main(void) {
    int left = 3;
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFRunLoopTimerContext context = {0, &left, NULL, NULL, NULL};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + 0.1, 0.03, 0, 0, fire, &context);
    CFRunLoopAddTimer(loop, timer, kCFRunLoopCommonModes);
    printf("added: %s\n", CFRunLoopContainsTimer(loop, timer, kCFRunLoopDefaultMode) ? "yes" : "no");
    CFRunLoopRun();
    printf("valid: %s\n", CFRunLoopTimerIsValid(timer) ? "yes" : "no");
    CFRelease(timer);
    return 0;
}
