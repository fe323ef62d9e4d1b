/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * A program in CoreFoundation's names alone. */
#include <CoreFoundation/CoreFoundation.h>

static void perform(void *info) {
    ++*(int *)info;
    CFRunLoopStop(CFRunLoopGetCurrent());
}

int main(void) {
    int performed = 0;
    CFRunLoopSourceContext context = {0, &performed, NULL, NULL, NULL, NULL, NULL, NULL, NULL, perform};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(source);
    CFRunLoopRun();
    CFRelease(source);
    printf("treadle-cf: performed %d\n", performed);
    return 0;
}
