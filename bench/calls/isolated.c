/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated.c: plugins in processes of their own. A call of one number and its answer, one at a time, beside the same call in the process
 * (DIRECTLY), treadle_port_call (PLAINLY), and two loops of epoll with a bare pair of sockets (BY_HAND). From the load to the end of the
 * start, beside the start and end of an empty program. From a crash to the status of the call that it ends. Memory of one. */
#include "by_hand.h"
#include "plugin/measured.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES = 5, CALLS = 20000, WARM = 200, LIVES = 40, PLUGINS = 16 };

static treadle_plugin plugin;
static const struct isolated *functions;
static void load_from(const char *path, uint32_t flags) {
    treadle_plugin_config config = TREADLE_INIT(treadle_plugin_config);
    const void *found;
    config.path = path;
    config.flags = flags;
    check(treadle_plugin_load(&config, &plugin));
    check(treadle_plugin_start(plugin));
    check(treadle_plugin_get_extension(plugin, ISOLATED, &found));
    functions = found;
}
static void end_plugin(treadle_plugin ended) {
    demand(treadle_plugin_close(ended, TREADLE_FOREVER) == TREADLE_OK, "the plugin ends");
    check(treadle_release(ended));
}

/* --- A call of one number ---------------------------------------------------------------------------------- */

static int64_t (*volatile next)(int64_t number);

/* By treadle_port_call. */
static treadle_message_port remote;
static int64_t next_here(int64_t number) { return number + 1; }
static const treadle_port_function served[] = {{"next", "qq", (void (*)(void))next_here}};
static const char *name_of(pid_t parent) {
    static char name[64];
    snprintf(name, sizeof name, "treadle.bench.isolated.%d", (int)parent);
    return name;
}
static int64_t next_by_port(int64_t number) {
    const treadle_port_value argument = {.bytes = &number, .size = sizeof number};
    int64_t result = 0;
    check(treadle_port_call(remote, "next", "qq", &argument, 1, &result, sizeof result, TREADLE_FOREVER, "replies"));
    return result;
}
static void serve_port(int ready) {
    treadle_message_port_context context = TREADLE_INIT(treadle_message_port_context);
    treadle_message_port port;
    live_in(treadle_loop_current());
    context.functions = served, context.function_count = 1;
    check(treadle_message_port_create_local(name_of(getppid()), &context, &port));
    check(treadle_loop_add(treadle_loop_current(), port, TREADLE_DEFAULT_MODE));
    demand(write(ready, "r", 1) == 1, "a pipe can be written");
    treadle_loop_run_default(treadle_loop_current());
}

/* By a bare pair of sockets. */
static bool receive_number(int fd, int64_t *number) { return receive(fd, number, sizeof *number) == sizeof *number; }
static int64_t next_by_hand(int64_t number) {
    demand(send(ends[0], &number, sizeof number, 0) == (ssize_t)sizeof number && receive_number(ends[0], &number), "a number travels");
    return number;
}
static void serve_bare(int ready) {
    int64_t number;
    watch(ends[1]);
    demand(write(ready, "r", 1) == 1, "a pipe can be written");
    while (receive_number(ends[1], &number)) {
        number++;
        if (send(ends[1], &number, sizeof number, 0) != (ssize_t)sizeof number) return;
    }
}

/* The process that is called inherits the processor. */
static pid_t begin(enum way way) {
    int ready[2];
    char byte;
    if (way == BY_TREADLE || way == DIRECTLY) {
        live_in(treadle_loop_current());
        load_from(path_of_plugin(), way == BY_TREADLE ? TREADLE_PLUGIN_LOAD_ISOLATED : 0);
        next = functions->next;
        return 0;
    }
    demand(pipe(ready) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "there are descriptors");
    pid_t child = fork();
    demand(child >= 0, "a process can be made");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (way == PLAINLY) serve_port(ready[1]);
        else serve_bare(ready[1]);
        _exit(0);
    }
    close(ready[1]);
    demand(read(ready[0], &byte, 1) == 1, "the server is there");
    if (way == PLAINLY) {
        live_in(treadle_loop_current());
        check(treadle_message_port_create_remote(name_of(getpid()), NULL, &remote));
        check(treadle_loop_add(treadle_loop_current(), remote, "replies"));
        next = next_by_port;
    } else {
        watch(ends[0]);
        next = next_by_hand;
    }
    return child;
}
static void measure_calls(const char *name, enum way way, int called_on) {
    uint64_t least = UINT64_MAX;
    int64_t number = 0;
    size_t count = amount(CALLS);
    bind_thread(called_on);
    pid_t child = begin(way);
    bind_thread(first_processor);
    for (int i = 0; i < WARM; i++) number = next(number);
    for (int sample = 0; sample < SAMPLES; sample++) {
        uint64_t begun = clock_ns();
        for (size_t i = 0; i < count; i++) number = next(number);
        uint64_t took = clock_ns() - begun;
        if (took < least) least = took;
    }
    demand(number == (int64_t)(WARM + SAMPLES * count), "each call has its own answer");
    tell(name, (double)least / (double)count / 1000, "us");
    if (child > 0) kill(child, SIGKILL), waitpid(child, NULL, 0);
    else end_plugin(plugin);
}
static void isolated_call(const char *name, enum way way) { measure_calls(name, way, first_processor); }
static void isolated_call_2(const char *name, enum way way) { measure_calls(name, way, second_processor); }

/* --- A life, and a crash ------------------------------------------------------------------------------------- */

static void run_empty_program(void) {
    static char *const words[] = {"true", NULL};
    extern char **environ;
    pid_t child;
    demand(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0 && waitpid(child, NULL, 0) == child, "a program runs");
}
static void isolated_load(const char *name, enum way way) {
    uint64_t least = UINT64_MAX;
    live_in(treadle_loop_current());
    for (size_t i = 0; i < amount(LIVES) + 1; i++) {
        uint64_t begun = clock_ns();
        if (way == BY_TREADLE) load_from(path_of_plugin(), TREADLE_PLUGIN_LOAD_ISOLATED);
        else run_empty_program();
        uint64_t took = clock_ns() - begun;
        if (took < least) least = took;
        if (way == BY_TREADLE) end_plugin(plugin);
    }
    tell(name, (double)least / 1000, "us");
}
static void isolated_crash(const char *name, enum way way) {
    uint64_t longest = 0;
    (void)way;
    live_in(treadle_loop_current());
    for (size_t i = 0; i < amount(LIVES) + 1; i++) {
        load_from(path_of_plugin(), TREADLE_PLUGIN_LOAD_ISOLATED);
        uint64_t begun = clock_ns();
        demand(functions->crash() == TREADLE_E_PLUGIN, "a crash is a status");
        uint64_t took = clock_ns() - begun;
        if (took > longest) longest = took;
        end_plugin(plugin);
    }
    tell(name, (double)longest / 1000, "us");
}

/* --- Memory ---------------------------------------------------------------------------------------------------- */

/* What a process has that no other one shares, in kB; or all that it has. */
static double memory_of(long process, bool is_all) {
    char path[64], line[256];
    double sum = 0, number;
    snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", process);
    FILE *file = fopen(path, "re");
    demand(file != NULL, "the kernel tells a process's memory");
    while (fgets(line, sizeof line, file))
        if (is_all ? sscanf(line, "Rss: %lf", &number) == 1
                   : sscanf(line, "Private_Clean: %lf", &number) == 1 || sscanf(line, "Private_Dirty: %lf", &number) == 1)
            sum += number;
    fclose(file);
    return sum;
}
static long parent_of(long process) {
    char path[64], line[256];
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", process);
    FILE *file = fopen(path, "re");
    demand(file != NULL, "the kernel tells a process's parent");
    while (fgets(line, sizeof line, file) && sscanf(line, "PPid: %ld", &parent) != 1) {}
    fclose(file);
    return parent;
}
/* The plugin once more, by another id: an id is loaded once. */
static void copy_plugin(int number, char *path) {
    static const char id[] = "bench.measured";
    struct stat about;
    int from = open(path_of_plugin(), O_RDONLY | O_CLOEXEC), to = mkstemp(path);
    demand(from >= 0 && to >= 0 && fstat(from, &about) == 0 && fchmod(to, 0700) == 0, "a plugin can be copied");
    char *bytes = malloc((size_t)about.st_size + 1);
    demand(bytes && read(from, bytes, (size_t)about.st_size) == about.st_size, "a plugin can be read");
    for (off_t at = 0; at + (off_t)sizeof id <= about.st_size; at++)
        if (memcmp(bytes + at, id, sizeof id) == 0) memcpy(bytes + at + sizeof id - 3, (char[]){(char)('0' + number / 10), (char)('0' + number % 10)}, 2);
    demand(write(to, bytes, (size_t)about.st_size) == about.st_size, "a plugin can be written");
    free(bytes), close(from), close(to);
}
/* Of the host, and of the two processes of a plugin. */
static void isolated_memory(const char *name, enum way way) {
    treadle_plugin all[PLUGINS];
    double before = 0, children = 0;
    (void)way;
    live_in(treadle_loop_current());
    for (int i = 0; i < PLUGINS; i++) {
        char path[] = "/tmp/treadle-bench-XXXXXX";
        copy_plugin(i, path);
        load_from(path, TREADLE_PLUGIN_LOAD_ISOLATED);
        unlink(path);
        all[i] = plugin;
        long process = (long)functions->process();
        children += memory_of(process, false) + memory_of(parent_of(process), false);
        if (i == 0) before = memory_of(getpid(), true);
    }
    tell_part(name, "_host", (memory_of(getpid(), true) - before) / (PLUGINS - 1), "kB");
    tell_part(name, "_child", children / PLUGINS, "kB");
    for (int i = 0; i < PLUGINS; i++) end_plugin(all[i]);
}

const struct workload isolated_workloads[] = {
    {"isolated_call", isolated_call, WAY(BY_TREADLE) | WAY(DIRECTLY) | WAY(PLAINLY) | WAY(BY_HAND), false},
    {"isolated_call_2", isolated_call_2, WAY(BY_TREADLE) | WAY(PLAINLY) | WAY(BY_HAND), true},
    {"isolated_load", isolated_load, WAY(BY_TREADLE) | WAY(BY_HAND), false},
    {"isolated_crash", isolated_crash, WAY(BY_TREADLE), false},
    {"isolated_memory", isolated_memory, WAY(BY_TREADLE), false},
    {NULL, NULL, 0, false},
};
