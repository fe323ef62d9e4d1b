/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loop_lock.c: LoopLock by itself, whose owner enters by plain loads and stores, and whose visitors have all processors pass a barrier.
 * What it guards is plain memory, so that threads which are inside at the same time race. In the explorer a visitor that waits lends its
 * priority at once, so it sleeps in the kernel until the owner has left. The clock passes with each look at it, so that the owner gets
 * its bias back three entries after a visit. */
#include "../scene.h"

struct lock {
    uint64_t words[3];
};
size_t explored_lock_size(void);
void explored_lock_begin(struct lock *lock);
void explored_lock_end(struct lock *lock);
void explored_lock_enter(struct lock *lock, bool is_owner);
void explored_lock_leave(struct lock *lock);
bool explored_lock_is_held(struct lock *lock);
void explored_gate_lock(uint32_t *gate);
void explored_gate_unlock(uint32_t *gate);

static struct lock lock;
static int guarded;
static struct event has_owner;

static void enter(bool is_owner) {
    explored_lock_enter(&lock, is_owner);
    REQUIRE(explored_lock_is_held(&lock));
    guarded++;
    explored_lock_leave(&lock);
    REQUIRE(!explored_lock_is_held(&lock));
}
static void *own(void *times) {
    REQUIRE(explored_lock_size() == sizeof lock);
    explored_lock_begin(&lock);
    explore_from_here();
    set(&has_owner);
    for (int i = 0; i < (int)(intptr_t)times; i++) enter(true);
    return NULL;
}
static void *visit(void *times) {
    for (int i = 0; i < (int)(intptr_t)times; i++) enter(false);
    return NULL;
}
static pthread_t start_owner(intptr_t times) {
    pthread_t owner = start(own, (void *)times);
    await(&has_owner);
    return owner;
}
static void end_with(pthread_t owner, pthread_t visitor, int times) {
    join(owner);
    join(visitor);
    REQUIRE(guarded == times);
}

SCENE(the_owner_of_a_loops_lock_and_a_visitor, "RL-5, OBJ-6") { end_with(start_owner(2), start(visit, (void *)1), 3); }
SCENE(a_loops_lock_is_visited_twice, "RL-5, OBJ-6") { end_with(start_owner(3), start(visit, (void *)2), 5); }
SCENE(two_visit_a_loops_lock, "RL-5, OBJ-6") {
    pthread_t owner = start_owner(2), visitor = start(visit, (void *)1);
    visit((void *)1);
    end_with(owner, visitor, 4);
}

/* The owner gets its bias back while another visit comes. */
SCENE(a_loops_lock_is_biased_again_while_it_is_visited, "RL-5, OBJ-6") {
    pthread_t owner = start_owner(6), visitor = start(visit, (void *)1);
    visit((void *)1);
    end_with(owner, visitor, 8);
}
static void *own_again(void *visitor) {
    explored_lock_begin(&lock);
    enter(true);
    pthread_t first = start(visit, (void *)1);
    join(first);
    for (int i = 0; i < 3; i++) enter(true);
    explore_from_here();
    *(pthread_t *)visitor = start(visit, (void *)1);
    enter(true);
    enter(true);
    return NULL;
}
SCENE(the_visit_behind_a_bias_that_came_back, "RL-5, OBJ-6") {
    pthread_t visitor, owner = start(own_again, &visitor);
    join(owner);
    join(visitor);
    REQUIRE(guarded == 8);
}

/* The owner ends while visitors wait, and enters once more when it is no owner any more. */
static void *own_and_end(void *unused) {
    own((void *)1);
    explored_lock_end(&lock);
    enter(true);
    return unused;
}
SCENE(the_owner_of_a_loops_lock_ends_while_others_wait, "RL-8, OBJ-6") {
    pthread_t owner = start(own_and_end, NULL);
    await(&has_owner);
    pthread_t visitor = start(visit, (void *)1);
    visit((void *)1);
    end_with(owner, visitor, 4);
}

/* A lock that nobody owns yet, as that of a thread which has not asked for its loop. */
SCENE(a_loops_lock_is_visited_before_it_has_an_owner, "RL-3, OBJ-6") {
    pthread_t visitor = start(visit, (void *)2);
    explore_from_here();
    pthread_t owner = start(own, (void *)2);
    end_with(owner, visitor, 4);
}

/* Another lock, whose owner visits this one when it has left its own: each is lent the priority of the one that waits for it. */
static struct lock other;
static int guarded_by_other;
static void enter_other(bool is_owner) {
    explored_lock_enter(&other, is_owner);
    guarded_by_other++;
    explored_lock_leave(&other);
}
static void *own_other(void *unused) {
    explored_lock_begin(&other);
    await(&has_owner);
    enter_other(true);
    enter(false);
    return unused;
}
static void *own_and_visit_other(void *unused) {
    own((void *)1);
    enter_other(false);
    enter(true);
    return unused;
}
SCENE(two_owners_visit_each_others_locks, "RL-5, OBJ-6") {
    pthread_t first = start(own_other, NULL), second = start(own_and_visit_other, NULL);
    end_with(first, second, 3);
    REQUIRE(guarded_by_other == 2);
}

/* The owner waits for a gate while it is inside, as it does for what others queue, and a visitor waits for the owner. */
static uint32_t gate;
static int behind_gate;
static void pass_gate(void) {
    explored_gate_lock(&gate);
    behind_gate++;
    explored_gate_unlock(&gate);
}
static void *own_and_pass_gate(void *unused) {
    explored_lock_begin(&lock);
    explore_from_here();
    set(&has_owner);
    explored_lock_enter(&lock, true);
    pass_gate();
    guarded++;
    explored_lock_leave(&lock);
    return unused;
}
SCENE(the_owner_of_a_loops_lock_waits_for_a_gate_while_it_is_visited, "RL-5, OBJ-6") {
    pthread_t owner = start(own_and_pass_gate, NULL);
    await(&has_owner);
    pthread_t visitor = start(visit, (void *)1);
    pass_gate();
    end_with(owner, visitor, 2);
    REQUIRE(behind_gate == 2);
}

/* A fork while the owner is inside, or a visitor: the child has a lock of its own. */
SCENE(a_fork_while_a_loops_lock_is_held, "RL-11, OBJ-6") {
    start_owner(2);
    start(visit, (void *)1);
    become_child();
    enter_other(false);
    explored_lock_begin(&other);
    enter_other(true);
    REQUIRE(guarded_by_other == 2);
}

/* The kernel has no barriers, or refuses them from some call on, while the owner is anywhere. The visitor that meets this sleeps for
 * longer than a store may stay in a processor, and the owner may have none all the while. */
static void *own_without_barriers(void *times) {
    let_the_kernel_fail(REFUSALS | DELAYS);
    return own(times);
}
SCENE(barriers_are_refused_to_a_visitor_of_a_loops_lock, "RL-5, OBJ-6") {
    pthread_t owner = start(own_without_barriers, (void *)2);
    await(&has_owner);
    end_with(owner, start(visit, (void *)2), 4);
}
SCENE(barriers_are_refused_to_two_visitors_of_a_loops_lock, "RL-5, OBJ-6") {
    pthread_t owner = start(own_without_barriers, (void *)4);
    await(&has_owner);
    pthread_t visitor = start(visit, (void *)1);
    visit((void *)1);
    end_with(owner, visitor, 6);
}
