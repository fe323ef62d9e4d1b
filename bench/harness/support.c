/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "support.h"

#include "processors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

bool is_quick, is_lived_in;
int loop_processor, other_processor;

void tell(const char *figure, double value, const char *unit) {
    printf("{\"figure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", figure, value, unit);
    fflush(stdout);
}

void tell_none(const char *figure, const char *reason) {
    printf("{\"figure\": \"%s\", \"none\": \"%s\"}\n", figure, reason);
    fflush(stdout);
}

void demand(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s: this does not hold: %s\n", library.name, what);
    _Exit(1); /* other threads may be at work */
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
uint64_t clock_ns(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t processor_ns(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

void sleep_until(uint64_t time) {
    struct timespec date = {.tv_sec = (time_t)(time / 1000000000u), .tv_nsec = (long)(time % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &date, NULL) == EINTR) {}
}

/* splitmix64: one addition and some mixing. */
uint64_t chance(void) {
    static uint64_t state;
    uint64_t mixed = state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

void shuffle(void **items, size_t count) {
    for (size_t left = count; left > 1; left--) {
        size_t chosen = chance() % left;
        void *last = items[left - 1];
        items[left - 1] = items[chosen];
        items[chosen] = last;
    }
}

static int compare(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}
double quantile(int64_t *values, size_t count, double part) {
    qsort(values, count, sizeof *values, compare);
    return (double)values[(size_t)(part * (double)(count - 1))];
}

void find_processors(void) {
    demand(two_processors(&loop_processor, &other_processor), "the system tells the allowed processors");
}
void bind_thread(int processor) { demand(bind_to(processor), "a thread can be bound to a processor"); }
void bind_for_library(int processor) {
    if (!library.has_own_threads) bind_thread(processor);
}

void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR) {}
}
void add_one(void *count) { ++*(size_t *)count; }
void stop_loop(void *loop) { library.loop_stop(loop); }

void *allocate(size_t count, size_t size) {
    void *memory = malloc(count * size);
    demand(memory != NULL, "there is memory");
    memset(memory, 1, count * size); /* zero might leave the pages away */
    memset(memory, 0, count * size);
    return memory;
}

CALLBACK(never);
static void never(void *info) {
    (void)info;
    demand(false, "what is idle is never called");
}
static void *stay_asleep(void *info) {
    for (;;) pause();
    return info;
}
static void start_sleeper(void) {
    pthread_t thread;
    demand(pthread_create(&thread, NULL, stay_asleep, NULL) == 0, "a thread can be made");
    pthread_detach(thread);
}

/* The process that measures may be a child of the one that began: each has its own. */
static pthread_once_t sleeper = PTHREAD_ONCE_INIT;
void *new_loop(void) {
    static const uint64_t hour = 3600000000000u;
    if (!is_lived_in) return library.loop_make();
    pthread_once(&sleeper, start_sleeper);
    void *loop = library.loop_make();
    if (library.timer_make) library.timer_make(loop, hour, TIMER_ONCE, &never_callback, NULL);
    if (library.source_make) library.source_make(loop, &never_callback, NULL);
    if (library.descriptor_make) {
        int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        demand(fd >= 0, "the limit of open descriptors suffices (ulimit -n)");
        library.descriptor_make(loop, fd, &never_callback, NULL);
    }
    return loop;
}

static void *host_main(void *info) {
    struct host *host = info;
    bind_for_library(host->processor);
    host->loop = new_loop();
    if (host->callback) host->source = library.source_make(host->loop, host->callback, host);
    sem_post(&host->is_ready);
    library.loop_run(host->loop);
    /* Whoever posted the stop may still be in that call. */
    wait_for(&host->may_be_freed);
    library.loop_free(host->loop);
    return NULL;
}

void host_start(struct host *host, int processor, const struct callback *callback) {
    *host = (struct host){.processor = processor, .callback = callback};
    sem_init(&host->is_ready, 0, 0);
    sem_init(&host->may_be_freed, 0, 0);
    demand(pthread_create(&host->thread, NULL, host_main, host) == 0, "a thread can be made");
    wait_for(&host->is_ready);
}

void host_stop(struct host *host) {
    library.post(host->loop, stop_loop, host->loop);
    sem_post(&host->may_be_freed);
    pthread_join(host->thread, NULL);
    sem_destroy(&host->is_ready);
    sem_destroy(&host->may_be_freed);
}
