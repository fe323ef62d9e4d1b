/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * parts.h: the parts of the program that are not Swift. Each adds one thing to the run loop of the calling thread, as it knows
 * that, which says its name once. */

/** Whether each could. */
int start_c(void);
/** Has the timer of C come due, and then those of CoreFoundation's names and of Python, one after the other. */
int turn_of_c(void);
int start_cf(void);
/** Loads an interpreter, the library at this path, into the process. */
int start_python(const char *library);
