/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The system calls of sockets. */
#include "CTreadleCF.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(struct sockaddr_storage) == TREADLE_CF_ADDRESS_SIZE, "an address needs another size");

static int32_t result(int value) { return value < 0 ? -errno : value; }
static int option(int fd, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -errno : value;
}

int32_t treadle_cf_socket(int32_t family, int32_t type, int32_t protocol) {
    if (family <= 0) family = PF_INET;
    if (type <= 0) type = SOCK_STREAM;
    return result(socket(family, type | SOCK_CLOEXEC, protocol < 0 ? 0 : protocol));
}
int32_t treadle_cf_is_open(int32_t fd) { return fcntl(fd, F_GETFD) < 0 ? -errno : 0; }
int32_t treadle_cf_close(int32_t fd) { return result(close(fd)); }
int32_t treadle_cf_is_stream(int32_t fd) {
    int type = option(fd, SO_TYPE);
    return type == SOCK_STREAM || type == SOCK_SEQPACKET;
}
int32_t treadle_cf_connects(int32_t fd) { return option(fd, SO_TYPE) == SOCK_STREAM; }
int32_t treadle_cf_is_in_use(int32_t fd) {
    struct treadle_cf_address peer;
    return option(fd, SO_ACCEPTCONN) > 0 || treadle_cf_name(fd, true, &peer) == 0;
}
int32_t treadle_cf_listen(int32_t fd, const void *address, uint32_t size) {
    if (bind(fd, address, size) < 0) return -errno;
    /* Datagram sockets cannot, and need not. */
    return treadle_cf_is_stream(fd) ? result(listen(fd, 256)) : 0;
}
int32_t treadle_cf_set_nonblocking(int32_t fd, bool on) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return -errno;
    if (fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0) return -errno;
    return (flags & O_NONBLOCK) != 0;
}
int32_t treadle_cf_connect(int32_t fd, const void *address, uint32_t size) { return result(connect(fd, address, size)); }
int32_t treadle_cf_in_progress(void) { return -EINPROGRESS; }
int32_t treadle_cf_poll(int32_t fd) {
    struct pollfd one = {.fd = fd, .events = POLLIN | POLLOUT};
    while (poll(&one, 1, 0) < 0 && errno == EINTR) {}
    int seen = one.revents & POLLNVAL ? POLLIN | POLLOUT | POLLERR : one.revents;
    return (seen & (POLLIN | POLLHUP | POLLERR) ? TREADLE_CF_CAN_READ : 0) | (seen & (POLLOUT | POLLERR) ? TREADLE_CF_CAN_WRITE : 0) |
           (seen & (POLLHUP | POLLERR) ? TREADLE_CF_IS_BROKEN : 0);
}
int32_t treadle_cf_error(int32_t fd) {
    int error = option(fd, SO_ERROR);
    return error > 0 ? -error : error;
}
int32_t treadle_cf_timed_out(void) { return -ETIMEDOUT; }
int32_t treadle_cf_again(void) { return -EAGAIN; }

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static int64_t end_of(double seconds) {
    if (!(seconds > 0) || seconds > 1e9) return INT64_MAX;
    return now() + (int64_t)(seconds * 1e9);
}
static int32_t await_until(int32_t fd, int64_t end) {
    struct pollfd one = {.fd = fd, .events = POLLOUT};
    for (;;) {
        int64_t left = end == INT64_MAX ? 0 : end - now();
        if (end != INT64_MAX && left <= 0) return -ETIMEDOUT;
        struct timespec wait = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
        int ready = ppoll(&one, 1, end == INT64_MAX ? NULL : &wait, NULL);
        if (ready > 0) return 0;
        if (ready < 0 && errno != EINTR) return -errno;
    }
}
int32_t treadle_cf_await_writable(int32_t fd, double seconds) { return await_until(fd, end_of(seconds)); }


/* A listener is ready as long as a connection waits. If the process has no descriptor left for that, it would be reported in every
 * pass; so one descriptor is kept in reserve, which is given up for a moment to take the connection and close it. */
static pthread_mutex_t reserve_lock = PTHREAD_MUTEX_INITIALIZER;
static int reserve = -1;
void treadle_cf_keep_reserve(void) {
    pthread_mutex_lock(&reserve_lock);
    if (reserve < 0) reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pthread_mutex_unlock(&reserve_lock);
}
static void refuse_connection(int fd) {
    pthread_mutex_lock(&reserve_lock);
    if (reserve >= 0) {
        close(reserve);
        int made = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (made >= 0) close(made);
        reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    pthread_mutex_unlock(&reserve_lock);
}
int32_t treadle_cf_accept(int32_t fd, struct treadle_cf_address *out) {
    socklen_t size = sizeof out->bytes;
    int made = accept4(fd, (struct sockaddr *)(void *)out->bytes, &size, SOCK_CLOEXEC);
    if (made < 0 && (errno == EMFILE || errno == ENFILE)) {
        bool is_of_process = errno == EMFILE;
        refuse_connection(fd);
        treadle_cf_tell_status("CFSocket", is_of_process ? "EMFILE" : "ENFILE", "no descriptor is left: connections are closed at once");
        return -EMFILE;
    }
    out->size = size < sizeof out->bytes ? size : sizeof out->bytes;
    return result(made);
}
int64_t treadle_cf_receive(int32_t fd, void *buffer, size_t size, struct treadle_cf_address *out) {
    socklen_t length = sizeof out->bytes;
    ssize_t n = recvfrom(fd, buffer, size, MSG_DONTWAIT, (struct sockaddr *)(void *)out->bytes, &length);
    out->size = n < 0 ? 0 : length < sizeof out->bytes ? length : sizeof out->bytes;
    return n < 0 ? (errno == EINTR ? -EAGAIN : -errno) : n;
}
int32_t treadle_cf_send(int32_t fd, const void *bytes, size_t size, const void *address, uint32_t address_size, double seconds) {
    int64_t end = end_of(seconds);
    size_t sent = 0;
    do {
        ssize_t n = sendto(fd, (const char *)bytes + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL, address, address_size);
        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            int32_t status = await_until(fd, end);
            if (status < 0) return status;
        } else if (errno != EINTR) {
            return -errno;
        }
    } while (sent < size);
    return 0;
}
int32_t treadle_cf_name(int32_t fd, bool peer, struct treadle_cf_address *out) {
    socklen_t size = sizeof out->bytes;
    struct sockaddr *address = (struct sockaddr *)(void *)out->bytes;
    int status = peer ? getpeername(fd, address, &size) : getsockname(fd, address, &size);
    out->size = size < sizeof out->bytes ? size : sizeof out->bytes;
    return result(status);
}
