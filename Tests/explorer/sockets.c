/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * sockets.c: as much of AF_UNIX sockets and of files in memory as message ports use: connecting by a name, messages with descriptors,
 * and memory that both sides map. Both are in one process here, so a descriptor that is passed keeps its number. */
#include "files.h"
#include "scene.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static struct file *socket_of(int fd) {
    struct file *f = file_of(fd);
    return f && f->kind == SOCKET ? f : NULL;
}
#define CALL(NAME) point(NULL, true, __builtin_return_address(0), NAME)

/* --- Sockets ---------------------------------------------------------------------------------------- */

void leave_accepted_sockets_room(int messages) { world.room_of_accepted = messages; }
/* How many messages of a socket have yet to be received. */
static int on_their_way(const struct file *f) {
    int count = 0;
    for (const struct message *m = f->peer >= 0 ? file_of(f->peer)->first : NULL; m; m = m->next) count++;
    return count;
}
/* As Linux has it: a socket is said to have room again when three quarters of what filled it are received. */
static bool has_room(const struct file *f) { return f->room == 0 || 4 * on_their_way(f) <= f->room; }
uint32_t socket_readiness(const struct file *f) {
    if (f->is_listening) return f->first ? EPOLLIN : 0;
    bool has_ended = f->was_connected && f->peer < 0;
    return (f->first || has_ended ? EPOLLIN : 0) | (has_room(f) ? EPOLLOUT : 0) | (has_ended ? EPOLLHUP | EPOLLRDHUP : 0);
}
static void append(struct file *f, struct message *message) {
    struct message **end = &f->first;
    while (*end) end = &(*end)->next;
    *end = message;
}
static struct message *make_message(size_t size) {
    struct message *message = calloc(1, sizeof *message + size);
    if (!message) fail("the explorer has no memory for a message");
    message->size = size;
    return message;
}

int __wrap_socket(int family, int type, int protocol) {
    (void)family, (void)type, (void)protocol;
    return (int)answer(choose_failure(SHORTAGES, 1) ? -EMFILE : open_file(SOCKET));
}
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length) {
    struct file *f = socket_of(fd);
    if (!f || length > NAME) return (int)answer(-EBADF);
    for (int i = 0; i < FILES; i++)
        if (files[i].kind == SOCKET && files[i].name_length == length && !memcmp(files[i].name, address, length)) return (int)answer(-EADDRINUSE);
    memcpy(f->name, address, f->name_length = length);
    return 0;
}
int __wrap_listen(int fd, int room) {
    (void)room;
    socket_of(fd)->is_listening = true;
    return 0;
}
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *size) {
    (void)fd, (void)level, (void)option, (void)size;
    *(struct ucred *)value = (struct ucred){.pid = getpid(), .uid = geteuid(), .gid = getegid()};
    return 0;
}
/* As a kernel that does not know the option. */
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size) {
    return (void)fd, (void)level, (void)option, (void)value, (void)size, (int)answer(-ENOPROTOOPT);
}
long socket_connect(int fd, const void *address, size_t length) {
    struct file *f = socket_of(fd);
    CALL("connect");
    for (int i = 0; i < FILES; i++) {
        struct file *listener = &files[i];
        if (listener->kind != SOCKET || !listener->is_listening || listener->name_length != length || memcmp(listener->name, address, length)) continue;
        int other = open_file(SOCKET);
        if (other < 0) return other;
        struct message *arrival = make_message(0);
        arrival->passed[0] = other;
        f->peer = other, file_of(other)->peer = fd;
        f->was_connected = file_of(other)->was_connected = file_of(other)->was_accepted = true;
        append(listener, arrival);
        file_has_changed(FIRST + i);
        return 0;
    }
    return -ECONNREFUSED;
}
long socket_accept(int fd) {
    struct file *f = socket_of(fd);
    CALL("accept");
    struct message *arrival = f->first;
    if (!arrival) return -EAGAIN;
    if (choose_failure(SHORTAGES, 1)) return -EMFILE;
    be_told(me(), &f->told);
    int accepted = arrival->passed[0];
    f->first = arrival->next;
    free(arrival);
    return accepted;
}
long socket_send(int fd, const struct msghdr *message) {
    struct file *f = socket_of(fd);
    CALL("sendmsg");
    if (!f) return -EBADF;
    if (f->peer < 0) return -EPIPE;
    if (choose_failure(SHORTAGES, 1)) return -ENOBUFS;
    if (choose_failure(INTERRUPTIONS, 1)) return -EINTR;
    int before = on_their_way(f);
    if (f->room == 0 && f->was_accepted) f->room = world.room_of_accepted;
    if (before > 0 && f->room == 0 && choose_failure(FULL_SOCKETS, 1)) f->room = before;
    if (f->room > 0 && before >= f->room) return -EAGAIN;
    size_t size = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) size += message->msg_iov[i].iov_len;
    struct message *sent = make_message(size);
    char *at = sent->bytes;
    for (size_t i = 0; i < message->msg_iovlen; at += message->msg_iov[i++].iov_len) memcpy(at, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    if (message->msg_controllen) {
        const struct cmsghdr *head = message->msg_control;
        sent->passed_count = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(sent->passed, CMSG_DATA(head), (size_t)sent->passed_count * sizeof(int));
        for (int i = 0; i < sent->passed_count; i++) file_of(sent->passed[i])->copies++;
    }
    append(file_of(f->peer), sent);
    file_has_changed(f->peer);
    return (long)size;
}
long socket_receive(int fd, struct msghdr *message) {
    struct file *f = socket_of(fd);
    CALL("recvmsg");
    if (!f) return -EBADF;
    struct message *first = f->first;
    message->msg_flags = 0;
    if (!first) {
        message->msg_controllen = 0;
        return f->peer < 0 ? 0 : -EAGAIN;
    }
    if (first->size > message->msg_iov->iov_len) fail("a message is longer than the room for it");
    be_told(me(), &f->told);
    memcpy(message->msg_iov->iov_base, first->bytes, first->size);
    size_t bytes = (size_t)first->passed_count * sizeof(int);
    if (bytes) {
        struct cmsghdr *head = message->msg_control;
        *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), first->passed, bytes);
    }
    message->msg_controllen = bytes ? CMSG_SPACE(bytes) : 0;
    f->first = first->next;
    long size = (long)first->size;
    free(first);
    if (f->peer >= 0 && file_of(f->peer)->room > 0 && has_room(file_of(f->peer))) file_has_changed(f->peer);
    return size;
}
/* What this side has sent is received still. */
static void part(int fd) {
    struct file *f = file_of(fd);
    int peer = f->peer;
    f->peer = -1;
    if (peer < 0) return;
    file_of(peer)->peer = -1;
    file_has_changed(peer);
}
long socket_shut(int fd) {
    CALL("shutdown");
    if (!socket_of(fd)) return -EBADF;
    part(fd);
    file_has_changed(fd);
    return 0;
}
long socket_poll(struct pollfd *one, const struct timespec *limit) {
    struct file *f = socket_of(one->fd);
    CALL("poll");
    one->revents = POLLNVAL;
    if (!f) return 1;
    int64_t length = limit ? limit->tv_sec * 1000000000 + limit->tv_nsec : NEVER, until = limit ? world.now + length : NEVER;
    if (length > 0 && choose_failure(INTERRUPTIONS, 1)) return -EINTR;
    me()->events = (uint32_t)(one->events | POLLHUP | POLLERR);
    while (!(socket_readiness(f) & me()->events))
        if (length <= 0 || block(ON_POLL, f, until) == -ETIMEDOUT) break;
    one->revents = (short)(socket_readiness(f) & me()->events);
    if (one->revents) be_told(me(), &f->told);
    return one->revents != 0;
}

/* --- Memory ------------------------------------------------------------------------------------------ */

static struct mapping {
    char *memory;
    int uses;
} mappings[FILES];

static struct mapping *mapping_of(const void *memory) {
    for (int i = 0; i < FILES; i++)
        if (mappings[i].memory == memory) return &mappings[i];
    fail("the explorer knows of no such memory");
}
static void give_up(char *memory) {
    struct mapping *mapping = mapping_of(memory);
    if (--mapping->uses > 0) return;
    mapping->memory = NULL;
    free(memory);
}
long size_file(int fd, size_t size) {
    struct file *f = file_of(fd);
    struct mapping *mapping = mapping_of(NULL);
    f->count = size;
    f->memory = calloc(1, size);
    *mapping = (struct mapping){f->memory, 1};
    return f->memory ? 0 : -ENOMEM;
}
long map_file(int fd) {
    mapping_of(file_of(fd)->memory)->uses++;
    return (long)file_of(fd)->memory;
}
long unmap_file(void *memory) { return give_up(memory), 0; }
int __wrap_madvise(void *memory, size_t size, int advice) { return (void)memory, (void)size, (void)advice, 0; }
int __wrap_fstat(int fd, struct stat *out) {
    *out = (struct stat){.st_size = (off_t)file_of(fd)->count, .st_blocks = (blkcnt_t)(file_of(fd)->count / 512)};
    return 0;
}
int __wrap_fstatfs(int fd, struct statfs *out) { return (void)fd, out->f_type = 0x01021994, 0; }
/* One inode for all but files. */
long identify_file(int fd, void *out) {
    struct statx *status = out;
    if (!file_of(fd)) return -EBADF;
    status->stx_ino = file_of(fd)->kind == EVENT ? 1 : 2;
    return 0;
}

/* The last descriptor is closed. */
void close_socket(int fd) {
    struct file *f = file_of(fd);
    if (f->kind == MEMORY && f->memory) give_up(f->memory);
    if (f->kind != SOCKET) return;
    part(fd);
    if (f->first) be_told(me(), &f->told); /* what is freed here was made by senders */
    while (f->first) {
        struct message *next = f->first->next;
        free(f->first);
        f->first = next;
    }
}
