/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * listening.h: a listener of the watcher's, which keeps what it was told last. */
#ifndef EXAMPLE_LISTENING_H
#define EXAMPLE_LISTENING_H

#include "../watcher.h"
#include "host.h"

static atomic_int told;
static char told_text[256];
HELPER void be_told(void *info, const char *text) {
    CHECK(info == &told);
    snprintf(told_text, sizeof told_text, "%s", text);
    atomic_fetch_add(&told, 1);
    has_come();
}

#endif
