/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * startup.c: what nearly every program with Treadle does, once each: scripts/note-startup runs it to see which of the
 * library's functions that takes. */
#include <stdlib.h>
#include <treadle.h>

static void check(treadle_status status) {
    if (status < 0) abort();
}

static void count(void *info) { ++*(int *)info; }
static void perform(treadle_source source, void *info) {
    (void)source;
    count(info);
}
static void fire(treadle_timer timer, void *info) {
    (void)timer;
    count(info);
    check(treadle_loop_stop(treadle_loop_current()));
}

int main(void) {
    int posted = 0, performed = 0, fired = 0;
    treadle_loop loop = treadle_loop_current();
    check(treadle_loop_post(loop, count, &posted));

    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source source;
    context.info = &performed;
    context.perform = perform;
    check(treadle_source_create(&context, &source));
    check(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE));
    check(treadle_source_signal_and_wake(source));

    treadle_timer_context dates = TREADLE_INIT(treadle_timer_context);
    treadle_timer timer;
    dates.info = &fired;
    dates.fire = fire;
    dates.fire_at = treadle_time_now() + 1000000; /* the loop sleeps until then */
    check(treadle_timer_create(&dates, &timer));
    check(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE));

    check(treadle_loop_run_default(loop));
    check(treadle_source_invalidate(source));
    check(treadle_source_release(source));
    check(treadle_timer_release(timer));
    return posted == 1 && performed == 1 && fired == 1 ? 0 : 1;
}
