/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pulls.h: a host that fetches its events, with sources and posts that are told apart by their tokens. */
#ifndef PULLS_H
#define PULLS_H

#include "helpers.h"
#include "host_items.h"

static const char *const M = TREADLE_DEFAULT_MODE, *const OTHER = "other";
static treadle_host host;
static treadle_loop loop;
static treadle_event event;
static treadle_source sources[8];

HELPER void start(void) {
    host = fetching_host();
    loop = treadle_loop_current();
}
HELPER treadle_source add_source(uint64_t token, const char *mode) {
    CHECK_INT(host_source(host, token, 0, 0, &sources[token]), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, sources[token], mode), TREADLE_OK);
    return sources[token];
}
HELPER void signal_source(uint64_t token) { CHECK_INT(treadle_source_signal(sources[token]), TREADLE_OK); }
HELPER void post(uint64_t token) { CHECK_INT(treadle_host_post(host, token, loop), TREADLE_OK); }
HELPER treadle_pull pull(const char *mode, int64_t timeout_ns, uint32_t flags) {
    return pull_of(host, mode, timeout_ns, flags, &event, 1);
}

#endif
