/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * handle_life_test.c: a handle's value is never given again, however often objects come and go; and a count that is full stays
 * so, instead of becoming small again. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE

/* More lives than a slot has numbers for. Each object is made when the one before is gone, so that they share a slot. */
enum { LIVES = (1 << 24) + 1000 };

TEST(the_handle_of_a_timer_is_never_given_again, "OBJ-2 OBJ-11") {
    treadle_timer first = make_timer(NULL, NULL, 1, 0);
    CHECK_INT(treadle_timer_release(first), TREADLE_OK);
    for (int life = scaled(LIVES); life > 0; life--) {
        treadle_timer timer = make_timer(NULL, NULL, 1, 0);
        CHECK(timer != first);
        if (life == 1) CHECK_INT(treadle_timer_release(first), TREADLE_E_STALE);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
}

TEST(the_handle_of_a_lock_is_never_given_again, "OBJ-2 OBJ-11") {
    treadle_lock first = NULL, lock = NULL;
    CHECK_INT(treadle_lock_create(0, &first), TREADLE_OK);
    CHECK_INT(treadle_lock_release(first), TREADLE_OK);
    for (int life = scaled(LIVES); life > 0; life--) {
        CHECK_INT(treadle_lock_create(0, &lock), TREADLE_OK);
        CHECK(lock != first);
        if (life == 1) CHECK_INT(treadle_lock_release(first), TREADLE_E_STALE);
        CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
    }
}

/* A loop's thread has free slots for itself, a few. The others are for all threads, and when the thread ends, those few are as well. */
enum { MADE = 200, MOST_KEPT = 2 * 32 };
static treadle_timer made[MADE];
static int highest_slot;
static void *make_timers(void *unused) {
    CHECK(treadle_loop_current());
    for (int i = 0; i < MADE; i++) {
        made[i] = make_timer(NULL, NULL, 1, 0);
        int slot = (uintptr_t)made[i] >> 6 & 0xFFFFFF;
        if (slot > highest_slot) highest_slot = slot;
    }
    return unused;
}
static void end_timers(void) {
    for (int i = 0; i < MADE; i++) CHECK_INT(treadle_timer_release(made[i]), TREADLE_OK);
}
static void *make_and_end_timers(void *unused) {
    make_timers(NULL), end_timers();
    make_timers(NULL), end_timers();
    return unused;
}
TEST(threads_that_end_leave_their_free_slots_to_others, "OBJ-11 RL-8") {
    on_thread(make_and_end_timers, NULL);
    int first = highest_slot;
    CHECK(first <= MADE + 1);
    for (int i = 0; i < 30; i++) on_thread(make_and_end_timers, NULL);
    CHECK_INT(highest_slot, first);
}
TEST(a_thread_leaves_most_of_the_slots_that_it_frees_to_others, "OBJ-11") {
    CHECK(treadle_loop_current());
    for (int i = 0; i < 30; i++) on_thread(make_timers, NULL), end_timers();
    CHECK(highest_slot <= MADE + MOST_KEPT + 1);
}

/* Every queued block keeps its routine: more of them than the routine can count. */
static void count_call(int *calls) { ++*calls; }
TEST(a_routine_may_be_queued_more_often_than_it_can_count, "OBJ-2 OBJ-3") {
    static int calls;
    int *bound = &calls;
    treadle_argument argument = {.kind = TREADLE_ARGUMENT_BOUND, .value = &bound, .size = sizeof bound};
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))count_call, .signature = "v^v",
                                     .arguments = &argument, .argument_count = 1};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    treadle_post block = {.struct_size = sizeof block, .routine = routine};
    int count = scaled((1 << 20) + 1000);
    for (int i = 0; i < count; i++) CHECK_INT(post_block(treadle_loop_current(), &block), TREADLE_OK);
    CHECK_INT(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(calls, count + 1);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    /* One too many is refused, and ends nothing. */
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_routine_release(routine), TREADLE_E_STALE);
    CHECK(treadle_loop_current() && make_source(NULL, NULL));
}

TEST(a_client_has_as_many_references_as_fit_and_is_told_so, "OBJ-2 OBJ-4") {
    treadle_source source = make_source(NULL, NULL);
    int retained = 0;
    treadle_status status;
    while ((status = treadle_source_retain(source)) == TREADLE_OK) retained++;
    CHECK_INT(status, TREADLE_E_RANGE);
    CHECK(retained > 10000 && treadle_source_is_valid(source));
    for (int i = 0; i <= retained; i++) CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_E_STALE);
}

TEST_MAIN()
