/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * bounds.c: what lies at a boundary: dates that are just reached, equal dates, a place in a queue that is gone, the last descriptor of a
 * word of bits, errno. */
#include "owner.h"

#include <errno.h>
#include <fcntl.h>

static void run_until_stopped(void) {
    explore_from_here();
    REQUIRE(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
}

/* Timers of one date fire in the order in which they were added, whatever their tolerance, and at that date. */
enum { MILLISECOND = 1000000, TIMERS = 3 };
static int64_t date;
static void fire_in_turn(treadle_timer self, void *number) {
    (void)self;
    REQUIRE(treadle_time_now() == date);
    REQUIRE(count(&called) == (int)(intptr_t)number);
    if ((intptr_t)number == TIMERS) REQUIRE_OK(treadle_loop_stop(loop));
}
SCENE(timers_of_one_date_fire_when_it_is_reached, "TMR-11, TMR-22") {
    loop = treadle_loop_current();
    stop_the_clock();
    date = treadle_time_now() + MILLISECOND;
    for (intptr_t i = 1; i <= TIMERS; i++) {
        treadle_timer_context context = {.struct_size = sizeof context, .fire = fire_in_turn, .info = (void *)i, .fire_at = date,
                                         .tolerance_ns = i == 2 ? MILLISECOND : 0};
        treadle_timer timer;
        REQUIRE_OK(treadle_timer_create(&context, &timer));
        add(timer);
        REQUIRE_OK(treadle_release(timer));
    }
    run_until_stopped();
    REQUIRE(counted(&called) == TIMERS);
}

/* A pass has passed over a call that is not for its mode, and performs a request that cancels it: its place in the queue is gone. */
static treadle_invocation passed_over;
static void never_call(void) { REQUIRE(!"a call is made in a mode that is never run"); }
static void cancel(void *target, void *argument) {
    (void)target, (void)argument;
    REQUIRE_OK(treadle_invocation_cancel(passed_over));
    REQUIRE_OK(treadle_release(passed_over));
    REQUIRE(counted(&freed) == 1);
}
static void stop(void *target, void *argument) {
    (void)argument;
    stop_loop(target);
}
static void request(treadle_request_fn fn) {
    treadle_request request = {.struct_size = sizeof request, .fn = fn};
    REQUIRE_OK(treadle_perform(loop, &request));
}
SCENE(a_call_that_was_passed_over_is_cancelled_by_the_next_request, "PERF-4, PERF-8") {
    const char *never = "never run";
    loop = treadle_loop_current();
    treadle_invocation_config config = {.struct_size = sizeof config, .code = never_call, .signature = "v", .destroy = count_release};
    REQUIRE_OK(treadle_invocation_create(&config, &passed_over));
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .modes = &never, .mode_count = 1};
    REQUIRE_OK(treadle_invocation_perform(passed_over, &options));
    request(cancel);
    request(stop);
    run_until_stopped();
    REQUIRE(counted(&called) == 1);
}

/* Descriptors of message ports are noted by a bit each, and the child of a fork closes them. The port's second one has the last bit of a
 * word; of its first one it keeps another descriptor in reserve, which has the same number here. */
int __wrap_fcntl(int fd, int command, long argument);
static bool is_open(int fd) { return __wrap_fcntl(fd, F_GETFD, 0) >= 0; }
SCENE(the_child_of_a_fork_has_no_descriptor_of_a_port, "RL-11, MSG-7") {
    enum { LAST_OF_A_WORD = 127 };
    int last = __wrap_eventfd(0, 0);
    treadle_message_port_context context = {.struct_size = sizeof context};
    treadle_message_port port;
    while (last < LAST_OF_A_WORD - 2) last = __wrap_eventfd(0, 0);
    REQUIRE_OK(treadle_message_port_create_local("scene-bounds", &context, &port));
    REQUIRE(is_open(LAST_OF_A_WORD));
    explore_from_here();
    become_child();
    REQUIRE(is_open(last) && !is_open(LAST_OF_A_WORD) && !is_open(LAST_OF_A_WORD + 1));
}

/* A wake-up may come from a signal's handler. */
SCENE(a_wake_up_leaves_errno_as_it_is, "WAKE-1, WAKE-5") {
    pthread_t owner = start_sleeping_owner(watch_a_descriptor);
    errno = E2BIG;
    REQUIRE_OK(treadle_loop_wake(loop));
    REQUIRE(errno == E2BIG);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    REQUIRE(errno == E2BIG);
    join_owner(owner);
}
