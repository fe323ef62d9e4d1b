/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal_burst_test.c: signals that come faster than the loop performs their source: none is lost, none is taken for one of
 * another source, and each wakes what it has to wake. */
#include "helpers.h"

static const char *const A = TREADLE_DEFAULT_MODE;
static const char *const B = "other";
enum { SIGNALLERS = 3, LONG_ENOUGH = 200, MOST_SIGNALS = 400 };

/* What each thread writes before a signal, on a cache line of its own, and what the callback has seen of it. */
static struct signaller {
    _Alignas(128) atomic_long written;
    _Alignas(128) atomic_long wanted; /* the last of a row; the callback that sees it says so */
    sem_t seen;
    long last_seen; /* the loop's */
    pthread_t thread;
} signallers[SIGNALLERS];
static treadle_source target;
static int rounds, signaller_count;

static uint64_t chance(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}
static void look(treadle_source source, void *info) {
    (void)source, (void)info;
    for (int i = 0; i < SIGNALLERS; i++) {
        struct signaller *signaller = &signallers[i];
        long written = atomic_load_explicit(&signaller->written, memory_order_relaxed);
        if (written == signaller->last_seen) continue;
        CHECK(written > signaller->last_seen);
        signaller->last_seen = written;
        if (written == atomic_load(&signaller->wanted)) CHECK_INT(sem_post(&signaller->seen), 0);
    }
}
/* Writes to memory that is in no cache, for which all that is written next has to wait on its way there. */
static unsigned char far_memory[1 << 25];
static void write_far_away(uint64_t *state) {
    for (int i = 0; i < 56; i++) {
        atomic_store_explicit((_Atomic unsigned char *)&far_memory[chance(state) % sizeof far_memory], 1, memory_order_relaxed);
    }
}
/* Rows of signals, now one, now many; after each the last value must be seen, though nobody signals again. */
static void *signal_in_rows(void *info) {
    struct signaller *signaller = info;
    uint64_t state = (uint64_t)(signaller - signallers) + 1;
    for (int round = 0; round < rounds; round++) {
        long count = chance(&state) % 4 == 0 ? 1 : 1 + (long)(chance(&state) % MOST_SIGNALS);
        long first = atomic_load_explicit(&signaller->written, memory_order_relaxed) + 1;
        atomic_store(&signaller->wanted, first + count - 1);
        for (long i = 0; i < count; i++) {
            if (i == count - 1) write_far_away(&state);
            atomic_store_explicit(&signaller->written, first + i, memory_order_relaxed);
            CHECK(treadle_source_signal_and_wake(target) == TREADLE_OK);
        }
        await(&signaller->seen);
    }
    return NULL;
}
static void start_signallers(int count) {
    signaller_count = count;
    for (int i = 0; i < signaller_count; i++) {
        CHECK_INT(sem_init(&signallers[i].seen, 0, 0), 0);
        CHECK_INT(pthread_create(&signallers[i].thread, NULL, signal_in_rows, &signallers[i]), 0);
    }
}
static void join_signallers(void) {
    for (int i = 0; i < signaller_count; i++) CHECK_INT(pthread_join(signallers[i].thread, NULL), 0);
}

static void signal_from(int threads) {
    struct worker worker;
    worker_start(&worker);
    target = make_source(look, NULL);
    CHECK_INT(treadle_loop_add_source(worker.loop, target, A), TREADLE_OK);
    start_signallers(threads);
    join_signallers();
    worker_stop(&worker);
    CHECK_INT(treadle_source_release(target), TREADLE_OK);
}
/* Alone, since the next signal of any thread would show what was lost. */
TEST(the_last_signal_of_a_burst_is_seen, "SRC0-6 SRC0-8 WAKE-1 WAKE-3") {
    rounds = scaled(300000);
    signal_from(1);
}
TEST(several_threads_signal_one_source, "SRC0-6 SRC0-8 WAKE-1 WAKE-3") {
    rounds = scaled(5000);
    signal_from(SIGNALLERS);
}

static atomic_bool signallers_are_done;
static void *move_about(void *info) {
    struct worker *worker = info;
    uint64_t state = 77;
    while (!atomic_load(&signallers_are_done)) {
        switch (chance(&state) % 3) {
        case 0: /* away, and back */
            CHECK_INT(treadle_loop_remove_source(worker->loop, target, A), TREADLE_OK);
            sched_yield();
            CHECK_INT(treadle_loop_add_source(worker->loop, target, A), TREADLE_OK);
            break;
        case 1: /* in a second mode, which nobody runs, and in one only again */
            CHECK_INT(treadle_loop_add_source(worker->loop, target, B), TREADLE_OK);
            sched_yield();
            CHECK_INT(treadle_loop_remove_source(worker->loop, target, B), TREADLE_OK);
            break;
        default: sched_yield();
        }
        sched_yield();
    }
    return NULL;
}
TEST(a_source_may_change_its_modes_meanwhile, "SRC0-3 SRC0-6 SRC0-8 WAKE-1") {
    struct worker worker;
    pthread_t mover;
    rounds = scaled(3000);
    worker_start(&worker);
    target = make_source(look, NULL);
    CHECK_INT(treadle_loop_add_source(worker.loop, target, A), TREADLE_OK);
    CHECK_INT(pthread_create(&mover, NULL, move_about, &worker), 0);
    start_signallers(SIGNALLERS);
    join_signallers();
    atomic_store(&signallers_are_done, true);
    CHECK_INT(pthread_join(mover, NULL), 0);
    worker_stop(&worker);
    CHECK_INT(treadle_source_release(target), TREADLE_OK);
}

/* A thread that signals a source again and again while the loop, whose thread waits for it in a callback, cannot perform
 * it. */
static void *signal_often(void *info) {
    for (int i = 0; i < LONG_ENOUGH; i++) CHECK_INT(treadle_source_signal_and_wake(info), TREADLE_OK);
    return NULL;
}
/* The same, then waits until the loop sleeps in a mode, and gives one signal more, which must end that sleep. */
struct waker {
    treadle_source source;
    struct sleep_watch watch;
    sem_t has_signalled;
    pthread_t thread;
};
static void *signal_and_wake_later(void *info) {
    struct waker *waker = info;
    signal_often(waker->source);
    CHECK_INT(sem_post(&waker->has_signalled), 0);
    await_sleep(&waker->watch);
    CHECK_INT(treadle_source_signal_and_wake(waker->source), TREADLE_OK);
    return NULL;
}
static int performs;
static void count(treadle_source source, void *info) { (void)source, (void)info, performs++; }
static void stop_at_second_look(treadle_observer observer, uint32_t activity, void *info) {
    int *looks = info;
    (void)observer, (void)activity;
    if (++*looks == 2) CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
/* Runs B, which does not have the source: each pass begins with a look, and the second only comes by a wake-up. */
static void run_until_woken(struct waker *waker) {
    treadle_loop loop = treadle_loop_current();
    int looks = 0;
    treadle_observer observer = make_observer(stop_at_second_look, &looks, TREADLE_BEFORE_TIMERS);
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(loop, keeper, B), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, observer, B), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, B, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(pthread_join(waker->thread, NULL), 0);
    CHECK_INT(looks, 2);
    treadle_observer_invalidate(observer);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}
static void begin_burst(struct waker *waker) {
    waker->source = target;
    CHECK_INT(sem_init(&waker->has_signalled, 0, 0), 0);
    watch_sleep(&waker->watch, treadle_loop_current(), B);
    CHECK_INT(pthread_create(&waker->thread, NULL, signal_and_wake_later, waker), 0);
    await(&waker->has_signalled);
}
static treadle_source add_to_own_loop(treadle_perform_fn perform, void *info) {
    treadle_source source = make_source(perform, info);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, A), TREADLE_OK);
    return source;
}
static void end_source(treadle_source source) {
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

/* What the next tests have in common: a source of the own loop, and another one, signalled, whose callback has a thread
 * signal the first again and again. */
struct scene {
    struct waker waker;
    treadle_source beginner;
};
static void open_scene(struct scene *scene, treadle_perform_fn begin) {
    target = add_to_own_loop(count, NULL);
    scene->beginner = add_to_own_loop(begin, &scene->waker);
    CHECK_INT(treadle_source_signal(scene->beginner), TREADLE_OK);
}
static void close_scene(struct scene *scene) {
    unwatch_sleep(&scene->waker.watch);
    end_source(scene->beginner);
    end_source(target);
}

static void run_other_mode(treadle_source source, void *info) {
    struct waker *waker = info;
    (void)source;
    begin_burst(waker);
    run_until_woken(waker);
    CHECK_INT(performs, 0);
}
TEST(one_signal_more_wakes_a_run_inside_of_the_run, "WAKE-1 SRC0-6") {
    struct scene scene;
    open_scene(&scene, run_other_mode);
    CHECK_INT(poll_mode(A), TREADLE_RUN_TIMED_OUT);
    while (performs == 0) CHECK(poll_mode(A) >= 0);
    CHECK_INT(performs, 1);
    close_scene(&scene);
}

static void move_and_run_other_mode(treadle_source source, void *info) {
    treadle_loop loop = treadle_loop_current();
    struct waker *waker = info;
    (void)source;
    begin_burst(waker);
    CHECK_INT(treadle_loop_remove_source(loop, target, A), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, target, "asleep"), TREADLE_OK);
    run_until_woken(waker);
    CHECK_INT(performs, 0);
}
TEST(one_signal_more_wakes_also_when_its_source_has_left, "WAKE-1 SRC0-6") {
    struct scene scene;
    open_scene(&scene, move_and_run_other_mode);
    CHECK_INT(poll_mode(A), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(poll_mode("asleep"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, 1);
    close_scene(&scene);
}

static void signal_and_stop(treadle_source source, void *info) {
    (void)source;
    begin_burst(info);
    CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
TEST(one_signal_more_wakes_the_next_run, "WAKE-1 WAKE-2 SRC0-6") {
    struct scene scene;
    open_scene(&scene, signal_and_stop);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), A, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(performs, 0);
    run_until_woken(&scene.waker); /* and its first sleep was one: WAKE-2 */
    CHECK_INT(performs, 0);
    CHECK_INT(poll_mode(A), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, 1);
    close_scene(&scene);
}

static void signal_and_move(treadle_source source, void *info) {
    treadle_loop loop = treadle_loop_current();
    struct waker *waker = info;
    (void)source;
    begin_burst(waker);
    /* It takes its signal along: what is signalled after it was performed is performed too. */
    CHECK_INT(treadle_loop_remove_source(loop, target, A), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, target, B), TREADLE_OK);
    while (performs < 2) {
        CHECK_INT(treadle_loop_run(loop, B, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    }
    CHECK_INT(pthread_join(waker->thread, NULL), 0);
    CHECK_INT(performs, 2);
}
TEST(a_source_takes_its_signal_along, "SRC0-6 WAKE-1") {
    struct scene scene;
    open_scene(&scene, signal_and_move);
    CHECK_INT(poll_mode(A), TREADLE_RUN_TIMED_OUT);
    close_scene(&scene);
}

/* All on the thread that signals. */
static void *signal_and_release(void *info) {
    void **both = info;
    treadle_source first = both[0], next;
    signal_often(first);
    CHECK_INT(treadle_source_invalidate(first), TREADLE_OK);
    CHECK_INT(treadle_source_signal_and_wake(first), TREADLE_IGNORED);
    CHECK_INT(treadle_source_release(first), TREADLE_OK);
    CHECK_ERROR(treadle_source_signal_and_wake(first), TREADLE_E_STALE, "source");
    /* In the same place. */
    next = make_source(count, NULL);
    CHECK_INT(treadle_loop_add_source(both[1], next, A), TREADLE_OK);
    on_thread(signal_often, next);
    CHECK(treadle_source_is_signalled(next));
    CHECK_ERROR(treadle_source_signal_and_wake(first), TREADLE_E_STALE, "source");
    target = next;
    return NULL;
}
static void have_it_released(treadle_source source, void *info) {
    (void)source, (void)info;
    void *both[] = {target, treadle_loop_current()};
    on_thread(signal_and_release, both);
    CHECK_INT(performs, 0);
}
TEST(a_source_may_go_meanwhile, "SRC0-4 SRC0-6") {
    target = add_to_own_loop(count, NULL);
    treadle_source releaser = add_to_own_loop(have_it_released, NULL);
    CHECK_INT(treadle_source_signal(releaser), TREADLE_OK);
    CHECK_INT(poll_mode(A), TREADLE_RUN_TIMED_OUT);
    while (performs == 0) CHECK(poll_mode(A) >= 0);
    CHECK_INT(performs, 1);
    end_source(releaser);
    end_source(target);
}

static void signal_itself_often(treadle_source source, void *info) {
    int *left = info;
    if (--*left > 0) for (int i = 0; i < LONG_ENOUGH; i++) CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
    else CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
TEST(own_signals_coalesce, "SRC0-6 SRC0-8") {
    int left = 1000;
    treadle_source source = add_to_own_loop(signal_itself_often, &left);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), A, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(left, 0);
    end_source(source);
}
TEST_MAIN()
