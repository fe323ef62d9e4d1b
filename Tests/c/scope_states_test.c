/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_states_test.c: each kind of what a scope takes by what has happened to it when its scope is closed, and by what goes on of it then.
 * Whatever that is: its info is given back once, it is not called any more, its handle is stale, and its loop is as if it had not been there. */
#include "scope_kinds.h"

#define M TREADLE_DEFAULT_MODE
#define NEVER_RUN "a mode that nobody runs"

struct state {
    const struct scope_kind *kind;
    struct life life, other; /* other: of the same kind, made behind it, which is never called */
    treadle_scope scope;
    atomic_int destroyed;
    int32_t thread_id; /* of who makes it */
};
static treadle_loop here(void) { return treadle_loop_current(); }
static bool is_called_by_loop(const struct state *state) { return state->kind->how == BY_LOOP || state->kind->how == BY_OWN_LOOP; }
static bool is_item(const struct state *state) {
    return state->kind->how == BY_LOOP && state->life.object && state->kind->make != make_an_invocation && state->kind->make != make_a_closure;
}
static void begin(struct state *state, const struct scope_kind *kind) {
    watch_reports(); /* of late calls of closures */
    *state = (struct state){.kind = kind};
    state->scope = make_scope(&state->destroyed);
    life_begin(&state->life, here(), M);
    life_begin(&state->other, here(), NEVER_RUN);
}
static void make(struct state *state) { make_in(state->scope, state->kind, &state->life); }
static void close_scope(struct state *state) { CHECK_INT(treadle_scope_close(state->scope, TREADLE_FOREVER), TREADLE_OK); }
/* Until it is called: what comes by a socket may take more than a pass. */
static void ask(struct state *state) {
    if (state->kind->use) state->kind->use(&state->life);
    while (state->life.calls == 0) CHECK(treadle_loop_run(here(), M, MILLISECONDS(10), TREADLE_RUN_WHEN_EMPTY) > 0);
}
/* The scope is closed. */
static void check_end(struct state *state, const char *happening) {
    struct life *life = &state->life;
    int calls = life->calls;
    if (life->released != 1 || state->destroyed != 1)
        check_failed(__FILE__, __LINE__, "a %s that %s: %d released, %d destroyed", state->kind->name, happening, life->released, state->destroyed);
    if (life->object && treadle_get_kind(life->object, &(uint32_t){0}) != TREADLE_E_STALE)
        check_failed(__FILE__, __LINE__, "a %s that %s is there still", state->kind->name, happening);
    if (life->code) life->code();
    CHECK_INT(holders_of(state->scope, NULL, 0), 0);
    CHECK_INT(treadle_scope_close(state->scope, 0), TREADLE_OK);
    CHECK_INT(treadle_release(state->scope), TREADLE_OK);
    treadle_loop_run(here(), M, 0, 0); /* what was queued has left its place only */
    CHECK_INT(treadle_loop_run(here(), M, 0, 0), TREADLE_RUN_FINISHED);
    if (state->kind->how != BY_THREADS) CHECK_INT(life->calls, calls);
    CHECK(state->destroyed == 1 && life->released == 1);
    life_end(life);
}

/* --- What has happened to it ------------------------------------------------------------------------ */

/* Each makes it, and says whether there is such a thing of this kind. */
static bool is_forgotten(struct state *state) { return make(state), true; }
static bool is_released(struct state *state) {
    make(state);
    if (state->life.object) CHECK_INT(treadle_release(state->life.object), TREADLE_OK);
    return state->life.object;
}
static bool leaves(struct state *state) {
    make(state);
    if (is_item(state)) CHECK_INT(treadle_loop_remove(here(), state->life.object, M), TREADLE_OK);
    return is_item(state);
}
static bool is_invalid(struct state *state) {
    make(state);
    bool can_be = is_item(state) || state->life.code;
    if (can_be) CHECK_INT(treadle_invalidate(state->life.object), TREADLE_OK);
    return can_be;
}
static bool is_closed(struct state *state) {
    make(state);
    bool can_be = is_item(state) || state->life.code || state->kind->make == make_a_scope;
    /* A call of the closure waits for this loop. */
    if (can_be) CHECK_INT(treadle_close(state->life.object, TREADLE_FOREVER), state->life.code ? TREADLE_E_DEADLOCK : TREADLE_OK);
    return can_be;
}
static bool is_called(struct state *state) {
    make(state);
    bool can_be = is_called_by_loop(state) || state->kind->how == BY_USER;
    if (can_be) ask(state);
    return can_be;
}
/* An observer before everything else of the pass. */
static void close_before(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, close_scope(info); }
static bool is_due(struct state *state) {
    treadle_observer_context context = {.struct_size = sizeof context, .notify = close_before, .info = state, .activities = TREADLE_BEFORE_TIMERS,
                                        .order = -10, .once = true};
    treadle_observer observer = NULL;
    make(state);
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add(here(), observer, M), TREADLE_OK);
    treadle_loop_run(here(), M, 0, TREADLE_RUN_WHEN_EMPTY);
    CHECK_INT(discard(observer), TREADLE_OK);
    return true;
}
static void *close_elsewhere(void *state) { return close_scope(state), NULL; }
static bool is_of_a_loop_that_rests(struct state *state) {
    make(state);
    on_thread(close_elsewhere, state);
    return true;
}
/* Of what has no handle nothing is left when its thread ends. */
static void *make_it_there(void *info) {
    struct state *state = info;
    state->life.loop = here();
    make(state);
    return NULL;
}
static bool is_of_a_thread_that_ends(struct state *state) {
    on_thread(make_it_there, state);
    if (state->kind->how != BY_ITSELF) CHECK_INT(holders_of(state->scope, NULL, 0), state->life.object || state->kind->how == BY_THREADS);
    return true;
}
static const struct happening {
    const char *name;
    bool (*happen)(struct state *);
    int calls; /* of what a loop or a user calls */
} happenings[] = {
    {"is forgotten", is_forgotten, 0},
    {"is released", is_released, 0},
    {"leaves its mode", leaves, 0},
    {"is invalid", is_invalid, 0},
    {"is closed", is_closed, 0},
    {"is called", is_called, 1},
    {"is due", is_due, 0},
    {"is of a loop that rests", is_of_a_loop_that_rests, 0},
    {"is of a thread that ends", is_of_a_thread_that_ends, 0},
};
TEST(each_kind_ends_with_its_scope_whatever_has_happened_to_it, "SCOPE-1 SCOPE-2 RL-8") {
    for (int i = 0; i < KINDS; i++)
        for (int k = 0; k < COUNT_OF(happenings); k++) {
            struct state state;
            begin(&state, &scope_kinds[i]);
            bool has_happened = happenings[k].happen(&state);
            close_scope(&state);
            if (has_happened && (is_called_by_loop(&state) || scope_kinds[i].how == BY_USER) && state.life.calls != happenings[k].calls)
                check_failed(__FILE__, __LINE__, "a %s that %s: %d calls", scope_kinds[i].name, happenings[k].name, state.life.calls);
            check_end(&state, happenings[k].name);
        }
}

/* --- What goes on of it ----------------------------------------------------------------------------- */

static void *do_nothing(void *info) { return info; }
static void end_a_thread(void) { /* only threads with an object are told of */
    treadle_thread thread = NULL;
    CHECK_INT(create_thread(do_nothing, NULL, NULL, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_release(thread), TREADLE_OK);
}
static void *make_and_ask(void *info) {
    struct state *state = info;
    CHECK_INT(pthread_setname_np(pthread_self(), "a_runner"), 0);
    state->thread_id = thread_id();
    state->life.loop = state->other.loop = here();
    treadle_timer keeper = armed_timer(NULL, NULL, NULL, FAR_AWAY, 0);
    make(state);
    if (is_called_by_loop(state) || state->kind->how == BY_USER) make_in(state->scope, state->kind, &state->other);
    ask(state);
    CHECK_INT(discard(keeper), TREADLE_OK);
    return NULL;
}
/* Has it called on another thread, and waits for that in the end. */
static pthread_t asker;
static void have_called(struct state *state) {
    if (state->kind->how == BY_THREADS) make(state), end_a_thread();
    else CHECK_INT(pthread_create(&asker, NULL, make_and_ask, state), 0);
}
static void end_called(struct state *state, const char *happening) {
    CHECK(state->life.calls == 1 && state->other.calls == 0);
    if (state->kind->how != BY_THREADS) CHECK_INT(pthread_join(asker, NULL), 0);
    life_end(&state->other);
    check_end(state, happening);
}

/* It is waited for and told; what waits behind it ends at once. */
static sem_t entered, go;
static void stay(struct life *life) {
    (void)life;
    sem_post(&entered);
    await(&go);
}
TEST(a_callback_that_goes_on_is_waited_for_and_told, "SCOPE-2 SCOPE-3") {
    sem_init(&entered, 0, 0), sem_init(&go, 0, 0);
    for (int i = 0; i < KINDS; i++) {
        const struct scope_kind *kind = &scope_kinds[i];
        treadle_scope_holder holders[3];
        struct state state;
        if (kind->how == BY_NOTHING) continue;
        begin(&state, kind);
        state.life.in_callback = stay;
        have_called(&state);
        await(&entered);
        CHECK_INT(holders_of(state.scope, holders, COUNT_OF(holders)), is_called_by_loop(&state) || kind->how == BY_USER ? 2 : 1);
        CHECK_INT(holders[0].held_ns, 0);
        CHECK_INT(treadle_scope_close(state.scope, 0), TREADLE_E_TIMEOUT);
        CHECK_INT(treadle_scope_close(state.scope, MILLISECONDS(1)), TREADLE_E_TIMEOUT);
        CHECK(state.destroyed == 0 && state.life.released == 0);
        CHECK_INT(treadle_scope_enter(state.scope), TREADLE_E_CLOSED);
        int count = holders_of(state.scope, holders, COUNT_OF(holders));
        if (count != 1) check_failed(__FILE__, __LINE__, "a %s: %d holders", kind->name, count);
        if (is_called_by_loop(&state) || kind->how == BY_USER) CHECK_INT(state.other.released, 1);
        CHECK_INT(holders[0].kind, kind->kind);
        CHECK(holders[0].held_ns > 0);
        if (is_item(&state)) CHECK(strlen(holders[0].label) > 3 && holders[0].thread_id == state.thread_id);
        if (kind->kind == TREADLE_HOLDER_POST || kind->kind == TREADLE_HOLDER_REQUEST || kind->kind == TREADLE_HOLDER_VALUE)
            CHECK_INT(holders[0].thread_id, state.thread_id);
        /* Who is inside, and in which callback. */
        if (holders[0].thread_id) CHECK(holders[0].thread_name[0]);
        if (kind->how == BY_LOOP && holders[0].thread_id) CHECK_TEXT(holders[0].thread_name, "a_runner");
        if (kind->how == BY_LOOP && holders[0].label[0] && holders[0].thread_id) CHECK_TEXT(holders[0].callback, holders[0].label);
        sem_post(&go);
        close_scope(&state);
        end_called(&state, "goes on");
    }
}

/* It closes its own scope, which ends behind it. */
static struct state *own;
static sem_t own_end;
static void end_own(void *info) {
    atomic_fetch_add((atomic_int *)info, 1);
    sem_post(&own_end);
}
static void close_own(struct life *life) {
    CHECK_INT(treadle_scope_close(own->scope, TREADLE_FOREVER), TREADLE_DEFERRED);
    CHECK_INT(treadle_scope_close(own->scope, 0), TREADLE_DEFERRED);
    CHECK(own->destroyed == 0 && life->released == 0 && !treadle_is_valid(own->scope));
    CHECK_INT(treadle_scope_enter(own->scope), TREADLE_E_CLOSED);
}
TEST(a_scope_that_is_closed_from_inside_ends_when_the_callback_returns, "SCOPE-4") {
    sem_init(&own_end, 0, 0);
    for (int i = 0; i < KINDS; i++) {
        struct state state;
        treadle_scope_config config = {.struct_size = sizeof config, .destroy = end_own, .info = &state.destroyed};
        if (scope_kinds[i].how == BY_NOTHING) continue;
        begin(&state, &scope_kinds[i]);
        close_scope(&state);
        CHECK_INT(treadle_release(state.scope), TREADLE_OK);
        state.destroyed = 0;
        CHECK_INT(treadle_scope_create(&config, &state.scope), TREADLE_OK);
        own = &state;
        state.life.in_callback = close_own;
        have_called(&state);
        await(&own_end);
        close_scope(&state);
        end_called(&state, "closes it");
    }
}

#ifdef __GLIBC__ /* where pthread_exit unwinds */
/* A thread that ends inside of it keeps no scope. */
static void exit_here(struct life *life) {
    (void)life;
    pthread_exit(NULL);
}
TEST(a_thread_that_ends_in_a_callback_leaves_the_scope, "SCOPE-3 THR-19") {
    for (int i = 0; i < KINDS; i++) {
        struct state state;
        if (scope_kinds[i].how == BY_NOTHING || scope_kinds[i].how == BY_THREADS) continue;
        if (scope_kinds[i].make == make_a_routine) continue; /* a call that is left keeps its reference */
        begin(&state, &scope_kinds[i]);
        state.life.in_callback = exit_here;
        have_called(&state);
        CHECK_INT(pthread_join(asker, NULL), 0);
        CHECK_INT(pthread_create(&asker, NULL, do_nothing, NULL), 0);
        close_scope(&state);
        end_called(&state, "ends its thread");
    }
}
/* Nor does one that ends in its release, whatever has brought that about. */
static treadle_status no_close(treadle_object object) { return (void)object, TREADLE_OK; }
static treadle_status close_object(treadle_object object) { return treadle_close(object, TREADLE_FOREVER); }
static treadle_status (*const ends[])(treadle_object) = {treadle_release, treadle_invalidate, close_object, no_close};
static treadle_status (*its_end)(treadle_object);
static void *make_and_end(void *info) {
    struct state *state = info;
    state->life.loop = here();
    make(state);
    if (is_item(state)) CHECK_INT(treadle_loop_remove(here(), state->life.object, NEVER_RUN), TREADLE_OK);
    if (state->life.object) its_end(state->life.object);
    if (its_end == no_close) treadle_scope_close(state->scope, TREADLE_FOREVER);
    return NULL;
}
/* A thread's comes at its own end, but for one that never starts. */
static void *make_and_release_a_thread(void *info) {
    struct state *state = info;
    treadle_thread_config config = {.struct_size = sizeof config, .scope = state->scope, .fn = do_nothing, .info = &state->life, .destroy = life_released};
    CHECK_INT(treadle_thread_create(&config, (treadle_thread *)&state->life.object), TREADLE_OK);
    return its_end(state->life.object), NULL;
}
/* What has no handle ends with its scope, or with its loop, where no thread may exit. */
static bool may_end_a_thread(const struct scope_kind *kind, treadle_status (*end)(treadle_object)) {
    if (kind->how == BY_ITSELF) return end == treadle_release;
    if (kind->make == make_a_routine) return false;
    return kind->kind < TREADLE_HOLDER_POST || end == no_close;
}
TEST(a_release_that_ends_its_thread_keeps_no_scope, "SCOPE-2 SCOPE-3") {
    if (is_way("valgrind")) return; /* memory of the calls that never return is lost */
    for (int i = 0; i < KINDS; i++)
        for (int k = 0; k < COUNT_OF(ends); k++) {
            struct state state;
            if (!may_end_a_thread(&scope_kinds[i], ends[k])) continue;
            begin(&state, &scope_kinds[i]);
            state.life.in_release = exit_here;
            state.life.mode = NEVER_RUN;
            its_end = ends[k];
            on_thread(scope_kinds[i].how == BY_ITSELF ? make_and_release_a_thread : make_and_end, &state);
            on_thread(close_elsewhere, &state); /* which the release ends, if it has not been called before */
            CHECK_INT(state.life.released, 1);
            close_scope(&state);
            check_end(&state, "ends its thread in its release");
            if (treadle_get_kind(state.scope, &(uint32_t){0}) != TREADLE_E_STALE)
                check_failed(__FILE__, __LINE__, "a %s that ends its thread in its release keeps its scope", scope_kinds[i].name);
        }
}
#endif

/* --- What is not made ------------------------------------------------------------------------------- */

static void check_refused(const struct scope_kind *kind, treadle_scope named, treadle_status expected) {
    struct life life;
    life_begin(&life, here(), NEVER_RUN);
    life.scope = named;
    treadle_status status = kind->make(&life);
    if (status != expected || life.released != kind->is_given_back || life.object || life.calls)
        check_failed(__FILE__, __LINE__, "a %s: %d, %d released", kind->name, status, life.released);
    life_end(&life);
}
TEST(a_closed_scope_takes_nothing_more, "SCOPE-2") {
    treadle_scope scope = make_scope(NULL);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    for (int i = 0; i < KINDS; i++) check_refused(&scope_kinds[i], NULL, TREADLE_E_CLOSED);
    CHECK_INT(treadle_loop_post(here(), life_called, NULL), TREADLE_E_CLOSED);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
    struct life life;
    life_begin(&life, here(), M);
    CHECK_INT(make_a_post(&life), TREADLE_OK);
    CHECK_INT(treadle_loop_run(here(), M, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(life.calls, 1);
}

/* One that is closed, or gone, takes nothing. */
TEST(a_context_names_its_scope, "SCOPE-1 SCOPE-2") {
    for (int i = 0; i < KINDS; i++) {
        if (!scope_kinds[i].has_context) continue;
        treadle_scope entered_too = make_scope(NULL);
        struct state state;
        begin(&state, &scope_kinds[i]);
        state.life.scope = state.scope;
        make_in(entered_too, state.kind, &state.life);
        CHECK_INT(treadle_scope_close(entered_too, TREADLE_FOREVER), TREADLE_OK);
        if (state.kind->how != BY_ITSELF) CHECK_INT(state.life.released, 0);
        close_scope(&state);
        check_refused(state.kind, state.scope, TREADLE_E_CLOSED);
        check_end(&state, "is named by its context");
        check_refused(state.kind, state.scope, TREADLE_E_STALE);
        CHECK_INT(treadle_release(entered_too), TREADLE_OK);
    }
}

TEST_MAIN()
