/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * rings.c: memory that two processes share, and doorbells between them. The other process may do with both whatever it can. */
#include "CTreadleSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's statx, where the C library's headers have none. */
#ifndef STATX_INO
enum { STATX_INO = 0x100 };
struct statx {
    uint32_t before[8];
    uint64_t stx_ino;
    uint32_t between[24], stx_dev_major, stx_dev_minor, behind[28];
};
_Static_assert(sizeof(struct statx) == 256 && offsetof(struct statx, stx_ino) == 32, "this is not what the kernel writes");
_Static_assert(offsetof(struct statx, stx_dev_major) == 136, "this is not what the kernel writes");
#endif

static int64_t result(long value) { return value < 0 ? -errno : value; }

/* --- Memory ---------------------------------------------------------------------------------------- */

static const int ring_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

int32_t treadle_system_ring_file(size_t size) {
    int32_t fd = treadle_system_memory_file();
    if (fd < 0) return fd;
    /* All pages are there from now on: an access would otherwise end the process if there is no memory for one. */
    int32_t error = treadle_system_allocate_file(fd, size);
    if (error >= 0) error = (int32_t)result(fcntl(fd, F_ADD_SEALS, ring_seals));
    if (error >= 0) return fd;
    treadle_system_socket_close(fd);
    return error;
}

/* The file is mapped only if it can never shrink, is of ordinary pages, and has one for every byte. */
void *treadle_system_ring_map(int32_t fd, size_t size) {
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & ring_seals) != ring_seals) return NULL;
    if (fstat(fd, &status) < 0 || !treadle_system_is_memory_file(fd)) return NULL;
    if (status.st_size < 0 || (uint64_t)status.st_size != size || (uint64_t)status.st_blocks * 512 < size) return NULL;
    long mapped = syscall(SYS_mmap, NULL, size, (long)(PROT_READ | PROT_WRITE), (long)MAP_SHARED, (long)fd, 0L);
    if (mapped == -1) return NULL;
    /* The child of a fork has nothing to do with its parent's ring. */
    madvise((void *)mapped, size, MADV_DONTFORK);
    return (void *)mapped;
}
void treadle_system_ring_unmap(void *memory, size_t size) { syscall(SYS_munmap, memory, size); }

/* --- Doorbells ------------------------------------------------------------------------------------- */

/* An eventfd whose counter stays 1, for watchers that are told of edges: each write is one, also that of 0. A write of 0
 * never waits, whatever the other process has done to the counter or to the flags of the descriptor, and nobody reads. */
int32_t treadle_system_bell(void) { return treadle_system_socket_note((int32_t)result(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC))); }
int32_t treadle_system_bell_ring(int32_t fd) {
    const uint64_t none = 0;
    return (int32_t)result(syscall(SYS_write, fd, &none, sizeof none));
}

/* The file of a descriptor, by numbers that the kernel knows without asking a file system: another process could be that one. */
static bool identify(int32_t fd, struct statx *out) {
    return syscall(SYS_statx, fd, "", (long)(AT_EMPTY_PATH | AT_STATX_DONT_SYNC), (long)STATX_INO, out) == 0;
}
/* The kernel's descriptors without a file share an inode; of these, only an eventfd takes eight bytes of zeroes. */
bool treadle_system_bell_is_one(int32_t fd) {
    struct statx of_bell = {0}, of_own = {0};
    int32_t own = treadle_system_bell();
    if (own < 0) return false;
    bool is_kernels = identify(own, &of_own) && identify(fd, &of_bell) && of_own.stx_ino == of_bell.stx_ino &&
                      of_own.stx_dev_major == of_bell.stx_dev_major && of_own.stx_dev_minor == of_bell.stx_dev_minor;
    treadle_system_socket_close(own);
    return is_kernels && treadle_system_bell_ring(fd) == 8;
}
