/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * writing.c: writing to files that may be anything, and making files in memory, without a signal for the program: SIGPIPE where the
 * reader has left, SIGXFSZ where the limit of files' sizes (RLIMIT_FSIZE) is passed, which counts for files in memory too.
 * Both end a program that does not know them. */
#include "CTreadleSystem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t result(long value) { return value < 0 ? -errno : value; }

struct held_signals {
    sigset_t set, mask, pending;
};

static void hold_signals(struct held_signals *held) {
    sigemptyset(&held->set);
    sigaddset(&held->set, SIGPIPE);
    sigaddset(&held->set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &held->set, &held->mask);
    if (sigpending(&held->pending) < 0) held->pending = held->set;
}
/* What is pending now and was not before is taken away: the kernel raises both signals for the thread that writes, SIGPIPE also
 * after a part was written. */
static void take_raised(struct held_signals *held) {
    const struct timespec at_once = {0};
    if (sigismember(&held->pending, SIGPIPE)) sigdelset(&held->set, SIGPIPE);
    if (sigismember(&held->pending, SIGXFSZ)) sigdelset(&held->set, SIGXFSZ);
    /* Not the C library's, which is a cancellation point. */
    while (syscall(SYS_rt_sigtimedwait, &held->set, NULL, &at_once, (long)(_NSIG / 8)) > 0 || errno == EINTR) {}
}
static void release_signals(struct held_signals *held, bool may_have_raised) {
    if (may_have_raised) take_raised(held);
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
}

int64_t treadle_system_write(int32_t fd, const void *bytes, size_t size) {
    int saved = errno;
    struct held_signals held;
    hold_signals(&held);
    int64_t value = result(syscall(SYS_write, fd, bytes, size));
    release_signals(&held, value < 0 || (size_t)value < size);
    errno = saved;
    return value;
}

int32_t treadle_system_write_all(int32_t fd, const void *bytes, size_t size) {
    const char *next = bytes;
    while (size > 0) {
        int64_t count = treadle_system_write(fd, next, size);
        if (count == -EINTR) continue;
        if (count <= 0) return count < 0 ? (int32_t)count : -EIO;
        next += count, size -= (size_t)count;
    }
    return 0;
}

int32_t treadle_system_write_at_start(int32_t fd, const void *bytes, size_t size) {
    struct held_signals held;
    size_t done = 0;
    int64_t value = 0;
    hold_signals(&held);
    while (done < size) {
        value = result(syscall(SYS_pwrite64, fd, (const char *)bytes + done, size - done, (long)done));
        if (value == -EINTR) continue;
        if (value <= 0) break;
        done += (size_t)value;
    }
    release_signals(&held, done < size);
    return done == size ? 0 : value < 0 ? (int32_t)value : -EIO;
}

int32_t treadle_system_size_file(int32_t fd, size_t size) {
    struct held_signals held;
    hold_signals(&held);
    int64_t value = result(syscall(SYS_ftruncate, fd, (long)size));
    release_signals(&held, value < 0);
    return (int32_t)value;
}

int32_t treadle_system_allocate_file(int32_t fd, size_t size) {
    struct held_signals held;
    hold_signals(&held);
    int64_t value = result(syscall(SYS_fallocate, fd, 0L, 0L, (long)size));
    release_signals(&held, value < 0);
    return (int32_t)value;
}
