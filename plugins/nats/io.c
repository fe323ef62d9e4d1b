/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * io.c: a port's socket, which belongs to libnats and may be another one after a reconnect, in an epoll set that does not
 * change. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nats_port.h"

enum { BELL = 0, SOCKET = 1 };

treadle_status nats_io_open(struct nats_port *port) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = BELL};
    port->poller = epoll_create1(EPOLL_CLOEXEC);
    port->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    port->room = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (port->poller < 0 || port->bell < 0 || port->room < 0 || epoll_ctl(port->poller, EPOLL_CTL_ADD, port->bell, &event) != 0)
        return nats_fail(TREADLE_E_SYSTEM, "the port's descriptors cannot be created: errno %d", errno);
    return TREADLE_OK;
}
void nats_io_close(struct nats_port *port) {
    if (port->poller >= 0) close(port->poller);
    if (port->bell >= 0) close(port->bell);
    if (port->room >= 0) close(port->room);
}

static void ring(int bell) {
    uint64_t one = 1;
    while (write(bell, &one, sizeof one) < 0 && errno == EINTR) {} /* EAGAIN: it rings already */
}
static void silence(int bell) {
    uint64_t count;
    while (read(bell, &count, sizeof count) < 0 && errno == EINTR) {}
}
void nats_io_ring(struct nats_port *port) {
    ring(port->bell);
    ring(port->room);
}

/* Has the kernel watch for what is wanted now. The io_lock is held. */
static void watch(struct nats_port *port) {
    struct epoll_event event = {.data.u32 = SOCKET};
    if (port->socket < 0) return;
    if (port->wants_read && !port->holds_back) event.events |= EPOLLIN;
    if (port->wants_write) event.events |= EPOLLOUT;
    /* Of a socket in the set the kernel always reports errors. */
    if (event.events == 0)
        epoll_ctl(port->poller, EPOLL_CTL_DEL, port->socket, &event);
    else if (epoll_ctl(port->poller, EPOLL_CTL_MOD, port->socket, &event) != 0 && errno == ENOENT)
        epoll_ctl(port->poller, EPOLL_CTL_ADD, port->socket, &event);
}
void nats_io_hold_back(struct nats_port *port, bool holds_back) {
    pthread_mutex_lock(&port->io_lock);
    if (port->holds_back != holds_back) {
        port->holds_back = holds_back;
        watch(port);
    }
    pthread_mutex_unlock(&port->io_lock);
}

/* --- What libnats calls, on any thread, under locks of its own ---------------------------------------- */

static natsStatus attach(void **user_data, void *loop, natsConnection *connection, natsSock socket) {
    struct nats_port *port = loop;
    (void)connection;
    *user_data = port;
    pthread_mutex_lock(&port->io_lock);
    port->socket = socket;
    port->wants_read = true, port->wants_write = false;
    watch(port);
    pthread_mutex_unlock(&port->io_lock);
    nats_io_ring(port); /* there may be room now */
    return NATS_OK;
}
static natsStatus want_read(void *user_data, bool wants) {
    struct nats_port *port = user_data;
    pthread_mutex_lock(&port->io_lock);
    port->wants_read = wants;
    watch(port);
    pthread_mutex_unlock(&port->io_lock);
    if (!wants) {
        /* libnats stops reading where it has lost the connection alone. */
        atomic_store(&port->is_lost, true);
        nats_io_ring(port);
    }
    return NATS_OK;
}
static natsStatus want_write(void *user_data, bool wants) {
    struct nats_port *port = user_data;
    pthread_mutex_lock(&port->io_lock);
    port->wants_write = wants;
    watch(port);
    pthread_mutex_unlock(&port->io_lock);
    return NATS_OK;
}
static natsStatus detach(void *user_data) {
    struct nats_port *port = user_data;
    struct epoll_event event = {0};
    pthread_mutex_lock(&port->io_lock);
    if (port->socket >= 0) epoll_ctl(port->poller, EPOLL_CTL_DEL, port->socket, &event);
    port->socket = -1;
    pthread_mutex_unlock(&port->io_lock);
    atomic_store(&port->is_lost, true);
    nats_io_ring(port);
    return NATS_OK;
}
natsStatus nats_io_use(struct nats_port *port, natsOptions *options) {
    return natsOptions_SetEventLoop(options, port, attach, want_read, want_write, detach);
}

/* --- Reading and writing ------------------------------------------------------------------------------- */

/* Has libnats read and write what it can now. Nothing if another thread does so. */
bool nats_io_pump(struct nats_port *port) {
    struct epoll_event events[2];
    uint32_t ready = 0;
    if (pthread_mutex_trylock(&port->reading) != 0) return false;
    int count = epoll_wait(port->poller, events, 2, 0);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u32 == SOCKET)
            ready = events[i].events;
        else
            silence(port->bell);
    }
    if (ready) {
        struct nats_signals signals;
        nats_begin_writing(&signals);
        if (ready & EPOLLOUT) natsConnection_ProcessWriteEvent(port->connection);
        if (ready & ~(uint32_t)EPOLLOUT) natsConnection_ProcessReadEvent(port->connection);
        nats_end_writing(&signals);
    }
    pthread_mutex_unlock(&port->reading);
    /* A thread that ends the port waits for what this one may have read. */
    if (ready & EPOLLOUT || (ready && atomic_load(&port->is_over))) ring(port->room);
    if (port->is_remote) nats_take_replies(port);
    if (atomic_exchange(&port->is_lost, false)) {
        nats_end_waits(port, TREADLE_E_CLOSED);
        if (natsConnection_IsClosed(port->connection)) nats_lose(port);
    }
    return ready & EPOLLOUT;
}
/* Whether nothing waits to be written, now or once there is a connection again. */
bool nats_io_is_written(struct nats_port *port) {
    if (atomic_load(&port->is_over) || natsConnection_IsClosed(port->connection)) return true;
    return natsConnection_Status(port->connection) == NATS_CONN_STATUS_CONNECTED && natsConnection_Buffered(port->connection) <= 0;
}

/* Waits until there is something to do, or another thread has made room, without a loop. One thread at a time. */
void nats_io_wait(struct nats_port *port, int64_t until) {
    struct pollfd pollers[] = {{.fd = port->poller, .events = POLLIN}, {.fd = port->room, .events = POLLIN}};
    int64_t left = nats_left(until);
    struct timespec limit = {left / 1000000000, left % 1000000000};
    ppoll(pollers, 2, left == TREADLE_FOREVER ? NULL : &limit, NULL);
    silence(port->room);
}

/* Sends what waits, until the time. */
void nats_io_flush(struct nats_port *port, int64_t until) {
    while (natsConnection_Buffered(port->connection) > 0 && natsConnection_Status(port->connection) == NATS_CONN_STATUS_CONNECTED) {
        pthread_mutex_lock(&port->io_lock);
        struct pollfd socket = {.fd = port->socket, .events = POLLOUT};
        pthread_mutex_unlock(&port->io_lock);
        int64_t left = nats_left(until);
        struct timespec limit = {left / 1000000000, left % 1000000000};
        int count = ppoll(&socket, 1, left == TREADLE_FOREVER ? NULL : &limit, NULL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0 || !(socket.revents & POLLOUT)) return;
        struct nats_signals signals;
        nats_begin_writing(&signals);
        pthread_mutex_lock(&port->reading);
        natsConnection_ProcessWriteEvent(port->connection);
        pthread_mutex_unlock(&port->reading);
        nats_end_writing(&signals);
    }
}
