/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * measured.c: a plugin that does little: its life is measured, and its calls of Treadle's functions. */
#include "measured.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

static size_t ask(treadle_object object, size_t count) {
    size_t valid = 0;
    for (size_t i = 0; i < count; i++) valid += treadle_is_valid(object);
    return valid;
}
static const struct measured measured = {ask};

static int64_t next(int64_t number) { return number + 1; }
static int64_t process(void) { return getpid(); }
static treadle_status crash(void) { return *(volatile int *)(uintptr_t)8; }
static const struct isolated isolated = {next, process, crash};

static void never_fire(treadle_timer timer, void *info) { (void)timer, (void)info; }
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    (void)host;
    *out_instance = NULL;
    return TREADLE_OK;
}
/* A timer that it forgets. */
static treadle_status start(void *instance) {
    (void)instance;
    return treadle_timer_start((int64_t)3600 * 1000000000, 0, never_fire, NULL, NULL);
}
static void deinit(void *instance) { (void)instance; }
static const void *get_extension(void *instance, const char *id) {
    (void)instance;
    return strcmp(id, ISOLATED) == 0 ? &isolated : (const void *)&measured;
}

static const char *const provided[] = {MEASURED, ISOLATED, NULL};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "bench.measured",
    .name = "What is measured",
    .version = "1",
    .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .provided = provided,
    .init = init,
    .start = start,
    .deinit = deinit,
    .get_extension = get_extension,
};
TREADLE_PLUGIN_EXPORT(description)
static const treadle_extension_descriptor descriptor = ISOLATED_DESCRIPTOR;
TREADLE_PLUGIN_EXPORT_EXTENSIONS(&descriptor)
