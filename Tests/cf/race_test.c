/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * What other threads may change and ask of shared items while a loop serves them. The thread sanitizer is the judge. */
#include "helpers.h"

#include <sys/socket.h>

enum { CALLERS = 3 };

static CFRunLoopRef loop;
static CFFileDescriptorRef descriptor;
static CFSocketRef one_socket;
static CFRunLoopTimerRef timer;
static CFRunLoopSourceRef source;
static CFRunLoopObserverRef observer;
static int pipe_ends[2], pair[2];
static atomic_int calls, done;

static void drain(int fd) {
    char bytes[64];
    while (read(fd, bytes, sizeof bytes) > 0) {}
}
static void ready(CFFileDescriptorRef f, CFOptionFlags types, void *info) {
    (void)f, (void)types, (void)info;
    drain(pipe_ends[0]);
    atomic_fetch_add(&calls, 1);
}
static void told(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    (void)s, (void)type, (void)address, (void)data, (void)info;
    drain(pair[0]);
    atomic_fetch_add(&calls, 1);
}
static void fire(CFRunLoopTimerRef t, void *info) { (void)t, (void)info, atomic_fetch_add(&calls, 1); }
static void perform(void *info) { (void)info, atomic_fetch_add(&calls, 1); }
static void observe(CFRunLoopObserverRef o, CFRunLoopActivity activity, void *info) {
    (void)o, (void)activity, (void)info, atomic_fetch_add(&calls, 1);
}

static void change(unsigned *seed) {
    CFOptionFlags kinds = 1 + rand_r(seed) % 3; /* reading, writing, both */
    switch (rand_r(seed) % 13) {
    case 0: CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack); break;
    case 1: CFFileDescriptorDisableCallBacks(descriptor, kinds); break;
    case 2: CHECK(write(pipe_ends[1], "x", 1) == 1 || errno == EAGAIN); break;
    case 3: CFSocketEnableCallBacks(one_socket, kCFSocketReadCallBack); break;
    case 4: CFSocketDisableCallBacks(one_socket, kCFSocketReadCallBack); break;
    case 5: CFSocketSetSocketFlags(one_socket, kCFSocketAutomaticallyReenableReadCallBack); break;
    case 6: CHECK(write(pair[1], "y", 1) == 1 || errno == EAGAIN); break;
    case 7: CFRunLoopTimerSetNextFireDate(timer, CFAbsoluteTimeGetCurrent() + rand_r(seed) % 100 * 1e-6); break;
    case 8: CFRunLoopTimerSetTolerance(timer, rand_r(seed) % 100 * 1e-6); break;
    case 9: CFRunLoopSourceSignal(source); break;
    case 10: CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode); break;
    case 11: CFRunLoopRemoveObserver(loop, observer, kCFRunLoopDefaultMode); break;
    default: CFRunLoopWakeUp(loop);
    }
}
static void ask(unsigned *seed) {
    switch (rand_r(seed) % 9) {
    case 0: CHECK(CFFileDescriptorIsValid(descriptor)); break;
    case 1: CHECK_INT(CFFileDescriptorGetNativeDescriptor(descriptor), pipe_ends[0]); break;
    case 2: CHECK_INT(CFSocketGetNative(one_socket), pair[0]); break;
    case 3: (void)CFSocketGetSocketFlags(one_socket); break;
    case 4: CHECK(CFRunLoopTimerGetNextFireDate(timer) > 0); break;
    case 5: CHECK(CFRunLoopTimerGetTolerance(timer) >= 0); break;
    case 6: (void)CFRunLoopSourceIsValid(source); break;
    case 7: (void)CFRunLoopContainsObserver(loop, observer, kCFRunLoopDefaultMode); break;
    default: {
        CFStringRef text = CFCopyDescription(loop);
        CHECK(text != NULL);
        CFRelease(text);
    }
    }
}
static void *change_and_ask(void *number) {
    unsigned seed = (unsigned)(intptr_t)number * 7919 + 3;
    for (int i = 0; i < 2000; i++) {
        change(&seed);
        ask(&seed);
    }
    atomic_fetch_add(&done, 1);
    CFRunLoopSourceSignal(source); /* handled even if the run begins only now: it returns, and looks */
    CFRunLoopWakeUp(loop);
    return NULL;
}

TEST(everything_is_changed_while_it_is_served, "OBJ-6 FD-3 FD-6 SOCK-7 TMR-16") {
    CHECK(pipe2(pipe_ends, O_NONBLOCK) == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    loop = CFRunLoopGetCurrent();
    descriptor = CFFileDescriptorCreate(NULL, pipe_ends[0], true, ready, NULL);
    one_socket = CFSocketCreateWithNative(NULL, pair[0], kCFSocketReadCallBack, told, NULL);
    timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 3600, 1e-3, 0, 0, fire, NULL);
    CFRunLoopSourceContext context = {.perform = perform};
    source = CFRunLoopSourceCreate(NULL, 0, &context);
    observer = CFRunLoopObserverCreate(NULL, kCFRunLoopAllActivities, true, 0, observe, NULL);
    CFRunLoopSourceRef of_descriptor = CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 0);
    CFRunLoopSourceRef of_socket = CFSocketCreateRunLoopSource(NULL, one_socket, 0);
    CFRunLoopAddSource(loop, of_descriptor, kCFRunLoopDefaultMode);
    CFRunLoopAddSource(loop, of_socket, kCFRunLoopCommonModes);
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode);
    CFRunLoopAddTimer(loop, timer, kCFRunLoopCommonModes);
    CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);
    pthread_t threads[CALLERS];
    for (intptr_t i = 0; i < CALLERS; i++) CHECK(pthread_create(&threads[i], NULL, change_and_ask, (void *)i) == 0);
    do CFRunLoopRunInMode(kCFRunLoopDefaultMode, 3600, true);
    while (atomic_load(&done) < CALLERS);
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
    CHECK(calls > 0);
    CFFileDescriptorInvalidate(descriptor);
    CFSocketInvalidate(one_socket);
    CFRunLoopTimerInvalidate(timer);
    CFRunLoopSourceInvalidate(source);
    CFRunLoopObserverInvalidate(observer);
    CFTypeRef all[] = {of_descriptor, of_socket, descriptor, one_socket, timer, source, observer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CFRelease(all[i]);
    close(pipe_ends[1]);
    close(pair[1]);
}

TEST_MAIN()
