/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * worker.h: the worker thread: a run loop with the command source, a timer and an observer. */
#ifndef DEMO_WORKER_H
#define DEMO_WORKER_H

#include <pthread.h>

#include "command_source.h"

/* The thread and what belongs to it. */
struct worker {
    /* Set before the start. */
    const struct command_client *client;
    struct queue *results;
    treadle_source results_source; /* in the client's loop */
    struct timeline timeline;

    /* The worker's own. */
    pthread_t thread;
    struct word_table words;
    treadle_source commands;
    treadle_timer heartbeat;
    uint64_t lines, lines_at_heartbeat;
    int64_t pause; /* between two heartbeats, now */
};

/* Starts the thread. It ends by itself once it handled the last command. */
void worker_start(struct worker *worker);
/* Waits until the thread is gone. */
void worker_join(struct worker *worker);
/* Frees the words, when the thread is gone. */
void worker_destroy(struct worker *worker);

#endif
