/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * by_hand.h: the side that calls another process without Treadle: a pair of sockets, `ends`, and on each side an epoll for one of
 * them. */
#ifndef BENCH_BY_HAND_H
#define BENCH_BY_HAND_H

#include "calls.h"

#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static int ends[2], set;
static void watch(int fd) {
    struct epoll_event event = {.events = EPOLLIN};
    set = epoll_create1(EPOLL_CLOEXEC);
    demand(set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0, "a socket can be watched");
}
/* Waits for a message; its size, 0 when the other side is gone. */
static size_t receive(int fd, void *bytes, size_t room) {
    struct epoll_event event;
    demand(epoll_wait(set, &event, 1, -1) == 1, "a socket becomes ready");
    ssize_t size = recv(fd, bytes, room, MSG_DONTWAIT);
    return size < 0 ? 0 : (size_t)size;
}

#endif
