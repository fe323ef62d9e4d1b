/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * main.c: says the library's version from a timer's callback. */
#include <stdio.h>
#include <treadle.h>

static void say(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    printf("treadle %s\n", treadle_version_string());
}

int main(void) {
    if (treadle_timer_start(1000000, 0, say, NULL, NULL) != TREADLE_OK) return 1;
    return treadle_loop_run_default(treadle_loop_current()) == TREADLE_RUN_FINISHED ? 0 : 2;
}
