/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_deep_test.c: scopes inside of scopes, deeper than a small stack could follow. */
#include "scope_kinds.h"

enum { DEPTH = 2000, STACK = 128 * 1024 };
static treadle_scope scopes[DEPTH];
static struct life life; /* in the innermost one */
static atomic_int destroyed;
static treadle_status closed_inside;

static void destroy(void *number) {
    /* The inner ones first. */
    CHECK_INT((intptr_t)number, DEPTH - 1 - atomic_fetch_add(&destroyed, 1));
}
static void nest(void) {
    destroyed = 0;
    life_begin(&life, treadle_loop_current(), TREADLE_DEFAULT_MODE);
    for (intptr_t i = 0; i < DEPTH; i++) {
        treadle_scope_config config = {.struct_size = sizeof config, .destroy = destroy, .info = (void *)i};
        CHECK_INT(treadle_scope_create(&config, &scopes[i]), TREADLE_OK);
        CHECK_INT(treadle_scope_enter(scopes[i]), TREADLE_OK);
    }
    CHECK_INT(make_a_timer(&life), TREADLE_OK);
    for (int i = DEPTH; i-- > 0;) CHECK_INT(treadle_scope_leave(scopes[i]), TREADLE_OK);
}
static void check_end(void) {
    CHECK_INT(destroyed, DEPTH);
    CHECK_INT(life.released, 1);
    for (int i = 1; i < DEPTH; i++) CHECK(!treadle_is_valid(scopes[i]));
    CHECK_INT(treadle_release(scopes[0]), TREADLE_OK);
}

static void *close_outside(void *unused) {
    nest();
    CHECK_INT(treadle_scope_close(scopes[0], TREADLE_FOREVER), TREADLE_OK);
    check_end();
    return unused;
}
static void close_all_from_here(struct life *inner) {
    (void)inner;
    closed_inside = treadle_scope_close(scopes[0], TREADLE_FOREVER);
}
static void *close_inside(void *unused) {
    nest();
    life.in_callback = close_all_from_here;
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK_INT(life.calls, 1);
    CHECK_INT(closed_inside, TREADLE_DEFERRED);
    check_end();
    return unused;
}

static sem_t in_callback, go_on;
static void stay(struct life *inner) {
    (void)inner;
    sem_post(&in_callback);
    await(&go_on);
}
static void *run_it(void *unused) {
    nest();
    life.in_callback = stay;
    poll_mode(TREADLE_DEFAULT_MODE);
    return unused;
}
static void *close_elsewhere(void *unused) {
    CHECK_INT(treadle_scope_close(scopes[0], 0), TREADLE_E_TIMEOUT);
    sem_post(&go_on);
    CHECK_INT(treadle_scope_close(scopes[0], TREADLE_FOREVER), TREADLE_OK);
    return unused;
}
static void on_small_stack(void *(*fn)(void *), pthread_t *out_thread) {
    pthread_attr_t attributes;
    CHECK_INT(pthread_attr_init(&attributes), 0);
    CHECK_INT(pthread_attr_setstacksize(&attributes, STACK), 0);
    CHECK_INT(pthread_create(out_thread, &attributes, fn, NULL), 0);
    CHECK_INT(pthread_attr_destroy(&attributes), 0);
}

TEST(scopes_nest_deeper_than_a_stack, "SCOPE-2 SCOPE-7") {
    pthread_t thread;
    on_small_stack(close_outside, &thread);
    CHECK_INT(pthread_join(thread, NULL), 0);
}
TEST(a_deep_scope_is_closed_from_inside, "SCOPE-4") {
    pthread_t thread;
    on_small_stack(close_inside, &thread);
    CHECK_INT(pthread_join(thread, NULL), 0);
}
TEST(a_deep_scope_waits_for_what_runs_at_its_bottom, "SCOPE-3") {
    pthread_t runner, closer;
    sem_init(&in_callback, 0, 0), sem_init(&go_on, 0, 0);
    on_small_stack(run_it, &runner);
    await(&in_callback);
    on_small_stack(close_elsewhere, &closer);
    CHECK_INT(pthread_join(closer, NULL), 0);
    CHECK_INT(pthread_join(runner, NULL), 0);
    check_end();
}

TEST_MAIN()
