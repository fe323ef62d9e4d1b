/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * items_test.c: the items of a loop, asked for by somebody who made none of them. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

static void ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }

static treadle_object items[256];
static size_t copy(treadle_loop loop, const char *mode) {
    size_t count = 1000;
    CHECK_INT(treadle_loop_copy_items(loop, mode, items, 256, &count), TREADLE_OK);
    return count;
}
static void release_all(size_t count) {
    for (size_t i = 0; i < count; i++) CHECK_INT(treadle_release(items[i]), TREADLE_OK);
}
static uint32_t kind_of(treadle_object object) {
    uint32_t kind = 0;
    CHECK_INT(treadle_get_kind(object, &kind), TREADLE_OK);
    return kind;
}

TEST(the_items_of_a_mode_are_given_by_kind, "OBJ-2 OBJ-3") {
    treadle_loop loop = treadle_loop_current();
    int ends[2];
    treadle_source source;
    treadle_timer timer;
    treadle_observer observer;
    treadle_descriptor descriptor;
    CHECK_INT(pipe(ends), 0);
    treadle_descriptor_context watched = {.struct_size = sizeof watched, .fd = ends[0], .events = TREADLE_READABLE, .ready = ready};
    treadle_timer_context later = {.struct_size = sizeof later, .fire_at = TREADLE_FOREVER};
    CHECK_INT(copy(loop, MODE), 0);
    CHECK_INT(treadle_observer_create(&TREADLE_INIT(treadle_observer_context), &observer), TREADLE_OK);
    CHECK_INT(treadle_timer_create(&later, &timer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_create(&watched, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_source_create(&TREADLE_INIT(treadle_source_context), &source), TREADLE_OK);
    treadle_object made[] = {source, descriptor, timer, observer};
    static const uint32_t kinds[] = {TREADLE_KIND_SOURCE, TREADLE_KIND_DESCRIPTOR, TREADLE_KIND_TIMER, TREADLE_KIND_OBSERVER};
    for (int i = 3; i >= 0; i--) CHECK_INT(treadle_loop_add(loop, made[i], MODE), TREADLE_OK);
    CHECK_INT(copy(loop, MODE), 4);
    for (int i = 0; i < 4; i++) {
        CHECK(items[i] == made[i]);
        CHECK_INT(kind_of(items[i]), kinds[i]);
    }
    release_all(4);
    /* The references are the caller's: they keep an item whose maker has given it up. */
    CHECK_INT(copy(loop, MODE), 4);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(treadle_release(made[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_remove(loop, made[i], MODE), TREADLE_OK);
        CHECK(treadle_is_valid(items[i]));
    }
    CHECK_INT(copy(loop, NULL), 0);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(treadle_release(made[i]), TREADLE_OK);
        CHECK(!treadle_is_valid(made[i]));
    }
}

TEST(each_item_is_given_once, "OBJ-3 MODE-8") {
    treadle_loop loop = treadle_loop_current();
    treadle_source first, second;
    CHECK_INT(treadle_source_create(&TREADLE_INIT(treadle_source_context), &first), TREADLE_OK);
    CHECK_INT(treadle_source_create(&TREADLE_INIT(treadle_source_context), &second), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, first, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, first, "one"), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, first, "two"), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, second, "two"), TREADLE_OK);
    CHECK_INT(copy(loop, NULL), 2);
    CHECK(items[0] == first && items[1] == second);
    release_all(2);
    CHECK_INT(copy(loop, "one"), 1);
    release_all(1);
    CHECK_INT(copy(loop, "two"), 2);
    release_all(2);
    CHECK_INT(copy(loop, TREADLE_COMMON_MODES), 1);
    release_all(1);
    CHECK_INT(copy(loop, "unknown"), 0);
    treadle_source_invalidate(first), treadle_source_invalidate(second);
    CHECK_INT(copy(loop, NULL), 0);
    treadle_source_release(first), treadle_source_release(second);
}

TEST(what_has_no_room_is_counted, "OBJ-2") {
    treadle_loop loop = treadle_loop_current();
    treadle_source sources[5];
    treadle_object few[3] = {NULL};
    size_t count = 0;
    for (int i = 0; i < 5; i++) {
        CHECK_INT(treadle_source_create(&TREADLE_INIT(treadle_source_context), &sources[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add(loop, sources[i], MODE), TREADLE_OK);
        CHECK_INT(treadle_source_release(sources[i]), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_copy_items(loop, MODE, few, 2, &count), TREADLE_OK);
    CHECK(count == 5 && few[0] == sources[0] && few[1] == sources[1] && !few[2]);
    CHECK_INT(treadle_loop_copy_items(loop, MODE, NULL, 0, &count), TREADLE_OK);
    CHECK_INT(count, 5);
    CHECK_ERROR(treadle_loop_copy_items(loop, MODE, NULL, 1, &count), TREADLE_E_ARG, "items");
    CHECK_ERROR(treadle_loop_copy_items(loop, MODE, few, 2, NULL), TREADLE_E_ARG, "out_count");
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_release(few[i]), TREADLE_OK);
    for (int i = 0; i < 5; i++) CHECK_INT(treadle_invalidate(sources[i]), TREADLE_OK);
}

static void never(void *target, void *argument) { (void)target, (void)argument; }
TEST(the_librarys_own_timers_are_not_given, "PERF-12") {
    treadle_request request = {.struct_size = sizeof request, .fn = never, .flags = TREADLE_PERFORM_AFTER,
                               .delay_ns = INT64_C(3600000000000)};
    CHECK_INT(treadle_perform(NULL, &request), TREADLE_OK);
    CHECK_INT(copy(treadle_loop_current(), NULL), 0);
    CHECK_INT(treadle_perform_cancel(&request), TREADLE_OK);
}

TEST(every_handle_tells_its_kind, "OBJ-1") {
    treadle_lock lock;
    treadle_condition condition;
    treadle_signature signature;
    uint32_t kind;
    CHECK_INT(kind_of(treadle_loop_current()), TREADLE_KIND_LOOP);
    CHECK_INT(kind_of(treadle_thread_current()), TREADLE_KIND_THREAD);
    CHECK_INT(treadle_lock_create(0, &lock), TREADLE_OK);
    CHECK_INT(treadle_condition_create(&condition), TREADLE_OK);
    CHECK_INT(treadle_signature_parse("v", &signature), TREADLE_OK);
    CHECK_INT(kind_of(lock), TREADLE_KIND_LOCK);
    CHECK_INT(kind_of(condition), TREADLE_KIND_CONDITION);
    CHECK_INT(kind_of(signature), TREADLE_KIND_SIGNATURE);
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
    CHECK_INT(treadle_condition_release(condition), TREADLE_OK);
    CHECK_ERROR(treadle_get_kind(lock, &kind), TREADLE_E_STALE, "object");
    CHECK_INT(kind, 0);
}

static void *copy_for_a_while(void *loop) {
    for (int i = 0; i < scaled(300); i++) {
        treadle_object some[64];
        size_t count = 0;
        CHECK_INT(treadle_loop_copy_items(loop, NULL, some, 64, &count), TREADLE_OK);
        for (size_t k = 0; k < count && k < 64; k++) CHECK_INT(treadle_release(some[k]), TREADLE_OK);
    }
    return NULL;
}
TEST(items_are_given_while_they_come_and_go, "OBJ-2 OBJ-7") {
    struct worker worker;
    pthread_t reader;
    worker_start(&worker);
    CHECK_INT(pthread_create(&reader, NULL, copy_for_a_while, worker.loop), 0);
    for (int i = 0; i < scaled(3000); i++) {
        treadle_source source;
        CHECK_INT(treadle_source_create(&TREADLE_INIT(treadle_source_context), &source), TREADLE_OK);
        CHECK_INT(treadle_loop_add(worker.loop, source, i % 2 ? MODE : TREADLE_COMMON_MODES), TREADLE_OK);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
        if (i % 3) treadle_source_invalidate(source); /* some stay, for the end of the loop */
    }
    CHECK_INT(pthread_join(reader, NULL), 0);
    worker_stop(&worker);
}

TEST_MAIN()
