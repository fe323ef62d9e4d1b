/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_raw.h: bare sockets that speak as message ports do, or not quite. */
#ifndef TREADLE_TEST_MESSAGE_PORT_RAW_H
#define TREADLE_TEST_MESSAGE_PORT_RAW_H

#include "message_ports.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
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
#define RING_SERIAL UINT32_MAX
enum { HELLO = 1, MESSAGE = 2, REPLY = 3, CALL_KIND = 4, RING = 5, WANTS_REPLY = 1, IN_FILE = 2, ABANDONED = 4, LENT = 8 };
HELPER struct head head_of(uint8_t kind, uint8_t flags, uint64_t length, uint32_t serial) {
    return (struct head){.magic = 0x4C445254, .version = 1, .kind = kind, .flags = flags, .length = length, .serial = serial};
}

HELPER socklen_t address_of(const char *name, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "treadle/%u/%s", geteuid(), name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}
/* Another user, as whom only root can connect. */
enum { NOBODY = 65534 };
HELPER void become_nobody(void) { CHECK_INT(setresuid(NOBODY, NOBODY, NOBODY), 0); }
/* A local port that takes messages of that user too, in the modes of serve_here. */
HELPER treadle_message_port serve_nobody(const char *name, treadle_message_port_receive_fn receive, void *info) {
    static const uint32_t users[] = {NOBODY};
    treadle_message_port_context context = {
        .struct_size = sizeof context, .receive = receive, .info = info, .users = users, .user_count = 1};
    treadle_message_port port = NULL;
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, REPLIES), TREADLE_OK);
    return port;
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
    /* A port takes descriptors once it has accepted the connection. */
    ssize_t sent;
    while ((sent = sendmsg(fd, &message, MSG_NOSIGNAL | flags)) < 0 && errno == EPERM && count && !(flags & MSG_DONTWAIT)) sched_yield();
    return sent;
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
HELPER int raw_greeted(const char *name) {
    int fd = raw_connect(name);
    greet(fd, name);
    return fd;
}
/* Whether the port ends the connection, or answers a request that is sent behind. */
HELPER bool is_ended(int fd) {
    char bytes[256];
    ssize_t size;
    send_frame(fd, head_of(MESSAGE, WANTS_REPLY, 0, 77), NULL, 0);
    while ((size = recv(fd, bytes, sizeof bytes, 0)) < 0 && errno == ECONNRESET) {}
    return size <= 0;
}

/* --- Rings --------------------------------------------------------------------------------------------------- */

/* What the two ends share: of each way its indices and flags, a cache line each, and its bytes. */
enum { RING_BYTES = 65536, MOST_IN_RING = 16384 };
struct way {
    _Alignas(64) atomic_uint sent;
    atomic_uint processor; /* 1 + that of the sending end */
    _Alignas(64) atomic_uint received;
    _Alignas(64) atomic_uint is_asleep;
    _Alignas(64) atomic_uint taken;
    atomic_uint copied; /* 1 + how many lent files; 0: knows of none */
};
struct ring_memory {
    struct way to_server, to_sender;
    atomic_uint is_ready;
    _Alignas(4096) unsigned char bytes_to_server[RING_BYTES], bytes_to_sender[RING_BYTES];
};
_Static_assert(sizeof(struct ring_memory) == 4096 + 2 * RING_BYTES && offsetof(struct ring_memory, is_ready) == 512, "as it is shared");
struct raw_ring {
    int file, own_bell, other_bell;
    struct ring_memory *memory;
};

/* One message of the socket, with up to three descriptors, in their order: how many there were. */
HELPER int raw_receive(int fd, struct head *head, int passed[3]) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    char bytes[512];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    CHECK(recvmsg(fd, &message, MSG_CMSG_CLOEXEC) >= (ssize_t)sizeof *head);
    memcpy(head, bytes, sizeof *head);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (!rights) return 0;
    size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(passed, CMSG_DATA(rights), count * sizeof(int));
    return (int)count;
}
HELPER void ask_for_ring(int fd) {
    static const char question[] = "\5\0\1\0\0\0\0\0\377ringv";
    CHECK(send_frame(fd, head_of(CALL_KIND, WANTS_REPLY, sizeof question - 1, RING_SERIAL), question, sizeof question - 1) > 0);
}
/* The next frame of a sender, but for its question for a ring, which is not answered. */
HELPER ssize_t receive_asked(int fd, void *bytes, size_t size) {
    struct head asked;
    ssize_t count;
    do {
        count = recv(fd, bytes, size, 0);
        CHECK(count >= (ssize_t)sizeof asked);
        memcpy(&asked, bytes, sizeof asked);
    } while (asked.kind == CALL_KIND && asked.serial == RING_SERIAL);
    return count;
}
/* The answer to that; false if the port has no ring for the connection. */
HELPER bool take_raw_ring(int fd, struct raw_ring *ring) {
    struct head head;
    int passed[3], count = raw_receive(fd, &head, passed);
    if (head.kind == REPLY) {
        CHECK_INT(head.serial, RING_SERIAL);
        CHECK_INT(head.length, 8);
        CHECK_INT(count, 0);
        return false;
    }
    CHECK_INT(head.kind, RING);
    CHECK_INT(count, 3);
    *ring = (struct raw_ring){.file = passed[0], .own_bell = passed[1], .other_bell = passed[2]};
    ring->memory = mmap(NULL, sizeof *ring->memory, PROT_READ | PROT_WRITE, MAP_SHARED, ring->file, 0);
    CHECK(ring->memory != MAP_FAILED);
    return true;
}
HELPER bool raw_ring(int fd, struct raw_ring *ring) {
    ask_for_ring(fd);
    return take_raw_ring(fd, ring);
}
/* A connection with a ring, to a port that this thread serves. */
HELPER int connect_here(const char *name, struct raw_ring *ring) {
    int fd = raw_greeted(name);
    ask_for_ring(fd);
    poll_mode(M);
    CHECK(take_raw_ring(fd, ring));
    return fd;
}
HELPER void drop_ring(struct raw_ring *ring) {
    munmap(ring->memory, sizeof *ring->memory);
    close(ring->file), close(ring->own_bell), close(ring->other_bell);
}
HELPER void ring_bell(int fd) {
    uint64_t none = 0;
    CHECK_INT(write(fd, &none, sizeof none), sizeof none);
}
/* Puts a frame behind what a way has, which does not go around inside of it, without ringing. */
HELPER void put_frame_silently(struct way *way, unsigned char *bytes, struct head head, const void *data, size_t size) {
    unsigned at = atomic_load(&way->sent);
    CHECK(at % RING_BYTES + sizeof head + size <= RING_BYTES);
    memcpy(bytes + at % RING_BYTES, &head, sizeof head);
    if (size) memcpy(bytes + at % RING_BYTES + sizeof head, data, size);
    atomic_store(&way->sent, at + (unsigned)((sizeof head + size + 31) / 32 * 32));
}
/* The same, and rings. */
HELPER void put_frame(struct way *way, unsigned char *bytes, int bell, struct head head, const void *data, size_t size) {
    put_frame_silently(way, bytes, head, data, size);
    ring_bell(bell);
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
