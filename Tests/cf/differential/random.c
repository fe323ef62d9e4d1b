/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Random programs, from a seed: sources, timers, observers and blocks in three modes, which signal, add, remove,
 * invalidate, move, stop and run nested from inside their callbacks. What the two CoreFoundations decide
 * otherwise (expected.txt) is left out by the rules at `may`; nothing depends on how fast anything runs.
 * Usage: program FIRST-SEED COUNT; one line a seed. */
#include "seeds.h"

enum { SOURCES = 5, TIMERS = 5, OBSERVERS = 4, MODES = 3, DEEPEST = 3, ACTIONS = 4 };
enum context { TOP, IN_SOURCE, IN_TIMER, IN_OBSERVER, IN_BLOCK };

struct source { CFRunLoopSourceRef ref; int number, left; } sources[SOURCES];
/* Dates are long past or far away: `due` says which, but while the timer fires. */
struct timer { CFRunLoopTimerRef ref; int number, left, mode, due, firing, repeats, removed_in; } timers[TIMERS];
struct observer { CFRunLoopObserverRef ref; int number, left; } observers[OBSERVERS];
struct level { int mode, poll, once, stopped, from_observer; } levels[DEEPEST + 1];
static int depth; /* how many runs there are */
static int step;  /* of the program: four actions and a run */
static CFAbsoluteTime past;
static int blocks;

static CFStringRef mode_name(int mode) { return mode == 0 ? DEFAULT : mode == 1 ? CFSTR("one") : CFSTR("two"); }
static void act(enum context context);

/* --- What is left out ----------------------------------------------------------------------------------- */

static int has_due(int mode) {
    for (int i = 0; i < TIMERS; i++)
        if (timers[i].mode == mode && timers[i].due && !timers[i].firing && CFRunLoopTimerIsValid(timers[i].ref)) return 1;
    return 0;
}
static int any_level_stopped(void) {
    for (int i = 0; i < depth; i++)
        if (levels[i].stopped) return 1;
    return 0;
}
static int any_level_from_observer(void) {
    for (int i = 0; i < depth; i++)
        if (levels[i].from_observer) return 1;
    return 0;
}
/* D-02, and which of a wake and a due timer the kernel names first. */
static int may_stop(void) {
    return depth > 0 && !levels[depth - 1].poll && !levels[depth - 1].once && !has_due(levels[depth - 1].mode);
}
static int may_make_due(void) { return !any_level_stopped(); }
/* D-08: not from a callback of the same batch, nor from a run inside of one. */
static int may_remove_source(enum context context) { return context != IN_SOURCE; }
static int may_remove_observer(enum context context) { return context != IN_OBSERVER && !any_level_from_observer(); }
/* D-08: a run may have collected the timer before it was removed. */
static int may_add_timer(const struct timer *timer) {
    return timer->mode < 0 && (!timer->due || (may_make_due() && timer->removed_in != step));
}
/* D-13, and what a nested run in a block can see. */
static int may_nest(enum context context) {
    return depth < DEEPEST && !any_level_stopped() && (context == TOP || context == IN_TIMER || context == IN_OBSERVER);
}

/* --- Items ----------------------------------------------------------------------------------------------- */

static void make_due(struct timer *timer) {
    timer->due = 1;
    past += 1;
    CFRunLoopTimerSetNextFireDate(timer->ref, past);
    settle();
}
static void perform(void *info) {
    struct source *source = info;
    say("s%d", source->number);
    if (source->left-- > 0) act(IN_SOURCE);
}
static void fire(CFRunLoopTimerRef ref, void *info) {
    struct timer *timer = info;
    (void)ref;
    say("t%d", timer->number);
    timer->firing = 1;
    timer->due = 0;
    if (timer->left-- > 0) act(IN_TIMER);
    timer->firing = 0;
    if (!timer->repeats) timer->due = 0;
}
static void notify(CFRunLoopObserverRef ref, CFRunLoopActivity activity, void *info) {
    struct observer *observer = info;
    (void)ref;
    say("o%d:%s", observer->number, activity_name(activity));
    if (activity & (kCFRunLoopEntry | kCFRunLoopBeforeTimers | kCFRunLoopBeforeSources) && observer->left-- > 0) act(IN_OBSERVER);
}
/* No run sleeps: it stops instead, unless a timer is due. */
static void guard(CFRunLoopObserverRef ref, CFRunLoopActivity activity, void *info) {
    (void)ref, (void)activity, (void)info;
    if (!has_due(levels[depth - 1].mode)) {
        levels[depth - 1].stopped = 1;
        CFRunLoopStop(LOOP);
    }
}

static void new_source(int i) {
    CFRunLoopSourceContext context = {.info = &sources[i], .perform = perform};
    sources[i] = (struct source){CFRunLoopSourceCreate(NULL, (CFIndex)any(3), &context), i, ACTIONS};
}
static void new_timer(int i) {
    CFRunLoopTimerContext context = {.info = &timers[i]};
    int repeats = (int)any(2);
    timers[i] = (struct timer){CFRunLoopTimerCreate(NULL, NOW + 1e6, repeats ? 1e6 : 0, 0, 0, fire, &context), i, ACTIONS, -1, 0, 0, repeats, -1};
}
static void new_observer(int i) {
    static const CFOptionFlags masks[] = {kCFRunLoopAllActivities, kCFRunLoopEntry | kCFRunLoopExit, kCFRunLoopBeforeTimers,
                                          kCFRunLoopBeforeSources | kCFRunLoopAfterWaiting};
    CFRunLoopObserverContext context = {.info = &observers[i]};
    Boolean repeats = any(4) != 0;
    CFOptionFlags mask = masks[any(4)];
    observers[i] = (struct observer){CFRunLoopObserverCreate(NULL, mask, repeats, (CFIndex)any(3), notify, &context), i, ACTIONS};
}

/* --- Actions --------------------------------------------------------------------------------------------- */

static void run_random(enum context context) {
    struct level *level = &levels[depth];
    double seconds = any(3) ? 1000 : 0;
    *level = (struct level){(int)any(MODES), seconds == 0, (int)any(2), 0, context == IN_OBSERVER};
    depth++;
    say("(%d%c%c", level->mode, level->poll ? 'p' : 'w', level->once ? '1' : '*');
    CFRunLoopRunResult result = CFRunLoopRunInMode(mode_name(level->mode), seconds, (Boolean)level->once);
    say("=%d)", (int)result);
    depth--;
}
static void queue_block(void) {
    int number = ++blocks;
    CFRunLoopPerformBlock(LOOP, any(4) ? mode_name((int)any(MODES)) : kCFRunLoopCommonModes, ^{
        say("b%d", number);
        if (number < 12) act(IN_BLOCK);
    });
}
static void act(enum context context) {
    struct source *source = &sources[any(SOURCES)];
    struct timer *timer = &timers[any(TIMERS)];
    struct observer *observer = &observers[any(OBSERVERS)];
    int mode = (int)any(MODES);
    CFStringRef name = any(6) ? mode_name(mode) : kCFRunLoopCommonModes;
    switch (any(14)) {
    case 0: case 1: case 2:
        say("signal%d", source->number);
        CFRunLoopSourceSignal(source->ref);
        break;
    case 3: CFRunLoopAddSource(LOOP, source->ref, name); break;
    case 4: if (may_remove_source(context)) CFRunLoopRemoveSource(LOOP, source->ref, name); break;
    case 5: if (may_remove_source(context) && any(3) == 0) CFRunLoopSourceInvalidate(source->ref); break;
    case 6:
        if (may_add_timer(timer)) {
            timer->mode = mode;
            CFRunLoopAddTimer(LOOP, timer->ref, mode_name(mode));
            settle();
        }
        break;
    case 7:
        if (timer->mode < 0) break;
        CFRunLoopRemoveTimer(LOOP, timer->ref, mode_name(timer->mode));
        timer->removed_in = depth > 0 ? step : -1;
        timer->mode = -1;
        break;
    case 8: if (may_make_due()) make_due(timer); break;
    case 9: if (any(4) == 0) CFRunLoopTimerInvalidate(timer->ref); break;
    case 10:
        if (may_remove_observer(context)) CFRunLoopAddObserver(LOOP, observer->ref, name);
        break;
    case 11: if (may_remove_observer(context)) CFRunLoopRemoveObserver(LOOP, observer->ref, name); break;
    case 12: queue_block(); break;
    case 13:
        if (context != IN_BLOCK && context != IN_OBSERVER && any(3) == 0 && may_stop()) {
            say("stop");
            levels[depth - 1].stopped = 1;
            CFRunLoopStop(LOOP);
        } else if (may_nest(context)) {
            run_random(context);
        }
        break;
    }
}

static void *program(void *argument) {
    (void)argument;
    depth = blocks = 0;
    past = NOW - 1000;
    for (int mode = 0; mode < MODES; mode++) {
        keep_busy(mode_name(mode));
        CFRunLoopAddObserver(LOOP, CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, 1000, guard, NULL), mode_name(mode));
    }
    if (any(2)) CFRunLoopAddCommonMode(LOOP, mode_name(1));
    for (int i = 0; i < SOURCES; i++) {
        new_source(i);
        CFRunLoopAddSource(LOOP, sources[i].ref, any(4) ? mode_name((int)any(MODES)) : kCFRunLoopCommonModes);
    }
    for (int i = 0; i < TIMERS; i++) {
        new_timer(i);
        timers[i].mode = (int)any(MODES);
        CFRunLoopAddTimer(LOOP, timers[i].ref, mode_name(timers[i].mode));
    }
    for (int i = 0; i < OBSERVERS; i++) {
        new_observer(i);
        CFRunLoopAddObserver(LOOP, observers[i].ref, any(4) ? mode_name((int)any(MODES)) : kCFRunLoopCommonModes);
    }
    for (step = 0; step < 6; step++) {
        for (int i = 0; i < 4; i++) act(TOP);
        run_random(TOP);
    }
    for (int i = 0; i < SOURCES; i++) say("%d%d", CFRunLoopSourceIsValid(sources[i].ref), CFRunLoopContainsSource(LOOP, sources[i].ref, DEFAULT));
    for (int i = 0; i < TIMERS; i++) say("%d%d", CFRunLoopTimerIsValid(timers[i].ref), CFRunLoopContainsTimer(LOOP, timers[i].ref, DEFAULT));
    for (int i = 0; i < OBSERVERS; i++) say("%d", CFRunLoopObserverIsValid(observers[i].ref));
    return NULL;
}

int main(int count, char **arguments) { return run_seeds(count, arguments, program); }
