/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routine_loop_test.c: routines in place of every callback that a loop calls: what they are told, and how
 * long they live. The contract is routine.h and the contexts of the items; the rules are those of the
 * plain callbacks, whose place routines take. */
#include "asking.h"

#include <sys/eventfd.h>

static const char *const mode = "routine mode";
static int destroyed;
static void destroy(void *info) {
    CHECK(info == &destroyed);
    destroyed++;
}
static treadle_routine made(void (*code)(void), const char *signature, const treadle_argument *arguments, size_t count) {
    treadle_routine_config config = {sizeof config, code, signature, arguments, count, &destroyed, destroy};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    return routine;
}
#define SUPPLIED(kind) {TREADLE_ARGUMENT_##kind, 0, NULL, 0}
#define BOUND(variable) {TREADLE_ARGUMENT_BOUND, 0, &(variable), sizeof(variable)}

/* One function for all: what it is told depends on the event alone. It returns something, which is dropped. */
typedef struct { double ratio; int16_t number; } label;
static struct { int calls; treadle_event event; treadle_loop loop; void *subject; uint32_t value; int32_t descriptor; int64_t late; } seen;
static label tell(label bound, treadle_loop loop, const char *text, void *subject, uint32_t value, int32_t descriptor, int64_t late, const treadle_event *event) {
    CHECK(bound.ratio == 0.75 && bound.number == -4);
    CHECK(event && event->struct_size >= sizeof *event && event->token == 0);
    CHECK(loop == treadle_loop_current() && loop == event->loop && subject == event->subject && value == event->value);
    CHECK(descriptor == event->descriptor && late == event->late_ns && text == event->mode);
    CHECK_TEXT(text, mode);
    seen.calls++;
    seen.event = *event;
    trace("%u", event->kind);
    return bound;
}
static treadle_routine teller(void) {
    static const label bound = {0.75, -4};
    static const treadle_argument arguments[] = {BOUND(bound), SUPPLIED(LOOP), SUPPLIED(MODE), SUPPLIED(SUBJECT),
                                                 SUPPLIED(VALUE), SUPPLIED(DESCRIPTOR), SUPPLIED(LATE), SUPPLIED(EVENT)};
    return made((void (*)(void))tell, "{label=ds}{label=ds}^v*^vIiq^v", arguments, 8);
}
static void check_event(uint32_t kind, void *subject, uint32_t value, int32_t descriptor) {
    CHECK_INT(seen.event.kind, kind);
    CHECK(seen.event.subject == subject);
    CHECK_INT(seen.event.value, value);
    CHECK_INT(seen.event.descriptor, descriptor);
}

TEST(source_routines, "SRC0-1 SRC0-3 SRC0-7") {
    treadle_loop loop = treadle_loop_current();
    treadle_routine routine = teller();
    treadle_source_context context = {.struct_size = sizeof context, .schedule_routine = routine, .cancel_routine = routine, .perform_routine = routine};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK); /* the source keeps it */
    CHECK_INT(treadle_loop_add_source(loop, source, mode), TREADLE_OK);
    check_event(TREADLE_EVENT_SCHEDULE, source, 0, -1);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, mode, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    check_event(TREADLE_EVENT_PERFORM, source, 0, -1);
    CHECK_INT(treadle_loop_remove_source(loop, source, mode), TREADLE_OK);
    check_event(TREADLE_EVENT_CANCEL, source, 0, -1);
    CHECK_TRACE("2 1 3");
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(destroyed, 1);
}

TEST(observer_routines, "OBS-1 OBS-9") {
    treadle_loop loop = treadle_loop_current();
    treadle_routine routine = teller();
    treadle_observer_context context = {.struct_size = sizeof context, .notify_routine = routine, .activities = TREADLE_ENTRY | TREADLE_BEFORE_SOURCES};
    treadle_observer observer = NULL;
    treadle_source_context keeping = TREADLE_INIT(treadle_source_context);
    treadle_source source = NULL;
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    CHECK_INT(treadle_source_create(&keeping, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, observer, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, mode, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(seen.calls, 2);
    check_event(TREADLE_EVENT_OBSERVER, observer, TREADLE_BEFORE_SOURCES, -1);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK); /* the mode keeps it */
    CHECK_INT(treadle_loop_run(loop, mode, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(seen.calls, 4);
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK_INT(destroyed, 1);
}

TEST(timer_routines, "TMR-8 TMR-22") {
    treadle_loop loop = treadle_loop_current();
    treadle_routine routine = teller();
    treadle_timer_context context = {.struct_size = sizeof context, .fire_routine = routine, .fire_at = treadle_time_now() - MILLISECONDS(5)};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, mode, SECONDS(30), 0), TREADLE_RUN_FINISHED);
    CHECK_INT(seen.calls, 1);
    check_event(TREADLE_EVENT_TIMER, timer, 0, -1);
    CHECK(seen.event.late_ns >= MILLISECONDS(5));
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(destroyed, 1);
}

TEST(descriptor_routines, "SRC1-2 SRC1-5") {
    treadle_loop loop = treadle_loop_current();
    treadle_routine routine = teller();
    int fd = eventfd(1, EFD_NONBLOCK);
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready_routine = routine, .fd = fd, .events = TREADLE_READABLE};
    treadle_descriptor descriptor = NULL;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, mode, SECONDS(30), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    check_event(TREADLE_EVENT_DESCRIPTOR, descriptor, TREADLE_READABLE, fd);
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    CHECK(close(fd) == 0);
}

static int info_destroyed;
static void destroy_info(void *info) {
    CHECK(info == &info_destroyed);
    info_destroyed++;
}
TEST(block_routines, "BLK-3 BLK-5") {
    treadle_loop loop = treadle_loop_current();
    treadle_routine routine = teller();
    treadle_post block = {.struct_size = sizeof block, .modes = &mode, .mode_count = 1, .routine = routine, .info = &info_destroyed, .destroy = destroy_info};
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(destroyed, 0);
    treadle_loop_run(loop, mode, 0, 0);
    CHECK_INT(seen.calls, 2);
    check_event(TREADLE_EVENT_POST, NULL, 0, -1);
    CHECK_INT(info_destroyed, 2);
    CHECK_INT(destroyed, 1);
}

/* A context with a dead routine, with another handle, or with both ways, makes no object. */
TEST(bad_routines_make_no_object, "") {
    treadle_routine routine = teller(), dead = teller();
    CHECK_INT(treadle_routine_release(dead), TREADLE_OK);
    destroyed = 0;
    treadle_timer timer = NULL;
    treadle_timer_context context = {.struct_size = sizeof context, .fire_routine = dead};
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_STALE, "routine");
    context.fire_routine = (treadle_routine)treadle_loop_current();
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_KIND, "routine");
    context.fire_routine = routine;
    context.fire = (treadle_timer_fn)(void *)destroy;
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_ARG, "routine");
    context.fire = NULL;
    context.interval_ns = -1;
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_RANGE, "interval");
    CHECK(timer == NULL);
    treadle_source source = NULL;
    treadle_source_context sources = {.struct_size = sizeof sources, .perform_routine = routine, .schedule_routine = routine, .cancel_routine = dead};
    CHECK_ERROR(treadle_source_create(&sources, &source), TREADLE_E_STALE, "routine");
    CHECK(source == NULL);
    /* The refused objects have given their references back. */
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(destroyed, 1);
}

static treadle_source self;
static void end_itself(void) {
    CHECK_INT(treadle_source_invalidate(self), TREADLE_OK);
    CHECK_INT(treadle_source_release(self), TREADLE_OK);
    CHECK_INT(destroyed, 0); /* the routine outlives its own call */
    trace("called");
}
TEST(a_routine_may_release_the_object_that_calls_it, "OBJ-7") {
    treadle_loop loop = treadle_loop_current();
    treadle_routine routine = made(end_itself, "v", NULL, 0);
    treadle_source_context context = {.struct_size = sizeof context, .perform_routine = routine};
    CHECK_INT(treadle_source_create(&context, &self), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, self, mode), TREADLE_OK);
    CHECK_INT(treadle_source_signal(self), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, mode, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("called");
    CHECK_INT(destroyed, 1);
}

/* The child starts from nothing: it parses and calls, while the parent's routines are gone there. */
TEST(after_a_fork_signatures_and_routines_begin_anew, "RL-11") {
    treadle_signature before = NULL, after = NULL;
    treadle_routine routine = made(end_itself, "v", NULL, 0);
    size_t count = 0;
    CHECK_INT(treadle_signature_parse("i^vq", &before), TREADLE_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        treadle_routine_config config = {sizeof config, (void (*)(void))getpid, "i", NULL, 0, &destroyed, destroy};
        treadle_routine own = NULL;
        int32_t process = 0;
        CHECK_ERROR(treadle_signature_parse("i^vq", &after), TREADLE_E_FORKED, "fork");
        CHECK_ERROR(treadle_routine_create(&config, &own), TREADLE_E_FORKED, "fork");
        CHECK_INT(destroyed, 1);
        CHECK_ERROR(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_E_FORKED, "fork");
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        CHECK_ERROR(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_E_STALE, "routine");
        CHECK_ERROR(treadle_signature_get_argument_count(before, &count), TREADLE_E_STALE, "signature");
        CHECK_INT(treadle_signature_parse("i^vq", &after), TREADLE_OK);
        CHECK_INT(treadle_signature_get_argument_count(after, &count), TREADLE_OK);
        CHECK_INT(count, 2);
        CHECK_INT(treadle_routine_create(&config, &own), TREADLE_OK);
        CHECK_INT(treadle_routine_call(own, NULL, &process, sizeof process), TREADLE_OK);
        CHECK_INT(process, getpid());
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_INT(treadle_signature_get_argument_count(before, &count), TREADLE_OK);
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(destroyed, 1);
}

TEST_MAIN()
