/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * worker N...: a worker finds the Nth primes, in a table that grows and is its own; the main thread tells them. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

struct question {
    struct question *next;
    long n, answer;
};

/* Questions on their way to a loop, which is woken for them. */
struct mailbox {
    uv_mutex_t lock;
    uv_async_t arrived;
    struct question *first, **last;
    bool closed;
};

static struct mailbox to_worker, to_home;
static int missing;
static long *primes, found;

static void require(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "cannot %s\n", what);
    exit(1);
}

static void open_mailbox(struct mailbox *box, uv_loop_t *loop, uv_async_cb arrived) {
    box->last = &box->first;
    require(uv_mutex_init(&box->lock) == 0, "make a lock");
    require(uv_async_init(loop, &box->arrived, arrived) == 0, "make an async");
}

static void post(struct mailbox *box, struct question *question) {
    uv_mutex_lock(&box->lock);
    if (question != NULL) {
        question->next = NULL;
        *box->last = question;
        box->last = &question->next;
    } else {
        box->closed = true;
    }
    uv_mutex_unlock(&box->lock);
    require(uv_async_send(&box->arrived) == 0, "wake a loop");
}

static struct question *take(struct mailbox *box) {
    uv_mutex_lock(&box->lock);
    struct question *questions = box->first;
    box->first = NULL;
    box->last = &box->first;
    if (box->closed) uv_close((uv_handle_t *)&box->arrived, NULL);
    uv_mutex_unlock(&box->lock);
    return questions;
}

static int is_prime(long candidate) {
    for (long i = 0; i < found && primes[i] * primes[i] <= candidate; i++)
        if (candidate % primes[i] == 0) return 0;
    return 1;
}

/* On the main thread. */
static void tell(uv_async_t *async) {
    for (struct question *question = take(&to_home), *next; question != NULL; question = next) {
        next = question->next;
        printf("prime %ld: %ld\n", question->n, question->answer);
        free(question);
        if (--missing == 0) uv_close((uv_handle_t *)async, NULL);
    }
}

/* On the worker. */
static void answer(uv_async_t *async) {
    (void)async;
    for (struct question *question = take(&to_worker), *next; question != NULL; question = next) {
        next = question->next;
        if (question->n > found) require((primes = realloc(primes, question->n * sizeof *primes)) != NULL, "allocate");
        for (long candidate = found > 0 ? primes[found - 1] + 1 : 2; found < question->n; candidate++)
            if (is_prime(candidate)) primes[found++] = candidate;
        question->answer = primes[question->n - 1];
        post(&to_home, question);
    }
}

static void work(void *loop) { uv_run(loop, UV_RUN_DEFAULT); }

int main(int argc, char **argv) {
    uv_loop_t home, loop;
    uv_thread_t worker;
    require(uv_loop_init(&home) == 0 && uv_loop_init(&loop) == 0, "make loops");
    open_mailbox(&to_home, &home, tell);
    open_mailbox(&to_worker, &loop, answer);
    require(uv_thread_create(&worker, work, &loop) == 0, "start the worker");

    missing = argc - 1;
    for (int i = 1; i < argc; i++) {
        struct question *question = calloc(1, sizeof *question);
        require(question != NULL && (question->n = atol(argv[i])) > 0, "take the question");
        post(&to_worker, question);
    }
    if (missing == 0) uv_close((uv_handle_t *)&to_home.arrived, NULL);
    uv_run(&home, UV_RUN_DEFAULT);

    post(&to_worker, NULL);
    require(uv_thread_join(&worker) == 0, "join the worker");
    require(uv_loop_close(&loop) == 0 && uv_loop_close(&home) == 0, "close the loops");
    uv_mutex_destroy(&to_worker.lock);
    uv_mutex_destroy(&to_home.lock);
    free(primes);
    return 0;
}
