/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * describe_test.c: what treadle_describe tells of a loop, its modes and their items. */
#include "described.h"
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

static void ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }

/* The line of the text that has this. */
static const char *line_of(const char *needle) {
    static char line[1024];
    const char *at = strstr(text, needle), *end;
    CHECK(at);
    while (at > text && at[-1] != '\n') at--;
    end = strchr(at, '\n');
    snprintf(line, sizeof line, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
    return line;
}

struct scene {
    treadle_source source;
    treadle_descriptor descriptor;
    treadle_timer timer, one_shot;
    treadle_observer observer;
    int pipe_ends[2];
};
static void scene_make(struct scene *s) {
    CHECK_INT(pipe(s->pipe_ends), 0);
    treadle_source_context source = {.struct_size = sizeof source, .order = 7, .label = "bell"};
    treadle_descriptor_context descriptor = {.struct_size = sizeof descriptor, .fd = s->pipe_ends[0],
                                             .events = TREADLE_READABLE, .ready = ready, .label = "wire"};
    treadle_timer_context timer = {.struct_size = sizeof timer, .fire_at = treadle_time_now() + INT64_C(3600000000000),
                                   .interval_ns = INT64_C(1500000000), .tolerance_ns = INT64_C(250000000), .label = "tick"};
    treadle_timer_context one_shot = {.struct_size = sizeof one_shot, .fire_at = TREADLE_FOREVER, .label = "never"};
    treadle_observer_context observer = {.struct_size = sizeof observer, .activities = TREADLE_BEFORE_WAITING, .label = "eye"};
    CHECK_INT(treadle_source_create(&source, &s->source), TREADLE_OK);
    CHECK_INT(treadle_descriptor_create(&descriptor, &s->descriptor), TREADLE_OK);
    CHECK_INT(treadle_timer_create(&timer, &s->timer), TREADLE_OK);
    CHECK_INT(treadle_timer_create(&one_shot, &s->one_shot), TREADLE_OK);
    CHECK_INT(treadle_observer_create(&observer, &s->observer), TREADLE_OK);
}
static void scene_add(struct scene *s, treadle_loop loop, const char *mode) {
    treadle_object items[] = {s->observer, s->timer, s->one_shot, s->descriptor, s->source};
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) CHECK_INT(treadle_loop_add(loop, items[i], mode), TREADLE_OK);
}
static void scene_end(struct scene *s) {
    treadle_object items[] = {s->source, s->descriptor, s->timer, s->one_shot, s->observer};
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        CHECK_INT(treadle_invalidate(items[i]), TREADLE_OK);
        CHECK_INT(treadle_release(items[i]), TREADLE_OK);
    }
    close(s->pipe_ends[0]), close(s->pipe_ends[1]);
}

TEST(a_loop_lists_its_modes_and_their_items, "RL-12 RL-7") {
    struct scene s;
    treadle_loop loop = treadle_loop_current();
    char handle[32];
    scene_make(&s);
    scene_add(&s, loop, MODE);
    CHECK_INT(treadle_loop_add(loop, s.source, "second"), TREADLE_OK);
    CHECK_INT(treadle_source_signal(s.source), TREADLE_OK);
    int64_t date = next_fire(s.timer), before = treadle_time_now();
    describe(loop);
    int64_t after = treadle_time_now();
    CHECK(strstr(text, "mode \"" MODE "\", common") && strstr(text, "mode \"second\""));
    CHECK(strstr(text, MODE) < strstr(text, "second"));
    CHECK_INT(count("\"bell\""), 2);
    CHECK(strstr(line_of("\"bell\""), "source") && strstr(line_of("\"bell\""), "order 7") && strstr(line_of("\"bell\""), ", signalled"));
    snprintf(handle, sizeof handle, "%016" PRIxPTR, (uintptr_t)s.source);
    CHECK(strstr(line_of("\"bell\""), handle));
    snprintf(handle, sizeof handle, "fd %d, readable", s.pipe_ends[0]);
    CHECK(strstr(line_of("\"wire\""), handle));
    CHECK(strstr(line_of("\"tick\""), "every 1.500000 s, tolerance 0.250000 s"));
    /* In seconds, to the microsecond. */
    int64_t seconds = 0, microseconds = 0;
    CHECK_INT(sscanf(strstr(line_of("\"tick\""), "due in "), "due in %" SCNd64 ".%6" SCNd64 " s", &seconds, &microseconds), 2);
    int64_t due = seconds * 1000000 + microseconds;
    CHECK(due >= (date - after) / 1000 - 1 && due <= (date - before) / 1000 + 1);
    CHECK(strstr(line_of("\"never\""), ", idle"));
    CHECK(strstr(line_of("\"eye\""), "observer") && strstr(line_of("\"eye\""), "activities 32"));
    /* The kinds in their order. */
    CHECK(strstr(text, "\"bell\"") < strstr(text, "\"wire\"") && strstr(text, "\"wire\"") < strstr(text, "\"tick\""));
    CHECK(strstr(text, "\"tick\"") < strstr(text, "\"eye\""));
    scene_end(&s);
    describe(loop);
    CHECK(!strstr(text, "\"bell\"") && !strstr(text, "\"tick\"") && !strstr(text, "\"wire\""));
}

TEST(an_item_tells_of_its_modes_and_loop, "RL-12 MODE-8") {
    struct scene s;
    treadle_loop loop = treadle_loop_current();
    char thread[64];
    scene_make(&s);
    snprintf(thread, sizeof thread, "of the run loop of thread %d", thread_id());
    CHECK(!strchr(describe(s.source), '\n'));
    CHECK_INT(treadle_loop_add(loop, s.source, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, s.source, "second"), TREADLE_OK);
    describe(s.source);
    CHECK(strstr(text, "source \"bell\"") && strstr(text, ", valid, order 7, not signalled"));
    CHECK(strstr(line_of("in mode \"" MODE "\""), thread) && strstr(line_of("in mode \"second\""), thread));
    CHECK(strstr(line_of("recorded for the common modes"), thread));
    CHECK_INT(count("\n"), 3);
    scene_end(&s);
}

TEST(a_paused_descriptor_and_an_ended_item_say_so, "RL-12 OBJ-5") {
    struct scene s;
    scene_make(&s);
    CHECK_INT(treadle_descriptor_set_events(s.descriptor, 0), TREADLE_OK);
    CHECK(strstr(describe(s.descriptor), ", paused"));
    CHECK_INT(treadle_descriptor_set_events(s.descriptor, TREADLE_READABLE | TREADLE_WRITABLE), TREADLE_OK);
    CHECK(strstr(describe(s.descriptor), ", readable or writable"));
    CHECK_INT(treadle_invalidate(s.timer), TREADLE_OK);
    CHECK(strstr(describe(s.timer), ", invalid") && !strstr(text, "due"));
    scene_end(&s);
}

TEST(a_timer_on_the_wall_clock_is_due_by_it, "RL-12 TMR-24") {
    struct timespec now;
    treadle_timer timer;
    CHECK_INT(clock_gettime(CLOCK_REALTIME, &now), 0);
    treadle_timer_context context = {.struct_size = sizeof context, .fire_at = (now.tv_sec + 3600) * INT64_C(1000000000),
                                     .label = "noon", .flags = TREADLE_TIMER_WALL_CLOCK};
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK(strstr(describe(timer), ", due in 35") && strstr(text, " s by the wall clock"));
    CHECK_INT(treadle_loop_add(treadle_loop_current(), timer, MODE), TREADLE_OK);
    CHECK(strstr(describe(timer), ", due in 35") && strstr(text, " s by the wall clock"));
    CHECK_INT(discard(timer), TREADLE_OK);
}

/* Timers that a pass has taken, and not fired yet, are in no list of the mode, but in the mode. */
static void look_around(treadle_timer timer, void *info) {
    (void)timer;
    describe(treadle_loop_current());
    *(int *)info = count("\n    timer \"due\"");
}
TEST(timers_that_are_about_to_fire_are_listed, "RL-12 TMR-11") {
    int seen = 0;
    treadle_timer timers[8];
    for (int i = 0; i < 8; i++) {
        treadle_timer_context context = {.struct_size = sizeof context, .fire_at = 1, .label = "due", .info = &seen,
                                         .fire = i == 0 ? look_around : NULL};
        CHECK_INT(treadle_timer_create(&context, &timers[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add(treadle_loop_current(), timers[i], MODE), TREADLE_OK);
    }
    poll_mode(MODE);
    CHECK_INT(seen, 8);
    for (int i = 0; i < 8; i++) CHECK_INT(treadle_timer_release(timers[i]), TREADLE_OK);
}

static void never(void *target, void *argument) { (void)target, (void)argument; }
TEST(a_delayed_request_is_listed_as_such, "RL-12 PERF-12") {
    treadle_request request = {.struct_size = sizeof request, .fn = never, .flags = TREADLE_PERFORM_AFTER,
                               .delay_ns = INT64_C(3600000000000)};
    CHECK_INT(treadle_perform(NULL, &request), TREADLE_OK);
    CHECK(strstr(describe(treadle_loop_current()), "of a delayed request"));
    CHECK_INT(treadle_perform_cancel(&request), TREADLE_OK);
    CHECK(!strstr(describe(treadle_loop_current()), "of a delayed request"));
}

/* A description is made while other threads change everything that it tells of. */
static void *describe_for_a_while(void *loop) {
    static _Thread_local char own[65536];
    size_t length;
    for (int i = 0; i < scaled(300); i++) CHECK_INT(treadle_describe(loop, own, sizeof own, &length), TREADLE_OK);
    return NULL;
}
TEST(a_loop_is_described_while_it_changes, "RL-12 OBJ-7") {
    struct worker worker;
    pthread_t reader;
    worker_start(&worker);
    CHECK_INT(pthread_create(&reader, NULL, describe_for_a_while, worker.loop), 0);
    for (int i = 0; i < scaled(300); i++) {
        struct scene s;
        scene_make(&s);
        scene_add(&s, worker.loop, i % 2 ? MODE : TREADLE_COMMON_MODES);
        CHECK_INT(treadle_source_signal_and_wake(s.source), TREADLE_OK);
        CHECK_INT(treadle_timer_set_next_fire(s.one_shot, 1), TREADLE_OK);
        scene_end(&s);
    }
    CHECK_INT(pthread_join(reader, NULL), 0);
    worker_stop(&worker);
}

TEST_MAIN()
