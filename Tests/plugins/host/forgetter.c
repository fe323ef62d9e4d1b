/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * forgetter.c: registers something of each kind, and takes nothing back. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "people.h"

static int descriptor = -1;

static void tick(treadle_timer timer, void *info) { (void)timer, (void)info; }
static void perform(treadle_source source, void *info) { (void)source, (void)info; }
static void notify(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info; }
static void ready(treadle_descriptor source, uint32_t events, void *info) { (void)source, (void)events, (void)info; }

static treadle_status init(const treadle_plugin_host *host, void **out_instance) { return *out_instance = NULL, meet_people(host); }
static treadle_status start(void *instance) {
    (void)instance;
    treadle_thread thread;
    int32_t id = 0;
    treadle_thread_config worker = {.struct_size = sizeof worker};
    treadle_timer_start(1000000, 1000000, tick, NULL, NULL);
    treadle_source_start(perform, NULL, NULL);
    treadle_observer_start(TREADLE_BEFORE_TIMERS, notify, NULL, NULL);
    treadle_descriptor_start(descriptor = eventfd(0, EFD_CLOEXEC), TREADLE_READABLE, ready, NULL, NULL);
    if (treadle_thread_create(&worker, &thread) == TREADLE_OK && treadle_thread_start(thread) == TREADLE_OK) {
        /* The report names it once it runs. */
        while (treadle_thread_get_id(thread, &id) == TREADLE_OK && id == 0) treadle_thread_sleep_for(1000000);
    }
    people->print("the forgetter has started");
    return TREADLE_OK;
}
static void deinit(void *instance) {
    (void)instance;
#ifndef LEAKS
    close(descriptor);
#endif
}

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
DESCRIBED("forgetter", .start = start)
