/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * trace_call_test.c: callbacks in a trace, of each of which there is one record: what lies inside of it, and what leads to it. */
#include "trace_file.h"

static void nothing(void *info) { (void)info; }

/* A callback is one record, written as it begins: what happens meanwhile lies inside, and what follows does not. */
static void post_again(void *loop) { CHECK_INT(treadle_loop_post(loop, nothing, NULL), TREADLE_OK); }
static void run_inside(void *loop) {
    CHECK_INT(treadle_trace_mark("before", 0), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, post_again, loop), TREADLE_OK);
    CHECK(treadle_loop_run(loop, MODE, 0, 0) >= 0);
    CHECK_INT(treadle_trace_mark("after", 0), TREADLE_OK);
}
TEST(what_happens_in_a_callback_lies_inside_its_slice, "RL-16 RUN-13") {
    treadle_loop loop = treadle_loop_current();
    start();
    treadle_post outer = {.struct_size = sizeof outer, .fn = run_inside, .info = loop, .label = "outer"};
    treadle_post next = {.struct_size = sizeof next, .fn = nothing, .label = "next"};
    CHECK_INT(treadle_loop_post_in(loop, &outer), TREADLE_OK);
    CHECK_INT(treadle_loop_post_in(loop, &next), TREADLE_OK);
    CHECK(treadle_loop_run(loop, MODE, 0, 0) >= 0);
    stop();
    const struct event *slice = find(BEGIN, "post", "outer"), *end = end_of(slice);
    const char *inside[] = {"before", "after"};
    for (int i = 0; i < 2; i++) {
        const struct event *mark = find(INSTANT, "mark", inside[i]);
        CHECK(mark > slice && mark < end && mark->time >= slice->time && mark->time <= end->time);
    }
    /* The run inside, its pass, and the post that it has called. */
    int runs = 0, calls = 0;
    for (const struct event *event = slice + 1; event < end; event++) {
        runs += event->type == BEGIN && !strcmp(event->name, "run");
        calls += event->type == BEGIN && !strcmp(event->category, "post");
    }
    CHECK(runs == 1 && calls >= 1);
    CHECK(find(BEGIN, "post", "next") > end && find(BEGIN, "post", "next")->time >= end->time);
}

/* The trace is stopped, and another one started, inside of a callback. */
static void stop_inside(void *info) {
    (void)info;
    CHECK_INT(treadle_trace_mark("inside", 0), TREADLE_OK);
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
    CHECK_INT(treadle_trace_start("/dev/null"), TREADLE_OK);
}
TEST(a_callback_that_has_not_returned_ends_with_the_trace, "RL-16") {
    start();
    treadle_post post = {.struct_size = sizeof post, .fn = stop_inside, .label = "stops"};
    CHECK_INT(treadle_loop_post_in(treadle_loop_current(), &post), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    read_trace(trace_file());
    CHECK_INT(unlink(trace_file()), 0);
    CHECK(end_of(find(BEGIN, "post", "stops")) > find(INSTANT, "mark", "inside"));
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
}

/* More events than a ring keeps, inside of one callback: its own is not kept, and no other becomes it. */
static void mark_often(void *info) {
    (void)info;
    for (int i = 0; i < 10000; i++) CHECK_INT(treadle_trace_mark("tick", i), TREADLE_OK);
}
TEST(a_callback_may_outlast_its_record, "RL-16") {
    start();
    CHECK_INT(treadle_loop_post(treadle_loop_current(), mark_often, NULL), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    stop();
    CHECK(count(BEGIN, "post") == 0 && count(INSTANT, "tick") > 8000);
    for (int i = 0, next = 0; i < event_count; i++) {
        if (strcmp(events[i].name, "tick") != 0) continue;
        CHECK(next == 0 || events[i].number == next);
        next = (int)events[i].number + 1;
    }
}

/* A plain post has no memory of its own: its place in the queue is the number of its arrow. */
enum { POSTS = 100 };
TEST(each_post_has_the_arrow_to_its_own_call, "RL-16 BLK-3 BLK-5") {
    treadle_loop loop = treadle_loop_current();
    treadle_timer timer = make_timer(NULL, NULL, treadle_time_now(), 0);
    CHECK_INT(treadle_loop_add(loop, timer, "not common"), TREADLE_OK);
    start();
    for (int i = 0; i < POSTS; i++) CHECK_INT(treadle_loop_post(loop, nothing, NULL), TREADLE_OK);
    /* They wait for a mode that admits them, and are called behind what is posted then. */
    CHECK(treadle_loop_run(loop, "not common", 0, 0) >= 0);
    for (int i = 0; i < POSTS; i++) CHECK_INT(treadle_loop_post(loop, nothing, NULL), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    stop();
    CHECK_INT(discard(timer), TREADLE_OK);
    static uint64_t posted[2 * POSTS], called[2 * POSTS];
    int posts = 0, calls = 0;
    for (int i = 0; i < event_count; i++) {
        if (strcmp(events[i].category, "post") != 0) continue;
        CHECK(posts < 2 * POSTS || events[i].type != INSTANT);
        if (events[i].type == INSTANT) posted[posts++] = events[i].flow;
        if (events[i].type == BEGIN) called[calls++] = events[i].last_flow;
    }
    CHECK(posts == 2 * POSTS && calls == 2 * POSTS);
    for (int i = 0; i < posts; i++) {
        CHECK(posted[i] != 0 && posted[i] == called[i]);
        for (int j = 0; j < i; j++) CHECK(posted[i] != posted[j]);
    }
}

TEST_MAIN()
