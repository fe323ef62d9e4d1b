/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * counts.c: the calls of calls/functions.c, so many, for bench/run-counts, which counts their instructions.
 *
 *   counts treadle|libffi|direct WORKLOAD COUNT */
#include "calls/functions.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    fprintf(stderr, "counts: this does not hold: %s\n", what);
    exit(1);
}
void check(treadle_status status) { demand(status >= 0, treadle_status_name(status)); }
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
