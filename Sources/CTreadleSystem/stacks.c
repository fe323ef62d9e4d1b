/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * stacks.c: the stack of another thread, for the watchdog. That thread is sent a real-time signal that nobody else handles, and
 * its handler unwinds the stack that it lies on. There is no handler before somebody asks for a stack.
 *
 * Why this is safe. The handler calls libc's `backtrace` alone, which neither allocates nor takes a lock once libgcc is loaded:
 * that is done beforehand, on the asking thread. A function of that name that the program or a sanitizer puts before libc's is
 * passed over: those of the sanitizers allocate, and would wait for ever for the lock that the interrupted thread holds. (With a
 * glibc before 2.35 it takes the loader's lock, which is recursive: it waits if another thread is loading a library meanwhile,
 * and goes on.) The handler writes to static memory, and answers only the question that is being asked: a signal that comes
 * late, or to a thread that the kernel has given a dead one's id, finds another ticket or another call. It stays for the rest of
 * the process, since the default of a real-time signal would end that.
 *
 * What it is not: invisible. A system call that restarts after no signal, such as `poll` or `nanosleep`, returns EINTR in the
 * callback. */
#include "CTreadleSystem.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static struct {
    uint32_t ticket; /* of the question that nobody has begun to answer; 0: none */
    uint32_t done;   /* the last ticket that was answered; a futex */
    const int64_t *word; /* the question is about the call during which this word is `expected` */
    int64_t expected;
    int32_t thread, count;
    void *pc;        /* where the thread was interrupted */
    void *frames[TREADLE_SYSTEM_FRAMES];
} asked;

/* libc's `backtrace`; set before the first question. Where it finds nothing, a stack is the place where the thread was interrupted. */
static int (*unwind)(void **frames, int room) = backtrace;

static void *interrupted_at(const ucontext_t *context) {
#if defined(__x86_64__)
    return (void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)context->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

static void answer(int number, siginfo_t *info, void *context) {
    int saved = errno;
    uint32_t ticket = (uint32_t)(uintptr_t)info->si_value.sival_ptr, expected = ticket;
    (void)number;
    if (info->si_code == SI_QUEUE && ticket != 0 &&
        __atomic_compare_exchange_n(&asked.ticket, &expected, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        bool is_meant = asked.thread == treadle_system_thread_id() && __atomic_load_n(asked.word, __ATOMIC_RELAXED) == asked.expected;
        asked.count = is_meant ? unwind(asked.frames, TREADLE_SYSTEM_FRAMES) : 0;
        asked.pc = interrupted_at(context);
        if (is_meant && asked.count == 0) asked.frames[asked.count++] = asked.pc;
        __atomic_store_n(&asked.done, ticket, __ATOMIC_RELEASE);
        treadle_system_futex_wake(&asked.done, 1);
    }
    errno = saved;
}

/* A signal that is ours, or becomes so; 0 if all are somebody's. */
static int own_signal(void) {
    static int own;
    struct sigaction found, handler = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (own && sigaction(own, NULL, &found) == 0 && found.sa_sigaction == answer) return own;
    sigfillset(&handler.sa_mask);
    /* The last ones are those that debuggers and other tools take. */
    for (int number = SIGRTMAX - 2; number > SIGRTMIN; number--) {
        if (sigaction(number, NULL, &found) != 0 || (found.sa_flags & SA_SIGINFO) || found.sa_handler != SIG_DFL) continue;
        if (sigaction(number, &handler, NULL) == 0) return own = number;
    }
    return 0;
}

void treadle_system_prepare_stacks(void) {
    void *frame, *found = dlsym(RTLD_NEXT, "backtrace"); /* the one behind this library: none in a static program */
    if (found) *(void **)(void *)&unwind = found;
    unwind(&frame, 1);
}

int32_t treadle_system_stack_of(int32_t thread, const void *word, int64_t expected, int64_t until, const void **out) {
    static uint32_t tickets;
    int number = own_signal();
    if (!number) return 0;
    uint32_t ticket = tickets = tickets == UINT32_MAX ? 1 : tickets + 1, before;
    asked.thread = thread;
    asked.word = word;
    asked.expected = expected;
    __atomic_store_n(&asked.ticket, ticket, __ATOMIC_RELEASE);
    siginfo_t info = {.si_code = SI_QUEUE, .si_signo = number};
    info.si_pid = getpid(), info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)ticket;
    bool is_sent = syscall(SYS_rt_tgsigqueueinfo, (long)info.si_pid, (long)thread, (long)number, &info) == 0;
    while ((before = __atomic_load_n(&asked.done, __ATOMIC_ACQUIRE)) != ticket) {
        if (is_sent && treadle_system_futex_wait(&asked.done, before, until) != -ETIMEDOUT) continue;
        /* It blocks the signal, or is gone; unless it has just begun to answer. */
        uint32_t own = ticket;
        if (__atomic_compare_exchange_n(&asked.ticket, &own, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return 0;
        until = INT64_MAX;
        is_sent = true;
    }
    /* Without the handler's own frames. */
    int32_t first = 0;
    while (first < asked.count && asked.frames[first] != asked.pc) first++;
    if (first == asked.count) first = 0;
    *out = (const void *)&asked.frames[first];
    return asked.count - first;
}

int32_t treadle_system_helper_start(void *(*run)(void *), void *argument, size_t stack_size) {
    struct treadle_system_thread_plan plan = {.stack_size = stack_size, .is_detached = 1};
    uintptr_t thread;
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &own); /* the client's handlers run on the client's threads */
    int32_t result = treadle_system_thread_start(&plan, run, argument, &thread);
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    return result;
}
