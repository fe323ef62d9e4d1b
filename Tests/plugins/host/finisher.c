/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * finisher.c: ends the program from another thread, with the status 7, when it has stopped the main loop for nothing. */
#include "people.h"

static void *work(void *info) {
    treadle_loop_stop(treadle_loop_main());
    people->print("the finisher finishes");
    people->finish(7);
    return info;
}
static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return *out_instance = NULL, meet_people(host); }
static treadle_status start(void *instance) {
    return (void)instance, treadle_thread_detach_new(work, NULL, NULL, NULL);
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
DESCRIBED("finisher", .start = start)
