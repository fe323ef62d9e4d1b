/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * byhand.h: a call that is carried to another thread, as a program writes it for the one function that it needs: a
 * list under a mutex, an eventfd that wakes the thread's epoll, and a semaphore (a futex) for the answer. */
#ifndef TREADLE_BENCH_BYHAND_H
#define TREADLE_BENCH_BYHAND_H

#include "calls.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct hand_call {
    struct hand_call *next;
    struct five_arguments arguments;
    int64_t result;
    sem_t *is_done; /* NULL: nobody waits, and the call is on the heap */
};
struct hand_loop {
    pthread_mutex_t lock;
    struct hand_call *first, **last;
    bool is_stopped;
    int epoll, wake;
};

static void hand_make(struct hand_loop *loop) {
    *loop = (struct hand_loop){.lock = PTHREAD_MUTEX_INITIALIZER};
    loop->last = &loop->first;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    demand(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event) == 0, "there is an eventfd");
}
static void hand_free(struct hand_loop *loop) {
    close(loop->epoll);
    close(loop->wake);
}

/* Wakes the loop only for the first call: it takes all that are there. */
static void hand_send(struct hand_loop *loop, struct hand_call *call) {
    call->next = NULL;
    pthread_mutex_lock(&loop->lock);
    bool was_empty = loop->first == NULL;
    *loop->last = call;
    loop->last = &call->next;
    pthread_mutex_unlock(&loop->lock);
    if (was_empty) eventfd_write(loop->wake, 1);
}

/* Nobody waits. */
static void hand_post(struct hand_loop *loop, const struct five_arguments *given) {
    struct hand_call *call = malloc(sizeof *call);
    demand(call != NULL, "there is memory");
    call->arguments = *given;
    call->is_done = NULL;
    hand_send(loop, call);
}
static int64_t hand_call(struct hand_loop *loop, const struct five_arguments *given) {
    sem_t is_done;
    struct hand_call call = {.arguments = *given, .is_done = &is_done};
    sem_init(&is_done, 0, 0);
    hand_send(loop, &call);
    while (sem_wait(&is_done) != 0 && errno == EINTR) {}
    return call.result;
}

static void hand_stop(struct hand_loop *loop) {
    pthread_mutex_lock(&loop->lock);
    loop->is_stopped = true;
    pthread_mutex_unlock(&loop->lock);
    eventfd_write(loop->wake, 1);
}

static void hand_run(struct hand_loop *loop, five_fn *fn) {
    for (bool is_stopped = false; !is_stopped;) {
        struct epoll_event event;
        eventfd_t count;
        if (epoll_wait(loop->epoll, &event, 1, -1) < 1) continue;
        eventfd_read(loop->wake, &count);
        pthread_mutex_lock(&loop->lock);
        struct hand_call *call = loop->first;
        loop->first = NULL;
        loop->last = &loop->first;
        is_stopped = loop->is_stopped;
        pthread_mutex_unlock(&loop->lock);
        while (call) {
            struct hand_call *next = call->next; /* a call that is done may be gone */
            const struct five_arguments *given = &call->arguments;
            call->result = fn(given->object, given->count, given->weight, given->index, given->info);
            if (call->is_done) sem_post(call->is_done);
            else free(call);
            call = next;
        }
    }
}

#endif
