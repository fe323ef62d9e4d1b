/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * foreign.c: threads that Python did not make, for the tests of the Python package. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

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
