/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * slots.c: slots that are used again while other threads have handles of what was there before. */
#include "owner.h"

static treadle_source next;
static void never(treadle_source self, void *info) {
    (void)self, (void)info;
    REQUIRE(!"a signal of the old source reaches the new one");
}
static void count_call(treadle_source self, void *info) {
    (void)self, (void)info;
    REQUIRE(counted(&freed) == 0);
    use_released();
    count(&called);
}
static void make_one(void) { source = make_source(count_call, count_release, NULL); }
static void *signal_the_old_one(void *info) {
    treadle_status status = treadle_source_signal_and_wake(source);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STALE);
    return info;
}
SCENE(a_signal_against_the_next_life_of_its_slot, "OBJ-11") {
    pthread_t owner = start_owner(make_one), other = start(signal_the_old_one, NULL);
    REQUIRE_OK(treadle_release(source));
    next = make_source(never, count_release, NULL);
    add(next);
    join(other);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE_OK(treadle_release(next));
    REQUIRE(counted(&freed) == 2);
}
static void *retain_the_old_one(void *info) {
    treadle_status status = treadle_retain(source);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STALE);
    if (status == TREADLE_OK) {
        REQUIRE(counted(&freed) == 0);
        REQUIRE_OK(treadle_release(source));
    }
    return info;
}
SCENE(a_retain_against_the_next_life_of_its_slot, "OBJ-11, OBJ-4") {
    make_one();
    explore_from_here();
    pthread_t other = start(retain_the_old_one, NULL);
    REQUIRE_OK(treadle_release(source));
    next = make_source(never, NULL, NULL);
    join(other);
    REQUIRE(counted(&freed) == 1 && treadle_is_valid(next));
    REQUIRE_OK(treadle_release(next));
}
