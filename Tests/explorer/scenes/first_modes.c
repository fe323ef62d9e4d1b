/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * first_modes.c: an item that is in no mode joins one by an exchange of its word, and leaves by another, on its loop's thread, while other
 * threads use it. */
#include "owner.h"

static treadle_timer timer;
static treadle_loop second;
static struct event is_added, may_end;
static treadle_status added, added_to_second;
static const int64_t HOUR = 3600000000000, START = 1000000000000; /* virtual time begins at 1,000 seconds */
static const char *const other_mode = "other mode";

static void fire_never(treadle_timer self, void *info) {
    (void)self, (void)info;
    REQUIRE(!"it is far in the future");
}
static void make_timer(void) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire_never, .fire_at = START + HOUR};
    REQUIRE_OK(treadle_timer_create(&context, &timer));
    loop = treadle_loop_current();
}
static void perform_once(treadle_source self, void *info) {
    (void)self, (void)info;
    count(&called);
}
static void make_plain_source(void) {
    source = make_source(perform_once, NULL, NULL);
    loop = treadle_loop_current();
}
static bool is_ok_or_ignored(treadle_status status) { return status == TREADLE_OK || status == TREADLE_IGNORED; }
static void end_timer(void) {
    REQUIRE_OK(treadle_invalidate(timer));
    REQUIRE(!treadle_loop_contains(loop, timer, TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_close(timer, TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(timer));
}

/* The date is guarded by the loop's lock from its addition on, and by the item's before. */
static void *set_it(void *unused) {
    REQUIRE_OK(treadle_timer_set_next_fire(timer, START + 2 * HOUR));
    return unused;
}
SCENE(a_timer_is_added_while_it_is_set, "TMR-11, TMR-17") {
    make_timer();
    explore_from_here();
    pthread_t other = start(set_it, NULL);
    add(timer);
    join(other);
    int64_t date = 0;
    REQUIRE_OK(treadle_timer_get_next_fire(timer, &date));
    REQUIRE(date == START + 2 * HOUR);
    end_timer();
}

/* Of two threads that add it to their loops, one has it. */
static const char *mode_of_second;
static void *add_to_own_loop(void *unused) {
    second = treadle_loop_current();
    added_to_second = treadle_loop_add(second, timer, mode_of_second);
    set(&is_added);
    await(&may_end);
    return unused;
}
static void add_to_two_loops(const char *mode, const char *other) {
    mode_of_second = other;
    make_timer();
    explore_from_here();
    pthread_t thread = start(add_to_own_loop, NULL);
    added = treadle_loop_add(loop, timer, mode);
    await(&is_added);
    REQUIRE(added == (added_to_second == TREADLE_OK ? TREADLE_IGNORED : TREADLE_OK) && is_ok_or_ignored(added_to_second));
    REQUIRE(treadle_loop_contains(loop, timer, TREADLE_DEFAULT_MODE) == (added == TREADLE_OK));
    REQUIRE(treadle_loop_contains(second, timer, TREADLE_DEFAULT_MODE) == (added_to_second == TREADLE_OK));
    set(&may_end);
    join(thread);
    end_timer();
}
SCENE(two_add_a_timer_to_their_loops, "MODE-5") { add_to_two_loops(TREADLE_DEFAULT_MODE, TREADLE_DEFAULT_MODE); }
SCENE(a_timer_is_added_to_a_loop_and_to_the_common_modes_of_another, "MODE-5, MODE-8") {
    add_to_two_loops(TREADLE_DEFAULT_MODE, TREADLE_COMMON_MODES);
}

/* An invalid item is in no mode. */
static void *invalidate_it(void *item) {
    REQUIRE_OK(treadle_invalidate(item));
    return NULL;
}
SCENE(a_timer_is_invalidated_while_it_is_added, "OBJ-5") {
    make_timer();
    explore_from_here();
    pthread_t other = start(invalidate_it, timer);
    REQUIRE(is_ok_or_ignored(treadle_loop_add(loop, timer, TREADLE_DEFAULT_MODE)));
    join(other);
    REQUIRE(!treadle_is_valid(timer) && !treadle_loop_contains(loop, timer, TREADLE_DEFAULT_MODE));
    end_timer();
}
static void *add_source_to_own_loop(void *mode) {
    second = treadle_loop_current();
    REQUIRE(is_ok_or_ignored(treadle_loop_add(second, source, mode)));
    set(&is_added);
    await(&may_end);
    return NULL;
}
SCENE(a_source_is_invalidated_by_its_loops_thread_while_it_is_added_to_another, "OBJ-5, MODE-3") {
    make_plain_source();
    add(source);
    explore_from_here();
    pthread_t other = start(add_source_to_own_loop, (void *)other_mode);
    REQUIRE_OK(treadle_invalidate(source));
    await(&is_added);
    REQUIRE(!treadle_loop_contains(loop, source, TREADLE_DEFAULT_MODE) && !treadle_loop_contains(second, source, other_mode));
    REQUIRE_OK(treadle_close(source, TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(source));
    set(&may_end);
    join(other);
}

/* The loop's thread ends it while another does, releases it, or waits for its end. */
static void *release_it(void *item) {
    REQUIRE_OK(treadle_release(item));
    return NULL;
}
static void *close_it(void *item) {
    REQUIRE_OK(treadle_close(item, TREADLE_FOREVER));
    return NULL;
}
static void end_against(void *(*other_thread)(void *)) {
    make_timer();
    add(timer);
    REQUIRE_OK(treadle_retain(timer));
    explore_from_here();
    pthread_t other = start(other_thread, timer);
    REQUIRE_OK(treadle_invalidate(timer));
    REQUIRE(!treadle_loop_contains(loop, timer, TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_release(timer));
    join(other);
    treadle_status left = treadle_release(timer);
    REQUIRE(left == (other_thread == release_it ? TREADLE_E_STALE : TREADLE_OK));
    REQUIRE(treadle_release(timer) == TREADLE_E_STALE);
}
SCENE(a_timer_is_invalidated_by_two, "OBJ-5") { end_against(invalidate_it); }
SCENE(a_timer_is_invalidated_by_its_loops_thread_while_it_is_released, "OBJ-4, OBJ-5") { end_against(release_it); }
SCENE(a_timer_is_invalidated_by_its_loops_thread_while_it_is_closed, "OBJ-5, OBJ-9") { end_against(close_it); }

/* A signal that comes while the source is added is performed once. */
static void *signal_it(void *unused) {
    REQUIRE_OK(treadle_source_signal(source));
    return unused;
}
SCENE(a_signal_against_adding_to_the_first_mode, "SRC0-6") {
    make_plain_source();
    explore_from_here();
    pthread_t other = start(signal_it, NULL);
    add(source);
    join(other);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0);
    REQUIRE(counted(&called) == 1);
    REQUIRE_OK(treadle_close(source, TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(source));
}

/* The source joins its second mode while it leaves its first: the loop's thread adds it by the same cell again. */
SCENE(a_source_is_added_again_while_it_is_added_to_another_loop, "MODE-3, SRC0-6") {
    make_plain_source();
    add(source);
    explore_from_here();
    pthread_t other = start(add_source_to_own_loop, (void *)other_mode);
    REQUIRE_OK(treadle_loop_remove(loop, source, TREADLE_DEFAULT_MODE));
    add(source);
    await(&is_added);
    REQUIRE_OK(treadle_source_signal(source));
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0);
    REQUIRE(counted(&called) == 1);
    REQUIRE(treadle_loop_contains(second, source, other_mode) && treadle_loop_contains(loop, source, TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_close(source, TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(source));
    set(&may_end);
    join(other);
}
