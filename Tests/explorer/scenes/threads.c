/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * threads.c: a thread's start, readiness, detaching and join. */
#include "owner.h"

static treadle_thread worker;
static int told; /* plain: what is known of it is known by the library's order alone */
static void make_thread(treadle_thread_fn fn) {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = fn, .info = &told, .destroy = count_release};
    REQUIRE_OK(treadle_thread_create(&config, &worker));
}
static void end(void) {
    void *value;
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, &value));
    REQUIRE(value == &told && told == 2 && counted(&freed) == 1);
    REQUIRE_OK(treadle_release(worker));
}
static void *declare_ready(void *info) {
    told = 1;
    REQUIRE_OK(treadle_thread_declare_ready());
    told = 2;
    return info;
}
static void *end_at_once(void *info) {
    told = 2;
    return info;
}
static int before; /* what the thread knows when it is ready is not written any more */
static void *declare_ready_and_wait(void *info) {
    before = 1;
    REQUIRE_OK(treadle_thread_declare_ready());
    return end_at_once(info);
}
SCENE(a_start_waits_until_the_thread_is_ready, "THR-18") {
    make_thread(declare_ready_and_wait);
    explore_from_here();
    REQUIRE_OK(treadle_thread_start_and_wait(worker, TREADLE_FOREVER));
    REQUIRE(before == 1);
    end();
}
SCENE(a_start_waits_for_a_thread_that_is_never_ready, "THR-18") {
    make_thread(end_at_once);
    explore_from_here();
    REQUIRE(treadle_thread_start_and_wait(worker, TREADLE_FOREVER) == TREADLE_E_STATE);
    end();
}
SCENE(a_wait_for_readiness_against_its_time_limit, "THR-18") {
    make_thread(declare_ready_and_wait);
    explore_from_here();
    treadle_status status = treadle_thread_start_and_wait(worker, 2500);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_TIMEOUT);
    if (status == TREADLE_E_TIMEOUT) REQUIRE_OK(treadle_thread_start_and_wait(worker, TREADLE_FOREVER));
    REQUIRE(before == 1);
    end();
}
static void *join_it(void *unused) {
    treadle_status status = treadle_thread_join(worker, TREADLE_FOREVER, NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STATE);
    if (status == TREADLE_OK) {
        REQUIRE(told == 2 && counted(&freed) == 1);
        count(&called);
    }
    return unused;
}
SCENE(a_thread_is_joined_by_two, "THR-17") {
    make_thread(declare_ready);
    explore_from_here();
    REQUIRE_OK(treadle_thread_start(worker));
    pthread_t other = start(join_it, NULL);
    join_it(NULL);
    join(other);
    REQUIRE(counted(&called) == 1);
    REQUIRE_OK(treadle_release(worker));
}
SCENE(a_thread_is_detached_against_its_end, "THR-17, THR-4") {
    make_thread(declare_ready);
    explore_from_here();
    REQUIRE_OK(treadle_thread_start(worker));
    REQUIRE_OK(treadle_thread_detach(worker));
    REQUIRE(treadle_thread_join(worker, TREADLE_FOREVER, NULL) == TREADLE_E_STATE);
    REQUIRE_OK(treadle_release(worker));
}
SCENE(a_thread_is_cancelled_against_its_start, "THR-5") {
    make_thread(declare_ready);
    explore_from_here();
    REQUIRE_OK(treadle_thread_start(worker));
    REQUIRE_OK(treadle_thread_cancel(worker));
    REQUIRE_OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE(counted(&freed) == 1 && (told == 2 || told == 0));
    REQUIRE_OK(treadle_release(worker));
}

/* A client that sees a loop wait sees what it did before. */
static int written;
static void write_it(void *unused) {
    (void)unused;
    written = 1;
}
static void post_a_write(void) { REQUIRE_OK(treadle_loop_post(loop, write_it, NULL)); }
SCENE(a_loop_is_seen_to_wait, "WAKE-6") {
    pthread_t owner = start_owner(post_a_write);
    while (!treadle_loop_is_waiting(loop)) treadle_thread_sleep_for(1000);
    REQUIRE(written == 1);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}

/* The scope's close meets the thread before its start, in the middle of it, and at any step of its end; and comes to its end. */
static treadle_scope scope;
static void make_thread_in_scope(treadle_thread_fn fn) {
    treadle_scope_config config = {.struct_size = sizeof config};
    REQUIRE_OK(treadle_scope_create(&config, &scope));
    REQUIRE_OK(treadle_scope_enter(scope));
    make_thread(fn);
    REQUIRE_OK(treadle_scope_leave(scope));
}
static void close_scope(void) {
    REQUIRE_OK(treadle_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&freed) == 1);
    REQUIRE_OK(treadle_release(scope));
}
static void *start_it(void *unused) {
    treadle_status status = treadle_thread_start(worker);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STALE);
    return unused;
}
SCENE(a_scope_is_closed_while_its_thread_is_started, "SCOPE-2, THR-2") {
    make_thread_in_scope(end_at_once);
    explore_from_here();
    pthread_t other = start(start_it, NULL);
    close_scope();
    join(other);
}
static void *start_it_in_vain(void *unused) {
    refuse_threads(1);
    treadle_status status = treadle_thread_start(worker);
    REQUIRE(status == TREADLE_E_SYSTEM || status == TREADLE_OK || status == TREADLE_E_STALE);
    return unused;
}
SCENE(a_scope_is_closed_while_the_start_of_its_thread_fails, "SCOPE-2, THR-2") {
    make_thread_in_scope(end_at_once);
    explore_from_here();
    pthread_t other = start(start_it_in_vain, NULL);
    close_scope();
    join(other);
}
static struct event runs, may_end;
static void *end_when_told(void *info) {
    set(&runs);
    await(&may_end);
    return info;
}
SCENE(a_scope_is_closed_while_its_thread_ends, "SCOPE-2") {
    make_thread_in_scope(end_when_told);
    REQUIRE_OK(treadle_thread_start(worker));
    await(&runs);
    explore_from_here();
    set(&may_end);
    close_scope();
}
