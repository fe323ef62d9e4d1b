/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * mode_count_test.c: modes by the thousands: one that nothing is in may be forgotten, and one that anybody needs is not. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

static const char *name_of(int i) {
    static char name[64];
    snprintf(name, sizeof name, "a mode for the wait of number %d", i);
    return name;
}
static int count_modes(treadle_loop loop) {
    static char names[1 << 16];
    size_t length = 0;
    int count = 0;
    CHECK_INT(treadle_loop_get_modes(loop, names, sizeof names, &length), TREADLE_OK);
    CHECK(length <= sizeof names);
    for (size_t i = 0; i < length; i++) count += names[i] == 0;
    return count;
}
static int performed;
static void count_perform(treadle_source source, void *info) { (void)source, (void)info, performed++; }
static void count_block(void *info) { ++*(int *)info; }

/* Waits in a mode of its own: with a source, a timer, an observer and a descriptor. */
static treadle_source source;
static treadle_descriptor descriptor;
static void wait_in(const char *mode) {
    treadle_loop loop = treadle_loop_current();
    treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, 0);
    treadle_observer observer = make_observer(NULL, NULL, TREADLE_ALL_ACTIVITIES);
    CHECK_INT(treadle_loop_add_source(loop, source, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, observer, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, mode), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, mode, SECONDS(60), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(treadle_loop_remove_source(loop, source, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_descriptor(loop, descriptor, mode), TREADLE_OK);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
}
TEST(a_mode_for_each_wait_takes_neither_memory_nor_descriptors, "RL-7 MODE-1 MODE-4") {
    int fd = eventfd(0, EFD_CLOEXEC), waits = scaled(20000), descriptors = 0;
    source = make_source(count_perform, NULL);
    descriptor = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
    for (int i = 0; i < 100; i++) wait_in(name_of(i));
    descriptors = count_descriptors();
    for (int i = 100; i < waits; i++) {
        wait_in(name_of(i));
        if (i % 1000 == 0) CHECK(count_modes(treadle_loop_current()) < 50 && count_descriptors() < descriptors + 50);
    }
    CHECK(count_modes(treadle_loop_current()) < 50 && count_descriptors() < descriptors + 50);
}

/* Makes so many modes, and leaves nothing in them. */
static void make_modes(treadle_loop loop, int count) {
    treadle_source passing = make_source(NULL, NULL);
    for (int i = 0; i < count; i++) {
        CHECK_INT(treadle_loop_add_source(loop, passing, name_of(i)), TREADLE_OK);
        CHECK_INT(treadle_loop_remove_source(loop, passing, name_of(i)), TREADLE_OK);
    }
    CHECK_INT(treadle_source_release(passing), TREADLE_OK);
}
TEST(a_mode_with_anything_in_it_stays, "RL-7 MODE-4") {
    treadle_loop loop = treadle_loop_current();
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(loop, probe.item, "occupied"), TREADLE_OK);
        make_modes(loop, 1000);
        CHECK(kinds[k]->contains(loop, probe.item, "occupied") && mode_exists(loop, "occupied"));
        CHECK(mode_exists(loop, MODE) && count_modes(loop) < 50);
        CHECK_INT(kinds[k]->remove(loop, probe.item, "occupied"), TREADLE_OK);
        probe_end(&probe);
    }
}

TEST(a_mode_that_a_block_or_a_request_names_stays, "RL-7 BLK-4 PERF-6") {
    treadle_loop loop = treadle_loop_current();
    int calls = 0;
    const char *modes[] = {"of a block", "also"};
    treadle_post block = {.struct_size = sizeof block, .modes = modes, .mode_count = 2, .fn = count_block, .info = &calls};
    for (int round = 1; round <= 3; round++) {
        CHECK_INT(post_block(loop, &block), TREADLE_OK);
        make_modes(loop, 1000);
        CHECK(mode_exists(loop, "of a block") && mode_exists(loop, "also"));
        treadle_status result = poll_mode(round % 2 ? "of a block" : "also");
        CHECK(result == TREADLE_RUN_FINISHED || result == TREADLE_RUN_TIMED_OUT);
        CHECK_INT(calls, round);
    }
    make_modes(loop, 1000);
    CHECK(!mode_exists(loop, "of a block") && !mode_exists(loop, "also"));
}

TEST(a_common_mode_stays, "MODE-8 RL-7") {
    treadle_loop loop = treadle_loop_current();
    treadle_source common = make_source(count_perform, NULL);
    CHECK_INT(treadle_loop_add_common_mode(loop, "common"), TREADLE_OK);
    make_modes(loop, 1000);
    CHECK(treadle_loop_is_common_mode(loop, "common") && !mode_exists(loop, "common"));
    CHECK_INT(treadle_loop_add_source(loop, common, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK(treadle_loop_contains_source(loop, common, "common") && treadle_loop_contains_source(loop, common, MODE));
    CHECK_INT(treadle_loop_add_common_mode(loop, "later"), TREADLE_OK);
    CHECK(treadle_loop_contains_source(loop, common, "later"));
    CHECK_INT(treadle_source_release(common), TREADLE_OK);
}

/* The mode that is run stays, and its name, though its last item leaves and a thousand others come inside of it. */
static void leave_and_make_modes(treadle_source self, void *info) {
    char mode[64];
    size_t length;
    treadle_loop loop = treadle_loop_current();
    (void)info;
    performed++;
    CHECK_INT(treadle_loop_remove_source(loop, self, "being run"), TREADLE_OK);
    make_modes(loop, 1000);
    CHECK_INT(treadle_loop_get_current_mode(loop, mode, sizeof mode, &length), TREADLE_OK);
    CHECK_TEXT(mode, "being run");
    CHECK_INT(treadle_loop_add_source(loop, self, "being run"), TREADLE_OK);
    if (performed < 3) {
        CHECK_INT(treadle_source_signal(self), TREADLE_OK);
        CHECK_INT(poll_mode("being run"), TREADLE_RUN_TIMED_OUT);
    }
}
TEST(the_mode_that_is_run_stays, "RL-6 RUN-13 OBJ-6") {
    treadle_loop loop = treadle_loop_current();
    source = make_source(leave_and_make_modes, NULL);
    CHECK_INT(treadle_loop_add_source(loop, source, "being run"), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(poll_mode("being run"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performed, 3);
    CHECK_INT(treadle_loop_remove_source(loop, source, "being run"), TREADLE_OK);
    make_modes(loop, 1000);
    CHECK(!mode_exists(loop, "being run"));
}

/* The names that a source is told are there still, whatever the client does meanwhile. */
static int told;
static void schedule_and_make_modes(treadle_source self, treadle_loop loop, const char *mode, void *info) {
    (void)self, (void)info;
    char before[64];
    snprintf(before, sizeof before, "%s", mode);
    make_modes(loop, 100);
    CHECK_TEXT(mode, before);
    told++;
}
TEST(a_source_that_is_told_of_a_mode_may_make_others, "SRC0-3 OBJ-6") {
    treadle_source_context context = {.struct_size = sizeof context, .schedule = schedule_and_make_modes, .cancel = schedule_and_make_modes};
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(treadle_loop_add_source(loop, source, "told"), TREADLE_OK);
        CHECK(treadle_loop_contains_source(loop, source, "told"));
        CHECK_INT(treadle_loop_remove_source(loop, source, "told"), TREADLE_OK);
    }
    CHECK_INT(told, 20);
    CHECK_INT(treadle_loop_add_source(loop, source, "told"), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(told, 22);
}

/* Other threads name modes of a loop, whose thread makes and forgets them all the time. */
enum { THREADS = 2 };
static atomic_bool is_over;
static atomic_int queued;
static void end_block(void *info) { (void)info, atomic_fetch_sub(&queued, 1); }
static void *name_modes(void *info) {
    struct worker *worker = info;
    treadle_source mine = make_source(NULL, NULL);
    treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, 0);
    for (unsigned i = 0; !atomic_load(&is_over); i++) {
        char mode[64], text[64];
        size_t length;
        snprintf(mode, sizeof mode, "a mode for the wait of number %u", i % 64);
        const char *modes[] = {mode};
        treadle_post block = {.struct_size = sizeof block, .modes = modes, .mode_count = 1, .fn = end_block};
        CHECK_INT(treadle_loop_add_source(worker->loop, mine, mode), TREADLE_OK);
        CHECK(treadle_loop_contains_source(worker->loop, mine, mode));
        CHECK_INT(treadle_source_signal(mine), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(worker->loop, timer, mode), TREADLE_OK);
        if (atomic_load(&queued) < 100) {
            atomic_fetch_add(&queued, 1);
            CHECK_INT(post_block(worker->loop, &block), TREADLE_OK);
        }
        treadle_status status = treadle_loop_get_current_mode(worker->loop, text, sizeof text, &length);
        CHECK(status == TREADLE_OK || status == TREADLE_E_NOT_FOUND);
        if (status == TREADLE_OK) CHECK(strncmp(text, "a mode for", 10) == 0 || strcmp(text, MODE) == 0);
        CHECK_INT(treadle_loop_remove_source(worker->loop, mine, mode), TREADLE_OK);
        CHECK_INT(treadle_loop_remove_timer(worker->loop, timer, mode), TREADLE_OK);
        CHECK(!treadle_loop_contains_source(worker->loop, mine, mode));
    }
    CHECK_INT(treadle_source_release(mine), TREADLE_OK);
    CHECK_INT(discard(timer), TREADLE_OK);
    return NULL;
}
static void run_modes(void *done) {
    treadle_loop loop = treadle_loop_current();
    treadle_source own = make_source(NULL, NULL);
    for (int i = 0; i < 200; i++) {
        const char *mode = name_of(i * 7 % 100);
        CHECK_INT(treadle_loop_add_source(loop, own, mode), TREADLE_OK);
        CHECK_INT(poll_mode(mode), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_loop_remove_source(loop, own, mode), TREADLE_OK);
    }
    CHECK_INT(treadle_source_release(own), TREADLE_OK);
    sem_post(done);
}
TEST(modes_are_forgotten_while_other_threads_name_them, "OBJ-6 RL-6 MODE-10") {
    pthread_t threads[THREADS];
    struct worker worker;
    worker_start(&worker);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, name_modes, &worker), 0);
    sem_t done;
    sem_init(&done, 0, 0);
    for (int i = scaled(100); i > 0; i--) {
        CHECK_INT(treadle_loop_post(worker.loop, run_modes, &done), TREADLE_OK);
        await(&done);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    worker_stop(&worker);
}

TEST_MAIN()
