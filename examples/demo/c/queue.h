/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * queue.h: messages between two threads, in order, under a lock. It wakes nobody: sources do that. */
#ifndef DEMO_QUEUE_H
#define DEMO_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The first member of everything that is put into a queue. */
struct message {
    struct message *next;
};

/* A list and its lock. */
struct queue {
    pthread_mutex_t lock;
    struct message *first, **end;
};

/* Makes it empty. */
void queue_init(struct queue *queue);
/* Adds a message at the end; it is the taker's to free. */
void queue_put(struct queue *queue, struct message *message);
/* The oldest messages, at most so many of them, and whether there are more; NULL if there are none. One
 * lock for many messages is what makes coalesced signals worth having. */
struct message *queue_take(struct queue *queue, size_t most, bool *more);
/* Gives the lock back; the queue must be empty. */
void queue_destroy(struct queue *queue);

#endif
