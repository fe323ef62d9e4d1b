/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFSocket, on loopback and on pairs of sockets. */
#include "sockets.h"

TEST(one_object_stands_for_a_descriptor, "SOCK-1 SOCK-2 SOCK-8 SOCK-9") {
    int ends[2];
    pair(ends);
    CFSocketRef socket = with_native(ends[0], kCFSocketReadCallBack, "a");
    CFSocketContext other = named("other");
    CHECK(CFSocketCreateWithNative(NULL, ends[0], kCFSocketDataCallBack, told, &other) == socket);
    CFRelease(socket);
    CHECK(retained == 1 && CFSocketGetSocketFlags(socket) == 0x81 && CFSocketGetNative(socket) == ends[0]);
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, socket, 1), again = CFSocketCreateRunLoopSource(NULL, socket, 2);
    CHECK(source == again && CFRunLoopSourceGetOrder(source) == 1);
    CFRunLoopSourceInvalidate(source);
    CFRelease(again);
    CFRelease(source);
    CHECK(CFSocketIsValid(socket));
    source = CFSocketCreateRunLoopSource(NULL, socket, 3);
    CHECK(CFRunLoopSourceIsValid(source) && CFRunLoopSourceGetOrder(source) == 3);
    CFSocketContext read = {0};
    CFSocketGetContext(socket, &read);
    CHECK(strcmp(read.info, "a") == 0);
    CFSocketInvalidate(socket);
    CFSocketInvalidate(socket);
    CHECK(released == 1 && !CFSocketIsValid(socket) && !CFRunLoopSourceIsValid(source) && CFSocketGetNative(socket) == -1);
    CHECK(fcntl(ends[0], F_GETFD) < 0 && CFSocketCreateRunLoopSource(NULL, socket, 0) == NULL);
    CFRelease(source);
    CFRelease(socket);
    /* Without the flag the descriptor stays; and the number may have an object again. */
    socket = with_native(ends[1], kCFSocketDataCallBack | kCFSocketWriteCallBack, "b");
    CHECK_INT(CFSocketGetSocketFlags(socket), 0x83);
    CFSocketSetSocketFlags(socket, CFSocketGetSocketFlags(socket) & ~(CFOptionFlags)kCFSocketCloseOnInvalidate);
    finish(socket);
    CHECK(fcntl(ends[1], F_GETFD) >= 0);
    socket = with_native(ends[1], kCFSocketReadCallBack, "c");
    CFRelease(socket); /* the last reference ends it, too */
    CHECK(fcntl(ends[1], F_GETFD) < 0 && retained == released);
}

TEST(reading_is_told_while_there_is_something, "SOCK-3 SOCK-4 SOCK-10") {
    int ends[2];
    char byte;
    pair(ends);
    CFSocketRef socket = with_native(ends[0], kCFSocketReadCallBack, "a");
    add(socket);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK_INT(poll_once(), kCFRunLoopRunHandledSource);
    run_one();
    CHECK_TRACE("a:read a:read");
    CFSocketDisableCallBacks(socket, kCFSocketReadCallBack);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CFSocketSetSocketFlags(socket, kCFSocketCloseOnInvalidate);
    CFSocketEnableCallBacks(socket, kCFSocketReadCallBack | kCFSocketWriteCallBack | kCFSocketConnectCallBack);
    run_one();
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CHECK_TRACE("a:read");
    CHECK(read(ends[0], &byte, 1) == 1);
    close(ends[1]);
    CFSocketEnableCallBacks(socket, kCFSocketReadCallBack);
    run_one();
    CHECK_TRACE("a:read");
    CHECK(read(ends[0], &byte, 1) == 0);
    finish(socket);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true) == kCFRunLoopRunFinished && retained == released);
}

TEST(data_is_read_until_the_end, "SOCK-3 SOCK-5") {
    int ends[2];
    pair(ends);
    CFSocketRef socket = with_native(ends[0], kCFSocketDataCallBack, "a");
    add(socket);
    CHECK(write(ends[1], "hello", 5) == 5);
    run_one();
    CHECK(write(ends[1], "bye", 3) == 3);
    close(ends[1]);
    run_one();
    CHECK(CFSocketIsValid(socket));
    run_one();
    CHECK_TRACE("a:data:hello a:data:bye a:data:");
    CHECK(!CFSocketIsValid(socket) && released > 0 && retained == released);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true), kCFRunLoopRunFinished);
    CFRelease(socket);
}

TEST(datagrams_have_their_sender, "SOCK-3 SOCK-5 SOCK-11") {
    CFSocketContext one = named("one"), two = named("two");
    CFSocketRef a = CFSocketCreate(NULL, PF_INET, SOCK_DGRAM, 0, kCFSocketDataCallBack, told, &one);
    CFSocketRef b = CFSocketCreate(NULL, PF_INET, SOCK_DGRAM, 0, kCFSocketDataCallBack, told, &two);
    CFDataRef any = loopback(0);
    CHECK(CFSocketSetAddress(a, any) == kCFSocketSuccess && CFSocketSetAddress(b, any) == kCFSocketSuccess);
    CFDataRef to = CFSocketCopyAddress(b), from = CFSocketCopyAddress(a), text = CFDataCreate(NULL, (const UInt8 *)"ping", 4), empty = CFDataCreate(NULL, NULL, 0);
    add(a);
    add(b);
    CHECK_INT(CFSocketSendData(a, to, text, 1), kCFSocketSuccess);
    run_one();
    CHECK_TRACE("two:data:ping");
    CHECK(CFEqual(sender, from));
    CHECK_INT(CFSocketSendData(a, to, empty, 0), kCFSocketError); /* it is sent, but CoreFoundation calls it none */
    run_one();
    CHECK_TRACE("two:data:");
    CHECK(CFSocketIsValid(b)); /* an empty datagram is no end */
    CHECK_INT(CFSocketSendData(a, NULL, text, 0), kCFSocketError);
    CFTypeRef all[] = {any, to, from, text, empty, sender};
    for (int i = 0; i < 6; i++) CFRelease(all[i]);
    finish(a);
    finish(b);
    CHECK_INT(retained, released);
}

static void leave(CFSocketRef s, CFSocketCallBackType type) {
    if (type == kCFSocketConnectCallBack) CFSocketInvalidate(s);
}
TEST(a_listener_accepts_and_a_client_connects, "SOCK-3 SOCK-6 SOCK-7 SOCK-11") {
    CFDataRef any = loopback(0);
    CFSocketContext server_context = named("server"), client_context = named("client");
    CFSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, any};
    CFSocketRef server = CFSocketCreateWithSocketSignature(NULL, &signature, kCFSocketAcceptCallBack, told, &server_context);
    CHECK(server != NULL);
    add(server);
    CFDataRef to = loopback(port_of(server));
    CFSocketRef client = CFSocketCreate(NULL, 0, 0, 0, kCFSocketConnectCallBack | kCFSocketReadCallBack | kCFSocketWriteCallBack, told, &client_context);
    add(client);
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut); /* nothing is told of a socket that is not connected */
    CHECK_INT(CFSocketConnectToAddress(client, to, -1), kCFSocketSuccess);
    while (!strstr(trace_text, "accept") || !strstr(trace_text, "client:write")) run_one();
    CHECK(strstr(trace_text, "client:connect:0 client:write") && taken >= 0);
    trace_clear();
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut); /* writing is told once, the connection for ever once */
    CFDataRef peer = CFSocketCopyPeerAddress(client);
    CHECK(CFEqual(peer, to));
    CHECK(write(taken, "x", 1) == 1);
    run_one();
    CHECK_TRACE("client:read");
    close(taken);
    finish(client);

    /* The same, waiting; the kernel accepts by itself. */
    signature.address = to;
    client = CFSocketCreateConnectedToSocketSignature(NULL, &signature, kCFSocketDataCallBack, told, &client_context, 60);
    CHECK(client != NULL && (fcntl(CFSocketGetNative(client), F_GETFL) & O_NONBLOCK) == 0);
    run_one();
    CHECK_TRACE("server:accept");
    CFRelease(peer);
    peer = CFDataCreate(NULL, (const UInt8 *)"answer", 6);
    CFSocketRef accepted = with_native(taken, kCFSocketNoCallBack, "accepted");
    add(client);
    CHECK_INT(CFSocketSendData(accepted, NULL, peer, 5), kCFSocketSuccess);
    run_one();
    CHECK_TRACE("client:data:answer");
    finish(client);
    finish(accepted);

    /* Invalidated by the connect callback: no write callback follows. */
    also = leave;
    client = CFSocketCreate(NULL, 0, 0, 0, kCFSocketConnectCallBack | kCFSocketWriteCallBack, told, &client_context);
    add(client);
    CHECK_INT(CFSocketConnectToAddress(client, to, -1), kCFSocketSuccess);
    while (!strstr(trace_text, "connect")) run_one();
    CHECK(!strstr(trace_text, "write") && !CFSocketIsValid(client));
    CFRelease(client);
    also = NULL;
    finish(server);
    CFRelease(any);
    CFRelease(to);
    CFRelease(peer);
    if (sender) CFRelease(sender);
    CHECK_INT(retained, released);
}

static void *drain_slowly(void *argument) {
    char bytes[4096];
    ssize_t n;
    int64_t total = 0;
    while ((n = read(*(int *)argument, bytes, sizeof bytes)) > 0) total += n;
    return (void *)(intptr_t)total;
}
TEST(sending_writes_everything_or_times_out, "SOCK-11") {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CFSocketRef socket = with_native(ends[0], kCFSocketNoCallBack, "a");
    enum { LARGE = 4 << 20 };
    CFMutableDataRef data = CFDataCreateMutable(NULL, 0);
    CFDataSetLength(data, LARGE);
    CHECK_INT(CFSocketSendData(socket, NULL, data, 0.01), kCFSocketTimeout);
    finish(socket);
    close(ends[1]);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    socket = with_native(ends[0], kCFSocketNoCallBack, "a");
    pthread_t thread;
    void *total = NULL;
    CHECK(pthread_create(&thread, NULL, drain_slowly, &ends[1]) == 0);
    CHECK_INT(CFSocketSendData(socket, NULL, data, 0), kCFSocketSuccess);
    finish(socket);
    pthread_join(thread, &total);
    CHECK_INT((intptr_t)total, LARGE);
    CFRelease(data);
    close(ends[1]);
}

static CFRunLoopRef loop;
static CFSocketRef shared;
static sem_t asleep;
static void tell(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)observer, (void)activity, (void)info;
    sem_post(&asleep);
}
static void *end(void *argument) {
    (void)argument;
    await(&asleep);
    while (!CFRunLoopIsWaiting(loop)) sched_yield();
    CFSocketInvalidate(shared);
    return NULL;
}
TEST(invalidation_wakes_the_loops_that_watch, "SOCK-9") {
    int ends[2];
    pair(ends);
    loop = CFRunLoopGetCurrent();
    sem_init(&asleep, 0, 0);
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, 0, tell, NULL);
    CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);
    CFRelease(observer);
    shared = with_native(ends[0], kCFSocketReadCallBack, "a");
    add(shared);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end, NULL) == 0);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true), kCFRunLoopRunFinished);
    pthread_join(thread, NULL);
    CFRelease(shared);
    close(ends[1]);
}

static int seen;
static void count_seen(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    (void)s, (void)address, (void)data, (void)info;
    seen += type == kCFSocketReadCallBack;
}
static int threads_now(void) {
    char line[200];
    int threads = 0;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status)) sscanf(line, "Threads: %d", &threads);
    fclose(status);
    return threads;
}
static void count_descriptor(CFFileDescriptorRef descriptor, CFOptionFlags kinds, void *info) {
    (void)descriptor, (void)kinds, (void)info;
    seen++;
}
TEST(thousands_of_sockets_and_descriptors_are_watched_without_a_thread, "SOCK-10 FD-2") {
    enum { MANY = 5000 };
    struct rlimit limit = {2 * MANY + 100, 2 * MANY + 100};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    int many = limit.rlim_cur / 2 > MANY + 50 ? MANY : (int)(limit.rlim_cur / 4 - 25) * 2, ends[2];
    int before = threads_now();
    static CFSocketRef sockets[MANY];
    static CFFileDescriptorRef descriptors[MANY];
    for (int i = 0; i < many; i++) {
        if (i % 2 == 0) pair(ends); /* both ends are sockets here */
        sockets[i] = CFSocketCreateWithNative(NULL, ends[i % 2], kCFSocketReadCallBack, count_seen, NULL);
        CFSocketSetSocketFlags(sockets[i], kCFSocketCloseOnInvalidate);
        add(sockets[i]);
        descriptors[i] = CFFileDescriptorCreate(NULL, eventfd(1, EFD_CLOEXEC), true, count_descriptor, NULL);
        CFRunLoopSourceRef source = CFFileDescriptorCreateRunLoopSource(NULL, descriptors[i], 0);
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
        CFRelease(source);
        CFFileDescriptorEnableCallBacks(descriptors[i], kCFFileDescriptorReadCallBack);
    }
    for (int i = 0; i < many; i++) CHECK(write(CFSocketGetNative(sockets[i]), "x", 1) == 1);
    while (seen < 2 * many) run_one();
    CHECK_INT(poll_once(), kCFRunLoopRunTimedOut);
    CHECK_INT(seen, 2 * many);
    CHECK_INT(threads_now(), before);
    for (int i = 0; i < many; i++) {
        finish(sockets[i]);
        CFFileDescriptorInvalidate(descriptors[i]);
        CFRelease(descriptors[i]);
    }
    CHECK_INT(poll_once(), kCFRunLoopRunFinished);
}

TEST(bad_sockets_have_no_effect, "SOCK-9 RL-12") {
    int ends[2];
    pair(ends);
    CFSocketRef gone = with_native(ends[0], kCFSocketReadCallBack, "a");
    CFRelease(gone);
    CFDataRef address = loopback(1), garbage = CFDataCreate(NULL, (const UInt8 *)"?", 1);
    CFSocketRef ended = with_native(ends[1], kCFSocketReadCallBack, "b");
    CFSocketInvalidate(ended);
    CFSocketRef bad[] = {NULL, gone, (CFSocketRef)(void *)address, ended};
    for (int i = 0; i < 4; i++) {
        CHECK(!CFSocketIsValid(bad[i]) && CFSocketGetNative(bad[i]) == -1);
        CHECK_INT(CFSocketSetAddress(bad[i], address), kCFSocketError);
        CHECK_INT(CFSocketConnectToAddress(bad[i], address, -1), kCFSocketError);
        CHECK_INT(CFSocketSendData(bad[i], NULL, address, 0), kCFSocketError);
        CHECK(CFSocketCopyAddress(bad[i]) == NULL && CFSocketCopyPeerAddress(bad[i]) == NULL);
        CHECK(CFSocketCreateRunLoopSource(NULL, bad[i], 0) == NULL);
        CFSocketEnableCallBacks(bad[i], 15);
        CFSocketDisableCallBacks(bad[i], 15);
        CFSocketGetContext(bad[i], NULL);
        CFSocketInvalidate(bad[i]);
    }
    CFRelease(ended);
    CHECK(CFSocketCreateWithNative(NULL, -1, 1, told, NULL) == NULL && CFSocketCreateWithNative(NULL, 9999, 1, told, NULL) == NULL);
    CHECK(CFSocketCreateWithSocketSignature(NULL, NULL, 0, told, NULL) == NULL);
    CHECK(CFSocketCreate(NULL, 9999, 0, 0, 0, told, NULL) == NULL);
    CFSocketRef socket = CFSocketCreate(NULL, 0, 0, 0, 0, NULL, NULL);
    CHECK_INT(CFSocketSetAddress(socket, garbage), kCFSocketError);
    CHECK_INT(CFSocketSetAddress(socket, NULL), kCFSocketError);
    CHECK_INT(CFSocketConnectToAddress(socket, garbage, 1), kCFSocketError);
    CHECK_INT(CFSocketSendData(socket, NULL, NULL, 1), kCFSocketError);
    finish(socket);
    CFRelease(address);
    CFRelease(garbage);
}

TEST_MAIN()
