/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin-process.c: treadle-plugin-process, the program in which isolated plugins run; hosts start it, people do not. It is two
 * processes: one loads the plugin, and the other, which runs no code of the plugin's, watches it. That one ends the plugin's when the
 * host has gone, and tells the host how the plugin's has ended. */
#define _GNU_SOURCE
#include <treadle.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the host has opened, in this order. */
enum { SERVING = 3, ASKING, LIFE, REPORT };

struct ending {
    int32_t by_signal, number;
};

/* The plugin's process ends with the one that watches it. No core is written: that may take seconds, and the host waits. */
static int be_plugin(pid_t watcher) {
    struct rlimit no_core = {.rlim_cur = 1, .rlim_max = 1}; /* 1 stops pipes of cores as well as files */
    close(LIFE), close(REPORT);
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != watcher) return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    return treadle_plugin_serve(SERVING, ASKING) == TREADLE_OK ? 0 : 1;
}

static void report(int status) {
    struct ending ending = {.by_signal = WIFSIGNALED(status), .number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)};
    while (write(REPORT, &ending, sizeof ending) < 0 && errno == EINTR) {}
}

int main(void) {
    sigset_t child_ends;
    int status = 0;
    for (int fd = SERVING; fd <= REPORT; fd++) {
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) continue;
        fprintf(stderr, "treadle-plugin-process is started by hosts of isolated plugins\n");
        return 2;
    }
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ends, NULL);
    int signals = signalfd(-1, &child_ends, SFD_CLOEXEC);
    pid_t watcher = getpid(), plugin = signals < 0 ? -1 : fork();
    if (plugin < 0) return 1;
    if (plugin == 0) {
        sigprocmask(SIG_UNBLOCK, &child_ends, NULL);
        close(signals);
        return be_plugin(watcher);
    }
    close(SERVING), close(ASKING);
    struct pollfd watched[] = {{.fd = signals, .events = POLLIN}, {.fd = LIFE, .events = POLLIN}};
    while (waitpid(plugin, &status, WNOHANG) == 0) {
        poll(watched, 2, -1);
        if (watched[1].revents == 0) {
            struct signalfd_siginfo taken;
            if (read(signals, &taken, sizeof taken) < 0) continue;
        } else {
            kill(plugin, SIGKILL);
            waitpid(plugin, &status, 0);
            break;
        }
    }
    report(status);
    return 0;
}
