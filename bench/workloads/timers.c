/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timers.c: what many timers cost: to make and arm, to fire, to cancel, to move. */
#include "../harness/support.h"

enum { MILLISECOND = 1000000 };

static size_t at_most(size_t wanted) {
    wanted = amount(wanted);
    return library.most_timers && library.most_timers < wanted ? library.most_timers : wanted;
}

/* timer_insert, timer_fire: one-shots with dates of chance are armed; then, when all of them are due, the loop runs
 * once and fires them. timer_cpu is what both together cost all threads: a library may do its work while the others
 * sleep, or on another thread. */
struct volley {
    void *loop;
    size_t fired, wanted, misplaced;
    uint64_t last_date, tolerated;
};
struct shot {
    struct volley *volley;
    uint64_t date;
    void *timer;
};

/* A delay counts from its own call, or a time before it, and making all of them takes a while: by so much the order may be
 * wrong, and by what a library rounds to milliseconds. */
CALLBACK(shot_fired);
static void shot_fired(void *info) {
    struct shot *shot = info;
    struct volley *volley = shot->volley;
    if (shot->date + volley->tolerated < volley->last_date) volley->misplaced++;
    volley->last_date = shot->date;
    if (++volley->fired == volley->wanted) library.loop_stop(volley->loop);
}

static void fire_all(size_t count, uint64_t range, const char *insert, const char *fire, const char *cpu) {
    count = at_most(count);
    if (is_quick) range /= 5;
    struct shot *shots = allocate(count, sizeof *shots);
    struct volley volley = {.loop = new_loop(), .wanted = count, .tolerated = range};
    uint64_t base = clock_ns();
    for (size_t i = 0; i < count; i++) shots[i] = (struct shot){&volley, base + MILLISECOND + chance() % range, NULL};

    uint64_t begun = clock_ns(), cpu_begun = processor_ns();
    for (size_t i = 0; i < count; i++) {
        shots[i].timer = library.timer_make(volley.loop, shots[i].date - base, TIMER_ONCE, &shot_fired_callback, &shots[i]);
    }
    uint64_t armed = clock_ns();
    if (!library.fires_unattended) volley.tolerated = armed - begun + library.oldest_now_ns + 2 * MILLISECOND;
    sleep_until(armed + range + 5 * MILLISECOND);
    uint64_t due = clock_ns();
    library.loop_run(volley.loop);
    uint64_t fired = clock_ns(), cpu_used = processor_ns() - cpu_begun;
    for (size_t i = 0; i < count; i++) library.timer_free(volley.loop, shots[i].timer);
    library.loop_free(volley.loop);
    free(shots);

    demand(volley.fired == count, "every timer fires once");
    if (insert) tell(insert, (double)(armed - begun) / (double)count, "ns");
    if (volley.misplaced) {
        if (fire) tell_none(fire, "due timers do not fire in the order of their dates");
        tell_none(cpu, "due timers do not fire in the order of their dates");
        return;
    }
    if (fire && !library.fires_unattended) tell(fire, (double)(fired - due) / (double)count, "ns");
    tell(cpu, (double)cpu_used / (double)count, "ns");
}
static void timer_fire(void) { fire_all(100000, 100 * MILLISECOND, "timer_insert", "timer_fire", "timer_cpu"); }
static void timer_fire_1m(void) { fire_all(1000000, 1000 * MILLISECOND, NULL, NULL, "timer_cpu_1m"); }

static size_t fired_too_soon;
CALLBACK(too_soon);
static void too_soon(void *info) {
    (void)info;
    fired_too_soon++;
}

/* timer_cancel: far timers are made, and all cancelled in an order of chance; the cost of one pair. */
static void timer_cancel(void) {
    size_t count = at_most(100000);
    void **timers = allocate(count, sizeof *timers), *loop = new_loop();
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < count; i++) {
        uint64_t after = 10000 * (uint64_t)MILLISECOND + chance() % (1000000 * (uint64_t)MILLISECOND);
        timers[i] = library.timer_make(loop, after, TIMER_ONCE, &too_soon_callback, NULL);
    }
    uint64_t made = clock_ns();
    shuffle(timers, count);
    uint64_t mixed = clock_ns();
    for (size_t i = 0; i < count; i++) library.timer_free(loop, timers[i]);
    uint64_t cancelled = clock_ns();
    library.loop_free(loop);
    free(timers);
    demand(fired_too_soon == 0, "a cancelled timer does not fire");
    tell("timer_cancel", (double)(cancelled - mixed + made - begun) / (double)count, "ns");
}

/* timer_cancel_2: the same by two threads at once, each with a loop of its own on a processor of its own, which makes and
 * cancels its timers by the hundred: what threads cost each other that share nothing. */
struct churn {
    int processor;
    pthread_barrier_t *both;
    size_t rounds;
    uint64_t took;
};
static void *make_and_cancel(void *info) {
    enum { HUNDRED = 100 };
    struct churn *churn = info;
    bind_thread(churn->processor);
    void *timers[HUNDRED], *loop = new_loop();
    pthread_barrier_wait(churn->both);
    uint64_t begun = clock_ns();
    for (size_t round = 0; round < churn->rounds; round++) {
        for (size_t i = 0; i < HUNDRED; i++) {
            timers[i] = library.timer_make(loop, (10000 + i) * (uint64_t)MILLISECOND, TIMER_ONCE, &too_soon_callback, NULL);
        }
        for (size_t i = 0; i < HUNDRED; i++) library.timer_free(loop, timers[i]);
    }
    churn->took = (clock_ns() - begun) / HUNDRED;
    library.loop_free(loop);
    return NULL;
}
static void timer_cancel_2(void) {
    size_t rounds = amount(2000);
    pthread_barrier_t both;
    struct churn churns[] = {{loop_processor, &both, rounds, 0}, {other_processor, &both, rounds, 0}};
    pthread_t threads[2];
    demand(pthread_barrier_init(&both, NULL, 2) == 0, "threads can begin together");
    for (int i = 0; i < 2; i++) demand(pthread_create(&threads[i], NULL, make_and_cancel, &churns[i]) == 0, "a thread can be made");
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&both);
    demand(fired_too_soon == 0, "a cancelled timer does not fire");
    tell("timer_cancel_2", (double)(churns[0].took + churns[1].took) / 2 / (double)rounds, "ns");
}

/* timer_reset: one of 10,000 live timers is put off again, as a connection's time limit is with every byte. */
static void timer_reset(void) {
    size_t count = at_most(10000), moves = amount(library.most_timers ? 20000 : 200000);
    void **timers = allocate(count, sizeof *timers), *loop = new_loop();
    for (size_t i = 0; i < count; i++) {
        uint64_t after = 30000 * (uint64_t)MILLISECOND + chance() % (1000 * MILLISECOND);
        timers[i] = library.timer_make(loop, after, TIMER_ONCE, &too_soon_callback, NULL);
    }
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < moves; i++) {
        library.timer_move(loop, timers[chance() % count], 30000 * (uint64_t)MILLISECOND + i * 1000);
    }
    uint64_t took = clock_ns() - begun;
    for (size_t i = 0; i < count; i++) library.timer_free(loop, timers[i]);
    library.loop_free(loop);
    free(timers);
    demand(fired_too_soon == 0, "a timer that was put off does not fire");
    tell("timer_reset", (double)took / (double)moves, "ns");
}

const struct workload timer_workloads[] = {
    {"timer_fire", timer_fire, NEEDS_LOOP | NEEDS_TIMER},
    {"timer_cancel", timer_cancel, NEEDS_LOOP | NEEDS_TIMER},
    {"timer_cancel_2", timer_cancel_2, NEEDS_LOOP | NEEDS_TIMER | NEEDS_TWO_PROCESSORS},
    {"timer_reset", timer_reset, NEEDS_LOOP | NEEDS_TIMER | NEEDS_MOVE},
    {"timer_cpu_1m", timer_fire_1m, NEEDS_LOOP | NEEDS_TIMER | NEEDS_MANY_TIMERS},
    {NULL, NULL, 0},
};
