/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFFileDescriptor. */
#include "helpers.h"

#include <sys/socket.h>

static int retained, released;
static void *count_retain(void *info) {
    retained++;
    return info;
}
static void count_release(void *info) {
    (void)info;
    released++;
}
static void (*also)(CFFileDescriptorRef descriptor);
static void ready(CFFileDescriptorRef descriptor, CFOptionFlags kinds, void *info) {
    trace("%s%lu", (const char *)info, kinds);
    if (also) also(descriptor);
}
static CFFileDescriptorContext context = {0, (void *)"d", count_retain, count_release, NULL};

static CFRunLoopSourceRef add(CFFileDescriptorRef descriptor) {
    CFRunLoopSourceRef source = CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 0);
    CHECK(source != NULL);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    return source;
}
static CFRunLoopRunResult poll_once(void) { return CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true); }

TEST(a_kind_is_told_once_for_each_arming, "FD-1 FD-2 FD-3 FD-7") {
    int ends[2];
    CHECK(pipe(ends) == 0);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], false, ready, &context);
    CHECK(CFGetTypeID(descriptor) == CFFileDescriptorGetTypeID() && CFFileDescriptorGetNativeDescriptor(descriptor) == ends[0]);
    CFRunLoopSourceRef source = add(descriptor), again = CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 5);
    CHECK(source == again);
    CFRelease(again);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut); /* nothing is armed at first */
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CHECK_TRACE("d1");
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack); /* still unread */
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d1");
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    CFFileDescriptorDisableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d1");
    CFRelease(source);
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
    CHECK(retained == released && fcntl(ends[0], F_GETFD) >= 0);
}

static void arm_again(CFFileDescriptorRef descriptor) {
    static int left = 3;
    if (--left > 0) CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
}
TEST(a_callback_arms_itself_again, "FD-2") {
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
    CFRelease(add(descriptor));
    also = arm_again;
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    for (int i = 0; i < 5; i++) poll_once();
    CHECK_TRACE("d1 d1 d1");
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
}

TEST(both_kinds_are_told_one_after_the_other, "FD-4 FD-5") {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "x", 1) == 1);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
    CFRelease(add(descriptor));
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack | kCFFileDescriptorWriteCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d1 d2");
    also = CFFileDescriptorInvalidate;
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack | kCFFileDescriptorWriteCallBack);
    poll_once();
    CHECK_TRACE("d1");
    CHECK(!CFFileDescriptorIsValid(descriptor));
    CFRelease(descriptor);

    CHECK(pipe(ends) == 0);
    close(ends[1]);
    also = NULL;
    descriptor = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
    CFRelease(add(descriptor));
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource); /* hung up */
    CHECK_TRACE("d1");
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
    CHECK_INT(retained, released);
}

static CFRunLoopSourceRef removed;
static void remove_source(CFFileDescriptorRef descriptor) {
    (void)descriptor;
    CFRunLoopRemoveSource(CFRunLoopGetCurrent(), removed, kCFRunLoopDefaultMode);
}
TEST(what_its_call_removes_is_not_called_any_more, "FD-3 FD-4 OBJ-9") {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "x", 1) == 1);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
    removed = add(descriptor);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), removed, CFSTR("other"));
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack | kCFFileDescriptorWriteCallBack);
    also = remove_source;
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d1");
    CHECK_INT(CFRunLoopRunInMode(CFSTR("other"), 0, true), kCFRunLoopRunHandledSource); /* it is armed still */
    CHECK_TRACE("d2");
    CFRelease(removed);
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
    close(ends[1]);
}

TEST(a_peer_that_only_stops_sending_has_not_hung_up, "FD-4 FD-5") {
    int ends[2];
    static char bytes[65536];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    while (write(ends[0], bytes, sizeof bytes) > 0) {}
    CHECK(shutdown(ends[1], SHUT_WR) == 0);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
    CFRelease(add(descriptor));
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack | kCFFileDescriptorWriteCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d1"); /* a write would wait */
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    while (read(ends[1], bytes, sizeof bytes) > 0) {}
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d2");
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
    close(ends[1]);
}

static int filled;
static void fill_and_arm_writing(CFFileDescriptorRef descriptor) {
    static const char bytes[4096];
    also = NULL;
    while (write(filled, bytes, sizeof bytes) > 0) {}
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorWriteCallBack);
}
TEST(a_kind_that_a_call_arms_is_told_when_it_is_ready_after_that, "FD-2 FD-4 FD-5") {
    int ends[2];
    char bytes[4096];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
    CFRelease(add(descriptor));
    CHECK(shutdown(ends[1], SHUT_WR) == 0); /* readable, and half closed; nothing is full yet */
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    filled = ends[0], also = fill_and_arm_writing;
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d1");
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CHECK_TRACE("");
    while (read(ends[1], bytes, sizeof bytes) > 0) {}
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d2");
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
    close(ends[1]);
}

TEST(invalidation_closes_if_asked_and_ends_the_run, "FD-6 FD-7") {
    int ends[2];
    CHECK(pipe(ends) == 0);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
    CFFileDescriptorRef twin = CFFileDescriptorCreate(NULL, ends[0], false, ready, &context);
    CHECK(descriptor != twin);
    CFRunLoopSourceRef source = add(descriptor);
    CFFileDescriptorContext read = {0};
    CFFileDescriptorGetContext(descriptor, &read);
    CHECK(read.info == context.info && read.retain == count_retain);
    CFFileDescriptorInvalidate(descriptor);
    CFFileDescriptorInvalidate(descriptor);
    CHECK(!CFRunLoopSourceIsValid(source) && fcntl(ends[0], F_GETFD) < 0 && released >= 1);
    CHECK(CFFileDescriptorGetNativeDescriptor(descriptor) == -1);
    CHECK(CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 0) == NULL);
    CHECK_INT(poll_once(), kCFRunLoopRunFinished);
    CFRelease(source);
    CFRelease(descriptor);
    CFRelease(twin);
    CHECK_INT(retained, released);
    CHECK(CFFileDescriptorCreate(NULL, 9999, false, ready, NULL) == NULL && CFFileDescriptorCreate(NULL, ends[1], false, NULL, NULL) == NULL);
    char path[] = "/tmp/treadle-cf-XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0);
    unlink(path);
    descriptor = CFFileDescriptorCreate(NULL, file, true, ready, &context);
    CFRelease(add(descriptor));
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack); /* a file is always ready */
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("d1");
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
    CHECK_INT(retained, released);
}

static CFFileDescriptorRef shared;
static CFRunLoopRef loop;
static sem_t asleep;
static void tell(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)observer, (void)activity, (void)info;
    sem_post(&asleep);
}
static void await_sleep(void) {
    await(&asleep);
    while (!CFRunLoopIsWaiting(loop)) sched_yield();
}
static void *arm(void *argument) {
    (void)argument;
    await_sleep();
    CFFileDescriptorEnableCallBacks(shared, kCFFileDescriptorReadCallBack);
    return NULL;
}
static void *end(void *argument) {
    (void)argument;
    await_sleep();
    CFFileDescriptorInvalidate(shared);
    return NULL;
}

TEST(another_thread_arms_and_ends_a_sleeping_loops_descriptor, "FD-3 FD-6 FD-8") {
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    loop = CFRunLoopGetCurrent();
    sem_init(&asleep, 0, 0);
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, 0, tell, NULL);
    CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);
    CFRelease(observer);
    shared = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
    CFRelease(add(shared));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, arm, NULL) == 0);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true), kCFRunLoopRunHandledSource);
    pthread_join(thread, NULL);
    CHECK_TRACE("d1");
    while (sem_trywait(&asleep) == 0) {}
    /* Nothing is armed, although there is something to read: the loop sleeps, and does not turn. */
    CHECK(pthread_create(&thread, NULL, end, NULL) == 0);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true), kCFRunLoopRunFinished);
    pthread_join(thread, NULL);
    CHECK(sem_trywait(&asleep) != 0);
    CFRelease(shared);
}

TEST(bad_descriptors_have_no_effect, "FD-6 RL-12") {
    CFFileDescriptorRef gone = CFFileDescriptorCreate(NULL, eventfd(0, 0), true, ready, NULL);
    CFRelease(gone);
    CFFileDescriptorRef bad[] = {NULL, gone, (CFFileDescriptorRef)(void *)kCFBooleanTrue, (CFFileDescriptorRef)5};
    for (int i = 0; i < 4; i++) {
        CFFileDescriptorEnableCallBacks(bad[i], 3);
        CFFileDescriptorDisableCallBacks(bad[i], 3);
        CFFileDescriptorInvalidate(bad[i]);
        CFFileDescriptorGetContext(bad[i], NULL);
        CHECK(!CFFileDescriptorIsValid(bad[i]) && CFFileDescriptorGetNativeDescriptor(bad[i]) == -1);
        CHECK(CFFileDescriptorCreateRunLoopSource(NULL, bad[i], 0) == NULL);
    }
}

TEST_MAIN()
