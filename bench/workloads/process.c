/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process.c: hello: the shortest program with a loop: it makes one, runs one task and ends. Its time from start to
 * end, its resident memory at the most, and the size of the libraries that it loads beside the C library's own. */
#include "../harness/support.h"
#include "one_loop.h"

#include <link.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char child_name[] = "-hello";

static int add_library(struct dl_phdr_info *info, size_t size, void *sum) {
    static const char *const always_there[] = {"/libc.so", "/libm.so", "/libpthread.so", "/ld-linux"};
    struct stat file;
    (void)size;
    for (size_t i = 0; i < sizeof always_there / sizeof *always_there; i++) {
        if (strstr(info->dlpi_name, always_there[i])) return 0;
    }
    if (info->dlpi_name[0] && stat(info->dlpi_name, &file) == 0) *(double *)sum += (double)file.st_size;
    return 0;
}

static void hello_child(void) {
    size_t performed = 0;
    run_one_task(&performed);
    demand(performed == 1, "the task runs once");
}

static void hello(void) {
    enum { MOST = 25 };
    int64_t taken[MOST], resident[MOST];
    size_t count = is_quick ? 3 : MOST;
    char *arguments[] = {(char *)library.name, "run", (char *)child_name, is_lived_in ? "host" : NULL, NULL};
    extern char **environ;
    for (size_t i = 0; i < count; i++) {
        pid_t child;
        int status;
        struct rusage usage;
        uint64_t before = clock_ns();
        demand(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0, "a process can be made");
        demand(wait4(child, &status, 0, &usage) == child, "a child can be waited for");
        taken[i] = (int64_t)(clock_ns() - before);
        resident[i] = usage.ru_maxrss;
        demand(status == 0, "the short program succeeds");
    }
    double libraries = 0;
    dl_iterate_phdr(add_library, &libraries);
    tell("hello_time", quantile(taken, count, 0.5) / 1e6, "ms");
    tell("hello_resident", quantile(resident, count, 0.5), "kB");
    tell("library_size", libraries / 1024, "kB");
}

const struct workload process_workloads[] = {
    {"hello", hello, NEEDS_LOOP | NEEDS_POST},
    {child_name, hello_child, NEEDS_LOOP | NEEDS_POST},
    {NULL, NULL, 0},
};
