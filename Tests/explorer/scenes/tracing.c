/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * tracing.c: threads that record events while another thread writes the trace, and begins the next one. */
#define _GNU_SOURCE
#include "owner.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const first[] = {"first", "its second"}, *const second[] = {"second", "its next"};
static void *record(void *labels) {
    for (int i = 0; i < 2; i++) {
        treadle_status status = treadle_trace_mark(((const char *const *)labels)[i], 1);
        REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    }
    return NULL;
}
static void begin_trace(void) { REQUIRE_OK(treadle_trace_start("/dev/null")); }
SCENE(a_trace_is_written_while_two_record, "RL-16") {
    begin_trace();
    explore_from_here();
    pthread_t one = start(record, (void *)first), other = start(record, (void *)second);
    REQUIRE_OK(treadle_trace_stop());
    join(one);
    join(other);
}

/* What a thread that has ended kept its events in serves the next trace. */
SCENE(a_trace_is_begun_while_a_thread_of_the_last_one_ends, "RL-16") {
    begin_trace();
    explore_from_here();
    pthread_t other = start(record, (void *)second);
    REQUIRE_OK(treadle_trace_stop());
    begin_trace();
    record((void *)first);
    REQUIRE_OK(treadle_trace_stop());
    join(other);
}
SCENE(a_trace_has_no_events_of_the_last_one, "RL-16") {
    begin_trace();
    join(start(record, (void *)first));
    REQUIRE_OK(treadle_trace_stop());
    int file = memfd_create("trace", 0);
    static char path[32], text[4096];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    REQUIRE_OK(treadle_trace_start(path));
    explore_from_here();
    pthread_t other = start(record, (void *)second);
    REQUIRE_OK(treadle_trace_stop());
    ssize_t length = pread(file, text, sizeof text, 0);
    REQUIRE(length > 0 && memmem(text, (size_t)length, first[0], strlen(first[0])) == NULL);
    close(file);
    join(other);
}

/* The last reference to a source is that by which its signal is recorded: it is released on the thread that signals, and the release waits
 * for the loop that the signal wakes. */
static void perform_nothing(void *target, void *argument) { (void)target, (void)argument; }
static void wait_for_the_loop(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform_nothing, .flags = TREADLE_PERFORM_WAIT};
    REQUIRE_OK(treadle_perform(loop, &request));
    count_release(info);
}
static void do_nothing(treadle_source self, void *info) { (void)self, (void)info; }
static void add_one_that_waits(void) {
    source = make_source(do_nothing, wait_for_the_loop, NULL);
    add(source);
}
static void *give_up_the_source(void *unused) {
    REQUIRE_OK(treadle_invalidate(source));
    REQUIRE_OK(treadle_release(source));
    return unused;
}
SCENE(a_source_ends_while_its_signal_is_recorded, "SRC0-4, RL-16, WAKE-1") {
    begin_trace();
    pthread_t owner = start_sleeping_owner(add_one_that_waits), other = start(give_up_the_source, NULL);
    treadle_status status = treadle_source_signal_and_wake(source);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STALE);
    join(other);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_trace_stop());
}
