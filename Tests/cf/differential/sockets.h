/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * sockets.h: what the programs of sockets share that are compiled against two CoreFoundations.
 *
 * CoreFoundation's helper thread looks at sockets with select() whenever it happens to run. Here it looks when a pass
 * begins, as Treadle does: this program's select() holds it until then. Nothing else of it is changed. */
#ifndef CF_DIFFERENTIAL_SOCKETS_H
#define CF_DIFFERENTIAL_SOCKETS_H

#include "trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* --- The helper thread ------------------------------------------------------------------------------------ */

#ifdef PEER
static sem_t may_look, has_looked;
static int is_stale, only_fd = -1;

int select(int count, fd_set *readable, fd_set *writable, fd_set *failed, struct timeval *limit) {
    struct timespec time = {0, 0};
    int result;
    if (limit) { /* CFSocketConnectToAddress, on its caller's thread */
        time = (struct timespec){limit->tv_sec, limit->tv_usec * 1000};
        return (int)syscall(SYS_pselect6, count, readable, writable, failed, &time, NULL);
    }
    do {
        sem_post(&has_looked);
        await(&may_look);
        for (int fd = 0; fd < count; fd++) {
            if (!is_stale && (only_fd < 0 || fd == only_fd)) continue;
            FD_CLR(fd, readable);
            FD_CLR(fd, writable);
        }
        result = (int)syscall(SYS_pselect6, count, readable, writable, failed, &time, NULL);
    } while (result < 0 && errno == EINTR);
    return result;
}
static void let_look(int stale) {
    is_stale = stale;
    sem_post(&may_look);
    await(&has_looked);
}
#endif

/* Before the first socket. */
HELPER void begin_sockets(void) {
#ifdef PEER
    static int has_begun;
    int ends[2];
    if (has_begun) return;
    has_begun = 1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
    sem_init(&may_look, 0, 0);
    sem_init(&has_looked, 0, 0);
    CFSocketInvalidate(CFSocketCreateWithNative(NULL, ends[0], 0, NULL, NULL)); /* it begins its thread */
    close(ends[1]);
    await(&has_looked);
#endif
}
/* The helper thread looks at a descriptor, or with -1 at all. */
HELPER void look(int fd) {
#ifdef PEER
    only_fd = fd;
    let_look(1); /* what it waits with is from before the last calls */
    let_look(0);
#else
    (void)fd;
#endif
}
HELPER void pass_at(CFStringRef mode, int fd) {
    look(fd);
    run(mode, 0, true);
}
HELPER void pass(void) { pass_at(DEFAULT, -1); }

/* --- Sockets under test ----------------------------------------------------------------------------------- */

struct sock {
    const char *name;
    CFSocketRef ref;
    CFRunLoopSourceRef source;
    int fd, other, taken; /* its descriptor, the other end's, the one that it accepted last */
    CFOptionFlags kinds, disabled;
    void (*also)(struct sock *sock, CFSocketCallBackType type);
    int drains;
};
enum { READ = kCFSocketReadCallBack, ACCEPT = kCFSocketAcceptCallBack, DATA = kCFSocketDataCallBack,
       CONNECT = kCFSocketConnectCallBack, WRITE = kCFSocketWriteCallBack, LEAVE = kCFSocketLeaveErrors };

HELPER int pending_error(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : -1;
}
HELPER void drain(int fd) {
    char bytes[256];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == ENOTSOCK) n = read(fd, bytes, sizeof bytes);
    if (n >= 0) say("%.*s%s", (int)n, bytes, n ? "" : "<end>");
    else say("<%d>", errno);
}
HELPER void told(CFSocketRef ref, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    struct sock *sock = info;
    (void)ref;
    if (sock->disabled & (type & 3 ? 3 : type)) {
#ifdef PEER
        return; /* It calls Write along with Connect, and Connect along with Write, disabled or not. */
#else
        say("DISABLED");
#endif
    }
    if (type == ACCEPT) {
        sock->taken = *(const CFSocketNativeHandle *)data;
        say("%s:accept:%d", sock->name, (int)CFDataGetLength(address));
    } else if (type == DATA) {
        say("%s:data:%.*s", sock->name, (int)CFDataGetLength(data), (const char *)CFDataGetBytePtr(data));
        /* CoreFoundation remembers the peer of a connection that is gone by now; and of an error, rubbish. */
        if (CFDataGetLength(data) > 0 && sock->other >= 0) say("from:%d", (int)CFDataGetLength(address));
    } else if (type == CONNECT) {
        say("%s:connect:%d", sock->name, data ? *(const SInt32 *)data : 0);
    } else {
        say("%s:%s%s", sock->name, type == READ ? "read" : "write", data || address ? ":with" : "");
    }
    if (type == READ && sock->drains) drain(sock->fd);
    if (sock->also) sock->also(sock, type);
}
HELPER void wrap(struct sock *sock, int fd, CFOptionFlags kinds) {
    CFSocketContext context = {.info = sock};
    begin_sockets();
    sock->fd = fd;
    sock->kinds = kinds;
    sock->ref = CFSocketCreateWithNative(NULL, fd, kinds, told, &context);
}
HELPER void create(struct sock *sock, int family, int type, CFOptionFlags kinds) {
    CFSocketContext context = {.info = sock};
    begin_sockets();
    sock->ref = CFSocketCreate(NULL, family, type, 0, kinds, told, &context);
    sock->fd = CFSocketGetNative(sock->ref);
    sock->kinds = kinds;
}
HELPER void add_to(struct sock *sock, CFStringRef mode) {
    sock->source = CFSocketCreateRunLoopSource(NULL, sock->ref, 0);
    if (sock->source) CFRunLoopAddSource(LOOP, sock->source, mode);
}
HELPER void add(struct sock *sock) {
    keep_busy(DEFAULT);
    add_to(sock, DEFAULT);
}
HELPER void wrap_pair(struct sock *sock, int type, CFOptionFlags kinds) {
    int ends[2];
    if (socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, ends) != 0) abort();
    sock->other = ends[1];
    wrap(sock, ends[0], kinds);
}
/* What it has of some kinds; one bit of Read, Accept and Data is enough. */
HELPER CFOptionFlags meant(const struct sock *sock, CFOptionFlags kinds) {
    kinds &= sock->kinds;
    return kinds & 3 ? kinds | 3 : kinds;
}
HELPER void disable(struct sock *sock, CFOptionFlags kinds) {
    sock->disabled |= meant(sock, kinds);
    CFSocketDisableCallBacks(sock->ref, kinds);
}
HELPER void enable(struct sock *sock, CFOptionFlags kinds) {
    sock->disabled &= ~meant(sock, kinds);
    CFSocketEnableCallBacks(sock->ref, kinds);
}
HELPER void change_flags(struct sock *sock, CFOptionFlags on, CFOptionFlags off) {
    CFSocketSetSocketFlags(sock->ref, (CFSocketGetSocketFlags(sock->ref) | on) & ~off);
}
HELPER void put(int fd, const char *text) {
    if (write(fd, text, strlen(text)) < 0) say("<%d>", errno);
}

/* --- Addresses and their other ends ------------------------------------------------------------------------ */

HELPER CFDataRef loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return CFDataCreate(NULL, (const UInt8 *)&address, sizeof address);
}
HELPER CFDataRef abstract(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "treadle-%07d-%s", (int)getpid(), name);
    return CFDataCreate(NULL, (const UInt8 *)&address, (CFIndex)offsetof(struct sockaddr_un, sun_path) + 1 + length);
}
/* A socket that listens at an address, or for port 0 at a new one, which is stored. */
HELPER int listener(CFDataRef *address, int backlog) {
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    const struct sockaddr *at = (const void *)CFDataGetBytePtr(*address);
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, at, (socklen_t)CFDataGetLength(*address)) != 0 || listen(fd, backlog) != 0) abort();
    getsockname(fd, (struct sockaddr *)&bound, &size);
    *address = CFDataCreate(NULL, (const UInt8 *)&bound, (CFIndex)size);
    return fd;
}
/* An address where nobody listens. */
HELPER CFDataRef nobody(void) {
    CFDataRef address = loopback(0);
    close(listener(&address, 1));
    return address;
}
HELPER int connect_to(int fd, CFDataRef address) {
    return connect(fd, (const void *)CFDataGetBytePtr(address), (socklen_t)CFDataGetLength(address)) == 0 ? 0 : errno;
}
/* Without this, a few bytes may wait for an answer to those before. */
HELPER void send_at_once(int fd) {
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}
/* A connection over loopback, in both directions. */
HELPER void connected_pair(int ends[2]) {
    CFDataRef address = loopback(0);
    int server = listener(&address, 1);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect_to(ends[0], address) != 0) abort();
    ends[1] = accept(server, NULL, NULL);
    close(server);
    send_at_once(ends[0]);
    send_at_once(ends[1]);
}
/* Closes so that the peer's connection is reset. */
HELPER void reset(int fd) {
    struct linger now = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}
/* Until the kernel reports something of it. */
HELPER void await_report(int fd, short events) {
    struct pollfd one = {.fd = fd, .events = events};
    while (poll(&one, 1, -1) < 0) {}
}

#endif
