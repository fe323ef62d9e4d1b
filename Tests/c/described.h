/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * described.h: the text of treadle_describe, and how often it has a word. */
#ifndef TREADLE_TEST_DESCRIBED_H
#define TREADLE_TEST_DESCRIBED_H

#include "helpers.h"

static char text[65536];
HELPER const char *describe(treadle_object object) {
    size_t length = 0;
    CHECK_INT(treadle_describe(object, text, sizeof text, &length), TREADLE_OK);
    CHECK_INT(length, strlen(text));
    return text;
}
HELPER int count(const char *needle) {
    int found = 0;
    for (const char *at = text; (at = strstr(at, needle)); at++) found++;
    return found;
}

#endif
