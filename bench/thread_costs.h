/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_costs.h: what a thread of Treadle's costs beside a bare one of POSIX, as far as it can be counted: its
 * memory and its stack. The benchmark prints it, and a test holds it to its limits. */
#ifndef TREADLE_BENCH_THREAD_COSTS_H
#define TREADLE_BENCH_THREAD_COSTS_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <treadle.h>

/* The two ways, with the same stack: 512 KB, Treadle's default, which POSIX must be told. */
enum way { WAY_POSIX, WAY_TREADLE, WAY_COUNT };
static const char *const way_names[WAY_COUNT] = {"pthread", "treadle"};
#define STACK_SIZE 524288

/* One thread of either kind. */
struct either_thread {
    pthread_t pthread;
    treadle_thread thread;
};

__attribute__((noreturn)) static void cost_failed(const char *what, const char *why) {
    fprintf(stderr, "thread costs: cannot %s: %s\n", what, why);
    exit(1);
}
static inline void cost_require(treadle_status status, const char *what) {
    if (status < 0) cost_failed(what, treadle_status_name(status));
}
static inline void cost_check(int error, const char *what) {
    if (error) cost_failed(what, strerror(error));
}

/* The attributes of the POSIX threads: they can be made once, in advance. */
static pthread_attr_t cost_attributes;
__attribute__((constructor)) static void make_cost_attributes(void) {
    cost_check(pthread_attr_init(&cost_attributes), "make attributes");
    cost_check(pthread_attr_setstacksize(&cost_attributes, STACK_SIZE), "set a stack size");
}

static inline void start_either(enum way way, struct either_thread *either, void *(*run)(void *), void *info) {
    if (way == WAY_POSIX) {
        cost_check(pthread_create(&either->pthread, &cost_attributes, run, info), "make a thread");
        return;
    }
    const treadle_thread_config config = {.struct_size = sizeof config, .fn = run, .info = info};
    cost_require(treadle_thread_create(&config, &either->thread), "make a thread");
    cost_require(treadle_thread_start(either->thread), "start a thread");
}
static inline void join_either(enum way way, struct either_thread *either) {
    if (way == WAY_POSIX) {
        cost_check(pthread_join(either->pthread, NULL), "join a thread");
        return;
    }
    cost_require(treadle_thread_join(either->thread, TREADLE_FOREVER, NULL), "join a thread");
    cost_require(treadle_thread_release(either->thread), "release a thread");
}

/* A number that a file of the kernel has behind a name, in bytes; it tells it in kB. */
static inline double kernel_bytes(const char *file, const char *name) {
    char line[256];
    double kilobytes = -1;
    FILE *stream = fopen(file, "r");
    if (!stream) cost_failed("read the kernel's accounts", strerror(errno));
    while (kilobytes < 0 && fgets(line, sizeof line, stream)) {
        if (strncmp(line, name, strlen(name)) == 0) kilobytes = atof(line + strlen(name));
    }
    fclose(stream);
    if (kilobytes < 0) cost_failed("find in the kernel's accounts", name);
    return kilobytes * 1024;
}

/* The memory of the process, or the part of it that one thread costs. */
struct memory {
    double resident;     /* in the process: stack, thread-local data, objects */
    double page_tables;  /* in the kernel, for the process */
    double kernel_stack; /* in the kernel, for all processes: other ones disturb it */
    double address_room; /* reserved addresses: the stack in full */
};
static inline struct memory memory_now(void) {
    /* smaps_rollup counts the pages; the figures of statm and status are estimates. */
    return (struct memory){
        .resident = kernel_bytes("/proc/self/smaps_rollup", "Anonymous:"),
        .page_tables = kernel_bytes("/proc/self/status", "VmPTE:"),
        .kernel_stack = kernel_bytes("/proc/meminfo", "KernelStack:"),
        .address_room = kernel_bytes("/proc/self/status", "VmSize:"),
    };
}
static inline struct memory memory_share(struct memory before, struct memory after, int count) {
    return (struct memory){
        .resident = (after.resident - before.resident) / count,
        .page_tables = (after.page_tables - before.page_tables) / count,
        .kernel_stack = (after.kernel_stack - before.kernel_stack) / count,
        .address_room = (after.address_room - before.address_room) / count,
    };
}

struct idle {
    sem_t begun, end;
};
static void *idle_main(void *info) {
    struct idle *idle = info;
    sem_post(&idle->begun);
    while (sem_wait(&idle->end) != 0 && errno == EINTR) {}
    return NULL;
}

/* What each of `count` threads costs while all of them wait in their functions. */
static inline struct memory cost_of_idle_threads(enum way way, int count) {
    /* A huge page over the stacks of several threads would be neither one's cost. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    struct idle idle;
    struct either_thread *threads = malloc(sizeof *threads * (size_t)count);
    if (!threads) cost_failed("remember the threads", strerror(ENOMEM));
    memset(threads, 1, sizeof *threads * (size_t)count); /* has its pages before anything is counted */
    cost_check(sem_init(&idle.begun, 0, 0), "make a semaphore");
    cost_check(sem_init(&idle.end, 0, 0), "make a semaphore");
    /* The first thread of a process costs what it costs only once. */
    struct either_thread first;
    start_either(way, &first, idle_main, &idle);
    while (sem_wait(&idle.begun) != 0 && errno == EINTR) {}
    memory_now();

    struct memory before = memory_now();
    for (int i = 0; i < count; i++) start_either(way, &threads[i], idle_main, &idle);
    for (int i = 0; i < count; i++) {
        while (sem_wait(&idle.begun) != 0 && errno == EINTR) {}
    }
    struct memory after = memory_now();

    for (int i = 0; i <= count; i++) sem_post(&idle.end);
    for (int i = 0; i < count; i++) join_either(way, &threads[i]);
    join_either(way, &first);
    sem_destroy(&idle.begun);
    sem_destroy(&idle.end);
    free(threads);
    return memory_share(before, after, count);
}

static void *never_run(void *info) { return info; }

/* What each of `count` thread objects costs that were not started. */
static inline double cost_of_objects(int count) {
    treadle_thread *threads = malloc(sizeof *threads * (size_t)count);
    if (!threads) cost_failed("remember the threads", strerror(ENOMEM));
    memset(threads, 1, sizeof *threads * (size_t)count);
    const treadle_thread_config config = {.struct_size = sizeof config, .fn = never_run};
    treadle_thread first;
    cost_require(treadle_thread_create(&config, &first), "make a thread");
    struct memory before = memory_now();
    for (int i = 0; i < count; i++) {
        cost_require(treadle_thread_create(&config, &threads[i]), "make a thread");
    }
    struct memory after = memory_now();
    for (int i = 0; i < count; i++) cost_require(treadle_thread_release(threads[i]), "release a thread");
    cost_require(treadle_thread_release(first), "release a thread");
    free(threads);
    return memory_share(before, after, count).resident;
}

/* Stores the size of the calling thread's stack, as the C library knows it. */
static void *measure_stack(void *info) {
    pthread_attr_t attributes;
    void *address;
    cost_check(pthread_getattr_np(pthread_self(), &attributes), "ask for the stack");
    cost_check(pthread_attr_getstack(&attributes, &address, info), "ask for the stack");
    pthread_attr_destroy(&attributes);
    return NULL;
}
static inline size_t stack_of_thread(enum way way) {
    size_t size = 0;
    struct either_thread either;
    start_either(way, &either, measure_stack, &size);
    join_either(way, &either);
    return size;
}

#endif
