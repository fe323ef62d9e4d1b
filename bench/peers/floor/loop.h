/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loop.h: what can hardly be done with less: bare epoll and an eventfd, written for this benchmark alone: no checks,
 * no modes, no removal from another thread. FLOOR_SPIN_NS is how long a loop, or a thread that waits for one, looks
 * for work before it sleeps if its partner was last on another processor. */
#include "inbox.h"
#include "timers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_EVENTS = 256, MOST_HOOKS = 8, SMALL_BATCH = 64, SHORT_PAUSE = 20 };

struct loop {
    struct inbox inbox;
    _Alignas(64) struct tasks spare;
    atomic_int processor; /* the loop's own, plus 1 */
    int epoll, wake;
    bool is_stopped;
    size_t descriptors, hooks_count;
    struct task hooks[MOST_HOOKS];
    struct timers timers;
};
static _Thread_local struct loop *running_loop;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *make_loop(void) {
    struct loop *loop = aligned_alloc(64, sizeof *loop);
    if (!loop) abort();
    memset(loop, 0, sizeof *loop);
    loop->timers.present = now() >> GRAIN;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    /* By edge, so that nobody needs to read it. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event);
    prctl(PR_SET_TIMERSLACK, 1);
    return loop;
}
static void stop(void *loop) { ((struct loop *)loop)->is_stopped = true; }
static void free_loop(void *info) {
    struct loop *loop = info;
    close(loop->epoll);
    close(loop->wake);
    free(loop->inbox.waiting.items);
    free(loop->spare.items);
    free(loop->timers.heap);
    free(loop);
}

static void post(void *info, task_fn fn, void *argument) {
    struct loop *loop = info;
    bool is_stranger = running_loop != loop;
    if (FLOOR_SPIN_NS && is_stranger) {
        atomic_store_explicit(&loop->inbox.caller, sched_getcpu() + 1, memory_order_relaxed);
    }
    if (inbox_put(&loop->inbox, fn, argument, is_stranger)) eventfd_write(loop->wake, 1);
}

/* A loop that is as quick as its callers would take every task alone, and pay for the way between two processors each
 * time: after a small batch it lets the next one grow for a moment. */
static void run_tasks(struct loop *loop) {
    bool has_strangers;
    if (!inbox_has_tasks(&loop->inbox)) return;
    struct tasks batch = inbox_take(&loop->inbox, loop->spare, &has_strangers);
    for (size_t i = 0; i < batch.count; i++) batch.items[i].fn(batch.items[i].info);
    loop->spare = batch;
    if (!has_strangers || batch.count >= SMALL_BATCH || !inbox_has_tasks(&loop->inbox)) return;
    for (int i = 0; i < SHORT_PAUSE; i++) pause_processor();
}

static void run_timers(struct loop *loop) {
    struct timer *timer = timers_first(&loop->timers);
    if (!timer) return;
    for (uint64_t time = now(); timer && timer->date <= time && !loop->is_stopped; timer = timers_first(&loop->timers)) {
        timers_remove(&loop->timers, timer);
        if (timer->interval) {
            timer->date += timer->interval;
            timers_insert(&loop->timers, timer);
        }
        timer->fn(timer->info);
    }
}

/* Looks for a task, if the last one came from another processor: on this one nobody can post meanwhile. */
static bool spin(struct loop *loop) {
    if (!FLOOR_SPIN_NS) return false;
    int own = sched_getcpu() + 1, caller = atomic_exchange(&loop->inbox.caller, 0);
    atomic_store_explicit(&loop->processor, own, memory_order_relaxed);
    if (caller == 0 || caller == own) return false;
    for (uint64_t end = now() + FLOOR_SPIN_NS; now() < end; pause_processor()) {
        if (inbox_has_tasks(&loop->inbox)) return true;
    }
    return false;
}

static void ask_kernel(struct loop *loop, bool may_sleep) {
    struct epoll_event events[MOST_EVENTS];
    struct timespec left = {0, 0}, *timeout = &left;
    if (may_sleep) {
        struct timer *first = timers_first(&loop->timers);
        uint64_t time = first ? now() : 0;
        if (!first) timeout = NULL;
        else if (first->date > time) {
            left.tv_sec = (time_t)((first->date - time) / 1000000000u);
            left.tv_nsec = (long)((first->date - time) % 1000000000u);
        }
    }
    int count = epoll_pwait2(loop->epoll, events, MOST_EVENTS, timeout, NULL);
    if (may_sleep && loop->inbox.is_sleeping) inbox_wakes_up(&loop->inbox);
    for (int i = 0; i < count; i++) {
        struct task *ready = events[i].data.ptr;
        if (ready) ready->fn(ready->info);
    }
}

static void run(void *info) {
    struct loop *loop = info;
    running_loop = loop;
    loop->is_stopped = false;
    while (!loop->is_stopped) {
        for (size_t i = 0; i < loop->hooks_count; i++) loop->hooks[i].fn(loop->hooks[i].info);
        run_tasks(loop);
        run_timers(loop);
        if (loop->is_stopped) break;
        bool is_busy = inbox_has_tasks(&loop->inbox) || spin(loop);
        if (is_busy && loop->descriptors == 0) continue; /* what the kernel could tell is known */
        ask_kernel(loop, !is_busy && inbox_falls_asleep(&loop->inbox));
    }
    running_loop = NULL;
}

/* Waits for one word on the caller's own stack. */
enum { IS_OPEN, IS_DONE, HAS_SLEEPER };
struct call {
    atomic_int state;
    task_fn fn;
    void *info;
};
static void make_call(void *info) {
    struct call *call = info;
    call->fn(call->info);
    /* Once it is done the word may be gone; the kernel only compares its address. */
    if (atomic_exchange(&call->state, IS_DONE) == HAS_SLEEPER) {
        syscall(SYS_futex, &call->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}
static void perform_and_wait(void *info, task_fn fn, void *argument) {
    struct loop *loop = info;
    struct call call = {.state = IS_OPEN, .fn = fn, .info = argument};
    post(loop, make_call, &call);
    if (FLOOR_SPIN_NS && atomic_load_explicit(&loop->processor, memory_order_relaxed) != sched_getcpu() + 1) {
        for (uint64_t end = now() + FLOOR_SPIN_NS; now() < end; pause_processor()) {
            if (atomic_load_explicit(&call.state, memory_order_acquire) == IS_DONE) return;
        }
    }
    int open = IS_OPEN;
    if (!atomic_compare_exchange_strong(&call.state, &open, HAS_SLEEPER)) return;
    while (atomic_load(&call.state) != IS_DONE) {
        syscall(SYS_futex, &call.state, FUTEX_WAIT_PRIVATE, HAS_SLEEPER, NULL, NULL, 0);
    }
}

/* A source that is signalled is a task. Setting the mark is always an exchange: after a plain look, what the caller has
 * written before could reach the loop too late. */
struct source {
    atomic_int is_signalled;
    task_fn fn;
    void *info;
};
static void perform_source(void *info) {
    struct source *source = info;
    atomic_exchange(&source->is_signalled, 0);
    source->fn(source->info);
}
static void *make_source(void *loop, const struct callback *callback, void *info) {
    (void)loop;
    struct source *source = malloc(sizeof *source);
    if (!source) abort();
    *source = (struct source){.fn = callback->plain, .info = info};
    return source;
}
static void signal_source(void *loop, void *info) {
    struct source *source = info;
    if (!atomic_exchange(&source->is_signalled, 1)) post(loop, perform_source, source);
}
