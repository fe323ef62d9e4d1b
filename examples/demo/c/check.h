/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * check.h: every call of Treadle in the demo is checked; a failure ends the program with its reason. */
#ifndef DEMO_CHECK_H
#define DEMO_CHECK_H

#include <treadle.h>

/* Ends the program with a message unless the status is TREADLE_OK. A call that the rules say has no
 * effect (TREADLE_IGNORED) is a mistake in this program too. */
void require_ok(treadle_status status, const char *what);

/* The same, unless the status is a success of any kind. Returns it. */
treadle_status require(treadle_status status, const char *what);

/* Ends the program with a message that a system call failed. */
__attribute__((noreturn)) void fail_system(const char *what, const char *subject, int error);

/* Memory of this size, zeroed; a demo without memory can only end. */
void *allocate(size_t size);

#endif
