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

/* The same of a post with a label that is new. */
static void count_post(void *info) {
    (void)info;
    count(&called);
}
static void *post_with_label(void *label) {
    treadle_post post = {.struct_size = sizeof post, .fn = count_post, .label = label};
    REQUIRE_OK(treadle_loop_post_in(loop, &post));
    return NULL;
}
SCENE(a_loop_is_described_while_it_calls_a_post_with_a_label, "RL-12, RL-13") {
    pthread_t owner = start_owner(NULL), other = start(post_with_label, "labelled");
    static char text[4096];
    size_t length;
    REQUIRE_OK(treadle_describe(loop, text, sizeof text, &length));
    REQUIRE(counted(&called) || strstr(text, "called") == NULL || strstr(text, "labelled") != NULL);
    join(other);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}
