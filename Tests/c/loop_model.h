/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loop_model.h: a loop in the words of the specification, as plainly as can be: arrays that are searched
 * and sorted, no clock, no kernel. It knows sources, timers whose dates are due or far, observers,
 * blocks, modes, and runs inside of runs. */
#ifndef TREADLE_TEST_LOOP_MODEL_H
#define TREADLE_TEST_LOOP_MODEL_H

#include "random_program.h"

enum phase { ENTERING, PASSING, EXITING };
struct activation {
    int mode;
    bool stopped, wake_pending, was_woken, requested;
    enum phase phase;
    struct activation *outer;
};
struct model_block {
    int item;
    uint32_t modes;
};
/* A drain in progress: what it took from the queue, what it has run, what it leaves. */
struct drain {
    int mode, count, next;
    struct model_block blocks[BUDGET];
    bool left[BUDGET];
    struct drain *outer;
};
/* Timers being fired: those of the list from `next` on have not had their turn. */
struct firing {
    const struct collected *list;
    int count, next;
    struct firing *outer;
};
struct model_item {
    bool invalid, busy, moved;       /* busy: its callback is running */
    int member[MODES], recorded;     /* when it joined, or 0 */
    int signalled;                   /* when, or 0 */
    bool left_in_run[MODES];         /* removed since the outermost run began */
    int64_t date;
};
struct model {
    struct world *world;
    struct model_item items[ITEMS];
    struct model_block queue[BUDGET];
    int queued, clock;
    uint32_t common;
    bool sticky;
    struct activation *innermost;
    struct drain *drain;
    struct firing *firing;
};

/* TMR-24 */
static bool is_idle(struct model_item *it) { return it->date == TREADLE_FOREVER && !it->busy; }
static bool is_due(struct model *model, int item) { return model->items[item].date < model->world->base; }

static void model_join(struct model *model, int item, int mode) {
    if (!model->items[item].member[mode]) model->items[item].member[mode] = ++model->clock;
}
static void model_leave(struct model *model, int item, int mode) {
    if (model->items[item].member[mode] && model->innermost) model->items[item].left_in_run[mode] = true;
    model->items[item].member[mode] = 0;
}
static void model_invalidate(struct model *model, int item) {
    struct model_item *it = &model->items[item];
    it->invalid = true;
    it->signalled = it->recorded = 0;
    for (int mode = 0; mode < MODES; mode++) model_leave(model, item, mode);
}

/* BLK-4 and MODE-7. */
static bool is_eligible(struct model *model, struct model_block block, int mode) {
    return block.modes >> mode & 1 || (block.modes >> COMMON & 1 && model->common >> mode & 1);
}
static bool has_queued(struct model *model, int mode) {
    for (int i = 0; i < model->queued; i++)
        if (is_eligible(model, model->queue[i], mode)) return true;
    return false;
}
static bool is_empty(struct model *model, int mode) {
    for (int item = first_of(SOURCE); item < first_of(OBSERVER); item++)
        if (model->items[item].member[mode] && !is_idle(&model->items[item])) return false;
    if (has_queued(model, mode)) return false;
    for (struct drain *drain = model->drain; drain; drain = drain->outer)
        for (int i = drain->next; i < drain->count; i++)
            if (is_eligible(model, drain->blocks[i], mode)) return false; /* BLK-6 */
    return true;
}

/* Collects the items of a kind that `wanted` wants, in the order of two keys. */
struct collected {
    int item;
    int64_t key_1, key_2;
};
static int compare_collected(const void *left, const void *right) {
    const struct collected *a = left, *b = right;
    if (a->key_1 != b->key_1) return a->key_1 < b->key_1 ? -1 : 1;
    return a->key_2 < b->key_2 ? -1 : a->key_2 > b->key_2;
}
static int collect(struct model *model, enum kind kind, int mode, uint32_t activity, struct collected *list) {
    int count = 0;
    for (int item = 0; item < ITEMS; item++) {
        struct model_item *it = &model->items[item];
        const struct plan *plan = &model->world->program->plans[item];
        if (plan->kind != kind || it->invalid || !it->member[mode]) continue;
        if (kind == SOURCE && it->signalled) list[count++] = (struct collected){item, plan->order, it->signalled};
        if (kind == TIMER && !it->busy && is_due(model, item))
            list[count++] = (struct collected){item, it->date, it->member[mode]};
        if (kind == OBSERVER && !it->busy && plan->activities & activity)
            list[count++] = (struct collected){item, plan->order, it->member[mode]};
    }
    qsort(list, (size_t)count, sizeof *list, compare_collected);
    return count;
}
/* Valid, still in the mode, and not executing: what each of the collected must be at its turn. */
static bool is_present(struct model *model, int item, int mode) {
    struct model_item *it = &model->items[item];
    return !it->invalid && it->member[mode] && !it->busy;
}

static void notify(struct model *model, uint32_t activity) {
    struct collected list[ITEMS];
    int mode = model->innermost->mode, count = collect(model, OBSERVER, mode, activity, list);
    for (int i = 0; i < count; i++) {
        int item = list[i].item;
        if (!is_present(model, item, mode)) continue; /* OBS-3, OBS-4 */
        model->items[item].busy = true;
        world_called(model->world, item, activity);
        model->items[item].busy = false;
        if (model->world->program->plans[item].once) model_invalidate(model, item); /* OBS-6 */
    }
}

static bool perform_sources(struct model *model, bool return_after_source) {
    struct collected list[ITEMS];
    bool handled = false;
    int mode = model->innermost->mode, count = collect(model, SOURCE, mode, 0, list);
    for (int i = 0; i < count && !(handled && return_after_source); i++) {
        struct model_item *it = &model->items[list[i].item];
        if (it->invalid || !it->member[mode] || !it->signalled) continue; /* SRC0-7, SRC0-10 */
        it->signalled = 0;
        handled = true;
        world_called(model->world, list[i].item, 0);
    }
    return handled;
}

static void fire_timers(struct model *model) {
    struct collected list[ITEMS];
    int mode = model->innermost->mode;
    struct firing firing = {.list = list, .count = collect(model, TIMER, mode, 0, list), .outer = model->firing};
    model->firing = &firing;
    while (firing.next < firing.count) {
        int item = list[firing.next++].item;
        struct model_item *it = &model->items[item];
        if (!is_present(model, item, mode) || !is_due(model, item)) continue; /* TMR-11, TMR-13 */
        it->busy = true;
        it->moved = false;
        world_called(model->world, item, 0);
        it->busy = false;
        const struct plan *plan = &model->world->program->plans[item];
        if (!it->moved) it->date = plan->repeats ? it->date + SECONDS(1000000) : TREADLE_FOREVER; /* TMR-16, TMR-17 */
        if (!plan->repeats && plan->once) model_invalidate(model, item);                          /* TMR-15 */
        if (is_idle(it) && model->world->released[item]) model_invalidate(model, item);           /* TMR-24 */
    }
    model->firing = firing.outer;
}

static void drain_blocks(struct model *model) {
    struct drain drain = {.mode = model->innermost->mode, .count = model->queued, .outer = model->drain};
    memcpy(drain.blocks, model->queue, sizeof *model->queue * (size_t)model->queued);
    model->queued = 0;
    model->drain = &drain;
    while (drain.next < drain.count) {
        struct model_block block = drain.blocks[drain.next++];
        if (is_eligible(model, block, drain.mode)) world_called(model->world, block.item, 0);
        else drain.left[drain.next - 1] = true;
    }
    model->drain = drain.outer;
    int kept = 0; /* BLK-5: what is left stays ahead of what came meanwhile */
    struct model_block newer[BUDGET];
    memcpy(newer, model->queue, sizeof newer);
    for (int i = 0; i < drain.count; i++)
        if (drain.left[i]) model->queue[kept++] = drain.blocks[i];
    memcpy(model->queue + kept, newer, sizeof *newer * (size_t)model->queued);
    model->queued += kept;
}

static treadle_status run_pass(struct model *model, bool forever, bool return_after_source) {
    struct activation *me = model->innermost;
    me->was_woken |= me->wake_pending;
    me->wake_pending = false;
    notify(model, TREADLE_BEFORE_TIMERS);
    notify(model, TREADLE_BEFORE_SOURCES);
    drain_blocks(model);
    bool handled = perform_sources(model, return_after_source);
    if (handled) drain_blocks(model);
    if (!handled && forever && (me->wake_pending || !is_empty(model, me->mode))) {
        notify(model, TREADLE_BEFORE_WAITING); /* the guardian ends the sleep */
        notify(model, TREADLE_AFTER_WAITING);
    }
    fire_timers(model);
    drain_blocks(model);
    if (me->stopped) return TREADLE_RUN_STOPPED;
    if (handled && return_after_source) return TREADLE_RUN_HANDLED_SOURCE;
    if (!forever) return TREADLE_RUN_TIMED_OUT;
    return is_empty(model, me->mode) ? TREADLE_RUN_FINISHED : TREADLE_OK;
}

static treadle_status model_run(struct model *model, int mode, bool forever, bool return_after_source) {
    struct activation me = {.mode = mode, .outer = model->innermost};
    treadle_status result = TREADLE_OK;
    if (model->sticky) return model->sticky = false, TREADLE_RUN_STOPPED; /* STOP-9 */
    if (mode == COMMON || is_empty(model, mode)) return TREADLE_RUN_FINISHED;
    model->innermost = &me;
    notify(model, TREADLE_ENTRY);
    me.phase = PASSING;
    if (me.stopped) result = TREADLE_RUN_STOPPED;
    while (!result) result = run_pass(model, forever, return_after_source);
    me.phase = EXITING;
    notify(model, TREADLE_EXIT);
    model->innermost = me.outer;
    if (me.outer && (me.wake_pending || me.was_woken)) { /* WAKE-3: what a run was woken for is not lost with it */
        me.outer->was_woken = true;
        me.outer->wake_pending |= has_queued(model, me.outer->mode);
    }
    if (!me.outer)
        for (struct model_item *it = model->items; it < model->items + ITEMS; it++)
            memset(it->left_in_run, 0, sizeof it->left_in_run);
    return result;
}

static treadle_status model_add(struct model *model, int item, int mode) {
    struct model_item *it = &model->items[item];
    if (it->invalid) return TREADLE_IGNORED;
    if (mode != COMMON) {
        if (it->member[mode]) return TREADLE_IGNORED;
        model_join(model, item, mode);
        return TREADLE_OK;
    }
    bool has_joined = !it->recorded;
    if (!it->recorded) it->recorded = ++model->clock;
    for (mode = 0; mode < MODES; mode++) { /* also where it was recorded, and has left (MODE-8.1) */
        if (!(model->common >> mode & 1) || it->member[mode]) continue;
        model_join(model, item, mode);
        has_joined = true;
    }
    return has_joined ? TREADLE_OK : TREADLE_IGNORED;
}
static treadle_status model_remove(struct model *model, int item, int mode) {
    struct model_item *it = &model->items[item];
    if (mode == COMMON ? !it->recorded : !it->member[mode]) return TREADLE_IGNORED;
    if (mode != COMMON) return model_leave(model, item, mode), TREADLE_OK;
    it->recorded = 0;
    for (mode = 0; mode < MODES; mode++)
        if (model->common >> mode & 1) model_leave(model, item, mode);
    return TREADLE_OK;
}
static treadle_status model_add_common(struct model *model, int mode) {
    int order[ITEMS], count = 0;
    if (model->common >> mode & 1) return TREADLE_IGNORED;
    model->common |= 1u << mode;
    for (int item = 0; item < ITEMS; item++) {
        int place = count;
        if (!model->items[item].recorded) continue;
        for (; place > 0 && model->items[order[place - 1]].recorded > model->items[item].recorded; place--)
            order[place] = order[place - 1];
        order[place] = item;
        count++;
    }
    for (int i = 0; i < count; i++) model_join(model, order[i], mode); /* MODE-8.2 */
    return TREADLE_OK;
}
static treadle_status model_stop(struct model *model, bool requested, bool all_levels) {
    if (!model->innermost) return requested ? (model->sticky = true, TREADLE_OK) : TREADLE_IGNORED;
    for (struct activation *each = model->innermost; each; each = all_levels ? each->outer : NULL) {
        each->stopped = true; /* without effect in an Exit observer; no reason to sleep in an empty mode */
        each->requested |= requested;
    }
    return TREADLE_OK;
}

static treadle_status model_act(struct world *world, const struct step *step, int64_t date) {
    struct model *model = world->state;
    struct model_item *it = &model->items[step->item];
    switch (step->operation) {
    case SIGNAL:
        if (it->invalid) return TREADLE_IGNORED;
        if (!it->signalled) it->signalled = ++model->clock;
        return TREADLE_OK;
    case WAKE:
        if (model->innermost) model->innermost->wake_pending = true;
        return TREADLE_OK;
    case STOP: return model_stop(model, false, false);
    case REQUEST_STOP: return model_stop(model, true, step->choice);
    case RUN: return model_run(model, step->mode, step->choice, step->choice_2);
    case ADD: return model_add(model, step->item, step->mode);
    case REMOVE: return model_remove(model, step->item, step->mode);
    case INVALIDATE: return model_invalidate(model, step->item), TREADLE_OK;
    case RELEASE: {
        bool held = it->recorded;
        for (int mode = 0; mode < MODES; mode++) held |= it->member[mode] != 0;
        if (!held || is_idle(it)) model_invalidate(model, step->item); /* OBJ-4, TMR-24 */
        return TREADLE_OK;
    }
    case MOVE:
        if (it->invalid) return TREADLE_IGNORED;
        it->date = date;
        it->moved = true;
        return TREADLE_OK;
    case QUEUE: model->queue[model->queued++] = (struct model_block){step->item, step->modes}; return TREADLE_OK;
    case ADD_COMMON: return model_add_common(model, step->mode);
    case ASK: {
        uint32_t modes = it->recorded ? 1u << COMMON : 0;
        for (int mode = 0; mode < MODES; mode++) modes |= it->member[mode] ? 1u << mode : 0;
        bool dated = world->program->plans[step->item].kind == TIMER && !it->invalid && it->date != TREADLE_FOREVER;
        note_answers(world, !it->invalid, it->signalled, modes, dated ? it->date - world->base : 0);
        return TREADLE_OK;
    }
    case REST: break;
    }
    return TREADLE_E_ARG;
}

static bool model_is_open(struct world *world, const struct step *step) {
    struct model *model = world->state;
    struct model_item *it = &model->items[step->item];
    bool open = false;
    switch (step->operation) {
    case RUN: /* a remembered stop and no mode; inside of a run that is to end; blocks that a drain passed over */
        open |= model->sticky && step->mode == COMMON;
        for (struct activation *each = model->innermost; each; each = each->outer) open |= each->requested;
        if (step->mode == COMMON) return open;
        for (struct drain *drain = model->drain; drain; drain = drain->outer)
            for (int i = 0; i < drain->count; i++)
                if (i >= drain->next || drain->left[i])
                    open |= is_eligible(model, drain->blocks[i], step->mode)
                        && !is_eligible(model, drain->blocks[i], drain->mode);
        return open;
    case ADD: /* back in the pass that it was removed in */
        for (int mode = 0; mode < MODES; mode++) {
            bool is_meant = step->mode == mode || (step->mode == COMMON && model->common >> mode & 1);
            open |= is_meant && it->left_in_run[mode];
        }
        return open;
    case ADD_COMMON: /* the same; and whether it reaches the blocks of a drain in progress */
        for (int item = 0; item < ITEMS; item++)
            open |= model->items[item].recorded && model->items[item].left_in_run[step->mode];
        return open || model->drain;
    case REQUEST_STOP: /* of a run that ends anyway */
        for (struct activation *each = model->innermost; each; each = each->outer) open |= each->phase == EXITING;
        return open;
    case MOVE: /* due again, and collected already: this pass or the next */
        for (struct firing *each = model->firing; each; each = each->outer)
            for (int i = each->next; i < each->count; i++) open |= step->choice && each->list[i].item == step->item;
        return open;
    case WAKE: return model->innermost && model->innermost->phase == ENTERING; /* before the gate opens */
    case ASK: return it->busy && it->moved; /* the date that is served, or the new one */
    default: return false;
    }
}

static int model_current_mode(struct world *world) { return ((struct model *)world->state)->innermost->mode; }
static const struct engine model_engine = {model_act, model_is_open, model_current_mode};

static void play_on_model(struct world *world) {
    struct model *model = calloc(1, sizeof *model);
    CHECK(model);
    *model = (struct model){.world = world, .common = 1};
    for (int item = 0; item < ITEMS; item++) model->items[item].date = world->base - SECONDS(20) + item;
    for (int mode = 0; mode < MODES; mode++) model_join(model, 0, mode);
    world->engine = &model_engine;
    world->state = model;
    play_program(world);
    free(model);
}

#endif
