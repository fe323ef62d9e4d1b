/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * inbox.h: the floor's queue of tasks: an array under a spinning lock, which the loop exchanges for an empty one.
 * Whether the loop sleeps is kept under the same lock, so that it is woken once a sleep, and never in vain. */
#ifndef TREADLE_BENCH_FLOOR_INBOX_H
#define TREADLE_BENCH_FLOOR_INBOX_H

#include "../../bench.h"

#include <sched.h>
#include <stdatomic.h>

struct task {
    task_fn fn;
    void *info;
};
struct tasks {
    struct task *items;
    size_t count, room;
};
struct inbox {
    _Alignas(64) atomic_int lock;
    bool is_sleeping, has_strangers; /* a task of another thread is waiting */
    atomic_size_t count;
    struct tasks waiting;
    atomic_int caller; /* the processor of the last caller from another thread, plus 1; 0: none */
};

static inline void pause_processor(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

static inline void inbox_lock(struct inbox *inbox) {
    unsigned tries = 0;
    while (atomic_exchange_explicit(&inbox->lock, 1, memory_order_acquire)) {
        while (atomic_load_explicit(&inbox->lock, memory_order_relaxed)) {
            if (++tries % 128 == 0) sched_yield(); /* whoever holds it may have lost its processor */
            else pause_processor();
        }
    }
}
static inline void inbox_unlock(struct inbox *inbox) {
    atomic_store_explicit(&inbox->lock, 0, memory_order_release);
}

/* True if the loop sleeps and the caller must wake it. */
static inline bool inbox_put(struct inbox *inbox, task_fn fn, void *info, bool is_stranger) {
    inbox_lock(inbox);
    struct tasks *waiting = &inbox->waiting;
    if (waiting->count == waiting->room) {
        waiting->room = waiting->room ? 2 * waiting->room : 64;
        waiting->items = realloc(waiting->items, waiting->room * sizeof *waiting->items);
        if (!waiting->items) abort();
    }
    waiting->items[waiting->count++] = (struct task){fn, info};
    atomic_store_explicit(&inbox->count, waiting->count, memory_order_relaxed);
    bool must_wake = inbox->is_sleeping;
    inbox->is_sleeping = false;
    if (is_stranger) inbox->has_strangers = true;
    inbox_unlock(inbox);
    return must_wake;
}

static inline bool inbox_has_tasks(struct inbox *inbox) {
    return atomic_load_explicit(&inbox->count, memory_order_relaxed) != 0;
}

/* Takes all tasks and leaves `empty` in their place. */
static inline struct tasks inbox_take(struct inbox *inbox, struct tasks empty, bool *has_strangers) {
    inbox_lock(inbox);
    struct tasks taken = inbox->waiting;
    empty.count = 0;
    inbox->waiting = empty;
    atomic_store_explicit(&inbox->count, 0, memory_order_relaxed);
    *has_strangers = inbox->has_strangers;
    inbox->has_strangers = false;
    inbox_unlock(inbox);
    return taken;
}

/* False if there are tasks, and the loop must not sleep. */
static inline bool inbox_falls_asleep(struct inbox *inbox) {
    inbox_lock(inbox);
    bool falls = inbox->waiting.count == 0;
    inbox->is_sleeping = falls;
    inbox_unlock(inbox);
    return falls;
}
static inline void inbox_wakes_up(struct inbox *inbox) {
    inbox_lock(inbox);
    inbox->is_sleeping = false;
    inbox_unlock(inbox);
}

#endif
