/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * sockets.h: what the tests of CFSocket share; include it first. */
#ifndef CF_TEST_SOCKETS_H
#define CF_TEST_SOCKETS_H

#include "helpers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

HELPER int retained, released;
HELPER const void *count_retain(const void *info) {
    retained++;
    return info;
}
HELPER void count_release(const void *info) {
    (void)info;
    released++;
}
HELPER int taken = -1;
HELPER CFDataRef sender;
HELPER void (*also)(CFSocketRef s, CFSocketCallBackType type);
HELPER void told(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    const char *name = info;
    CHECK(CFGetTypeID(s) == CFSocketGetTypeID());
    if (type == kCFSocketAcceptCallBack) {
        taken = *(const CFSocketNativeHandle *)data;
        CHECK(address != NULL && CFDataGetLength(address) >= (CFIndex)sizeof(sa_family_t));
        trace("%s:accept", name);
    } else if (type == kCFSocketDataCallBack) {
        trace("%s:data:%.*s", name, (int)CFDataGetLength(data), (const char *)CFDataGetBytePtr(data));
        if (sender) CFRelease(sender);
        sender = address ? CFDataCreateCopy(NULL, address) : NULL;
    } else if (type == kCFSocketConnectCallBack) {
        trace("%s:connect:%d", name, data ? *(const SInt32 *)data : 0);
    } else {
        CHECK(data == NULL);
        trace("%s:%s", name, type == kCFSocketReadCallBack ? "read" : "write");
    }
    if (also) also(s, type);
}
HELPER CFSocketContext named(const char *name) { return (CFSocketContext){0, (void *)name, count_retain, count_release, NULL}; }

HELPER CFSocketRef with_native(int fd, CFOptionFlags kinds, const char *name) {
    CFSocketContext context = named(name);
    CFSocketRef socket = CFSocketCreateWithNative(NULL, fd, kinds, told, &context);
    CHECK(socket != NULL);
    return socket;
}
HELPER void add(CFSocketRef socket) {
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, socket, 0);
    CHECK(source != NULL);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(source);
}
HELPER CFRunLoopRunResult poll_once(void) { return CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true); }
HELPER void run_one(void) { CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, true), kCFRunLoopRunHandledSource); }
HELPER void finish(CFSocketRef socket) {
    CFSocketInvalidate(socket);
    CFRelease(socket);
}
HELPER void pair(int ends[2]) { CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0); }
HELPER CFDataRef loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return CFDataCreate(NULL, (const UInt8 *)&address, sizeof address);
}
HELPER int port_of(CFSocketRef socket) {
    CFDataRef data = CFSocketCopyAddress(socket);
    int port = ntohs(((const struct sockaddr_in *)(const void *)CFDataGetBytePtr(data))->sin_port);
    CFRelease(data);
    return port;
}
/* A new socket of the kernel's that listens on loopback; its address is stored. */
HELPER int listen_at(CFDataRef *address, int backlog) {
    struct sockaddr_in bound = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof bound;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&bound, size) == 0 && listen(fd, backlog) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&bound, &size) == 0);
    *address = loopback(ntohs(bound.sin_port));
    return fd;
}
/* An address where nobody listens. */
HELPER CFDataRef nobody(void) {
    CFDataRef address;
    close(listen_at(&address, 1));
    return address;
}
HELPER int connect_fd(int fd, CFDataRef address) {
    return connect(fd, (const void *)CFDataGetBytePtr(address), (socklen_t)CFDataGetLength(address)) == 0 ? 0 : errno;
}
/* Both ends of a connection over loopback. */
HELPER void connected(int ends[2]) {
    CFDataRef address;
    int server = listen_at(&address, 1);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(connect_fd(ends[0], address), 0);
    ends[1] = accept(server, NULL, NULL);
    CHECK(ends[1] >= 0);
    close(server);
    CFRelease(address);
}
/* Closes so that the peer's connection is reset. */
HELPER void reset_fd(int fd) {
    struct linger now = {1, 0};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    close(fd);
}
HELPER int pending_error(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
    return error;
}

#endif
