/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * require.h: every call in these programs is checked; a failure ends the program with its reason. */
#ifndef GUIDE_REQUIRE_H
#define GUIDE_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#include <treadle.h>

/* Ends the program with a message if the status is an error. Returns it otherwise. */
static inline treadle_status require(treadle_status status, const char *what) {
    if (status >= 0) return status;
    treadle_error_info info = TREADLE_INIT(treadle_error_info);
    treadle_last_error(&info);
    fprintf(stderr, "cannot %s: %s: %s\n", what, treadle_status_name(status), info.message);
    exit(1);
}

#endif
