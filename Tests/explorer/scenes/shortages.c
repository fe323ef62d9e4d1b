/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * shortages.c: calls that find no memory, and refusals, behind which nothing is left. */
#include "owner.h"

static treadle_status status;
#define UNTIL_THERE(CALL)                                                                                              \
    do {                                                                                                               \
        status = (CALL);                                                                                               \
        REQUIRE(status == TREADLE_OK || status == TREADLE_E_NOMEM);                                                    \
    } while (status != TREADLE_OK)

static const char *const two_modes[] = {TREADLE_DEFAULT_MODE, "other"};
static void note_post(void *info) { (void)info, count(&called); }
static void note_request(void *target, void *argument) { (void)argument, note_post(target); }
static void note_source(treadle_source self, void *info) { (void)self, note_post(info); }
static void note_timer(treadle_timer self, void *info) { (void)self, note_post(info); }
static void note_message(treadle_port self, treadle_message message, void *info) { (void)self, (void)message, note_post(info); }
static treadle_post post_with_destroy(void) {
    return (treadle_post){.struct_size = sizeof(treadle_post), .fn = note_post, .destroy = count_release, .modes = two_modes, .mode_count = 2};
}
static treadle_request request_with_release(void) {
    return (treadle_request){.struct_size = sizeof(treadle_request), .fn = note_request, .target = &loop, .release_target = count_release,
                             .modes = two_modes, .mode_count = 2};
}

/* What comes with a refused call is given back by that, and all that was not refused is done. */
static void use_all(void) {
    int calls_before = counted(&called), attempts = counted(&freed);
    treadle_scope scope;
    treadle_source signalled;
    treadle_timer timer;
    treadle_port port;
    treadle_scope_config in = {.struct_size = sizeof in, .label = "scope", .destroy = count_release};
    UNTIL_THERE((attempts++, treadle_scope_create(&in, &scope)));
    UNTIL_THERE(treadle_scope_enter(scope));
    treadle_source_context performs = {.struct_size = sizeof performs, .perform = note_source, .release = count_release};
    UNTIL_THERE(treadle_source_create(&performs, &signalled));
    UNTIL_THERE(treadle_loop_add(loop, signalled, TREADLE_DEFAULT_MODE));
    UNTIL_THERE(treadle_loop_add(loop, signalled, "other"));
    REQUIRE_OK(treadle_source_signal(signalled));
    treadle_timer_context fires = {.struct_size = sizeof fires, .fire = note_timer, .release = count_release, .tolerance_ns = 1000,
                                   .fire_at = treadle_time_now()};
    UNTIL_THERE(treadle_timer_create(&fires, &timer));
    UNTIL_THERE(treadle_loop_add(loop, timer, TREADLE_DEFAULT_MODE));
    treadle_port_context receives = {.struct_size = sizeof receives, .receive = note_message, .release = count_release};
    UNTIL_THERE(treadle_port_create(&receives, &port));
    UNTIL_THERE(treadle_loop_add(loop, port, TREADLE_DEFAULT_MODE));
    UNTIL_THERE(treadle_port_send_bytes(port, 1, two_modes, sizeof two_modes, 0));
    treadle_post post = post_with_destroy();
    UNTIL_THERE((attempts++, treadle_loop_post_in(loop, &post)));
    treadle_request request = request_with_release();
    UNTIL_THERE((attempts++, treadle_perform(loop, &request)));
    for (int runs = 0; counted(&called) < calls_before + 5; runs++) {
        status = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
        REQUIRE((status == TREADLE_RUN_TIMED_OUT || status == TREADLE_E_NOMEM) && runs < 10);
    }
    UNTIL_THERE(treadle_scope_leave(scope));
    UNTIL_THERE(treadle_scope_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&called) == calls_before + 5 && counted(&freed) == attempts + 3);
    treadle_release(signalled), treadle_release(timer), treadle_release(port);
    REQUIRE_OK(treadle_release(scope));
}
SCENE(calls_that_find_no_memory_leave_nothing, "ABI-7, OBJ-2") {
    loop = treadle_loop_current();
    for (int i = 0; i < 3; i++) use_all(); /* what is kept for later is there */
    long pieces = pieces_in_use();
    explore_from_here();
    let_the_kernel_fail(NO_MEMORY);
    use_all();
    let_the_kernel_fail(0);
    use_all();
    REQUIRE(pieces_in_use() == pieces);
}

/* More timers than a queue has room for at first are set again while there is no memory: none is lost, and none is early. */
enum { TIMERS = 20, ROUNDS = 3 };
static int fired[TIMERS];
static void fire_again(treadle_timer self, void *number) {
    int64_t date;
    REQUIRE_OK(treadle_timer_get_next_fire(self, &date));
    fired[(intptr_t)number]++;
    for (int i = 0; i < TIMERS; i++)
        if (fired[i] < ROUNDS) return;
    REQUIRE_OK(treadle_loop_stop(loop));
}
SCENE(timers_that_find_no_memory_fire_all_the_same, "TMR-11, ABI-7") {
    loop = treadle_loop_current();
    stop_the_clock();
    for (intptr_t i = 0; i < TIMERS; i++) {
        treadle_timer_context context = {.struct_size = sizeof context, .fire = fire_again, .info = (void *)i, .interval_ns = 1000,
                                         .fire_at = treadle_time_now() + 1000000};
        treadle_timer timer;
        REQUIRE_OK(treadle_timer_create(&context, &timer));
        add(timer);
        REQUIRE_OK(treadle_release(timer));
    }
    explore_from_here();
    let_the_kernel_fail(NO_MEMORY);
    treadle_status ended;
    do ended = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    while (ended == TREADLE_E_NOMEM);
    REQUIRE(ended == TREADLE_RUN_STOPPED);
    for (int i = 0; i < TIMERS; i++) REQUIRE(fired[i] == ROUNDS || fired[i] == ROUNDS + 1);
}

/* Of what was refused for another reason there is nothing left either. */
static void *have_a_loop(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    return info;
}
static void never_called(void) { REQUIRE(false); }
static void be_refused(treadle_port port) {
    int before = counted(&freed);
    treadle_post post = post_with_destroy();
    treadle_request request = request_with_release();
    REQUIRE(treadle_loop_post_in(loop, &post) == TREADLE_IGNORED);
    REQUIRE(treadle_perform(loop, &request) == TREADLE_E_CLOSED);
    REQUIRE(treadle_port_send_bytes(port, 1, two_modes, sizeof two_modes, 0) == TREADLE_E_CLOSED);
    treadle_message_port remote;
    REQUIRE(treadle_message_port_create_remote("scene-nowhere", NULL, &remote) == TREADLE_E_NOT_FOUND);
    treadle_invocation call;
    treadle_invocation_config config = {.struct_size = sizeof config, .code = never_called, .signature = "v", .destroy = count_release};
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop};
    REQUIRE_OK(treadle_invocation_create(&config, &call));
    REQUIRE(treadle_invocation_perform(call, &options) == TREADLE_E_CLOSED);
    REQUIRE_OK(treadle_release(call));
    REQUIRE(counted(&freed) == before + 3);
}
SCENE(refused_calls_leave_nothing, "OBJ-2, PERF-8, PORT-2, MSG-1") {
    treadle_port port;
    treadle_port_context context = {.struct_size = sizeof context};
    REQUIRE_OK(treadle_port_create(&context, &port));
    REQUIRE_OK(treadle_invalidate(port));
    join(start(have_a_loop, NULL));
    be_refused(port);
    long pieces = pieces_in_use();
    be_refused(port);
    REQUIRE(pieces_in_use() == pieces);
    REQUIRE_OK(treadle_release(port));
}
