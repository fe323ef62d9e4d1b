/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * probes.c: a program for scripts/check-probes, which listens to its probes. It prints the handles and functions that they name. */
#include <stdio.h>
#include <treadle.h>

static void ring(treadle_source source, void *info) { (void)source, (void)info; }
static void posted(void *info) { (void)info; }
static void performed(void *target, void *argument) { (void)target, (void)argument; }
static void fired(treadle_timer timer, void *info) {
    (void)info;
    treadle_timer_invalidate(timer);
}

int main(void) {
    treadle_loop loop = treadle_loop_current();
    treadle_source source;
    treadle_source_context bell = TREADLE_INIT(treadle_source_context);
    bell.perform = ring;
    bell.label = "bell";
    treadle_timer timer;
    if (treadle_source_create(&bell, &source) != TREADLE_OK) return 1;
    if (treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE) != TREADLE_OK) return 1;
    printf("loop %p\nsource %p\nposted %p\n", (void *)loop, (void *)source, (void *)(size_t)posted);
    fflush(stdout);

    treadle_source_signal(source);
    treadle_source_signal(source); /* coalesces */
    treadle_loop_post(loop, posted, NULL);
    treadle_post named = TREADLE_INIT(treadle_post);
    named.fn = posted;
    named.label = "letter";
    treadle_loop_post_in(loop, &named);
    treadle_request request = TREADLE_INIT(treadle_request);
    request.fn = performed;
    request.label = "errand";
    treadle_perform(loop, &request);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0); /* one pass, without a sleep */

    if (treadle_timer_start(1000 * 1000, 0, fired, NULL, &timer) != TREADLE_OK) return 1;
    treadle_source_invalidate(source);
    treadle_loop_run_default(loop); /* sleeps until the timer fires */
    treadle_timer_release(timer);
    treadle_source_release(source);
    return 0;
}
