/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * ring_two.c: requires what requires it. */
#define PROBE_ID "org.example.ring-two"
#define PROBE_REQUIRED "example.one/1",
#define PROBE_PROVIDED "example.two/1",
#include "probe.h"
