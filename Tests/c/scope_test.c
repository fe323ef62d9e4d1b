/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_test.c: what belongs to a scope ends with it, of every kind, once, and whatever was forgotten. */
#include "scope_kinds.h"

#define NEVER_RUN "a mode that nobody runs"

TEST(everything_that_was_forgotten_ends_with_its_scope, "SCOPE-1 SCOPE-2") {
    static struct life lives[KINDS];
    atomic_int destroyed = 0;
    treadle_scope scope = make_scope(&destroyed);
    for (int i = 0; i < KINDS; i++) {
        life_begin(&lives[i], treadle_loop_current(), NEVER_RUN);
        make_in(scope, &scope_kinds[i], &lives[i]);
    }
    CHECK(treadle_is_valid(scope));
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK(!treadle_is_valid(scope));
    CHECK_INT(destroyed, 1);
    for (int i = 0; i < KINDS; i++) {
        bool is_called = scope_kinds[i].how == BY_ITSELF || scope_kinds[i].how == BY_THREADS || scope_kinds[i].kind == TREADLE_HOLDER_POOLED;
        if (lives[i].released != 1) check_failed(__FILE__, __LINE__, "a %s was released %d times", scope_kinds[i].name, lives[i].released);
        if (!is_called && lives[i].calls) check_failed(__FILE__, __LINE__, "a %s was called", scope_kinds[i].name);
        if (lives[i].object) CHECK_INT(treadle_get_kind(lives[i].object, &(uint32_t){0}), TREADLE_E_STALE);
        life_end(&lives[i]);
    }
    CHECK_INT(holders_of(scope, NULL, 0), 0);
    CHECK_INT(treadle_scope_close(scope, 0), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
    /* What was queued has left its place only. */
    CHECK_INT(treadle_loop_run(treadle_loop_current(), NEVER_RUN, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), NEVER_RUN, 0, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(destroyed, 1);
}

/* A callback that goes on until it is let go. */
static sem_t entered, go;
static void stay(struct life *life) {
    (void)life;
    sem_post(&entered);
    await(&go);
}
static void *do_nothing(void *info) { return info; }
struct making {
    treadle_scope scope;
    const struct scope_kind *kind;
    struct life *life;
    int32_t thread_id;
};
static void *make_and_run(void *info) {
    struct making *making = info;
    CHECK_INT(pthread_setname_np(pthread_self(), "a_runner"), 0);
    making->thread_id = thread_id();
    making->life->loop = treadle_loop_current();
    treadle_timer keeper = armed_timer(NULL, NULL, NULL, FAR_AWAY, 0);
    make_in(making->scope, making->kind, making->life);
    while (making->life->calls == 0) CHECK(treadle_loop_run(treadle_loop_current(), making->life->mode, MILLISECONDS(10), 0) > 0);
    CHECK_INT(discard(keeper), TREADLE_OK);
    return NULL;
}

TEST(a_callback_that_goes_on_is_waited_for_and_told, "SCOPE-3") {
    sem_init(&entered, 0, 0), sem_init(&go, 0, 0);
    for (int i = 0; i < KINDS; i++) {
        if (scope_kinds[i].how == BY_NOTHING) continue;
        atomic_int destroyed = 0;
        struct life life;
        struct making making = {make_scope(&destroyed), &scope_kinds[i], &life, 0};
        treadle_scope_holder holders[3];
        pthread_t runner, other = 0;
        life_begin(&life, NULL, TREADLE_DEFAULT_MODE);
        life.in_callback = stay;
        if (scope_kinds[i].how == BY_THREADS) {
            make_in(making.scope, making.kind, &life);
            treadle_thread thread = NULL;
            CHECK_INT(create_thread(do_nothing, NULL, NULL, &thread), TREADLE_OK);
            CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
            CHECK_INT(treadle_release(thread), TREADLE_OK);
        } else {
            CHECK_INT(pthread_create(&runner, NULL, make_and_run, &making), 0);
            other = runner;
        }
        await(&entered);
        CHECK_INT(treadle_scope_close(making.scope, 0), TREADLE_E_TIMEOUT);
        CHECK_INT(treadle_scope_close(making.scope, MILLISECONDS(1)), TREADLE_E_TIMEOUT);
        CHECK_INT(destroyed, 0);
        CHECK_INT(treadle_scope_enter(making.scope), TREADLE_E_CLOSED);
        int count = holders_of(making.scope, holders, COUNT_OF(holders));
        if (count != 1) check_failed(__FILE__, __LINE__, "a %s: %d holders", making.kind->name, count);
        CHECK_INT(holders[0].kind, making.kind->kind);
        CHECK(holders[0].held_ns > 0);
        if (making.kind->how == BY_LOOP && holders[0].object && making.kind->kind <= TREADLE_KIND_DESCRIPTOR)
            CHECK(strlen(holders[0].label) > 3 && holders[0].thread_id == making.thread_id);
        if (making.kind->kind == TREADLE_HOLDER_POST || making.kind->kind == TREADLE_HOLDER_REQUEST)
            CHECK_INT(holders[0].thread_id, making.thread_id);
        /* Who is inside, and in which callback. */
        if (holders[0].thread_id) CHECK(holders[0].thread_name[0]);
        if (making.kind->how == BY_LOOP && holders[0].thread_id) CHECK_TEXT(holders[0].thread_name, "a_runner");
        if (making.kind->how == BY_LOOP && holders[0].label[0] && holders[0].thread_id) CHECK_TEXT(holders[0].callback, holders[0].label);
        sem_post(&go);
        CHECK_INT(treadle_scope_close(making.scope, TREADLE_FOREVER), TREADLE_OK);
        if (life.released != 1) check_failed(__FILE__, __LINE__, "a %s was released %d times", making.kind->name, life.released);
        CHECK_INT(life.calls, 1);
        CHECK_INT(destroyed, 1);
        CHECK_INT(treadle_release(making.scope), TREADLE_OK);
        if (other) CHECK_INT(pthread_join(other, NULL), 0);
        life_end(&life);
    }
}

/* Closes its own scope. */
static treadle_scope own_scope;
static atomic_int own_destroyed;
static sem_t own_end;
static void end_own(void *info) {
    (void)info;
    atomic_fetch_add(&own_destroyed, 1);
    sem_post(&own_end);
}
static void close_own(struct life *life) {
    CHECK_INT(treadle_scope_close(own_scope, TREADLE_FOREVER), TREADLE_DEFERRED);
    CHECK_INT(treadle_scope_close(own_scope, 0), TREADLE_DEFERRED);
    CHECK_INT(own_destroyed, 0);
    CHECK_INT(life->released, 0);
    CHECK_INT(treadle_scope_enter(own_scope), TREADLE_E_CLOSED);
}

TEST(a_scope_that_is_closed_from_inside_ends_when_the_callback_returns, "SCOPE-4") {
    sem_init(&own_end, 0, 0);
    for (int i = 0; i < KINDS; i++) {
        if (scope_kinds[i].how == BY_NOTHING) continue;
        treadle_scope_config config = {.struct_size = sizeof config, .destroy = end_own};
        struct life life;
        own_destroyed = 0;
        CHECK_INT(treadle_scope_create(&config, &own_scope), TREADLE_OK);
        life_begin(&life, NULL, TREADLE_DEFAULT_MODE);
        life.in_callback = close_own;
        struct making making = {own_scope, &scope_kinds[i], &life, 0};
        if (scope_kinds[i].how == BY_THREADS) make_in(own_scope, making.kind, &life);
        on_thread(scope_kinds[i].how == BY_THREADS ? do_nothing : make_and_run, &making);
        if (scope_kinds[i].how == BY_THREADS) { /* only threads with an object are told of */
            treadle_thread thread = NULL;
            CHECK_INT(create_thread(do_nothing, NULL, NULL, &thread), TREADLE_OK);
            CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
            CHECK_INT(treadle_release(thread), TREADLE_OK);
        }
        await(&own_end);
        CHECK_INT(own_destroyed, 1);
        if (life.released != 1) check_failed(__FILE__, __LINE__, "a %s was released %d times", making.kind->name, life.released);
        CHECK_INT(treadle_scope_close(own_scope, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_release(own_scope), TREADLE_OK);
        life_end(&life);
    }
}

TEST(a_closed_scope_takes_nothing_more, "SCOPE-2") {
    treadle_scope scope = make_scope(NULL);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    for (int i = 0; i < KINDS; i++) {
        struct life life;
        life_begin(&life, treadle_loop_current(), NEVER_RUN);
        treadle_status status = scope_kinds[i].make(&life);
        if (status != TREADLE_E_CLOSED) check_failed(__FILE__, __LINE__, "a %s: %d", scope_kinds[i].name, status);
        CHECK(!life.object);
        CHECK_INT(life.calls, 0);
        life_end(&life);
    }
    CHECK_INT(treadle_loop_post(treadle_loop_current(), life_called, NULL), TREADLE_E_CLOSED);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
    struct life life;
    life_begin(&life, treadle_loop_current(), NEVER_RUN);
    CHECK_INT(make_a_post(&life), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), NEVER_RUN, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(life.calls, 1);
}

static void *wait_for_request(void *info) {
    struct making *making = info;
    const char *modes[] = {NEVER_RUN};
    treadle_request request = {.struct_size = sizeof request, .fn = life_request, .target = making->life,
                               .release_target = life_released, .modes = modes, .mode_count = 1, .flags = TREADLE_PERFORM_WAIT};
    making->thread_id = thread_id();
    CHECK_INT(treadle_scope_enter(making->scope), TREADLE_OK);
    sem_post(&entered);
    CHECK_INT(treadle_perform(making->life->loop, &request), TREADLE_E_CLOSED);
    CHECK_INT(treadle_scope_leave(making->scope), TREADLE_OK);
    return NULL;
}
TEST(who_waits_for_a_request_of_a_closed_scope_is_told, "SCOPE-2") {
    sem_init(&entered, 0, 0);
    for (int i = 0; i < scaled(300); i++) {
        struct life life;
        struct making making = {make_scope(NULL), NULL, &life, 0};
        pthread_t waiter;
        life_begin(&life, treadle_loop_current(), NEVER_RUN);
        CHECK_INT(pthread_create(&waiter, NULL, wait_for_request, &making), 0);
        await(&entered);
        if (i % 2) while (holders_of(making.scope, NULL, 0) == 0) sched_yield();
        CHECK_INT(treadle_scope_close(making.scope, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(pthread_join(waiter, NULL), 0);
        CHECK_INT(life.calls, 0);
        CHECK_INT(life.released, 1);
        CHECK_INT(treadle_release(making.scope), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_run(treadle_loop_current(), NEVER_RUN, 0, 0), TREADLE_RUN_FINISHED);
}

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

TEST(a_context_names_its_scope, "SCOPE-1") {
    for (int i = 0; i < KINDS; i++) {
        if (!scope_kinds[i].has_context) continue;
        treadle_scope named = make_scope(NULL), entered_too = make_scope(NULL);
        struct life life;
        life_begin(&life, treadle_loop_current(), NEVER_RUN);
        life.scope = named;
        make_in(entered_too, &scope_kinds[i], &life);
        CHECK_INT(treadle_scope_close(entered_too, TREADLE_FOREVER), TREADLE_OK);
        if (scope_kinds[i].how != BY_ITSELF) CHECK_INT(life.released, 0);
        CHECK_INT(treadle_scope_close(named, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(life.released, 1);
        if (life.object) CHECK_INT(treadle_get_kind(life.object, &(uint32_t){0}), TREADLE_E_STALE);
        /* One that is closed, or gone, takes nothing. */
        life_end(&life);
        for (int is_gone = 0; is_gone < 2; is_gone++) {
            life_begin(&life, treadle_loop_current(), NEVER_RUN);
            life.scope = named;
            CHECK_INT(scope_kinds[i].make(&life), is_gone ? TREADLE_E_STALE : TREADLE_E_CLOSED);
            CHECK(!life.object && life.calls == 0);
            life_end(&life);
            if (!is_gone) CHECK_INT(treadle_release(named), TREADLE_OK);
        }
        CHECK_INT(treadle_release(entered_too), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_run(treadle_loop_current(), NEVER_RUN, 0, 0), TREADLE_RUN_FINISHED);
}

static treadle_scope left_open;
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

TEST_MAIN()
