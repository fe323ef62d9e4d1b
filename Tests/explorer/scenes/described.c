/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * described.c: a loop is described by another thread while it calls what is gone next: the description names what lives. */
#include "owner.h"

#include <string.h>

static void close_itself(treadle_source self, void *info) {
    (void)info;
    count(&called);
    REQUIRE_OK(treadle_invalidate(self));
}
static void call_a_labelled_source(void) {
    REQUIRE_OK(treadle_thread_set_name(treadle_thread_current(), "owner"));
    treadle_source_context context = {.struct_size = sizeof context, .perform = close_itself, .label = "labelled"};
    REQUIRE_OK(treadle_source_create(&context, &source));
    add(source);
    REQUIRE_OK(treadle_source_signal(source));
    REQUIRE_OK(treadle_release(source));
}
SCENE(a_loop_is_described_while_it_calls_a_source_that_goes, "RL-12, RL-13") {
    pthread_t owner = start_owner(call_a_labelled_source);
    static char text[4096];
    size_t length;
    REQUIRE_OK(treadle_describe(loop, text, sizeof text, &length));
    REQUIRE(strstr(text, "owner") != NULL);
    if (counted(&called) == 0) REQUIRE(strstr(text, "labelled") != NULL);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&called) <= 1);
}

/* A post that goes behind its call, with a label that is new. */
static void post_with_new_label(treadle_post_fn fn, const char *label) {
    treadle_post post = {.struct_size = sizeof post, .fn = fn, .label = label};
    REQUIRE_OK(treadle_loop_post_in(loop, &post));
}
static void count_post(void *info) {
    (void)info;
    count(&called);
}
static void *post_with_label(void *label) { return post_with_new_label(count_post, label), NULL; }

/* A post that runs its loop: behind that run it is called by its label again. */
static void run_and_count(void *info) {
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) > 0);
    count_post(info);
}
static void *post_a_run_with_label(void *label) { return post_with_new_label(run_and_count, label), NULL; }

/* A request whose call goes on until the loop has been described. */
static struct event is_described;
static void await_description(void *target, void *argument) {
    (void)target, (void)argument;
    await(&is_described);
}
static void await_description_and_count(void *info) {
    await(&is_described);
    count_post(info);
}
static void *post_a_wait_with_label(void *label) { return post_with_new_label(await_description_and_count, label), NULL; }
static void *request_with_label(void *label) {
    treadle_request request = {.struct_size = sizeof request, .fn = await_description, .label = label};
    REQUIRE_OK(treadle_perform(loop, &request));
    return NULL;
}

static void describe_against(void *(*queue)(void *)) {
    pthread_t owner = start_owner(NULL), other = start(queue, "labelled");
    static char text[4096];
    size_t length;
    REQUIRE_OK(treadle_describe(loop, text, sizeof text, &length));
    REQUIRE(counted(&called) || strstr(text, "called") == NULL || strstr(text, "labelled") != NULL);
    set(&is_described);
    join(other);
    REQUIRE_OK(treadle_loop_request_stop(loop, TREADLE_STOP_ALL_LEVELS));
    join_owner(owner);
}
SCENE(a_loop_is_described_while_it_calls_a_post_with_a_label, "RL-12, RL-13") { describe_against(post_with_label); }
SCENE(a_loop_is_described_while_a_post_with_a_label_waits, "RL-12, RL-13") { describe_against(post_a_wait_with_label); }
SCENE(a_loop_is_described_while_a_post_with_a_label_runs_it, "RL-12, RL-13, RUN-12") { describe_against(post_a_run_with_label); }
SCENE(a_loop_is_described_while_it_calls_a_request_with_a_label, "RL-12, RL-13") { describe_against(request_with_label); }
