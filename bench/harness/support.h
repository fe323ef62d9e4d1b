/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * support.h: what the workloads share: clocks, chance, processors, counting, and how a figure is told. */
#ifndef TREADLE_BENCH_SUPPORT_H
#define TREADLE_BENCH_SUPPORT_H

#include "../bench.h"

#include <pthread.h>
#include <semaphore.h>

/* A quick run does a small part of the work: it checks the counts, and its figures mean nothing. */
extern bool is_quick;
static inline size_t amount(size_t full) { return is_quick ? full / 50 : full; }

/* The process is as that of a program which has run for a while: see new_loop. Set before the first loop is made. */
extern bool is_lived_in;

/* A figure, as a line of JSON on standard output. A unit that ends with "/s": more is better. */
void tell(const char *figure, double value, const char *unit);
/* The library works, but breaks a promise that the figure rests on: the reason takes the figure's place. */
void tell_none(const char *figure, const char *reason);
/* Something that must hold, such as a count. If it does not, the process ends without a figure. */
void demand(bool holds, const char *what);

uint64_t clock_ns(void);     /* CLOCK_MONOTONIC */
uint64_t processor_ns(void); /* the time that all threads of the process have spent on processors */
void sleep_until(uint64_t time);

/* The same numbers in every process. */
uint64_t chance(void);
/* Puts pointers into an order of chance. */
void shuffle(void **items, size_t count);

/* Sorts the values; the one below which `part` of them lie. */
double quantile(int64_t *values, size_t count, double part);

/* Where threads run decides what they cost each other, so that it is laid down: the loop's processor, and its
 * partner's. The two are the same where only one is allowed. */
extern int loop_processor, other_processor;
void find_processors(void);
void bind_thread(int processor);
/* bind_thread, unless the library has threads of its own, which would stay where they are. */
void bind_for_library(int processor);

/* A loop of the calling thread, as a workload gets it: a bare one; or, in a lived-in host, one that has a timer an hour
 * away, an idle descriptor and an idle source besides, in a process in which another thread runs already. */
void *new_loop(void);

/* A loop that runs on a thread of its own until it is stopped. */
struct host {
    void *loop;
    void *source; /* made if `callback` was given */
    pthread_t thread;
    int processor;
    const struct callback *callback;
    sem_t is_ready, may_be_freed;
};
void host_start(struct host *host, int processor, const struct callback *callback);
void host_stop(struct host *host);

void wait_for(sem_t *semaphore);
void add_one(void *count); /* a task: adds 1 to a size_t */
void stop_loop(void *loop);
void *allocate(size_t count, size_t size); /* filled with zero, and with its pages in memory */

/* One workload, under the name by which it is asked for. */
enum need {
    NEEDS_LOOP = 1,
    NEEDS_POST = 2,
    NEEDS_SOURCE = 4,
    NEEDS_TIMER = 8,
    NEEDS_MOVE = 16,
    NEEDS_DESCRIPTOR = 32,
    NEEDS_HOOK = 64,
    NEEDS_THREAD = 128,
    NEEDS_MANY_TIMERS = 256,
    NEEDS_TWO_PROCESSORS = 512
};
struct workload {
    const char *name; /* NULL ends a list */
    void (*run)(void);
    unsigned needs;
};

#endif
