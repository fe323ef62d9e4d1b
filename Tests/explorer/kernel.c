/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * kernel.c: what the library asks of the kernel, as far as it concerns waiting: futexes, epoll, eventfds, timers, the clock and
 * barriers. All else goes to the real one. The linker leads the library's calls here (--wrap). */
#include "files.h"
#include "memory.h"
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>

long __real_syscall(long number, ...);
#define SITE __builtin_return_address(0)

void let_the_kernel_fail(uint32_t how) { world.may_fail = how; }
void refuse_memory_files(void) { world.has_no_memory_files = true; }
/* Opens a file, where there is room for one more. */
static int open_one(enum file_kind kind) {
    return choose_failure(SHORTAGES, 1) ? -EMFILE : open_file(kind);
}

/* --- The clock -------------------------------------------------------------------------------------- */

enum { READING = 1000 }; /* what reading it takes, in nanoseconds */
int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
    (void)clock;
    if (!world.is_clock_stopped) world.now += READING;
    *out = (struct timespec){.tv_sec = (time_t)(world.now / 1000000000), .tv_nsec = (long)(world.now % 1000000000)};
    return 0;
}
void stop_the_clock(void) { world.is_clock_stopped = true; }
static int64_t date_of(const struct timespec *t) { return t->tv_sec * 1000000000 + t->tv_nsec; }

/* --- Descriptors ------------------------------------------------------------------------------------ */

struct file files[FILES];

struct file *file_of(int fd) { return fd >= FIRST && fd < FIRST + FILES && files[fd - FIRST].kind != CLOSED ? &files[fd - FIRST] : NULL; }
int open_file(enum file_kind kind) {
    for (int i = 0; i < FILES; i++) {
        if (files[i].kind != CLOSED) continue;
        files[i] = (struct file){.kind = kind, .date = NEVER, .peer = -1};
        for (int w = 0; w < WATCHED; w++) files[i].list[w].fd = -1;
        return FIRST + i;
    }
    return -EMFILE;
}
static uint32_t readiness(const struct file *f) {
    switch (f->kind) {
    case EVENT: return (f->count > 0 ? EPOLLIN : 0) | EPOLLOUT;
    case TIMER: return f->date <= world.now ? EPOLLIN : 0;
    case EPOLL:
        for (int i = 0; i < WATCHED; i++) {
            const struct watched *w = &f->list[i];
            const struct file *g = w->fd >= 0 ? file_of(w->fd) : NULL;
            if (g && w->is_armed && (readiness(g) & w->events)) return EPOLLIN;
        }
        return 0;
    case SOCKET: return socket_readiness(f);
    default: return 0;
    }
}
static bool reports_once(const struct watched *w) { return w->events & (EPOLLET | EPOLLONESHOT); }

/* A set in a set is ready when a timer in it goes off. */
int64_t next_timer_of(const void *epoll) {
    const struct file *f = epoll;
    int64_t next = NEVER;
    for (int i = 0; i < WATCHED; i++) {
        const struct file *g = f->list[i].fd >= 0 ? file_of(f->list[i].fd) : NULL;
        if (!g || !f->list[i].is_armed) continue;
        int64_t date = g->kind == TIMER ? g->date : g->kind == EPOLL ? next_timer_of(g) : NEVER;
        if (date > world.now && date < next) next = date;
    }
    return next;
}
void wake_pollers(void) {
    for (int i = 0; i < world.count; i++) {
        struct vthread *t = &world.threads[i];
        uint32_t wanted = t->state != BLOCKED ? 0 : t->waits == ON_EPOLL ? EPOLLIN : t->waits == ON_POLL ? t->events : 0;
        if (wanted && readiness(t->object) & wanted) make_ready(t, 0);
    }
}
/* Something happened to a file: those who want to be told once are told anew. */
void file_has_changed(int fd) {
    struct file *f = file_of(fd);
    tell(&f->told);
    for (int i = 0; i < FILES; i++)
        for (int w = 0; files[i].kind == EPOLL && w < WATCHED; w++)
            if (files[i].list[w].fd == fd && (files[i].list[w].events & EPOLLET)) files[i].list[w].is_armed = true;
    wake_pollers();
}

int __wrap_eventfd(unsigned initial, int flags) {
    (void)flags;
    int fd = open_one(EVENT);
    if (fd >= 0) file_of(fd)->count = initial;
    return (int)answer(fd);
}
/* Few of its descriptors are ever used. */
int __wrap_getrlimit(int resource, struct rlimit *out) {
    (void)resource;
    *out = (struct rlimit){1024 * FIRST, 1024 * FIRST};
    return 0;
}
int __wrap_epoll_create1(int flags) { return (void)flags, (int)answer(open_one(EPOLL)); }
int __wrap_timerfd_create(int clock, int flags) { return (void)clock, (void)flags, (int)answer(open_one(TIMER)); }
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    (void)flags, (void)old;
    struct file *f = file_of(fd);
    if (!f) return (int)answer(-EBADF);
    point(NULL, true, SITE, "timerfd_settime");
    int64_t date = date_of(&new->it_value);
    f->date = date == 0 ? NEVER : date;
    note("  timer %d is due at %ld", fd, (long)date);
    file_has_changed(fd);
    return 0;
}
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    struct file *f = file_of(epoll), *g = file_of(fd);
    if (!f || f->kind != EPOLL || !g) return (int)answer(-EBADF);
    point(NULL, true, SITE, "epoll_ctl");
    struct watched *found = NULL, *empty = NULL;
    for (int i = 0; i < WATCHED; i++) {
        if (f->list[i].fd == fd) found = &f->list[i];
        if (f->list[i].fd < 0) empty = &f->list[i];
    }
    if (operation == EPOLL_CTL_ADD && found) return (int)answer(-EEXIST);
    if (operation != EPOLL_CTL_ADD && !found) return (int)answer(-ENOENT);
    struct watched *w = found ? found : empty;
    if (!w) fail("an epoll set of the explorer is full");
    if (operation == EPOLL_CTL_ADD && choose_failure(SHORTAGES, 1)) return (int)answer(-ENOMEM);
    if (operation == EPOLL_CTL_DEL) {
        w->fd = -1;
        return 0;
    }
    *w = (struct watched){.fd = fd, .events = event->events, .data = event->data.u64, .is_armed = true};
    wake_pollers();
    return 0;
}

static int close_file(int fd) {
    struct file *f = file_of(fd);
    point(NULL, true, SITE, "close");
    if (f->copies-- > 0) return 0;
    close_socket(fd);
    for (int i = 0; i < world.count; i++)
        if (world.threads[i].state == BLOCKED && world.threads[i].object == f) fail("descriptor %d is closed while a thread waits for it", fd);
    f->kind = CLOSED;
    for (int i = 0; i < FILES; i++)
        for (int w = 0; w < WATCHED; w++)
            if (files[i].list[w].fd == fd) files[i].list[w].fd = -1;
    return 0;
}
static long write_event(int fd, const void *bytes) {
    struct file *f = file_of(fd);
    point(NULL, true, SITE, "write");
    if (!f || file_of(fd) != f || f->kind != EVENT) fail("a write to descriptor %d, which is closed", fd);
    note("  wakes by descriptor %d", fd);
    f->count += *(const uint64_t *)bytes;
    file_has_changed(fd);
    return 8;
}
static long read_event(int fd, void *bytes) {
    struct file *f = file_of(fd);
    point(NULL, true, SITE, "read");
    if (f->kind != EVENT || f->count == 0) return -EAGAIN;
    *(uint64_t *)bytes = f->count;
    f->count = 0;
    return 8;
}
static long wait_for_events(int epoll, struct epoll_event *out, int room, int limit) {
    struct file *f = file_of(epoll);
    if (!f || f->kind != EPOLL) return -EBADF;
    point(NULL, true, SITE, "epoll_wait");
    fence_all(me());
    if (limit != 0 && choose_failure(INTERRUPTIONS, 1)) return -EINTR;
    int64_t until = limit < 0 ? NEVER : world.now + limit * (int64_t)1000000;
    while (!readiness(f))
        if (limit == 0 || block(ON_EPOLL, f, until) == -ETIMEDOUT) return 0;
    int count = 0;
    for (int i = 0; i < WATCHED && count < room; i++) {
        struct watched *w = &f->list[i];
        struct file *g = w->fd >= 0 ? file_of(w->fd) : NULL;
        uint32_t events = g && w->is_armed ? readiness(g) & w->events : 0;
        if (!events) continue;
        if (reports_once(w)) w->is_armed = false;
        out[count++] = (struct epoll_event){.events = events, .data.u64 = w->data};
        be_told(me(), &g->told);
    }
    return count;
}

/* A processor keeps no store for that long: behind such a sleep each thread sees all that the others stored before it. Nanoseconds. */
enum { LONGEST_STORE = 10000000 };

/* --- Futexes ---------------------------------------------------------------------------------------- */

/* The first of those who wait for a word. */
static struct vthread *first_waiter(enum wait_kind kind, const void *word) {
    struct vthread *first = NULL;
    for (int i = 0; i < world.count; i++) {
        struct vthread *t = &world.threads[i];
        if (t->state == BLOCKED && t->waits == kind && t->object == word && (!first || t->order < first->order)) first = t;
    }
    return first;
}
static long futex_wait(void *word, uint32_t expected, const struct timespec *until) {
    point(NULL, false, SITE, "futex_wait");
    fence_all(me());
    if (kernel_read(word) != expected) return -EAGAIN;
    int64_t date = until ? date_of(until) : NEVER;
    if (date <= world.now) return -ETIMEDOUT;
    int way = choose_failure(INTERRUPTIONS, 2);
    if (way) return way == 1 ? -EINTR : 0;
    int64_t begun = world.now;
    long result = -ETIMEDOUT;
    if (date != NEVER && choose_failure(DELAYS, 1)) world.now = date;
    else result = block(ON_FUTEX, word, date);
    fence_all(me());
    if (result == -ETIMEDOUT && world.now - begun >= LONGEST_STORE) barrier();
    return result;
}
static long futex_wake(void *word, int count) {
    point(NULL, false, SITE, "futex_wake");
    fence_all(me());
    int woken = 0;
    for (struct vthread *t; woken < count && (t = first_waiter(ON_FUTEX, word)); woken++) make_ready(t, 0);
    note("  wakes %d", woken);
    return woken;
}
static long futex_lock(void *word) {
    point(NULL, true, SITE, "futex_lock_pi");
    uint32_t value = (uint32_t)kernel_read(word), self = id_of(world.current);
    if ((value & FUTEX_TID_MASK) == 0) {
        kernel_write(word, value | self);
        return 0;
    }
    if ((value & FUTEX_TID_MASK) == self) return -EDEADLK;
    if (thread_of(value & FUTEX_TID_MASK) < 0) return -ESRCH;
    kernel_write(word, value | FUTEX_WAITERS);
    return block(ON_PI_FUTEX, word, NEVER);
}
static long futex_unlock(void *word) {
    point(NULL, true, SITE, "futex_unlock_pi");
    if ((kernel_read(word) & FUTEX_TID_MASK) != id_of(world.current)) return -EPERM;
    struct vthread *next = first_waiter(ON_PI_FUTEX, word);
    if (!next) {
        kernel_write(word, 0);
        return 0;
    }
    make_ready(next, 0);
    bool is_wanted = first_waiter(ON_PI_FUTEX, word) != NULL;
    kernel_write(word, id_of((int)(next - world.threads)) | (is_wanted ? FUTEX_WAITERS : 0));
    /* The kernel's own locks order what the two did. */
    struct told told = {0};
    tell(&told);
    be_told(next, &told);
    return 0;
}

/* --- Memory ----------------------------------------------------------------------------------------- */

void *__real_treadle_system_allocate(size_t size);
void *__real_treadle_system_reallocate(void *memory, size_t size);
void *__real_treadle_system_zeroed(size_t size);
void *__wrap_treadle_system_allocate(size_t size) { return choose_failure(NO_MEMORY, 1) ? NULL : __real_treadle_system_allocate(size); }
void *__wrap_treadle_system_reallocate(void *memory, size_t size) {
    return choose_failure(NO_MEMORY, 1) ? NULL : __real_treadle_system_reallocate(memory, size);
}
void *__wrap_treadle_system_zeroed(size_t size) { return choose_failure(NO_MEMORY, 1) ? NULL : __real_treadle_system_zeroed(size); }

/* --- Calls ------------------------------------------------------------------------------------------ */

/* Reserves a tag (treadle_system_new_tag): all are free at the beginning of a run. */
static long last_reserved;
static long reserve(long address) {
    if (address <= last_reserved) return answer(-EEXIST);
    return last_reserved = address;
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, long argument) {
    if (fd < FIRST) return __real_fcntl(fd, command, argument);
    if (!file_of(fd)) return (int)answer(-EBADF);
    if (command == F_GETFD) return FD_CLOEXEC;
    if (command == F_DUPFD_CLOEXEC) return file_of(fd)->copies++, fd;
    if (command == F_ADD_SEALS) return 0;
    if (command == F_GET_SEALS) return F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    fail("fcntl %d of a descriptor of the explorer's", command);
}

bool treadle_system_holds_gate(void);
/* A gate is held for a few instructions. A thread that waits for one names its holder behind a barrier, and may sleep. */
static void check_gate(long number) {
    bool waits = number == SYS_futex || number == SYS_sched_yield || number == SYS_gettid || number == SYS_membarrier;
    if (!waits && treadle_system_holds_gate()) fail("system call %ld while a gate is held", number);
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    check_gate(number);
    switch (number) {
    case SYS_gettid: return (long)id_of(world.current);
    case SYS_membarrier:
        if (a == MEMBARRIER_CMD_PRIVATE_EXPEDITED) point(NULL, true, SITE, "membarrier");
        if (choose_failure(REFUSALS, 1)) world.has_no_barriers = true;
        if (world.has_no_barriers) return answer(-EPERM);
        if (a == MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
            if (is_left_out(STRICT, SITE)) shared->differences++;
            else barrier();
        }
        return 0;
    case SYS_futex:
        switch ((int)b & FUTEX_CMD_MASK) {
        case FUTEX_WAIT_BITSET: return answer(futex_wait((void *)a, (uint32_t)c, (const struct timespec *)d));
        case FUTEX_WAKE: return answer(futex_wake((void *)a, (int)c));
        case FUTEX_LOCK_PI: return answer(futex_lock((void *)a));
        case FUTEX_UNLOCK_PI: return answer(futex_unlock((void *)a));
        default: fail("futex operation %ld", b);
        }
    case SYS_mmap:
        if (file_of((int)e)) return choose_failure(SHORTAGES, 1) ? answer(-ENOMEM) : map_file((int)e);
        return reserve(a);
    case SYS_munmap: return unmap_file((void *)a);
    case SYS_memfd_create: return answer(world.has_no_memory_files ? -ENOSYS : open_one(MEMORY));
    case SYS_fallocate: return answer(size_file((int)a, (size_t)d));
    case SYS_statx: return answer(identify_file((int)a, (void *)e));
    case SYS_connect: return answer(socket_connect((int)a, (const void *)b, (size_t)c));
    case SYS_accept4: return answer(socket_accept((int)a));
    case SYS_sendmsg: return answer(socket_send((int)a, (const void *)b));
    case SYS_recvmsg: return answer(socket_receive((int)a, (void *)b));
    case SYS_shutdown: return answer(socket_shut((int)a));
    case SYS_ppoll: return answer(socket_poll((void *)a, (const void *)c));
    case SYS_epoll_pwait: return answer(wait_for_events((int)a, (struct epoll_event *)b, (int)c, (int)d));
    case SYS_close: return file_of((int)a) ? close_file((int)a) : (int)a >= FIRST ? answer(-EBADF) : __real_syscall(number, a);
    case SYS_write: return (int)a >= FIRST ? answer(write_event((int)a, (const void *)b)) : __real_syscall(number, a, b, c);
    case SYS_read: return file_of((int)a) ? answer(read_event((int)a, (void *)b)) : __real_syscall(number, a, b, c);
    case SYS_preadv2:
        if (file_of((int)a)) return answer(read_event((int)a, ((const struct iovec *)b)->iov_base));
        break;
    }
    return __real_syscall(number, a, b, c, d, e, f);
}
