/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * stays.c: may not be unmapped. */
#define PROBE_ID "org.example.stays"
#define PROBE_FLAGS 0
#include "probe.h"
