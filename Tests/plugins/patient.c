/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * patient.c: says whether it has time to stop. */
#define PROBE_ID "org.example.patient"
#define PROBE_PROVIDED "example.patience/1",
#define PROBE_STOP(timeout_ns) ((timeout_ns) > 0 ? "stop_in_time" : "stop_at_once")
#include "probe.h"
