/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * shutdown.c: the end of all loops against runs that begin, go on and end. */
#include "owner.h"

/* What callbacks use, plain memory, is the client's alone behind a shutdown. */
static volatile int used_by_callbacks; /* or stores that nobody reads would be left out */
static counter is_shut;
static void use_it(void *info) {
    (void)info;
    REQUIRE(!counted(&is_shut));
    used_by_callbacks = 1;
}
static void shut_down(void) {
    REQUIRE_OK(treadle_shutdown(TREADLE_FOREVER));
    count(&is_shut);
    used_by_callbacks = 0;
}
/* With the kernel's barriers, or without. */
static void shut_down_against(void (*prepare)(void)) {
    pthread_t owner = start_owner(prepare);
    let_the_kernel_fail(REFUSALS);
    shut_down();
    join(owner);
    REQUIRE(result == TREADLE_E_CLOSED);
    REQUIRE_OK(treadle_release(loop));
}
static void post_one(void) { REQUIRE_OK(treadle_loop_post(loop, use_it, NULL)); }
SCENE(a_shutdown_against_a_post, "THR-21, ABI-5") { shut_down_against(post_one); }

static void use_as_observer(treadle_observer self, uint32_t activity, void *info) {
    (void)self, (void)activity;
    use_it(info);
}
static void add_an_observer_of_entry(void) {
    treadle_observer observer;
    treadle_observer_context context = {.struct_size = sizeof context, .notify = use_as_observer, .activities = TREADLE_ENTRY};
    REQUIRE_OK(treadle_observer_create(&context, &observer));
    add(observer);
    REQUIRE_OK(treadle_release(observer));
}
SCENE(a_shutdown_against_the_beginning_of_a_run, "THR-21, ABI-5") { shut_down_against(add_an_observer_of_entry); }

static void run_and_use_it(void *info) {
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    used_by_callbacks = 1; /* the outer run still calls */
    (void)info;
}
static void post_a_run(void) { REQUIRE_OK(treadle_loop_post(loop, run_and_use_it, NULL)); }
SCENE(a_shutdown_against_a_nested_run, "THR-21, RUN-12") { shut_down_against(post_a_run); }

/* A thread that ends in a callback is waited for no more. */
static void use_it_and_end(void *info) {
    use_it(info);
    pthread_exit(NULL);
}
static void post_an_end(void) { REQUIRE_OK(treadle_loop_post(loop, use_it_and_end, NULL)); }
SCENE(a_shutdown_against_the_end_of_a_thread_in_a_callback, "THR-21") {
    pthread_t owner = start_owner(post_an_end);
    shut_down();
    join(owner);
    REQUIRE_OK(treadle_release(loop));
}

/* Callbacks that shut down, of which each waits for the other: one of them is refused, with everything closed. */
static treadle_status own_end, others_end;
static void shut_down_for_ever(void *status) { *(treadle_status *)status = treadle_shutdown(TREADLE_FOREVER); }
static void post_a_shutdown(void) { REQUIRE_OK(treadle_loop_post(loop, shut_down_for_ever, &others_end)); }
static void run_own_until_shut_down(void (*post)(void *), void (*prepare)(void)) {
    treadle_loop own = treadle_loop_current();
    REQUIRE_OK(treadle_loop_post(own, post, &own_end));
    pthread_t owner = start_owner(prepare);
    REQUIRE(treadle_loop_run(own, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_E_CLOSED);
    join(owner);
    REQUIRE(result == TREADLE_E_CLOSED);
    REQUIRE_OK(treadle_release(loop));
}
SCENE(two_callbacks_shut_down, "THR-21") {
    run_own_until_shut_down(shut_down_for_ever, post_a_shutdown);
    REQUIRE(own_end != TREADLE_E_DEADLOCK || others_end != TREADLE_E_DEADLOCK);
}
static void shut_down_as_asked(void *status, void *argument) {
    (void)argument;
    shut_down_for_ever(status);
}
static void ask_for_a_shutdown(void *info) {
    (void)info;
    treadle_request request = {.struct_size = sizeof request, .fn = shut_down_as_asked, .target = &others_end, .flags = TREADLE_PERFORM_WAIT};
    REQUIRE_OK(treadle_perform(loop, &request));
}
SCENE(a_callback_waits_for_a_shutdown, "THR-21, PERF-7") {
    run_own_until_shut_down(ask_for_a_shutdown, NULL);
    REQUIRE(others_end == TREADLE_E_DEADLOCK);
}
