/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static int64_t result(long value) { return value < 0 ? -errno : value; }

/* --- Which descriptors are ours -------------------------------------------------------------------- */

/* A bit for each number, which costs memory only where numbers are used: as many as the kernel gives a process at most, unless
 * somebody has told it otherwise. */
enum { NOTED = 1 << 20 };
static uint64_t noted[NOTED / 64];

int32_t treadle_system_socket_note(int32_t fd) {
    fd = treadle_system_above_standard(fd);
    if (fd >= 0 && fd < NOTED) __atomic_or_fetch(&noted[fd / 64], (uint64_t)1 << fd % 64, __ATOMIC_RELAXED);
    return fd;
}
bool treadle_system_socket_is_noted(int32_t fd) {
    return fd >= 0 && fd < NOTED && __atomic_load_n(&noted[fd / 64], __ATOMIC_RELAXED) >> fd % 64 & 1;
}
void treadle_system_socket_forget(int32_t fd) {
    if (fd >= 0 && fd < NOTED) __atomic_and_fetch(&noted[fd / 64], ~((uint64_t)1 << fd % 64), __ATOMIC_RELAXED);
}
int32_t treadle_system_socket_close(int32_t fd) {
    if (fd < 0) return 0;
    treadle_system_socket_forget(fd);
    return (int32_t)result(syscall(SYS_close, fd));
}
bool treadle_system_descriptor_is_late(int32_t fd) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && fd >= 0 && (rlim_t)fd >= limit.rlim_cur / 2;
}
/* In the child. */
void treadle_system_sockets_close_in_child(void) {
    int saved = errno;
    for (int32_t i = 0; i < NOTED / 64; i++) {
        uint64_t bits = noted[i];
        if (bits == 0) continue;
        noted[i] = 0;
        for (int32_t bit = 0; bit < 64; bit++)
            if (bits >> bit & 1) syscall(SYS_close, i * 64 + bit);
    }
    errno = saved;
}

/* --- Sockets --------------------------------------------------------------------------------------- */

static int32_t open_socket(void) {
    return treadle_system_socket_note((int32_t)result(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
}
static socklen_t address_of(const void *name, size_t length, struct sockaddr_un *out) {
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (length > sizeof out->sun_path - 1) length = sizeof out->sun_path - 1;
    memcpy(out->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}
/* Before Linux 6.16 there is no such option: descriptors of every sender come then. */
void treadle_system_socket_take_files(int32_t fd, bool takes) {
    enum { PASS_RIGHTS = 83 }; /* SO_PASSRIGHTS, but on MIPS, PA-RISC and SPARC */
    int value = takes;
    setsockopt(fd, SOL_SOCKET, PASS_RIGHTS, &value, sizeof value);
}
static int32_t closing(int32_t fd, int32_t value) {
    if (value < 0) treadle_system_socket_close(fd);
    return value < 0 ? value : fd;
}

int32_t treadle_system_socket_listen(const void *name, size_t length) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, length, &address);
    int32_t fd = open_socket();
    if (fd < 0) return fd;
    treadle_system_socket_take_files(fd, false); /* nor does what it accepts */
    int32_t value = (int32_t)result(bind(fd, (struct sockaddr *)&address, size));
    if (value >= 0) value = (int32_t)result(listen(fd, SOMAXCONN));
    return closing(fd, value);
}
/* The kernel lets those in who wait, in their turn: by a socket that waits, for so long as it is told. */
static int32_t connect_until(int32_t fd, const struct sockaddr_un *address, socklen_t size, int64_t until) {
    int32_t value = -EAGAIN;
    if (fcntl(fd, F_SETFL, 0) < 0) return value;
    do {
        int64_t left = until - treadle_system_now();
        if (left < 1000) break; /* no time at all would be for ever */
        const struct timeval time = {.tv_sec = (time_t)(left / 1000000000), .tv_usec = (suseconds_t)(left % 1000000000 / 1000)};
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) < 0) break;
        value = (int32_t)result(syscall(SYS_connect, fd, address, size));
    } while (value == -EINTR);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return value == -EINTR ? -EAGAIN : value;
}
int32_t treadle_system_socket_connect(const void *name, size_t length, int64_t until) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, length, &address);
    int32_t fd = open_socket();
    if (fd < 0) return fd;
    treadle_system_socket_take_files(fd, false);
    int32_t value = (int32_t)result(syscall(SYS_connect, fd, &address, size));
    if (value == -EAGAIN && until) value = connect_until(fd, &address, size, until);
    return closing(fd, value);
}
int32_t treadle_system_socket_accept(int32_t fd) {
    return treadle_system_socket_note((int32_t)result(syscall(SYS_accept4, fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)));
}
int32_t treadle_system_epoll(void) { return treadle_system_socket_note(treadle_system_epoll_create()); }

int32_t treadle_system_socket_peer(int32_t fd, uint32_t *user, int32_t *process) {
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    int32_t value = (int32_t)result(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size));
    *user = value < 0 ? UINT32_MAX : peer.uid;
    *process = peer.pid;
    return value;
}
uint32_t treadle_system_user(void) { return (uint32_t)geteuid(); }

/* The numbers with which a file begins; how many it has. */
static int read_numbers(const char *path, uint64_t *numbers, int most) {
    char text[64];
    int64_t fd = result(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    if (fd < 0) return 0;
    int64_t length = result(syscall(SYS_read, fd, text, sizeof text));
    syscall(SYS_close, fd);
    int count = 0;
    for (int64_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') continue;
        if (count == most) break;
        for (numbers[count] = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
            numbers[count] = numbers[count] * 10 + (uint64_t)(text[i] - '0');
        }
        count++;
    }
    return count;
}
/* The number as which the kernel shows each user that this process's user namespace does not map, as of the first question. */
static uint32_t unmapped_user(void) {
    static uint32_t known = UINT32_MAX;
    uint32_t user = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (user != UINT32_MAX) return user;
    uint64_t number;
    user = read_numbers("/proc/sys/kernel/overflowuid", &number, 1) == 1 ? (uint32_t)number : 65534;
    __atomic_store_n(&known, user, __ATOMIC_RELAXED);
    return user;
}
/* Whether this process's user namespace maps every user there is, as the first one does: in one range, of as many as there are. */
static bool are_all_users_mapped(void) {
    uint64_t range[3]; /* the first one here, the first one there, how many */
    return read_numbers("/proc/self/uid_map", range, 3) == 3 && range[0] == 0 && range[2] >= UINT32_MAX;
}
bool treadle_system_user_is_certain(uint32_t user) {
    int saved = errno;
    bool is_certain = user != unmapped_user() || are_all_users_mapped();
    errno = saved;
    return is_certain;
}

union passing {
    struct cmsghdr head;
    char room[CMSG_SPACE(TREADLE_SYSTEM_PASSED * sizeof(int))];
};

int64_t treadle_system_socket_send(int32_t fd, const void *head, size_t head_size, const void *data, size_t size, const int32_t *passed,
                                   size_t count) {
    struct iovec parts[2] = {{.iov_base = (void *)head, .iov_len = head_size}, {.iov_base = (void *)data, .iov_len = size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = size ? 2 : 1};
    union passing control;
    if (count > 0 && count <= TREADLE_SYSTEM_PASSED) {
        memset(&control, 0, sizeof control);
        control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), passed, count * sizeof *passed);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    return result(syscall(SYS_sendmsg, fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

int32_t treadle_system_socket_receive(int32_t fd, void *buffer, size_t room, struct treadle_system_received *out) {
    enum { MOST = 8 }; /* what does not fit, the kernel closes, and says so; it is the port's own user's */
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(MOST * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = buffer, .iov_len = room};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int64_t size = result(syscall(SYS_recvmsg, fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC));
    *out = (struct treadle_system_received){.size = size, .passed = {-1, -1, -1}};
    if (size < 0) return (int32_t)size;
    out->is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
    for (struct cmsghdr *part_of = CMSG_FIRSTHDR(&message); part_of; part_of = CMSG_NXTHDR(&message, part_of)) {
        if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) {
            out->is_odd = true;
            continue;
        }
        size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int number;
            memcpy(&number, CMSG_DATA(part_of) + i * sizeof number, sizeof number);
            if (out->count < TREADLE_SYSTEM_PASSED) {
                out->passed[out->count++] = treadle_system_socket_note(number);
            } else {
                out->is_odd = true;
                syscall(SYS_close, number);
            }
        }
    }
    return 0;
}

void treadle_system_socket_skip(int32_t fd) {
    while (result(syscall(SYS_recvfrom, fd, NULL, 0L, (long)(MSG_DONTWAIT | MSG_TRUNC), NULL, NULL)) == -EINTR) {}
}
/* What the kernel leaves in the queue, it does not close: neither the descriptors for which there is no room, nor those that it has
 * duplicated for a look. */
bool treadle_system_socket_is_bare(int32_t fd) {
    enum { MOST = 64 };
    const int yes = 1;
    /* With the sender's user a message without bytes differs from none. */
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) < 0) return false;
    for (int i = 0; i < MOST; i++) {
        char user[CMSG_SPACE(sizeof(struct ucred))];
        struct msghdr message = {.msg_control = user, .msg_controllen = sizeof user};
        int64_t size = result(syscall(SYS_recvmsg, fd, &message, MSG_PEEK | MSG_DONTWAIT));
        if (size < 0 || message.msg_controllen == 0) return size >= 0 || size == -EAGAIN || size == -ECONNRESET;
        if (message.msg_flags & MSG_CTRUNC) return false;
        treadle_system_socket_skip(fd);
    }
    return false;
}
int32_t treadle_system_socket_peek(int32_t fd, void *buffer, size_t room, struct treadle_system_received *out) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = buffer, .iov_len = room};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))};
    int64_t size = result(syscall(SYS_recvmsg, fd, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC));
    *out = (struct treadle_system_received){.size = size, .passed = {-1, -1, -1}};
    if (size < 0) return (int32_t)size;
    out->is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(int))) {
        int number;
        memcpy(&number, CMSG_DATA(rights), sizeof number);
        out->passed[out->count++] = treadle_system_socket_note(number);
    } else if (rights) {
        out->is_odd = true;
    }
    return 0;
}

static int poll_until(struct pollfd *one, int64_t until) {
    int64_t left = until == INT64_MAX ? INT64_MAX : until - treadle_system_now();
    if (left < 0) left = 0;
    struct timespec time = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
    return (int)result(syscall(SYS_ppoll, one, 1L, until == INT64_MAX ? NULL : &time, NULL, 0L));
}
bool treadle_system_socket_is_hung_up(int32_t fd) {
    struct pollfd one = {.fd = fd};
    return poll_until(&one, 0) > 0 && (one.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}
void treadle_system_socket_shut(int32_t fd) { syscall(SYS_shutdown, fd, SHUT_RDWR); }
bool treadle_system_socket_wait(int32_t fd, int64_t until) {
    struct pollfd one = {.fd = fd, .events = POLLIN | POLLOUT};
    return poll_until(&one, until) > 0 && one.revents == POLLIN;
}
int32_t treadle_system_wait_readable(int32_t fd, int64_t until) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    int32_t found;
    do found = poll_until(&one, until);
    while (found == -EINTR);
    return found;
}
void treadle_system_socket_rest(int32_t fd, int64_t until) {
    struct pollfd one = {.fd = fd};
    poll_until(&one, until);
}

/* --- Files that nobody can change ------------------------------------------------------------------- */

static const int all_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

int32_t treadle_system_memory_file(void) {
    return treadle_system_socket_note((int32_t)result(syscall(SYS_memfd_create, "treadle", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
}
bool treadle_system_is_memory_file(int32_t fd) {
    const long tmpfs = 0x01021994;
    struct statfs system;
    return fstatfs(fd, &system) == 0 && system.f_type == tmpfs;
}

int32_t treadle_system_sealed_file(const void *data, size_t size) {
    int32_t fd = treadle_system_memory_file();
    if (fd < 0) return fd;
    int32_t error = treadle_system_write_all(fd, data, size);
    if (error < 0) return closing(fd, error);
    return closing(fd, (int32_t)result(fcntl(fd, F_ADD_SEALS, all_seals)));
}

/* Whether a sender's file can no longer change, and is of ordinary pages. Only the kernel's files in memory have seals, and a look at
 * these takes no lock: so no file system is asked for anything, and no other process can have this one wait. */
static bool is_sealed(int32_t fd) {
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & needed) == needed && treadle_system_is_memory_file(fd);
}
bool treadle_system_has_seals(int32_t fd) { return fcntl(fd, F_GET_SEALS) >= 0; }
static bool has_size(int32_t fd, size_t size, struct stat *out) {
    return size > 0 && fstat(fd, out) == 0 && out->st_size >= 0 && (uint64_t)out->st_size >= size;
}
/* No access to the mapping can fail if there is a page for every byte. That look takes the file's lock, which another process may hold
 * by fallocate for as long as that takes: within the file's size, since a sealed file does not grow. */
const void *treadle_system_sealed_map(int32_t fd, size_t size) {
    struct stat status;
    if (!is_sealed(fd) || !has_size(fd, size, &status) || lseek(fd, 0, SEEK_HOLE) < (off_t)size) return NULL;
    long mapped = syscall(SYS_mmap, NULL, size, (long)PROT_READ, (long)MAP_PRIVATE, (long)fd, 0L);
    return mapped == -1 ? NULL : (const void *)mapped;
}
void treadle_system_sealed_unmap(const void *data, size_t size) { syscall(SYS_munmap, data, size); }

static bool read_all(int32_t fd, void *room, size_t size) {
    for (size_t done = 0; done < size;) {
        int64_t count = result(syscall(SYS_pread64, fd, (char *)room + done, size - done, (long)done));
        if (count == -EINTR) continue;
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}
bool treadle_system_sealed_read(int32_t fd, void *room, size_t size) { return is_sealed(fd) && read_all(fd, room, size); }
const void *treadle_system_sealed_copy(int32_t fd, size_t size) {
    struct stat status;
    if (!is_sealed(fd) || !has_size(fd, size, &status) || (uint64_t)status.st_blocks * 512 < size) return NULL;
    long room = syscall(SYS_mmap, NULL, size, (long)(PROT_READ | PROT_WRITE), (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    if (room == -1) return NULL;
    if (read_all(fd, (void *)room, size)) return (const void *)room;
    treadle_system_sealed_unmap((const void *)room, size);
    return NULL;
}

/* --- Files that are lent ----------------------------------------------------------------------------- */

int32_t treadle_system_lent_file(size_t size) {
    int32_t fd = treadle_system_memory_file();
    if (fd < 0) return fd;
    int32_t error = treadle_system_size_file(fd, size);
    /* The receiver, who may write to it as well, can neither have it grow nor seal it. */
    if (error >= 0) error = (int32_t)result(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW));
    return closing(fd, error);
}
/* Reading such a file never waits for another process, and where bytes are missing it ends early: the sender may do with it what it can. */
bool treadle_system_lent_read(int32_t fd, void *room, size_t size) {
    return fcntl(fd, F_GET_SEALS) >= 0 && treadle_system_is_memory_file(fd) && read_all(fd, room, size);
}

/* --- Memory for copies of files ------------------------------------------------------------------------ */

/* That of the last message, whose pages are there already: an allocator may give so much memory back to the system each time. */
static void *spare_room;

void *treadle_system_copy_room(size_t size) {
    void *room = __atomic_exchange_n(&spare_room, NULL, __ATOMIC_ACQ_REL);
    return room ? room : treadle_system_allocate(size);
}
void treadle_system_copy_room_end(void *room) { treadle_system_free(__atomic_exchange_n(&spare_room, room, __ATOMIC_ACQ_REL)); }

int32_t treadle_system_eaddrinuse(void) { return EADDRINUSE; }
int32_t treadle_system_econnrefused(void) { return ECONNREFUSED; }
int32_t treadle_system_emfile(void) { return EMFILE; }
int32_t treadle_system_enfile(void) { return ENFILE; }
int32_t treadle_system_epipe(void) { return EPIPE; }
int32_t treadle_system_econnreset(void) { return ECONNRESET; }
int32_t treadle_system_enobufs(void) { return ENOBUFS; }
int32_t treadle_system_etoomanyrefs(void) { return ETOOMANYREFS; }
int32_t treadle_system_emsgsize(void) { return EMSGSIZE; }
