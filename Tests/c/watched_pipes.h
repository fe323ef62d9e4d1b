/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * watched_pipes.h: pipes whose read ends are watched, numbers that come to mean another pipe, and a loop that must sleep. */
#ifndef TREADLE_TEST_WATCHED_PIPES_H
#define TREADLE_TEST_WATCHED_PIPES_H

#include "helpers.h"

__attribute__((unused)) static const char *const M = TREADLE_DEFAULT_MODE, *const N = "another mode";

struct watched {
    treadle_descriptor source, victim; /* victim: invalidated by the callback */
    int reads, writes, performs;
    uint32_t events;
};
HELPER void on_ready(treadle_descriptor source, uint32_t events, void *info) {
    struct watched *watched = info;
    CHECK(source == watched->source);
    watched->performs++;
    watched->events = events;
    if (watched->victim) treadle_descriptor_invalidate(watched->victim);
}
HELPER void open_pipe(struct watched *watched) {
    int ends[2];
    CHECK_INT(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    *watched = (struct watched){.reads = ends[0], .writes = ends[1]};
}
HELPER void add(struct watched *watched, const char *mode) {
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), watched->source, mode), TREADLE_OK);
}
HELPER void make(struct watched *watched) { watched->source = make_descriptor(on_ready, watched, watched->reads, TREADLE_READABLE); }
HELPER void set_events(struct watched *watched, uint32_t events) {
    CHECK_INT(treadle_descriptor_set_events(watched->source, events), TREADLE_OK);
}
HELPER void watch(struct watched *watched) {
    make(watched);
    add(watched, M);
}
HELPER void watch_fd(struct watched *watched, int fd, uint32_t events) {
    watched->source = make_descriptor(on_ready, watched, fd, events);
    add(watched, M);
}
HELPER void fill(struct watched *watched) { CHECK_INT(write(watched->writes, "x", 1), 1); }
HELPER void end(struct watched *watched) { CHECK_INT(discard(watched->source), TREADLE_OK); }
/* The read end's number means another pipe now, which is in `other`. */
HELPER void reuse_number(struct watched *watched, struct watched *other) {
    open_pipe(other);
    if (other->reads == watched->reads) return; /* it was free */
    CHECK_INT(dup3(other->reads, watched->reads, O_CLOEXEC), watched->reads);
    close(other->reads);
    other->reads = watched->reads;
}
/* How often a source is performed in so many passes. */
HELPER int performs_of(struct watched *watched, int passes) {
    int before = watched->performs;
    while (passes-- > 0) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    return watched->performs - before;
}

/* Runs a mode for a while: the loop begins to wait, sleeps, and the time ends it. One that spins passes thousands of times,
 * or goes to sleep thousands of times; one that was told something stale does so once more. */
static int activities[2];
HELPER void count(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer;
    ((int *)info)[activity == TREADLE_BEFORE_WAITING || activity == TREADLE_AFTER_WAITING]++;
}
HELPER void check_sleeps(const char *mode) {
    treadle_loop loop = treadle_loop_current();
    treadle_observer observer =
        make_observer(count, activities, TREADLE_BEFORE_TIMERS | TREADLE_BEFORE_WAITING | TREADLE_AFTER_WAITING);
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_observer(loop, observer, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, keeper, mode), TREADLE_OK);
    activities[0] = activities[1] = 0;
    CHECK_INT(treadle_loop_run(loop, mode, MILLISECONDS(30), 0), TREADLE_RUN_TIMED_OUT);
    CHECK(activities[0] <= 3 && activities[1] <= 6);
    CHECK_INT(treadle_observer_invalidate(observer) + treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer) + treadle_source_release(keeper), TREADLE_OK);
}

#endif
