/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * mixed_race_test.c: three threads do whatever can be done to two dozen sources of three loops, whose callbacks signal
 * themselves, run their loops once more, and stop them. At the end: no signal was lost, every schedule had its cancel,
 * every context was given back, and nothing was called after that.
 *
 * TREADLE_TEST_SEED sets what each thread does, though not when. */
#include "chance.h"

enum { LOOPS = 3, ACTORS = 3, SLOTS = 24, ACTS = THREAD_SANITIZER ? 8000 : 60000 };
static const char *const modes[] = {TREADLE_DEFAULT_MODE, "first", "second", TREADLE_COMMON_MODES};
static treadle_loop loops[LOOPS];
static sem_t loop_is_ready, all_are_ready, has_performed;
static atomic_int is_over, is_checking;
static atomic_long counts_alive;

/* What belongs to a source: alive as long as somebody counts on it. */
struct counts {
    atomic_int references;
    atomic_long scheduled, cancelled, wanted, seen;
    bool signals_itself, ends_itself;
};
static struct slot {
    pthread_mutex_t lock;
    treadle_source source;
    struct counts *counts;
} slots[SLOTS];

static _Thread_local int runs_inside;

static void *retain_counts(void *info) {
    struct counts *counts = info;
    CHECK(atomic_fetch_add(&counts->references, 1) > 0);
    return counts;
}
static void release_counts(void *info) {
    struct counts *counts = info;
    int before = atomic_fetch_sub(&counts->references, 1);
    CHECK(before > 0);
    if (before > 1) return;
    CHECK_INT(counts->cancelled, counts->scheduled);
    atomic_fetch_sub(&counts_alive, 1);
    free(counts);
}
static void on_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct counts *counts = info;
    (void)source, (void)loop, (void)mode;
    CHECK(counts->references > 0);
    atomic_fetch_add(&counts->scheduled, 1);
}
static void on_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct counts *counts = info;
    (void)source, (void)loop, (void)mode;
    CHECK(counts->references > 0);
    atomic_fetch_add(&counts->cancelled, 1);
}
static void on_post(void *info) { (void)info; }
static void run_once_more(void) {
    runs_inside++;
    treadle_loop_run(treadle_loop_current(), modes[chance(3)], 200000, chance(2) ? TREADLE_RUN_RETURN_AFTER_SOURCE : 0);
    runs_inside--;
}
static void on_perform(treadle_source source, void *info) {
    struct counts *counts = info;
    long wanted = counts->wanted, seen = counts->seen;
    CHECK(counts->references > 0);
    while (seen < wanted && !atomic_compare_exchange_weak(&counts->seen, &seen, wanted)) {}
    if (is_checking) {
        sem_post(&has_performed);
        return;
    }
    switch (chance(1000)) {
    case 1:
        if (runs_inside < 2) run_once_more();
        break;
    case 2: treadle_loop_stop(treadle_loop_current()); break;
    case 3: treadle_loop_post(loops[chance(LOOPS)], on_post, NULL); break;
    case 4:
        if (counts->ends_itself) treadle_source_invalidate(source);
        break;
    default:
        if (counts->signals_itself && chance(200)) treadle_source_signal(source);
    }
}

static void fill(struct slot *slot) {
    struct counts *counts = calloc(1, sizeof *counts);
    treadle_source_context context = {
        .struct_size = sizeof context, .info = counts, .retain = retain_counts, .release = release_counts,
        .schedule = on_schedule, .cancel = on_cancel, .perform = on_perform, .order = chance(3) ? 0 : chance(5)};
    CHECK(counts != NULL);
    counts->references = 1;
    counts->signals_itself = chance(3) == 0;
    counts->ends_itself = chance(4) == 0;
    atomic_fetch_add(&counts_alive, 1);
    CHECK_INT(treadle_source_create(&context, &slot->source), TREADLE_OK);
    slot->counts = counts;
}
static void empty(struct slot *slot) {
    treadle_source_invalidate(slot->source);
    CHECK_INT(treadle_source_release(slot->source), TREADLE_OK);
    release_counts(slot->counts);
    slot->source = NULL;
}
static void signal_source(treadle_source source, struct counts *counts, int times) {
    for (int i = 0; i < times; i++) {
        atomic_fetch_add(&counts->wanted, 1);
        CHECK(treadle_source_signal_and_wake(source) >= 0);
    }
}
static void act(void) {
    struct slot *slot = &slots[chance(SLOTS)];
    unsigned what = chance(1000);
    pthread_mutex_lock(&slot->lock);
    if (!slot->source) fill(slot);
    else if (what < 15) empty(slot);
    treadle_source source = slot->source;
    struct counts *counts = slot->counts;
    if (source) {
        CHECK_INT(treadle_source_retain(source), TREADLE_OK);
        retain_counts(counts);
    }
    pthread_mutex_unlock(&slot->lock);
    if (!source) return;
    treadle_loop loop = loops[chance(LOOPS)];
    const char *mode = modes[chance(4)];
    if (what < 60) CHECK(treadle_loop_add_source(loop, source, mode) >= 0);
    else if (what < 80) CHECK(treadle_loop_remove_source(loop, source, mode) >= 0);
    else if (what < 82) treadle_source_invalidate(source);
    else if (what < 100) CHECK(treadle_source_signal(source) >= 0);
    else if (what < 110) treadle_source_is_signalled(source);
    else if (what < 115) treadle_loop_contains_source(loop, source, mode);
    else if (what < 120) CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    else signal_source(source, counts, what < 130 ? 200 : 1);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    release_counts(counts);
}

static void on_timer(treadle_timer timer, void *info) { (void)timer, (void)info, act(); }
static void *run_a_loop(void *place) {
    treadle_loop *loop = place;
    begin_chance((uint64_t)(SLOTS + (loop - loops)));
    *loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(*loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add_common_mode(*loop, modes[1]), TREADLE_OK);
    sem_post(&loop_is_ready);
    await(&all_are_ready);
    for (bool has_seen = false; is_over < 2;) {
        if (is_over && !has_seen) has_seen = true, sem_post(&loop_is_ready);
        treadle_timer timer = chance(3) ? make_timer(on_timer, NULL, treadle_time_now(), SECONDS(1) / 1000) : NULL;
        treadle_observer observer = chance(6) ? NULL : make_observer(NULL, NULL, TREADLE_ALL_ACTIVITIES);
        const char *mode = is_over ? TREADLE_DEFAULT_MODE : modes[chance(3)];
        if (timer && !is_over) CHECK_INT(treadle_loop_add_timer(*loop, timer, mode), TREADLE_OK);
        if (observer) CHECK_INT(treadle_loop_add_observer(*loop, observer, mode), TREADLE_OK);
        CHECK(treadle_loop_run(*loop, mode, SECONDS(1) / 300, chance(5) ? 0 : TREADLE_RUN_RETURN_AFTER_SOURCE) > 0);
        if (timer) {
            CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
            CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
        }
        if (observer) {
            CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
            CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
        }
    }
    return NULL;
}
static void *act_often(void *place) {
    begin_chance((uint64_t)((struct slot *)place - slots));
    for (int i = 0; i < ACTS; i++) act();
    return NULL;
}
/* The last signal of each source that is left is seen by a callback. */
static void check_that_no_signal_is_lost(void) {
    is_checking = 1;
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &slots[i];
        if (!slot->source || !treadle_source_is_valid(slot->source)) continue;
        CHECK(treadle_loop_add_source(loops[i % LOOPS], slot->source, TREADLE_DEFAULT_MODE) >= 0);
        long wanted = atomic_fetch_add(&slot->counts->wanted, 1) + 1;
        CHECK(treadle_source_signal_and_wake(slot->source) >= 0);
        while (slot->counts->seen < wanted) await(&has_performed);
    }
}
static void race(void) {
    pthread_t runners[LOOPS], actors[ACTORS];
    CHECK_INT(sem_init(&loop_is_ready, 0, 0) | sem_init(&all_are_ready, 0, 0) | sem_init(&has_performed, 0, 0), 0);
    choose_seed();
    begin_chance(SLOTS + LOOPS);
    for (int i = 0; i < SLOTS; i++) CHECK_INT(pthread_mutex_init(&slots[i].lock, NULL), 0);
    for (int i = 0; i < LOOPS; i++) CHECK_INT(pthread_create(&runners[i], NULL, run_a_loop, &loops[i]), 0);
    for (int i = 0; i < LOOPS; i++) await(&loop_is_ready);
    for (int i = 0; i < LOOPS; i++) CHECK_INT(sem_post(&all_are_ready), 0);
    for (int i = 0; i < ACTORS; i++) CHECK_INT(pthread_create(&actors[i], NULL, act_often, &slots[i]), 0);
    for (int i = 0; i < ACTORS; i++) CHECK_INT(pthread_join(actors[i], NULL), 0);
    is_over = 1;
    for (int i = 0; i < LOOPS; i++) await(&loop_is_ready); /* no timer of the rounds before acts any more */
    check_that_no_signal_is_lost();
    is_over = 2;
    for (int i = 0; i < LOOPS; i++) {
        CHECK_INT(treadle_loop_wake(loops[i]), TREADLE_OK);
        CHECK_INT(pthread_join(runners[i], NULL), 0);
    }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].source) empty(&slots[i]);
    for (int i = 0; i < LOOPS; i++) CHECK_INT(treadle_loop_release(loops[i]), TREADLE_OK);
    CHECK_INT(counts_alive, 0);
}

TEST(anything_may_happen_to_a_source_at_any_time, "SRC0-2 SRC0-3 SRC0-6 SRC0-8 OBJ-9") {
    /* The first source before the first thread. */
    CHECK_INT(treadle_source_release(make_source(NULL, NULL)), TREADLE_OK);
    race();
}
static void *do_nothing(void *info) { return info; }
TEST(the_same_where_a_thread_was_there_before, "SRC0-2 SRC0-3 SRC0-6 SRC0-8 OBJ-9") {
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    race();
    CHECK_INT(pthread_join(thread, NULL), 0);
}
TEST_MAIN()
