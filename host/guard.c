/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * guard.c: a check runs in a process of its own, so that a plugin that ends the process, replaces it, or crashes it fails a point like
 * any other. */
#include "host.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static struct progress no_progress;
struct progress *progress = &no_progress;

static const char *where(void) { return *progress->where ? progress->where : "while the main loop ran"; }

/* Whether the process runs another program than this one. */
static bool has_other_program(pid_t process) {
    char name[64], own[4096], other[4096];
    snprintf(name, sizeof name, "/proc/%d/exe", (int)process);
    ssize_t own_length = readlink("/proc/self/exe", own, sizeof own), length = readlink(name, other, sizeof other);
    return own_length > 0 && length > 0 && (length != own_length || memcmp(own, other, (size_t)length) != 0);
}

/* What is said of a process that has ended. The check itself says when it is over. */
static void tell_end(int status) {
    if (WIFSIGNALED(status))
        point(false, "crash", "it does not crash: %s, %s", strsignal(WTERMSIG(status)), where());
    else if (!progress->is_over)
        point(false, "exit", "it does not end the process: exit with status %d, %s", WEXITSTATUS(status), where());
}

static void end_process(pid_t process) {
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {}
}

/* Waits for the process. alive: a pipe whose other end only that process has, until it ends or becomes another program. */
static void wait_for(pid_t process, int signals, int alive) {
    struct pollfd watched[] = {{.fd = signals, .events = POLLIN}, {.fd = alive, .events = POLLIN}};
    for (;;) {
        struct signalfd_siginfo signal;
        int status;
        /* Once the pipe is closed, the process ends at once, or never. */
        poll(watched, 2, watched[1].fd < 0 ? 1 : -1);
        while (read(signals, &signal, sizeof signal) == sizeof signal) {
            if (signal.ssi_signo == SIGCHLD) continue;
            end_process(process);
            point(false, "ended", "the check comes to its end: %s ended it, %s", strsignal((int)signal.ssi_signo), where());
            return;
        }
        if (waitpid(process, &status, WNOHANG) == process) {
            tell_end(status);
            return;
        }
        if (watched[1].revents) watched[1].fd = -1;
        if (watched[1].fd < 0 && has_other_program(process)) {
            end_process(process);
            point(false, "exec", "it does not replace the program: another one was executed, %s", where());
            return;
        }
    }
}

int run_guarded(int (*check)(void)) {
    sigset_t set, old;
    int alive[2];
    sigemptyset(&set);
    sigaddset(&set, SIGTERM), sigaddset(&set, SIGINT), sigaddset(&set, SIGHUP), sigaddset(&set, SIGCHLD);
    struct progress *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (shared == MAP_FAILED || signals < 0 || pipe2(alive, O_CLOEXEC) != 0) return complain("the check cannot begin: %s", strerror(errno)), STATUS_FAILED;
    progress = shared;
    begin_points(options.paths[0]);
    pid_t process = fork();
    if (process < 0) return complain("the check cannot begin: %s", strerror(errno)), STATUS_FAILED;
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(signals), close(alive[0]);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        int status = check();
        progress->is_over = true;
        return status;
    }
    close(alive[1]);
    wait_for(process, signals, alive[0]);
    end_points();
    return progress->has_failed || !progress->is_over ? STATUS_FAILED : STATUS_OK;
}
