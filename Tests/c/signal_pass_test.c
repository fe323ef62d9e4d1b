/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal_pass_test.c: passes of nothing but sources that signal themselves: their order, and what one callback does that
 * ends them. */
#include "self_signals.h"
#include "host_items.h"

static long passes;
static void stop_own(void) { CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK); }
static void run_own(treadle_status expected) { CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), expected); }

/* --- Order ----------------------------------------------------------------------------------------- */

/* Source 0 comes after source 1, by its order, although it signals itself first. */
static int others_from;
static char last;
static void perform_last(treadle_source source, void *info) {
    (void)source, (void)info;
    if (passes > others_from) CHECK_INT(last, '1');
    last = '0';
    if (++passes == MANY_PASSES + 100) return stop_own();
    signal_own(0);
    if (passes > others_from) signal_own(1);
}
static void perform_first(treadle_source source, void *info) {
    (void)source, (void)info;
    CHECK_INT(last, '0');
    last = '1';
}
static void keep_order(int from) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    others_from = from, passes = 0, last = 0;
    loop = treadle_loop_current();
    for (int i = 0; i < 2; i++) {
        context.perform = i ? perform_first : perform_last;
        context.order = 1 - i;
        CHECK_INT(treadle_source_create(&context, &sources[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
    }
    signal_own(0);
    run_own(TREADLE_RUN_STOPPED);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(treadle_source_invalidate(sources[i]), TREADLE_OK);
        CHECK_INT(treadle_source_release(sources[i]), TREADLE_OK);
    }
}
TEST(an_order_comes_before_the_time_of_signals, "SRC0-7") {
    keep_order(0);
    keep_order(MANY_PASSES); /* one source alone until then */
}

/* Thousands of signals of the loop's own thread, then one of another thread. */
enum { STEPS = 20000 };
static void perform_counted(treadle_source source, void *info) {
    int number = (int)(intptr_t)info;
    (void)source;
    if (passes >= STEPS) {
        trace("%d", number);
        if (number == 1) stop_own();
        return;
    }
    passes++;
    signal_own(0);
    if (passes == STEPS) on_thread(signal_there, sources[1]);
}
TEST(a_later_signal_of_another_thread_comes_later, "SRC0-7") {
    add_sources(2, perform_counted);
    signal_own(0);
    run_own(TREADLE_RUN_STOPPED);
    CHECK_TRACE("0 1");
}

/* --- Ends ------------------------------------------------------------------------------------------ */

static void (*end)(void); /* what ends the passes, in the callback of source 1 */
static void perform_until_end(treadle_source source, void *info) {
    int number = (int)(intptr_t)info;
    CHECK_INT(passes <= MANY_PASSES, 1);
    if (number == 0 && ++passes == MANY_PASSES) trace("last");
    if (passes == MANY_PASSES) trace("%d", number);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    if (passes == MANY_PASSES && number == 1) end();
}
static void shut_down(void) { CHECK_INT(treadle_shutdown(SECONDS(60)), TREADLE_OK); }
static void *shut_down_there(void *unused) {
    CHECK_ERROR(treadle_shutdown(0), TREADLE_E_TIMEOUT, "timeout_ns");
    return unused;
}
static void shut_down_elsewhere(void) { on_thread(shut_down_there, NULL); }
static void end_own(void (*ends)(void), treadle_status expected) {
    end = ends;
    add_sources(4, perform_until_end);
    for (int i = 0; i < 4; i++) signal_own(i);
    run_own(expected);
    CHECK_TRACE("last 0 1");
}
TEST(a_shutdown_in_a_callback_is_the_end, "THR-21") { end_own(shut_down, TREADLE_E_CLOSED); }
TEST(a_shutdown_elsewhere_is_the_end, "THR-21") { end_own(shut_down_elsewhere, TREADLE_E_CLOSED); }

/* The same of a host, whose callback does not complete. */
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    bool ends = false;
    if (event->kind != TREADLE_EVENT_PERFORM) return ~ticket;
    if (event->token == 1) ends = ++passes == MANY_PASSES;
    if (passes == MANY_PASSES) trace("%d", (int)event->token);
    CHECK_INT(treadle_source_signal(event->subject), TREADLE_OK);
    return ends ? 0 : ~ticket;
}
TEST(a_host_s_callback_that_fails_is_the_end, "ABI-3") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_host host;
    loop = treadle_loop_current();
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(host_source(host, (uint64_t)i, 0, 0, &sources[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
        signal_own(i);
    }
    run_own(TREADLE_E_CALLBACK);
    CHECK_TRACE("1");
}

TEST_MAIN()
