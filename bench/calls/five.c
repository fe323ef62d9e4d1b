/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * five.c: the function that most workloads call, its arguments, and what must hold; ../counts.c has it too. */
#include "calls.h"

#include <errno.h> /* the name of the program */
#include <stdio.h>
#include <stdlib.h>

bool is_quick;
uint64_t called, checked;
static uint64_t one = 1;
static int64_t object = 40;
struct five_arguments arguments = {&object, -7, 8.0, 1, &one};

int64_t five(void *thing, int64_t count, double weight, int32_t index, void *info) {
    called++;
    checked += *(uint64_t *)info;
    return *(int64_t *)thing + count + (int64_t)weight + index;
}

void demand(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s: this does not hold: %s\n", program_invocation_short_name, what);
    _Exit(1); /* other threads may be at work */
}
void check(treadle_status status) { demand(status >= 0, treadle_status_name(status)); }
