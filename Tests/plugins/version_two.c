/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * version_two.c: takes the place of provider.c. */
#define PROBE_ID "org.example.provider"
#define PROBE_PROVIDED "example.number/1",
#define PROBE_VERSION "2"
#include "probe.h"
