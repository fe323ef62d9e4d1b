/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 256 };
static const int64_t BILLION = 1000000000;

/* The one place that reads errno. */
static int64_t result(long value) { return value < 0 ? -errno : value; }

static int64_t nanoseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * BILLION + t.tv_nsec;
}
static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / BILLION), .tv_nsec = (long)(ns % BILLION)};
}

int64_t treadle_system_now(void) { return nanoseconds(CLOCK_MONOTONIC); }
int64_t treadle_system_tick(void) { return nanoseconds(CLOCK_MONOTONIC_COARSE); }
int64_t treadle_system_wall(void) { return nanoseconds(CLOCK_REALTIME); }
int32_t treadle_system_thread_id(void) { return (int32_t)syscall(SYS_gettid); }
int32_t treadle_system_process_id(void) { return (int32_t)getpid(); }
void treadle_system_yield(void) { sched_yield(); }
int32_t treadle_system_processor(void) {
    int saved = errno; /* a signal handler may be the caller */
    int32_t processor = sched_getcpu();
    errno = saved;
    return processor;
}
int32_t treadle_system_close(int32_t fd) { return (int32_t)result(close(fd)); }
int32_t treadle_system_is_open(int32_t fd) { return fcntl(fd, F_GETFD) < 0 ? -errno : 0; }
int64_t treadle_system_write(int32_t fd, const void *bytes, size_t size) {
    int saved = errno;
    int64_t value = result(write(fd, bytes, size));
    errno = saved;
    return value;
}
int64_t treadle_system_read8(int32_t fd) {
    uint64_t counter;
    /* The descriptor may be a blocking one, and somebody else may have read it in the meantime. */
    struct iovec room = {.iov_base = &counter, .iov_len = sizeof counter};
    ssize_t size = preadv2(fd, &room, 1, -1, RWF_NOWAIT);
    if (size >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != ESPIPE)) return result(size);
    struct pollfd one = {.fd = fd, .events = POLLIN};
    static const struct timespec at_once;
    if (ppoll(&one, 1, &at_once, NULL) <= 0) return -EAGAIN;
    return result(read(fd, &counter, sizeof counter));
}

int32_t treadle_system_eventfd(void) { return (int32_t)result(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }
int32_t treadle_system_eventfd_write(int32_t fd) {
    int saved = errno; /* a signal handler may be the caller */
    int32_t value = (int32_t)result(eventfd_write(fd, 1));
    errno = saved;
    return value;
}

int32_t treadle_system_epoll_create(void) { return (int32_t)result(epoll_create1(EPOLL_CLOEXEC)); }
int32_t treadle_system_epoll_control(int32_t epoll, int32_t operation, int32_t fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data.u64 = data};
    return (int32_t)result(epoll_ctl(epoll, operation, fd, &event));
}

/* Kernels and tools without epoll_pwait2: ppoll has the resolution, and epoll is then ready at once. */
static long wait_with_ppoll(int epoll, struct epoll_event *events, int count, const struct timespec *left) {
    struct pollfd one = {.fd = epoll, .events = POLLIN};
    int ready = ppoll(&one, 1, left, NULL);
    return ready <= 0 ? ready : epoll_wait(epoll, events, count, 0);
}

int32_t treadle_system_epoll_wait(int32_t epoll, struct treadle_system_event *out, int32_t count, int64_t until) {
    static int without_pwait2;
    struct epoll_event events[BATCH];
    long n;
    if (count > BATCH) count = BATCH;
    if (until <= 0) {
        n = epoll_wait(epoll, events, count, 0);
    } else if (until == INT64_MAX) {
        n = epoll_wait(epoll, events, count, -1);
    } else {
        int64_t now = treadle_system_now();
        struct timespec left = timespec_of(until > now ? until - now : 0);
        n = -1;
#ifdef SYS_epoll_pwait2
        if (!__atomic_load_n(&without_pwait2, __ATOMIC_RELAXED)) n = syscall(SYS_epoll_pwait2, epoll, events, count, &left, NULL, 0);
        if (n < 0 && errno == ENOSYS) __atomic_store_n(&without_pwait2, 1, __ATOMIC_RELAXED);
#else
        __atomic_store_n(&without_pwait2, 1, __ATOMIC_RELAXED);
#endif
        if (__atomic_load_n(&without_pwait2, __ATOMIC_RELAXED)) n = wait_with_ppoll(epoll, events, count, &left);
    }
    for (long i = 0; i < n; i++) {
        out[i].data = events[i].data.u64;
        out[i].events = events[i].events;
    }
    return (int32_t)result(n);
}

int32_t treadle_system_futex_wait(void *word, uint32_t expected, int64_t until) {
    /* For a date in the past the kernel would still arm a timer and give the processor away. */
    if (until != INT64_MAX && until <= treadle_system_now()) return -ETIMEDOUT;
    struct timespec at = timespec_of(until);
    return (int32_t)result(syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                   until == INT64_MAX ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY));
}
int32_t treadle_system_futex_wake(void *word, int32_t count) {
    int saved = errno; /* a signal handler may be the caller */
    int32_t value = (int32_t)result(syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0));
    errno = saved;
    return value;
}

#if defined(__has_include) && __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define MAY_HAVE_THREADS !__libc_single_threaded
#else
#define MAY_HAVE_THREADS 1
#endif
#ifdef __has_feature
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZER 0
#endif
/* From the kernel's header, which may be older than the kernel. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };
void treadle_system_prepare_barrier(void) {
    if (__atomic_load_n(&treadle_system_barrier, __ATOMIC_ACQUIRE) != TREADLE_SYSTEM_BARRIER_UNKNOWN) return;
    uint32_t state = TREADLE_SYSTEM_BARRIER_MISSING;
#ifdef SYS_membarrier
    /* To register costs a process that has threads some ten milliseconds: more than it is worth. The thread sanitizer
     * would not see what it orders. */
    int saved = errno;
    if (!THREAD_SANITIZER && !MAY_HAVE_THREADS && syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) state = TREADLE_SYSTEM_BARRIER_THERE;
    errno = saved;
#endif
    /* Of several threads that come here at once the first decides. */
    uint32_t unknown = TREADLE_SYSTEM_BARRIER_UNKNOWN;
    __atomic_compare_exchange_n(&treadle_system_barrier, &unknown, state, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
/* A time after which no light way began for those who ask; 0: none yet. */
static int64_t barrier_lost;
void treadle_system_forget_barrier(void) {
    barrier_lost = 0;
    __atomic_store_n(&treadle_system_barrier, TREADLE_SYSTEM_BARRIER_UNKNOWN, __ATOMIC_RELEASE);
}
void treadle_system_heavy_barrier(bool light_side_asks) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#ifdef SYS_membarrier
    uint32_t state = __atomic_load_n(&treadle_system_barrier, __ATOMIC_ACQUIRE);
    if (state == TREADLE_SYSTEM_BARRIER_THERE) {
        int saved = errno;
        bool is_done = syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0;
        errno = saved;
        if (is_done) return;
        state = TREADLE_SYSTEM_BARRIER_LOST;
        __atomic_store_n(&treadle_system_barrier, state, __ATOMIC_SEQ_CST);
    }
    if (state != TREADLE_SYSTEM_BARRIER_LOST) return;
    /* No store stays inside of a processor for so long, and no look comes so late: an interrupt ends both. Read after the
     * state was changed, by whomever. */
    enum { LONG_ENOUGH = 5000000 };
    int64_t from = treadle_system_now(), first = 0;
    if (!__atomic_compare_exchange_n(&barrier_lost, &first, from, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && light_side_asks) from = first;
    treadle_system_sleep_until(from + LONG_ENOUGH);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static uint32_t rest;
uint32_t treadle_system_rest_epoch(void) { return __atomic_load_n(&rest, __ATOMIC_SEQ_CST); }
void treadle_system_rest_announce(void) {
    __atomic_add_fetch(&rest, 1, __ATOMIC_SEQ_CST);
    treadle_system_futex_wake(&rest, INT32_MAX);
}
void treadle_system_rest_wait(uint32_t seen, int64_t until) { treadle_system_futex_wait(&rest, seen, until); }

void *treadle_system_zeroed(size_t size) {
    /* Aligned by hand: only calloc gives zeroes without touching them. What it gave is never freed; all of it is
     * chained, because leak checkers doubt a piece that is only known by its inside. */
    static void *last;
    char *memory = calloc(1, size + sizeof(void *) + 63);
    if (!memory) return NULL;
    *(void **)memory = __atomic_exchange_n(&last, memory, __ATOMIC_RELAXED);
    memory += sizeof(void *);
    return memory + (-(uintptr_t)memory & 63);
}
void treadle_system_provide(void *memory, size_t size) {
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; C libraries learnt of it later */
#endif
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)memory & ~(page - 1), end = ((uintptr_t)memory + size) & ~(page - 1);
    int saved = errno;
    if (end > start) madvise((void *)start, end - start, MADV_POPULATE_WRITE);
    errno = saved;
}
void *treadle_system_allocate(size_t size) { return malloc(size); }
void *treadle_system_reallocate(void *memory, size_t size) { return realloc(memory, size); }
void treadle_system_free(void *memory) { free(memory); }
void treadle_system_exact_sleeps(void) { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

int32_t treadle_system_eintr(void) { return EINTR; }
int32_t treadle_system_eperm(void) { return EPERM; }
int32_t treadle_system_eexist(void) { return EEXIST; }
int32_t treadle_system_ebadf(void) { return EBADF; }
int32_t treadle_system_enomem(void) { return ENOMEM; }
int32_t treadle_system_edeadlk(void) { return EDEADLK; }
int32_t treadle_system_eagain(void) { return EAGAIN; }
