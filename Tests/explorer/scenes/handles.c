/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * handles.c: handles that reach another thread by a word that orders nothing. The thread finds the whole object, or an error tells
 * that it knows of none yet. */
#include "owner.h"

static _Atomic(void *) passed;
static void *received(void) { return atomic_load_explicit(&passed, memory_order_relaxed); }
static void pass(void *handle) { atomic_store_explicit(&passed, handle, memory_order_relaxed); }

static void count_call(treadle_source self, void *info) {
    (void)self;
    REQUIRE(info == &source);
    use_released();
    count(&called);
}
/* A source with a context of its own, which its creator releases while others use it. */
static void create_and_release(void *(*use)(void *)) {
    explore_from_here();
    pthread_t other = start(use, NULL);
    released_with_it = 2;
    treadle_source made = make_source(count_call, count_release, &source);
    pass(made);
    REQUIRE_OK(treadle_release(made));
    join(other);
    REQUIRE(counted(&freed) == 1);
}
static void *retain_it(void *unused) {
    treadle_source found = received();
    if (found && treadle_retain(found) == TREADLE_OK) {
        REQUIRE(counted(&freed) == 0);
        use_released();
        REQUIRE_OK(treadle_release(found));
    }
    return unused;
}
static void *invalidate_it(void *unused) {
    treadle_source found = received();
    if (found) treadle_invalidate(found);
    return unused;
}
static void *signal_it(void *unused) {
    treadle_source found = received();
    if (found) treadle_source_signal_and_wake(found);
    return unused;
}
static void *close_it(void *unused) {
    treadle_source found = received();
    if (found) treadle_close(found, TREADLE_FOREVER);
    return unused;
}
static void *add_it(void *unused) {
    treadle_source found = received();
    if (!found || treadle_loop_add(treadle_loop_current(), found, TREADLE_DEFAULT_MODE) != TREADLE_OK) return unused;
    REQUIRE_OK(treadle_source_signal(found));
    REQUIRE(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0) == TREADLE_RUN_TIMED_OUT && counted(&called) == 1);
    return unused;
}
SCENE(a_handle_is_passed_to_be_retained, "OBJ-11") { create_and_release(retain_it); }
SCENE(a_handle_is_passed_to_be_invalidated, "OBJ-5, OBJ-11") { create_and_release(invalidate_it); }
SCENE(a_handle_is_passed_to_be_signalled, "OBJ-11") { create_and_release(signal_it); }
SCENE(a_handle_is_passed_to_be_added, "OBJ-11") { create_and_release(add_it); }
/* The slot had an object before: the pointer to new memory of slots would order what the order of the retain has to. */
static void use_a_slot(void) { REQUIRE_OK(treadle_release(make_source(count_call, NULL, NULL))); }
SCENE(a_handle_in_an_old_slot_is_passed_to_be_retained, "OBJ-11") { use_a_slot(), create_and_release(retain_it); }
SCENE(a_handle_in_an_old_slot_is_passed_to_be_invalidated, "OBJ-5, OBJ-11") { use_a_slot(), create_and_release(invalidate_it); }
SCENE(a_handle_in_an_old_slot_is_passed_to_be_added, "OBJ-11") { use_a_slot(), create_and_release(add_it); }

/* One that is in a mode from its beginning. */
static void count_ready(treadle_descriptor self, uint32_t events, void *info) { (void)self, (void)events, (void)info; }
static void *look_at_it(void *unused) {
    void *info = NULL;
    treadle_object found = received();
    if (found && treadle_is_valid(found)) {
        REQUIRE_OK(treadle_get_context_info(found, &info));
        REQUIRE(info == &source);
    }
    return unused;
}
/* Which adds and drops a reference, and looks at nothing else before. */
static void *hold_it(void *unused) {
    void *info = NULL;
    treadle_object found = received();
    if (found && treadle_get_context_info(found, &info) == TREADLE_OK) REQUIRE(info == &source);
    return unused;
}
static void count_fire(treadle_timer self, void *info) { (void)self, (void)info; }
SCENE(the_handle_of_a_started_timer_is_passed, "OBJ-11") {
    treadle_timer timer;
    REQUIRE(treadle_loop_current() != NULL);
    REQUIRE_OK(treadle_timer_start(1000, 0, count_fire, &source, &timer));
    REQUIRE_OK(treadle_close(timer, TREADLE_FOREVER)); /* its slot is an old one from now on */
    REQUIRE_OK(treadle_release(timer));
    explore_from_here();
    pthread_t other = start(hold_it, NULL);
    REQUIRE_OK(treadle_timer_start(1000, 0, count_fire, &source, &timer));
    pass(timer);
    join(other);
    REQUIRE_OK(treadle_close(timer, TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(timer));
}
SCENE(the_handle_of_a_started_descriptor_is_passed, "OBJ-11") {
    REQUIRE(treadle_loop_current() != NULL);
    explore_from_here();
    pthread_t other = start(look_at_it, NULL);
    treadle_descriptor descriptor;
    REQUIRE_OK(treadle_descriptor_start(__wrap_eventfd(0, 0), TREADLE_READABLE, count_ready, &source, &descriptor));
    pass(descriptor);
    join(other);
    REQUIRE_OK(treadle_close(descriptor, TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(descriptor));
}

/* A loop, which its thread creates meanwhile. */
static void count_post(void *info) {
    (void)info;
    count(&called);
    REQUIRE_OK(treadle_loop_stop(treadle_loop_current()));
}
static void *post_to_it(void *unused) {
    treadle_loop found = received();
    if (!found) return unused;
    if (treadle_loop_post(found, count_post, NULL) == TREADLE_OK) count(&freed); /* a post was queued */
    return unused;
}
SCENE(the_handle_of_a_new_loop_is_passed, "RL-2, BLK-2") {
    explore_from_here();
    pthread_t other = start(post_to_it, NULL);
    loop = treadle_loop_current();
    pass(loop);
    join(other);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) == (counted(&freed) ? TREADLE_RUN_STOPPED : TREADLE_RUN_TIMED_OUT));
    REQUIRE(counted(&called) == counted(&freed));
}

/* One thread closes while another releases the last reference. */
SCENE(a_handle_is_passed_to_be_closed, "OBJ-9, OBJ-11") { create_and_release(close_it); }

/* A message, which its receiver keeps. */
static void keep_it(treadle_port self, treadle_message message, void *info) {
    (void)self, (void)info;
    REQUIRE_OK(treadle_retain(message));
    pass(message);
    REQUIRE_OK(treadle_loop_stop(treadle_loop_current()));
}
static void *read_it(void *unused) {
    treadle_message found = received();
    treadle_message_info about = {.struct_size = sizeof about};
    if (!found || treadle_message_get_info(found, &about) != TREADLE_OK) return unused;
    REQUIRE(about.id == 1 && about.length == sizeof(int) && *(const int *)about.bytes == 7);
    return unused;
}
SCENE(the_handle_of_a_message_is_passed, "OBJ-11, MPORT-3") {
    treadle_port port;
    treadle_port_context context = {.struct_size = sizeof context, .receive = keep_it};
    REQUIRE_OK(treadle_port_create(&context, &port));
    REQUIRE_OK(treadle_loop_add(treadle_loop_current(), port, TREADLE_DEFAULT_MODE));
    explore_from_here();
    pthread_t other = start(read_it, NULL);
    REQUIRE_OK(treadle_port_send_bytes(port, 1, &(int){7}, sizeof(int), 0));
    REQUIRE(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0) == TREADLE_RUN_STOPPED);
    join(other);
    REQUIRE_OK(treadle_release(received()));
    REQUIRE_OK(treadle_release(port));
}

/* A thread that has heard of an object before there was room for its kind creates one of the kind itself: both are there. */
static void *retain_or_create(void *unused) {
    treadle_source found = received();
    if (!found || treadle_retain(found) != TREADLE_OK) found = make_source(count_call, NULL, NULL);
    REQUIRE(treadle_is_valid(found));
    REQUIRE_OK(treadle_release(found));
    return unused;
}
static void *look_at_the_first(void *unused) {
    REQUIRE(treadle_is_valid(source));
    return unused;
}
SCENE(a_handle_is_passed_before_there_is_room_for_it, "OBJ-11") {
    explore_from_here();
    pthread_t other = start(retain_or_create, NULL);
    source = make_source(count_call, NULL, NULL);
    pass(source);
    join(other);
    join(start(look_at_the_first, NULL));
    REQUIRE_OK(treadle_release(source));
}
