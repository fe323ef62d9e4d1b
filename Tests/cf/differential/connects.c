/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Scenarios of CFSocket: connections that are finished, fail, or were there already, and their errors. */
#include "scenario.h"
#include "sockets.h"

static struct sock s = {.name = "s"};
static const CFOptionFlags all = kCFSocketReadCallBack | kCFSocketConnectCallBack | kCFSocketWriteCallBack;

/* --- By CFSocketConnectToAddress --------------------------------------------------------------------------- */

static void connect_and_run(CFDataRef address, CFOptionFlags kinds, CFTimeInterval timeout) {
    const struct sockaddr *at = (const void *)CFDataGetBytePtr(address);
    create(&s, at->sa_family, SOCK_STREAM, kinds);
    say("%d", (int)CFSocketConnectToAddress(s.ref, address, timeout));
    add(&s);
    pass();
}
static void invalidate(struct sock *sock, CFSocketCallBackType type) {
    (void)type;
    CFSocketInvalidate(sock->ref);
}
SCENARIO(a_connect_in_the_background) {
    CFDataRef address = loopback(0);
    int server = listener(&address, 5);
    connect_and_run(address, all, -1);
    pass();
    int taken = accept(server, NULL, NULL);
    put(taken, "x");
    pass();
    enable(&s, CONNECT | WRITE);
    pass();
    pass();
    say("%d", (int)CFSocketConnectToAddress(s.ref, address, -1));
}
SCENARIO(a_connect_in_the_background_without_its_kind) {
    CFDataRef address = loopback(0);
    listener(&address, 5);
    connect_and_run(address, READ | WRITE, -1);
    pass();
}
SCENARIO(a_connect_in_the_background_is_refused) {
    s.also = invalidate;
    connect_and_run(nobody(), all, -1);
    say("%d", CFSocketIsValid(s.ref));
}
SCENARIO(a_connect_while_it_waits) {
    CFDataRef address = loopback(0);
    listener(&address, 5);
    connect_and_run(address, all, 10);
    pass();
}
SCENARIO(a_connect_that_blocks) {
    CFDataRef address = loopback(0);
    listener(&address, 5);
    connect_and_run(address, all, 0);
    pass();
}
SCENARIO(a_connect_that_waits_is_refused) {
    CFDataRef address = nobody();
    create(&s, 0, 0, all);
    say("%d%d", (int)CFSocketConnectToAddress(s.ref, address, 10), (int)CFSocketConnectToAddress(s.ref, address, 0));
}
SCENARIO(a_connect_to_an_abstract_address) {
    CFDataRef address = abstract("server");
    listener(&address, 5);
    connect_and_run(address, all, -1);
    pass();
}
SCENARIO(a_connect_to_an_abstract_address_of_nobody) {
    create(&s, PF_UNIX, SOCK_STREAM, all);
    say("%d", (int)CFSocketConnectToAddress(s.ref, abstract("nobody"), -1));
    say("%d", (int)CFSocketConnectToAddress(s.ref, abstract("nobody"), 10));
}
SCENARIO(a_connect_to_a_path) {
    char directory[] = "/tmp/treadle-cf-XXXXXX";
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    if (!mkdtemp(directory)) abort();
    snprintf(path.sun_path, sizeof path.sun_path, "%s/socket", directory);
    CFDataRef address = CFDataCreate(NULL, (const UInt8 *)&path, sizeof path), kept = address;
    create(&s, PF_UNIX, SOCK_STREAM, all);
    say("%d", (int)CFSocketConnectToAddress(s.ref, kept, -1));
    int server = listener(&address, 5);
    connect_and_run(kept, all, -1);
    close(server);
    create(&s, PF_UNIX, SOCK_STREAM, all);
    say("%d", (int)CFSocketConnectToAddress(s.ref, kept, -1)); /* a path without a listener */
    unlink(path.sun_path);
    rmdir(directory);
}
SCENARIO(invalidated_by_its_connect) {
    CFDataRef address = loopback(0);
    listener(&address, 5);
    s.also = invalidate;
    connect_and_run(address, all, -1);
    say("%d", CFSocketIsValid(s.ref));
}
static void disable_writing(struct sock *sock, CFSocketCallBackType type) {
    (void)type;
    disable(sock, WRITE);
}
SCENARIO(writing_disabled_by_its_connect) {
    CFDataRef address = loopback(0);
    listener(&address, 5);
    s.also = disable_writing;
    connect_and_run(address, all, -1);
    s.also = NULL;
    enable(&s, WRITE);
    pass();
}
SCENARIO(a_signature_is_connected) {
    CFDataRef address = loopback(0);
    listener(&address, 5);
    CFSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, address};
    CFSocketContext context = {.info = &s};
    begin_sockets();
    for (int i = 0; i < 2; i++) {
        s.ref = CFSocketCreateConnectedToSocketSignature(NULL, &signature, all, told, &context, i ? -1 : 10);
        s.fd = CFSocketGetNative(s.ref);
        add(&s);
        pass();
        CFSocketInvalidate(s.ref);
    }
    signature.address = nobody();
    say("%d", CFSocketCreateConnectedToSocketSignature(NULL, &signature, all, told, &context, 10) == NULL);
    signature.protocolFamily = PF_UNIX;
    signature.protocol = 0;
    signature.address = abstract("nobody");
    say("%d", CFSocketCreateConnectedToSocketSignature(NULL, &signature, all, told, &context, -1) == NULL);
}
SCENARIO(disabled_connect_is_left_out) {
    CFDataRef address = loopback(0);
    listener(&address, 5);
    create(&s, 0, 0, all);
    say("%d", (int)CFSocketConnectToAddress(s.ref, address, -1));
    add(&s);
    disable(&s, CONNECT | WRITE);
    pass();
    enable(&s, WRITE);
    pass();
    enable(&s, CONNECT | WRITE);
    pass();
}
SCENARIO(disabled_connect_is_told_later) {
    CFDataRef address = loopback(0);
    listener(&address, 5);
    create(&s, 0, 0, all);
    say("%d", (int)CFSocketConnectToAddress(s.ref, address, -1));
    add(&s);
    disable(&s, CONNECT | WRITE);
    pass();
    enable(&s, CONNECT);
    pass();
    enable(&s, WRITE);
    pass();
}

/* --- Native descriptors ------------------------------------------------------------------------------------ */

SCENARIO(a_native_that_is_connected) {
    int ends[2];
    connected_pair(ends);
    wrap(&s, ends[0], all);
    add(&s);
    pass();
    put(ends[1], "x");
    pass();
    CFRunLoopRemoveSource(LOOP, s.source, DEFAULT);
    add_to(&s, DEFAULT);
    pass(); /* Connect is told once for ever */
}
SCENARIO(a_native_pair) {
    wrap_pair(&s, SOCK_STREAM, all);
    put(s.other, "x");
    add(&s);
    pass();
    pass();
}
SCENARIO(a_native_pair_with_connect_alone) {
    wrap_pair(&s, SOCK_STREAM, CONNECT);
    put(s.other, "x");
    add(&s);
    pass();
    pass();
}
SCENARIO(a_native_pair_of_packets) {
    wrap_pair(&s, SOCK_SEQPACKET, all);
    put(s.other, "x");
    add(&s);
    pass();
}
SCENARIO(a_native_that_listens) {
    CFDataRef address = loopback(0);
    wrap(&s, listener(&address, 5), all);
    add(&s);
    pass();
    say("%d", connect_to(socket(AF_INET, SOCK_STREAM, 0), address));
    pass();
    pass();
}
/* A stream socket whose connect is being refused, or was. */
static int refused(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect_to(fd, nobody()) != EINPROGRESS) abort();
    await_report(fd, POLLOUT);
    return fd;
}
SCENARIO(a_native_that_was_refused) {
    wrap(&s, refused(), all);
    add(&s);
    pass();
    say("%d", pending_error(s.fd));
    pass();
    enable(&s, WRITE);
    pass();
}
SCENARIO(a_native_that_was_refused_and_leaves_errors) {
    wrap(&s, refused(), all);
    change_flags(&s, LEAVE, 0);
    add(&s);
    pass();
    say("%d", pending_error(s.fd));
}
SCENARIO(a_native_that_was_refused_without_connect) {
    wrap(&s, refused(), WRITE);
    add(&s);
    pass();
    say("%d", pending_error(s.fd));
}
SCENARIO(a_native_that_was_refused_with_connect_disabled) {
    wrap(&s, refused(), all);
    add(&s);
    disable(&s, CONNECT | READ);
    pass();
    say("%d", pending_error(s.fd));
}
SCENARIO(a_native_that_was_refused_and_told) {
    wrap(&s, refused(), all);
    say("%d", pending_error(s.fd));
    add(&s);
    pass();
    pass();
}
SCENARIO(a_native_that_was_never_connected) {
    wrap(&s, socket(AF_INET, SOCK_STREAM, 0), all);
    add(&s);
    pass();
    pass();
}
static void reset_by_peer(CFOptionFlags kinds, CFOptionFlags flags) {
    int ends[2];
    connected_pair(ends);
    reset(ends[1]);
    wrap(&s, ends[0], kinds);
    change_flags(&s, flags, 0);
    add(&s);
    pass();
    say("%d", pending_error(s.fd));
    pass();
}
SCENARIO(a_native_that_was_reset) { reset_by_peer(all, 0); }
SCENARIO(a_native_that_was_reset_and_leaves_errors) { reset_by_peer(all, LEAVE); }
SCENARIO(a_native_that_was_reset_without_connect) { reset_by_peer(READ | WRITE, 0); }
SCENARIO(a_native_that_was_reset_without_connect_and_leaves_errors) { reset_by_peer(READ | WRITE, LEAVE); }
SCENARIO(a_pair_that_was_reset) {
    wrap_pair(&s, SOCK_STREAM, all);
    put(s.fd, "x");
    close(s.other); /* with something unread */
    add(&s);
    pass();
    say("%d", pending_error(s.fd));
    pass();
}
SCENARIO(reset_after_its_connect) {
    int ends[2];
    connected_pair(ends);
    wrap(&s, ends[0], all);
    add(&s);
    pass();
    reset(ends[1]);
    pass();
    say("%d", pending_error(s.fd));
}
SCENARIO(a_native_that_connects) {
    /* The queue of a listener that takes nobody is full: the next connect begins and does not end. */
    CFDataRef address = loopback(0);
    int server = listener(&address, 0), fd = -1;
    struct pollfd one;
    do {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect_to(fd, address) != EINPROGRESS) abort();
        one = (struct pollfd){.fd = fd, .events = POLLOUT};
    } while (poll(&one, 1, 0) > 0);
    wrap(&s, fd, all);
    add(&s);
    pass();
    while (poll(&one, 1, 0) == 0) accept(server, NULL, NULL); /* until it is let in, a second later */
    pass();
}
