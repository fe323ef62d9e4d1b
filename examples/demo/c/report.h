/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * report.h: what the demo says at its end: the summary, and the time. */
#ifndef DEMO_REPORT_H
#define DEMO_REPORT_H

#include "summary.h"
#include "timeline.h"

/* Prints what was found in the input: the same text from every host. */
void report_summary(const struct summary *summary, FILE *out);
/* Prints how the two loops passed their time. */
void report_time(const struct timeline *main_side, const struct timeline *worker, FILE *out);

#endif
