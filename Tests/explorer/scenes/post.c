/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * post.c: posts and wake-ups against a loop on its way to sleep. */
#include "owner.h"

SCENE(a_post_ends_the_sleep_on_a_futex, "BLK-2") {
    pthread_t owner = start_owner(NULL);
    REQUIRE_OK(treadle_loop_post(loop, stop_loop, NULL));
    join_owner(owner);
    REQUIRE(counted(&called) == 1);
}

SCENE(a_post_ends_the_sleep_in_epoll, "BLK-2") {
    pthread_t owner = start_owner(watch_a_descriptor);
    REQUIRE_OK(treadle_loop_post(loop, stop_loop, NULL));
    join_owner(owner);
    REQUIRE(counted(&called) == 1);
}

static void count_and_stop_behind_the_second(void *info) {
    (void)info;
    if (count(&called) == 2) REQUIRE_OK(treadle_loop_stop(loop));
}
static void *post_one(void *info) {
    REQUIRE_OK(treadle_loop_post(loop, count_and_stop_behind_the_second, NULL));
    return info;
}
static void post_by_two_threads(void *(*post)(void *)) {
    pthread_t owner = start_owner(NULL), other = start(post, NULL);
    post(NULL);
    join(other);
    join_owner(owner);
    REQUIRE(counted(&called) == 2);
}
SCENE(two_threads_post, "BLK-2, BLK-3") { post_by_two_threads(post_one); }

/* The first label of its text is kept for both. */
static void *post_one_with_a_label(void *info) {
    treadle_post post = {.struct_size = sizeof post, .fn = count_and_stop_behind_the_second, .label = "a label"};
    REQUIRE_OK(treadle_loop_post_in(loop, &post));
    return info;
}
SCENE(two_threads_post_with_one_label, "BLK-2") { post_by_two_threads(post_one_with_a_label); }

/* The pass behind a wake-up sees what was written before it. */
static counter written;
static void look(treadle_observer self, uint32_t activity, void *info) {
    (void)self, (void)activity, (void)info;
    if (counted(&written)) REQUIRE_OK(treadle_loop_stop(loop));
}
static void look_in_each_pass(void) { REQUIRE_OK(treadle_observer_start(TREADLE_BEFORE_SOURCES, look, NULL, NULL)); }
SCENE(a_wake_up_has_a_pass_behind_it, "WAKE-1") {
    pthread_t owner = start_owner(look_in_each_pass);
    count(&written);
    REQUIRE_OK(treadle_loop_wake(loop));
    join_owner(owner);
}
