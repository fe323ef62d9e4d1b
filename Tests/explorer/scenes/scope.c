/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope.c: the end of a scope against what belongs to it. */
#include "owner.h"

static treadle_scope scope;
static counter closed;
static void note_close(void *info) {
    (void)info;
    REQUIRE(counted(&closed) == 0);
    count(&closed);
}
static void make_scope(void) {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = note_close};
    REQUIRE_OK(treadle_scope_create(&config, &scope));
}
static void in_scope(void *info) {
    (void)info;
    REQUIRE(counted(&closed) == 0);
    count(&called);
}
static void end(pthread_t owner) {
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&closed) == 1);
    REQUIRE_OK(treadle_release(scope));
}

/* Behind the close no post of the scope runs. */
static void *post_in_scope(void *info) {
    if (treadle_scope_enter(scope) != TREADLE_OK) return info;
    treadle_status status = treadle_loop_post(loop, in_scope, NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
    REQUIRE_OK(treadle_scope_leave(scope));
    return info;
}
SCENE(a_scope_is_closed_against_a_post, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(make_scope), other = start(post_in_scope, NULL);
    REQUIRE_OK(treadle_scope_close(scope, TREADLE_FOREVER));
    int calls = counted(&called);
    join(other);
    end(owner);
    REQUIRE(counted(&called) == calls);
}

/* Plain posts that wait by then: the close waits for the one that runs, and none of the others is called behind it. */
static void stay_in_scope(void *info) {
    in_scope(info);
    REQUIRE_OK(treadle_loop_wake(loop));
    REQUIRE(counted(&closed) == 0);
}
static void post_two(void) {
    REQUIRE_OK(treadle_scope_enter(scope));
    REQUIRE_OK(treadle_loop_post(loop, stay_in_scope, NULL));
    REQUIRE_OK(treadle_loop_post(loop, stay_in_scope, NULL));
    REQUIRE_OK(treadle_scope_leave(scope));
}
static void make_scope_with_posts(void) {
    make_scope();
    post_two();
}
static void *close_scope(void *info) {
    REQUIRE_OK(treadle_scope_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&closed) == 1);
    return info;
}
SCENE(a_scope_is_closed_against_its_posts_in_their_turn, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(make_scope_with_posts);
    close_scope(NULL);
    int calls = counted(&called);
    end(owner);
    REQUIRE(counted(&called) == calls);
}
static void close_from_inside(void *info) {
    in_scope(info);
    treadle_status status = treadle_scope_close(scope, TREADLE_FOREVER);
    REQUIRE(status == TREADLE_DEFERRED && counted(&closed) == 0);
}
static void make_scope_that_closes_itself(void) {
    make_scope();
    REQUIRE_OK(treadle_scope_enter(scope));
    REQUIRE_OK(treadle_loop_post(loop, close_from_inside, NULL));
    REQUIRE_OK(treadle_loop_post(loop, stay_in_scope, NULL));
    REQUIRE_OK(treadle_scope_leave(scope));
}
SCENE(a_scope_is_closed_against_a_post_that_closes_it, "SCOPE-3, SCOPE-4") {
    pthread_t owner = start_owner(make_scope_that_closes_itself);
    close_scope(NULL);
    REQUIRE(counted(&called) <= 1);
    end(owner);
}

/* The loop ends with its thread, wherever the posts are by then. */
static void *own_loop_shortly(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    make_scope_with_posts();
    explore_from_here();
    set(&is_there);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    return info;
}
SCENE(a_scope_is_closed_against_the_loops_end, "SCOPE-2, SCOPE-3, RL-8") {
    pthread_t owner = start(own_loop_shortly, NULL);
    await(&is_there);
    REQUIRE_OK(treadle_scope_enter(scope));
    treadle_status status = treadle_loop_post(loop, stay_in_scope, NULL);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
    REQUIRE_OK(treadle_scope_leave(scope));
    close_scope(NULL);
    int calls = counted(&called);
    join(owner);
    REQUIRE(counted(&called) == calls && calls <= 3);
    REQUIRE_OK(treadle_release(loop));
    REQUIRE_OK(treadle_release(scope));
}

/* Who waits for a request of the scope goes on: it was performed, or the close ended it, whether it was queued by then or not. */
static void perform_in_scope(void *target, void *argument) {
    (void)argument;
    in_scope(target);
}
static struct event is_entered;
static void *request_in_scope(void *mode) {
    REQUIRE_OK(treadle_scope_enter(scope));
    treadle_request request = {.struct_size = sizeof request, .fn = perform_in_scope, .target = &scope, .release_target = count_release,
                               .modes = (const char *[]){mode}, .mode_count = 1, .flags = TREADLE_PERFORM_WAIT};
    set(&is_entered);
    treadle_status status = treadle_perform(loop, &request);
    REQUIRE(status == (counted(&called) ? TREADLE_OK : TREADLE_E_CLOSED));
    REQUIRE_OK(treadle_scope_leave(scope));
    return NULL;
}
static void close_against_request(const char *mode) {
    pthread_t owner = start_owner(make_scope), other = start(request_in_scope, (void *)mode);
    await(&is_entered);
    REQUIRE_OK(treadle_scope_close(scope, TREADLE_FOREVER));
    join(other);
    REQUIRE(counted(&freed) == 1);
    end(owner);
}
SCENE(a_scope_is_closed_against_a_request_in_its_turn, "SCOPE-2, PERF-9") { close_against_request(TREADLE_DEFAULT_MODE); }
SCENE(a_scope_is_closed_against_a_request_that_waits, "SCOPE-2, PERF-9") { close_against_request("never run"); }

static void run_in_scope(treadle_source self, void *info) {
    (void)self;
    use_released();
    in_scope(info);
}
static void make_scope_with_source(void) {
    make_scope();
    treadle_source_context context = {.struct_size = sizeof context, .release = count_release, .perform = run_in_scope, .scope = scope, .info = &scope};
    REQUIRE_OK(treadle_source_create(&context, &source));
    add(source);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
}
SCENE(a_scope_is_closed_against_its_source, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(make_scope_with_source);
    REQUIRE_OK(treadle_scope_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&freed) == 1);
    end(owner);
}
SCENE(a_scope_is_closed_by_two, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(make_scope_with_source), other = start(close_scope, NULL);
    close_scope(NULL);
    join(other);
    end(owner);
}

/* A delayed request is compared with a description while the close looks for it: one of the two ends it. */
static treadle_request described(void) {
    return (treadle_request){.struct_size = sizeof(treadle_request), .fn = perform_in_scope, .target = &scope};
}
static void make_scope_with_delayed_request(treadle_equal_fn equal) {
    make_scope();
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_scope_enter(scope));
    treadle_request request = described();
    request.equal = equal;
    request.release_target = count_release;
    request.flags = TREADLE_PERFORM_AFTER;
    request.delay_ns = 3600000000000;
    REQUIRE_OK(treadle_perform(NULL, &request));
    REQUIRE_OK(treadle_scope_leave(scope));
}
static void end_with_request(pthread_t other) {
    join(other);
    REQUIRE(counted(&freed) == 1 && counted(&called) == 0);
    REQUIRE_OK(treadle_release(scope));
}
SCENE(a_scope_is_closed_against_a_cancel_of_its_request, "SCOPE-2, PERF-15") {
    make_scope_with_delayed_request(NULL);
    treadle_request description = described();
    explore_from_here();
    pthread_t other = start(close_scope, NULL);
    treadle_status status = treadle_perform_cancel(&description);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    end_with_request(other);
}

/* The description means another request, so this one waits again: a close that has found it in use is told, and the request is
 * released behind the comparison. */
static int32_t is_another(void *own, void *other) {
    (void)own, (void)other;
    use_released();
    return 0;
}
SCENE(a_scope_is_closed_against_a_cancel_of_another_request, "SCOPE-2, PERF-15") {
    make_scope_with_delayed_request(is_another);
    treadle_request description = described();
    description.argument = &description;
    explore_from_here();
    pthread_t other = start(close_scope, NULL);
    for (int i = 0; i < 2; i++) REQUIRE(treadle_perform_cancel(&description) == TREADLE_IGNORED);
    end_with_request(other);
}

/* Nobody waits for the end of a scope that is released: it ends with the last that comes to rest. */
static void *release_scope(void *info) {
    REQUIRE_OK(treadle_release(scope));
    for (int i = 0; i < 20 && counted(&closed) == 0; i++) treadle_thread_sleep_for(1000000);
    REQUIRE(counted(&closed) == 1);
    return info;
}
SCENE(a_scope_is_released_against_a_cancel_of_another_request, "SCOPE-3, PERF-15") {
    make_scope();
    REQUIRE_OK(treadle_scope_close(scope, TREADLE_FOREVER)); /* this thread has found no such scope */
    REQUIRE_OK(treadle_release(scope));
    closed = 0;
    make_scope_with_delayed_request(is_another);
    treadle_request description = described();
    description.argument = &description;
    explore_from_here();
    pthread_t other = start(release_scope, NULL);
    for (int i = 0; i < 2; i++) REQUIRE(treadle_perform_cancel(&description) == TREADLE_IGNORED);
    join(other);
    REQUIRE(counted(&freed) == 1);
}
