/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * user.c: requires an extension of another plugin. */
#define PROBE_ID "org.example.user"
#define PROBE_REQUIRED "example.number/1",
#include "probe.h"
