/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * faults.h: system calls that fail when a test wants it. The program's own definitions take the
 * place of the C library's, for Treadle too; a thread that has armed a fault meets it, no other. */
#ifndef TREADLE_TEST_FAULTS_H
#define TREADLE_TEST_FAULTS_H

#include "helpers.h"
#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>

enum fault_kind {
    FAULT_EPOLL_CREATE = 1,
    FAULT_EVENTFD = 2,
    FAULT_EPOLL_CONTROL = 4,
    FAULT_EPOLL_WAIT = 8,
    FAULT_TIMER = 16,
    FAULT_MEMORY = 32,
    FAULT_PAGES = 64,
    FAULT_THREAD_KEY = 128,
    FAULT_FORK_HOOK = 256,
    FAULT_ADVICE = 512,
    FAULT_SOCKET = 1024, /* what message ports need */
    FAULT_SENDING = 2048,
    FAULT_RECEIVING = 4096,
    FAULT_ACCEPTING = 8192,
    FAULT_TIMER_CREATE = 16384
};

static _Thread_local struct {
    unsigned kinds; /* 0: none */
    int error;
    int at;      /* the number of the call that fails, from 1 */
    bool for_ever; /* and all after it */
    int calls, hits;
} fault;

HELPER bool fails(unsigned kind) {
    if (!(fault.kinds & kind)) return false;
    fault.calls++;
    if (fault.calls != fault.at && !(fault.for_ever && fault.calls > fault.at)) return false;
    fault.hits++;
    errno = fault.error;
    return true;
}
HELPER void arm(unsigned kinds, int error, int at, bool for_ever) {
    fault.error = error, fault.at = at, fault.for_ever = for_ever, fault.calls = 0, fault.hits = 0;
    fault.kinds = kinds;
}
HELPER int disarm(void) {
    fault.kinds = 0;
    return fault.hits;
}

/* Under a sanitizer these functions belong to it: no faults then, and fault_test.c leaves those tests out. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Called before each call of this kind that the library makes, on its thread. */
static void (*_Atomic before_call)(long number);

int epoll_create1(int flags) { return fails(FAULT_EPOLL_CREATE) ? -1 : REAL(epoll_create1)(flags); }
int eventfd(unsigned value, int flags) { return fails(FAULT_EVENTFD) ? -1 : REAL(eventfd)(value, flags); }
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    return fails(FAULT_EPOLL_CONTROL) ? -1 : REAL(epoll_ctl)(epoll, operation, fd, event);
}
long syscall(long number, ...) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
    va_end(arguments);
    void (*before)(long) = atomic_load(&before_call);
    if (before) before(number);
    if (number == SYS_epoll_pwait && fails(FAULT_EPOLL_WAIT)) return -1;
    bool is_of_sockets = number == SYS_connect || number == SYS_accept4 || number == SYS_sendmsg || number == SYS_recvmsg ||
                         number == SYS_memfd_create || number == SYS_write || number == SYS_mmap || number == SYS_fallocate || number == SYS_statx;
    if (is_of_sockets && fails(FAULT_SOCKET)) return -1;
    if (number == SYS_sendmsg && fails(FAULT_SENDING)) return -1;
    if (number == SYS_recvmsg && fails(FAULT_RECEIVING)) return -1;
    if (number == SYS_accept4 && fails(FAULT_ACCEPTING)) return -1;
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
int socket(int family, int type, int protocol) { return fails(FAULT_SOCKET) ? -1 : REAL(socket)(family, type, protocol); }
int bind(int fd, const struct sockaddr *address, socklen_t size) { return fails(FAULT_SOCKET) ? -1 : REAL(bind)(fd, address, size); }
int listen(int fd, int length) { return fails(FAULT_SOCKET) ? -1 : REAL(listen)(fd, length); }
int getsockopt(int fd, int level, int name, void *value, socklen_t *size) {
    return fails(FAULT_SOCKET) ? -1 : REAL(getsockopt)(fd, level, name, value, size);
}
int fstat(int fd, struct stat *out) { return fails(FAULT_SOCKET) ? -1 : REAL(fstat)(fd, out); }
int fstatfs(int fd, struct statfs *out) { return fails(FAULT_SOCKET) ? -1 : REAL(fstatfs)(fd, out); }
int timerfd_create(int clock, int flags) { return fails(FAULT_TIMER | FAULT_TIMER_CREATE) ? -1 : REAL(timerfd_create)(clock, flags); }
int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    return fails(FAULT_TIMER) ? -1 : REAL(timerfd_settime)(fd, flags, new, old);
}
void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    return fails(FAULT_PAGES) ? MAP_FAILED : REAL(mmap)(address, size, protection, flags, fd, offset);
}
int madvise(void *address, size_t size, int advice) {
    return fails(FAULT_ADVICE) ? -1 : REAL(madvise)(address, size, advice);
}
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    return fails(FAULT_THREAD_KEY) ? fault.error : REAL(pthread_key_create)(key, destructor);
}
int pthread_setspecific(pthread_key_t key, const void *value) {
    return fails(FAULT_THREAD_KEY) ? fault.error : REAL(pthread_setspecific)(key, value);
}
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library);
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library) {
    return fails(FAULT_FORK_HOOK) ? fault.error : REAL(__register_atfork)(before, parent, child, library);
}

/* valgrind has a malloc of its own; have_memory_faults tells, and that all others have these. */
void *__libc_malloc(size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
/* Called before memory is taken, with how much, on the thread that takes it. */
static void (*_Atomic before_memory)(size_t size);
HELPER bool lacks_memory(size_t size) {
    void (*before)(size_t) = atomic_load(&before_memory);
    if (before) before(size);
    return fails(FAULT_MEMORY);
}
void *calloc(size_t count, size_t size) { return lacks_memory(count * size) ? NULL : __libc_calloc(count, size); }
/* Embedded Swift's runtime allocates by this, and ends the program without memory. */
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *memory = lacks_memory(size) ? NULL : __libc_memalign(alignment, size);
    return memory ? (*out = memory, 0) : ENOMEM;
}
void *malloc(size_t size) { return lacks_memory(size) ? NULL : __libc_malloc(size); }
void *realloc(void *memory, size_t size) { return lacks_memory(size) ? NULL : __libc_realloc(memory, size); }
HELPER bool have_memory_faults(void) {
    /* Called where the compiler cannot see it: it knows what malloc does, and that it changes nothing of ours. */
    void *(*volatile allocate)(size_t) = malloc;
    const char *way = getenv("TREADLE_TEST_WAY");
    /* Without memory the ordinary Swift runtime ends the process itself, where it first meets a type. */
    if (way && (strcmp(way, "static") == 0 || strcmp(way, "debug") == 0)) return false;
    arm(FAULT_MEMORY, ENOMEM, 1, false);
    free(allocate(1));
    bool hit = disarm() > 0;
    CHECK(hit || (way && strcmp(way, "valgrind") == 0));
    return hit;
}
#endif /* SANITIZED */

#endif
