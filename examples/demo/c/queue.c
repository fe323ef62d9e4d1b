/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * queue.c: a linked list under a lock. */
#include "queue.h"

#include "check.h"

void queue_init(struct queue *queue) {
    int error = pthread_mutex_init(&queue->lock, NULL);
    if (error) fail_system("make a lock", NULL, error);
    queue->first = NULL;
    queue->end = &queue->first;
}

void queue_put(struct queue *queue, struct message *message) {
    message->next = NULL;
    pthread_mutex_lock(&queue->lock);
    *queue->end = message;
    queue->end = &message->next;
    pthread_mutex_unlock(&queue->lock);
}

struct message *queue_take(struct queue *queue, size_t most, bool *more) {
    pthread_mutex_lock(&queue->lock);
    struct message *first = queue->first, **end = &first;
    while (*end && most-- > 0) end = &(*end)->next;
    queue->first = *end;
    *end = NULL;
    if (!queue->first) queue->end = &queue->first;
    *more = queue->first != NULL;
    pthread_mutex_unlock(&queue->lock);
    return first;
}

void queue_destroy(struct queue *queue) {
    pthread_mutex_destroy(&queue->lock);
}
