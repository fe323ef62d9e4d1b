/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * writing.c: writing to files that may be anything, and making files in memory, without a signal for the program: SIGPIPE where the
 * reader has left, SIGXFSZ where the limit of files' sizes (RLIMIT_FSIZE) is passed, which counts for files in memory too.
 * Both end a program that does not know them. */
#include "CTreadleSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* --- A file that is written as a whole ---------------------------------------------------------------- */

/* The descriptor of a file that is new, or is written in its place. */
static int32_t open_output(const char *path, int flags) {
    return treadle_system_above_standard((int32_t)result(syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, 0666)));
}
/* A FIFO is written as fast as its reader reads; without a reader the open fails. */
static int32_t open_in_place(const char *path) {
    int32_t fd = open_output(path, O_TRUNC | O_NONBLOCK);
    if (fd >= 0) fcntl(fd, F_SETFL, O_WRONLY);
    return fd;
}

/* The path without %p; NULL: no memory. */
static char *expand(const char *path) {
    char *whole = NULL;
    const char *id = strstr(path, "%p");
    int length = id ? asprintf(&whole, "%.*s%d%s", (int)(id - path), path, (int)getpid(), id + 2) : asprintf(&whole, "%s", path);
    return length < 0 ? NULL : whole;
}

/* A new file beside the place. */
static int32_t create_beside(const char *place, char **out_beside) {
    enum { TRIES = 16 }; /* one may be left of a process of the same id */
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(out_beside, "%s.%d.%d.part", place, (int)getpid(), i) < 0) return -ENOMEM;
        int32_t fd = open_output(*out_beside, O_EXCL);
        if (fd >= 0) return fd;
        free(*out_beside);
        if (fd != -EEXIST) return fd;
    }
    return -EEXIST;
}

struct treadle_system_output treadle_system_begin_output(const char *path) {
    struct treadle_system_output output = {-ENOMEM, NULL, NULL};
    struct stat status;
    char *whole = expand(path);
    if (!whole) return output;
    bool is_there = stat(whole, &status) == 0;
    /* A link that leads to nothing yet stays: its file is made where it leads to. */
    bool leads_nowhere = !is_there && fstatat(AT_FDCWD, whole, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!leads_nowhere && (!is_there || S_ISREG(status.st_mode))) output.place = is_there ? realpath(whole, NULL) : strdup(whole);
    if (output.place) output.fd = create_beside(output.place, &output.beside);
    if (output.fd < 0) {
        free(output.place);
        output = (struct treadle_system_output){open_in_place(whole), NULL, NULL};
    }
    free(whole);
    return output;
}

int32_t treadle_system_end_output(struct treadle_system_output output, int32_t outcome) {
    int32_t closed = treadle_system_close(output.fd);
    if (outcome == 0) outcome = closed;
    if (!output.place) return outcome;
    if (outcome == 0) outcome = (int32_t)result(rename(output.beside, output.place));
    if (outcome < 0) unlink(output.beside);
    free(output.place);
    free(output.beside);
    return outcome;
}
