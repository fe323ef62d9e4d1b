/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routine_direct_test.c: routines of the types of plain callbacks, which need no event to be called, and others that
 * only look like them: each gets what its arguments say, from everything that calls routines. The contract is
 * routine.h. */
#include "asking.h"

#include <sys/eventfd.h>

static const char *const mode = "routine mode";
static int destroyed;
static void destroy(void *info) {
    CHECK(info == &destroyed);
    destroyed++;
}

/* What the functions were told; the addresses in the order of the arguments. */
static struct { int calls; void *first, *last; uint32_t value; } seen;
static void take_info(void *info) {
    seen.calls++;
    seen.first = info;
}
static void take_two(void *first, void *last) {
    seen.calls++;
    seen.first = first;
    seen.last = last;
}
static void take_three(void *first, uint32_t value, void *last) {
    seen.calls++;
    seen.first = first;
    seen.value = value;
    seen.last = last;
}

/* What an argument is to be; `value` and `descriptor` for the one in the middle. */
enum { A = TREADLE_ARGUMENT_BOUND, LOOP = TREADLE_ARGUMENT_LOOP, SUBJECT = TREADLE_ARGUMENT_SUBJECT,
       VALUE = TREADLE_ARGUMENT_VALUE, DESCRIPTOR = TREADLE_ARGUMENT_DESCRIPTOR };
static const struct shape { const char *signature; size_t count; uint32_t kinds[3]; } shapes[] = {
    {"v^v", 1, {A}},
    {"v^v", 1, {SUBJECT}},
    {"v^v", 1, {LOOP}},
    {"v^v^v", 2, {SUBJECT, A}},
    {"v^v^v", 2, {A, SUBJECT}},
    {"v^v^v", 2, {A, A}},
    {"v^v^v", 2, {LOOP, A}},
    {"v^v^v", 2, {SUBJECT, LOOP}},
    {"v^v^v", 2, {SUBJECT, SUBJECT}},
    {"v^vI^v", 3, {SUBJECT, VALUE, A}},
    {"v^vI^v", 3, {A, VALUE, SUBJECT}},
    {"v^vI^v", 3, {SUBJECT, A, A}},
    {"v^vI^v", 3, {SUBJECT, DESCRIPTOR, A}},
    {"v^vI^v", 3, {LOOP, VALUE, A}},
    {"v^vI^v", 3, {A, VALUE, A}},
    {"v^vI^v", 3, {SUBJECT, VALUE, SUBJECT}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static int bound[3];
static const uint32_t bound_value = 0x89ABCDEF;
static void *const bound_pointers[] = {&bound[0], &bound[1], &bound[2]};

static treadle_routine made(const struct shape *shape) {
    static void (*const codes[])(void) = {(void (*)(void))take_info, (void (*)(void))take_two, (void (*)(void))take_three};
    treadle_argument arguments[3] = {0};
    for (size_t i = 0; i < shape->count; i++) {
        bool is_value = shape->count == 3 && i == 1;
        arguments[i].kind = shape->kinds[i];
        if (shape->kinds[i] != A) continue;
        arguments[i].value = is_value ? (const void *)&bound_value : &bound_pointers[i];
        arguments[i].size = is_value ? sizeof bound_value : sizeof(void *);
    }
    treadle_routine_config config = {sizeof config, codes[shape->count - 1], shape->signature, arguments, shape->count, &destroyed, destroy};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    memset(&seen, 0, sizeof seen);
    destroyed = 0;
    return routine;
}
static void *expected(const struct shape *shape, size_t index, void *subject) {
    if (shape->kinds[index] == A) return &bound[index];
    return shape->kinds[index] == LOOP ? (void *)treadle_loop_current() : subject;
}
/* One call has come, and the object and the routine are gone. */
static void check_seen(const struct shape *shape, void *subject, uint32_t value, int descriptor) {
    CHECK_INT(seen.calls, 1);
    CHECK(seen.first == expected(shape, 0, subject));
    if (shape->count > 1) CHECK(seen.last == expected(shape, shape->count - 1, subject));
    if (shape->count == 3) CHECK_INT(seen.value, shape->kinds[1] == A ? bound_value : shape->kinds[1] == VALUE ? value : (uint32_t)descriptor);
    CHECK_INT(destroyed, 1);
}
static void release(treadle_routine routine) { CHECK_INT(treadle_routine_release(routine), TREADLE_OK); }

TEST(sources_call_routines_of_every_shape, "SRC0-1 SRC0-7") {
    for (const struct shape *shape = shapes; shape < shapes + SHAPES; shape++) {
        treadle_source_context context = TREADLE_INIT(treadle_source_context);
        treadle_source source = NULL;
        context.perform_routine = made(shape);
        context.info = &seen; /* nobody's business */
        CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
        release(context.perform_routine);
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, mode), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), mode, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
        check_seen(shape, source, 0, -1);
    }
}

/* schedule and cancel are told more than a plain callback of two pointers, but a routine takes what it asked for. */
TEST(schedule_routines_of_every_shape, "SRC0-3") {
    for (const struct shape *shape = shapes; shape < shapes + SHAPES; shape++) {
        treadle_source_context context = TREADLE_INIT(treadle_source_context);
        treadle_source source = NULL;
        context.schedule_routine = made(shape);
        CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
        release(context.schedule_routine);
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, mode), TREADLE_OK);
        CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
        check_seen(shape, source, 0, -1);
    }
}

TEST(timers_call_routines_of_every_shape, "TMR-8 TMR-22") {
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        for (const struct shape *shape = shapes; shape < shapes + SHAPES; shape++) {
            treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
            treadle_timer timer = NULL;
            context.fire_routine = made(shape);
            context.fire_at = treadle_time_now() - MILLISECONDS(5);
            CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
            release(context.fire_routine);
            if (by_hand) {
                CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
            } else {
                CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, mode), TREADLE_OK);
                CHECK_INT(treadle_loop_run(treadle_loop_current(), mode, SECONDS(30), 0), TREADLE_RUN_FINISHED);
            }
            CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
            check_seen(shape, timer, 0, -1);
        }
    }
}

TEST(observers_call_routines_of_every_shape, "OBS-1 OBS-9") {
    treadle_source keeper = NULL;
    treadle_source_context keeping = TREADLE_INIT(treadle_source_context);
    CHECK_INT(treadle_source_create(&keeping, &keeper), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, mode), TREADLE_OK);
    for (const struct shape *shape = shapes; shape < shapes + SHAPES; shape++) {
        treadle_observer_context context = TREADLE_INIT(treadle_observer_context);
        treadle_observer observer = NULL;
        context.notify_routine = made(shape);
        context.activities = TREADLE_BEFORE_TIMERS;
        CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
        release(context.notify_routine);
        CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, mode), TREADLE_OK);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), mode, 0, 0), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
        CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
        check_seen(shape, observer, TREADLE_BEFORE_TIMERS, -1);
    }
}

TEST(descriptors_call_routines_of_every_shape, "SRC1-2 SRC1-5") {
    for (const struct shape *shape = shapes; shape < shapes + SHAPES; shape++) {
        int fd = eventfd(1, EFD_NONBLOCK);
        treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
        treadle_descriptor descriptor = NULL;
        context.ready_routine = made(shape);
        context.fd = fd;
        context.events = TREADLE_READABLE;
        CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
        release(context.ready_routine);
        CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), descriptor, mode), TREADLE_OK);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), mode, SECONDS(30), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
        CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
        check_seen(shape, descriptor, TREADLE_READABLE, fd);
        CHECK(close(fd) == 0);
    }
}

TEST(blocks_call_routines_of_every_shape, "BLK-3 BLK-5") {
    for (const struct shape *shape = shapes; shape < shapes + SHAPES; shape++) {
        treadle_post block = TREADLE_INIT(treadle_post);
        block.modes = &mode;
        block.mode_count = 1;
        block.routine = made(shape);
        CHECK_INT(post_block(treadle_loop_current(), &block), TREADLE_OK);
        release(block.routine);
        treadle_loop_run(treadle_loop_current(), mode, 0, 0);
        check_seen(shape, NULL, 0, -1);
    }
}

/* Queued, and directly. A request's subject is its target. */
TEST(requests_call_routines_of_every_shape, "PERF-2 PERF-3") {
    int target;
    for (int wait = 0; wait < 2; wait++) {
        for (const struct shape *shape = shapes; shape < shapes + SHAPES; shape++) {
            treadle_request request = TREADLE_INIT(treadle_request);
            request.routine = made(shape);
            request.target = &target;
            CHECK_INT(perform_on(treadle_thread_current(), &request, &mode, 1, wait ? TREADLE_PERFORM_WAIT : 0), TREADLE_OK);
            release(request.routine);
            if (!wait) treadle_loop_run(treadle_loop_current(), mode, 0, 0);
            check_seen(shape, &target, 0, -1);
        }
    }
}

/* The routine outlives its own call, though nothing else keeps it. */
static treadle_source self;
static void end_itself(void *source, void *info) {
    CHECK(source == self && info == &self);
    CHECK_INT(treadle_source_invalidate(self), TREADLE_OK);
    CHECK_INT(treadle_source_release(self), TREADLE_OK);
    CHECK_INT(destroyed, 0);
    trace("called");
}
TEST(a_direct_routine_may_release_what_calls_it, "OBJ-7") {
    treadle_loop loop = treadle_loop_current();
    void *info = &self;
    const treadle_argument arguments[] = {{SUBJECT, 0, NULL, 0}, {A, 0, &info, sizeof info}};
    treadle_routine_config config = {sizeof config, (void (*)(void))end_itself, "v^v^v", arguments, 2, &destroyed, destroy};
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    CHECK_INT(treadle_routine_create(&config, &context.perform_routine), TREADLE_OK);
    CHECK_INT(treadle_source_create(&context, &self), TREADLE_OK);
    release(context.perform_routine);
    CHECK_INT(treadle_loop_add_source(loop, self, mode), TREADLE_OK);
    CHECK_INT(treadle_source_signal(self), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, mode, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("called");
    CHECK_INT(destroyed, 1);
}
TEST_MAIN()
