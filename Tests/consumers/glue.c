/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * glue.c: a program that turns a run loop inside of one of libuv's, by the installed header. */
#include <stdio.h>
#include <treadle-uv.h>

static treadle_uv_inner *inner;
static void fire(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    printf("fired in uv_run\n");
    treadle_uv_stop(inner);
}

int main(void) {
    treadle_loop loop = treadle_loop_current();
    if (treadle_uv_start(uv_default_loop(), loop, TREADLE_DEFAULT_MODE, NULL, NULL, &inner) != TREADLE_OK) return 1;
    if (treadle_timer_start(0, 0, fire, NULL, NULL) != TREADLE_OK) return 1;
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return uv_loop_close(uv_default_loop());
}
