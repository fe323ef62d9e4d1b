/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Of the kernel's, where the C library's headers do not name it. */
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* No function of ours is a cancellation point: where the C library's would be one, the kernel is called directly. A thread
 * that was cancelled inside would leave what it is about half done. */

enum { BATCH = 256 };
static const int64_t BILLION = 1000000000;

bool treadle_system_is_refused(int32_t result) { return result == -EPERM || result == -ENOSYS; }

/* The one place that reads errno of our own calls. */
static int64_t result(long value) { return value < 0 ? -errno : value; }

int32_t treadle_system_errno(void) { return errno; }
void treadle_system_set_errno(int32_t value) { errno = value; }

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
int32_t treadle_system_close(int32_t fd) { return (int32_t)result(syscall(SYS_close, fd)); }
int32_t treadle_system_duplicate(int32_t fd) { return (int32_t)result(fcntl(fd, F_DUPFD_CLOEXEC, 3)); }
int32_t treadle_system_above_standard(int32_t fd) {
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    int32_t copy = treadle_system_duplicate(fd);
    if (copy < 0) return fd; /* there is no other */
    treadle_system_close(fd);
    return copy;
}
int32_t treadle_system_is_open(int32_t fd) { return fcntl(fd, F_GETFD) < 0 && errno == EBADF ? -EBADF : 0; }
static int64_t slow_limit = INT64_MAX, watchdog_limit = INT64_MAX;
static uint32_t asked_for;
static char trace_path[4096];
const char *treadle_system_trace_path(void) { return trace_path; }
/* Milliseconds, which need not be whole, as nanoseconds; INT64_MAX: none. */
static int64_t limit_of(const char *name) {
    const char *text = secure_getenv(name);
    double limit = text ? strtod(text, NULL) : 0;
    return limit > 0 && limit < 1e12 ? (int64_t)(limit * 1e6) : INT64_MAX;
}
uint32_t treadle_system_ask_environment(void) {
    const char *debug = secure_getenv("TREADLE_DEBUG");
    int64_t slow = limit_of("TREADLE_SLOW_MS"), watchdog = limit_of("TREADLE_WATCHDOG_MS");
    __atomic_store_n(&slow_limit, slow, __ATOMIC_RELAXED);
    __atomic_store_n(&watchdog_limit, watchdog, __ATOMIC_RELAXED);
    uint32_t bits = debug && *debug ? TREADLE_SYSTEM_TELLS | TREADLE_SYSTEM_TIMES : 0;
    if (slow != INT64_MAX) bits |= TREADLE_SYSTEM_TIMES;
    const char *trace = secure_getenv("TREADLE_TRACE");
    if (trace && *trace && strlen(trace) < sizeof trace_path - 16) {
        /* The child of a fork must not write over its parent's. */
        static pid_t first;
        pid_t own = getpid();
        if (!first) first = own;
        if (own == first) snprintf(trace_path, sizeof trace_path, "%s", trace);
        else snprintf(trace_path, sizeof trace_path, "%s.%d", trace, (int)own);
        bits |= TREADLE_SYSTEM_TRACES;
        treadle_system_prepare_trace();
        __atomic_add_fetch(&treadle_system_trace_sessions, 1, __ATOMIC_RELAXED);
    }
    if (watchdog != INT64_MAX) bits |= TREADLE_SYSTEM_TIMES | TREADLE_SYSTEM_GUARDS;
    __atomic_store_n(&asked_for, bits & ~(uint32_t)TREADLE_SYSTEM_TRACES, __ATOMIC_RELAXED);
    return bits;
}

struct treadle_system_trace_anchor treadle_system_trace_anchor_now(void) {
    struct treadle_system_trace_anchor anchor = {0, 0};
    /* The thread may lose the processor between two readings: the quickest of some tries counts. */
    for (int64_t tries = 0, least = INT64_MAX; tries < 8; tries++) {
        int64_t before = treadle_system_trace_moment(), time = treadle_system_now(), taken = treadle_system_trace_moment() - before;
        if (taken >= least) continue;
        least = taken;
        anchor = (struct treadle_system_trace_anchor){before + taken / 2, time};
    }
    return anchor;
}
/* The kernel uses the counter for its clock only where it is steady, and the same on all processors. */
void treadle_system_prepare_trace(void) {
#if defined(__x86_64__) || defined(__aarch64__)
#ifdef __x86_64__
    static const char counter[] = "tsc\n";
#else
    static const char counter[] = "arch_sys_counter\n";
#endif
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char name[24] = "";
    int64_t fd = result(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    if (fd >= 0) {
        int64_t length = result(syscall(SYS_read, fd, name, sizeof name - 1));
        treadle_system_close((int32_t)fd);
        __atomic_store_n(&treadle_system_trace_counts, length == sizeof counter - 1 && !memcmp(name, counter, sizeof counter - 1), __ATOMIC_RELAXED);
    }
#endif
    treadle_system_trace_began = treadle_system_trace_anchor_now();
}
static __attribute__((destructor)) void end_trace(void) {
    if (libtreadle_trace_ends) libtreadle_trace_ends();
}
int64_t treadle_system_watchdog_limit(void) { return __atomic_load_n(&watchdog_limit, __ATOMIC_RELAXED); }
/* What is asked for by who debugs; a trace is begun and ended in other ways. */
uint32_t treadle_system_asked_for(void) { return __atomic_load_n(&asked_for, __ATOMIC_RELAXED); }
int64_t treadle_system_slow_limit(void) { return __atomic_load_n(&slow_limit, __ATOMIC_RELAXED); }
int64_t treadle_system_read8(int32_t fd) {
    uint64_t counter;
    /* The descriptor may be a blocking one, and somebody else may have read it in the meantime. */
    struct iovec room = {.iov_base = &counter, .iov_len = sizeof counter};
    ssize_t size = syscall(SYS_preadv2, fd, &room, 1L, -1L, -1L, RWF_NOWAIT);
    if (size >= 0 || errno == EAGAIN) return result(size);
    struct pollfd one = {.fd = fd, .events = POLLIN};
    struct timespec at_once = {0};
    long ready = syscall(SYS_ppoll, &one, 1L, &at_once, NULL, 0L);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return -EAGAIN;
    return result(syscall(SYS_read, fd, &counter, sizeof counter));
}

int32_t treadle_system_eventfd(void) { return treadle_system_above_standard((int32_t)result(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))); }
int32_t treadle_system_eventfd_write(int32_t fd) {
    int saved = errno; /* a signal handler may be the caller */
    const uint64_t one = 1;
    int32_t value = (int32_t)result(syscall(SYS_write, fd, &one, sizeof one));
    errno = saved;
    return value;
}

int32_t treadle_system_epoll_create(void) { return treadle_system_above_standard((int32_t)result(epoll_create1(EPOLL_CLOEXEC))); }
int32_t treadle_system_epoll_control(int32_t epoll, int32_t operation, int32_t fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data.u64 = data};
    return (int32_t)result(epoll_ctl(epoll, operation, fd, &event));
}

int32_t treadle_system_why_unwatchable(int32_t fd, int32_t result) {
    switch (-result) {
    case EBADF: return treadle_system_is_open(fd) < 0 ? TREADLE_SYSTEM_NOT_OPEN : TREADLE_SYSTEM_PATH_ONLY;
    case EINVAL:
    case ELOOP: return TREADLE_SYSTEM_NESTED;
    case ENOSPC: return TREADLE_SYSTEM_TOO_MANY;
    default: return 0;
    }
}

int32_t treadle_system_epoll_wait(int32_t epoll, struct treadle_system_event *out, int32_t count, int32_t limit) {
    struct epoll_event events[BATCH];
    int n = (int)syscall(SYS_epoll_pwait, epoll, events, count < BATCH ? count : BATCH, limit, NULL, 0L);
    for (int i = 0; i < n; i++) {
        out[i].data = events[i].data.u64;
        out[i].events = events[i].events;
    }
    return (int32_t)result(n);
}

struct treadle_system_left treadle_system_left_ready(int32_t fd, uint32_t events) {
    int saved = errno, count = 0;
    struct pollfd one = {.fd = fd, .events = (short)((events & 1 ? POLLIN : 0) | (events & 2 ? POLLOUT : 0))};
    struct timespec at_once = {0};
    struct treadle_system_left left = {0};
    if (syscall(SYS_ppoll, &one, 1L, &at_once, NULL, 0L) > 0 && !(one.revents & POLLNVAL)) {
        /* An error or the other end's end is ready for all. */
        left.events = one.revents & POLLIN || !(one.revents & POLLOUT) ? events & 1 ? 1 : 2 : 2;
        if ((left.events == 2 && ioctl(fd, TIOCOUTQ, &count) == 0) || ioctl(fd, FIONREAD, &count) == 0) left.bytes = count;
    }
    errno = saved;
    return left;
}

int32_t treadle_system_timerfd(void) {
    return treadle_system_above_standard((int32_t)result(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)));
}
int32_t treadle_system_timerfd_set(int32_t timer, int64_t date) {
    /* A date of all zeros would disarm it. */
    struct itimerspec at = {.it_value = timespec_of(date == INT64_MAX ? 0 : date > 0 ? date : 1)};
    return (int32_t)result(timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL));
}

int32_t treadle_system_clock_watch(void) {
    /* For a date that never comes, but is cancelled. */
    struct itimerspec never = {.it_value = {.tv_sec = (time_t)1 << 33}};
    int32_t timer = treadle_system_above_standard((int32_t)result(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC)));
    if (timer < 0) return timer;
    int32_t set = (int32_t)result(timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL));
    if (set == 0) return timer;
    treadle_system_close(timer);
    return set;
}

int32_t treadle_system_futex_wait(void *word, uint32_t expected, int64_t until) {
    /* For a date in the past the kernel would still arm a timer and give the processor away. */
    if (until != INT64_MAX && until <= treadle_system_now()) return -ETIMEDOUT;
    struct timespec at = timespec_of(until);
    return (int32_t)result(syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                   until == INT64_MAX ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY));
}
int32_t treadle_system_futex_sleep(void *word, uint32_t expected, int64_t until) {
    enum { EXACT = 1, NEAR = 50000000 };
    int slack = -1;
    if (until != INT64_MAX && until - treadle_system_now() < NEAR) slack = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    if (slack > EXACT) prctl(PR_SET_TIMERSLACK, (unsigned long)EXACT, 0UL, 0UL, 0UL);
    int32_t value = treadle_system_futex_wait(word, expected, until);
    if (slack > EXACT) prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0UL, 0UL, 0UL);
    return value;
}
int32_t treadle_system_futex_wake(void *word, int32_t count) {
    int saved = errno; /* a signal handler may be the caller */
    int32_t value = (int32_t)result(syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0));
    errno = saved;
    return value;
}
int32_t treadle_system_futex_lock(void *word) {
    return (int32_t)result(syscall(SYS_futex, word, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0));
}
void treadle_system_futex_unlock(void *word) {
    int saved = errno; /* the caller is about to answer for something else */
    syscall(SYS_futex, word, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
    errno = saved;
}

/* Announced while the library is loaded, which costs nothing as long as the process has one thread. */
static __attribute__((constructor)) void announce_barriers(void) { treadle_system_has_barriers(); }
bool treadle_system_has_barriers(void) { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }
int32_t treadle_system_barrier(void) {
    return (int32_t)result(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}

/* Who sleeps is counted before the kernel looks whether the number has moved, and whoever moves it looks at the count after
 * that: one of the two sees the other. A count that is too high costs a call of the kernel: it is lowered in no order, and may stay so
 * in the child of a fork. */
static uint32_t rest, resting;
uint32_t treadle_system_rest_epoch(void) { return __atomic_load_n(&rest, __ATOMIC_ACQUIRE); }
void treadle_system_rest_announce(void) {
    __atomic_add_fetch(&rest, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&resting, __ATOMIC_SEQ_CST) != 0) treadle_system_futex_wake(&rest, INT32_MAX);
}
void treadle_system_rest_wait(uint32_t seen, int64_t until) {
    __atomic_add_fetch(&resting, 1, __ATOMIC_SEQ_CST);
    treadle_system_futex_wait(&rest, seen, until);
    __atomic_sub_fetch(&resting, 1, __ATOMIC_RELAXED);
}

uint32_t treadle_system_new_tag(void) {
    /* Copies in other namespaces of the loader know of each other what the kernel tells them: who has reserved the piece of
     * addresses that a tag stands for has the tag, for good. A fork inherits it, and no memory is used. */
    enum { PIECE = 65536, FIRST = 0x54 };
    const long how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t tag = (FIRST + i) & 0xFF;
        void *wanted = (void *)(0x54000000ul + tag * (uintptr_t)PIECE);
        if (tag == 0) continue;
        long had = syscall(SYS_mmap, wanted, (long)PIECE, (long)PROT_NONE, how, -1L, 0L);
        if (had == (long)wanted) return tag;
        if (had != -1) syscall(SYS_munmap, had, (long)PIECE); /* an old kernel takes the address for a wish */
    }
    return 0;
}

/* No memory is taken or given back while the thread holds a gate: others would wait for that. Checked where locks are. */
#ifdef TREADLE_CHECKED
bool treadle_system_holds_gate(void) { return treadle_system_thread()->held_locks >> TREADLE_SYSTEM_GATE_RANK != 0; }
#endif
static void assert_no_gate(void) {
#ifdef TREADLE_CHECKED
    if (!treadle_system_holds_gate()) return;
    static const char text[] = "treadle: memory is taken or given back while a gate is held\n";
    if (write(2, text, sizeof text - 1) >= 0) abort();
    abort();
#endif
}

void *treadle_system_zeroed(size_t size) {
    assert_no_gate();
    /* Aligned by hand: only calloc gives zeroes without touching them. What it gave is never freed; all of it is
     * chained, because leak checkers doubt a piece that is only known by its inside. */
    static void *last;
    char *memory = calloc(1, size + sizeof(void *) + 63);
    if (!memory) return NULL;
    *(void **)memory = __atomic_exchange_n(&last, memory, __ATOMIC_RELAXED);
    memory += sizeof(void *);
    return memory + (-(uintptr_t)memory & 63);
}
void *treadle_system_allocate(size_t size) {
    assert_no_gate();
    return malloc(size);
}
void *treadle_system_reallocate(void *memory, size_t size) {
    assert_no_gate();
    return realloc(memory, size);
}
void treadle_system_free(void *memory) {
    assert_no_gate();
    free(memory);
}
void *treadle_system_map(size_t size, bool is_shared) {
    if (size % (size_t)sysconf(_SC_PAGESIZE) != 0) return NULL;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, (is_shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}
void treadle_system_unmap(void *memory, size_t size) { munmap(memory, size); }
bool treadle_system_make_code(void *memory, size_t size) { return mprotect(memory, size, PROT_READ | PROT_EXEC) == 0; }
bool treadle_system_map_again(void *shared, size_t size, void *place) {
    /* An old size of 0 duplicates; the kernel looks at its limits before it removes what was there. */
    return mremap(shared, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place;
}

int32_t treadle_system_eintr(void) { return EINTR; }
int32_t treadle_system_eperm(void) { return EPERM; }
int32_t treadle_system_eexist(void) { return EEXIST; }
int32_t treadle_system_enoent(void) { return ENOENT; }
int32_t treadle_system_ebadf(void) { return EBADF; }
int32_t treadle_system_enomem(void) { return ENOMEM; }
int32_t treadle_system_edeadlk(void) { return EDEADLK; }
int32_t treadle_system_eagain(void) { return EAGAIN; }
int32_t treadle_system_enosys(void) { return ENOSYS; }
