/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * orphan.c: requires what nobody has. */
#define PROBE_ID "org.example.orphan"
#define PROBE_REQUIRED "example.nothing/7",
#include "probe.h"
