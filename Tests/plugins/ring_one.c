/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * ring_one.c: requires what requires it. */
#define PROBE_ID "org.example.ring-one"
#define PROBE_REQUIRED "example.two/1",
#define PROBE_PROVIDED "example.one/1",
#include "probe.h"
