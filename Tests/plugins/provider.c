/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * provider.c: has an extension for others. */
#define PROBE_ID "org.example.provider"
#define PROBE_PROVIDED "example.number/1",
#include "probe.h"
