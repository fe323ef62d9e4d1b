/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_raw.h: bare sockets that speak as message ports do, or not quite. */
#ifndef TREADLE_TEST_MESSAGE_PORT_RAW_H
#define TREADLE_TEST_MESSAGE_PORT_RAW_H

#include "message_ports.h"

#include <sys/socket.h>
#include <sys/un.h>

struct head {
    uint32_t magic;
    uint16_t version;
    uint8_t kind, flags;
    uint64_t length;
    uint32_t serial;
    int32_t id;
    uint64_t reserved;
};
_Static_assert(sizeof(struct head) == 32, "as it is sent");
enum { HELLO = 1, MESSAGE = 2, REPLY = 3, WANTS_REPLY = 1, IN_FILE = 2, ABANDONED = 4 };
HELPER struct head head_of(uint8_t kind, uint8_t flags, uint64_t length, uint32_t serial) {
    return (struct head){.magic = 0x4C445254, .version = 1, .kind = kind, .flags = flags, .length = length, .serial = serial};
}

HELPER socklen_t address_of(const char *name, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "treadle/%u/%s", geteuid(), name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}
HELPER int raw_socket(void) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    return fd;
}
HELPER int raw_connect(const char *name) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    int fd = raw_socket();
    CHECK_INT(connect(fd, (struct sockaddr *)&address, size), 0);
    return fd;
}
HELPER int raw_listen(const char *name) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    int fd = raw_socket();
    CHECK_INT(bind(fd, (struct sockaddr *)&address, size), 0);
    CHECK_INT(listen(fd, 16), 0);
    return fd;
}
/* One message of the socket, with descriptors. */
HELPER ssize_t raw_send(int fd, const void *bytes, size_t size, const int *passed, size_t count, int flags) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(64 * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), passed, count * sizeof(int));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | flags);
}
HELPER ssize_t send_frame(int fd, struct head head, const void *data, size_t size) {
    char bytes[1024];
    CHECK(size <= sizeof bytes - sizeof head);
    memcpy(bytes, &head, sizeof head);
    if (size) memcpy(bytes + sizeof head, data, size);
    return raw_send(fd, bytes, sizeof head + size, NULL, 0, 0);
}
HELPER void greet(int fd, const char *name) {
    CHECK_INT(send_frame(fd, head_of(HELLO, 0, strlen(name), 0), name, strlen(name)), sizeof(struct head) + strlen(name));
}
/* Whether the port ends the connection, or answers a request that is sent behind. */
HELPER bool is_ended(int fd) {
    char bytes[256];
    ssize_t size;
    send_frame(fd, head_of(MESSAGE, WANTS_REPLY, 0, 77), NULL, 0);
    while ((size = recv(fd, bytes, sizeof bytes, 0)) < 0 && errno == ECONNRESET) {}
    return size <= 0;
}

/* Its owner is served well, whatever others do. */
#define CHECK_SERVED(remote)                                                          \
    do {                                                                              \
        struct reply served_ = {0};                                                   \
        CHECK_INT(request_text(remote, ECHO, "well", LONG, &served_), TREADLE_OK);    \
        CHECK_REPLY(served_, "well");                                                 \
        free(served_.data);                                                           \
    } while (0)

#endif
