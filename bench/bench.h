/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * bench.h: the table of operations that stands between a library and the workloads. A file of peers/ fills it in,
 * the files of workloads/ use it, and so every library does the same counted work. An operation that a library
 * does not have stays NULL, and the workloads that need it leave that library out. */
#ifndef TREADLE_BENCH_H
#define TREADLE_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef void (*task_fn)(void *info);

/* One callback in each of the shapes in which libraries call one, so that a library that hands out one pointer needs
 * no function and no allocation in between: a program would have written the shape that its library wants. */
struct callback {
    void (*plain)(void *info);
    void (*item)(void *item, void *info);
    void (*value)(void *item, uint32_t value, void *info);
};

/* Declares a function of one argument, and FUNCTION_callback with all its shapes. */
#define CALLBACK(function)                                                                                             \
    static void function(void *info);                                                                                  \
    static void function##_of_item(void *item, void *info) {                                                           \
        (void)item;                                                                                                    \
        function(info);                                                                                                \
    }                                                                                                                  \
    static void function##_of_value(void *item, uint32_t value, void *info) {                                          \
        (void)item, (void)value;                                                                                       \
        function(info);                                                                                                \
    }                                                                                                                  \
    static const struct callback function##_callback = {function, function##_of_item, function##_of_value}

/* A one-shot; and one that its callback may set again. In some libraries these are two different things. */
#define TIMER_ONCE 0u
#define TIMER_MOVED UINT64_MAX

/* What a floor lacks is no fault, and nobody competes with it. */
enum role { ROLE_PEER, ROLE_FLOOR, ROLE_OWN };

struct operations {
    const char *name;
    enum role role;
    bool has_own_threads;   /* its callbacks run on threads of its own, which nobody can bind to a processor */
    bool fires_unattended;  /* its timers fire also while nobody runs the loop */
    bool reads_descriptors; /* it has read an eventfd before it calls */
    size_t most_timers;     /* with more of them at a time it takes minutes; 0: no limit */
    uint64_t oldest_now_ns; /* so long ago may be what it counts a delay from, while nobody runs the loop */

    /* A loop belongs to the thread that made it, and may be run again after it was stopped. loop_stop is called by
     * a callback of that loop. */
    void *(*loop_make)(void);
    void (*loop_run)(void *loop);
    void (*loop_stop)(void *loop);
    void (*loop_free)(void *loop);

    /* Runs fn(info) once on the loop, in the order of the calls of one thread. Called on any thread. */
    void (*post)(void *loop, task_fn fn, void *info);
    /* The same, and returns when fn has. Called on a thread that runs no loop. */
    void (*perform_and_wait)(void *loop, task_fn fn, void *info);

    /* A source calls back after it was signalled, once for several signals. source_signal: any thread. */
    void *(*source_make)(void *loop, const struct callback *callback, void *info);
    void (*source_signal)(void *loop, void *source);

    /* A timer. every_ns: TIMER_ONCE, TIMER_MOVED, or an interval. timer_move sets one that does not repeat to a new
     * delay; one of TIMER_MOVED also in its own callback. timer_free is called once for each, fired or not. */
    void *(*timer_make)(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info);
    void (*timer_move)(void *loop, void *timer, uint64_t after_ns);
    void (*timer_free)(void *loop, void *timer);

    /* Calls back while a descriptor can be read. */
    void *(*descriptor_make)(void *loop, int fd, const struct callback *callback, void *info);
    void (*descriptor_free)(void *loop, void *descriptor);

    /* An observer: calls back once in every pass of the loop. */
    void (*hook_make)(void *loop, const struct callback *callback, void *info);

    /* Where these are NULL, a workload that needs a thread for a loop takes a bare one of POSIX. */
    void *(*thread_start)(void *(*run)(void *info), void *info);
    void (*thread_join)(void *thread);
};

/* The one library that this program measures. */
extern const struct operations library;

#endif
