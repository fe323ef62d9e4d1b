/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * unbound.c: needs a function that nobody has. */
#define PROBE_ID "org.example.unbound"
#include "probe.h"
int nobody_has_this(void);
int unbound(void);
int unbound(void) { return nobody_has_this(); }
