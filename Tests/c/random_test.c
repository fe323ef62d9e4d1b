/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * random_test.c: random programs must leave the same trace on Treadle and on the model of loop_model.h.
 * TREADLE_TEST_SEED plays the one program of that seed and prints its traces; TREADLE_TEST_SCALE sets
 * how many are played. */
#include "loop_model.h"

static const char *const mode_names[] = {TREADLE_DEFAULT_MODE, "mode 1", "mode 2", TREADLE_COMMON_MODES};

/* Treadle's side of a world. */
struct actor {
    struct world *world;
    int item;
    enum kind kind;
    treadle_source source;
    treadle_timer timer;
    treadle_observer observer;
    int retains, releases, schedules, cancels, queued, destroyed;
};
struct subject {
    treadle_loop loop;
    struct actor actors[ITEMS];
};

static void *on_retain(void *info) {
    ((struct actor *)info)->retains++;
    return info;
}
static void on_release(void *info) { ((struct actor *)info)->releases++; }
static void on_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode;
    ((struct actor *)info)->schedules++;
}
static void on_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode;
    ((struct actor *)info)->cancels++;
}
static void on_perform(treadle_source source, void *info) {
    struct actor *actor = info;
    CHECK(source == actor->source);
    world_called(actor->world, actor->item, 0);
}
static void on_fire(treadle_timer timer, void *info) {
    struct actor *actor = info;
    CHECK(timer == actor->timer);
    world_called(actor->world, actor->item, 0);
}
static void on_notify(treadle_observer observer, uint32_t activity, void *info) {
    struct actor *actor = info;
    CHECK(observer == actor->observer);
    world_called(actor->world, actor->item, activity);
}
static void on_block(void *info) {
    struct actor *actor = info;
    world_called(actor->world, actor->item, 0);
}
static void on_destroy(void *info) { ((struct actor *)info)->destroyed++; }

static void create_actor(struct actor *actor, const struct plan *plan, int64_t date) {
    if (plan->kind == SOURCE) {
        treadle_source_context context = {.struct_size = sizeof context, .info = actor, .retain = on_retain,
            .release = on_release, .schedule = on_schedule, .cancel = on_cancel, .perform = on_perform,
            .order = plan->order};
        CHECK_INT(treadle_source_create(&context, &actor->source), TREADLE_OK);
    } else if (plan->kind == TIMER) {
        treadle_timer_context context = {.struct_size = sizeof context, .info = actor, .retain = on_retain,
            .release = on_release, .fire = on_fire, .fire_at = date,
            .interval_ns = plan->repeats ? SECONDS(1000000) : 0,
            .flags = plan->once ? TREADLE_TIMER_ENDS_AFTER_FIRING : 0};
        CHECK_INT(treadle_timer_create(&context, &actor->timer), TREADLE_OK);
    } else if (plan->kind == OBSERVER) {
        treadle_observer_context context = {.struct_size = sizeof context, .info = actor, .retain = on_retain,
            .release = on_release, .notify = on_notify, .activities = plan->activities, .once = plan->once,
            .order = plan->order};
        CHECK_INT(treadle_observer_create(&context, &actor->observer), TREADLE_OK);
    }
}

static treadle_status queue_block(treadle_loop loop, struct actor *actor, uint32_t modes) {
    const char *names[MODES + 1];
    treadle_post block = {.struct_size = sizeof block, .modes = names, .fn = on_block, .info = actor,
        .destroy = on_destroy};
    for (int mode = 0; mode <= COMMON; mode++)
        if (modes >> mode & 1) names[block.mode_count++] = mode_names[mode];
    actor->queued++;
    return post_block(loop, &block);
}

#define ITEM_CALL(action)                                                                                              \
    (actor->kind == SOURCE  ? treadle_source_##action(actor->source)                                                   \
     : actor->kind == TIMER ? treadle_timer_##action(actor->timer)                                                     \
                            : treadle_observer_##action(actor->observer))
#define LOOP_CALL(action, mode)                                                                                        \
    (actor->kind == SOURCE  ? treadle_loop_##action##_source(subject->loop, actor->source, mode)                       \
     : actor->kind == TIMER ? treadle_loop_##action##_timer(subject->loop, actor->timer, mode)                         \
                            : treadle_loop_##action##_observer(subject->loop, actor->observer, mode))

static treadle_status ask(struct world *world, struct subject *subject, struct actor *actor) {
    uint32_t modes = 0;
    int64_t date = 0;
    for (int mode = 0; mode <= COMMON; mode++) modes |= LOOP_CALL(contains, mode_names[mode]) ? 1u << mode : 0;
    if (actor->kind == TIMER) CHECK_INT(treadle_timer_get_next_fire(actor->timer, &date), TREADLE_OK);
    bool signalled = actor->kind == SOURCE && treadle_source_is_signalled(actor->source);
    note_answers(world, ITEM_CALL(is_valid), signalled, modes, date ? date - world->base : 0);
    return TREADLE_OK;
}

static treadle_status treadle_act(struct world *world, const struct step *step, int64_t date) {
    struct subject *subject = world->state;
    struct actor *actor = &subject->actors[step->item];
    const char *mode = mode_names[step->mode];
    switch (step->operation) {
    case SIGNAL: return treadle_source_signal(actor->source);
    case WAKE: return treadle_loop_wake(subject->loop);
    case STOP: return treadle_loop_stop(subject->loop);
    case REQUEST_STOP: return treadle_loop_request_stop(subject->loop, step->choice ? TREADLE_STOP_ALL_LEVELS : 0);
    case RUN:
        return treadle_loop_run(subject->loop, mode, step->choice ? TREADLE_FOREVER : 0,
                                step->choice_2 ? TREADLE_RUN_RETURN_AFTER_SOURCE : 0);
    case ADD: return LOOP_CALL(add, mode);
    case REMOVE: return LOOP_CALL(remove, mode);
    case INVALIDATE: return ITEM_CALL(invalidate);
    case RELEASE: return ITEM_CALL(release);
    case MOVE: return treadle_timer_set_next_fire(actor->timer, date);
    case QUEUE: return queue_block(subject->loop, actor, step->modes);
    case ADD_COMMON: return treadle_loop_add_common_mode(subject->loop, mode);
    case ASK: return ask(world, subject, actor);
    case REST: break;
    }
    return TREADLE_E_ARG;
}
static int treadle_current_mode(struct world *world) {
    struct subject *subject = world->state;
    char name[64];
    size_t length;
    CHECK_INT(treadle_loop_get_current_mode(subject->loop, name, sizeof name, &length), TREADLE_OK);
    CHECK(!treadle_loop_is_waiting(subject->loop));
    for (int mode = 0; mode < MODES; mode++)
        if (strcmp(name, mode_names[mode]) == 0) return mode;
    check_failed(__FILE__, __LINE__, "the current mode is %s", name);
}
static const struct engine treadle_engine = {treadle_act, NULL, treadle_current_mode};

/* On a thread of its own, whose end is part of the test: the loop's teardown returns what it holds. */
static void *play_on_treadle(void *info) {
    struct world *world = info;
    struct subject *subject = world->state;
    world->engine = &treadle_engine;
    subject->loop = treadle_loop_current();
    CHECK(subject->loop);
    for (int item = 0; item < ITEMS; item++) {
        struct actor *actor = &subject->actors[item];
        *actor = (struct actor){.world = world, .item = item, .kind = world->program->plans[item].kind};
        create_actor(actor, &world->program->plans[item], world->base - SECONDS(20) + item);
    }
    for (int mode = 0; mode < MODES; mode++)
        CHECK_INT(treadle_loop_add_observer(subject->loop, subject->actors[0].observer, mode_names[mode]), TREADLE_OK);
    play_program(world);
    return NULL;
}
static void check_balances(struct world *world) {
    struct subject *subject = world->state;
    for (int item = 0; item < ITEMS; item++) {
        struct actor *actor = &subject->actors[item];
        if (actor->kind != BLOCK && !world->released[item]) CHECK_INT(ITEM_CALL(release), TREADLE_OK);
        CHECK_INT(actor->releases, actor->retains);
        CHECK_INT(actor->cancels, actor->schedules);
        CHECK_INT(actor->destroyed, actor->queued);
        CHECK(actor->kind == BLOCK || actor->retains > 0);
    }
}

static void play_seed(uint64_t seed, bool verbose) {
    static struct program program;
    static struct world model, real;
    static bool skips[BUDGET];
    struct subject subject;
    make_program(&program, seed);
    int64_t base = treadle_time_now();
    memset(&model, 0, offsetof(struct world, trace) + 1);
    memset(&real, 0, offsetof(struct world, trace) + 1);
    model.program = real.program = &program;
    model.base = real.base = base;
    model.skips = real.skips = skips;
    real.follows = true;
    real.state = &subject;
    play_on_model(&model);
    on_thread(play_on_treadle, &real);
    if (verbose) printf("model:  %s\ntreadle:%s\n", model.trace, real.trace);
    size_t same = 0;
    while (model.trace[same] && model.trace[same] == real.trace[same]) same++;
    if (model.trace[same] != real.trace[same]) {
        size_t from = same > 300 ? same - 300 : 0;
        check_failed(__FILE__, __LINE__,
            "TREADLE_TEST_SEED=%" PRIu64 ": after\n  ...%.*s\nthe model has\n  %.80s\nand Treadle\n  %.80s",
                     seed, (int)(same - from), model.trace + from, model.trace + same, real.trace + same);
    }
    check_balances(&real);
}

TEST(random_programs_match_the_model,
    "RUN-1 RUN-2 RUN-5 RUN-6 RUN-7 RUN-10 RUN-12 RUN-13 PASS-14 OBS-2 OBS-3 OBS-4 OBS-5 OBS-6 "
    "SRC0-7 SRC0-8 SRC0-9 SRC0-10 TMR-11 TMR-12 TMR-13 TMR-15 TMR-16 TMR-17 TMR-19 BLK-3 BLK-4 "
    "BLK-5 BLK-6 MODE-4 MODE-6 MODE-8 STOP-2 STOP-3 STOP-4 STOP-9 WAKE-3 OBJ-3 OBJ-9 RL-8 D-08 D-13") {
    const char *only = getenv("TREADLE_TEST_SEED");
    if (only) {
        play_seed(strtoull(only, NULL, 10), true);
        return;
    }
    uint64_t first = (uint64_t)treadle_time_now();
    int count = scaled(2000);
    printf("seeds from %" PRIu64 ", %d of them\n", first, count);
    for (int i = 0; i < count; i++) play_seed(first + (uint64_t)i, false);
}

TEST_MAIN()
