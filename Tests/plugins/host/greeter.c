/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * greeter.c: says its greeting again and again, and lends it to others. VERSION is what the compiler was told. */
#include "greeting.h"
#include "people.h"

static char greeting[64];
static unsigned long said;

static const char *greet(void) { return greeting; }

static void tick(treadle_timer timer, void *info) {
    char line[128];
    (void)timer, (void)info;
    snprintf(line, sizeof line, "%s from version " VERSION ", %lu", greeting, ++said);
    people->print(line);
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    size_t length;
    *out_instance = greeting;
    treadle_status status = host->copy_setting(host, "greeting", greeting, sizeof greeting, &length);
    if (status < 0) return status;
    host->log(host, 2, "the greeter is there");
    return meet_people(host);
}
static treadle_status start(void *instance) {
    (void)instance;
#ifdef REFUSES
    return TREADLE_E_STATE;
#endif
    treadle_timer_context context = {.struct_size = sizeof context, .fire = tick, .fire_at = treadle_time_now(),
                                     .interval_ns = 20000000, .label = "the greeting"};
    treadle_timer timer;
    treadle_status status = treadle_timer_create(&context, &timer);
    if (status < 0) return status;
    status = treadle_loop_add_timer(treadle_loop_main(), timer, TREADLE_COMMON_MODES);
    treadle_timer_release(timer);
    return status;
}
static void deinit(void *instance) { (void)instance; }
static const void *get_extension(void *instance, const char *id) { return (void)instance, (void)id, (const void *)(uintptr_t)greet; }
static treadle_status save(void *instance, treadle_plugin_write_fn write, void *sink) {
    return (void)instance, write(sink, &said, sizeof said), TREADLE_OK;
}
static treadle_status restore(void *instance, const void *bytes, size_t size) {
    (void)instance;
    if (size != sizeof said) return TREADLE_E_RANGE;
    memcpy(&said, bytes, size);
    return TREADLE_OK;
}

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL}, *const provided[] = {GREETING, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "greeting", .default_value = "hello", .description = "what it says"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "times.most", .type = TREADLE_SETTING_INTEGER, .default_value = "7",
     .minimum = 1, .maximum = 9}};
DESCRIBED("greeter", .provided = provided, .settings = settings, .setting_count = 2, .start = start, .get_extension = get_extension,
          .save = save, .restore = restore)
