/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * c_items.c: the list of host tests, in C: runs, modes, items and posts. Each case has a mode of its own name. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "c.h"

#define MODE case_name
#define FIRES(word) (treadle_timer_context){.struct_size = sizeof(treadle_timer_context), .fire = fire_note, .info = word}
#define ONCE (MILLISECOND / 1000)
static treadle_source source_in(const char *mode, treadle_perform_fn perform, void *info) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform, .info = info};
    treadle_source source;
    OK(treadle_source_create(&context, &source));
    if (mode) OK(treadle_loop_add(loop, source, mode));
    return source;
}
static treadle_timer timer_in(const char *mode, treadle_timer_context context) {
    treadle_timer timer;
    OK(treadle_timer_create(&context, &timer));
    if (mode) OK(treadle_loop_add(loop, timer, mode));
    return timer;
}
static treadle_observer observer_in(const char *mode, uint32_t activities, treadle_observer_fn notify, treadle_observer_context context) {
    treadle_observer observer;
    context.struct_size = sizeof context, context.activities = activities, context.notify = notify;
    OK(treadle_observer_create(&context, &observer));
    OK(treadle_loop_add(loop, observer, mode));
    return observer;
}

/* --- Runs ------------------------------------------------------------------------------------------------------- */

static void empty(void) {
    int64_t began = treadle_time_now();
    REQUIRE(run(MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED);
    REQUIRE(run(MODE, MILLISECOND, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_TIMED_OUT);
    REQUIRE(treadle_time_now() >= began + MILLISECOND);
}

static void time_limit(void) {
    treadle_source source = source_in(MODE, perform_note, "s");
    int64_t began = treadle_time_now();
    OK(treadle_source_signal(source));
    REQUIRE(run(MODE, 0, 0) == TREADLE_RUN_TIMED_OUT && strcmp(seen, "s") == 0);
    REQUIRE(run(MODE, 5 * MILLISECOND, 0) == TREADLE_RUN_TIMED_OUT);
    REQUIRE(treadle_time_now() >= began + 5 * MILLISECOND);
    end(source);
}

static void handled(void) {
    treadle_source source = source_in(MODE, perform_note, "s");
    OK(treadle_source_signal(source));
    REQUIRE(run(MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE) == TREADLE_RUN_HANDLED_SOURCE && strcmp(seen, "s") == 0);
    end(source);
}

static void stop_nothing(void) {
    REQUIRE(treadle_loop_stop(loop) == TREADLE_IGNORED);
    REQUIRE(run(MODE, 0, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_TIMED_OUT);
}

static void stop_all_levels(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    OK(treadle_loop_request_stop(loop, TREADLE_STOP_ALL_LEVELS));
    REQUIRE(run("inner", TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
    note("inner");
}
static void stop_all(void) {
    treadle_timer_context context = FIRES(NULL);
    context.fire = stop_all_levels;
    treadle_timer timer = timer_in(MODE, context);
    REQUIRE(run(MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED && strcmp(seen, "inner") == 0);
    end(timer);
}

static void count_wait(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    note("w");
    OK(strlen(seen) < 3 ? treadle_loop_wake(loop) : treadle_loop_stop(loop));
}
static void wake(void) {
    treadle_observer observer = observer_in(MODE, TREADLE_BEFORE_WAITING, count_wait, (treadle_observer_context){.info = NULL});
    REQUIRE(run(MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED && strcmp(seen, "www") == 0);
    end(observer);
}

/* --- Modes ------------------------------------------------------------------------------------------------------ */

static void modes(void) {
    treadle_source source = source_in(MODE, perform_note, "s");
    REQUIRE(treadle_loop_add(loop, source, MODE) == TREADLE_IGNORED);
    REQUIRE(treadle_loop_contains(loop, source, MODE) && !treadle_loop_contains(loop, source, "other"));
    OK(treadle_source_signal(source));
    OK(run("other", 0, TREADLE_RUN_WHEN_EMPTY));
    REQUIRE(!seen[0]);
    REQUIRE(run(MODE, 0, 0) == TREADLE_RUN_TIMED_OUT && strcmp(seen, "s") == 0);
    REQUIRE(treadle_loop_remove(loop, source, MODE) == TREADLE_OK);
    REQUIRE(treadle_loop_remove(loop, source, MODE) == TREADLE_IGNORED && !treadle_loop_contains(loop, source, MODE));
    end(source);
}

static void common(void) {
    treadle_source source = source_in(TREADLE_COMMON_MODES, perform_note, "s");
    REQUIRE(!treadle_loop_contains(loop, source, MODE));
    OK(treadle_loop_add_common_mode(loop, MODE));
    REQUIRE(treadle_loop_contains(loop, source, MODE) && treadle_loop_contains(loop, source, TREADLE_DEFAULT_MODE));
    OK(treadle_source_signal(source));
    REQUIRE(run(MODE, 0, 0) == TREADLE_RUN_TIMED_OUT && strcmp(seen, "s") == 0);
    REQUIRE(treadle_loop_remove(loop, source, TREADLE_COMMON_MODES) == TREADLE_OK && !treadle_loop_contains(loop, source, MODE));
    end(source);
}

static void two_loops(void) {
    treadle_thread worker = start_worker();
    treadle_loop other;
    treadle_timer_context context = FIRES("t");
    context.fire_at = TREADLE_FOREVER;
    treadle_timer timer = timer_in(MODE, context);
    OK(treadle_thread_copy_loop(worker, &other));
    REQUIRE(treadle_loop_add(other, timer, MODE) == TREADLE_IGNORED);
    REQUIRE(treadle_loop_contains(loop, timer, MODE) && !treadle_loop_contains(other, timer, MODE));
    OK(treadle_release(other)), OK(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, NULL)), OK(treadle_release(worker));
    end(timer);
}

static void invalid(void) {
    treadle_source source = source_in(MODE, perform_note, "s");
    OK(treadle_source_signal(source));
    REQUIRE(treadle_is_valid(source) && treadle_invalidate(source) == TREADLE_OK);
    REQUIRE(!treadle_is_valid(source) && !treadle_loop_contains(loop, source, MODE) && !treadle_source_is_signalled(source));
    REQUIRE(treadle_source_signal(source) == TREADLE_IGNORED && treadle_loop_add(loop, source, MODE) == TREADLE_IGNORED);
    REQUIRE(run(MODE, 0, 0) == TREADLE_RUN_FINISHED && !seen[0]);
    end(source);
}

static treadle_timer both[2];
static void end_both(treadle_timer timer, void *info) {
    (void)timer, note(info);
    for (int i = 0; i < 2; i++) OK(treadle_invalidate(both[i]));
}
static void end_other(void) {
    for (int i = 0; i < 2; i++) {
        treadle_timer_context context = FIRES("t");
        context.fire = end_both;
        both[i] = timer_in(MODE, context);
    }
    REQUIRE(run(MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED && strcmp(seen, "t") == 0);
    for (int i = 0; i < 2; i++) OK(treadle_release(both[i]));
}

/* --- Sources ---------------------------------------------------------------------------------------------------- */

static void signal_kept(void) {
    treadle_source source = source_in(NULL, perform_note, "s");
    OK(treadle_source_signal(source));
    REQUIRE(treadle_source_is_signalled(source));
    OK(treadle_loop_add(loop, source, MODE));
    REQUIRE(run(MODE, 0, 0) == TREADLE_RUN_TIMED_OUT && strcmp(seen, "s") == 0);
    end(source);
}

static void coalesce(void) {
    treadle_source source = source_in(MODE, perform_note, "s");
    for (int i = 0; i < 3; i++) OK(treadle_source_signal(source));
    REQUIRE(treadle_source_is_signalled(source));
    for (int i = 0; i < 2; i++) OK(run(MODE, 0, 0));
    REQUIRE(!treadle_source_is_signalled(source) && strcmp(seen, "s") == 0);
    end(source);
}

static void perform_again(treadle_source source, void *info) {
    note(info);
    OK(treadle_source_signal(source));
}
static void self_signal(void) {
    treadle_source first = source_in(MODE, perform_again, "a"), second = source_in(MODE, perform_again, "b");
    OK(treadle_source_signal(first)), OK(treadle_source_signal(second));
    for (int i = 0; i < 3; i++) OK(run(MODE, 0, 0));
    REQUIRE(strcmp(seen, "ababab") == 0);
    end(first), end(second);
}

/* --- Timers ----------------------------------------------------------------------------------------------------- */

static void fire_and_arm(treadle_timer timer, void *info) {
    note(info);
    if (strlen(seen) == 1) OK(treadle_timer_arm(timer, ONCE));
}
static void timer_again(void) {
    treadle_timer_context context = FIRES("t");
    int64_t date;
    context.fire = fire_and_arm;
    treadle_timer timer = timer_in(MODE, context);
    REQUIRE(run(MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED && strcmp(seen, "tt") == 0);
    OK(treadle_timer_get_next_fire(timer, &date));
    REQUIRE(treadle_is_valid(timer) && date == 0);
    OK(treadle_timer_arm(timer, ONCE));
    REQUIRE(run(MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED && strcmp(seen, "ttt") == 0);
    end(timer);
}

static void timer_none(void) {
    treadle_timer_context context = FIRES("t");
    context.fire_at = treadle_time_now() + 1000000 * MILLISECOND;
    treadle_timer timer = timer_in(MODE, context);
    REQUIRE(run(MODE, 0, 0) == TREADLE_RUN_TIMED_OUT);
    OK(treadle_timer_arm(timer, TREADLE_FOREVER));
    REQUIRE(run(MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED && !seen[0]);
    end(timer);
}

static void fire_valid(treadle_timer timer, void *info) { note(treadle_is_valid(timer) ? info : "?"); }
static void timer_ends(void) {
    treadle_timer_context context = FIRES("t");
    context.fire = fire_valid, context.flags = TREADLE_TIMER_ENDS_AFTER_FIRING;
    treadle_timer timer = timer_in(MODE, context);
    REQUIRE(run(MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED && strcmp(seen, "t") == 0 && !treadle_is_valid(timer));
    REQUIRE(treadle_timer_arm(timer, 0) == TREADLE_IGNORED);
    OK(treadle_release(timer));
}

static void *move_timer(void *timer) {
    while (!treadle_loop_is_waiting(loop)) sched_yield();
    OK(treadle_timer_arm(timer, 0));
    return NULL;
}
static void timer_moved(void) {
    treadle_timer_context context = FIRES("t");
    pthread_t thread;
    context.fire_at = treadle_time_now() + 1000000 * MILLISECOND;
    treadle_timer timer = timer_in(MODE, context);
    REQUIRE(pthread_create(&thread, NULL, move_timer, timer) == 0);
    REQUIRE(run(MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED && strcmp(seen, "t") == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    end(timer);
}

static void timer_by_hand(void) {
    treadle_timer_context context = FIRES("t");
    int64_t date;
    context.interval_ns = context.fire_at = 1000000 * MILLISECOND;
    treadle_timer timer = timer_in(NULL, context);
    OK(treadle_timer_fire(timer)), OK(treadle_timer_get_next_fire(timer, &date));
    REQUIRE(date == context.fire_at && strcmp(seen, "t") == 0);
    end(timer);
    REQUIRE(treadle_timer_fire(timer) < 0 && strcmp(seen, "t") == 0);
}

/* --- Observers --------------------------------------------------------------------------------------------------- */

static void observe_note(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, note(info); }
static void observer_once(void) {
    treadle_observer observer = observer_in(MODE, TREADLE_ALL_ACTIVITIES, observe_note, (treadle_observer_context){.info = "o", .once = 1});
    for (int i = 0; i < 2; i++) OK(run(MODE, 0, TREADLE_RUN_WHEN_EMPTY));
    REQUIRE(strcmp(seen, "o") == 0 && !treadle_is_valid(observer));
    OK(treadle_release(observer));
}

static void observer_order(void) {
    treadle_observer all[] = {observer_in(MODE, TREADLE_ENTRY | TREADLE_EXIT, observe_note, (treadle_observer_context){.info = "a", .order = 1}),
                              observer_in(MODE, TREADLE_ENTRY | TREADLE_EXIT, observe_note, (treadle_observer_context){.info = "b"}),
                              observer_in(MODE, TREADLE_ENTRY, observe_note, (treadle_observer_context){.info = "c"})};
    OK(run(MODE, 0, TREADLE_RUN_WHEN_EMPTY));
    REQUIRE(strcmp(seen, "bcaba") == 0);
    for (int i = 0; i < 3; i++) end(all[i]);
}

/* --- Descriptors ------------------------------------------------------------------------------------------------- */

static void ready_note(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)info, note(events & TREADLE_READABLE ? "r" : "h"); }
static treadle_descriptor watch(int fd, const char *mode) {
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready = ready_note, .fd = fd, .events = TREADLE_READABLE};
    treadle_descriptor descriptor;
    OK(treadle_descriptor_create(&context, &descriptor));
    if (mode) OK(treadle_loop_add(loop, descriptor, mode));
    return descriptor;
}
static void descriptor_ready(void) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    treadle_descriptor descriptor = watch(ends[0], MODE);
    OK(run(MODE, 0, 0));
    REQUIRE(!seen[0] && write(ends[1], "x", 1) == 1);
    for (int i = 0; i < 2; i++) OK(run(MODE, 0, 0));
    REQUIRE(strcmp(seen, "rr") == 0 && read(ends[0], &(char){0}, 1) == 1);
    OK(run(MODE, 0, 0));
    REQUIRE(strcmp(seen, "rr") == 0);
    end(descriptor), close(ends[0]), close(ends[1]);
}

static void descriptor_paused(void) {
    int ends[2];
    REQUIRE(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    treadle_descriptor descriptor = watch(ends[0], MODE);
    OK(treadle_descriptor_set_events(descriptor, 0));
    REQUIRE(run(MODE, 0, 0) == TREADLE_RUN_TIMED_OUT && !seen[0]);
    OK(treadle_descriptor_set_events(descriptor, TREADLE_READABLE));
    OK(run(MODE, 0, 0));
    REQUIRE(strcmp(seen, "r") == 0);
    end(descriptor), close(ends[0]), close(ends[1]);
}

static void descriptor_end(void) {
    int ends[2];
    REQUIRE(pipe(ends) == 0 && close(ends[1]) == 0);
    treadle_descriptor descriptor = watch(ends[0], MODE);
    OK(run(MODE, 0, 0));
    REQUIRE(strlen(seen) == 1);
    end(descriptor), close(ends[0]);
}

static void descriptor_twice(void) {
    treadle_descriptor first = watch(0, MODE), second = watch(0, NULL);
    REFUSED(treadle_loop_add(loop, second, MODE), TREADLE_E_EXISTS, "fd");
    end(first), end(second);
}

static void descriptor_closed(void) {
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready = ready_note, .fd = 123456, .events = TREADLE_READABLE};
    treadle_descriptor descriptor;
    REFUSED(treadle_descriptor_create(&context, &descriptor), TREADLE_E_ARG, "fd");
}

/* --- Posts ------------------------------------------------------------------------------------------------------- */

static void post_note(void *info) { note(info); }
static void post_for(const char *mode, const char *word) {
    treadle_post post = {.struct_size = sizeof post, .modes = &mode, .mode_count = 1, .fn = post_note, .info = (void *)word};
    OK(treadle_loop_post_in(loop, &post));
}
static void post_modes(void) {
    post_for(MODE, "a"), post_for("other", "b"), post_for(MODE, "c");
    OK(run(MODE, 0, TREADLE_RUN_WHEN_EMPTY));
    REQUIRE(strcmp(seen, "ac") == 0);
    OK(run("other", 0, TREADLE_RUN_WHEN_EMPTY));
    REQUIRE(strcmp(seen, "acb") == 0);
}

static void post_once_more(void *info) { note(info), OK(treadle_loop_post(loop, post_note, "c")); }
static void post_inside(void) {
    OK(treadle_loop_post(loop, post_once_more, "a")), OK(treadle_loop_post(loop, post_note, "b"));
    for (int i = 0; i < 2; i++) OK(run(TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY));
    REQUIRE(strcmp(seen, "abc") == 0);
}

/* --- What is told ------------------------------------------------------------------------------------------------ */

static void describe(void) {
    treadle_source_context context = {.struct_size = sizeof context, .label = "bell"};
    treadle_source source;
    char text[256];
    size_t length;
    OK(treadle_source_create(&context, &source)), OK(treadle_describe(source, text, sizeof text, &length));
    REQUIRE(strstr(text, "source \"bell\"") && !strstr(text, "invalid"));
    OK(treadle_invalidate(source)), OK(treadle_describe(source, text, sizeof text, &length));
    REQUIRE(strstr(text, "bell") && strstr(text, "invalid"));
    OK(treadle_release(source));
}

static void label(void) {
    char text[257] = "";
    treadle_source_context context = {.struct_size = sizeof context, .label = text};
    treadle_source source;
    memset(text, 'x', 256);
    REFUSED(treadle_source_create(&context, &source), TREADLE_E_RANGE, "label");
}

static void refused(void) {
    treadle_timer_context context = FIRES("t");
    treadle_timer timer;
    context.interval_ns = -1;
    REFUSED(treadle_timer_create(&context, &timer), TREADLE_E_RANGE, "interval");
}

const struct host_case item_cases[] = {
    {"empty", empty, NULL}, {"time-limit", time_limit, NULL}, {"handled", handled, NULL}, {"stop-nothing", stop_nothing, NULL},
    {"stop-all", stop_all, NULL}, {"wake", wake, NULL}, {"modes", modes, NULL}, {"common", common, NULL}, {"two-loops", two_loops, NULL},
    {"invalid", invalid, NULL}, {"end-other", end_other, NULL}, {"signal-kept", signal_kept, NULL}, {"coalesce", coalesce, NULL},
    {"self-signal", self_signal, NULL}, {"timer-again", timer_again, NULL}, {"timer-none", timer_none, NULL},
    {"timer-ends", timer_ends, NULL}, {"timer-moved", timer_moved, NULL}, {"timer-by-hand", timer_by_hand, NULL},
    {"observer-once", observer_once, NULL}, {"observer-order", observer_order, NULL}, {"descriptor-ready", descriptor_ready, NULL},
    {"descriptor-paused", descriptor_paused, NULL}, {"descriptor-end", descriptor_end, NULL},
    {"descriptor-twice", descriptor_twice, NULL}, {"descriptor-closed", descriptor_closed, NULL}, {"post-modes", post_modes, NULL},
    {"post-inside", post_inside, NULL}, {"describe", describe, NULL}, {"label", label, NULL}, {"refused", refused, NULL},
    {NULL, NULL, NULL}};
