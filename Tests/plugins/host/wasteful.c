/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * wasteful.c: forgets 24 bytes in each of its lives. */
#include "people.h"

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    *out_instance = malloc(24);
    return *out_instance ? meet_people(host) : TREADLE_E_NOMEM;
}
static void deinit(void *instance) { *(volatile char *)instance = 0; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
DESCRIBED("wasteful", .setting_count = 0)
