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

/* Threads with loops have free slots for themselves, and pass them on: each is one item's at a time, and none is lost when they end. */
enum { LIVE = 5, SLOTS = 4 * LIVE };
static counter is_had[SLOTS], was_had[SLOTS];
static struct event is_ready[2], may_begin;
static int slot_of(treadle_source item) { return (uintptr_t)item >> 6 & 0xFFFFFF; }
static treadle_source take_slot(void) {
    treadle_source made = make_source(never, NULL, NULL);
    REQUIRE(slot_of(made) < SLOTS && count(&is_had[slot_of(made)]) == 1);
    count(&was_had[slot_of(made)]);
    return made;
}
static void give_slot(treadle_source made) {
    atomic_fetch_sub_explicit(&is_had[slot_of(made)], 1, memory_order_relaxed);
    REQUIRE_OK(treadle_release(made));
}
static void *take_and_give(void *ready) {
    treadle_source made[LIVE];
    treadle_loop_current();
    set(ready);
    await(&may_begin);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < LIVE; i++) made[i] = take_slot();
        for (int i = 0; i < LIVE; i++) give_slot(made[i]);
    }
    return NULL;
}
SCENE(threads_pass_free_slots_on, "OBJ-11, RL-8") {
    pthread_t first = start(take_and_give, &is_ready[0]), second = start(take_and_give, &is_ready[1]);
    await(&is_ready[0]);
    await(&is_ready[1]);
    explore_from_here();
    set(&may_begin);
    join(first);
    join(second);
    int used = 0;
    for (int slot = 0; slot < SLOTS; slot++) used += counted(&was_had[slot]) != 0;
    for (; used > 0; used--) REQUIRE(count(&was_had[slot_of(take_slot())]) > 2);
}

/* The same of loops: a post to one whose thread is gone does not reach the next, which is created for a thread that takes it over. */
static treadle_thread worker;
static struct event may_end, is_posted;
static void *have_a_loop(void *info) {
    loop = treadle_loop_current();
    set(&is_there);
    await(&may_end);
    return info;
}
static void call_never(void *info) {
    (void)info;
    REQUIRE(!"a post to the old loop is called");
}
static void *take_over_the_loop(void *info) {
    count(&called); /* by a step that changes something the thread is not taken for one that waits awake */
    treadle_loop own = treadle_loop_current();
    await(&is_posted);
    treadle_loop_run(own, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    return info;
}
static void *create_the_next_loop(void *owner) {
    join(*(pthread_t *)owner);
    treadle_loop next_loop;
    REQUIRE_OK(treadle_thread_copy_loop(worker, &next_loop));
    REQUIRE_OK(treadle_thread_start(worker));
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(next_loop));
    return NULL;
}
SCENE(a_post_against_the_next_life_of_its_loops_slot, "OBJ-11, RL-9") {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = take_over_the_loop};
    REQUIRE_OK(treadle_thread_create(&config, &worker));
    pthread_t owner = start(have_a_loop, NULL);
    await(&is_there);
    explore_from_here();
    pthread_t other = start(create_the_next_loop, &owner);
    set(&may_end);
    treadle_status status = treadle_loop_post(loop, call_never, NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED || status == TREADLE_E_STALE);
    set(&is_posted);
    join(other);
    REQUIRE_OK(treadle_release(worker));
}

/* And of threads: who asks for the thread of a loop while it ends gets that one or none, and not the next of its slot. */
static treadle_thread ending;
static void *let_the_next_thread_in(void *info) {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = have_a_loop};
    REQUIRE_OK(treadle_thread_join(ending, TREADLE_FOREVER, NULL));
    REQUIRE_OK(treadle_release(ending));
    REQUIRE_OK(treadle_thread_create(&config, &worker));
    return info;
}
SCENE(the_thread_of_a_loop_against_the_next_life_of_its_slot, "OBJ-11, RL-9, THR-9") {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = have_a_loop};
    treadle_thread found = NULL;
    REQUIRE_OK(treadle_thread_create(&config, &ending));
    REQUIRE_OK(treadle_thread_start(ending));
    await(&is_there);
    REQUIRE_OK(treadle_retain(loop));
    treadle_thread known = ending;
    explore_from_here();
    pthread_t other = start(let_the_next_thread_in, NULL);
    set(&may_end);
    treadle_status status = treadle_loop_copy_thread(loop, &found);
    REQUIRE(status == TREADLE_OK ? found == known : status == TREADLE_E_NOT_FOUND && !found);
    if (found) REQUIRE_OK(treadle_release(found));
    join(other);
    REQUIRE_OK(treadle_release(worker));
    REQUIRE_OK(treadle_release(loop));
}
