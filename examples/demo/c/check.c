/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * check.c: what happens when something fails. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

treadle_status require(treadle_status status, const char *what) {
    if (status >= 0) return status;
    treadle_error_info info = TREADLE_INIT(treadle_error_info);
    treadle_last_error(&info);
    fprintf(stderr, "demo: cannot %s: %s: %s\n", what, treadle_status_name(status), info.message);
    exit(1);
}

void require_ok(treadle_status status, const char *what) {
    if (require(status, what) == TREADLE_OK) return;
    fprintf(stderr, "demo: cannot %s: %s\n", what, treadle_status_name(status));
    exit(1);
}

void fail_system(const char *what, const char *subject, int error) {
    fprintf(stderr, "demo: cannot %s%s%s: %s\n", what, subject ? " " : "", subject ? subject : "", strerror(error));
    exit(1);
}

void *allocate(size_t size) {
    void *memory = calloc(1, size);
    if (!memory) {
        fprintf(stderr, "demo: out of memory\n");
        exit(1);
    }
    return memory;
}
