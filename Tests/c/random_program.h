/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * random_program.h: random programs for one loop, and their interpreter. A program is a cast of items, each
 * with a script for its callbacks, and a script for the time outside of runs. It is played in a world:
 * once on the model (loop_model.h), once on Treadle; both worlds write the same trace, or one is wrong. */
#ifndef TREADLE_TEST_RANDOM_PROGRAM_H
#define TREADLE_TEST_RANDOM_PROGRAM_H

#include "helpers.h"

enum { SOURCES = 4, TIMERS = 4, OBSERVERS = 4, BLOCKS = 3, ITEMS = 1 + SOURCES + TIMERS + OBSERVERS + BLOCKS };
enum { MODES = 3, COMMON = MODES }; /* mode 0 is the default one */
enum { SCRIPTS = 3, STEPS = 3, TOP_STEPS = 48, BUDGET = 160, DEPTH = 4, TRACE_SIZE = 1 << 17 };
enum kind { SOURCE, TIMER, OBSERVER, BLOCK };
enum operation { REST, SIGNAL, WAKE, STOP, REQUEST_STOP, RUN, ADD, REMOVE, INVALIDATE, RELEASE, MOVE, QUEUE,
    ADD_COMMON, ASK };

struct step {
    enum operation operation;
    int item, mode;
    uint32_t modes; /* QUEUE: a mask of modes, bit COMMON included */
    bool choice;    /* RUN: with no deadline, else a poll; MOVE: due, else far; REQUEST_STOP: all levels */
    bool choice_2;  /* RUN: return after a source; MOVE: perhaps to no date */
};
struct plan {
    enum kind kind;
    int64_t order;
    bool once, repeats; /* observers, and timers: it ends after firing; timers */
    uint32_t activities;
    struct step scripts[SCRIPTS][STEPS];
};
/* Item 0 is the guardian: an observer that ends every sleep by a wake-up, and every third one by a stop, so
 * that a run without a deadline sleeps and yet ends. No step touches it. */
struct program {
    struct plan plans[ITEMS];
    struct step top[TOP_STEPS];
};

struct world;
struct engine {
    treadle_status (*act)(struct world *, const struct step *, int64_t date);
    /* Whether the rules leave open what the step does here: then no world takes it. Only the model knows. */
    bool (*is_open)(struct world *, const struct step *);
    int (*current_mode)(struct world *);
};
struct world {
    const struct program *program;
    const struct engine *engine;
    void *state;
    int64_t base; /* now; due dates are before it, others far after it */
    int depth, budget, moves, calls[ITEMS], guarded;
    bool released[ITEMS];
    bool *skips; /* written by the model's world, in the order of the steps, and followed by the other */
    int taken;
    bool follows;
    size_t used;
    char trace[TRACE_SIZE];
};

/* Random numbers: splitmix64. */
static uint64_t random_state;
static uint32_t random_below(uint32_t limit) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) >> 32) % limit;
}
static bool chance(uint32_t percent) { return random_below(100) < percent; }

static int first_of(enum kind kind) {
    return kind == SOURCE ? 1 : kind == TIMER ? 1 + SOURCES : kind == OBSERVER ? 1 + SOURCES + TIMERS : ITEMS - BLOCKS;
}
static int any_of(enum kind kind) {
    static const uint32_t counts[] = {SOURCES, TIMERS, OBSERVERS, BLOCKS};
    return first_of(kind) + (int)random_below(counts[kind]);
}
static struct step make_step(enum operation operation) {
    struct step step = {.operation = operation, .item = 1 + (int)random_below(ITEMS - BLOCKS - 1)};
    step.mode = (int)random_below(operation == ADD_COMMON || operation == RUN ? MODES : MODES + 1);
    step.modes = 1 + random_below((1u << (MODES + 1)) - 1);
    step.choice = chance(50);
    step.choice_2 = chance(30);
    if (operation == SIGNAL) step.item = any_of(SOURCE);
    if (operation == MOVE) step.item = any_of(TIMER), step.choice = chance(70);
    if (operation == QUEUE) step.item = any_of(BLOCK);
    if (operation == RUN && chance(3)) step.mode = COMMON;
    return step;
}
static enum operation any_operation(void) {
    static const struct { enum operation operation; uint32_t weight; } weights[] = {{SIGNAL, 20}, {WAKE, 6}, {STOP, 5},
        {REQUEST_STOP, 2}, {RUN, 12}, {ADD, 12}, {REMOVE, 10}, {INVALIDATE, 3}, {RELEASE, 2}, {MOVE, 10}, {QUEUE, 12},
        {ADD_COMMON, 2}, {ASK, 4}};
    uint32_t pick = random_below(100);
    for (size_t i = 0;; i++) {
        if (pick < weights[i].weight) return weights[i].operation;
        pick -= weights[i].weight;
    }
}
static void make_program(struct program *program, uint64_t seed) {
    static const uint32_t activities[] = {TREADLE_ENTRY, TREADLE_BEFORE_TIMERS, TREADLE_BEFORE_SOURCES,
        TREADLE_BEFORE_WAITING, TREADLE_AFTER_WAITING, TREADLE_EXIT};
    random_state = seed;
    memset(program, 0, sizeof *program);
    program->plans[0] = (struct plan){.kind = OBSERVER, .activities = TREADLE_BEFORE_WAITING, .order = INT64_MAX};
    for (int item = 1; item < ITEMS; item++) {
        struct plan *plan = &program->plans[item];
        plan->kind = BLOCK;
        if (item < first_of(BLOCK)) plan->kind = OBSERVER;
        if (item < first_of(OBSERVER)) plan->kind = TIMER;
        if (item < first_of(TIMER)) plan->kind = SOURCE;
        plan->order = (int64_t)random_below(3) - 1;
        plan->once = chance(25);
        plan->repeats = chance(60);
        for (int i = 0; i < 6; i++)
            if (chance(40)) plan->activities |= activities[i];
        for (int i = 0; i < SCRIPTS; i++)
            for (int j = 0; j < STEPS; j++)
                if (chance(plan->kind == OBSERVER ? 20 : 45)) plan->scripts[i][j] = make_step(any_operation());
    }
    int next = 0;
    for (int item = 1; item < first_of(BLOCK); item++, next++) {
        program->top[next] = make_step(ADD);
        program->top[next].item = item;
    }
    while (next < TOP_STEPS) program->top[next++] = make_step(chance(30) ? RUN : chance(40) ? SIGNAL : any_operation());
}

/* Writes a word into the world's trace. */
__attribute__((format(printf, 2, 3))) static void note(struct world *world, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(world->trace + world->used, TRACE_SIZE - world->used, format, arguments);
    va_end(arguments);
    CHECK(length >= 0 && world->used + (size_t)length < TRACE_SIZE);
    world->used += (size_t)length;
}

/* ASK: what an item says about itself. modes: a mask, bit COMMON included; date: of a timer, from the base. */
static void note_answers(struct world *world, bool valid, bool signalled, uint32_t modes, int64_t date) {
    note(world, "{%d%d %x %" PRId64 "}", valid, signalled, modes, date);
}

static void take_step(struct world *world, const struct step *step) {
    if (step->operation == REST || world->budget == 0) return;
    bool is_run = step->operation == RUN, on_item = step->operation != WAKE && step->operation != STOP &&
        step->operation != REQUEST_STOP && !is_run && step->operation != ADD_COMMON;
    if ((on_item && world->released[step->item]) || (is_run && world->depth == DEPTH)) return;
    world->budget--;
    if (!world->follows) world->skips[world->taken] = world->engine->is_open(world, step);
    if (world->skips[world->taken++]) return;
    /* Dates are all different, and their order is not that of the moves. */
    int64_t number = world->moves += step->operation == MOVE;
    int64_t date = world->base + number * 7919 % 1000003 * 1000 + (step->choice ? -SECONDS(10) : SECONDS(10000000));
    if (step->choice_2 && number % 3 == 0) date = TREADLE_FOREVER;
    static const char letters[] = ".swtTradiRmqcA";
    note(world, " %c%d,%d%s", letters[step->operation], step->item, step->mode, is_run ? "(" : "");
    world->depth += is_run;
    treadle_status status = world->engine->act(world, step, date);
    world->depth -= is_run;
    note(world, is_run ? " )%d" : "=%d", status);
    if (step->operation == RELEASE) world->released[step->item] = true;
}

/* What every callback of an item does, in both worlds. */
static void world_called(struct world *world, int item, uint32_t activity) {
    note(world, " [%d:%x@%d]", item, activity, world->engine->current_mode(world));
    if (item == 0) {
        world->engine->act(world, &(struct step){.operation = WAKE}, 0);
        if (++world->guarded % 3 == 0) world->engine->act(world, &(struct step){.operation = STOP}, 0);
        return;
    }
    const struct step *script = world->program->plans[item].scripts[world->calls[item]++ % SCRIPTS];
    for (int i = 0; i < STEPS; i++) take_step(world, &script[i]);
    note(world, " ;");
}

static void play_program(struct world *world) {
    world->budget = BUDGET;
    for (int i = 0; i < TOP_STEPS; i++) take_step(world, &world->program->top[i]);
}

#endif
