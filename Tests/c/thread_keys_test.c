/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_keys_test.c: destructors of pthread keys that arm themselves again meet one thread, and get nothing that would
 * stay behind. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE

/* How often the C library calls a destructor that arms itself again. A sanitizer has its own go in the last round, and what
 * comes after that finds it gone. */
enum { ROUNDS = SANITIZER ? 3 : 4 };

/* One key is older than the library's own and one younger, so that in each round one destructor comes before it. */
static pthread_key_t keys[2];
static treadle_thread first;
static int rounds[2], offered;

static void use_again(int which) {
    treadle_thread current = treadle_thread_current();
    if (!first) first = current;
    CHECK(current == first);
    treadle_thread_set_value(current, which ? "younger" : "older", NULL, count_release); /* refused or not, it is given back */
    offered += 1 + (treadle_pool_add(NULL, count_release) == TREADLE_OK);
    treadle_source source = make_source(NULL, NULL);
    treadle_loop loop = treadle_loop_current();
    if (loop) CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    if (++rounds[which] < ROUNDS) CHECK_INT(pthread_setspecific(keys[which], &keys[which]), 0);
}
static void use_older(void *value) { (void)value, use_again(0); }
static void use_younger(void *value) { (void)value, use_again(1); }
static void *arm_both(void *uses_library) {
    if (uses_library) first = treadle_thread_current();
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_setspecific(keys[i], &keys[i]), 0);
    return uses_library;
}
static void begin_keys(struct listener *exits) {
    CHECK_INT(pthread_key_create(&keys[0], use_older), 0);
    listen_to(exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    CHECK_INT(pthread_key_create(&keys[1], use_younger), 0);
}
static void end_thread(struct listener *exits) {
    for (int i = 0; i < 2; i++) CHECK_INT(rounds[i], ROUNDS);
    CHECK_INT(exits->calls, 1);
    CHECK(exits->object == first);
    CHECK_INT(releases_counted, offered);
    atomic_store(&releases_counted, 0);
    atomic_store(&exits->calls, 0);
    rounds[0] = rounds[1] = offered = 0;
    first = NULL;
}
TEST(destructors_that_arm_themselves_again_meet_one_thread, "THR-9 THR-12 THR-14 RL-8") {
    struct listener exits = {0};
    begin_keys(&exits);
    thread_end(thread_begin(arm_both, "uses it"));
    end_thread(&exits);
    on_thread(arm_both, "uses it");
    end_thread(&exits);
    on_thread(arm_both, NULL); /* whose destructors use it first */
    end_thread(&exits);
}

/* What a thread is refused once its teardown is over, with a reason. */
static treadle_thread old;
static int turns;
static void ask_late(void *value) {
    treadle_source source = make_source(NULL, NULL);
    if (++turns < ROUNDS) {
        CHECK_INT(pthread_setspecific(keys[0], value), 0);
    } else {
        uint64_t token = 1;
        CHECK(!treadle_loop_current());
        CHECK_ERROR(treadle_pool_push(&token), TREADLE_E_STATE, "ending");
        CHECK_ERROR(treadle_pool_add(NULL, count_release), TREADLE_E_STATE, "ending");
        CHECK(treadle_thread_current() == old && treadle_thread_is_finished(old));
        CHECK_ERROR(treadle_thread_set_value(old, "key", NULL, count_release), TREADLE_E_STATE, "finished");
        CHECK_INT(releases_counted, 1);
    }
    CHECK_INT(treadle_source_release(source), TREADLE_OK); /* what needs no thread goes on */
}
static void *ask_at_the_end(void *info) {
    old = treadle_thread_current();
    CHECK_INT(treadle_thread_retain(old), TREADLE_OK);
    CHECK_INT(pthread_setspecific(keys[0], info), 0);
    return info;
}
TEST(a_thread_that_is_torn_down_gets_nothing_more, "THR-9 THR-12 RL-8") {
    CHECK(treadle_thread_current());
    CHECK_INT(pthread_key_create(&keys[0], ask_late), 0);
    on_thread(ask_at_the_end, "");
    CHECK_INT(turns, ROUNDS);
    CHECK_INT(treadle_thread_release(old), TREADLE_OK);
}

/* A timed join waits for the destructors of the first round, and not longer than it may. */
static struct held held;
static void wait_at_gate(void *value) { (void)value, held_main(&held); }
static void *arm_one(void *info) {
    CHECK_INT(pthread_setspecific(keys[0], info), 0);
    return info;
}
TEST(a_join_waits_for_destructors_or_times_out, "THR-17") {
    gate_make(&held.there), gate_make(&held.gate);
    CHECK_INT(pthread_key_create(&keys[0], wait_at_gate), 0);
    treadle_thread thread = thread_begin(arm_one, "");
    gate_pass(&held.there);
    for (int i = 0; i < 3; i++) CHECK_ERROR(treadle_thread_join(thread, MILLISECONDS(i), NULL), TREADLE_E_TIMEOUT, "ended");
    gate_open(&held.gate);
    CHECK_INT(treadle_thread_join(thread, SECONDS(1000), NULL), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

TEST_MAIN()
