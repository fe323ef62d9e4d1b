/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_test.c: scopes that are entered and left, inside of each other, to any depth; the order in which all ends; what it costs. What
 * becomes of each kind of what they take is in scope_states_test.c. */
#include "scope_kinds.h"

#define NEVER_RUN "a mode that nobody runs"

TEST(scopes_nest_and_are_left_in_order, "SCOPE-5") {
    treadle_scope outer = make_scope(NULL), inner = make_scope(NULL);
    struct life first, second, third;
    CHECK_INT(treadle_scope_leave(outer), TREADLE_E_STATE);
    CHECK_INT(treadle_scope_enter(outer), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(inner), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(outer), TREADLE_E_STATE);
    life_begin(&first, treadle_loop_current(), NEVER_RUN), life_begin(&second, treadle_loop_current(), NEVER_RUN);
    life_begin(&third, treadle_loop_current(), NEVER_RUN);
    CHECK_INT(make_a_timer(&first), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(inner), TREADLE_OK);
    CHECK_INT(make_a_timer(&second), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(outer), TREADLE_OK);
    CHECK_INT(make_a_timer(&third), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(outer), TREADLE_E_STATE);
    CHECK_INT(treadle_scope_close(inner, TREADLE_FOREVER), TREADLE_OK);
    CHECK(first.released == 1 && second.released == 0);
    /* The last reference closes it, without a wait. */
    CHECK_INT(treadle_release(outer), TREADLE_OK);
    CHECK(second.released == 1 && third.released == 0);
    CHECK(treadle_is_valid(third.object));
    CHECK_INT(discard(third.object), TREADLE_OK);
    CHECK_INT(treadle_release(inner), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(outer), TREADLE_E_STALE);
}

static treadle_scope own_scope, left_open;
static const void *leave_too_much(const void *info) {
    treadle_scope inner = make_scope(NULL);
    CHECK_INT(treadle_scope_leave(own_scope), TREADLE_E_STATE);
    CHECK_INT(treadle_scope_enter(left_open = inner), TREADLE_OK);
    return info;
}
static const void *end_thread(const void *info) {
    (void)info;
    pthread_exit(NULL);
}
static void *make_with_retain(void *retain) {
    treadle_source_context context = {.struct_size = sizeof context, .scope = own_scope, .info = retain,
                                      .retain = (treadle_retain_fn)(uintptr_t)retain};
    treadle_source source;
    CHECK_INT(treadle_scope_enter(own_scope), TREADLE_OK);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(own_scope), TREADLE_OK);
    return NULL;
}
TEST(what_a_retain_callback_does_to_scopes_ends_with_it, "SCOPE-1 SCOPE-5") {
    own_scope = make_scope(NULL);
    on_thread(make_with_retain, (void *)(uintptr_t)leave_too_much);
    CHECK(treadle_is_valid(left_open));
    CHECK_INT(treadle_scope_close(own_scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(own_scope), TREADLE_OK);
    /* Its thread ends where something was to be made, whose memory is lost. */
    if (is_instrumented()) return;
    own_scope = make_scope(NULL);
    on_thread(make_with_retain, (void *)(uintptr_t)end_thread);
    CHECK_INT(treadle_scope_close(own_scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(own_scope), TREADLE_OK);
}

TEST(a_scope_that_is_entered_is_closed_with_its_own, "SCOPE-2 SCOPE-5") {
    atomic_int destroyed = 0;
    treadle_scope outer = make_scope(NULL), inner;
    CHECK_INT(treadle_scope_enter(outer), TREADLE_OK);
    inner = make_scope(&destroyed);
    CHECK_INT(treadle_scope_leave(outer), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(inner), TREADLE_OK);
    CHECK_INT(treadle_scope_close(outer, 0), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    struct life life;
    life_begin(&life, treadle_loop_current(), NEVER_RUN);
    CHECK_INT(make_a_timer(&life), TREADLE_E_CLOSED);
    CHECK_INT(treadle_scope_leave(inner), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(inner), TREADLE_E_STALE);
    CHECK_INT(make_a_timer(&life), TREADLE_OK);
    CHECK_INT(discard(life.object), TREADLE_OK);
    CHECK_INT(treadle_release(outer), TREADLE_OK);
}

static atomic_int destroying;
static void *close_it(void *scope) {
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(destroying, 2);
    return NULL;
}
static void destroy_slowly(void *info) {
    treadle_scope *scope = info;
    destroying = 1;
    CHECK_INT(treadle_scope_close(*scope, TREADLE_FOREVER), TREADLE_DEFERRED);
    linger(MICROSECONDS(200));
    destroying = 2;
}
static void destroy_and_exit(void *info) {
    destroying = 2;
    pthread_exit(info);
}
TEST(whoever_closes_a_scope_waits_for_its_destroy, "SCOPE-3 SCOPE-4") {
    for (int i = 0; i < scaled(200) + 2; i++) {
        treadle_scope scope = NULL;
        treadle_scope_config config = {.struct_size = sizeof config, .info = &scope, .destroy = i % 2 ? destroy_slowly : destroy_and_exit};
        pthread_t threads[2];
        destroying = 0;
        CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
        for (int n = 0; n < 2; n++) CHECK_INT(pthread_create(&threads[n], NULL, close_it, scope), 0);
        for (int n = 0; n < 2; n++) CHECK_INT(pthread_join(threads[n], NULL), 0);
        CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_release(scope), TREADLE_OK);
    }
}

TEST(what_was_made_last_ends_first, "SCOPE-7") {
    enum { ROUNDS = 4 };
    static struct life lives[ROUNDS * KINDS];
    for (int step = 1; step <= 3; step++) {
        int count = 0;
        treadle_scope scope = make_scope(NULL);
        for (int i = 0; i < ROUNDS * KINDS; i++) {
            const struct scope_kind *kind = &scope_kinds[i * step % KINDS];
            if (kind->how == BY_ITSELF) continue; /* a thread ends when its function has returned */
            life_begin(&lives[count], treadle_loop_current(), NEVER_RUN);
            make_in(scope, kind, &lives[count++]);
            /* What has ended by itself leaves the order of the others as it is. */
            CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
            CHECK_INT(discard(make_timer(NULL, NULL, FAR_AWAY, 0)), TREADLE_OK);
            CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
        }
        life_releases = 0;
        CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
        for (int i = 0; i < count; i++) CHECK_INT(lives[i].released_as, count - 1 - i);
        for (int i = 0; i < count; i++) life_end(&lives[i]);
        CHECK_INT(treadle_release(scope), TREADLE_OK);
        treadle_loop_run(treadle_loop_current(), NEVER_RUN, 0, 0);
    }
}

TEST(a_thread_may_enter_no_scope, "SCOPE-5") {
    treadle_scope scope = make_scope(NULL);
    CHECK_INT(treadle_scope_leave(NULL), TREADLE_E_STATE);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(NULL), TREADLE_E_STATE);
    CHECK_INT(treadle_scope_enter(NULL), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_E_STATE);
    treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, 0);
    CHECK_INT(holders_of(scope, NULL, 0), 0);
    CHECK_INT(treadle_scope_leave(NULL), TREADLE_OK);
    treadle_timer other = make_timer(NULL, NULL, FAR_AWAY, 0);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(NULL), TREADLE_E_STATE);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK(treadle_is_valid(timer));
    CHECK_INT(treadle_release(other), TREADLE_E_STALE);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}

static treadle_timer made_in_callback;
static void make_in_callback(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    made_in_callback = make_timer(NULL, NULL, FAR_AWAY, 0);
}
TEST(what_callbacks_of_a_run_inside_of_a_scope_make_is_not_its, "SCOPE-1") {
    treadle_scope scope = make_scope(NULL);
    treadle_timer timer = armed_timer(make_in_callback, NULL, NULL, 0, 0);
    for (int way = 0; way < 2; way++) {
        made_in_callback = NULL;
        CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK);
        CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
        while (!made_in_callback) {
            if (way == 0) treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, MILLISECONDS(10), 0);
            if (way == 1) treadle_loop_dispatch(treadle_loop_current(), TREADLE_DEFAULT_MODE, MILLISECONDS(10), 100);
        }
        CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
        CHECK_INT(holders_of(scope, NULL, 0), 0);
        CHECK_INT(discard(made_in_callback), TREADLE_OK);
    }
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
    CHECK_INT(discard(timer), TREADLE_OK);
}

static void *enter_and_end(void *scope) {
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    return NULL;
}
TEST(a_thread_that_ends_leaves_its_scopes, "SCOPE-5") {
    atomic_int destroyed = 0;
    treadle_scope scope = make_scope(&destroyed);
    on_thread(enter_and_end, scope);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_E_STALE);
    CHECK_INT(destroyed, 1);
}

TEST(members_that_have_ended_cost_nothing, "SCOPE-1") {
    enum { ROUNDS = 300000, LIVING = 10000 };
    treadle_scope scope = make_scope(NULL);
    treadle_timer timers[LIVING];
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    for (int i = 0; i < 5000; i++) CHECK_INT(discard(make_timer(NULL, NULL, FAR_AWAY, 0)), TREADLE_OK);
    long before = resident_kilobytes();
    for (int i = 0; i < scaled(ROUNDS); i++) CHECK_INT(discard(make_timer(NULL, NULL, FAR_AWAY, 0)), TREADLE_OK);
    CHECK(is_instrumented() || resident_kilobytes() - before < 500);
    for (int i = 0; i < LIVING; i++) timers[i] = make_timer(NULL, NULL, FAR_AWAY, 0);
    CHECK(holders_of(scope, NULL, 0) >= LIVING);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    for (int i = 0; i < LIVING; i++) CHECK_INT(treadle_release(timers[i]), TREADLE_E_STALE);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}

/* The work to end a scope does not grow with the number of other scopes. With work of that kind this takes many times the watchdog's
 * limit. */
TEST(scopes_end_among_many_others, "SCOPE-1 SCOPE-2") {
    enum { SCOPES = 200000 };
    static treadle_scope scopes[SCOPES];
    int failures = 0;
    for (int i = 0; i < SCOPES; i++) scopes[i] = make_scope(NULL);
    for (int i = 0; i < SCOPES; i++) failures += treadle_release(scopes[(i * 7919L) % SCOPES]) != TREADLE_OK;
    CHECK_INT(failures, 0);
}

/* --- Deeper than a small stack could follow --------------------------------------------------------- */

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
