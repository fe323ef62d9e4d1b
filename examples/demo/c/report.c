/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * report.c: printing. */
#include "report.h"

#include <inttypes.h>
void report_summary(const struct summary *summary, FILE *out) {
    fprintf(out, "Summary\n");
    fprintf(out, "  %-16s%" PRIu64 "\n", "lines", summary->lines);
    fprintf(out, "  %-16s%" PRIu64 "\n", "bytes", summary->bytes);
    fprintf(out, "  %-16s%" PRIu64 "\n", "words", summary->words);
    fprintf(out, "  %-16s%" PRIu64 "\n", "distinct words", summary->distinct);
    fprintf(out, "  %-16sline %" PRIu64 ", %zu bytes\n", "longest line", summary->longest_number, summary->longest_length);
    fprintf(out, "  %-16s0x%08" PRIx32 "\n", "checksum", summary->checksum);
    fprintf(out, "  %-16s", "frequent words");
    for (size_t i = 0; i < summary->frequent_count; i++) {
        fprintf(out, "%s%s (%" PRIu64 ")", i ? ", " : "", summary->frequent[i].text, summary->frequent[i].count);
    }
    fprintf(out, "%s\n\n", summary->frequent_count ? "" : "none");
}

static void milliseconds(FILE *out, const char *title, int64_t main_side, int64_t worker) {
    fprintf(out, "  %-30s%12.3f ms%12.3f ms\n", title, (double)main_side / 1e6, (double)worker / 1e6);
}

static void number(FILE *out, const char *title, uint64_t main_side, uint64_t worker) {
    fprintf(out, "  %-30s%12" PRIu64 "   %12" PRIu64 "\n", title, main_side, worker);
}

/* Signals that did not lead to a callback of their own: they joined one that was on its way. */
static uint64_t coalesced(const struct timeline *performer, const struct timeline *other) {
    uint64_t count = 0;
    for (int kind = SIGNAL_COMMANDS; kind <= SIGNAL_RESULTS; kind++) {
        uint64_t performed = performer->calls[kind == SIGNAL_COMMANDS ? SPAN_COMMANDS : SPAN_RESULTS];
        if (performed) count += performer->given[kind] + other->given[kind] - performed;
    }
    return count;
}

void report_time(const struct timeline *main_side, const struct timeline *worker, FILE *out) {
    const struct timeline *m = main_side, *w = worker;
    fprintf(out, "How the loops passed their time\n  %-30s%15s%15s\n", "", m->name, w->name);
    milliseconds(out, "in the run", m->spent[SPAN_RUN], w->spent[SPAN_RUN]);
    milliseconds(out, "  asleep", m->spent[SPAN_SLEEP], w->spent[SPAN_SLEEP]);
    milliseconds(out, "  in callbacks", m->in_callbacks, w->in_callbacks);
    number(out, "passes", m->passes, w->passes);
    number(out, "sleeps", m->calls[SPAN_SLEEP], w->calls[SPAN_SLEEP]);
    number(out, "descriptor: input read", m->calls[SPAN_READ], w->calls[SPAN_READ]);
    number(out, "descriptor: input paused", m->pauses, w->pauses);
    number(out, "source: commands signalled", m->given[SIGNAL_COMMANDS], w->given[SIGNAL_COMMANDS]);
    number(out, "source: commands performed", m->calls[SPAN_COMMANDS], w->calls[SPAN_COMMANDS]);
    number(out, "source: results signalled", m->given[SIGNAL_RESULTS], w->given[SIGNAL_RESULTS]);
    number(out, "source: results performed", m->calls[SPAN_RESULTS], w->calls[SPAN_RESULTS]);
    number(out, "signals coalesced in these", coalesced(m, w), coalesced(w, m));
    number(out, "source: schedule", m->calls[SPAN_SCHEDULE], w->calls[SPAN_SCHEDULE]);
    number(out, "source: cancel", m->calls[SPAN_CANCEL], w->calls[SPAN_CANCEL]);
    number(out, "timer: heartbeats", m->calls[SPAN_HEARTBEAT], w->calls[SPAN_HEARTBEAT]);
    number(out, "posted functions", m->calls[SPAN_POSTED], w->calls[SPAN_POSTED]);
    number(out, "observer notifications", m->observed, w->observed);
    number(out, "wakes given to the other", m->wakes, w->wakes);
}
