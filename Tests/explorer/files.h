/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * files.h: the descriptors of the modelled kernel (kernel.c), and what of them is in sockets.c. */
#ifndef FILES_H
#define FILES_H

#include "world.h"

#include <errno.h>
#include <sys/socket.h>

enum { FIRST = 100, FILES = 32, WATCHED = 16, PASSED = 3, NAME = 110 };
enum file_kind { CLOSED, EVENT, TIMER, EPOLL, SOCKET, MEMORY };
struct watched {
    int fd; /* -1: unused */
    uint32_t events;
    uint64_t data;
    bool is_armed; /* edge-triggered or one-shot: it reports once more */
};
struct message {
    struct message *next;
    size_t size;
    int passed[PASSED], passed_count;
    char bytes[];
};
struct file {
    enum file_kind kind;
    int copies;     /* how many more descriptors there are, which have the same number */
    uint64_t count; /* of an eventfd */
    int64_t date;   /* of a timer */
    struct watched list[WATCHED];
    struct told told; /* what those who made it ready had done before */
    /* A socket: one that listens has a name, and those that have connected as messages without bytes. */
    char name[NAME];
    size_t name_length;
    int peer; /* -1: none, or none any more */
    bool is_listening, was_connected, was_accepted;
    int room; /* for so many messages on their way to the other side; 0: for any number */
    struct message *first;
    /* Memory, which both sides have at one address. */
    char *memory;
};
extern struct file files[FILES];

/* As libc's functions say it. Those that succeed may leave anything in errno. */
static inline long answer(long result) {
    errno = result >= 0 ? ENOTTY : (int)-result;
    return result >= 0 ? result : -1;
}

/* kernel.c */
struct file *file_of(int fd);
int open_file(enum file_kind kind);
void file_has_changed(int fd);

/* sockets.c: results of the kernel's calls, 0 or more, or -errno */
uint32_t socket_readiness(const struct file *f);
long socket_connect(int fd, const void *address, size_t length);
long socket_accept(int fd);
long socket_send(int fd, const struct msghdr *message);
long socket_receive(int fd, struct msghdr *message);
long socket_shut(int fd);
struct pollfd;
struct timespec;
long socket_poll(struct pollfd *one, const struct timespec *limit);
void close_socket(int fd);
long size_file(int fd, size_t size);
long identify_file(int fd, void *out);
long map_file(int fd);
long unmap_file(void *memory);

#endif
