/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <treadle.h>

static int64_t counted;
int64_t c_counted(void) { return counted; }

static void check(treadle_status status) {
    if (status >= 0) return;
    fprintf(stderr, "this does not hold: %s\n", treadle_status_name(status));
    _Exit(1);
}

/* So many posts, or timers, wait at a time: each makes the next. */
enum { DEPTH = 4 };

/* What a body knows: as a closure that has captured a number. The loop and the count are no part of it. */
struct data {
    int64_t left;
};
static struct data *make_data(int64_t left) {
    struct data *data = malloc(sizeof *data);
    if (!data) check(TREADLE_E_NOMEM);
    data->left = left;
    return data;
}
static treadle_loop loop;

static void post_next(int64_t left);
static void posted(void *info) {
    struct data *data = info;
    counted++;
    if (data->left > 1) post_next(data->left - 1);
}
static void post_next(int64_t left) {
    treadle_post post = TREADLE_INIT(treadle_post);
    post.fn = posted;
    post.info = make_data(left);
    post.destroy = free;
    check(treadle_loop_post_in(loop, &post));
}
void c_post(int64_t times) {
    loop = treadle_loop_current();
    for (int i = 0; i < DEPTH; i++) post_next(times / DEPTH);
    check(treadle_loop_run_default(loop));
}

struct signalled {
    int64_t *counted;
    int64_t left;
};
static void perform(treadle_source source, void *info) {
    struct signalled *signalled = info;
    ++*signalled->counted;
    if (--signalled->left > 0) check(treadle_source_signal_and_wake(source));
    else check(treadle_source_invalidate(source));
}
void c_signal(int64_t times) {
    treadle_loop loop = treadle_loop_current();
    struct signalled signalled = {&counted, times};
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source source;
    context.info = &signalled;
    context.perform = perform;
    check(treadle_source_create(&context, &source));
    check(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE));
    check(treadle_source_signal_and_wake(source));
    check(treadle_loop_run_default(loop));
    check(treadle_source_release(source));
}

static void make_timer(int64_t left);
static void fire(treadle_timer timer, void *info) {
    struct data *data = info;
    (void)timer;
    counted++;
    if (data->left > 1) make_timer(data->left - 1);
}
static void make_timer(int64_t left) {
    treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
    treadle_timer timer;
    context.fire_at = treadle_time_now();
    context.info = make_data(left);
    context.release = free;
    context.fire = fire;
    context.flags = TREADLE_TIMER_ENDS_AFTER_FIRING;
    check(treadle_timer_create(&context, &timer));
    check(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE));
    check(treadle_timer_release(timer));
}
void c_timer(int64_t times) {
    loop = treadle_loop_current();
    for (int i = 0; i < DEPTH; i++) make_timer(times / DEPTH);
    check(treadle_loop_run_default(loop));
}

static void fire_again(treadle_timer timer, void *info) {
    struct signalled *signalled = info;
    ++*signalled->counted;
    if (--signalled->left > 0) check(treadle_timer_arm(timer, 0));
    else check(treadle_timer_invalidate(timer));
}
void c_rearm(int64_t times) {
    treadle_loop loop = treadle_loop_current();
    struct signalled signalled = {&counted, times};
    treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
    treadle_timer timer;
    context.fire_at = treadle_time_now();
    context.info = &signalled;
    context.fire = fire_again;
    check(treadle_timer_create(&context, &timer));
    check(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE));
    check(treadle_loop_run_default(loop));
    check(treadle_timer_release(timer));
}

static void perform_there(void *target, void *argument) {
    (void)argument;
    counted += *(int64_t *)target;
}
void c_wait(int64_t times) {
    static treadle_thread worker;
    if (!worker) {
        treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
        check(treadle_thread_create(&config, &worker));
        check(treadle_thread_start_and_wait(worker, TREADLE_FOREVER));
    }
    int64_t number = 1;
    for (int64_t i = 0; i < times; i++) {
        treadle_request request = TREADLE_INIT(treadle_request);
        request.fn = perform_there;
        request.target = &number; /* lives as long as the wait */
        request.flags = TREADLE_PERFORM_WAIT;
        check(treadle_perform(worker, &request));
    }
}
