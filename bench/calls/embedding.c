/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * embedding.c: what an event costs a host that fetches it, and one whose own loop dispatches Treadle's, beside a run that calls.
 * The events are those of 64 sources that signal themselves again. */
#include "calls.h"

#include <poll.h>
#include <unistd.h>

enum { SOURCES = 64, EVENTS = 1000000, SAMPLES = 5, ITEMS = 1024 };

static treadle_source sources[SOURCES];
static uint64_t performed[SOURCES], wanted, at_work;

static void handle(uint64_t number) {
    if (++performed[number] < wanted) treadle_source_signal(sources[number]);
    else if (--at_work == 0) treadle_loop_stop(treadle_loop_current());
}
static void perform(treadle_source source, void *info) {
    (void)source;
    handle((uint64_t)(uintptr_t)info);
}
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    handle(event->token);
    return ~ticket;
}

/* host: of the sources; NULL: they are plain. */
static void make_sources(treadle_host host) {
    for (uint64_t i = 0; i < SOURCES; i++) {
        treadle_source_context context = TREADLE_INIT(treadle_source_context);
        context.host = host;
        if (host) context.token = i;
        else context.perform = perform, context.info = (void *)(uintptr_t)i;
        check(treadle_source_create(&context, &sources[i]));
        check(treadle_loop_add(treadle_loop_current(), sources[i], TREADLE_DEFAULT_MODE));
    }
}
static void begin(void) {
    at_work = SOURCES;
    for (int i = 0; i < SOURCES; i++) {
        performed[i] = 0;
        check(treadle_source_signal(sources[i]));
    }
}

static void run_called(void *info) {
    (void)info;
    check(treadle_loop_run_default(treadle_loop_current()));
}
static void run_fetched(void *info) {
    treadle_loop loop = treadle_loop_current();
    treadle_event event;
    treadle_pull pull = TREADLE_INIT(treadle_pull);
    pull.host = info, pull.mode = TREADLE_DEFAULT_MODE, pull.timeout_ns = TREADLE_FOREVER;
    pull.events = &event, pull.event_size = sizeof event, pull.capacity = 1;
    treadle_status status;
    while ((status = treadle_loop_next(loop, &pull)) == TREADLE_OK) handle(event.token);
    check(status);
}
/* The other loop: it waits for the descriptor before each slice. */
struct guest {
    int32_t fd;
    int64_t budget_ns;
};
static void run_dispatched(void *info) {
    const struct guest *guest = info;
    treadle_loop loop = treadle_loop_current();
    struct pollfd inner = {guest->fd, POLLIN, 0};
    treadle_status status;
    do {
        demand(poll(&inner, 1, -1) == 1, "the descriptor is readable");
        check(status = treadle_loop_dispatch(loop, TREADLE_DEFAULT_MODE, guest->budget_ns, ITEMS));
    } while (status != TREADLE_RUN_STOPPED);
}

static void measure(const char *name, void (*run)(void *info), void *info) {
    uint64_t least = UINT64_MAX;
    wanted = amount(EVENTS) / SOURCES;
    for (int sample = 0; sample < SAMPLES; sample++) {
        begin();
        uint64_t begun = clock_ns();
        run(info);
        uint64_t took = clock_ns() - begun;
        if (took < least) least = took;
        for (int i = 0; i < SOURCES; i++) demand(performed[i] == wanted, "each signal is one event");
    }
    for (int i = 0; i < SOURCES; i++) {
        check(treadle_invalidate(sources[i]));
        check(treadle_release(sources[i]));
    }
    tell(name, (double)least / (double)(wanted * SOURCES), "ns");
}

static void event_pull(const char *name, enum way way) {
    treadle_host host;
    treadle_host_config config = TREADLE_INIT(treadle_host_config);
    live_in(treadle_loop_current());
    if (way == PLAINLY) config.dispatch = dispatch;
    check(treadle_host_register(&config, &host));
    make_sources(host);
    measure(name, way == PLAINLY ? run_called : run_fetched, host);
}
static void serve_guest(const char *name, enum way way, int64_t budget_ns) {
    struct guest guest = {-1, budget_ns};
    live_in(treadle_loop_current());
    make_sources(NULL);
    if (way == PLAINLY) return measure(name, run_called, NULL);
    check(treadle_loop_open_pollable(treadle_loop_current(), TREADLE_DEFAULT_MODE, &guest.fd));
    measure(name, run_dispatched, &guest);
    close(guest.fd);
}
static void event_guest(const char *name, enum way way) { serve_guest(name, way, TREADLE_FOREVER); }
/* The clock is read after each callback. */
static void event_guest_timed(const char *name, enum way way) { serve_guest(name, way, 10000000); }

const struct workload embedding_workloads[] = {
    {"event_pull", event_pull, WAY(BY_TREADLE) | WAY(PLAINLY), false},
    {"event_guest", event_guest, WAY(BY_TREADLE) | WAY(PLAINLY), false},
    {"event_guest_timed", event_guest_timed, WAY(BY_TREADLE) | WAY(PLAINLY), false},
    {NULL, NULL, 0, false},
};
