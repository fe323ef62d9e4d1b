/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * setters_race_test.c: what may be changed and asked of shared objects, by other threads while a loop serves them.
 * The thread sanitizer is the judge; the counts say that the loop lives. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE
#define OTHER "elsewhere"
enum { ITEMS = 4, CALLERS = 3 };

static struct worker worker;
static treadle_source sources[ITEMS];
static treadle_timer timers[ITEMS];
static treadle_observer observers[ITEMS];
static treadle_descriptor descriptors[ITEMS];
static int numbers[ITEMS];
static atomic_int calls;

static void perform(treadle_source source, void *info) { (void)source, (void)info, atomic_fetch_add(&calls, 1); }
static void fire(treadle_timer timer, void *info) { (void)timer, (void)info, atomic_fetch_add(&calls, 1); }
static void notify(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info, atomic_fetch_add(&calls, 1); }
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events;
    uint64_t value;
    CHECK(read(*(int *)info, &value, sizeof value) == sizeof value || errno == EAGAIN);
    atomic_fetch_add(&calls, 1);
}

static void make_all(void) {
    for (int i = 0; i < ITEMS; i++) {
        numbers[i] = eventfd(1, EFD_NONBLOCK);
        CHECK(numbers[i] >= 0);
        sources[i] = make_source(perform, NULL);
        timers[i] = make_timer(fire, NULL, FAR_AWAY, i % 2 ? 1000000 : 0);
        observers[i] = make_observer(notify, NULL, TREADLE_ALL_ACTIVITIES);
        treadle_descriptor_context context = {
            .struct_size = sizeof context, .ready = ready, .info = &numbers[i], .fd = numbers[i], .events = TREADLE_READABLE};
        CHECK_INT(treadle_descriptor_create(&context, &descriptors[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(worker.loop, sources[i], MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(worker.loop, timers[i], i % 2 ? TREADLE_COMMON_MODES : MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_observer(worker.loop, observers[i], MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_descriptor(worker.loop, descriptors[i], i % 2 ? TREADLE_COMMON_MODES : MODE), TREADLE_OK);
    }
}
static void free_all(void) {
    for (int i = 0; i < ITEMS; i++) {
        CHECK_INT(treadle_source_release(sources[i]), TREADLE_OK);
        CHECK_INT(treadle_timer_release(timers[i]), TREADLE_OK);
        CHECK_INT(treadle_observer_release(observers[i]), TREADLE_OK);
        CHECK_INT(treadle_descriptor_invalidate(descriptors[i]), TREADLE_OK);
        CHECK_INT(treadle_descriptor_release(descriptors[i]), TREADLE_OK);
        close(numbers[i]);
    }
}

static void change(unsigned *seed) {
    int i = rand_r(seed) % ITEMS;
    uint64_t one = 1;
    const char *mode = rand_r(seed) % 2 ? MODE : OTHER;
    switch (rand_r(seed) % 14) {
    case 0: CHECK_INT(treadle_descriptor_set_events(descriptors[i], rand_r(seed) % 4), TREADLE_OK); break;
    case 1: CHECK(write(numbers[i], &one, sizeof one) == sizeof one || errno == EAGAIN); break;
    case 2: CHECK(treadle_timer_set_next_fire(timers[i], treadle_time_now() + rand_r(seed) % 100000) >= 0); break;
    case 3: CHECK(treadle_timer_set_tolerance(timers[i], rand_r(seed) % 1000) >= 0); break;
    case 4: CHECK_INT(treadle_source_signal_and_wake(sources[i]), TREADLE_OK); break;
    case 5: CHECK(treadle_loop_add_source(worker.loop, sources[i], mode) >= 0); break;
    case 6: CHECK(treadle_loop_remove_source(worker.loop, sources[i], mode) >= 0); break;
    case 7: CHECK(treadle_loop_add_timer(worker.loop, timers[i], mode) >= 0); break;
    case 8: CHECK(treadle_loop_remove_timer(worker.loop, timers[i], OTHER) >= 0); break;
    case 9: CHECK(treadle_loop_add_observer(worker.loop, observers[i], mode) >= 0); break;
    case 10: CHECK(treadle_loop_remove_observer(worker.loop, observers[i], mode) >= 0); break;
    case 11: CHECK(treadle_loop_add_descriptor(worker.loop, descriptors[i], mode) >= 0); break;
    case 12: CHECK(treadle_loop_remove_descriptor(worker.loop, descriptors[i], mode) >= 0); break;
    default: CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
    }
}
static void ask(unsigned *seed) {
    int i = rand_r(seed) % ITEMS;
    char text[256];
    size_t length;
    int64_t number;
    int32_t fd;
    uint32_t events;
    switch (rand_r(seed) % 16) {
    case 0: CHECK_INT(treadle_descriptor_get_events(descriptors[i], &events), TREADLE_OK); break;
    case 1: CHECK_INT(treadle_descriptor_get_fd(descriptors[i], &fd), TREADLE_OK); break;
    case 2: CHECK_INT(treadle_descriptor_describe(descriptors[i], text, sizeof text, &length), TREADLE_OK); break;
    case 3: (void)treadle_loop_contains_descriptor(worker.loop, descriptors[i], MODE); break;
    case 4: CHECK(treadle_timer_get_next_fire(timers[i], &number) >= 0); break;
    case 5: CHECK(treadle_timer_get_tolerance(timers[i], &number) >= 0); break;
    case 6: CHECK_INT(treadle_timer_describe(timers[i], text, sizeof text, &length), TREADLE_OK); break;
    case 7: (void)treadle_timer_is_valid(timers[i]); break;
    case 8: (void)treadle_source_is_signalled(sources[i]); break;
    case 9: CHECK_INT(treadle_source_describe(sources[i], text, sizeof text, &length), TREADLE_OK); break;
    case 10: CHECK_INT(treadle_observer_describe(observers[i], text, sizeof text, &length), TREADLE_OK); break;
    case 11: CHECK(treadle_loop_get_next_fire(worker.loop, MODE, &number) >= TREADLE_E_NOT_FOUND); break;
    case 12: CHECK_INT(treadle_loop_describe(worker.loop, text, sizeof text, &length), TREADLE_OK); break;
    case 13: CHECK(treadle_loop_get_modes(worker.loop, text, sizeof text, &length) >= 0); break;
    case 14: CHECK(treadle_loop_get_current_mode(worker.loop, text, sizeof text, &length) >= TREADLE_E_NOT_FOUND); break;
    default: (void)treadle_loop_is_waiting(worker.loop);
    }
}
static void *change_and_ask(void *number) {
    unsigned seed = (unsigned)(intptr_t)number * 7919 + 13;
    for (int i = scaled(20000); i > 0; i--) {
        change(&seed);
        ask(&seed);
    }
    return NULL;
}

static void race_in(const char *mode) {
    pthread_t threads[CALLERS];
    worker_start_in_mode(&worker, mode);
    make_all();
    for (intptr_t i = 0; i < CALLERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, change_and_ask, (void *)i), 0);
    for (int i = 0; i < CALLERS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    worker_stop(&worker);
    free_all();
}

TEST(everything_is_changed_while_it_is_served, "OBJ-6 OBJ-7 SRC1-9 MODE-6") {
    race_in(MODE);
    CHECK(calls > 0);
}
TEST(everything_is_changed_while_another_mode_runs, "OBJ-6 MODE-6") { race_in(OTHER); }

TEST_MAIN()
