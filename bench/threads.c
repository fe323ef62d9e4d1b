/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * threads.c: what a thread of Treadle's costs beside a bare one of POSIX (THR-22).
 *
 *   threads memory pthread|treadle COUNT    what each of COUNT idle threads costs; in a process of its own, since
 *                                           the C library keeps the stacks of earlier threads
 *   threads object COUNT                    what a thread object costs that was not started
 *   threads stack pthread|treadle           the size of the stack
 *   threads time COUNT                      COUNT threads of each kind in turn, one at a time: medians
 *
 * Prints lines of "FIGURE WAY NUMBER", in bytes and nanoseconds. scripts and people use run-threads. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "thread_costs.h"

#include <stdint.h>
#include <time.h>

static int64_t clock_now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void print(const char *figure, enum way way, double number) {
    printf("%s %s %.0f\n", figure, way_names[way], number);
}

static int compare(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}
static double median(int64_t *numbers, int count) {
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    return ((double)numbers[(count - 1) / 2] + (double)numbers[count / 2]) / 2;
}

static void *stamp(void *info) {
    *(int64_t *)info = clock_now(CLOCK_MONOTONIC);
    return NULL;
}

/* start: from before the first call, which makes the thread, to its function's first instruction. whole: to the
 * end of the last call, after which nothing is left of it. cpu: what the whole costs all processors. */
struct times {
    int64_t *start, *whole, *cpu;
};
static void time_one(enum way way, struct times *times, int index) {
    struct either_thread either;
    int64_t begun = 0;
    int64_t cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID), before = clock_now(CLOCK_MONOTONIC);
    start_either(way, &either, stamp, &begun);
    join_either(way, &either);
    int64_t after = clock_now(CLOCK_MONOTONIC);
    times->cpu[index] = clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    times->start[index] = begun - before;
    times->whole[index] = after - before;
}

static int64_t *numbers(int count) {
    int64_t *memory = calloc((size_t)count, sizeof *memory);
    if (!memory) cost_failed("remember the times", strerror(ENOMEM));
    return memory;
}

static void time_threads(int count) {
    struct times times[WAY_COUNT];
    for (int way = 0; way < WAY_COUNT; way++) {
        times[way] = (struct times){.start = numbers(count), .whole = numbers(count), .cpu = numbers(count)};
    }
    for (int warm = 0; warm < 20; warm++) {
        for (int way = 0; way < WAY_COUNT; way++) time_one((enum way)way, &times[way], 0);
    }
    /* In turn, and in either order, so that a busy neighbour hits both alike. */
    for (int i = 0; i < count; i++) {
        int first = i & 1;
        time_one((enum way)first, &times[first], i);
        time_one((enum way)!first, &times[!first], i);
    }
    for (int way = 0; way < WAY_COUNT; way++) {
        print("start_ns", (enum way)way, median(times[way].start, count));
        print("whole_ns", (enum way)way, median(times[way].whole, count));
        print("cpu_ns", (enum way)way, median(times[way].cpu, count));
        free(times[way].start);
        free(times[way].whole);
        free(times[way].cpu);
    }
}

static enum way way_named(const char *name) {
    return strcmp(name, way_names[WAY_TREADLE]) == 0 ? WAY_TREADLE : WAY_POSIX;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    int number = count > 2 ? atoi(arguments[count - 1]) : 0;
    if (strcmp(what, "memory") == 0 && count == 4 && number > 0) {
        enum way way = way_named(arguments[2]);
        struct memory cost = cost_of_idle_threads(way, number);
        print("resident", way, cost.resident);
        print("page_tables", way, cost.page_tables);
        print("kernel_stack", way, cost.kernel_stack);
        print("address_room", way, cost.address_room);
    } else if (strcmp(what, "object") == 0 && count == 3 && number > 0) {
        print("object", WAY_TREADLE, cost_of_objects(number));
    } else if (strcmp(what, "stack") == 0 && count == 3) {
        print("stack", way_named(arguments[2]), (double)stack_of_thread(way_named(arguments[2])));
    } else if (strcmp(what, "time") == 0 && count == 3 && number > 0) {
        time_threads(number);
    } else {
        fprintf(stderr, "usage: threads memory pthread|treadle COUNT, object COUNT, stack pthread|treadle, time COUNT\n");
        return 2;
    }
    return 0;
}
