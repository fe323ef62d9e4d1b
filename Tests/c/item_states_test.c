/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * item_states_test.c: each kind of item by what happens to it before it ends. Whatever that is: it is called as often as it has to be, its
 * info is given back once, its last reference makes the handle stale, and its neighbour and its modes are as if it had not been there. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE, *const OTHER = "another";

struct state;
/* A one-shot that has fired is idle: no mode keeps it. */
enum { ENDS_WHEN_CALLED = 1, HAS_NO_RELEASE = 2, IS_IDLE_WHEN_CALLED = 4, IS_NEVER_CALLED = 8 };
struct made { /* a kind of item */
    const char *name;
    treadle_object (*make)(struct state *);
    int traits;
};
/* An item that is due from the beginning, and what has happened to it. */
struct state {
    const struct made *kind;
    treadle_object item;
    int fd; /* a descriptor's */
    treadle_scope scope;
    void (*in_callback)(struct state *); /* NULL: nothing */
    int calls, retained, released, scheduled, cancelled;
};
static void *count_retain(void *info) { return ((struct state *)info)->retained++, info; }
static void count_release(void *info) { ((struct state *)info)->released++; }
static bool has_its_info(const struct state *state) { return state->kind->traits & HAS_NO_RELEASE || state->released < state->retained; }
static void be_called(struct state *state) {
    CHECK(has_its_info(state));
    state->calls++;
    if (state->in_callback) state->in_callback(state);
}
static void perform(treadle_source source, void *info) { (void)source, be_called(info); }
static void fire(treadle_timer timer, void *info) { (void)timer, be_called(info); }
static void notify(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, be_called(info); }
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, be_called(info); }
static void scheduled(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode;
    ((struct state *)info)->scheduled++;
}
static void cancelled(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode;
    ((struct state *)info)->cancelled++;
}

/* --- The kinds ------------------------------------------------------------------------------------ */

static treadle_object source_with(struct state *state, int64_t order) {
    treadle_source_context context = {.struct_size = sizeof context, .info = state, .scope = state->scope, .perform = perform, .order = order,
                                      .retain = count_retain, .release = count_release, .schedule = scheduled, .cancel = cancelled};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    return source;
}
static treadle_object plain_source(struct state *state) { return source_with(state, 0); }
static treadle_object ordered_source(struct state *state) { return source_with(state, -5); }
static treadle_object timer_with(struct state *state, treadle_timer_context context) {
    treadle_timer timer = NULL;
    context.struct_size = sizeof context;
    context.info = state;
    context.scope = state->scope;
    context.fire = fire;
    context.fire_at = 1;
    if (!(state->kind->traits & HAS_NO_RELEASE)) context.retain = count_retain, context.release = count_release;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    return timer;
}
static treadle_object one_shot(struct state *state) { return timer_with(state, (treadle_timer_context){.label = NULL}); }
static treadle_object ending(struct state *state) { return timer_with(state, (treadle_timer_context){.flags = TREADLE_TIMER_ENDS_AFTER_FIRING}); }
static treadle_object repeating(struct state *state) { return timer_with(state, (treadle_timer_context){.interval_ns = SECONDS(100000)}); }
static treadle_object tolerant(struct state *state) {
    return timer_with(state, (treadle_timer_context){.interval_ns = SECONDS(100000), .tolerance_ns = SECONDS(1)});
}
static treadle_object observer_with(struct state *state, bool once) {
    treadle_observer_context context = {.struct_size = sizeof context, .info = state, .scope = state->scope, .notify = notify, .once = once,
                                        .activities = TREADLE_BEFORE_TIMERS, .retain = count_retain, .release = count_release};
    treadle_observer observer = NULL;
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    return observer;
}
static treadle_object observer_for_all(struct state *state) { return observer_with(state, false); }
static treadle_object observer_once(struct state *state) { return observer_with(state, true); }
static treadle_object counter_with(struct state *state, unsigned value, uint32_t flags) {
    CHECK((state->fd = eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0);
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = state, .scope = state->scope, .ready = ready, .fd = state->fd,
                                          .events = TREADLE_READABLE, .flags = flags};
    treadle_descriptor descriptor = NULL;
    if (!(state->kind->traits & HAS_NO_RELEASE)) context.retain = count_retain, context.release = count_release;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    return descriptor;
}
static treadle_object readable(struct state *state) { return counter_with(state, 1, 0); }
static treadle_object acknowledged(struct state *state) { return counter_with(state, 1, TREADLE_DESCRIPTOR_ACKNOWLEDGED); }
static treadle_object not_ready(struct state *state) { return counter_with(state, 0, 0); }
static treadle_object paused(struct state *state) {
    treadle_object descriptor = readable(state);
    CHECK_INT(treadle_descriptor_set_events(descriptor, 0), TREADLE_OK);
    return descriptor;
}
static const struct made kinds[] = {
    {"source", plain_source, 0},
    {"source with an order", ordered_source, 0},
    {"one-shot", one_shot, IS_IDLE_WHEN_CALLED},
    {"one-shot without a release", one_shot, IS_IDLE_WHEN_CALLED | HAS_NO_RELEASE},
    {"one-shot that ends", ending, ENDS_WHEN_CALLED},
    {"repeating timer", repeating, 0},
    {"timer with a tolerance", tolerant, 0},
    {"observer", observer_for_all, 0},
    {"observer of once", observer_once, ENDS_WHEN_CALLED},
    {"descriptor", readable, 0},
    {"descriptor without a release", readable, HAS_NO_RELEASE},
    {"descriptor that is read", acknowledged, 0},
    {"descriptor that is not ready", not_ready, IS_NEVER_CALLED},
    {"descriptor that is paused", paused, IS_NEVER_CALLED},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* --- What happens --------------------------------------------------------------------------------- */

static treadle_loop here(void) { return treadle_loop_current(); }
static void add(struct state *state, const char *mode) { CHECK_INT(treadle_loop_add(here(), state->item, mode), TREADLE_OK); }
static void run(void) { CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT); }
static void be_left_alone(struct state *state) { (void)state; }
static void be_added(struct state *state) { add(state, M); }
static void be_added_twice(struct state *state) { add(state, OTHER), add(state, M); }
static void be_elsewhere(struct state *state) { add(state, OTHER); }
static void be_common(struct state *state) { add(state, TREADLE_COMMON_MODES); }
static void be_removed(struct state *state) {
    add(state, OTHER), add(state, M);
    CHECK_INT(treadle_loop_remove(here(), state->item, M), TREADLE_OK);
    CHECK_INT(treadle_loop_remove(here(), state->item, OTHER), TREADLE_OK);
    CHECK(treadle_is_valid(state->item));
    run();
}
static void be_invalid(struct state *state) {
    add(state, M);
    CHECK_INT(treadle_invalidate(state->item), TREADLE_OK);
    run();
}
static void be_called_once(struct state *state) {
    add(state, M);
    run();
    CHECK_INT(treadle_is_valid(state->item), !(state->kind->traits & ENDS_WHEN_CALLED));
}
static void end_it(struct state *state) {
    CHECK(treadle_invalidate(state->item) >= 0); /* one-shots that end are not valid behind their call, and sources are */
    CHECK(!treadle_is_valid(state->item));
    CHECK(has_its_info(state)); /* until its callback is over */
}
static void end_itself(struct state *state) {
    state->in_callback = end_it;
    add(state, M);
    run();
    run();
}
static void take_it_out(struct state *state) { CHECK(treadle_loop_remove(here(), state->item, M) >= 0); }
static void leave_in_its_callback(struct state *state) {
    state->in_callback = take_it_out;
    add(state, M);
    run();
    run();
}
/* An observer before everything else of the pass. */
static void end_the_other(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    CHECK_INT(treadle_invalidate(((struct state *)info)->item), TREADLE_OK);
}
static void be_ended_by_another(struct state *state) {
    treadle_observer_context context = {.struct_size = sizeof context, .notify = end_the_other, .info = state, .activities = TREADLE_BEFORE_TIMERS,
                                        .order = -10, .once = true};
    treadle_observer observer = NULL;
    add(state, M);
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(here(), observer, M), TREADLE_OK);
    run();
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
}
static void *invalidate_it(void *item) {
    CHECK_INT(treadle_invalidate(item), TREADLE_OK);
    return NULL;
}
static void be_ended_by_a_thread(struct state *state) {
    add(state, M);
    on_thread(invalidate_it, state->item);
    run();
}
static void be_closed(struct state *state) {
    add(state, OTHER), add(state, M);
    CHECK_INT(treadle_close(state->item, TREADLE_FOREVER), TREADLE_OK);
    run();
}
static void lose_its_scope(struct state *state) {
    add(state, M);
    CHECK_INT(treadle_scope_close(state->scope, TREADLE_FOREVER), TREADLE_OK);
    run();
}
static const struct happening {
    const char *name;
    void (*happen)(struct state *);
    bool is_called, is_in_modes; /* at the end of it; only where it has not ended itself */
} happenings[] = {
    {"nothing", be_left_alone, false, false},
    {"is added", be_added, false, true},
    {"is in two modes", be_added_twice, false, true},
    {"is in another mode", be_elsewhere, false, true},
    {"is common", be_common, false, true},
    {"is removed", be_removed, false, false},
    {"is invalid", be_invalid, false, false},
    {"is called", be_called_once, true, true},
    {"ends itself", end_itself, true, false},
    {"leaves in its callback", leave_in_its_callback, true, false},
    {"is ended by another's callback", be_ended_by_another, false, false},
    {"is ended by a thread", be_ended_by_a_thread, false, false},
    {"is closed", be_closed, false, false},
    {"its scope is closed", lose_its_scope, false, false},
};
enum { HAPPENINGS = sizeof happenings / sizeof *happenings };

/* --- The end -------------------------------------------------------------------------------------- */

/* By its owner; by one of two owners, the other of whom has it still; by one who has no reference while a mode keeps it. */
enum ending { OWNED, SHARED, UNOWNED, ENDINGS };
static void end_as(struct state *state, enum ending ending) {
    if (ending == SHARED) {
        CHECK_INT(treadle_retain(state->item), TREADLE_OK);
        CHECK_INT(discard(state->item), TREADLE_OK);
        CHECK(!treadle_is_valid(state->item));
    }
    if (ending == UNOWNED) {
        CHECK_INT(treadle_release(state->item), TREADLE_OK);
        CHECK(treadle_is_valid(state->item)); /* its modes keep it */
        CHECK_ERROR(discard(state->item), TREADLE_E_STALE, "is not the handle");
    } else if (!state->scope) CHECK_INT(discard(state->item), TREADLE_OK); /* a scope's end makes references void */
    CHECK_ERROR(discard(state->item), TREADLE_E_STALE, "is not the handle");
    CHECK_ERROR(treadle_retain(state->item), TREADLE_E_STALE, "is not the handle");
}
static void live(const struct made *kind, const struct happening *happening, enum ending ending) {
    struct state state = {.kind = kind, .fd = -1};
    treadle_scope_config config = {.struct_size = sizeof config};
    treadle_timer neighbour = make_timer(NULL, NULL, FAR_AWAY, 0);
    int called = happening->is_called && !(kind->traits & IS_NEVER_CALLED), held = !(kind->traits & HAS_NO_RELEASE);
    CHECK_INT(treadle_loop_add_timer(here(), neighbour, M), TREADLE_OK);
    if (happening->happen == lose_its_scope) CHECK_INT(treadle_scope_create(&config, &state.scope), TREADLE_OK);
    state.item = kind->make(&state);
    happening->happen(&state);
    end_as(&state, ending);

    if (state.calls != called || state.retained != state.released || (held && state.released == 0) || state.scheduled != state.cancelled)
        check_failed(__FILE__, __LINE__, "a %s that %s: %d calls, %d of %d released, %d of %d cancelled", kind->name, happening->name, state.calls,
                     state.released, state.retained, state.cancelled, state.scheduled);
    CHECK(treadle_timer_is_valid(neighbour) && treadle_loop_contains_timer(here(), neighbour, M));
    run();
    CHECK_INT(discard(neighbour), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    CHECK_INT(poll_mode(OTHER), TREADLE_RUN_FINISHED);
    CHECK_INT(state.calls, called);
    if (state.scope) CHECK_INT(treadle_release(state.scope), TREADLE_OK);
    if (state.fd >= 0) CHECK_INT(close(state.fd), 0); /* it stays open */
}
TEST(each_kind_ends_whatever_has_happened_to_it, "OBJ-2 OBJ-3 OBJ-4 OBJ-5 OBJ-9 MODE-7 SRC0-3 SRC1-8 SRC1-10 TMR-7 TMR-13 TMR-15 OBS-6 OBS-8 SCOPE-2") {
    for (int kind = 0; kind < KINDS; kind++) {
        for (int happening = 0; happening < HAPPENINGS; happening++) {
            const struct happening *its = &happenings[happening];
            bool is_kept = its->is_in_modes && !(its->is_called && kinds[kind].traits & (ENDS_WHEN_CALLED | IS_IDLE_WHEN_CALLED));
            int endings = its->happen == lose_its_scope ? 1 : is_kept ? ENDINGS : UNOWNED;
            for (int ending = 0; ending < endings; ending++) live(&kinds[kind], its, (enum ending)ending);
        }
    }
}

TEST_MAIN()
