/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * source_life_test.c: what a source is made of, when it is scheduled and cancelled, when it ends,
 * and when two sources are one. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

/* Counts of what a context's callbacks were asked. `self` is what retain returns. */
struct item {
    atomic_int retains, releases, describes, performs, hashes;
    int value;
    treadle_source source;
};
static void *retain(void *info) {
    atomic_fetch_add(&((struct item *)info)[0].retains, 1);
    return (struct item *)info + 1; /* not what it was given */
}
static void release(void *info) { atomic_fetch_add(&((struct item *)info)[-1].releases, 1); }
static void describe(void *info, char *buffer, size_t capacity) {
    atomic_fetch_add(&((struct item *)info)[-1].describes, 1);
    snprintf(buffer, capacity, "forty-two");
}
static void perform(treadle_source source, void *info) {
    (void)source;
    atomic_fetch_add(&((struct item *)info)->performs, 1);
}

TEST(context_is_copied_and_retained_once, "SRC0-1 SRC0-2 SRC0-4") {
    struct item items[2] = {0};
    treadle_loop loop = treadle_loop_current();
    treadle_source_context context = {
        .struct_size = sizeof context, .info = items, .retain = retain, .release = release, .describe = describe, .perform = perform};
    treadle_source source;
    void *info = NULL;
    char text[256] = "";
    size_t length = 0;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(items[0].retains, 1);
    memset(&context, 0xA5, sizeof context);
    CHECK_INT(treadle_source_get_context_info(source, &info), TREADLE_OK);
    CHECK(info == &items[1]);
    CHECK_INT(treadle_source_describe(source, text, sizeof text, &length), TREADLE_OK);
    CHECK(strstr(text, "forty-two") && length == strlen(text) && items[0].describes > 0);
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, "other"), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(items[1].performs, 1);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(items[0].releases, 0); /* not at invalidation */
    CHECK_INT(treadle_source_get_context_info(source, &info), TREADLE_OK);
    CHECK(info == &items[1]);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(items[0].retains, 1);
    CHECK_INT(items[0].releases, 1); /* but when it is freed */
    CHECK_ERROR(treadle_source_get_context_info(source, &info), TREADLE_E_STALE, "item");
}

TEST(every_callback_may_be_null, "SRC0-1 RUN-7") {
    treadle_loop loop = treadle_loop_current();
    treadle_source_context context = {.struct_size = sizeof context};
    treadle_source source = (treadle_source)&context;
    CHECK_ERROR(treadle_source_create(NULL, &source), TREADLE_E_ARG, "context");
    CHECK(source == NULL);
    CHECK_ERROR(treadle_source_create(&context, NULL), TREADLE_E_ARG, "source");
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK(!treadle_source_is_signalled(source));
    CHECK_INT(treadle_loop_remove_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

/* Where and when schedule and cancel are called. */
struct place {
    treadle_loop expected_loop;
    atomic_int scheduled, cancelled;
    atomic_int last_thread;
    bool valid_in_cancel;
};
static void on_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct place *place = info;
    CHECK(loop == place->expected_loop);
    CHECK(treadle_loop_contains_source(loop, source, mode)); /* after it was added */
    atomic_fetch_add(&place->scheduled, 1);
    atomic_store(&place->last_thread, thread_id());
    trace("+%s", mode);
}
static void on_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct place *place = info;
    CHECK(loop == place->expected_loop);
    CHECK(!treadle_loop_contains_source(loop, source, mode)); /* after it left */
    place->valid_in_cancel = treadle_source_is_valid(source);
    atomic_fetch_add(&place->cancelled, 1);
    atomic_store(&place->last_thread, thread_id());
    trace("-%s", mode);
}
static treadle_source make_placed(struct place *place, treadle_loop loop) {
    treadle_source_context context = {.struct_size = sizeof context, .info = place, .schedule = on_schedule, .cancel = on_cancel};
    treadle_source source;
    *place = (struct place){.expected_loop = loop};
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    return source;
}

TEST(schedule_and_cancel_once_a_mode, "SRC0-3 MODE-6 MODE-8") {
    treadle_loop loop = treadle_loop_current();
    struct place place;
    treadle_source source = make_placed(&place, loop);
    CHECK_INT(treadle_loop_add_source(loop, source, "x"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, "x"), TREADLE_IGNORED);
    CHECK_TRACE("+x");
    CHECK_INT(treadle_loop_add_source(loop, source, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_TRACE("+kCFRunLoopDefaultMode"); /* the concrete mode */
    CHECK_INT(treadle_loop_add_common_mode(loop, "y"), TREADLE_OK);
    CHECK_TRACE("+y");
    CHECK_INT(treadle_loop_remove_source(loop, source, "x"), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(loop, source, "x"), TREADLE_IGNORED);
    CHECK_TRACE("-x");
    CHECK(place.valid_in_cancel);
    CHECK_INT(treadle_loop_remove_source(loop, source, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK(strcmp(trace_text, "-y -kCFRunLoopDefaultMode") == 0 || strcmp(trace_text, "-kCFRunLoopDefaultMode -y") == 0);
    trace_clear();
    CHECK_INT(treadle_loop_add_source(loop, source, "x"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(place.scheduled, 6);
    CHECK_INT(place.cancelled, 6);
    CHECK(!place.valid_in_cancel);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(place.cancelled, 6);
}

TEST(invalidate_leaves_every_loop, "SRC0-4 SRC0-3 OBJ-8") {
    struct worker worker;
    struct place place;
    treadle_loop loop = treadle_loop_current();
    worker_start(&worker);
    treadle_source source = make_placed(&place, worker.loop);
    CHECK_INT(treadle_loop_add_source(worker.loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(worker.loop, source, "x"), TREADLE_OK);
    CHECK_INT(place.last_thread, thread_id()); /* the adding thread, not the loop's */
    place.expected_loop = loop;
    CHECK_INT(treadle_loop_add_source(loop, source, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(place.scheduled, 3);
    CHECK_INT(treadle_loop_remove_source(loop, source, M), TREADLE_OK); /* stays recorded */
    place.expected_loop = worker.loop;
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(place.cancelled, 3);
    CHECK(!place.valid_in_cancel);
    CHECK(!treadle_source_is_signalled(source));
    CHECK(!treadle_loop_contains_source(worker.loop, source, M));
    CHECK(!treadle_loop_contains_source(loop, source, TREADLE_COMMON_MODES));
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_IGNORED);
    CHECK_INT(place.scheduled, 3);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    worker_stop(&worker);
}

static void *add_and_exit(void *source) {
    treadle_loop loop = treadle_loop_current();
    struct place *place;
    CHECK_INT(treadle_source_get_context_info(source, (void **)&place), TREADLE_OK);
    place->expected_loop = loop;
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, "x"), TREADLE_OK);
    return (void *)(intptr_t)thread_id();
}
TEST(thread_exit_cancels, "SRC0-3 RL-8 OBJ-8") {
    struct place place;
    treadle_source source = make_placed(&place, NULL);
    int exited = (int)(intptr_t)on_thread(add_and_exit, source);
    CHECK_INT(place.scheduled, 2);
    CHECK_INT(place.cancelled, 2);
    CHECK_INT(place.last_thread, exited);
    CHECK(place.valid_in_cancel && treadle_source_is_valid(source));
    place.expected_loop = treadle_loop_current();
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, M), TREADLE_OK);
    CHECK_INT(place.scheduled, 3);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

/* Identity. */
static int32_t equal_values(void *one, void *other) { return ((struct item *)one)->value == ((struct item *)other)->value; }
static uint64_t hash_value(void *info) {
    atomic_fetch_add(&((struct item *)info)->hashes, 1);
    return (uint64_t)((struct item *)info)->value;
}
static void perform_too(treadle_source source, void *info) { perform(source, info); }

TEST(without_equal_each_source_is_itself, "SRC0-5 D-09") {
    treadle_loop loop = treadle_loop_current();
    struct item item = {0};
    treadle_source one = make_source(perform, &item), other = make_source(perform, &item);
    CHECK_INT(treadle_loop_add_source(loop, one, M), TREADLE_OK);
    CHECK(!treadle_loop_contains_source(loop, other, M));
    CHECK_INT(treadle_loop_add_source(loop, other, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(one), TREADLE_OK);
    CHECK_INT(treadle_source_signal(other), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(item.performs, 2);
    CHECK_INT(treadle_loop_remove_source(loop, one, M), TREADLE_OK);
    CHECK(treadle_loop_contains_source(loop, other, M));
}

static treadle_source make_valued(struct item *item, int value, treadle_equal_fn equal, treadle_perform_fn fn, int64_t order) {
    treadle_source_context context = {
        .struct_size = sizeof context, .info = item, .equal = equal, .hash = hash_value, .perform = fn, .order = order};
    *item = (struct item){.value = value};
    CHECK_INT(treadle_source_create(&context, &item->source), TREADLE_OK);
    return item->source;
}
TEST(with_equal_sources_of_equal_value_are_one, "SRC0-5 D-09") {
    treadle_loop loop = treadle_loop_current();
    struct item first, same, others[5];
    CHECK_INT(treadle_loop_add_source(loop, make_valued(&first, 7, equal_values, perform, 0), M), TREADLE_OK);
    make_valued(&same, 7, equal_values, perform, 0);
    CHECK(treadle_loop_contains_source(loop, same.source, M));
    CHECK_INT(treadle_loop_add_source(loop, same.source, M), TREADLE_IGNORED);
    CHECK_INT(treadle_source_signal(same.source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(first.source), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(first.performs, 1);
    CHECK_INT(same.performs, 0);
    /* Anything else that differs tells them apart. */
    make_valued(&others[0], 8, equal_values, perform, 0);
    make_valued(&others[1], 7, NULL, perform, 0);
    make_valued(&others[2], 7, equal_values, perform_too, 0);
    make_valued(&others[3], 7, equal_values, perform, 1);
    make_valued(&others[4], 8, equal_values, perform_too, 0);
    for (int i = 0; i < 5; i++) {
        CHECK(!treadle_loop_contains_source(loop, others[i].source, M));
        CHECK_INT(treadle_loop_add_source(loop, others[i].source, M), TREADLE_OK);
        CHECK_INT(treadle_source_signal(others[i].source), TREADLE_OK);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    for (int i = 0; i < 5; i++) CHECK_INT(others[i].performs, 1);
    CHECK_INT(first.hashes, 1); /* asked when it is made, and never again */
    /* An invalid source equals none that is valid. */
    CHECK_INT(treadle_source_invalidate(first.source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, same.source, M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(same.performs, 1);
}

TEST_MAIN()
