/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin-process.c: treadle-plugin-process, the program in which isolated plugins run; hosts start it, people do not. It is two
 * processes: one loads the plugin, and the other, which runs no code of the plugin's, watches it. That one ends the plugin's when the
 * host has gone, and tells the host how the plugin's has ended. */
#define _GNU_SOURCE
#include "filter.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* --- What the plugin's process says of a crash ------------------------------------------------------------- */

enum { MOST_FRAMES = 4, HANDLER_FRAMES = 2 };

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static int (*find_object)(void *, struct dl_find_object *); /* _dl_find_object of glibc 2.35, which takes no lock; NULL in older ones */
#endif

/* Nothing here takes a lock or allocates: the crash may have come anywhere. */
static size_t put(char *room, size_t size, size_t at, const char *text) {
    while (*text && at + 1 < size) room[at++] = *text++;
    return at;
}
static size_t put_number(char *room, size_t size, size_t at, uintptr_t number) {
    char digits[2 * sizeof number + 1];
    size_t first = sizeof digits - 1;
    digits[first] = 0;
    do digits[--first] = "0123456789abcdef"[number & 15];
    while ((number >>= 4) != 0 && first > 0);
    return put(room, size, put(room, size, at, "+0x"), digits + first);
}
static size_t put_frame(char *room, size_t size, size_t at, uintptr_t place) {
    const char *name = "?";
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (find_object && find_object((void *)place, &found) == 0) {
        const char *path = found.dlfo_link_map->l_name, *slash = path ? strrchr(path, '/') : NULL;
        name = slash ? slash + 1 : path && path[0] ? path : "treadle-plugin-process";
        place -= found.dlfo_link_map->l_addr;
    }
#endif
    return put_number(room, size, put(room, size, at, name), place);
}
/* Tells the host where, and ends as the signal does: its action is the default again. */
static void crash(int number) {
    void *frames[HANDLER_FRAMES + MOST_FRAMES];
    char line[256];
    size_t at = 0;
    alarm(1); /* an end is sure, even if the unwinder loses its way */
    int count = backtrace(frames, HANDLER_FRAMES + MOST_FRAMES);
    for (int i = HANDLER_FRAMES; i < count; i++)
        at = put_frame(line, sizeof line, put(line, sizeof line, at, at ? ", " : " at "), (uintptr_t)frames[i]);
    if (at > 0 && write(REPORT, line, at) < 0) at = 0;
    alarm(0);
    raise(number);
}
static void notice_crashes(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
    static char memory[64 * 1024];
    void *first[1];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = crash, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK | SA_NODEFER};
    backtrace(first, 1); /* loads the unwinder */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    *(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
#endif
    if (sigaltstack(&stack, NULL) != 0) return;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
}

/* The plugin's process ends with the one that watches it. No core is written: that may take seconds, and the host waits. */
static int be_plugin(pid_t watcher) {
    struct rlimit no_core = {.rlim_cur = 1, .rlim_max = 1}; /* 1 stops pipes of cores as well as files */
    close(LIFE);
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != watcher) return 1;
    notice_crashes();
    setvbuf(stdout, NULL, _IOLBF, 0);
    return treadle_plugin_serve(SERVING, ASKING, filter_calls) == TREADLE_OK ? 0 : 1;
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
