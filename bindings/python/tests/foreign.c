/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * foreign.c: threads that Python did not make, for the tests of the Python package. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include <treadle.h>

struct foreign {
    pthread_t thread;
    treadle_loop loop;
    treadle_source keeper;
    sem_t ready;
    int32_t result;
};

static void *run(void *argument) {
    struct foreign *self = argument;
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    self->loop = treadle_loop_current();
    treadle_loop_retain(self->loop);
    treadle_source_create(&context, &self->keeper);
    treadle_loop_add_source(self->loop, self->keeper, TREADLE_DEFAULT_MODE);
    sem_post(&self->ready);
    self->result = treadle_loop_run(self->loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    return NULL;
}

/* Starts a thread that runs its loop until it is stopped. */
struct foreign *foreign_start(void) {
    struct foreign *self = calloc(1, sizeof *self);
    if (!self || sem_init(&self->ready, 0, 0) || pthread_create(&self->thread, NULL, run, self)) abort();
    sem_wait(&self->ready);
    return self;
}

treadle_loop foreign_loop(struct foreign *self) { return self->loop; }

/* Ends the thread and returns what its run returned. */
int32_t foreign_stop(struct foreign *self) {
    treadle_loop_request_stop(self->loop, 0);
    pthread_join(self->thread, NULL);
    int32_t result = self->result;
    treadle_loop_release(self->loop);
    treadle_source_release(self->keeper);
    sem_destroy(&self->ready);
    free(self);
    return result;
}

static void *signal_for_ever(void *argument) {
    for (;;) treadle_source_signal_and_wake(argument);
    return NULL;
}

/* A thread that signals a source until the process ends. */
void foreign_signal_for_ever(treadle_source source) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, signal_for_ever, source)) abort();
    pthread_detach(thread);
}

static void *touch(void *argument) {
    (void)argument;
    treadle_loop_current();
    return NULL;
}

/* Threads, one after the other, that touch their loop and exit. */
void foreign_touch_many(int count) {
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, touch, NULL)) abort();
        pthread_join(thread, NULL);
    }
}

/* Threads that call a function pointer, with a running number each. */
typedef int32_t (*number_fn)(int32_t);
struct callers {
    pthread_t threads[8];
    int count;
    number_fn function;
    _Atomic int is_over;
    _Atomic int64_t calls, wrong; /* wrong: neither the number plus 1, nor the default, -1 */
    _Atomic int64_t defaults;
};

static void *call_until_over(void *argument) {
    struct callers *self = argument;
    for (int32_t number = 0; !self->is_over; number = (number + 1) % 1000) {
        int32_t result = self->function(number);
        self->calls++;
        if (result == -1) self->defaults++;
        else if (result != number + 1) self->wrong++;
    }
    return NULL;
}

struct callers *foreign_callers_start(number_fn function, int count) {
    struct callers *self = calloc(1, sizeof *self);
    if (!self || count > 8) abort();
    self->function = function;
    self->count = count;
    for (int i = 0; i < count; i++)
        if (pthread_create(&self->threads[i], NULL, call_until_over, self)) abort();
    return self;
}

int64_t foreign_callers_calls(struct callers *self) { return self->calls; }
int64_t foreign_callers_defaults(struct callers *self) { return self->defaults; }

/* How many calls returned neither what was asked for nor the default. */
int64_t foreign_callers_stop(struct callers *self) {
    self->is_over = 1;
    for (int i = 0; i < self->count; i++) pthread_join(self->threads[i], NULL);
    int64_t wrong = self->wrong;
    free(self);
    return wrong;
}

struct one_call {
    number_fn function;
    int32_t number, result;
};
static void *call_once(void *argument) {
    struct one_call *self = argument;
    self->result = self->function(self->number);
    return NULL;
}

/* Calls a function on a new thread, and waits for it. */
int32_t foreign_call(number_fn function, int32_t number) {
    struct one_call self = {function, number, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_once, &self)) abort();
    pthread_join(thread, NULL);
    return self.result;
}

/* Structs as arguments and results. */
struct pair {
    int8_t small;
    double large;
};
struct nest {
    struct pair pairs[2];
    const char *text;
};
struct nest foreign_swap(struct nest value, int32_t add) {
    struct nest swapped = {{value.pairs[1], value.pairs[0]}, value.text};
    swapped.pairs[0].small += add;
    return swapped;
}
struct nest foreign_call_nest(struct nest (*function)(struct nest, int32_t), struct nest value) { return function(value, 5); }

/* Threads that call a function until the process ends. */
static void *call_for_ever(void *argument) {
    number_fn function;
    memcpy(&function, &argument, sizeof function);
    for (int32_t number = 0;; number = (number + 1) % 1000) {
        int32_t result = function(number);
        if (result != -1 && result != number + 1) abort();
    }
    return NULL;
}
void foreign_call_for_ever(number_fn function) {
    void *argument;
    pthread_t thread;
    memcpy(&argument, &function, sizeof argument);
    if (pthread_create(&thread, NULL, call_for_ever, argument)) abort();
    pthread_detach(thread);
}

/* When the process ends, after everything of Python's is gone. */
static number_fn last_function;
static void call_last(void) {
    if (last_function(1) != -1) abort();
}
void foreign_call_at_the_end(number_fn function) {
    last_function = function;
    if (atexit(call_last)) abort();
}
