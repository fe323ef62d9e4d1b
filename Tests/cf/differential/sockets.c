/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Scenarios of CFSocket: kinds, flags, sources, invalidation. */
#include "scenario.h"
#include "sockets.h"

static struct sock s = {.name = "s"}, t = {.name = "t"};

/* --- Kinds ------------------------------------------------------------------------------------------------ */

SCENARIO(reading_is_told_until_all_is_read) {
    wrap_pair(&s, SOCK_STREAM, READ);
    add(&s);
    pass();
    put(s.other, "x");
    pass();
    pass();
    drain(s.fd);
    pass();
    s.drains = 1;
    put(s.other, "y");
    close(s.other);
    for (int i = 0; i < 4; i++) pass(); /* and the end, again and again */
}
SCENARIO(reading_without_reenabling) {
    wrap_pair(&s, SOCK_STREAM, READ);
    change_flags(&s, 0, READ);
    add(&s);
    put(s.other, "x");
    pass();
    pass();
    enable(&s, READ);
    pass();
    pass();
    change_flags(&s, READ, 0); /* for the next call on */
    pass();
    enable(&s, READ);
    pass();
    pass();
}
SCENARIO(reading_is_disabled_and_enabled) {
    wrap_pair(&s, SOCK_STREAM, READ);
    add(&s);
    put(s.other, "x");
    disable(&s, READ);
    pass();
    enable(&s, READ);
    enable(&s, READ);
    pass();
    disable(&s, DATA); /* a kind that it does not have, with which it shares a bit */
    pass();
    disable(&s, ACCEPT | CONNECT | WRITE);
    enable(&s, DATA);
    pass();
}
SCENARIO(data_is_read_for_the_client) {
    wrap_pair(&s, SOCK_STREAM, DATA);
    add(&s);
    put(s.other, "one");
    put(s.other, "two");
    pass();
    pass();
    put(s.other, "three");
    close(s.other);
    pass();
    pass();
    say("%d", CFSocketIsValid(s.ref));
    pass();
}
SCENARIO(data_without_reenabling) {
    wrap_pair(&s, SOCK_STREAM, DATA);
    change_flags(&s, 0, DATA);
    add(&s);
    put(s.other, "one");
    pass();
    put(s.other, "two");
    pass();
    enable(&s, DATA);
    pass();
    enable(&s, READ); /* one of its bits is enough */
    put(s.other, "three");
    pass();
}
SCENARIO(data_ends_with_a_reset) {
    int ends[2];
    connected_pair(ends);
    wrap(&s, ends[0], DATA);
    add(&s);
    put(ends[1], "x");
    pass();
    reset(ends[1]);
    pass();
    say("%d", CFSocketIsValid(s.ref));
}
SCENARIO(datagrams_of_a_pair) {
    wrap_pair(&s, SOCK_DGRAM, DATA | CONNECT | WRITE);
    add(&s);
    put(s.other, "one");
    put(s.other, "two");
    pass();
    pass();
    if (send(s.other, "", 0, 0) != 0) abort();
    pass();
    say("%d", CFSocketIsValid(s.ref));
    pass();
}
SCENARIO(datagrams_over_loopback) {
    CFDataRef any = loopback(0);
    create(&s, PF_INET, SOCK_DGRAM, DATA | CONNECT);
    create(&t, PF_INET, SOCK_DGRAM, kCFSocketNoCallBack);
    say("%d%d", (int)CFSocketSetAddress(s.ref, any), (int)CFSocketSetAddress(t.ref, any));
    add(&s);
    CFDataRef text = CFDataCreate(NULL, (const UInt8 *)"ping", 4);
    say("%d", (int)CFSocketSendData(t.ref, CFSocketCopyAddress(s.ref), text, 1));
    pass();
    say("%d", (int)CFSocketConnectToAddress(s.ref, CFSocketCopyAddress(t.ref), -1));
    pass();
}
SCENARIO(accepting) {
    CFDataRef address = abstract("accepting");
    wrap(&s, listener(&address, 5), ACCEPT | CONNECT | WRITE);
    add(&s);
    int clients[3];
    for (int i = 0; i < 3; i++) {
        clients[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        say("%d", connect_to(clients[i], address));
    }
    pass();
    put(clients[0], "x");
    drain(s.taken);
    disable(&s, ACCEPT);
    pass();
    enable(&s, READ); /* a kind that it does not have, nor a bit of it */
    pass();
    enable(&s, DATA);
    pass();
    pass();
    pass();
}
SCENARIO(accepting_without_reenabling) {
    CFDataRef address = loopback(0);
    wrap(&s, listener(&address, 5), ACCEPT);
    change_flags(&s, READ, ACCEPT); /* the flag of another kind */
    add(&s);
    for (int i = 0; i < 2; i++) say("%d", connect_to(socket(AF_INET, SOCK_STREAM, 0), address));
    pass();
    pass();
    enable(&s, ACCEPT);
    pass();
}
SCENARIO(writing_is_told_once) {
    wrap_pair(&s, SOCK_STREAM, WRITE);
    add(&s);
    pass();
    pass();
    enable(&s, WRITE);
    enable(&s, WRITE);
    pass();
    pass();
}
SCENARIO(writing_with_reenabling) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    change_flags(&s, WRITE, 0);
    add(&s);
    pass();
    put(s.other, "x");
    pass();
    disable(&s, WRITE);
    pass();
}
SCENARIO(writing_waits_for_room) {
    char bytes[4096] = {0};
    wrap_pair(&s, SOCK_STREAM, WRITE);
    while (write(s.fd, bytes, sizeof bytes) > 0) {}
    add(&s);
    pass();
    while (read(s.other, bytes, sizeof bytes) > 0) {}
    pass();
    pass();
}
SCENARIO(no_kind) {
    wrap_pair(&s, SOCK_STREAM, kCFSocketNoCallBack);
    add(&s);
    put(s.other, "x");
    pass();
    enable(&s, READ | WRITE);
    pass();
}
SCENARIO(the_peer_closes_one_direction) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    add(&s);
    s.drains = 1;
    shutdown(s.other, SHUT_WR);
    pass();
    enable(&s, WRITE);
    pass();
    put(s.fd, "x");
    drain(s.other);
}

/* --- What is done in callbacks ---------------------------------------------------------------------------- */

static void invalidate(struct sock *sock, CFSocketCallBackType type) {
    (void)type;
    CFSocketInvalidate(sock->ref);
}
SCENARIO(invalidated_while_reading) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    s.also = invalidate;
    add(&s);
    put(s.other, "x");
    pass();
    say("%d%d%d", CFSocketIsValid(s.ref), CFRunLoopSourceIsValid(s.source), fcntl(s.fd, F_GETFD));
    pass();
}
SCENARIO(invalidated_by_data) {
    wrap_pair(&s, SOCK_STREAM, DATA | WRITE);
    s.also = invalidate;
    add(&s);
    put(s.other, "x");
    pass();
    pass();
}
static void disable_reading(struct sock *sock, CFSocketCallBackType type) {
    if (type != WRITE) disable(sock, DATA);
}
SCENARIO(disabled_while_reading) {
    wrap_pair(&s, SOCK_STREAM, READ);
    s.also = disable_reading;
    add(&s);
    put(s.other, "x");
    pass();
    pass();
    enable(&s, READ);
    pass();
    pass();
}
SCENARIO(data_disabled_by_data) {
    wrap_pair(&s, SOCK_STREAM, DATA);
    s.also = disable_reading;
    add(&s);
    put(s.other, "x");
    pass();
    put(s.other, "y");
    pass();
    enable(&s, DATA);
    pass();
}
static void disable_writing(struct sock *sock, CFSocketCallBackType type) {
    (void)type;
    disable(sock, WRITE);
}
SCENARIO(writing_disabled_while_reading) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    s.also = disable_writing;
    add(&s);
    put(s.other, "x");
    pass();
    enable(&s, WRITE);
    s.also = NULL;
    pass();
}
static void enable_again(struct sock *sock, CFSocketCallBackType type) { enable(sock, type); }
SCENARIO(enabled_by_each_call) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    change_flags(&s, 0, READ);
    s.also = enable_again;
    s.drains = 1;
    add(&s);
    put(s.other, "x");
    for (int i = 0; i < 3; i++) pass();
}
static void change_in_callback(struct sock *sock, CFSocketCallBackType type) {
    (void)type;
    change_flags(sock, WRITE, READ);
}
SCENARIO(flags_changed_by_a_call) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    s.also = change_in_callback;
    add(&s);
    put(s.other, "x");
    for (int i = 0; i < 3; i++) pass();
}
static void remove_source(struct sock *sock, CFSocketCallBackType type) {
    (void)type;
    CFRunLoopRemoveSource(LOOP, sock->source, DEFAULT);
}
SCENARIO(removed_while_reading) {
    wrap_pair(&s, SOCK_STREAM, READ);
    s.also = remove_source;
    add(&s);
    put(s.other, "x");
    pass();
    pass();
    add_to(&s, DEFAULT);
    pass();
}
