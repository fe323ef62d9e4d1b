/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * stop.c: stops against the beginning and the end of runs. */
#include "owner.h"

SCENE(a_sticky_stop_ends_the_run_whenever_it_comes, "STOP-9") {
    pthread_t owner = start_owner(NULL);
    before_stop = 1;
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}
SCENE(a_sticky_stop_ends_the_sleep_in_epoll, "STOP-9") {
    pthread_t owner = start_owner(watch_a_descriptor);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}
SCENE(a_stop_that_is_not_ignored_ends_the_run, "STOP-1, STOP-2") {
    pthread_t owner = start_owner(NULL);
    before_stop = 1;
    treadle_status status = treadle_loop_stop(loop);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    if (status == TREADLE_IGNORED) REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}
static void *request_stop(void *info) {
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    return info;
}
SCENE(a_stop_against_a_post, "STOP-2, BLK-2") {
    pthread_t owner = start_owner(NULL), other = start(request_stop, NULL);
    treadle_status status = treadle_loop_post(loop, stop_loop, NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
    join(other);
    join_owner(owner);
    REQUIRE(counted(&called) <= 1);
}
