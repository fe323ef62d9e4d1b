/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleSockets.h: what message ports need of the kernel: sockets that keep messages apart, files that nobody can change. */
#ifndef CTREADLE_SOCKETS_H
#define CTREADLE_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Results are 0 or more, or -errno. None of these waits, but for the one that says so; none is a cancellation point. */

/* A descriptor of the library's own, under another number if it has one of 0 to 2: in a program that runs without standard streams,
 * what the program prints would go there. The original is then closed. */
int32_t treadle_system_above_standard(int32_t fd);

/* Descriptors of message ports, which the child of a fork must not keep open: whoever has the other end would not see its end.
 * A descriptor is noted when it is there, and closed by the third; the fourth only takes the note back. The last closes all of them, in the
 * child; safe there.
 * The first returns the descriptor, as treadle_system_above_standard does, also one that there is no room to note, or an error. */
__attribute__((warn_unused_result)) int32_t treadle_system_socket_note(int32_t fd);
bool treadle_system_socket_is_noted(int32_t fd);
int32_t treadle_system_socket_close(int32_t fd);
void treadle_system_socket_forget(int32_t fd);
void treadle_system_sockets_close_in_child(void);
/* Whether a descriptor that was opened just now is in the upper half of those that the process may have: the kernel gives the lowest free
 * number, so as many are open. What a port can do without is for others then. */
bool treadle_system_descriptor_is_late(int32_t fd);

/* A socket that listens under a name of the abstract namespace, and one that is connected to that. The second waits until an absolute
 * monotonic time for a place in the queue of the first, or not at all with 0; a signal does not end that. */
int32_t treadle_system_socket_listen(const void *name, size_t length);
int32_t treadle_system_socket_connect(const void *name, size_t length, int64_t until);
int32_t treadle_system_socket_accept(int32_t fd);
/* Whether the other end may send descriptors, if the kernel knows of that: not over a socket of the two above or what they accept. */
void treadle_system_socket_take_files(int32_t fd, bool takes);
int32_t treadle_system_epoll(void); /* as treadle_system_epoll_create, noted */
/* Who has the other end: as of its connecting or listening. */
int32_t treadle_system_socket_peer(int32_t fd, uint32_t *user, int32_t *process);
uint32_t treadle_system_user(void);
/* Whether the number means one user to this process. In a user namespace that does not map all users the kernel shows the others as one
 * number (65534), which a mapped user may have besides. False for that number if the map cannot be read. */
bool treadle_system_user_is_certain(uint32_t user);

/* At most this many descriptors travel with a message: those of a ring. */
enum { TREADLE_SYSTEM_PASSED = 3 };
/* One message, of two parts, with some descriptors. Its size. */
int64_t treadle_system_socket_send(int32_t fd, const void *head, size_t head_size, const void *data, size_t size, const int32_t *passed,
                                   size_t count);

struct treadle_system_received {
    int64_t size;    /* of the message, of which as much as there is room for was stored; 0: the other end is closed */
    int32_t passed[TREADLE_SYSTEM_PASSED]; /* descriptors that came with it; -1: none */
    int32_t count;   /* of these */
    bool is_odd;     /* it came with more descriptors, which are closed, or with something else */
    bool is_cut;     /* it came with descriptors for which this process has no room */
};
int32_t treadle_system_socket_receive(int32_t fd, void *buffer, size_t room, struct treadle_system_received *out);
/* A look at the next message of a sender that is not trusted, by which the kernel closes no descriptor: one that came with it is duplicated,
 * and more of them, or a want of descriptors, is said by is_cut. The second receives the message without its descriptors. */
int32_t treadle_system_socket_peek(int32_t fd, void *buffer, size_t room, struct treadle_system_received *out);
void treadle_system_socket_skip(int32_t fd);
/* Receives what lies unread in a connection that is shut, up to a message with descriptors: false if there is one, or much else. If not, a
 * close of the connection closes nothing of the other user's, and does not wait. */
bool treadle_system_socket_is_bare(int32_t fd);
/* Whether the other end is closed: nothing can be sent any more. */
bool treadle_system_socket_is_hung_up(int32_t fd);
void treadle_system_socket_shut(int32_t fd); /* ends the connection, also for who waits in this process */
/* Waits for room, for a message, or for the other end's close, until an absolute monotonic time; a signal ends it too. Whether there is a
 * message, and neither of the others. */
bool treadle_system_socket_wait(int32_t fd, int64_t until);
/* Waits until it is readable, or its other side has gone, whatever signals come: 1, 0 at the date, or -errno. */
int32_t treadle_system_wait_readable(int32_t fd, int64_t until);
void treadle_system_socket_rest(int32_t fd, int64_t until); /* waits for the date, or the other end's end */

/* An empty file in memory, noted; and whether a descriptor is that of such a file, of ordinary pages. */
int32_t treadle_system_memory_file(void);
bool treadle_system_is_memory_file(int32_t fd);

/* A file in memory with these bytes, which nobody can change any more. */
int32_t treadle_system_sealed_file(const void *data, size_t size);
/* Whether a descriptor is one of the kernel's files in memory, whose close never waits. */
bool treadle_system_has_seals(int32_t fd);
/* Functions that take a file of another process, which may do with it whatever it can meanwhile. What each of them calls:
 * - all: fcntl(F_GET_SEALS) and fstatfs, which take no lock of the file's, and so never wait; the latter only of a file with seals.
 * - _read, _copy, treadle_system_lent_read: pread64, which takes no lock of the file's, and waits for its pages at most to be read from swap
 *   space; a hole is read as zeroes.
 * - _copy: fstat, which takes no lock of the file's, but for a few kernels of late 2024.
 * - _map: fstat, lseek and mmap. lseek waits for each fallocate of the file that another process has begun. */
/* The mapped bytes of a sealed file that is that large, and has a page for each; NULL if not, or without memory. It may wait: for files of the
 * process's own user, and without a lock. */
const void *treadle_system_sealed_map(int32_t fd, size_t size);
void treadle_system_sealed_unmap(const void *data, size_t size);
/* A copy for treadle_system_sealed_unmap of a sealed file that is that large, and takes so much memory itself; NULL if not. */
const void *treadle_system_sealed_copy(int32_t fd, size_t size);
/* Copies the bytes of a sealed file; false if it is none, or shorter. */
bool treadle_system_sealed_read(int32_t fd, void *room, size_t size);
/* A file in memory of that size, which neither shrinks nor grows, without pages yet. Its sender writes to it again, so its receiver
 * copies its bytes; false if it is no file in memory, or is shorter. */
int32_t treadle_system_lent_file(size_t size);
bool treadle_system_lent_read(int32_t fd, void *room, size_t size);
/* Memory for such a copy, of one size for all; NULL without any. The process keeps one that was ended for the next. */
void *treadle_system_copy_room(size_t size);
void treadle_system_copy_room_end(void *room);
/* Without a signal for the program. */
int32_t treadle_system_write_at_start(int32_t fd, const void *bytes, size_t size);
int32_t treadle_system_size_file(int32_t fd, size_t size);

/* Memory for a ring that two processes share: a file that neither shrinks nor grows, and its mapping, after a look that it is such a
 * file, has that size, and has all its pages; NULL if not. The child of a fork does not have the mapping. */
int32_t treadle_system_ring_file(size_t size);
int32_t treadle_system_allocate_file(int32_t fd, size_t size); /* without a signal for the program */
void *treadle_system_ring_map(int32_t fd, size_t size);
void treadle_system_ring_unmap(void *memory, size_t size);
/* A doorbell: a descriptor that is watched for edges (EPOLLET), of which each ring is one. Ringing never waits. Whether a
 * descriptor that came from another process is one is found out without asking that process. */
int32_t treadle_system_bell(void);
int32_t treadle_system_bell_ring(int32_t fd);
bool treadle_system_bell_is_one(int32_t fd);

/* errno values that message ports tell apart. */
int32_t treadle_system_eaddrinuse(void);
int32_t treadle_system_econnrefused(void);
int32_t treadle_system_emfile(void);
int32_t treadle_system_enfile(void);
int32_t treadle_system_epipe(void);
int32_t treadle_system_econnreset(void);
int32_t treadle_system_enobufs(void);
int32_t treadle_system_etoomanyrefs(void);
int32_t treadle_system_emsgsize(void);

#endif
