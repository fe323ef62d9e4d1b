/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routine_loop_test.c: each kind of callback by each shape of a routine in its place: of the types of plain callbacks, which need no event to
 * be called, others that only look like them, and one that takes all that there is. What it is told, and how long it lives. The contract is
 * routine.h and the contexts of the items; the rules are those of the plain callbacks, whose place routines take. */
#include "asking.h"

#include <sys/eventfd.h>

static const char *const mode = "routine mode";
static int destroyed;
static void destroy(void *info) {
    CHECK(info == &destroyed);
    destroyed++;
}
static treadle_loop here(void) { return treadle_loop_current(); }
static treadle_routine made_of(void (*code)(void), const char *signature, const treadle_argument *arguments, size_t count) {
    treadle_routine_config config = {sizeof config, code, signature, arguments, count, &destroyed, destroy};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    destroyed = 0;
    return routine;
}

/* --- The shapes ----------------------------------------------------------------------------------- */

/* What the functions were told; the addresses in the order of the arguments. */
static struct { int calls; void *first, *last; uint32_t value; treadle_event event; } seen;
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
/* It returns something, which is dropped. */
typedef struct { double ratio; int16_t number; } label;
static label take_all(label bound, treadle_loop loop, const char *text, void *subject, uint32_t value, int32_t descriptor, int64_t late, const treadle_event *event) {
    CHECK(bound.ratio == 0.75 && bound.number == -4);
    CHECK(event && event->struct_size >= sizeof *event && event->token == 0);
    CHECK(loop == here() && loop == event->loop && subject == event->subject && value == event->value);
    CHECK(descriptor == event->descriptor && late == event->late_ns && text == event->mode);
    seen.calls++;
    seen.event = *event;
    if (text) CHECK_TEXT(text, mode);
    return bound;
}
#define CODE(function) (void (*)(void))(function)
enum { A = TREADLE_ARGUMENT_BOUND, LOOP = TREADLE_ARGUMENT_LOOP, SUBJECT = TREADLE_ARGUMENT_SUBJECT,
       VALUE = TREADLE_ARGUMENT_VALUE, DESCRIPTOR = TREADLE_ARGUMENT_DESCRIPTOR, MODE = TREADLE_ARGUMENT_MODE,
       LATE = TREADLE_ARGUMENT_LATE, EVENT = TREADLE_ARGUMENT_EVENT, MOST = 8 };
static const struct shape { const char *signature; void (*code)(void); size_t count; uint32_t kinds[MOST]; } shapes[] = {
    {"v^v", CODE(take_info), 1, {A}},
    {"v^v", CODE(take_info), 1, {SUBJECT}},
    {"v^v", CODE(take_info), 1, {LOOP}},
    {"v^v^v", CODE(take_two), 2, {SUBJECT, A}},
    {"v^v^v", CODE(take_two), 2, {A, SUBJECT}},
    {"v^v^v", CODE(take_two), 2, {A, A}},
    {"v^v^v", CODE(take_two), 2, {LOOP, A}},
    {"v^v^v", CODE(take_two), 2, {SUBJECT, LOOP}},
    {"v^v^v", CODE(take_two), 2, {SUBJECT, SUBJECT}},
    {"v^vI^v", CODE(take_three), 3, {SUBJECT, VALUE, A}},
    {"v^vI^v", CODE(take_three), 3, {A, VALUE, SUBJECT}},
    {"v^vI^v", CODE(take_three), 3, {SUBJECT, A, A}},
    {"v^vI^v", CODE(take_three), 3, {SUBJECT, DESCRIPTOR, A}},
    {"v^vI^v", CODE(take_three), 3, {LOOP, VALUE, A}},
    {"v^vI^v", CODE(take_three), 3, {A, VALUE, A}},
    {"v^vI^v", CODE(take_three), 3, {SUBJECT, VALUE, SUBJECT}},
    {"{label=ds}{label=ds}^v*^vIiq^v", CODE(take_all), MOST, {A, LOOP, MODE, SUBJECT, VALUE, DESCRIPTOR, LATE, EVENT}},
};
static int bound[3];
static const uint32_t bound_value = 0x89ABCDEF;
static void *const bound_pointers[] = {&bound[0], &bound[1], &bound[2]};
static treadle_routine made(const struct shape *shape) {
    static const label bound_label = {0.75, -4};
    treadle_argument arguments[MOST] = {{0}};
    for (size_t i = 0; i < shape->count; i++) {
        arguments[i].kind = shape->kinds[i];
        if (shape->kinds[i] != A) continue;
        if (shape->count == MOST) arguments[i].value = &bound_label, arguments[i].size = sizeof bound_label;
        else if (shape->count == 3 && i == 1) arguments[i].value = &bound_value, arguments[i].size = sizeof bound_value;
        else arguments[i].value = &bound_pointers[i], arguments[i].size = sizeof(void *);
    }
    memset(&seen, 0, sizeof seen);
    return made_of(shape->code, shape->signature, arguments, shape->count);
}

/* --- What calls them ------------------------------------------------------------------------------ */

/* What a callback is told, and how often. */
struct call { uint32_t kind, value; int calls, descriptor; void *subject; int64_t late; };
static void give_up(treadle_routine routine) { CHECK_INT(treadle_routine_release(routine), TREADLE_OK); }
static treadle_status run(int64_t timeout, uint32_t flags) { return treadle_loop_run(here(), mode, timeout, flags); }
/* The last reference is given up: until then the routine is there. */
static void end(treadle_object item) {
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_release(item), TREADLE_OK);
}

/* schedule and cancel are told more than a plain callback of two pointers, but a routine takes what it asked for. */
static struct call call_source(treadle_routine routine, uint32_t kind) {
    treadle_source_context context = {.struct_size = sizeof context, .info = &seen /* nobody's business */};
    treadle_source source = NULL;
    *(kind == TREADLE_EVENT_PERFORM ? &context.perform_routine
      : kind == TREADLE_EVENT_CANCEL ? &context.cancel_routine : &context.schedule_routine) = routine;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    give_up(routine);
    CHECK_INT(treadle_loop_add_source(here(), source, mode), TREADLE_OK);
    CHECK_INT(seen.calls, kind == TREADLE_EVENT_SCHEDULE);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    if (kind == TREADLE_EVENT_PERFORM) CHECK_INT(run(0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(seen.calls, kind != TREADLE_EVENT_CANCEL);
    CHECK_INT(treadle_loop_remove_source(here(), source, mode), TREADLE_OK);
    end(source);
    return (struct call){.kind = kind, .calls = 1, .descriptor = -1, .subject = source};
}
static struct call perform(treadle_routine routine) { return call_source(routine, TREADLE_EVENT_PERFORM); }
static struct call schedule(treadle_routine routine) { return call_source(routine, TREADLE_EVENT_SCHEDULE); }
static struct call cancel(treadle_routine routine) { return call_source(routine, TREADLE_EVENT_CANCEL); }

static struct call call_timer(treadle_routine routine, bool by_hand) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire_routine = routine, .fire_at = treadle_time_now() - MILLISECONDS(5)};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    give_up(routine);
    if (by_hand) {
        CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
    } else {
        CHECK_INT(treadle_loop_add_timer(here(), timer, mode), TREADLE_OK);
        CHECK_INT(run(SECONDS(30), 0), TREADLE_RUN_FINISHED);
    }
    end(timer);
    return (struct call){.kind = TREADLE_EVENT_TIMER, .calls = 1, .descriptor = -1, .subject = timer, .late = MILLISECONDS(5)};
}
static struct call fire(treadle_routine routine) { return call_timer(routine, false); }
static struct call fire_by_hand(treadle_routine routine) { return call_timer(routine, true); }

/* The mode keeps it, and the routine with it. */
static struct call notify(treadle_routine routine) {
    treadle_observer_context context = {.struct_size = sizeof context, .notify_routine = routine, .activities = TREADLE_ENTRY | TREADLE_BEFORE_SOURCES};
    treadle_source_context keeping = TREADLE_INIT(treadle_source_context);
    treadle_observer observer = NULL;
    treadle_source keeper = NULL;
    CHECK_INT(treadle_source_create(&keeping, &keeper), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(here(), keeper, mode), TREADLE_OK);
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    give_up(routine);
    CHECK_INT(treadle_loop_add_observer(here(), observer, mode), TREADLE_OK);
    CHECK_INT(run(0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(seen.calls, 2);
    end(observer);
    CHECK_INT(run(0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    return (struct call){.kind = TREADLE_EVENT_OBSERVER, .value = TREADLE_BEFORE_SOURCES, .calls = 4, .descriptor = -1, .subject = observer};
}
static struct call be_ready(treadle_routine routine) {
    int fd = eventfd(1, EFD_NONBLOCK);
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready_routine = routine, .fd = fd, .events = TREADLE_READABLE};
    treadle_descriptor descriptor = NULL;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    give_up(routine);
    CHECK_INT(treadle_loop_add_descriptor(here(), descriptor, mode), TREADLE_OK);
    CHECK_INT(run(SECONDS(30), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    CHECK(close(fd) == 0);
    return (struct call){.kind = TREADLE_EVENT_DESCRIPTOR, .value = TREADLE_READABLE, .calls = 1, .descriptor = fd, .subject = descriptor};
}

static int info_destroyed;
static void destroy_info(void *info) {
    CHECK(info == &info_destroyed);
    info_destroyed++;
}
static struct call post(treadle_routine routine) {
    treadle_post block = {.struct_size = sizeof block, .modes = &mode, .mode_count = 1, .routine = routine, .info = &info_destroyed, .destroy = destroy_info};
    info_destroyed = 0;
    for (int i = 0; i < 2; i++) CHECK_INT(post_block(here(), &block), TREADLE_OK);
    give_up(routine);
    CHECK_INT(destroyed, 0);
    run(0, 0);
    CHECK_INT(info_destroyed, 2);
    return (struct call){.kind = TREADLE_EVENT_POST, .calls = 2, .descriptor = -1};
}

/* Queued, and directly. A request's subject is its target. */
static struct call call_request(treadle_routine routine, uint32_t flags) {
    static int target;
    treadle_request request = {.struct_size = sizeof request, .routine = routine, .target = &target};
    CHECK_INT(perform_on(treadle_thread_current(), &request, &mode, 1, flags), TREADLE_OK);
    CHECK_INT(seen.calls, flags != 0);
    give_up(routine);
    run(0, 0);
    return (struct call){.kind = TREADLE_EVENT_REQUEST, .calls = 1, .descriptor = -1, .subject = &target};
}
static struct call request(treadle_routine routine) { return call_request(routine, 0); }
static struct call request_at_once(treadle_routine routine) { return call_request(routine, TREADLE_PERFORM_WAIT); }

static const struct caller { const char *name; struct call (*call)(treadle_routine); } callers[] = {
    {"source", perform}, {"schedule", schedule}, {"cancel", cancel}, {"timer", fire}, {"timer fired by hand", fire_by_hand}, {"observer", notify},
    {"descriptor", be_ready}, {"block", post}, {"request", request}, {"request at once", request_at_once},
};

static bool is_told(const struct shape *shape, size_t index, const struct call *call, const void *pointer) {
    return pointer == (shape->kinds[index] == A ? &bound[index] : shape->kinds[index] == LOOP ? (void *)here() : call->subject);
}
static bool was_told(const struct shape *shape, const struct call *call) {
    const treadle_event *event = &seen.event;
    if (seen.calls != call->calls || destroyed != 1) return false; /* the object and the routine are gone */
    if (shape->count == MOST)
        return event->kind == call->kind && event->subject == call->subject && event->value == call->value &&
               event->descriptor == call->descriptor && event->late_ns >= call->late;
    if (!is_told(shape, 0, call, seen.first)) return false;
    if (shape->count > 1 && !is_told(shape, shape->count - 1, call, seen.last)) return false;
    return shape->count < 3 || seen.value == (shape->kinds[1] == A ? bound_value : shape->kinds[1] == VALUE ? call->value : (uint32_t)call->descriptor);
}
TEST(each_callback_calls_routines_of_every_shape, "SRC0-1 SRC0-3 SRC0-7 TMR-8 TMR-22 OBS-1 OBS-9 SRC1-2 SRC1-5 BLK-3 BLK-5 PERF-2 PERF-3") {
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            struct call call = callers[i].call(made(&shapes[k]));
            if (!was_told(&shapes[k], &call))
                check_failed(__FILE__, __LINE__, "a %s and shape %zu: %d calls, %d destroyed", callers[i].name, k, seen.calls, destroyed);
        }
}

/* --- Their lives ---------------------------------------------------------------------------------- */

/* A context with a dead routine, with another handle, or with both ways, makes no object. */
TEST(bad_routines_make_no_object, "") {
    treadle_routine routine = made(shapes), dead = made(shapes);
    CHECK_INT(treadle_routine_release(dead), TREADLE_OK);
    destroyed = 0;
    treadle_timer timer = NULL;
    treadle_timer_context context = {.struct_size = sizeof context, .fire_routine = dead};
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_STALE, "routine");
    context.fire_routine = (treadle_routine)here();
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
    give_up(routine);
    CHECK_INT(destroyed, 1);
}

/* The routine outlives its own call, though nothing else keeps it: one that is called directly, and one that is not. */
static treadle_source self;
static void end_itself(void) {
    CHECK_INT(treadle_source_invalidate(self), TREADLE_OK);
    CHECK_INT(treadle_source_release(self), TREADLE_OK);
    CHECK_INT(destroyed, 0);
    seen.calls++;
}
static void end_source(void *source, void *info) {
    CHECK(source == self && info == &self);
    end_itself();
}
TEST(a_routine_may_release_the_object_that_calls_it, "OBJ-7") {
    void *info = &self;
    const treadle_argument arguments[] = {{SUBJECT, 0, NULL, 0}, {A, 0, &info, sizeof info}};
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        treadle_source_context context = TREADLE_INIT(treadle_source_context);
        context.perform_routine = is_direct ? made_of(CODE(end_source), "v^v^v", arguments, 2) : made_of(end_itself, "v", NULL, 0);
        CHECK_INT(treadle_source_create(&context, &self), TREADLE_OK);
        give_up(context.perform_routine);
        CHECK_INT(treadle_loop_add_source(here(), self, mode), TREADLE_OK);
        CHECK_INT(treadle_source_signal(self), TREADLE_OK);
        seen.calls = 0;
        CHECK_INT(run(0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        CHECK_INT(seen.calls, 1);
        CHECK_INT(destroyed, 1);
    }
}

/* The child starts from nothing: it parses and calls, while the parent's routines are gone there. */
TEST(after_a_fork_signatures_and_routines_begin_anew, "RL-11") {
    treadle_signature before = NULL, after = NULL;
    treadle_routine routine = made_of(end_itself, "v", NULL, 0);
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
    give_up(routine);
    CHECK_INT(destroyed, 1);
}

TEST_MAIN()
