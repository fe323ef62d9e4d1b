/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * failing.c: calls of the kernel that fail, are interrupted or end without a reason, each in any schedule. */
#include "owner.h"

static void let_waits_be_interrupted(void) { let_the_kernel_fail(INTERRUPTIONS); }
static void watch_and_let_waits_be_interrupted(void) {
    watch_a_descriptor();
    let_waits_be_interrupted();
}
static void end_by_a_post(void (*prepare)(void)) {
    pthread_t owner = start_owner(prepare);
    REQUIRE_OK(treadle_loop_post(loop, stop_loop, NULL));
    join_owner(owner);
    REQUIRE(counted(&called) == 1);
}
SCENE(a_post_ends_a_sleep_that_is_interrupted, "BLK-2, WAKE-1, PASS-10") { end_by_a_post(let_waits_be_interrupted); }
SCENE(a_post_ends_a_sleep_in_epoll_that_is_interrupted, "BLK-2, WAKE-1, PASS-10") {
    end_by_a_post(watch_and_let_waits_be_interrupted);
}

/* There is no room for a descriptor of the loop's, or in the kernel's set: the start is refused, and succeeds later. */
static void stop_for_it(treadle_descriptor self, uint32_t events, void *info) {
    (void)self, (void)events;
    stop_loop(info);
}
SCENE(a_first_descriptor_for_which_there_is_no_room, "SRC1-1") {
    loop = treadle_loop_current();
    int number = __wrap_eventfd(1, 0);
    explore_from_here();
    let_the_kernel_fail(SHORTAGES);
    for (int refusals = 0;; refusals++) {
        treadle_status status = treadle_descriptor_start(number, TREADLE_READABLE, stop_for_it, NULL, NULL);
        if (status == TREADLE_OK) break;
        REQUIRE(status == TREADLE_E_SYSTEM && refusals < 2);
    }
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
    REQUIRE(counted(&called) == 1);
}

/* The explorer's own test: there are schedules in which the start is refused. */
FAULT(a_refusal_that_is_not_minded, "failing.c:") {
    REQUIRE(treadle_loop_current() != NULL);
    int number = __wrap_eventfd(1, 0);
    explore_from_here();
    let_the_kernel_fail(SHORTAGES);
    REQUIRE_OK(treadle_descriptor_start(number, TREADLE_READABLE, stop_for_it, NULL, NULL));
}
