/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * older_glibc.c: functions that glibc has as functions since 2.33 alone, for a shared library that loads with an older one
 * (scripts/build-library --glibc). The kernel's struct stat is glibc's on 64-bit processors. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

int fstatat(int folder, const char *restrict path, struct stat *restrict out, int flags) {
    return (int)syscall(SYS_newfstatat, folder, path, out, flags);
}
int stat(const char *restrict path, struct stat *restrict out) { return fstatat(AT_FDCWD, path, out, 0); }
int fstat(int fd, struct stat *out) { return fstatat(fd, "", out, AT_EMPTY_PATH); }
