/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * startup.c: what nearly every program with Treadle does, once each; with an argument, what many do besides.
 * scripts/note-startup runs it to see which of the library's functions that takes. */
#include <pthread.h>
#include <stdlib.h>
#include <treadle.h>
#include <unistd.h>

static void check(treadle_status status) {
    if (status < 0) abort();
}

static int posted, performed, fired, seen;
static void count(void *info) { ++*(int *)info; }
static void stop(void *info) { check(treadle_loop_stop(*(treadle_loop *)info)); }
static void perform(treadle_source source, void *info) {
    (void)source;
    count(info);
}
static void fire(treadle_timer timer, void *info) {
    (void)timer;
    count(info);
    check(treadle_loop_stop(treadle_loop_current()));
}
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)events;
    count(info);
    check(treadle_descriptor_invalidate(descriptor));
}

static void *stop_later(void *loop) {
    usleep(200000); /* until the loop sleeps, under callgrind too */
    check(treadle_loop_post(*(treadle_loop *)loop, stop, loop));
    return NULL;
}

/* A source is performed, a posted function is run, and another wakes the loop from its sleep and ends it. */
static void do_what_all_do(treadle_loop loop) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source source;
    context.info = &performed;
    context.perform = perform;
    check(treadle_source_create(&context, &source));
    check(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE));
    check(treadle_source_signal_and_wake(source));
    check(treadle_loop_post(loop, count, &posted));
    pthread_t thread;
    if (pthread_create(&thread, NULL, stop_later, &loop) != 0) abort();
    check(treadle_loop_run_default(loop));
    if (pthread_join(thread, NULL) != 0) abort();
    check(treadle_source_invalidate(source));
    check(treadle_source_release(source));
}

/* The loop sleeps until a timer fires, and sees a descriptor ready. */
static void do_what_many_do(treadle_loop loop) {
    treadle_timer_context dates = TREADLE_INIT(treadle_timer_context);
    treadle_timer timer;
    dates.info = &fired;
    dates.fire = fire;
    dates.fire_at = treadle_time_now() + 200000000; /* far enough to sleep, under callgrind too */
    check(treadle_timer_create(&dates, &timer));
    check(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE));
    check(treadle_loop_run_default(loop));
    check(treadle_timer_release(timer));

    int ends[2];
    treadle_descriptor_context watch = TREADLE_INIT(treadle_descriptor_context);
    treadle_descriptor descriptor;
    if (pipe(ends) != 0 || write(ends[1], "", 1) != 1) abort();
    watch.info = &seen;
    watch.ready = ready;
    watch.fd = ends[0];
    watch.events = TREADLE_READABLE;
    check(treadle_descriptor_create(&watch, &descriptor));
    check(treadle_loop_add_descriptor(loop, descriptor, TREADLE_DEFAULT_MODE));
    check(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0));
    check(treadle_descriptor_release(descriptor));
}

int main(int argc, char **argv) {
    treadle_loop loop = treadle_loop_current();
    (void)argv;
    do_what_all_do(loop);
    if (argc > 1) do_what_many_do(loop);
    return posted == 1 && performed == 1 && fired == argc - 1 && seen == argc - 1 ? 0 : 1;
}
