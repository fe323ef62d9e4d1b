/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * triples.c: three threads at one loop, or at two: the owner inside its lock, a visitor that waits for it, and one that queues for it
 * by the gate. Each plays an act of one table, chosen anew in each schedule, so every act of one meets every act of the others. */
#include "owner.h"

static treadle_timer shared_timer;
static treadle_port port;
static treadle_descriptor watch;
static counter made, gone; /* infos of what the acts create: each is released, once */
static void count_gone(void *info) {
    (void)info;
    count(&gone);
}
/* The process may have been shut down, and another act may have taken out what this one would. */
static void try(treadle_status status) { REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_CLOSED); }
static const char *const mode = TREADLE_DEFAULT_MODE;

/* --- The acts --------------------------------------------------------------------------------------- */

static void do_nothing(void *info) { (void)info; }
static void fire(treadle_timer self, void *info) { (void)self, (void)info; }
static void perform_nothing(treadle_source self, void *info) { (void)self, (void)info; }
static void receive(treadle_port self, treadle_message message, void *info) { (void)self, (void)message, (void)info; }
static void notify(treadle_observer self, uint32_t activity, void *info) { (void)self, (void)activity, (void)info; }
static void perform_request(void *target, void *argument) { (void)target, (void)argument; }

static void release_it(treadle_object item) { REQUIRE_OK(treadle_release(item)); }
static treadle_timer make_timer(int64_t delay) {
    treadle_timer made_timer;
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire, .release = count_gone, .info = &made,
                                     .fire_at = treadle_time_now() + delay};
    count(&made);
    REQUIRE_OK(treadle_timer_create(&context, &made_timer));
    return made_timer;
}
static void add_and_remove_a_timer(void) {
    treadle_timer timer = make_timer(1000000000);
    try(treadle_loop_add(loop, timer, mode));
    try(treadle_loop_remove(loop, timer, mode));
    release_it(timer);
}
static void add_and_close_a_timer_that_is_due(void) {
    treadle_timer timer = make_timer(0);
    try(treadle_loop_add(loop, timer, TREADLE_COMMON_MODES));
    try(treadle_close(timer, TREADLE_FOREVER));
    release_it(timer);
}
static void set_the_timer(void) {
    try(treadle_timer_set_next_fire(shared_timer, treadle_time_now()));
    treadle_timer_set_next_fire(shared_timer, TREADLE_FOREVER);
}
static void add_and_invalidate_a_source(void) {
    count(&made);
    treadle_source made_source = make_source(perform_nothing, count_gone, &made);
    try(treadle_loop_add(loop, made_source, mode));
    try(treadle_source_signal_and_wake(made_source));
    try(treadle_invalidate(made_source));
    release_it(made_source);
}
static void signal_the_source(void) { try(treadle_source_signal_and_wake(source)); }
static void post(void) { try(treadle_loop_post(loop, do_nothing, NULL)); }
static void post_in_modes(void) {
    treadle_post in_modes = {.struct_size = sizeof in_modes, .fn = do_nothing, .destroy = count_gone, .info = &made,
                             .modes = (const char *[]){"another", mode}, .mode_count = 2};
    count(&made);
    try(treadle_loop_post_in(loop, &in_modes));
}
static void post_in_a_scope_that_is_closed(void) {
    treadle_scope scope;
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = count_gone, .info = &made};
    count(&made);
    REQUIRE_OK(treadle_scope_create(&config, &scope));
    REQUIRE_OK(treadle_scope_enter(scope));
    post();
    treadle_timer timer = make_timer(0);
    try(treadle_loop_add(loop, timer, mode));
    release_it(timer);
    REQUIRE_OK(treadle_scope_leave(scope));
    try(treadle_scope_close(scope, TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(scope));
}
static void request(uint32_t flags) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform_request, .release_argument = count_gone, .argument = &made, .flags = flags};
    count(&made);
    try(treadle_perform(loop, &request));
}
static void request_and_wait(void) { request(TREADLE_PERFORM_WAIT); }
static void request_without_waiting(void) { request(0); }
static void send(void) {
    treadle_status status = treadle_port_send_bytes(port, 1, NULL, 0, 0);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_TIMEOUT || status == TREADLE_E_CLOSED);
}
static void move_the_port(void) {
    try(treadle_loop_add(loop, port, "another"));
    try(treadle_loop_remove(loop, port, mode));
    try(treadle_loop_add(loop, port, mode));
}
static void change_the_descriptor(void) {
    try(treadle_descriptor_set_events(watch, 0));
    try(treadle_descriptor_set_events(watch, TREADLE_READABLE));
}
static void add_and_remove_an_observer(void) {
    treadle_observer observer;
    treadle_observer_context context = {.struct_size = sizeof context, .notify = notify, .activities = TREADLE_ALL_ACTIVITIES,
                                        .release = count_gone, .info = &made};
    count(&made);
    REQUIRE_OK(treadle_observer_create(&context, &observer));
    try(treadle_loop_add(loop, observer, mode));
    try(treadle_loop_remove(loop, observer, mode));
    release_it(observer);
}
static void add_a_common_mode(void) { try(treadle_loop_add_common_mode(loop, "another")); }
static void describe(void) {
    char text[64];
    size_t length;
    int64_t date;
    treadle_describe(loop, text, sizeof text, &length);
    treadle_loop_get_next_fire(loop, mode, &date);
}

typedef void (*act)(void);
static const act acts[2][8] = {
    {add_and_remove_a_timer, add_and_close_a_timer_that_is_due, set_the_timer, add_and_invalidate_a_source,
     post_in_a_scope_that_is_closed, request_and_wait, move_the_port, add_and_remove_an_observer},
    {signal_the_source, post, post_in_modes, request_without_waiting, send, change_the_descriptor, add_a_common_mode, describe},
};
static act any(void) {
    int half = choose_one_of(2);
    return acts[half][choose_one_of(8)];
}
static void play(void *chosen) { ((act)chosen)(); }
static void *play_and_end(void *chosen) {
    play(chosen);
    return NULL;
}

/* --- One loop --------------------------------------------------------------------------------------- */

static void prepare(void) {
    source = make_source(perform_nothing, NULL, NULL);
    add(source);
    shared_timer = make_timer(1000000000);
    add(shared_timer);
    treadle_port_context context = {.struct_size = sizeof context, .receive = receive, .capacity = 2};
    REQUIRE_OK(treadle_port_create(&context, &port));
    add(port);
    REQUIRE_OK(treadle_descriptor_start(__wrap_eventfd(0, 0), TREADLE_READABLE, do_nothing_with, NULL, &watch));
}
/* The visitor's act is the scene's, or any; those of the two others are chosen. */
static pthread_t play_three(act visitors) {
    pthread_t owner = start_owner(prepare);
    act owners = any(), own = any();
    try(treadle_loop_post(loop, play, (void *)owners));
    pthread_t visitor = start(play_and_end, (void *)(visitors ? visitors : any()));
    own();
    join(visitor);
    return owner;
}
static void release_all(void) {
    release_it(source);
    release_it(shared_timer);
    release_it(port);
    release_it(watch);
    REQUIRE(counted(&gone) == counted(&made));
}
static void play_and_stop(act visitors) {
    pthread_t owner = play_three(visitors);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    release_all();
}
SCENE(three_at_a_loop_add_and_remove_a_timer, "RL-5, OBJ-6, TMR-11") { play_and_stop(add_and_remove_a_timer); }
SCENE(three_at_a_loop_add_and_close_a_timer_that_is_due, "RL-5, OBJ-6, OBJ-9") { play_and_stop(add_and_close_a_timer_that_is_due); }
SCENE(three_at_a_loop_set_the_timer, "RL-5, OBJ-6, TMR-17") { play_and_stop(set_the_timer); }
SCENE(three_at_a_loop_add_and_invalidate_a_source, "RL-5, OBJ-6, OBJ-5") { play_and_stop(add_and_invalidate_a_source); }
SCENE(three_at_a_loop_post_in_a_scope_that_is_closed, "RL-5, OBJ-6, SCOPE-2") { play_and_stop(post_in_a_scope_that_is_closed); }
SCENE(three_at_a_loop_request_and_wait, "RL-5, OBJ-6, PERF-7") { play_and_stop(request_and_wait); }
SCENE(three_at_a_loop_move_the_port, "RL-5, OBJ-6, PORT-4") { play_and_stop(move_the_port); }
SCENE(three_at_a_loop_add_and_remove_an_observer, "RL-5, OBJ-6, OBS-2") { play_and_stop(add_and_remove_an_observer); }
SCENE(three_at_a_loop_post_in_modes, "RL-5, OBJ-6, BLK-4") { play_and_stop(post_in_modes); }
SCENE(three_at_a_loop_change_the_descriptor, "RL-5, OBJ-6, SRC1-2") { play_and_stop(change_the_descriptor); }
SCENE(three_at_a_loop_describe, "RL-5, OBJ-6, MODE-7") { play_and_stop(describe); }

/* The kernel refuses barriers from some call on, so nobody lends priority any more. */
SCENE(three_at_a_loop_without_barriers, "RL-5, OBJ-6") {
    let_the_kernel_fail(REFUSALS);
    play_and_stop(NULL);
}

/* All of it while the process is shut down. */
static void *shut_down(void *unused) {
    REQUIRE_OK(treadle_shutdown(TREADLE_FOREVER));
    return unused;
}
SCENE(three_at_a_loop_that_is_shut_down, "THR-21, OBJ-6") {
    pthread_t owner = start_owner(prepare), end = start(shut_down, NULL);
    act owners = any(), own = any();
    try(treadle_loop_post(loop, play, (void *)owners));
    own();
    join(end);
    join(owner);
    REQUIRE(result == TREADLE_E_CLOSED);
    REQUIRE_OK(treadle_release(loop));
    release_all();
}

/* --- Two loops -------------------------------------------------------------------------------------- */

/* Each owner visits the other's loop, and the third queues for both. */
static treadle_loop loops[2];
static struct event are_there[2];
static void visit_other(void *other) {
    treadle_timer timer = make_timer(1000000000);
    try(treadle_loop_add(*(treadle_loop *)other, timer, mode));
    try(treadle_timer_set_next_fire(timer, TREADLE_FOREVER));
    try(treadle_loop_remove(*(treadle_loop *)other, timer, mode));
    release_it(timer);
}
static void *own_one(void *own) {
    intptr_t number = (treadle_loop *)own - loops;
    loops[number] = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loops[number]));
    set(&are_there[number]);
    REQUIRE(treadle_loop_run(loops[number], mode, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
    return NULL;
}
SCENE(two_owners_visit_each_others_loops_while_a_third_posts_to_both, "RL-5, OBJ-6, TMR-11") {
    pthread_t owners[2];
    for (int i = 0; i < 2; i++) {
        owners[i] = start(own_one, &loops[i]);
        await(&are_there[i]);
    }
    explore_from_here();
    for (int i = 0; i < 2; i++) REQUIRE_OK(treadle_loop_post(loops[i], visit_other, &loops[1 - i]));
    for (int i = 0; i < 2; i++) REQUIRE_OK(treadle_loop_post(loops[i], do_nothing, NULL));
    for (int i = 0; i < 2; i++) REQUIRE_OK(treadle_loop_request_stop(loops[i], 0));
    for (int i = 0; i < 2; i++) join(owners[i]);
    for (int i = 0; i < 2; i++) REQUIRE_OK(treadle_release(loops[i]));
    REQUIRE(counted(&gone) == counted(&made));
}
