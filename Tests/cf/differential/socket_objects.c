/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Scenarios of CFSocket: objects, flags, sources and modes, invalidation; descriptors that are no sockets. */
#include "scenario.h"
#include "sockets.h"

static struct sock s = {.name = "s"}, t = {.name = "t"};

/* --- Objects and flags ------------------------------------------------------------------------------------ */

SCENARIO(one_object_for_a_descriptor) {
    wrap_pair(&s, SOCK_STREAM, READ);
    wrap(&t, s.fd, DATA);
    say("%d %lx", s.ref == t.ref, (long)CFSocketGetSocketFlags(t.ref));
    add(&t);
    put(s.other, "x");
    pass();
    change_flags(&s, 0, kCFSocketCloseOnInvalidate);
    CFSocketInvalidate(s.ref);
    say("%d%d", CFSocketIsValid(t.ref), fcntl(t.fd, F_GETFD));
    wrap(&t, t.fd, DATA);
    say("%d%d %lx", s.ref == t.ref, CFSocketIsValid(t.ref), (long)CFSocketGetSocketFlags(t.ref));
    add(&t);
    pass();
}
SCENARIO(flags_of_each_kind) {
    static const CFOptionFlags kinds[] = {0, READ, ACCEPT, DATA, CONNECT, WRITE, READ | CONNECT | WRITE, LEAVE | READ, 0x1F0 | DATA};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        wrap_pair(&s, SOCK_STREAM, kinds[i]);
        say("%lx", (long)CFSocketGetSocketFlags(s.ref));
    }
    CFSocketSetSocketFlags(s.ref, 0xABCD);
    say("%lx", (long)CFSocketGetSocketFlags(s.ref));
    CFSocketInvalidate(s.ref);
    say("%lx %d", (long)CFSocketGetSocketFlags(s.ref), CFSocketGetNative(s.ref));
}
static const void *retain(const void *info) {
    say("retain");
    return info;
}
static void release(const void *info) {
    const struct sock *sock = info;
    say("release:%d%d", CFSocketIsValid(sock->ref), fcntl(sock->fd, F_GETFD));
}
static void quiet(CFSocketRef ref, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    (void)ref, (void)address, (void)data, (void)info;
    say("%lu", (long)type);
}
SCENARIO(the_context_is_kept) {
    CFSocketContext context = {.info = &s, .retain = retain, .release = release}, read = {.version = 0};
    begin_sockets();
    wrap_pair(&t, SOCK_STREAM, kCFSocketNoCallBack);
    s.fd = t.other;
    s.ref = CFSocketCreateWithNative(NULL, s.fd, READ, quiet, &context);
    add(&s);
    CFSocketGetContext(s.ref, &read);
    say("%d%d", read.info == &s, read.release == release);
    put(t.fd, "x");
    pass();
    CFSocketInvalidate(s.ref);
    CFSocketInvalidate(s.ref);
    CFSocketGetContext(s.ref, &read);
    say("%d%d%d%d", read.info == NULL, read.retain == NULL, read.release == NULL, read.copyDescription == NULL);
}
SCENARIO(invalidation_closes_if_asked) {
    wrap_pair(&s, SOCK_STREAM, READ);
    add(&s);
    put(s.other, "x");
    CFSocketInvalidate(s.ref);
    say("%d%d%d", fcntl(s.fd, F_GETFD), CFSocketGetNative(s.ref), CFSocketCreateRunLoopSource(NULL, s.ref, 0) == NULL);
    pass();
    wrap(&t, s.other, READ);
    CFSocketSetSocketFlags(t.ref, READ);
    CFSocketInvalidate(t.ref);
    say("%d", fcntl(t.fd, F_GETFD));
    CFSocketEnableCallBacks(t.ref, READ);
    CFSocketDisableCallBacks(t.ref, READ);
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"x", 1), address = loopback(1);
    say("%d%d%d", (int)CFSocketSendData(t.ref, NULL, data, 1), (int)CFSocketSetAddress(t.ref, address),
        (int)CFSocketConnectToAddress(t.ref, address, 1));
    say("%d%d", CFSocketCopyAddress(t.ref) == NULL, CFSocketCopyPeerAddress(t.ref) == NULL);
}

/* --- Sources and modes ------------------------------------------------------------------------------------ */

SCENARIO(one_source_while_it_is_valid) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    CFRunLoopSourceRef one = CFSocketCreateRunLoopSource(NULL, s.ref, 1), other = CFSocketCreateRunLoopSource(NULL, s.ref, 2);
    say("%d%d", one == other, (int)CFRunLoopSourceGetOrder(other));
    add(&s);
    pass();
    CFRunLoopSourceInvalidate(one);
    put(s.other, "x");
    pass();
    add(&s); /* with every kind enabled */
    say("%d%d", CFSocketIsValid(s.ref), one == s.source);
    pass();
}
SCENARIO(kinds_are_disabled_before_the_source_is_added) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    CFSocketDisableCallBacks(s.ref, READ | WRITE); /* without effect: not in any mode yet */
    put(s.other, "x");
    add(&s);
    pass();
    disable(&s, READ);
    pass();
}
SCENARIO(every_kind_is_enabled_when_the_source_comes_back) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    add(&s);
    put(s.other, "x");
    pass();
    disable(&s, READ);
    pass();
    CFRunLoopRemoveSource(LOOP, s.source, DEFAULT);
    pass();
    CFSocketEnableCallBacks(s.ref, READ);
    s.disabled = 0;
    add_to(&s, DEFAULT);
    pass();
    pass();
}
SCENARIO(a_source_in_two_modes) {
    CFStringRef m = CFSTR("m");
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    add(&s);
    keep_busy(m);
    put(s.other, "x");
    pass();
    disable(&s, READ);
    add_to(&s, m); /* enables nothing, since it was in one */
    pass_at(m, -1);
    CFRunLoopRemoveSource(LOOP, s.source, DEFAULT);
    pass();
    pass_at(m, -1);
    enable(&s, READ | WRITE);
    pass_at(m, -1);
    pass();
    CFRunLoopRemoveSource(LOOP, s.source, m);
    s.disabled = 0;
    add_to(&s, m);
    pass_at(m, -1);
}
SCENARIO(a_source_in_the_common_modes) {
    CFStringRef m = CFSTR("m");
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    keep_busy(DEFAULT);
    keep_busy(m);
    add_to(&s, kCFRunLoopCommonModes);
    CFRunLoopAddCommonMode(LOOP, m);
    put(s.other, "x");
    pass_at(m, -1);
    disable(&s, READ);
    CFRunLoopRemoveSource(LOOP, s.source, DEFAULT);
    pass_at(m, -1);
    add_to(&s, DEFAULT); /* it never left the other */
    pass();
    CFRunLoopRemoveSource(LOOP, s.source, kCFRunLoopCommonModes);
    pass_at(m, -1);
    s.disabled = 0;
    add_to(&s, m);
    pass_at(m, -1);
}
SCENARIO(a_mode_that_becomes_common_brings_a_source_in) {
    CFStringRef m = CFSTR("m");
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    keep_busy(m);
    add_to(&s, kCFRunLoopCommonModes);
    CFRunLoopRemoveSource(LOOP, s.source, DEFAULT);
    put(s.other, "x");
    CFSocketDisableCallBacks(s.ref, READ); /* without effect, as in no mode */
    CFRunLoopAddCommonMode(LOOP, m);
    pass_at(m, -1);
    pass_at(m, -1);
}
SCENARIO(a_source_that_is_added_again) {
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    add(&s);
    put(s.other, "x");
    for (int times = 0; times < 3; times++) {
        disable(&s, READ | WRITE);
        pass();
        CFRunLoopRemoveSource(LOOP, s.source, times == 1 ? kCFRunLoopCommonModes : DEFAULT);
        s.disabled = 0;
        CFRunLoopAddSource(LOOP, s.source, times == 0 ? kCFRunLoopCommonModes : DEFAULT);
        pass();
    }
}
SCENARIO(readiness_waits_for_its_mode) {
    CFStringRef m = CFSTR("m");
    wrap_pair(&s, SOCK_STREAM, READ);
    add(&s);
    keep_busy(m);
    put(s.other, "x");
    pass_at(m, -1);
    pass();
}
SCENARIO(two_sockets_are_both_told) {
    CFStringRef m = CFSTR("m");
    wrap_pair(&s, SOCK_STREAM, READ | WRITE);
    wrap_pair(&t, SOCK_STREAM, READ | WRITE);
    add(&s);
    keep_busy(m);
    add_to(&t, m);
    put(s.other, "x");
    put(t.other, "x");
    pass();
    pass_at(m, -1);
    pass();
    pass_at(m, -1);
}

/* --- Descriptors that are no sockets ----------------------------------------------------------------------- */

SCENARIO(a_pipe_with_every_kind) {
    CFStringRef m = CFSTR("m");
    int ends[2];
    if (pipe(ends) != 0) abort();
    wrap(&s, ends[0], READ | CONNECT | WRITE);
    wrap(&t, ends[1], READ | CONNECT | WRITE);
    s.drains = 1;
    add(&s);
    keep_busy(m);
    add_to(&t, m);
    pass();
    pass_at(m, -1);
    put(t.fd, "x");
    pass();
    pass();
    enable(&t, WRITE | CONNECT);
    pass_at(m, -1);
    CFSocketInvalidate(t.ref);
    pass();
    pass();
}
SCENARIO(a_pipe_whose_reader_is_gone) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    wrap(&s, ends[1], READ | CONNECT | WRITE);
    add(&s);
    close(ends[0]);
    pass();
    pass();
    enable(&s, WRITE);
    pass();
}
SCENARIO(a_pipe_that_hung_up_with_writing_alone) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    wrap(&s, ends[0], READ | WRITE);
    add(&s);
    disable(&s, READ);
    close(ends[1]);
    look(-1);
    CFRunLoopRunInMode(DEFAULT, 0, true); /* Treadle sees it, and tells nobody */
    pass();
    enable(&s, READ);
    pass();
}
SCENARIO(data_from_a_pipe) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    wrap(&s, ends[0], READ);
    s.drains = 1;
    add(&s);
    put(ends[1], "x");
    close(ends[1]);
    pass();
    pass();
}
SCENARIO(an_eventfd) {
    wrap(&s, eventfd(1, EFD_NONBLOCK), READ | CONNECT | WRITE);
    add(&s);
    pass();
    pass();
}
SCENARIO(a_file) {
    FILE *file = tmpfile();
    wrap(&s, fileno(file), READ | CONNECT | WRITE);
    add(&s);
    pass();
    pass();
    disable(&s, READ);
    pass();
    enable(&s, WRITE);
    pass();
}
