/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * steps.c: no plugin, but a library before the C library (LD_PRELOAD), which counts the calls by which a host and the processes of its
 * isolated plugins work, and kills one of these processes at a call: that of the number TREADLE_TEST_STEP, in the process that
 * TREADLE_TEST_STEP_ROLE names: host, watcher or plugin. The file TREADLE_TEST_STEP_MARK is there when that has happened. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* All have numbers and pointers alone as arguments, in the same places whatever their number, and at most seven. */
typedef long call_fn(long, long, long, long, long, long, long);

enum { CREATE = 0101, KILL_SIGNAL = 9 };
static _Atomic(call_fn *) real_getpid, real_kill, real_open;
static _Atomic long taken;
static long wanted;
static const char *mark;
static _Bool is_meant, is_plugin_meant;

static call_fn *find(const char *name) {
    call_fn *found = NULL;
    *(void **)&found = dlsym(RTLD_NEXT, name);
    return found;
}
static void take_step(void) {
    if (!is_meant || atomic_fetch_add(&taken, 1) + 1 != wanted) return;
    if (mark) real_open((long)mark, CREATE, 0600, 0, 0, 0, 0);
    real_kill(real_getpid(0, 0, 0, 0, 0, 0, 0), KILL_SIGNAL, 0, 0, 0, 0, 0);
}

#define STEPS(of)                                                                                                                      \
    of(syscall) of(waitpid) of(poll) of(read) of(write) of(close) of(signalfd) of(prctl) of(setrlimit) of(sigprocmask) of(sigaltstack) \
    of(pthread_sigmask) of(pthread_create) of(kill) of(mmap) of(munmap) of(fcntl) of(open) of(access) of(dup2) of(execve) of(clone)    \
    of(epoll_create1) of(eventfd) of(epoll_ctl) of(timerfd_create) of(timerfd_settime) of(fstat) of(socketpair) of(pipe2)              \
    of(getsockopt) of(setsockopt) of(fork)

#define STEP(name)                                                                       \
    static _Atomic(call_fn *) next_##name;                                               \
    call_fn step_##name __asm__(#name);                                                  \
    long step_##name(long a, long b, long c, long d, long e, long f, long g) {           \
        if (!next_##name) next_##name = find(#name);                                     \
        take_step();                                                                     \
        long result = next_##name(a, b, c, d, e, f, g);                                  \
        if (strcmp(#name, "fork") == 0 && (int)result == 0) {                            \
            taken = 0;                                                                   \
            is_meant = is_plugin_meant;                                                  \
        }                                                                                \
        return result;                                                                   \
    }
STEPS(STEP)

#define FIND(name) next_##name = find(#name);
__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("TREADLE_TEST_STEP"), *role = getenv("TREADLE_TEST_STEP_ROLE");
    real_getpid = find("getpid");
    real_kill = find("kill");
    real_open = find("open");
    STEPS(FIND)
    if (!number || !role) return;
    wanted = atol(number);
    mark = getenv("TREADLE_TEST_STEP_MARK");
    is_plugin_meant = strcmp(role, "plugin") == 0;
    is_meant = !is_plugin_meant;
}
