/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * wisher.c: would use an extension of another plugin, and goes without. */
#define PROBE_ID "org.example.wisher"
#define PROBE_OPTIONAL "example.number/1",
#include "probe.h"
