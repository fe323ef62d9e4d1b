/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * rest_deadlock_test.c: two threads inside of callbacks, each of which ends what the other one is inside of, or waits for the other in
 * another way: one of them is refused, and the other goes on. */
#include "closures.h"

/* What a thread is inside of, and another one closes. */
struct side {
    const struct kind *kind;
    treadle_object object; /* of the callback */
    treadle_scope scope;   /* NULL: none */
    treadle_thread thread;
    any_code code;
    struct side *other;
    treadle_status (*wait)(struct side *other);
    treadle_status result;
    sem_t inside;
};
struct kind {
    const char *name;
    void (*enter)(struct side *); /* on the side's thread: calls be_inside in a callback */
    treadle_status (*close)(struct side *, int64_t timeout_ns);
};

static void be_inside(struct side *side) {
    sem_post(&side->inside);
    await(&side->other->inside);
    side->result = side->wait(side->other);
}
static void run_once(void) { treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, SECONDS(100), TREADLE_RUN_RETURN_AFTER_SOURCE); }
static treadle_status close_object(struct side *side, int64_t timeout_ns) { return treadle_close(side->object, timeout_ns); }
static treadle_status close_scope(struct side *side, int64_t timeout_ns) { return treadle_scope_close(side->scope, timeout_ns); }

static void perform(treadle_source source, void *info) { (void)source, be_inside(info); }
static void enter_source(struct side *side) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform, .info = side, .scope = side->scope};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    side->object = source;
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    run_once();
}
static void fire(treadle_timer timer, void *info) { (void)timer, be_inside(info); }
static void enter_timer(struct side *side) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire, .info = side, .fire_at = FAR_AWAY};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    side->object = timer;
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
}
static treadle_status handle(treadle_call *call, void *info) { return (void)call, be_inside(info), TREADLE_OK; }
static void enter_closure(struct side *side) {
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "v", .handler = handle, .info = side, .scope = side->scope};
    treadle_closure closure = NULL;
    any_code code = NULL;
    CHECK_INT(treadle_closure_create(&config, &closure), TREADLE_OK);
    side->object = closure;
    CHECK_INT(treadle_closure_get_code(closure, &code), TREADLE_OK);
    code();
}
static _Thread_local struct side *own_side;
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    if (event->kind == TREADLE_EVENT_PERFORM) be_inside(own_side);
    return ~ticket;
}
static void enter_host(struct side *side) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_source source = NULL;
    treadle_host host = NULL;
    own_side = side;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    treadle_source_context context = {.struct_size = sizeof context, .host = host, .token = 1};
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    side->object = host;
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    run_once();
    CHECK_INT(discard(source), TREADLE_OK);
}
static treadle_status quiesce(struct side *side, int64_t timeout_ns) { return treadle_host_quiesce(side->object, timeout_ns); }

static void make_scope(struct side *side) {
    treadle_scope_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_scope_create(&config, &side->scope), TREADLE_OK);
}
static void enter_item_in_scope(struct side *side) { make_scope(side), enter_source(side); }
static void enter_closure_in_scope(struct side *side) { make_scope(side), enter_closure(side); }
static void enter_scope_in_scope(struct side *side) {
    treadle_scope outer, inner;
    make_scope(side);
    outer = side->scope;
    CHECK_INT(treadle_scope_enter(outer), TREADLE_OK);
    make_scope(side);
    CHECK_INT(treadle_scope_leave(outer), TREADLE_OK);
    inner = side->scope;
    side->scope = outer;
    CHECK_INT(treadle_scope_enter(inner), TREADLE_OK);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), (treadle_post_fn)be_inside, side), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(inner), TREADLE_OK);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
}
static void enter_post(struct side *side) {
    make_scope(side);
    CHECK_INT(treadle_scope_enter(side->scope), TREADLE_OK);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), (treadle_post_fn)be_inside, side), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(side->scope), TREADLE_OK);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
}
static const struct kind kinds[] = {
    {"source", enter_source, close_object},
    {"timer that is fired by hand", enter_timer, close_object},
    {"closure", enter_closure, close_object},
    {"host", enter_host, quiesce},
    {"scope of a source", enter_item_in_scope, close_scope},
    {"scope of a closure", enter_closure_in_scope, close_scope},
    {"scope of a post", enter_post, close_scope},
    {"scope of a scope", enter_scope_in_scope, close_scope},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static treadle_status wait_for_end(struct side *other) { return other->kind->close(other, TREADLE_FOREVER); }
static void nothing(void *target, void *argument) { (void)target, (void)argument; }
static treadle_status wait_for_request(struct side *other) {
    treadle_request request = {.struct_size = sizeof request, .fn = nothing, .flags = TREADLE_PERFORM_WAIT};
    treadle_status status = treadle_perform(other->thread, &request);
    /* The other one was refused, and its thread has ended. */
    return status == TREADLE_E_CLOSED ? TREADLE_OK : status;
}
static treadle_status join_other(struct side *other) { return treadle_thread_join(other->thread, TREADLE_FOREVER, NULL); }
static treadle_status (*const waits[])(struct side *) = {wait_for_end, wait_for_request, join_other};

static void *live(void *info) {
    struct side *side = info;
    side->kind->enter(side);
    return NULL;
}
static void meet(const struct kind *one, const struct kind *two, treadle_status (*wait)(struct side *)) {
    struct side sides[2] = {{.kind = one, .wait = wait_for_end, .other = &sides[1], .result = 99}, {.kind = two, .wait = wait, .other = &sides[0], .result = 99}};
    for (int i = 0; i < 2; i++) sem_init(&sides[i].inside, 0, 0);
    for (int i = 0; i < 2; i++) CHECK_INT(create_thread(live, &sides[i], NULL, &sides[i].thread), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_thread_start(sides[i].thread), TREADLE_OK);
    CHECK_INT(treadle_thread_join(sides[1].thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    if (wait != join_other || sides[1].result != TREADLE_OK) CHECK_INT(treadle_thread_join(sides[0].thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    if ((sides[0].result == TREADLE_E_DEADLOCK) + (sides[1].result == TREADLE_E_DEADLOCK) != 1 || sides[0].result + sides[1].result != TREADLE_E_DEADLOCK)
        check_failed(__FILE__, __LINE__, "a %s and a %s: %d and %d", one->name, two->name, sides[0].result, sides[1].result);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(sides[i].kind->close(&sides[i], TREADLE_FOREVER), TREADLE_OK);
        if (sides[i].scope) CHECK_INT(treadle_release(sides[i].scope), TREADLE_OK);
        if (!sides[i].scope && sides[i].kind->close == close_object) CHECK_INT(treadle_release(sides[i].object), TREADLE_OK);
        CHECK_INT(treadle_release(sides[i].thread), TREADLE_OK);
    }
}
TEST(two_that_wait_for_each_other_are_told, "PERF-7 SCOPE-3 OBJ-10") {
    for (int one = 0; one < KINDS; one++)
        for (int two = 0; two < KINDS; two++)
            for (size_t wait = 0; wait < sizeof waits / sizeof *waits; wait++)
                if (kinds[one].enter != enter_host || kinds[two].enter != enter_host) meet(&kinds[one], &kinds[two], waits[wait]);
}

TEST_MAIN()
