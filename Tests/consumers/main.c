/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * What every C consumer builds: a loop with a timer that signals a source, which stops the loop. */
#include <stdio.h>
#include <treadle.h>

struct counts {
    treadle_loop loop;
    treadle_source source;
    int fired, performed;
};

static void fire(treadle_timer timer, void *info) {
    struct counts *counts = info;
    (void)timer;
    counts->fired++;
    treadle_source_signal_and_wake(counts->source);
}

static void perform(treadle_source source, void *info) {
    struct counts *counts = info;
    (void)source;
    if (++counts->performed == 3) treadle_loop_stop(counts->loop);
}

int main(void) {
    struct counts counts = {treadle_loop_current(), NULL, 0, 0};
    treadle_source_context source = TREADLE_INIT(treadle_source_context);
    treadle_timer_context timer = TREADLE_INIT(treadle_timer_context);
    treadle_timer ticker = NULL;

    source.info = timer.info = &counts;
    source.perform = perform;
    timer.fire = fire;
    timer.fire_at = treadle_time_now();
    timer.interval_ns = 1000000;
    if (treadle_source_create(&source, &counts.source) || treadle_timer_create(&timer, &ticker)) return 1;
    treadle_loop_add_source(counts.loop, counts.source, TREADLE_DEFAULT_MODE);
    treadle_loop_add_timer(counts.loop, ticker, TREADLE_DEFAULT_MODE);

    treadle_status status = treadle_loop_run_default(counts.loop);
    treadle_timer_invalidate(ticker);
    treadle_source_invalidate(counts.source);
    treadle_timer_release(ticker);
    treadle_source_release(counts.source);
    printf("treadle %s: performed %d, stopped %d\n", treadle_version_string(), counts.performed,
           status == TREADLE_RUN_STOPPED && counts.fired >= 3);
    return 0;
}
