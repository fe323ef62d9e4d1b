/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * no_plugin.c: a library that describes no plugin. */
#define PROBE_ID "org.example.none"
#define PROBE_IS_NO_PLUGIN
#include "probe.h"
const void *no_plugin(void) { return &description; }
