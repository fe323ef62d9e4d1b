/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * start_test.c: the short forms, which make an item and add it to the default mode of the calling thread's loop. */
#include "thread_jobs.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static int performs;
static void perform(treadle_source source, void *info) {
    CHECK(info == &performs && treadle_source_is_valid(source));
    performs++;
}
TEST(a_source_is_started, "SRC0-1 SRC0-7 OBJ-2 OBJ-3") {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = NULL, other = NULL;
    int64_t order = 1;
    void *info = NULL;
    CHECK_INT(treadle_source_start(perform, &performs, &source), TREADLE_OK);
    CHECK(treadle_loop_contains_source(loop, source, M) && treadle_source_is_valid(source));
    CHECK(treadle_source_get_order(source, &order) == TREADLE_OK && order == 0);
    CHECK(treadle_source_get_context_info(source, &info) == TREADLE_OK && info == &performs);
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_IGNORED);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, 1);
    CHECK_INT(treadle_loop_add_source(loop, source, "another"), TREADLE_OK); /* as any other */
    CHECK_INT(treadle_loop_remove_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(poll_mode("another"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, 2);
    CHECK_INT(discard(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_E_STALE); /* one reference was the client's */
    /* Released, it is the loop's; signalled, it is performed. */
    CHECK_INT(treadle_source_start(perform, &performs, &other), TREADLE_OK);
    CHECK_INT(treadle_source_signal(other), TREADLE_OK);
    CHECK_INT(treadle_source_release(other), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, 3);
    CHECK_INT(treadle_source_invalidate(other), TREADLE_OK);
    CHECK(!treadle_source_is_valid(other));
    CHECK_INT(treadle_source_signal(other), TREADLE_E_STALE);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
}

static uint32_t seen;
static void notify(treadle_observer observer, uint32_t activity, void *info) {
    CHECK(info == &seen && treadle_observer_is_valid(observer));
    seen |= activity;
}
TEST(an_observer_is_started, "OBS-1 OBS-9 OBJ-2 OBJ-3") {
    treadle_observer observer = NULL;
    uint32_t activities = 0;
    CHECK_INT(treadle_source_start(perform, &performs, NULL), TREADLE_OK); /* keeps the mode from being empty */
    CHECK_INT(treadle_observer_start(TREADLE_ENTRY | TREADLE_EXIT, notify, &seen, &observer), TREADLE_OK);
    CHECK_INT(treadle_observer_get_activities(observer, &activities), TREADLE_OK);
    CHECK(activities == (TREADLE_ENTRY | TREADLE_EXIT) && treadle_observer_repeats(observer));
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(seen, TREADLE_ENTRY | TREADLE_EXIT);
    CHECK_INT(discard(observer), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_E_STALE);
    seen = 0;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(seen, 0);
    CHECK_INT(treadle_observer_start(TREADLE_BEFORE_TIMERS, notify, &seen, NULL), TREADLE_OK); /* the loop's alone */
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(seen, TREADLE_BEFORE_TIMERS);
}

TEST(what_cannot_be_started, "OBJ-6 ABI-7") {
    treadle_source source = (treadle_source)&source;
    treadle_observer observer = (treadle_observer)&observer;
    CHECK_ERROR(treadle_source_start(NULL, NULL, &source), TREADLE_E_ARG, "perform");
    CHECK_ERROR(treadle_source_start(NULL, NULL, NULL), TREADLE_E_ARG, "perform");
    CHECK_ERROR(treadle_observer_start(TREADLE_ENTRY, NULL, NULL, &observer), TREADLE_E_ARG, "notify");
    CHECK(!source && !observer);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
}

/* Items that are started from everywhere: inside of a run, in another's mode, and by many threads at once. */
static void start_another(treadle_source source, void *info) {
    int *left = info;
    if (--*left == 0) return;
    treadle_source next = NULL;
    CHECK_INT(treadle_source_start(start_another, left, &next), TREADLE_OK);
    CHECK_INT(treadle_source_signal(next), TREADLE_OK);
    CHECK_INT(treadle_source_release(next), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
}
static void *start_many(void *info) {
    const int rounds = scaled(2000);
    int left = rounds;
    treadle_source first = NULL;
    CHECK_INT(treadle_source_start(start_another, &left, &first), TREADLE_OK);
    CHECK_INT(treadle_source_signal(first), TREADLE_OK);
    CHECK_INT(treadle_source_release(first), TREADLE_OK);
    while (left > 0) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    return info;
}
TEST(sources_are_started_in_callbacks_of_many_threads, "SRC0-7 OBJ-3 OBJ-9") {
    treadle_thread threads[4];
    for (int i = 0; i < 4; i++) threads[i] = thread_begin(start_many, NULL);
    start_many(NULL);
    for (int i = 0; i < 4; i++) thread_end(threads[i]);
}

/* At the end of a thread its loop takes nothing more: what is started then belongs to nobody but the client. */
enum { ROUNDS = SANITIZER ? 3 : 4 }; /* of destructors: the sanitizers' own threads are gone in the last */
static pthread_key_t key;
static treadle_status source_status, observer_status, descriptor_status;
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }
static treadle_source late_source;
static treadle_observer late_observer;
static treadle_descriptor late_descriptor;
static void start_late(void *round) {
    if ((intptr_t)round > 1) {
        CHECK_INT(pthread_setspecific(key, (void *)((intptr_t)round - 1)), 0);
        return;
    }
    source_status = treadle_source_start(perform, &performs, &late_source);
    observer_status = treadle_observer_start(TREADLE_EXIT, notify, &seen, &late_observer);
    descriptor_status = treadle_descriptor_start(0, TREADLE_READABLE, ready, NULL, &late_descriptor);
}
static void *end_late(void *round) {
    CHECK(treadle_loop_current());
    CHECK_INT(pthread_setspecific(key, round), 0);
    return NULL;
}
TEST(nothing_is_started_behind_the_end_of_a_thread, "RL-8 RL-9") {
    CHECK_INT(pthread_key_create(&key, start_late), 0);
    for (intptr_t round = 1; round <= ROUNDS; round++) {
        pthread_t thread;
        late_source = NULL, late_observer = NULL, late_descriptor = NULL;
        CHECK_INT(pthread_create(&thread, NULL, end_late, (void *)round), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(source_status, observer_status);
        CHECK(source_status == TREADLE_OK || source_status == TREADLE_IGNORED || source_status == TREADLE_E_STATE);
        CHECK((source_status < 0) == (late_source == NULL) && (observer_status < 0) == (late_observer == NULL));
        CHECK((descriptor_status < 0) == (late_descriptor == NULL));
        if (late_source) CHECK_INT(discard(late_source), TREADLE_OK);
        if (late_observer) CHECK_INT(discard(late_observer), TREADLE_OK);
        if (late_descriptor) CHECK_INT(discard(late_descriptor), TREADLE_OK);
    }
}

/* A cancel or release that the end of a thread calls: the loop is there still, and takes nothing any more. */
static treadle_status status_in_release;
static void start_in_release(void *info) {
    treadle_source source = NULL;
    (void)info;
    status_in_release = treadle_source_start(perform, &performs, &source);
    if (source) CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_observer_start(TREADLE_EXIT, notify, &seen, NULL), TREADLE_IGNORED);
}
static void *leave_a_source(void *info) {
    treadle_source_context context = {.struct_size = sizeof context, .release = start_in_release};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, M), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return info;
}
TEST(the_loop_of_a_thread_that_ends_takes_nothing_more, "RL-8 RL-9") {
    thread_end(thread_begin(leave_a_source, NULL));
    CHECK_INT(status_in_release, TREADLE_IGNORED);
}

TEST_MAIN()
