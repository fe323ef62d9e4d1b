/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * spawn.c: a process that its host does not notice. A program's exit signal is always SIGCHLD, so the program is no child of the host's:
 * a process between the two starts it and ends, without a signal of its own. Until the program runs, both share the memory of the calling
 * thread, which stands still: so the host's size does not matter, and an error needs no pipe. */
#include "CTreadleSystem.h"
#include "CTreadleSpawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
enum { STACK = 64 * 1024, FIRST = 3 };

/* Read and written by the host's thread and by both processes, one at a time. */
struct birth {
    const struct treadle_system_spawn *spawn;
    char *stack; /* of the program's process, its end */
    sigset_t unblocked;
    int process, error;
};

/* Before the program runs: nothing here may allocate or lock, since the memory is the host's. */
static void default_handlers(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; number++) sigaction(number, &action, NULL); /* SIGKILL and SIGSTOP are refused */
}
static void close_from(unsigned first) {
    if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
    struct rlimit limit;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1 << 20 ? limit.rlim_cur : 1 << 20;
    for (unsigned fd = first; fd < most; fd++) syscall(SYS_close, fd);
}
/* The named descriptors go to their places by way of numbers that none of them has. */
static bool place_descriptors(const struct treadle_system_spawn *spawn) {
    int32_t moved[TREADLE_SYSTEM_MOST_SPAWNED], count = (int32_t)spawn->descriptor_count;
    int output = fcntl(spawn->output, F_DUPFD_CLOEXEC, FIRST + count);
    if (output < 0) return false;
    for (int32_t i = 0; i < count; i++) {
        moved[i] = fcntl(spawn->descriptors[i], F_DUPFD_CLOEXEC, FIRST + count);
        if (moved[i] < 0) return false;
    }
    for (int32_t i = 0; i < count; i++)
        if (dup2(moved[i], FIRST + i) < 0) return false;
    if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) return false;
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || dup2(input, STDIN_FILENO) < 0) return false;
    close_from((unsigned)(FIRST + count));
    return true;
}
static int begin(void *info) {
    struct birth *birth = info;
    const struct treadle_system_spawn *spawn = birth->spawn;
    default_handlers();
    setsid();
    if (place_descriptors(spawn)) {
        sigprocmask(SIG_SETMASK, &birth->unblocked, NULL);
        execve(spawn->program, (char *const *)(uintptr_t)spawn->arguments, (char *const *)(uintptr_t)spawn->environment);
    }
    birth->error = errno;
    _exit(0);
}
/* The process between. It shares the host's descriptors, so that the program's gets among them. */
static int begin_between(void *info) {
    struct birth *birth = info;
    if (clone(begin, birth->stack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD, birth, &birth->process) < 0) birth->error = errno;
    _exit(0);
}

int32_t treadle_system_spawn(const struct treadle_system_spawn *spawn, int32_t *out_process) {
    sigset_t all, before;
    int saved = errno, status;
    *out_process = -1;
    if (spawn->descriptor_count > TREADLE_SYSTEM_MOST_SPAWNED) return -EINVAL;
    char *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) return -ENOMEM;
    struct birth birth = {.spawn = spawn, .stack = stacks + STACK, .process = -1};
    sigfillset(&all);
    sigemptyset(&birth.unblocked);
    /* No handler of the host's runs in a process that has its memory. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int between = clone(begin_between, stacks + 2 * STACK, CLONE_VM | CLONE_VFORK | CLONE_FILES, &birth);
    int error = between < 0 ? errno : birth.error;
    if (between >= 0)
        while (waitpid(between, &status, __WCLONE) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stacks, 2 * STACK);
    if (error == 0 && birth.process < 0) error = ENOSYS; /* a kernel without such descriptors ignores the flag */
    if (error != 0 && birth.process >= 0) treadle_system_close(birth.process);
    if (error == 0) *out_process = birth.process;
    errno = saved;
    return -error;
}

int32_t treadle_system_spawn_kill(int32_t process) {
    int saved = errno;
    long result = syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
    int error = result < 0 ? errno : 0;
    errno = saved;
    return error == ESRCH ? 0 : -error;
}
