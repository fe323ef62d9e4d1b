/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * One program for each library:
 *
 *   PROGRAM list                      its name and role, then the workloads that it can do, a line each
 *   PROGRAM run WORKLOAD [quick] [host]
 *                                     does one; prints a line of JSON for each figure (support.h) */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

extern const struct workload posting_workloads[], waking_workloads[], timer_workloads[], date_workloads[],
    descriptor_workloads[], pass_workloads[], thread_workloads[], memory_workloads[], process_workloads[],
    scale_workloads[];

static const struct workload *const all_workloads[] = {
    posting_workloads, waking_workloads, timer_workloads,  date_workloads,    descriptor_workloads,
    pass_workloads,    thread_workloads, memory_workloads, process_workloads, scale_workloads,
};
enum { LISTS = sizeof all_workloads / sizeof *all_workloads, MOST_DESCRIPTORS = 110000 };

static unsigned offered(void) {
    return (library.loop_make ? NEEDS_LOOP : 0u) | (library.post ? NEEDS_POST : 0u) |
           (library.source_make ? NEEDS_SOURCE : 0u) | (library.timer_make ? NEEDS_TIMER : 0u) |
           (library.timer_move ? NEEDS_MOVE : 0u) | (library.descriptor_make ? NEEDS_DESCRIPTOR : 0u) |
           (library.hook_make ? NEEDS_HOOK : 0u) | (library.thread_start ? NEEDS_THREAD : 0u) |
           (library.most_timers ? 0u : NEEDS_MANY_TIMERS) |
           (loop_processor != other_processor ? NEEDS_TWO_PROCESSORS : 0u);
}

/* A program that watches thousands of descriptors raises its limit first: beyond the hard one if it may. */
static void allow_descriptors(void) {
    struct rlimit limit = {.rlim_cur = MOST_DESCRIPTORS, .rlim_max = MOST_DESCRIPTORS};
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int count, char **arguments) {
    static const char *const roles[] = {"peer", "floor", "own"};
    find_processors();
    bool is_list = count == 2 && strcmp(arguments[1], "list") == 0;
    const char *wanted = count >= 3 && strcmp(arguments[1], "run") == 0 ? arguments[2] : NULL;
    for (int i = 3; i < count; i++) {
        is_quick |= strcmp(arguments[i], "quick") == 0;
        is_lived_in |= strcmp(arguments[i], "host") == 0;
    }
    if (is_list) printf("%s %s\n", library.name, roles[library.role]);
    allow_descriptors();
    for (size_t list = 0; list < LISTS; list++) {
        for (const struct workload *workload = all_workloads[list]; workload->name; workload++) {
            if (workload->needs & ~offered()) continue;
            if (is_list && workload->name[0] != '-') puts(workload->name);
            if (wanted && strcmp(workload->name, wanted) == 0) {
                workload->run();
                return 0;
            }
        }
    }
    if (is_list) return 0;
    fprintf(stderr, "usage: %s list | run WORKLOAD [quick] [host]; this library has no such workload\n", library.name);
    return 2;
}
