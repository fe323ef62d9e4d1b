/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * litmus.c: the explorer's memory model against C's. Each test is a few operations of a few threads, and an outcome:
 * SEEN, which C's memory model allows, and some schedule must reach; NEVER_SEEN, which it forbids; NOT_SEEN, which
 * it allows and the explorer does not reach. */
#include "owner.h"

static _Atomic int x, y, z;
static int data, r[4];
#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define BOTH memory_order_acq_rel
#define STRICT memory_order_seq_cst
#define STORE(WORD, VALUE, ORDER) atomic_store_explicit(&WORD, VALUE, ORDER)
#define LOAD(WORD, ORDER) atomic_load_explicit(&WORD, ORDER)
#define EXCHANGE(WORD, VALUE, ORDER) atomic_exchange_explicit(&WORD, VALUE, ORDER)
#define ADD(WORD, VALUE, ORDER) atomic_fetch_add_explicit(&WORD, VALUE, ORDER)
#define FENCE(ORDER) atomic_thread_fence(ORDER)
static inline bool replace(_Atomic int *word, int expected, int value, memory_order order) {
    return atomic_compare_exchange_strong_explicit(word, &expected, value, order, RELAXED);
}

typedef void body(void);
static void *run_test_body(void *body_of_a_test) {
    ((body *)body_of_a_test)();
    return NULL;
}
static void run_bodies(int count, body *const *bodies) {
    pthread_t threads[4];
    explore_from_here();
    for (int i = 0; i < count; i++) threads[i] = start(run_test_body, (void *)bodies[i]);
    for (int i = 0; i < count; i++) join(threads[i]);
}
#define TEST(NAME, MESSAGE, OUTCOME, ...)                                                                              \
    REGISTERED(litmus_##NAME, NULL, MESSAGE) {                                                                         \
        static body *const bodies[] = {__VA_ARGS__};                                                                   \
        run_bodies(sizeof bodies / sizeof *bodies, bodies);                                                            \
        REQUIRE(!(OUTCOME));                                                                                           \
    }
#define TWO(NAME, MESSAGE, OUTCOME, FIRST, SECOND)                                                                     \
    static void NAME##_1(void) { FIRST; }                                                                              \
    static void NAME##_2(void) { SECOND; }                                                                             \
    TEST(NAME, MESSAGE, OUTCOME, NAME##_1, NAME##_2)
#define THREE(NAME, MESSAGE, OUTCOME, FIRST, SECOND, THIRD)                                                            \
    static void NAME##_1(void) { FIRST; }                                                                              \
    static void NAME##_2(void) { SECOND; }                                                                             \
    static void NAME##_3(void) { THIRD; }                                                                              \
    TEST(NAME, MESSAGE, OUTCOME, NAME##_1, NAME##_2, NAME##_3)
#define FOUR(NAME, MESSAGE, OUTCOME, FIRST, SECOND, THIRD, FOURTH)                                                     \
    static void NAME##_1(void) { FIRST; }                                                                              \
    static void NAME##_2(void) { SECOND; }                                                                             \
    static void NAME##_3(void) { THIRD; }                                                                              \
    static void NAME##_4(void) { FOURTH; }                                                                             \
    TEST(NAME, MESSAGE, OUTCOME, NAME##_1, NAME##_2, NAME##_3, NAME##_4)
#define SEEN "litmus.c:"
#define NEVER_SEEN NULL
#define NOT_SEEN NULL

/* --- A message: what was written before a flag, for a thread that has found the flag ----------------- */

#define FLAG_WITHOUT_MESSAGE r[0] == 1 && r[1] == 0
TWO(message, SEEN, FLAG_WITHOUT_MESSAGE,
    STORE(x, 1, RELAXED); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, RELAXED); r[1] = LOAD(x, RELAXED))
TWO(message_released, SEEN, FLAG_WITHOUT_MESSAGE,
    STORE(x, 1, RELAXED); STORE(y, 1, RELEASE),
    r[0] = LOAD(y, RELAXED); r[1] = LOAD(x, RELAXED))
TWO(message_acquired, SEEN, FLAG_WITHOUT_MESSAGE,
    STORE(x, 1, RELAXED); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, ACQUIRE); r[1] = LOAD(x, RELAXED))
TWO(message_ordered, NEVER_SEEN, FLAG_WITHOUT_MESSAGE,
    STORE(x, 1, RELAXED); STORE(y, 1, RELEASE),
    r[0] = LOAD(y, ACQUIRE); r[1] = LOAD(x, RELAXED))
TWO(message_behind_one_fence, SEEN, FLAG_WITHOUT_MESSAGE,
    STORE(x, 1, RELAXED); FENCE(RELEASE); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, RELAXED); r[1] = LOAD(x, RELAXED))
TWO(message_behind_fences, NEVER_SEEN, FLAG_WITHOUT_MESSAGE,
    STORE(x, 1, RELAXED); FENCE(RELEASE); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, RELAXED); FENCE(ACQUIRE); r[1] = LOAD(x, RELAXED))
/* The update is before the store in the word's order. */
TWO(message_to_an_update, SEEN, FLAG_WITHOUT_MESSAGE,
    STORE(x, 1, RELAXED); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, ACQUIRE); r[1] = ADD(x, 0, BOTH))
TWO(message_to_a_comparison, SEEN, r[0] == 1 && r[1],
    STORE(x, 1, RELAXED); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, ACQUIRE); r[1] = replace(&x, 0, 2, BOTH))
TWO(message_to_a_failed_comparison, SEEN, r[0] == 1 && !r[1],
    STORE(x, 1, RELAXED); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, ACQUIRE); r[1] = replace(&x, 1, 2, BOTH))
TWO(message_ordered_to_an_update, NEVER_SEEN, FLAG_WITHOUT_MESSAGE,
    STORE(x, 1, RELAXED); STORE(y, 1, RELEASE),
    r[0] = LOAD(y, ACQUIRE); r[1] = ADD(x, 0, RELAXED))
/* No store is between an update and the one that it has read. */
TWO(update_of_an_update, NEVER_SEEN, FLAG_WITHOUT_MESSAGE,
    ADD(x, 1, RELAXED); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, ACQUIRE); r[1] = ADD(x, 1, RELAXED))
THREE(message_by_a_third, NEVER_SEEN, r[1] && !r[2],
      STORE(x, 1, RELAXED),
      r[0] = LOAD(x, ACQUIRE); if (r[0]) STORE(y, 1, RELEASE),
      r[1] = LOAD(y, ACQUIRE); r[2] = LOAD(x, RELAXED))
THREE(message_by_two_flags, NEVER_SEEN, r[0] && !r[1],
      STORE(x, 1, RELAXED); STORE(y, 1, RELEASE),
      if (LOAD(y, ACQUIRE)) STORE(z, 1, RELEASE),
      r[0] = LOAD(z, ACQUIRE); r[1] = LOAD(x, RELAXED))
/* An update goes on with the release of the store that it has read; a store does not. */
#define USE_DATA if (LOAD(x, ACQUIRE) == 2) r[0] = *(volatile int *)&data
THREE(release_continued, NEVER_SEEN, false,
      data = 1; STORE(x, 1, RELEASE),
      replace(&x, 1, 2, RELAXED),
      USE_DATA)
THREE(release_broken, "a data race", false,
      data = 1; STORE(x, 1, RELEASE),
      if (LOAD(x, RELAXED) == 1) STORE(x, 2, RELAXED),
      USE_DATA)

/* --- Two that write, then look at the other's --------------------------------------------------------- */

#define BOTH_MISSED r[0] == 0 && r[1] == 0
TWO(look, SEEN, BOTH_MISSED,
    STORE(x, 1, RELEASE); r[0] = LOAD(y, ACQUIRE),
    STORE(y, 1, RELEASE); r[1] = LOAD(x, ACQUIRE))
TWO(look_strictly, NEVER_SEEN, BOTH_MISSED,
    STORE(x, 1, STRICT); r[0] = LOAD(y, STRICT),
    STORE(y, 1, STRICT); r[1] = LOAD(x, STRICT))
TWO(look_strictly_but_for_one, SEEN, BOTH_MISSED,
    STORE(x, 1, STRICT); r[0] = LOAD(y, ACQUIRE),
    STORE(y, 1, STRICT); r[1] = LOAD(x, STRICT))
TWO(look_behind_fences, NEVER_SEEN, BOTH_MISSED,
    STORE(x, 1, RELAXED); FENCE(STRICT); r[0] = LOAD(y, RELAXED),
    STORE(y, 1, RELAXED); FENCE(STRICT); r[1] = LOAD(x, RELAXED))
TWO(look_behind_one_fence, SEEN, BOTH_MISSED,
    STORE(x, 1, RELAXED); FENCE(STRICT); r[0] = LOAD(y, RELAXED),
    STORE(y, 1, RELAXED); r[1] = LOAD(x, RELAXED))
TWO(look_behind_a_fence_or_strictly, NEVER_SEEN, BOTH_MISSED,
    STORE(x, 1, RELAXED); FENCE(STRICT); r[0] = LOAD(y, RELAXED),
    STORE(y, 1, STRICT); r[1] = LOAD(x, STRICT))
TWO(look_behind_updates, SEEN, BOTH_MISSED,
    EXCHANGE(x, 1, BOTH); r[0] = LOAD(y, RELAXED),
    EXCHANGE(y, 1, BOTH); r[1] = LOAD(x, RELAXED))
TWO(look_behind_strict_updates, NEVER_SEEN, BOTH_MISSED,
    EXCHANGE(x, 1, STRICT); r[0] = LOAD(y, STRICT),
    EXCHANGE(y, 1, STRICT); r[1] = LOAD(x, STRICT))
/* Of two updates of one word the later one sees what the earlier one has written. */
TWO(look_behind_updates_of_one_word, NEVER_SEEN, BOTH_MISSED,
    STORE(x, 1, RELAXED); ADD(z, 0, BOTH); r[0] = LOAD(y, RELAXED),
    STORE(y, 1, RELAXED); ADD(z, 0, BOTH); r[1] = LOAD(x, RELAXED))
TWO(look_by_an_update, SEEN, BOTH_MISSED,
    STORE(x, 1, RELAXED); r[0] = LOAD(y, RELAXED),
    STORE(y, 1, STRICT); r[1] = ADD(x, 2, STRICT))
TWO(look_strictly_by_an_update, NEVER_SEEN, BOTH_MISSED,
    STORE(x, 1, STRICT); r[0] = LOAD(y, STRICT),
    STORE(y, 1, STRICT); r[1] = ADD(x, 2, STRICT))

/* --- The order of the stores of a word ----------------------------------------------------------------- */

TWO(first_stores_are_last, SEEN, LOAD(x, RELAXED) == 1 && LOAD(y, RELAXED) == 1,
    STORE(x, 1, RELAXED); STORE(y, 2, RELAXED),
    STORE(y, 1, RELAXED); STORE(x, 2, RELAXED))
TWO(first_stores_are_last_behind_fences, NEVER_SEEN, LOAD(x, RELAXED) == 1 && LOAD(y, RELAXED) == 1,
    STORE(x, 1, RELAXED); FENCE(STRICT); STORE(y, 2, RELAXED),
    STORE(y, 1, RELAXED); FENCE(STRICT); STORE(x, 2, RELAXED))
TWO(store_behind_a_message_is_first, SEEN, r[0] == 1 && LOAD(x, RELAXED) == 2,
    STORE(x, 2, RELAXED); STORE(y, 1, RELAXED),
    r[0] = LOAD(y, ACQUIRE); STORE(x, 1, RELAXED))
TWO(store_behind_a_message_is_first_in_order, NEVER_SEEN, r[0] == 1 && LOAD(x, RELAXED) == 2,
    STORE(x, 2, RELAXED); STORE(y, 1, RELEASE),
    r[0] = LOAD(y, ACQUIRE); STORE(x, 1, RELAXED))
TWO(store_is_last_and_misses, SEEN, LOAD(y, RELAXED) == 2 && r[0] == 0,
    STORE(x, 1, RELAXED); STORE(y, 1, RELAXED),
    STORE(y, 2, RELAXED); r[0] = LOAD(x, RELAXED))
TWO(store_is_last_and_misses_behind_fences, NEVER_SEEN, LOAD(y, RELAXED) == 2 && r[0] == 0,
    STORE(x, 1, RELAXED); FENCE(STRICT); STORE(y, 1, RELAXED),
    STORE(y, 2, RELAXED); FENCE(STRICT); r[0] = LOAD(x, RELAXED))
TWO(word_goes_back, NEVER_SEEN, r[0] > r[1],
    STORE(x, 1, RELAXED); STORE(x, 2, RELAXED),
    r[0] = LOAD(x, RELAXED); r[1] = LOAD(x, RELAXED))

/* --- Two that find two stores in different orders ------------------------------------------------------- */

#define IN_TWO_ORDERS r[0] && !r[1] && r[2] && !r[3]
FOUR(two_orders, SEEN, IN_TWO_ORDERS,
     STORE(x, 1, RELEASE),
     STORE(y, 1, RELEASE),
     r[0] = LOAD(x, ACQUIRE); r[1] = LOAD(y, ACQUIRE),
     r[2] = LOAD(y, ACQUIRE); r[3] = LOAD(x, ACQUIRE))
FOUR(two_orders_strictly, NEVER_SEEN, IN_TWO_ORDERS,
     STORE(x, 1, STRICT),
     STORE(y, 1, STRICT),
     r[0] = LOAD(x, STRICT); r[1] = LOAD(y, STRICT),
     r[2] = LOAD(y, STRICT); r[3] = LOAD(x, STRICT))
FOUR(two_orders_strictly_read, NEVER_SEEN, IN_TWO_ORDERS,
     STORE(x, 1, RELAXED),
     STORE(y, 1, RELAXED),
     r[0] = LOAD(x, STRICT); r[1] = LOAD(y, STRICT),
     r[2] = LOAD(y, STRICT); r[3] = LOAD(x, STRICT))
FOUR(two_orders_behind_fences, NEVER_SEEN, IN_TWO_ORDERS,
     STORE(x, 1, RELAXED),
     STORE(y, 1, RELAXED),
     r[0] = LOAD(x, RELAXED); FENCE(STRICT); r[1] = LOAD(y, RELAXED),
     r[2] = LOAD(y, RELAXED); FENCE(STRICT); r[3] = LOAD(x, RELAXED))
/* A thread with a fence has found x, and not y; another one, which wrote y, looks at x strictly. */
THREE(two_orders_by_a_fence, NEVER_SEEN, r[0] == 1 && r[1] == 0 && r[2] == 0,
      STORE(x, 1, RELAXED),
      r[0] = LOAD(x, RELAXED); FENCE(STRICT); r[1] = LOAD(y, RELAXED),
      STORE(y, 1, STRICT); r[2] = LOAD(x, STRICT))

/* --- What the search must find --------------------------------------------------------------------------- */

static void add_by_halves(void) {
    for (int i = 0; i < 2; i++) STORE(x, LOAD(x, RELAXED) + 1, RELAXED);
}
TEST(additions_are_lost, SEEN, LOAD(x, RELAXED) < 4, add_by_halves, add_by_halves)
/* Three preemptions, or two and an old value. */
TEST(all_additions_but_two_are_lost, SEEN, LOAD(x, RELAXED) == 2, add_by_halves, add_by_halves, add_by_halves)
/* Each takes the steps of its turn, if that comes in time: more preemptions than are exhausted, which chance finds. */
static void take_even_steps(void) {
    for (int i = 0; i <= 4; i += 2) replace(&x, i, i + 1, RELAXED);
}
static void take_odd_steps(void) {
    for (int i = 1; i <= 5; i += 2) replace(&x, i, i + 1, RELAXED);
}
TEST(steps_are_taken_in_turn, SEEN, LOAD(x, RELAXED) == 6, take_even_steps, take_odd_steps)
static void wait_for_three(void) {
    while (LOAD(x, RELAXED) != 3) {}
}
static void store_one(void) { STORE(x, 1, RELAXED); }
TEST(nothing_comes, "livelock", false, store_one, wait_for_three)
static int *volatile nowhere;
TWO(address_is_bad, "signal 11", false,
    STORE(x, 1, RELAXED); STORE(x, 2, RELAXED),
    if (LOAD(x, RELAXED) == 1) *nowhere = 1)

/* --- What the explorer does not see ------------------------------------------------------------------------ */

/* Each reads what the other writes later: a load that is delayed behind a later store of the same thread. */
TWO(load_is_late, NOT_SEEN, r[0] == 1 && r[1] == 1,
    r[0] = LOAD(x, RELAXED); STORE(y, 1, RELAXED),
    r[1] = LOAD(y, RELAXED); STORE(x, 1, RELAXED))
/* The same on one side: the other stores what the load finds only because it has seen the store behind that load. */
TWO(load_is_late_and_its_store_is_first, NOT_SEEN, r[0] == 2 && LOAD(x, RELAXED) == 2,
    r[0] = LOAD(x, RELAXED); STORE(y, 1, RELAXED),
    if (LOAD(y, RELAXED) == 1) STORE(x, 2, RELAXED))
