/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * gates.c: gates that several threads wait for. In the explorer a waiter lends its priority at once (TREADLE_SYSTEM_GATE_LOOKS), so
 * it sleeps in the kernel until the holder has opened the gate and given the priority back. */
#include "owner.h"

static void count_and_stop(void *info) {
    if (count(&called) == (int)(intptr_t)info) REQUIRE_OK(treadle_loop_stop(loop));
}
static void *post_one(void *info) {
    REQUIRE_OK(treadle_loop_post(loop, count_and_stop, info));
    return NULL;
}
SCENE(three_wait_for_one_gate, "OBJ-6, BLK-2") {
    void *three = (void *)3;
    let_the_kernel_fail(REFUSALS); /* then a waiter lends nothing */
    pthread_t owner = start_owner(NULL), first = start(post_one, three), second = start(post_one, three);
    post_one(three);
    join(first);
    join(second);
    join_owner(owner);
    REQUIRE(counted(&called) == 3);
}
/* Of different gates: the one of a slab, and that of a loop. The word by which priority is lent is one for all. */
static void count_call(treadle_source self, void *info) { (void)self, (void)info; }
static void *make_and_release(void *unused) {
    treadle_source made = make_source(count_call, NULL, NULL);
    REQUIRE_OK(treadle_release(made));
    return unused;
}
SCENE(holders_of_two_gates_are_lent_priority, "OBJ-6") {
    pthread_t owner = start_owner(NULL), first = start(make_and_release, NULL), second = start(post_one, (void *)2);
    post_one((void *)2);
    make_and_release(NULL);
    join(first);
    join(second);
    join_owner(owner);
}
