/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * task_queue.h: what a program adds to a library that can wake a loop but has no queue of tasks: a list under a
 * mutex. The library is asked to wake its loop when the list was empty. */
#ifndef TREADLE_BENCH_TASK_QUEUE_H
#define TREADLE_BENCH_TASK_QUEUE_H

#include "../bench.h"

#include <pthread.h>

struct queued_task {
    struct queued_task *next;
    task_fn fn;
    void *info;
};
struct task_queue {
    pthread_mutex_t mutex;
    struct queued_task *first, *last;
};

static inline void task_queue_init(struct task_queue *queue) {
    *queue = (struct task_queue){.first = NULL};
    pthread_mutex_init(&queue->mutex, NULL);
}

/* True if the loop must be woken. */
static inline bool task_queue_put(struct task_queue *queue, task_fn fn, void *info) {
    struct queued_task *task = malloc(sizeof *task);
    if (!task) abort();
    *task = (struct queued_task){NULL, fn, info};
    pthread_mutex_lock(&queue->mutex);
    bool was_empty = !queue->first;
    if (was_empty) queue->first = task;
    else queue->last->next = task;
    queue->last = task;
    pthread_mutex_unlock(&queue->mutex);
    return was_empty;
}

/* Runs all tasks that were in the queue when it began. */
static inline void task_queue_run(struct task_queue *queue) {
    pthread_mutex_lock(&queue->mutex);
    struct queued_task *task = queue->first;
    queue->first = NULL;
    pthread_mutex_unlock(&queue->mutex);
    while (task) {
        struct queued_task *next = task->next;
        task->fn(task->info);
        free(task);
        task = next;
    }
}

/* A library's object with the callback that belongs to it. The object comes first, so that one pointer serves both. */
#define WATCHER(type)                                                                                                  \
    struct watcher {                                                                                                   \
        type object;                                                                                                   \
        task_fn fn;                                                                                                    \
        void *info;                                                                                                    \
    };                                                                                                                 \
    static struct watcher *make_watcher(const struct callback *callback, void *info) {                                 \
        struct watcher *watcher = malloc(sizeof *watcher);                                                             \
        if (!watcher) abort();                                                                                         \
        watcher->fn = callback->plain;                                                                                 \
        watcher->info = info;                                                                                          \
        return watcher;                                                                                                \
    }

#endif
