/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * greeting.h: the extension of the greeter. */
#ifndef TREADLE_TEST_GREETING_H
#define TREADLE_TEST_GREETING_H

#define GREETING "example.greeting/1"

/* What the greeter says, valid until its stop. */
typedef const char *(*greeting_fn)(void);

#endif
