/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFSocket connecting, and with the Connect kind on the program's own descriptors: which of them count as connecting, what
 * is told of the others, and whose SO_ERROR is. CoreFoundation's traces of the same are in differential/connects.c. */
#include "sockets.h"

static const CFOptionFlags all = kCFSocketReadCallBack | kCFSocketConnectCallBack | kCFSocketWriteCallBack;

static void poll_times(int times) {
    for (int i = 0; i < times; i++) poll_once();
}
static void leave_errors(CFSocketRef socket) { CFSocketSetSocketFlags(socket, CFSocketGetSocketFlags(socket) | kCFSocketLeaveErrors); }
/* A socket whose connect was refused, with the error still to be read. */
static int refused_fd(void) {
    CFDataRef address = nobody();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK_INT(connect_fd(fd, address), EINPROGRESS);
    CFRelease(address);
    struct pollfd one = {.fd = fd, .events = POLLOUT};
    while (poll(&one, 1, -1) < 0) {}
    return fd;
}
static int reset_by_peer(void) {
    int ends[2];
    connected(ends);
    reset_fd(ends[1]);
    return ends[0];
}

TEST(a_pipe_is_read_and_written, "SOCK-12 SOCK-4") {
    int ends[2];
    char byte;
    CHECK(pipe(ends) == 0);
    CFSocketRef reader = with_native(ends[0], all, "r"), writer = with_native(ends[1], all, "w");
    add(reader);
    add(writer);
    run_one();
    CHECK_TRACE("w:write"); /* no Connect for what does not connect */
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CHECK(write(ends[1], "x", 1) == 1);
    run_one();
    CHECK_TRACE("r:read");
    CHECK(read(ends[0], &byte, 1) == 1);
    finish(writer);
    run_one();
    CHECK_TRACE("r:read");
    CHECK(read(ends[0], &byte, 1) == 0);
    finish(reader);
    CHECK_INT(retained, released);
}

TEST(a_connection_that_was_there_is_told_once, "SOCK-12 SOCK-2 SOCK-6") {
    int ends[2];
    char byte;
    connected(ends);
    CHECK(write(ends[1], "x", 1) == 1);
    CFSocketRef socket = with_native(ends[0], all, "s");
    add(socket);
    run_one();
    CHECK_TRACE("s:connect:0 s:read s:write");
    CHECK(read(ends[0], &byte, 1) == 1);
    CFSocketEnableCallBacks(socket, kCFSocketConnectCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    finish(socket);

    pair(ends); /* with nothing but Connect */
    socket = with_native(ends[0], kCFSocketConnectCallBack, "p");
    add(socket);
    CHECK(write(ends[1], "x", 1) == 1);
    run_one();
    CHECK_TRACE("p:connect:0");
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    finish(socket);
    close(ends[1]);

    CFDataRef address; /* after a connect that was waited for, too */
    int server = listen_at(&address, 2);
    CFSocketContext context = named("c");
    socket = CFSocketCreate(NULL, 0, 0, 0, all, told, &context);
    CHECK_INT(CFSocketConnectToAddress(socket, address, 60), kCFSocketSuccess);
    add(socket);
    run_one();
    CHECK_TRACE("c:connect:0 c:write");
    finish(socket);
    close(server);
    CFRelease(address);
}

TEST(a_listener_waits_for_no_connection, "SOCK-12") {
    CFDataRef address;
    int server = listen_at(&address, 2), client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CFSocketRef listener = with_native(server, all, "l");
    add(listener);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CHECK_INT(connect_fd(client, address), 0);
    run_one();
    CHECK_TRACE("l:read");
    finish(listener);
    CFRelease(address);
}

TEST(a_failed_connect_is_told_its_error, "SOCK-12 SOCK-6") {
    char expected[50];
    for (int i = 0; i < 2; i++) {
        int fd = i ? reset_by_peer() : refused_fd();
        CFSocketRef socket = with_native(fd, all, "s");
        add(socket);
        run_one();
        snprintf(expected, sizeof expected, "s:connect:%d s:read", i ? ECONNRESET : ECONNREFUSED);
        CHECK_TRACE(expected);
        CHECK_INT(pending_error(fd), 0);
        run_one();
        CHECK_TRACE("s:read"); /* there is an end to be read; and no Write after a failed connect */
        CFSocketEnableCallBacks(socket, kCFSocketWriteCallBack);
        run_one();
        CHECK_TRACE("s:read s:write");
        finish(socket);
    }
}

TEST(errors_are_left_to_who_wants_them, "SOCK-12 SOCK-2") {
    for (int i = 0; i < 6; i++) {
        int fd = i < 3 ? refused_fd() : reset_by_peer(), error = i < 3 ? ECONNREFUSED : ECONNRESET;
        CFSocketRef socket = with_native(fd, i % 3 == 1 ? all & ~(CFOptionFlags)kCFSocketConnectCallBack : all, "s");
        if (i % 3 == 0) leave_errors(socket);
        add(socket);
        if (i % 3 == 2) { /* as an event loop does that keeps readers and writers itself */
            CFSocketDisableCallBacks(socket, all);
            CFSocketEnableCallBacks(socket, kCFSocketReadCallBack);
            CFSocketEnableCallBacks(socket, kCFSocketWriteCallBack);
        }
        run_one();
        CHECK_TRACE(i % 3 == 0 ? "s:connect:0 s:read s:write" : "s:read s:write");
        CHECK_INT(pending_error(fd), error);
        finish(socket);
    }
}

TEST(a_descriptor_that_connects_waits, "SOCK-12") {
    CFDataRef address;
    int server = listen_at(&address, 0), fd;
    struct pollfd one;
    do { /* the queue of a listener that takes nobody is full in the end */
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        CHECK_INT(connect_fd(fd, address), EINPROGRESS);
        one = (struct pollfd){.fd = fd, .events = POLLOUT};
    } while (poll(&one, 1, 0) > 0);
    CFSocketRef socket = with_native(fd, all, "s");
    add(socket);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CFSocketRef accepting = with_native(server, kCFSocketAcceptCallBack, "server");
    add(accepting);
    while (!strstr(trace_text, "s:")) run_one();
    CHECK(strstr(trace_text, "server:accept") && strstr(trace_text, "s:connect:0 s:write") && !strstr(trace_text, "s:read"));
    finish(socket);
    finish(accepting);
    CFRelease(address);
}

/* A listener in a process without descriptors closes what comes, and is quiet then. */
TEST(a_listener_without_descriptors_does_not_spin, "SOCK-3") {
    CFDataRef address;
    char byte;
    struct rlimit saved, lowered;
    int server = listen_at(&address, 8), clients[3];
    CFSocketRef accepting = with_native(server, kCFSocketAcceptCallBack, "server");
    add(accepting);
    for (int i = 0; i < 3; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (i < 2) CHECK_INT(connect_fd(clients[i], address), 0);
    }
    CHECK_INT(poll_once() == kCFRunLoopRunHandledSource, 1); /* one is let in, so that the loop has all that it needs */
    trace_clear();
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &saved), 0);
    lowered = saved;
    int free_number = dup(2);
    CHECK(free_number > 0 && close(free_number) == 0);
    lowered.rlim_cur = (rlim_t)free_number;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &lowered), 0);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut); /* nothing waits any more */
    CHECK_TRACE("");
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &saved), 0);
    CHECK(recv(clients[1], &byte, 1, 0) <= 0);
    CHECK_INT(connect_fd(clients[2], address), 0);
    while (!strstr(trace_text, "server:accept")) run_one();
    for (int i = 0; i < 3; i++) close(clients[i]);
    finish(accepting);
    CFRelease(address);
}

TEST(disabled_connect_gives_way_to_write, "SOCK-12 SOCK-7 SOCK-10") {
    int ends[2];
    for (int i = 0; i < 2; i++) {
        pair(ends);
        CFSocketRef socket = with_native(ends[0], all, "s");
        add(socket);
        CFSocketDisableCallBacks(socket, all);
        CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
        CFSocketEnableCallBacks(socket, i ? kCFSocketWriteCallBack : kCFSocketConnectCallBack);
        run_one();
        CHECK_TRACE(i ? "s:write" : "s:connect:0");
        CFSocketEnableCallBacks(socket, i ? kCFSocketConnectCallBack : kCFSocketWriteCallBack);
        CHECK_INT(poll_once(), i ? kCFRunLoopRunTimedOut : kCFRunLoopRunHandledSource);
        CHECK_TRACE(i ? "" : "s:write");
        finish(socket);
        close(ends[1]);
    }
}

TEST(a_connect_that_fails_at_once_says_so, "SOCK-7 SOCK-12") {
    struct sockaddr path[4] = {{.sa_family = AF_UNIX, .sa_data = "/nowhere/at"}};
    CFDataRef address = CFDataCreate(NULL, (const UInt8 *)path, 16);
    CFSocketContext context = named("s");
    CFSocketSignature signature = {PF_UNIX, SOCK_STREAM, 0, address};
    CFSocketRef socket = CFSocketCreate(NULL, PF_UNIX, SOCK_STREAM, 0, all, told, &context);
    add(socket);
    CHECK_INT(CFSocketConnectToAddress(socket, address, -1), kCFSocketError);
    CHECK_INT(CFSocketConnectToAddress(socket, address, 60), kCFSocketError);
    poll_times(3);
    CHECK_TRACE(""); /* neither Connect nor anything else of a socket that is not connected */
    CHECK(CFSocketIsValid(socket));
    CHECK(CFSocketCreateConnectedToSocketSignature(NULL, &signature, all, told, &context, -1) == NULL);
    finish(socket);
    CFRelease(address);
    CHECK_INT(retained, released);
}

static void change_flags(CFSocketRef s, CFSocketCallBackType type) {
    if (type == kCFSocketReadCallBack) CFSocketSetSocketFlags(s, kCFSocketAutomaticallyReenableWriteCallBack);
}
static void run_inside(CFSocketRef s, CFSocketCallBackType type) {
    (void)s;
    if (type != kCFSocketReadCallBack) return;
    poll_once(); /* the kernel is asked to be quiet when it reports once more */
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
}
TEST(flags_count_when_the_callback_has_returned, "SOCK-2 SOCK-4") {
    int ends[2];
    pair(ends);
    CHECK(write(ends[1], "x", 1) == 1);
    CFSocketRef socket = with_native(ends[0], kCFSocketReadCallBack | kCFSocketWriteCallBack, "s");
    add(socket);
    CFSocketDisableCallBacks(socket, kCFSocketWriteCallBack);
    also = run_inside; /* what is being told is not told again inside */
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, FAR_AWAY, 0, 0, 0, NULL, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    CFRelease(timer);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("s:read s:read");
    also = change_flags;
    CFSocketEnableCallBacks(socket, kCFSocketWriteCallBack);
    for (int i = 0; i < 3; i++) CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    CHECK_TRACE("s:read s:write s:write s:write");
    finish(socket);
    close(ends[1]);
}

TEST(coming_into_a_mode_enables_every_kind, "SOCK-7 SOCK-8") {
    int ends[2];
    pair(ends);
    CHECK(write(ends[1], "x", 1) == 1);
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFSocketRef socket = with_native(ends[0], kCFSocketReadCallBack | kCFSocketWriteCallBack, "s");
    CFSocketDisableCallBacks(socket, kCFSocketReadCallBack); /* it is in no mode */
    add(socket);
    run_one();
    CHECK_TRACE("s:read s:write");
    CFSocketDisableCallBacks(socket, kCFSocketReadCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, socket, 0);
    CFRunLoopAddSource(loop, source, CFSTR("m")); /* it is in another already */
    CFRunLoopRemoveSource(loop, source, kCFRunLoopDefaultMode);
    CHECK_INT(CFRunLoopRunInMode(CFSTR("m"), 0, true), kCFRunLoopRunTimedOut);
    CFRunLoopRemoveSource(loop, source, CFSTR("m"));
    CFSocketEnableCallBacks(socket, kCFSocketReadCallBack);
    add(socket);
    run_one();
    CHECK_TRACE("s:read s:write");
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
    add(socket);
    run_one();
    CHECK_TRACE("s:read s:write");
    finish(socket);
    close(ends[1]);
}

TEST(a_hang_up_that_no_kind_waits_for_lets_the_loop_sleep, "SOCK-12 SRC1-8") {
    int ends[2];
    CHECK(pipe(ends) == 0);
    CFSocketRef socket = with_native(ends[0], kCFSocketReadCallBack | kCFSocketWriteCallBack, "s");
    add(socket);
    CFSocketDisableCallBacks(socket, kCFSocketReadCallBack);
    close(ends[1]);
    poll_once(); /* the kernel reports it whatever is watched for */
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CFSocketEnableCallBacks(socket, kCFSocketReadCallBack);
    run_one();
    CHECK_TRACE("s:read");
    finish(socket);
}

TEST(a_failed_connection_is_told, "SOCK-6 SOCK-7") {
    CFDataRef any = loopback(0);
    CFSocketContext context = named("c");
    CFSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, any};
    CFSocketRef bound = CFSocketCreateWithSocketSignature(NULL, &signature, kCFSocketNoCallBack, told, &context);
    CFDataRef nobody = loopback(port_of(bound));
    finish(bound); /* nobody listens there any more */
    CFSocketRef client = CFSocketCreate(NULL, 0, 0, 0, kCFSocketConnectCallBack | kCFSocketReadCallBack | kCFSocketWriteCallBack, told, &context);
    add(client);
    CHECK_INT(CFSocketConnectToAddress(client, nobody, -1), kCFSocketSuccess);
    run_one();
    char expected[50];
    snprintf(expected, sizeof expected, "c:connect:%d", ECONNREFUSED);
    CHECK_TRACE(expected);
    CHECK(CFSocketIsValid(client));
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CHECK_INT(CFSocketConnectToAddress(client, nobody, 60), kCFSocketError);
    signature.address = nobody;
    CHECK(CFSocketCreateConnectedToSocketSignature(NULL, &signature, 0, told, &context, 60) == NULL);
    finish(client);
    CFRelease(any);
    CFRelease(nobody);
    CHECK_INT(retained, released);
}

TEST(waiting_for_a_connection_has_an_end, "SOCK-7") {
    CFDataRef any = loopback(0);
    CFSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, any};
    CFSocketRef server = CFSocketCreateWithSocketSignature(NULL, &signature, kCFSocketNoCallBack, NULL, NULL);
    CHECK(listen(CFSocketGetNative(server), 0) == 0); /* nobody accepts: once its queue is full, nobody is let in */
    CFDataRef to = loopback(port_of(server));
    CFSocketRef clients[8];
    CFSocketError status = kCFSocketSuccess;
    int count = 0;
    while (count < 8 && status == kCFSocketSuccess) {
        clients[count] = CFSocketCreate(NULL, 0, 0, 0, kCFSocketConnectCallBack, told, NULL);
        status = CFSocketConnectToAddress(clients[count++], to, 0.05);
    }
    CHECK_INT(status, kCFSocketTimeout);
    while (count > 0) finish(clients[--count]);
    finish(server);
    CFRelease(any);
    CFRelease(to);
}

TEST_MAIN()
