/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * schedule.c: who goes on, within one run. A run is told some decisions (the plan), and makes the others by its strategy:
 * exhaustive search takes the first option and notes how many there were; PCT goes by random priorities, which change at a
 * few random points (Burckhardt and others, 2010). Both note where they depart from the default, which is enough to play
 * the run again. */
#include "scene.h"
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Until there is memory that is shared: what is called before the program begins. */
static struct shared before_runs;
struct shared *shared = &before_runs;
struct world world;
enum { STEPS = 60000, PREPARING = 100 * STEPS };

static uint64_t any_number(void) {
    world.random ^= world.random << 13;
    world.random ^= world.random >> 7;
    world.random ^= world.random << 17;
    return world.random * 0x2545F4914F6CDD1Dull >> 16;
}

void schedule_begin(void) {
    world.random = shared->seed * 0x9E3779B97F4A7C15ull + 1;
    for (int i = 0; i < THREADS; i++) world.priority[i] = 1000 + (int)(any_number() % 1000) * THREADS + i;
    for (int i = 0; i < shared->changes; i++) world.change[i] = 1 + (uint32_t)(any_number() % (shared->points + 1));
}

/* --- What is told --------------------------------------------------------------------------------- */

void note(const char *format, ...) {
    if (!shared->is_tracing || !world.is_exploring) return;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(1, "%6u  thread %d%s\n", world.steps, world.current, text);
}

static void describe_threads(void) {
    static const char *const waits[] = {"nothing", "a futex", "a futex with inheritance", "epoll", "a thread's end",
                                        "an event of the scene", "a date", "a mutex", "a condition", "poll"};
    size_t size = 0;
    for (int i = 0; i < world.count; i++) {
        struct vthread *t = &world.threads[i];
        const char *state = t->state == ENDED ? "ended" : t->state == READY ? "ready" : "waits for ";
        size += (size_t)snprintf(shared->report + size, sizeof shared->report - size, "thread %d: %s%s %p\n", i, state,
                                 t->state == BLOCKED ? waits[t->waits] : "", t->state == BLOCKED ? t->object : NULL);
        if (t->state == ENDED) continue;
        for (int d = (t->depth < FRAMES ? t->depth : FRAMES) - 1; d >= 0 && size < sizeof shared->report - 80; d--)
            size += (size_t)snprintf(shared->report + size, sizeof shared->report - size, "    @%p\n", t->frames[d]);
    }
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(shared->message, sizeof shared->message, format, arguments);
    va_end(arguments);
    describe_threads();
    shared->has_failed = true;
    run_over();
}
void run_over(void) {
    shared->steps = world.steps;
    shared->seen_points = world.points;
    shared->is_over = true;
    return_from_run();
}

/* --- Decisions ------------------------------------------------------------------------------------ */

static int planned(char kind) {
    while (world.planned < shared->plan_count && shared->plan[world.planned].step < world.steps) world.planned++;
    for (int i = world.planned; i < shared->plan_count && shared->plan[i].step == world.steps; i++)
        if (shared->plan[i].kind == kind) return shared->plan[i].value;
    return -1;
}
static void record(char kind, const uint8_t *options, int count, int index) {
    if (shared->decision_count == DECISIONS) fail("there is no room for so many decisions");
    struct decision *d = &shared->decisions[shared->decision_count++];
    *d = (struct decision){.step = world.steps, .kind = kind, .count = (uint8_t)count, .index = (uint8_t)index};
    memcpy(d->options, options, (size_t)count);
}

/* Threads that could go on behind a thread, in the order of their turns; the thread itself is not among them. */
static int others(int thread, uint8_t *options) {
    int count = 0;
    for (int i = 1; i < world.count; i++) {
        struct vthread *t = &world.threads[(thread + i) % world.count];
        if (t->state == BLOCKED && t->deadline <= world.now) make_ready(t, -ETIMEDOUT);
        if (t->state == READY) options[count++] = (uint8_t)((thread + i) % world.count);
    }
    return count;
}
static int highest(const uint8_t *options, int count) {
    int best = options[0];
    for (int i = 1; i < count; i++)
        if (world.priority[options[i]] > world.priority[best]) best = options[i];
    return best;
}
static void lower(int thread) { world.priority[thread] = --world.lowest; }

static uint32_t word_of(const void *address) {
    return (uint32_t)(((uintptr_t)address >> 2) * 0x9E3779B97F4A7C15ull >> 50) & (SHARED_WORDS - 1);
}
/* Whether more than one thread uses a word, and one of them writes it, as far as earlier runs have shown. */
static bool is_shared(const void *address, bool writes) {
    if (!address) return true;
    uint32_t i = word_of(address);
    uint16_t bit = (uint16_t)(1u << world.current);
    shared->words[i] |= (uint16_t)(writes ? bit << 8 | bit : bit);
    uint16_t known = shared->known_words[i], users = known & 0xFF, writers = known >> 8;
    return writers && (users & (users - 1));
}

/* Before an operation of the calling thread: another may go on. */
void point(const void *address, bool writes, const void *site, const char *what) {
    if (world.is_over || world.count == 0) return;
    if (++world.steps > (world.is_exploring ? world.first_step + STEPS : PREPARING)) fail("livelock: %d steps", STEPS);
    if (!world.is_exploring || world.held) return;
    note(" %s @%p", what, site);
    uint8_t options[THREADS + 1];
    bool is_place = is_shared(address, writes);
    int next = planned('t');
    if (next >= 0) {
        if (next == world.current || next >= world.count || world.threads[next].state != READY) {
            if (others(world.current, options) == 0 || next >= world.count || world.threads[next].state != READY)
                fail("the plan does not fit: thread %d cannot go on", next);
        }
        if (shared->strategy == EXHAUSTIVE) {
            int count = others(world.current, options + 1);
            options[0] = (uint8_t)world.current;
            for (int i = 1; i <= count; i++)
                if (options[i] == next) record('t', options, count + 1, i);
        } else {
            record('t', (uint8_t[]){(uint8_t)next}, 1, 0);
        }
        world.preemptions++;
        switch_to(next);
        return;
    }
    if (!is_place) return;
    world.points++;
    int count = others(world.current, options + 1);
    if (count == 0) return;
    options[0] = (uint8_t)world.current;
    if (shared->strategy == EXHAUSTIVE) {
        if (world.preemptions < shared->preemptions) record('t', options, count + 1, 0);
        return;
    }
    for (int i = 0; i < shared->changes; i++)
        if (world.change[i] == world.points) lower(world.current);
    next = highest(options, count + 1);
    if (next == world.current) return;
    record('t', (uint8_t[]){(uint8_t)next}, 1, 0);
    switch_to(next);
}

/* The calling thread cannot go on, or only waits awake: who does. */
static int successor(bool is_blocked) {
    uint8_t options[THREADS];
    int count;
    while ((count = others(world.current, options)) == 0) {
        if (!is_blocked || me()->state == READY) return world.current;
        /* Time passes. */
        int64_t next = NEVER;
        for (int i = 0; i < world.count; i++) {
            struct vthread *t = &world.threads[i];
            if (t->state == BLOCKED && t->deadline < next) next = t->deadline;
            if (t->state == BLOCKED && t->waits == ON_EPOLL && next_timer_of(t->object) < next) next = next_timer_of(t->object);
        }
        if (next == NEVER) fail("deadlock: no thread can go on");
        if (next > world.now) world.now = next;
        wake_pollers();
        if (me()->state == BLOCKED && me()->deadline <= world.now) make_ready(me(), -ETIMEDOUT);
    }
    int next = planned('t'), standard = options[0];
    if (next >= 0 && (next >= world.count || world.threads[next].state != READY)) fail("the plan does not fit: thread %d does not go on", next);
    if (!world.is_exploring) return standard;
    if (shared->strategy == EXHAUSTIVE) {
        if (next < 0) next = standard;
        if (is_blocked && count > 1)
            for (int i = 0; i < count; i++)
                if (options[i] == next) record('t', options, count, i);
    } else if (next < 0) {
        next = highest(options, count);
    }
    if (shared->strategy == RANDOM && next != standard) record('t', (uint8_t[]){(uint8_t)next}, 1, 0);
    return next;
}

void yield_point(void) {
    if (world.is_over || world.held || world.count == 0) return;
    world.steps++;
    lower(world.current);
    int next = successor(false);
    if (next != world.current) {
        note(" waits awake");
        switch_to(next);
    }
}

/* One of so many, of which 0 is what is usual; `used` of `most` have been others. */
static int choose(char kind, int count, int *used, int most) {
    if (!world.is_exploring || world.held) return 0;
    uint8_t options[THREADS];
    if (count > THREADS) count = THREADS;
    for (int i = 0; i < count; i++) options[i] = (uint8_t)i;
    int value = planned(kind);
    if (value >= count) fail("the plan does not fit: there is no such choice");
    if (shared->strategy == EXHAUSTIVE) {
        if (value > 0) ++*used;
        else if (*used >= most) return 0;
        record(kind, options, count, value < 0 ? 0 : value);
        return value < 0 ? 0 : value;
    }
    if (value < 0) value = any_number() % 8 < (uint64_t)most ? (int)(any_number() % (uint64_t)count) : 0;
    if (value > 0) record(kind, (uint8_t[]){(uint8_t)value}, 1, 0);
    return value;
}
int choose_value(int count) { return choose('r', count, &world.stale_reads, shared->stale_reads); }
int choose_failure(uint32_t kind, int count) {
    if (!(world.may_fail & kind) || (shared->strategy == RANDOM && world.failures >= MOST_FAILURES)) return 0;
    int way = choose('f', count + 1, &world.failures, shared->strategy == RANDOM ? 1 : MOST_FAILURES_EXHAUSTED);
    if (way > 0 && shared->strategy == RANDOM) world.failures++;
    if (way > 0) note("  fails");
    return way;
}

int choose_one_of(int count) {
    if (!world.is_exploring || world.held) return 0;
    world.steps++; /* a plan knows a decision by its step */
    uint8_t options[THREADS];
    for (int i = 0; i < count && i < THREADS; i++) options[i] = (uint8_t)i;
    int value = planned('c');
    if (count > THREADS || value >= count) fail("the plan does not fit: there is no such way");
    if (shared->strategy == EXHAUSTIVE) {
        record('c', options, count, value < 0 ? 0 : value);
        return value < 0 ? 0 : value;
    }
    if (value < 0) value = (int)(any_number() % (uint64_t)count);
    if (value > 0) record('c', (uint8_t[]){(uint8_t)value}, 1, 0);
    return value;
}

/* --- Waiting ---------------------------------------------------------------------------------------- */

void make_ready(struct vthread *thread, int result) {
    thread->state = READY;
    thread->result = result;
    thread->waits = NO_WAIT;
    thread->deadline = NEVER;
}
int block(enum wait_kind kind, const void *object, int64_t deadline) {
    struct vthread *thread = me();
    world.steps++;
    thread->state = BLOCKED;
    thread->waits = kind;
    thread->object = object;
    thread->deadline = deadline;
    thread->order = ++world.waits;
    note(" sleeps");
    int next = successor(true);
    if (next != world.current) switch_to(next);
    note(" is awake: %d", me()->result);
    return me()->result;
}
void leave_thread(void) {
    world.steps++;
    me()->state = ENDED;
    note(" ends");
    switch_to(successor(true));
    abort();
}
