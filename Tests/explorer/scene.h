/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scene.h: what a scene of the explorer is written with.
 *
 * A scene is a function that starts a few threads, lets them use the library, and joins them. The explorer calls it once for
 * each schedule. Threads are fibers here: one runs at a time, and each atomic operation, lock and kernel call is a place where
 * another may go on instead. Time is virtual: it passes when the clock is read and while all threads wait. */
#ifndef SCENE_H
#define SCENE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <treadle.h>

/* Registers a scene. RULES: those that it proves. */
#define SCENE(NAME, RULES) REGISTERED(NAME, RULES, NULL)
/* Registers a scene with a fault that the explorer must find. MESSAGE: how what it says begins. */
#define FAULT(NAME, MESSAGE) REGISTERED(NAME, NULL, MESSAGE)
#define REGISTERED(NAME, RULES, MESSAGE)                                                                               \
    static void NAME(void);                                                                                            \
    static struct scene_entry NAME##_entry = {#NAME, RULES, MESSAGE, NAME, NULL};                                      \
    __attribute__((constructor)) static void NAME##_register(void) { scene_register(&NAME##_entry); }                  \
    static void NAME(void)
struct scene_entry {
    const char *name, *rules;
    const char *fault; /* how the message begins with which it fails; NULL: it must not fail */
    void (*body)(void);
    struct scene_entry *next;
};
void scene_register(struct scene_entry *entry);

/* From here on schedules differ. Before, a thread runs until it waits. */
void explore_from_here(void);

/* A thread of the scene; its result is joined by pthread_join. */
pthread_t start(void *(*body)(void *), void *argument);
void join(pthread_t thread);
/* Two threads that do the same. */
struct two {
    pthread_t first, second;
};
static inline struct two start_two(void *(*body)(void *), void *argument) {
    return (struct two){.first = start(body, argument), .second = start(body, argument)};
}
static inline void join_two(struct two threads) {
    join(threads.first);
    join(threads.second);
}

/* Whether it is as if each thread ran on a processor of its own, so that loops wait awake for those of others. */
void give_each_thread_a_processor(bool have);

/* From here on time passes while all threads wait, and not when the clock is read: what is due is due at exactly its date. */
void stop_the_clock(void);

/* One of so many ways to go on, from 0, at most 8: another in each schedule, by turns or by chance. Where schedules differ alone. */
int choose_one_of(int count);

/* The system has no room for the next so many threads. */
void refuse_threads(int number);

/* From here on calls of the kernel may fail, one in a schedule, or two. */
enum {
    INTERRUPTIONS = 1, /* waits end by a signal's handler or without a reason */
    SHORTAGES = 2,     /* there is no descriptor, or no memory in the kernel */
    REFUSALS = 4,      /* barriers are refused, from that one on: a filter of system calls may come at any time */
    DELAYS = 8,        /* a sleep ends while other threads have no processor, wherever they are */
    NO_MEMORY = 16,    /* the process has none for the library */
    FULL_SOCKETS = 32  /* a socket has no room for more messages than are on their way, then and for good */
};
void let_the_kernel_fail(uint32_t how);

/* There are no files in memory from here on: message ports go by their sockets alone, without a ring. */
void refuse_memory_files(void);
/* From here on each socket that was accepted has room for so many messages that are not received yet. */
void leave_accepted_sockets_room(int messages);

/* How many pieces of memory are allocated and not freed. */
long pieces_in_use(void);

/* From here on this is the child of a fork: the other threads are gone, wherever they were. The scene ends in the child. */
void become_child(void);

/* An event that one thread sets and others wait for. It orders what was written before. All zeros: not set. */
struct event {
    int is_set;
};
void set(struct event *event);
void await(struct event *event);

/* Ends the schedule as failed. */
#define REQUIRE(CONDITION)                                                                                             \
    do {                                                                                                               \
        if (!(CONDITION)) scene_fail(#CONDITION, __FILE__, __LINE__);                                                  \
    } while (0)
_Noreturn void scene_fail(const char *condition, const char *file, int line);
#define REQUIRE_OK(STATUS) REQUIRE((STATUS) == TREADLE_OK)

/* A counter of callbacks that orders nothing, so that it hides no missing order of the library's. */
typedef _Atomic int counter;
static inline int count(counter *n) { return atomic_fetch_add_explicit(n, 1, memory_order_relaxed) + 1; }
static inline int counted(counter *n) { return atomic_load_explicit(n, memory_order_relaxed); }

#endif
