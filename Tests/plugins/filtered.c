/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * filtered.c: makes system calls in its constructor and in its start, and says what became of them: for tests of filters. None of them
 * changes anything, and each gets further than EPERM for any user where no filter is. */
#include <treadle.h>
#include <treadle/plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *constructed;

static const char *name_of(long result) { return result >= 0 ? "made" : errno == EPERM ? "refused" : strerror(errno); }
static void say(const char *what, long result) {
    char line[128];
    snprintf(line, sizeof line, "%s: %s", what, name_of(result));
    treadle_plugin_self->log(treadle_plugin_self, 2, line);
}
static long compare(void) { return syscall(SYS_kcmp, getpid(), getpid(), 2L /* KCMP_FILES */, 0L, 0L); }
static long read_memory(void) {
    char from = 1, to = 0;
    struct iovec own = {&to, 1}, other = {&from, 1};
    return process_vm_readv(getpid(), &own, 1, &other, 1, 0);
}
static long add_socket(int family) {
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? -1 : close(fd);
}
static long make_process(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    return child < 0 ? -1 : waitpid(child, NULL, 0);
}
static void *nothing(void *info) { return info; }
static long make_thread(void) {
    pthread_t thread;
    return (errno = pthread_create(&thread, NULL, nothing, NULL)) != 0 ? -1 : pthread_join(thread, NULL);
}
/* What compilers at run time do. */
static long make_code(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long result = page == MAP_FAILED ? -1 : mprotect(page, 4096, PROT_READ | PROT_EXEC);
    munmap(page, 4096);
    return result;
}
static long make_timer(void) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    return fd < 0 ? -1 : close(fd);
}
static long limit_parent(void) {
    struct rlimit limit;
    return syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, &limit);
}

__attribute__((constructor)) static void construct(void) { constructed = name_of(compare()); }

static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return *out_instance = NULL, host ? TREADLE_OK : TREADLE_E_ARG; }
static treadle_status start(void *instance) {
    char line[64];
    (void)instance;
    snprintf(line, sizeof line, "kcmp in the constructor: %s", constructed);
    treadle_plugin_self->log(treadle_plugin_self, 2, line);
    say("kcmp", compare());
    say("process_vm_readv", read_memory());
    say("ptrace", syscall(SYS_ptrace, 16L /* PTRACE_ATTACH */, -1L, 0L, 0L));
    say("mount", syscall(SYS_mount, "none", "/nowhere/at/all", "tmpfs", ~0UL, NULL));
    say("bpf", syscall(SYS_bpf, ~0UL, NULL, 0L));
    say("keyctl", syscall(SYS_keyctl, ~0UL, 0L, 0L, 0L, 0L));
    say("unshare", syscall(SYS_unshare, 0L));
    say("io_uring_setup", syscall(SYS_io_uring_setup, 0L, NULL));
    say("tkill", syscall(SYS_tkill, syscall(SYS_gettid), 0L));
    say("clone with a namespace", syscall(SYS_clone, CLONE_NEWUSER | 0x200 /* CLONE_FS, which excludes it */, 0L, 0L, 0L, 0L));
    say("clone3", syscall(SYS_clone3, NULL, 0L));
    say("a call that no kernel has", syscall(1000L));
    say("personality", syscall(SYS_personality, 0xFFFFFFFFL));
    say("a signal to the parent", kill(getppid(), 0));
    say("a signal to itself", kill(getpid(), 0));
    say("a signal to its thread", pthread_kill(pthread_self(), 0) == 0 ? 0 : -1);
    say("the parent's limits", limit_parent());
    say("its own limits", getrlimit(RLIMIT_NOFILE, &(struct rlimit){0}));
    say("a socket of the internet", add_socket(AF_INET));
    say("a socket of this machine", add_socket(AF_UNIX));
    say("a socket of the kernel's ciphers", add_socket(38 /* AF_ALG, of which this kind is none */));
    say("a family with more bits than it has", syscall(SYS_socket, (1ULL << 32) | AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    say("a process", make_process());
    say("a thread", make_thread());
    say("code", make_code());
    say("a timer", make_timer());
    say("a file", access("/etc/passwd", R_OK));
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.filtered", .name = "filtered", .version = "1", .init = init, .start = start, .deinit = deinit,
};
TREADLE_PLUGIN_EXPORT(description)
