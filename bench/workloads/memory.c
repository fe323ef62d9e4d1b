/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * memory.c: how much memory of its own the process has with a fresh loop, and how much more with each timer, source
 * and descriptor that waits in it. */
#include "../harness/support.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

CALLBACK(never);
static void never(void *info) { add_one(info); }

/* The pages that no file stands behind, in bytes. */
static double own_memory(void) {
    static const char key[] = "Anonymous:";
    char line[256];
    double kilobytes = -1;
    FILE *account = fopen("/proc/self/smaps_rollup", "r");
    demand(account != NULL, "the kernel tells what memory the process has");
    while (kilobytes < 0 && fgets(line, sizeof line, account)) {
        if (strncmp(line, key, sizeof key - 1) == 0) kilobytes = strtod(line + sizeof key - 1, NULL);
    }
    fclose(account);
    demand(kilobytes >= 0, "the kernel's account has a line for anonymous memory");
    return kilobytes * 1024;
}

static void memory(void) {
    enum { ITEMS = 8000 };
    static size_t called;
    size_t items = is_quick ? ITEMS / 16 : ITEMS, timers = amount(100000);
    if (library.most_timers && library.most_timers < timers) timers = library.most_timers;
    own_memory(); /* what the first look takes is no cost of the library's */

    void *loop = new_loop();
    double before = own_memory();
    tell("mem_loop", before / 1024, "kB");
    for (size_t i = 0; i < timers; i++) {
        uint64_t after = (1000 + chance() % 1000) * 1000000000u;
        library.timer_make(loop, after, TIMER_ONCE, &never_callback, &called);
    }
    tell("mem_timer", (own_memory() - before) / (double)timers, "B");
    if (library.source_make) {
        before = own_memory();
        for (size_t i = 0; i < items; i++) library.source_make(loop, &never_callback, &called);
        tell("mem_source", (own_memory() - before) / (double)items, "B");
    }
    if (library.descriptor_make) {
        int *fds = allocate(items, sizeof *fds);
        for (size_t i = 0; i < items; i++) {
            fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
            demand(fds[i] >= 0, "the limit of open descriptors suffices (ulimit -n)");
        }
        before = own_memory();
        for (size_t i = 0; i < items; i++) library.descriptor_make(loop, fds[i], &never_callback, &called);
        tell("mem_descriptor", (own_memory() - before) / (double)items, "B");
    }
    demand(called == 0, "nothing calls back");
}

const struct workload memory_workloads[] = {
    {"memory", memory, NEEDS_LOOP | NEEDS_TIMER},
    {NULL, NULL, 0},
};
