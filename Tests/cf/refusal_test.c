/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * What Treadle refuses to watch is said: by the function that can tell, and with TREADLE_DEBUG on standard error. */
#include "sockets.h"

static char said[4000];
static int saved_error, error_end;
/* Before anything is closed: this takes numbers. */
static void listen_to_errors(void) {
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    setenv("TREADLE_DEBUG", "1", 1);
    saved_error = dup(2);
    dup2(ends[1], 2);
    close(ends[1]);
    error_end = ends[0];
}
/* How many lines were said, in `said`. */
static int lines_said(void) {
    int lines = 0;
    fflush(stderr);
    dup2(saved_error, 2);
    ssize_t size = read(error_end, said, sizeof said - 1);
    CHECK(size >= 0);
    said[size] = 0;
    for (ssize_t i = 0; i < size; i++) lines += said[i] == '\n';
    return lines;
}
static void check_said(const char *function, int fd, const char *status) {
    char expected[100];
    snprintf(expected, sizeof expected, "treadle-cf: %s: descriptor %d is not watched", function, fd);
    if (!strstr(said, expected) || !strstr(said, status)) CHECK_TEXT(said, expected);
}
static void ready(CFFileDescriptorRef descriptor, CFOptionFlags kinds, void *info) { (void)descriptor, (void)kinds, (void)info; }
static CFFileDescriptorRef watch(int fd) {
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, fd, false, ready, NULL);
    CFRunLoopSourceRef source = CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 0);
    CHECK(source != NULL);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(source);
    return descriptor;
}

TEST(enabling_a_closed_descriptor_is_refused, "FD-2 SRC1-8") {
    int ends[2];
    CHECK(pipe(ends) == 0);
    CFFileDescriptorRef descriptor = watch(ends[0]);
    listen_to_errors();
    close(ends[0]);
    for (int i = 0; i < 3; i++) {
        CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
        CFFileDescriptorDisableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    }
    CHECK_INT(lines_said(), 1);
    check_said("CFFileDescriptorEnableCallBacks", ends[0], "TREADLE_E_SYSTEM");
    CFRelease(descriptor);
}

TEST(enabling_a_closed_socket_is_refused, "SOCK-7 SRC1-8") {
    int ends[2];
    pair(ends);
    CFSocketRef socket = with_native(ends[0], kCFSocketReadCallBack, "a");
    add(socket);
    CFSocketDisableCallBacks(socket, kCFSocketReadCallBack);
    listen_to_errors();
    close(ends[0]);
    for (int i = 0; i < 3; i++) CFSocketEnableCallBacks(socket, kCFSocketReadCallBack);
    CHECK_INT(lines_said(), 1);
    check_said("CFSocketEnableCallBacks", ends[0], "TREADLE_E_SYSTEM");
    CFSocketSetSocketFlags(socket, 0);
    finish(socket);
    close(ends[1]);
}

TEST(two_sources_for_a_descriptor_in_a_mode_are_refused, "SRC1-7 FD-7 SOCK-8") {
    int ends[2];
    pair(ends);
    CFFileDescriptorRef descriptor = watch(ends[0]);
    CFSocketRef socket = with_native(ends[0], kCFSocketReadCallBack, "a");
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, socket, 0);
    listen_to_errors();
    for (int i = 0; i < 3; i++) CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK_INT(lines_said(), 1);
    check_said("CFRunLoopAddSource", ends[0], "TREADLE_E_EXISTS");
    CHECK(!CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode));
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, CFSTR("m")); /* both are good in modes of their own */
    CHECK(write(ends[1], "x", 1) == 1);
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_INT(CFRunLoopRunInMode(CFSTR("m"), 0, true), kCFRunLoopRunHandledSource);
    CHECK_TRACE("a:read");
    CFRelease(source);
    CFRelease(descriptor);
    finish(socket);
    close(ends[1]);
}

static int port(void *info) { return *(int *)info; }
static void perform(void *info) { (void)info; }
TEST(a_port_that_cannot_be_watched_is_refused, "SRC1-1 SRC1-7") {
    int ends[2];
    CHECK(pipe(ends) == 0);
    CFRunLoopSourceContext1 context = {.version = 1, .info = &ends[0], .getPort = port, .perform = perform};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    listen_to_errors();
    close(ends[0]);
    for (int i = 0; i < 3; i++) CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK_INT(lines_said(), 1);
    CHECK(strstr(said, "CFRunLoopAddSource") && strstr(said, "TREADLE_E_SYSTEM"));
    CHECK(!CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode));
    CFRelease(source);
    close(ends[1]);
}

TEST(a_source_of_a_closed_descriptor_is_not_made, "FD-7 SOCK-8") {
    int ends[2];
    pair(ends);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], false, ready, NULL);
    CFSocketRef socket = with_native(ends[1], kCFSocketReadCallBack, "a");
    listen_to_errors();
    close(ends[0]);
    close(ends[1]);
    CHECK(CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 0) == NULL);
    CHECK(CFSocketCreateRunLoopSource(NULL, socket, 0) == NULL);
    CHECK_INT(lines_said(), 2);
    check_said("CFFileDescriptorCreateRunLoopSource", ends[0], "TREADLE_E_ARG");
    check_said("CFSocketCreateRunLoopSource", ends[1], "TREADLE_E_ARG");
    CFSocketSetSocketFlags(socket, 0);
    finish(socket);
    CFRelease(descriptor);
}

TEST(what_is_expected_is_not_told, "SOCK-8 SOCK-9 FD-6") {
    int ends[2];
    pair(ends);
    listen_to_errors();
    CFSocketRef socket = with_native(ends[0], kCFSocketReadCallBack, "a");
    add(socket);
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, socket, 0);
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
    CFSocketEnableCallBacks(socket, kCFSocketReadCallBack); /* it has no source now */
    add(socket);
    CHECK(write(ends[1], "x", 1) == 1);
    run_one();
    CFSocketInvalidate(socket);
    CFSocketEnableCallBacks(socket, kCFSocketReadCallBack);
    CFRelease(socket);
    CFFileDescriptorRef descriptor = watch(ends[1]);
    CFFileDescriptorInvalidate(descriptor);
    CFFileDescriptorEnableCallBacks(descriptor, kCFFileDescriptorReadCallBack);
    CFRelease(descriptor);
    if (lines_said() != 0) CHECK_TEXT(said, "");
    close(ends[1]);
}

TEST_MAIN()
