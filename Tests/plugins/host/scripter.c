/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scripter.c: directs the plugins of the C tests where treadle-host is their host: each step may be taken. */
#include "people.h"

#include "../script.h"

static treadle_status step(const treadle_plugin_host *host, const char *what) { return (void)host, (void)what, TREADLE_OK; }
static void code(void (*code)(void)) { (void)code; }
static const struct script script = {step, code};

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    *out_instance = NULL;
    return meet_people(host);
}
static void deinit(void *instance) { (void)instance; }
static const void *get_extension(void *instance, const char *id) { return (void)instance, strcmp(id, SCRIPT) == 0 ? &script : NULL; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL}, *const provided[] = {SCRIPT, NULL};
DESCRIBED("scripter", .provided = provided, .get_extension = get_extension)
