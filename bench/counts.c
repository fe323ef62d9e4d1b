/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * counts.c: the calls of calls/functions.c, so many, for bench/run-counts, which counts their instructions.
 *
 *   counts treadle|libffi|direct WORKLOAD COUNT */
#include "calls/five.c"
#include "calls/functions.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t clock_ns(void) { return 0; }
void tell(const char *figure, double value, const char *unit) { (void)figure, (void)value, (void)unit; }

static const struct {
    const char *name;
    uint64_t (*make)(enum way way, size_t count);
} makers[] = {{"call_canonical", make_canonical}, {"call_five", make_five}, {"call_invoked", make_invoked}, {"call_closure", make_closure_calls}};

int main(int count, char **words) {
    static const char *const ways[] = {[BY_TREADLE] = "treadle", [BY_LIBFFI] = "libffi", [DIRECTLY] = "direct"};
    int way = 0;
    while (count == 4 && way <= DIRECTLY && strcmp(words[1], ways[way]) != 0) way++;
    for (size_t i = 0; count == 4 && way <= DIRECTLY && i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(words[2], makers[i].name) != 0) continue;
        size_t calls = strtoul(words[3], NULL, 10);
        makers[i].make((enum way)way, calls);
        demand(called == calls && checked == calls, "each call arrives, with its arguments");
        return 0;
    }
    fprintf(stderr, "usage: counts treadle|libffi|direct call_canonical|call_five|call_invoked|call_closure COUNT\n");
    return 2;
}
