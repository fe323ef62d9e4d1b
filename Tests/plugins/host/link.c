/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * link.c: one of a chain of plugins, each of which uses the next one. The test writes the numbers into copies of the file. */
#include "people.h"

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    *out_instance = NULL;
    return host->get_extension(host, "example.link.0001/1") ? TREADLE_OK : TREADLE_E_NOT_FOUND;
}
static void deinit(void *instance) { (void)instance; }
static const void *get_extension(void *instance, const char *id) { return (void)instance, id; }

static const char *const required[] = {"example.link.0001/1", NULL}, *const provided[] = {"example.link.0000/1", NULL};
DESCRIBED("link.0000", .provided = provided, .get_extension = get_extension)
