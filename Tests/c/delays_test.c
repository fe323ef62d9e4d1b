/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * delays_test.c: one rule for every delay, given in whatever callback: after long work, a delay counts from when it is given, not
 * from when the pass began (TMR-24). */
#include "helpers.h"

#define M TREADLE_DEFAULT_MODE

static const int64_t DELAY = MILLISECONDS(50), WORK = MILLISECONDS(3);

/* Each callback works, and gives a delay: a timer that it starts, one that it arms, and a request. */
static int callbacks, requests;
static treadle_timer armed;
static int64_t dates[16];
static void nothing(treadle_timer timer, void *info) { (void)timer, (void)info; }
static void requested(void *target, void *argument) {
    (void)target;
    CHECK(treadle_time_now() >= *(int64_t *)argument);
    if (++requests == callbacks) CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
static void work_and_delay(void) {
    int64_t begun = treadle_time_now();
    while (treadle_time_now() < begun + WORK) {}
    int64_t before = treadle_time_now();
    treadle_timer started = NULL;
    CHECK_INT(treadle_timer_start(DELAY, 0, nothing, NULL, &started), TREADLE_OK);
    CHECK_INT(treadle_timer_arm(armed, DELAY), TREADLE_OK);
    int64_t after = treadle_time_now();
    CHECK(next_fire(started) >= before + DELAY && next_fire(started) <= after + DELAY);
    CHECK_INT(next_fire(armed), next_fire(started));
    CHECK_INT(treadle_time_recent(), next_fire(started) - DELAY); /* what they count from */
    treadle_request request = {.struct_size = sizeof request, .fn = requested, .flags = TREADLE_PERFORM_AFTER, .delay_ns = DELAY,
                               .argument = &dates[callbacks]};
    CHECK_INT(treadle_perform(NULL, &request), TREADLE_OK);
    dates[callbacks] = next_fire(started);
    CHECK_INT(discard(started), TREADLE_OK);
    callbacks++;
}

static void in_post(void *info) { (void)info, work_and_delay(); }
static void in_source(treadle_source source, void *info) { (void)source, (void)info, work_and_delay(); }
static void in_timer(treadle_timer timer, void *info) { (void)timer, (void)info, work_and_delay(); }
static void in_descriptor(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)events, (void)info;
    work_and_delay();
    CHECK_INT(treadle_invalidate(descriptor), TREADLE_OK);
}
static void in_observer(treadle_observer observer, uint32_t activity, void *info) {
    (void)activity, (void)info;
    work_and_delay();
    CHECK_INT(treadle_invalidate(observer), TREADLE_OK);
}
static void in_request(void *target, void *argument) { (void)target, (void)argument, work_and_delay(); }
static void in_message(treadle_port port, treadle_message message, void *info) { (void)port, (void)message, (void)info, work_and_delay(); }

TEST(a_delay_counts_from_the_callback_that_gives_it, "TMR-24 RUN-14 PERF-12") {
    treadle_loop loop = treadle_loop_current();
    armed = armed_timer(nothing, NULL, NULL, FAR_AWAY, 0);
    CHECK_INT(treadle_retain(armed), TREADLE_OK);
    treadle_source sources[2];
    for (int i = 0; i < 2; i++) {
        CHECK_INT(treadle_loop_post(loop, in_post, NULL), TREADLE_OK);
        sources[i] = make_source(in_source, NULL);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], M), TREADLE_OK);
        CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        armed_timer(in_timer, NULL, NULL, 1 + i, 0); /* both due in one pass */
        CHECK_INT(treadle_perform(loop, &(treadle_request){.struct_size = sizeof(treadle_request), .fn = in_request}), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_add_descriptor(loop, make_descriptor(in_descriptor, NULL, eventfd(1, EFD_CLOEXEC), TREADLE_READABLE), M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, make_observer(in_observer, NULL, TREADLE_BEFORE_SOURCES), M), TREADLE_OK);
    treadle_port port;
    treadle_port_context context = {.struct_size = sizeof context, .receive = in_message};
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, port, M), TREADLE_OK);
    CHECK_INT(treadle_port_send_bytes(port, 1, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    while (callbacks < 11) CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(callbacks, 11);
    CHECK_INT(requests, 11);
    CHECK_INT(discard(port), TREADLE_OK);
}

TEST_MAIN()
