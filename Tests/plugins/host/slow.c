/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * slow.c: its stop takes three seconds, however little it is given. */
#include <time.h>

#include "people.h"

static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return *out_instance = NULL, meet_people(host); }
static treadle_status stop(void *instance, int64_t timeout_ns) {
    (void)instance, (void)timeout_ns;
    people->print("the slow one stops");
    nanosleep(&(struct timespec){3, 0}, NULL);
    people->print("the slow one has stopped");
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
DESCRIBED("slow", .stop = stop)
