/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pollable.c: a thread that waits for its loop by a descriptor, in place of a run (ABI-9): whatever another thread gives the loop to do
 * makes the descriptor readable. */
#include "owner.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static int wanted;
static bool notifies; /* observers are called before each sleep */
static void notice(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info; }
/* As a loop of another library: it sleeps until the descriptor is readable, then makes a pass. */
static void *wait_by_descriptor(void *prepare) {
    int32_t descriptor;
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    if (prepare) ((void (*)(void))prepare)();
    if (notifies) REQUIRE_OK(treadle_observer_start(TREADLE_PREPARE, notice, NULL, NULL));
    REQUIRE_OK(treadle_loop_open_pollable(loop, TREADLE_DEFAULT_MODE, &descriptor));
    explore_from_here();
    set(&is_there);
    while (counted(&called) < wanted) {
        struct epoll_event event;
        int64_t date;
        if (notifies) REQUIRE_OK(treadle_loop_prepare(loop, TREADLE_DEFAULT_MODE, &date));
        while (syscall(SYS_epoll_pwait, descriptor, &event, 1, -1, NULL, 8) != 1) {}
        treadle_status status = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
        REQUIRE(status == TREADLE_RUN_TIMED_OUT || status == TREADLE_RUN_STOPPED);
        if (status == TREADLE_RUN_STOPPED) count(&called);
    }
    REQUIRE(syscall(SYS_close, descriptor) == 0);
    return NULL;
}
static void give_it(int things, void (*prepare)(void), void (*give)(void)) {
    wanted = things;
    pthread_t owner = start(wait_by_descriptor, (void *)prepare);
    await(&is_there);
    give();
    join(owner);
    REQUIRE(counted(&called) == wanted);
    REQUIRE_OK(treadle_release(loop));
}
static void count_source(treadle_source self, void *info) {
    (void)self, (void)info;
    count(&called);
}
static void count_timer(treadle_timer self, void *info) {
    (void)self, (void)info;
    count(&called);
}
static void count_post(void *info) {
    (void)info;
    count(&called);
}
static treadle_timer timer;
static void add_a_source(void) {
    source = make_source(count_source, NULL, NULL);
    add(source);
}
static void make_a_timer(void) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = count_timer, .fire_at = 1};
    REQUIRE_OK(treadle_timer_create(&context, &timer));
}
static void signal_it(void) { REQUIRE_OK(treadle_source_signal_and_wake(source)); }
static void post_two(void) {
    REQUIRE_OK(treadle_loop_post(loop, count_post, NULL));
    REQUIRE_OK(treadle_loop_post(loop, count_post, NULL));
}
static void stop_it(void) { REQUIRE_OK(treadle_loop_request_stop(loop, 0)); }
static void add_the_timer(void) { add(timer); }

SCENE(a_loop_that_is_waited_for_by_a_descriptor_gets_a_signal, "ABI-9, WAKE-1") { give_it(1, add_a_source, signal_it); }
SCENE(a_loop_that_is_waited_for_by_a_descriptor_gets_two_posts, "ABI-9, WAKE-1") { give_it(2, NULL, post_two); }
SCENE(a_loop_that_is_waited_for_by_a_descriptor_is_stopped, "ABI-9, STOP-9") { give_it(1, NULL, stop_it); }
SCENE(a_loop_that_is_waited_for_by_a_descriptor_gets_a_timer, "ABI-9, WAKE-1") { give_it(1, make_a_timer, add_the_timer); }
static void give_it_in_a_notification(int things, void (*prepare)(void), void (*give)(void)) {
    notifies = true;
    give_it(things, prepare, give);
}
SCENE(a_loop_that_is_prepared_gets_a_signal, "ABI-13, WAKE-1") { give_it_in_a_notification(1, add_a_source, signal_it); }
SCENE(a_loop_that_is_prepared_gets_two_posts, "ABI-13, WAKE-1") { give_it_in_a_notification(2, NULL, post_two); }
SCENE(a_loop_that_is_prepared_is_stopped, "ABI-13, STOP-9") { give_it_in_a_notification(1, NULL, stop_it); }
SCENE(a_loop_that_is_prepared_gets_a_timer, "ABI-13, WAKE-1") { give_it_in_a_notification(1, make_a_timer, add_the_timer); }
