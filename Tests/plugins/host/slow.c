/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * slow.c: its stop takes three seconds, however little it is given; with the setting "once", which names a file, the first stop takes
 * 0.4 s of a processor, and the others nothing. */
#include <time.h>
#include <unistd.h>

#include "people.h"

static char once[512];

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    size_t length;
    *out_instance = NULL;
    treadle_status status = host->copy_setting(host, "once", once, sizeof once, &length);
    return status < 0 ? status : meet_people(host);
}
static double processor_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
static treadle_status stop(void *instance, int64_t timeout_ns) {
    (void)instance, (void)timeout_ns;
    double until = processor_time() + 0.4;
    if (once[0] && unlink(once) == 0)
        while (processor_time() < until) {}
    if (once[0]) return TREADLE_OK;
    people->print("the slow one stops");
    nanosleep(&(struct timespec){3, 0}, NULL);
    people->print("the slow one has stopped");
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
static const treadle_plugin_setting settings[] = {{.struct_size = sizeof(treadle_plugin_setting), .key = "once", .default_value = ""}};
DESCRIBED("slow", .settings = settings, .setting_count = 1, .stop = stop)
