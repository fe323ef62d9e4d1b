/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFFileDescriptor for numbers with a past: watched before by an object that ended, closed while armed with a
 * copy still open, brought back by dup2, paused meanwhile. Whatever happened, what is enabled is told when it is ready, and
 * what is not keeps no loop awake. */
#include "helpers.h"

static void ready(CFFileDescriptorRef descriptor, CFOptionFlags kinds, void *info) {
    (void)descriptor;
    trace("%s%lu", (const char *)info, kinds);
}
static void add(CFFileDescriptorRef descriptor, CFStringRef mode) {
    CFRunLoopSourceRef source = CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 0);
    CHECK(source != NULL);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, mode);
    CHECK(CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, mode));
    CFRelease(source);
}
static CFFileDescriptorRef watch(int fd, const char *name) {
    CFFileDescriptorContext context = {.info = (void *)name};
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, fd, false, ready, &context);
    CHECK(descriptor != NULL);
    return descriptor;
}
static void finish(CFFileDescriptorRef descriptor) {
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
}
static CFRunLoopRunResult pass(void) { return CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true); }
static void full_pipe(int ends[2]) { CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 && write(ends[1], "x", 1) == 1); }

static int turns;
static void count_turn(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)observer, (void)activity, (void)info;
    turns++;
}
static void stop(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    CFRunLoopStop(CFRunLoopGetCurrent());
}
/* The loop sleeps for a while: it neither turns nor spends the time awake. */
static void sleep_again(int again) {
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, 0, count_turn, NULL);
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopDefaultMode);
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 0.05, 0, 0, 0, stop, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    turns = 0;
    int64_t before = own_time();
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, false), kCFRunLoopRunStopped);
    int64_t used = own_time() - before;
    CFRunLoopObserverInvalidate(observer);
    CFRelease(observer);
    CFRelease(timer);
    if (turns <= 3 && used < MILLISECONDS(10)) return;
    /* Once it may be: the program has to be brought into memory. */
    if (again) check_failed(__FILE__, __LINE__, "turned %d times, %" PRId64 " ns awake of 50 ms", turns, used);
    sleep_again(1);
}
static void check_sleeps(void) { sleep_again(0); }

TEST(a_number_is_watched_again_after_an_armed_object_ended, "SRC1-11 FD-2 FD-3") {
    for (int runs = 0; runs < 2; runs++) {
        int ends[2];
        full_pipe(ends);
        CFFileDescriptorRef first = watch(ends[0], "a");
        add(first, kCFRunLoopDefaultMode);
        CFFileDescriptorEnableCallBacks(first, kCFFileDescriptorReadCallBack);
        finish(first); /* the descriptor stays open */
        CFFileDescriptorRef second = watch(ends[0], "b");
        add(second, kCFRunLoopDefaultMode); /* with nothing enabled yet */
        if (runs) check_sleeps();
        CFFileDescriptorEnableCallBacks(second, kCFFileDescriptorReadCallBack);
        CHECK_INT(pass(), kCFRunLoopRunHandledSource);
        CHECK_TRACE("b1");
        check_sleeps();
        finish(second);
        close(ends[0]);
        close(ends[1]);
    }
}

TEST(another_mode_watches_on_after_an_armed_object_ended, "SRC1-11 FD-3") {
    int ends[2];
    full_pipe(ends);
    CFFileDescriptorRef first = watch(ends[0], "a");
    add(first, kCFRunLoopDefaultMode);
    CFFileDescriptorEnableCallBacks(first, kCFFileDescriptorReadCallBack);
    CFFileDescriptorRef other = watch(ends[0], "c");
    add(other, CFSTR("other"));
    CFFileDescriptorEnableCallBacks(other, kCFFileDescriptorReadCallBack);
    finish(first);
    CFFileDescriptorDisableCallBacks(other, kCFFileDescriptorReadCallBack);
    add(other, kCFRunLoopDefaultMode);
    CFFileDescriptorEnableCallBacks(other, kCFFileDescriptorReadCallBack);
    CHECK_INT(pass(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("c1");
    CHECK_INT(CFRunLoopRunInMode(CFSTR("other"), 0, true), kCFRunLoopRunTimedOut);
    CFFileDescriptorEnableCallBacks(other, kCFFileDescriptorReadCallBack);
    CHECK_INT(CFRunLoopRunInMode(CFSTR("other"), 0, true), kCFRunLoopRunHandledSource);
    CHECK_TRACE("c1");
    check_sleeps();
    finish(other);
}

static void told(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    (void)s, (void)address, (void)data, (void)info;
    trace("s%lu", type);
}
TEST(a_socket_takes_over_a_number, "SRC1-11 SOCK-1 SOCK-8") {
    int ends[2];
    full_pipe(ends);
    CFSocketRef socket = CFSocketCreateWithNative(NULL, ends[0], kCFSocketReadCallBack, told, NULL);
    for (int i = 0; i < 2; i++) {
        CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, socket, 0);
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
        CFSocketDisableCallBacks(socket, kCFSocketReadCallBack);
        CFSocketEnableCallBacks(socket, kCFSocketReadCallBack);
        CHECK_INT(pass(), kCFRunLoopRunHandledSource);
        CHECK_TRACE("s1");
        CFRunLoopSourceInvalidate(source); /* armed */
        CFRelease(source);
        source = CFSocketCreateRunLoopSource(NULL, socket, 0);
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, CFSTR("other"));
        CFSocketDisableCallBacks(socket, kCFSocketReadCallBack);
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode); /* with nothing enabled */
        CFSocketEnableCallBacks(socket, kCFSocketReadCallBack);
        CHECK_INT(pass(), kCFRunLoopRunHandledSource);
        CHECK_TRACE("s1");
        CFRunLoopSourceInvalidate(source);
        CFRelease(source);
    }
    CFSocketInvalidate(socket);
    CFRelease(socket);
    close(ends[1]);
}

TEST(a_number_closed_while_armed_keeps_no_loop_awake, "SRC1-11 SRC1-8 FD-8") {
    for (int pauses = 0; pauses < 3; pauses++) {
        int ends[2];
        full_pipe(ends);
        int copy = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
        CFFileDescriptorRef descriptor = watch(ends[0], "a");
        add(descriptor, kCFRunLoopDefaultMode);
        CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        close(ends[0]); /* the copy keeps the file, and the kernel its report */
        if (pauses == 1) CFFileDescriptorDisableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        if (pauses == 2) CFFileDescriptorInvalidate(descriptor);
        else keep_busy(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        if (pauses == 0) pass(); /* one call at most, since it was armed once */
        CHECK(strcmp(trace_text, pauses ? "" : "a1") == 0 || !*trace_text);
        trace_clear();
        check_sleeps();
        CHECK_TRACE("");
        if (pauses < 2) finish(descriptor);
        else CFRelease(descriptor);
        close(copy);
        close(ends[1]);
    }
}

TEST(a_number_brought_back_is_watched_again, "SRC1-11 FD-2 FD-3") {
    for (int way = 0; way < 4; way++) {
        int ends[2];
        full_pipe(ends);
        int copy = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
        CFFileDescriptorRef descriptor = watch(ends[0], "a");
        add(descriptor, kCFRunLoopDefaultMode);
        CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        close(ends[0]);
        if (way == 1) CFFileDescriptorDisableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        if (way >= 2) pass(); /* where it may be told once */
        trace_clear();
        CHECK_INT(dup3(copy, ends[0], O_CLOEXEC), ends[0]);
        if (way == 3) CFFileDescriptorDisableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        if (way > 0) CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        CHECK_INT(pass(), kCFRunLoopRunHandledSource);
        CHECK_TRACE("a1");
        keep_busy(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        check_sleeps();
        finish(descriptor);
        close(copy);
        close(ends[0]);
        close(ends[1]);
    }
}

TEST(a_number_used_again_is_watched_once_it_is_enabled, "SRC1-11 SRC1-8 FD-2") {
    for (int keeps = 0; keeps < 2; keeps++) {
        int ends[2], others[2];
        full_pipe(ends);
        full_pipe(others);
        int copy = keeps ? fcntl(ends[0], F_DUPFD_CLOEXEC, 0) : -1;
        CFFileDescriptorRef descriptor = watch(ends[0], "a");
        add(descriptor, kCFRunLoopDefaultMode);
        CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        CHECK_INT(dup3(others[0], ends[0], O_CLOEXEC), ends[0]); /* the number is another pipe's now */
        CFFileDescriptorDisableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        keep_busy(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        check_sleeps();
        CHECK_TRACE("");
        CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        CHECK_INT(pass(), kCFRunLoopRunHandledSource);
        CHECK_TRACE("a1");
        check_sleeps();
        finish(descriptor);
        if (keeps) close(copy);
        for (int i = 0; i < 2; i++) close(ends[i]), close(others[i]);
    }
}

TEST(a_number_used_again_is_quiet_in_its_other_modes, "SRC1-11 SRC1-8 FD-2") {
    int ends[2], others[2];
    full_pipe(ends);
    full_pipe(others);
    CFFileDescriptorRef descriptor = watch(ends[0], "a");
    add(descriptor, CFSTR("other"));
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack | kCFFileDescriptorWriteCallBack);
    CHECK_INT(dup3(others[0], ends[0], O_CLOEXEC), ends[0]); /* the kernel forgot it, there */
    add(descriptor, kCFRunLoopDefaultMode);
    CHECK_INT(pass(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("a1");
    CHECK_INT(pass(), kCFRunLoopRunTimedOut); /* a pipe's end for reading cannot be written */
    check_sleeps();
    finish(descriptor);
    for (int i = 0; i < 2; i++) close(ends[i]), close(others[i]);
}

/* The kernel says nothing of it: the loop looks, if it is told to. */
TEST(a_closed_one_is_told_when_debugging, "SRC1-8 FD-5") {
    setenv("TREADLE_DEBUG", "1", 1);
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    CFFileDescriptorRef descriptor = watch(ends[0], "a");
    add(descriptor, kCFRunLoopDefaultMode);
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    close(ends[0]);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true), kCFRunLoopRunHandledSource);
    CHECK_TRACE("a1");
    CHECK(read(ends[0], &(char){0}, 1) < 0 && errno == EBADF);
    check_sleeps();
    CHECK_TRACE("");
    finish(descriptor);
    close(ends[1]);
}

TEST_MAIN()
