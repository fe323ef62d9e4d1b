/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * channels.c: what connects a host with the process of a plugin, and where the program of that process is. */
#include "CTreadleSystem.h"
#include "CTreadleSpawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void close_one(int32_t *fd) {
    treadle_system_socket_close(*fd);
    *fd = -1;
}
static bool note_both(int32_t pair[2], const int made[2]) {
    for (int i = 0; i < 2; i++) pair[i] = treadle_system_socket_note(made[i]);
    return true;
}
static bool open_sockets(int32_t pair[2]) {
    int made[2];
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, made) == 0 && note_both(pair, made);
}
/* The first is the host's; it reads, or writes if host_writes. */
static bool open_pipe(int32_t pair[2], bool host_writes) {
    int made[2];
    if (pipe2(made, O_CLOEXEC) != 0) return false;
    if (!host_writes) fcntl(made[0], F_SETFL, O_NONBLOCK);
    if (host_writes) {
        int reads = made[0];
        made[0] = made[1], made[1] = reads;
    }
    return note_both(pair, made);
}

void treadle_system_no_channels(struct treadle_system_channels *out) { memset(out, -1, sizeof *out); }
void treadle_system_close_life(struct treadle_system_channels *channels) { close_one(&channels->life[0]); }
int32_t treadle_system_open_channels(struct treadle_system_channels *out) {
    treadle_system_no_channels(out);
    if (open_sockets(out->asking) && open_sockets(out->serving) && open_pipe(out->life, true) && open_pipe(out->report, false) &&
        open_pipe(out->output, false))
        return 0;
    int error = errno;
    treadle_system_close_channels(out, 0);
    treadle_system_close_channels(out, 1);
    return -error;
}
void treadle_system_close_channels(struct treadle_system_channels *channels, int32_t which) {
    close_one(&channels->asking[which]), close_one(&channels->serving[which]), close_one(&channels->life[which]);
    close_one(&channels->report[which]), close_one(&channels->output[which]);
}

void treadle_system_read_ending(int32_t fd, struct treadle_system_ending *out) {
    char bytes[256];
    int32_t numbers[2];
    int64_t size = treadle_system_read_some(fd, bytes, sizeof bytes);
    size_t length = 0, got = size > 0 ? (size_t)size : 0;
    *out = (struct treadle_system_ending){.by_signal = 1, .number = SIGKILL};
    while (length < got && length + 1 < sizeof out->places && bytes[length] >= ' ' && bytes[length] < 127) length++;
    memcpy(out->places, bytes, length);
    if (got - length < sizeof numbers) return;
    memcpy(numbers, bytes + length, sizeof numbers);
    out->by_signal = numbers[0] != 0, out->number = numbers[1];
}
int64_t treadle_system_read_some(int32_t fd, void *room, size_t size) {
    long got;
    do got = syscall(SYS_read, fd, room, size);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

void treadle_system_describe_ending(const struct treadle_system_ending *ending, char *room, size_t size) {
    static const struct { int number; const char *name; } names[] = {
        {SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGKILL, "SIGKILL"},
        {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGPIPE, "SIGPIPE"}, {SIGSYS, "SIGSYS"}, {SIGXCPU, "SIGXCPU"}, {SIGTRAP, "SIGTRAP"},
        {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}, {SIGALRM, "SIGALRM"},
    };
    if (!ending->by_signal) {
        snprintf(room, size, "its process has ended: exit status %d", (int)ending->number);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].number != ending->number) continue;
        snprintf(room, size, "its process has ended: signal %d (%s)%s", (int)ending->number, names[i].name, ending->places);
        return;
    }
    snprintf(room, size, "its process has ended: signal %d%s", (int)ending->number, ending->places);
}

/* --- The program -------------------------------------------------------------------------------------------- */

#define PROGRAM "treadle-plugin-process"

static bool is_program(const char *path) { return access(path, X_OK) == 0; }

bool treadle_system_find_plugin_process(char *room, size_t size) {
    /* Beside the library, as it is built and as a package brings it; and where it is installed. */
    static const char *const places[] = {"/", "/treadle/"};
    const char *named = secure_getenv("TREADLE_PLUGIN_PROCESS");
    Dl_info found;
    if (named && named[0]) return (size_t)snprintf(room, size, "%s", named) < size;
    if (!dladdr((void *)(uintptr_t)treadle_system_find_plugin_process, &found) || !found.dli_fname) return false;
    const char *end = strrchr(found.dli_fname, '/');
    int folder = end ? (int)(end - found.dli_fname) : 1;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(room, size, "%.*s%s%s", folder, end ? found.dli_fname : ".", places[i], PROGRAM);
        if (length > 0 && (size_t)length < size && is_program(room)) return true;
    }
    return false;
}

/* Only what a program needs to find its files, its language and its place for temporary ones, and what is Treadle's. */
static bool is_named(const char *entry) {
    static const char *const names[] = {"PATH=", "HOME=", "LANG=", "LANGUAGE=", "LC_", "TZ=", "TMPDIR=", "LD_LIBRARY_PATH=", "TREADLE_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0) return true;
    return false;
}

int32_t treadle_system_spawn_plugin_process(const char *path, const struct treadle_system_channels *channels, int32_t *out_process) {
    const char *arguments[] = {PROGRAM, NULL};
    const int32_t descriptors[] = {channels->asking[1], channels->serving[1], channels->life[1], channels->report[1]};
    size_t count = 0;
    *out_process = -1;
    for (char **entry = environ; entry && *entry; entry++) count += is_named(*entry);
    const char **environment = calloc(count + 1, sizeof *environment);
    if (!environment) return -ENOMEM;
    size_t kept = 0;
    for (char **entry = environ; entry && *entry && kept < count; entry++)
        if (is_named(*entry)) environment[kept++] = *entry;
    struct treadle_system_spawn spawn = {
        .program = path, .arguments = arguments, .environment = environment, .descriptors = descriptors, .descriptor_count = 4,
        .output = channels->output[1],
    };
    int32_t result = treadle_system_spawn(&spawn, out_process);
    free(environment);
    return result;
}
