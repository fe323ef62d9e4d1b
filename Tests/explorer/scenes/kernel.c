/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * kernel.c: the explorer's own tests of its kernel: what Linux does there is done here. */
#include "scene.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>

int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old);
int __wrap_socket(int family, int type, int protocol);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_listen(int fd, int room);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

static void watch(int set, int fd) {
    struct epoll_event event = {.events = EPOLLIN};
    REQUIRE(__wrap_epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
}
REGISTERED(a_timer_in_a_set_in_a_set_goes_off, NULL, NULL) {
    int outer = __wrap_epoll_create1(0), inner = __wrap_epoll_create1(0), timer = __wrap_timerfd_create(1, 0);
    watch(inner, timer);
    watch(outer, inner);
    explore_from_here();
    struct itimerspec date = {.it_value.tv_sec = 1000000000};
    REQUIRE(__wrap_timerfd_settime(timer, TFD_TIMER_ABSTIME, &date, NULL) == 0);
    struct epoll_event event;
    REQUIRE(__wrap_syscall(SYS_epoll_pwait, outer, (long)&event, 1, -1, 0, 0) == 1);
}

/* What was written before a connection was made is there for who has accepted it. */
static const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "name"};
static int written;
static void *connect_and_go(void *info) {
    int socket = __wrap_socket(AF_UNIX, SOCK_SEQPACKET, 0);
    written = 1;
    REQUIRE(__wrap_syscall(SYS_connect, socket, (long)&name, sizeof name, 0, 0, 0) == 0);
    return info;
}
REGISTERED(who_accepts_a_connection_sees_what_came_before_it, NULL, NULL) {
    int listener = __wrap_socket(AF_UNIX, SOCK_SEQPACKET, 0);
    REQUIRE(__wrap_bind(listener, (const void *)&name, sizeof name) == 0);
    REQUIRE(__wrap_listen(listener, 1) == 0);
    written = 0;
    explore_from_here();
    pthread_t other = start(connect_and_go, NULL);
    if (__wrap_syscall(SYS_accept4, listener, 0, 0, 0, 0, 0) >= 0) REQUIRE(written == 1);
    join(other);
}
