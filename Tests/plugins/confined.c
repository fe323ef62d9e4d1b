/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * confined.c: says in its constructor, in its start and on a thread of its own what its process may do: for tests of limits and rights. */
#include <treadle.h>
#include <treadle/plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char read_by_constructor[64];

static const char *name_of(int error) { return error == 0 ? "yes" : error == EACCES || error == EPERM ? "refused" : strerror(error); }
static void say(const char *what, int error) {
    char line[128];
    snprintf(line, sizeof line, "%s: %s", what, name_of(error));
    treadle_plugin_self->log(treadle_plugin_self, 2, line);
}
static int may_open(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    close(fd);
    return 0;
}
static int may_connect(int family) {
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    close(fd);
    return 0;
}
static int may_fork(void) {
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    return 0;
}
static int may_have(size_t bytes) {
    void *memory = malloc(bytes);
    int error = memory ? 0 : ENOMEM;
    free(memory);
    return error;
}
static int open_many(void) {
    int opened[128], count = 0, error = 0;
    while (count < 128 && error == 0) {
        opened[count] = dup(0);
        if (opened[count] < 0) error = errno;
        else count++;
    }
    while (count > 0) close(opened[--count]);
    return error;
}
static void *say_on_a_thread(void *info) {
    say("another file on a thread", may_open("/etc/passwd", O_RDONLY));
    return info;
}

__attribute__((constructor)) static void look(void) { snprintf(read_by_constructor, sizeof read_by_constructor, "%s", name_of(may_open("/etc/passwd", O_RDONLY))); }

static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return *out_instance = NULL, host ? TREADLE_OK : TREADLE_E_ARG; }
static treadle_status start(void *instance) {
    char folder[512], path[600], line[160];
    size_t length;
    pthread_t thread;
    const treadle_plugin_host *host = treadle_plugin_self;
    (void)instance;
    if (host->copy_setting(host, "folder", folder, sizeof folder, &length) != TREADLE_OK) return TREADLE_E_PLUGIN;
    snprintf(line, sizeof line, "another file in the constructor: %s", read_by_constructor);
    host->log(host, 2, line);
    say("another file", may_open("/etc/passwd", O_RDONLY));
    snprintf(path, sizeof path, "%s/read", folder);
    say("a named file", may_open(path, O_RDONLY));
    say("writing a named file", may_open(path, O_WRONLY));
    snprintf(path, sizeof path, "%s/write/new", folder);
    say("a new file", may_open(path, O_WRONLY | O_CREAT));
    say("the internet", may_connect(AF_INET));
    say("a socket of this machine", may_connect(AF_UNIX));
    say("a process", may_fork());
    say("much memory", may_have((size_t)16 << 30));
    say("many descriptors", open_many());
    say("new privileges", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : EPERM);
    if (pthread_create(&thread, NULL, say_on_a_thread, NULL) != 0) return TREADLE_E_SYSTEM;
    pthread_join(thread, NULL);
    if (host->copy_setting(host, "spin", line, sizeof line, &length) == TREADLE_OK && strcmp(line, "true") == 0)
        for (volatile unsigned turns = 0;; turns++) {}
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "folder", .default_value = "/nowhere"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "spin", .type = TREADLE_SETTING_BOOLEAN, .default_value = "false"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.confined", .name = "confined", .version = "1", .settings = settings, .setting_count = 2,
    .init = init, .start = start, .deinit = deinit,
};
TREADLE_PLUGIN_EXPORT(description)
