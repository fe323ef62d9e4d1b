/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * glue_pairs_test.c: a loop of GLib's, libuv's or sd-event's inside of a run loop that is itself turned from outside: by hand, or by a
 * loop of these libraries. Whatever starts something of the inner loop, it is served, by one turn of the outer one after another.
 * pkg-config: glib-2.0 libuv libsystemd */
#include "glue.h"

#include <poll.h>
#include <treadle-glib.h>
#include <treadle-sd-event.h>
#include <treadle-uv.h>

typedef void (*call_fn)(void);
static treadle_loop loop;
static call_fn called;  /* by the inner loop's next callback */
static call_fn asked;   /* by the outer loop's next callback, in no run of ours */
static int letters[2];  /* a pipe that the inner loop watches */
static treadle_foreign *foreign;
static unsigned milliseconds = 1;

static void inner_called(void) {
    call_fn fn = called;
    called = NULL;
    CHECK(fn);
    fn();
}
static void outer_called(void) {
    call_fn fn = asked;
    asked = NULL;
    if (fn) fn();
}
static void take_letter(int fd) {
    char letter;
    CHECK_INT(read(fd, &letter, 1), 1);
    inner_called();
}

/* --- The inner loops: a timer of a millisecond or more, something to do at once, a descriptor ------------------- */

static GMainContext *inner_glib;
static gboolean glib_calls(gpointer info) { return (void)info, inner_called(), G_SOURCE_REMOVE; }
static gboolean glib_reads(gint fd, GIOCondition condition, gpointer info) {
    return (void)condition, (void)info, take_letter(fd), G_SOURCE_REMOVE;
}
static void glib_attach(GSource *source, GSourceFunc fn) {
    g_source_set_callback(source, fn, NULL, NULL);
    g_source_attach(source, inner_glib);
    g_source_unref(source);
}
static void glib_later(void) { glib_attach(g_timeout_source_new(milliseconds), glib_calls); }
static void glib_soon(void) { glib_attach(g_idle_source_new(), glib_calls); }
static void glib_watch(void) { glib_attach(g_unix_fd_source_new(letters[0], G_IO_IN), (GSourceFunc)(void (*)(void))glib_reads); }
static void glib_add(void) {
    inner_glib = g_main_context_new();
    CHECK_INT(treadle_glib_add(loop, TREADLE_DEFAULT_MODE, inner_glib, &foreign), TREADLE_OK);
}
static void glib_end(void) { g_main_context_unref(inner_glib); }

static uv_loop_t inner_uv;
static uv_timer_t uv_timer;
static uv_idle_t uv_idle;
static uv_poll_t uv_letters;
static void uv_fires(uv_timer_t *timer) { (void)timer, inner_called(); }
static void uv_is_idle(uv_idle_t *idle) { uv_idle_stop(idle), inner_called(); }
static void uv_reads(uv_poll_t *polled, int status, int events) {
    (void)events;
    CHECK_INT(status, 0);
    uv_poll_stop(polled), take_letter(letters[0]);
}
static void uv_later(void) {
    uv_update_time(&inner_uv);
    CHECK_INT(uv_timer_start(&uv_timer, uv_fires, milliseconds, 0), 0);
}
static void uv_soon(void) { CHECK_INT(uv_idle_start(&uv_idle, uv_is_idle), 0); }
static void uv_watch(void) { CHECK_INT(uv_poll_start(&uv_letters, UV_READABLE, uv_reads), 0); }
static void uv_add(void) {
    CHECK_INT(uv_loop_init(&inner_uv), 0);
    CHECK_INT(uv_timer_init(&inner_uv, &uv_timer), 0);
    CHECK_INT(uv_idle_init(&inner_uv, &uv_idle), 0);
    CHECK_INT(uv_poll_init(&inner_uv, &uv_letters, letters[0]), 0);
    CHECK_INT(treadle_uv_add(loop, TREADLE_DEFAULT_MODE, &inner_uv, &foreign), TREADLE_OK);
}
static void close_handle(uv_handle_t *handle, void *info) {
    (void)info;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}
static void end_uv(uv_loop_t *uv) {
    uv_walk(uv, close_handle, NULL);
    CHECK_INT(uv_run(uv, UV_RUN_DEFAULT), 0);
    CHECK_INT(uv_loop_close(uv), 0);
}
static void uv_end(void) { end_uv(&inner_uv); }

static sd_event *inner_sd;
static int sd_fires(sd_event_source *source, uint64_t usec, void *info) {
    (void)usec, (void)info, sd_event_source_disable_unref(source), inner_called();
    return 0;
}
static int sd_defers(sd_event_source *source, void *info) { return (void)info, sd_event_source_disable_unref(source), inner_called(), 0; }
static int sd_reads(sd_event_source *source, int fd, uint32_t events, void *info) {
    (void)events, (void)info, sd_event_source_disable_unref(source), take_letter(fd);
    return 0;
}
static void sd_later(void) {
    sd_event_source *source;
    CHECK(sd_event_add_time_relative(inner_sd, &source, CLOCK_MONOTONIC, milliseconds * 1000, 1, sd_fires, NULL) >= 0);
}
static void sd_soon(void) {
    sd_event_source *source;
    CHECK(sd_event_add_defer(inner_sd, &source, sd_defers, NULL) >= 0);
}
static void sd_watch(void) {
    sd_event_source *source;
    CHECK(sd_event_add_io(inner_sd, &source, letters[0], EPOLLIN, sd_reads, NULL) >= 0);
}
static void sd_add(void) {
    CHECK(sd_event_new(&inner_sd) >= 0);
    CHECK_INT(treadle_sd_event_add(loop, TREADLE_DEFAULT_MODE, inner_sd, &foreign), TREADLE_OK);
}
static void sd_end(void) { sd_event_unref(inner_sd); }

typedef struct {
    call_fn add, end, later, soon, watch;
} inner_loop;
static const inner_loop inners[] = {
    {glib_add, glib_end, glib_later, glib_soon, glib_watch},
    {uv_add, uv_end, uv_later, uv_soon, uv_watch},
    {sd_add, sd_end, sd_later, sd_soon, sd_watch},
};
enum { INNERS = sizeof inners / sizeof *inners };

/* --- The outer loops: one turn, which waits without limit; and its next callback ------------------------ */

static int pollable;
static void hand_begin(void) { CHECK_INT(treadle_loop_open_pollable(loop, TREADLE_DEFAULT_MODE, &pollable), TREADLE_OK); }
static void hand_end(void) {
    while (treadle_loop_dispatch(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, SIZE_MAX) == TREADLE_OK) {} /* the rest of a pass */
    close(pollable);
}
static void hand_wait(void) {
    struct pollfd one = {.fd = pollable, .events = POLLIN};
    while (poll(&one, 1, -1) < 0) CHECK_INT(errno, EINTR);
}
static void run_by_hand(void) {
    outer_called();
    treadle_glue_prepare(loop, TREADLE_DEFAULT_MODE);
    hand_wait();
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
}
static void dispatch_by_hand(void) {
    outer_called();
    treadle_glue_prepare(loop, TREADLE_DEFAULT_MODE);
    hand_wait();
    CHECK(treadle_loop_dispatch(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 1) >= 0);
}

static GMainContext *outer_glib;
static GSource *glib_source;
static void glib_begin(void) {
    outer_glib = g_main_context_new();
    CHECK_INT(treadle_glib_source_new(loop, TREADLE_DEFAULT_MODE, &glib_source), TREADLE_OK);
    g_source_attach(glib_source, outer_glib);
}
static void glib_close(void) {
    g_source_destroy(glib_source), g_source_unref(glib_source);
    g_main_context_unref(outer_glib);
}
static gboolean glib_asks(gpointer info) { return (void)info, outer_called(), G_SOURCE_REMOVE; }
static void turn_glib(void) {
    if (asked) {
        GSource *source = g_idle_source_new();
        g_source_set_callback(source, glib_asks, NULL, NULL);
        g_source_attach(source, outer_glib);
        g_source_unref(source);
    }
    g_main_context_iteration(outer_glib, TRUE);
}

static uv_loop_t outer_uv;
static uv_timer_t outer_timer;
static treadle_uv_inner *uv_inner;
static void uv_begin(void) {
    CHECK_INT(uv_loop_init(&outer_uv), 0);
    CHECK_INT(uv_timer_init(&outer_uv, &outer_timer), 0);
    CHECK_INT(treadle_uv_start(&outer_uv, loop, TREADLE_DEFAULT_MODE, NULL, NULL, &uv_inner), TREADLE_OK);
}
static void uv_close_outer(void) {
    treadle_uv_stop(uv_inner);
    uv_run(&outer_uv, UV_RUN_NOWAIT);
    end_uv(&outer_uv);
}
static void uv_asks(uv_timer_t *timer) { (void)timer, outer_called(); }
static void turn_uv(void) {
    if (asked) CHECK_INT(uv_timer_start(&outer_timer, uv_asks, 0, 0), 0);
    uv_run(&outer_uv, UV_RUN_ONCE);
}

static sd_event *outer_sd;
static sd_event_source *sd_source;
static void sd_begin(void) {
    CHECK(sd_event_new(&outer_sd) >= 0);
    CHECK_INT(treadle_sd_event_start(outer_sd, loop, TREADLE_DEFAULT_MODE, NULL, NULL, &sd_source), TREADLE_OK);
}
static void sd_close(void) { sd_event_source_disable_unref(sd_source), sd_event_unref(outer_sd); }
static int sd_asks(sd_event_source *source, void *info) { return (void)info, sd_event_source_disable_unref(source), outer_called(), 0; }
static void turn_sd(void) {
    sd_event_source *source;
    if (asked) CHECK(sd_event_add_defer(outer_sd, &source, sd_asks, NULL) >= 0);
    CHECK(sd_event_run(outer_sd, UINT64_MAX) >= 0);
}

typedef struct {
    call_fn begin, end, turn;
} outer_loop;
static const outer_loop outers[] = {
    {hand_begin, hand_end, run_by_hand}, {hand_begin, hand_end, dispatch_by_hand},
    {glib_begin, glib_close, turn_glib}, {uv_begin, uv_close_outer, turn_uv}, {sd_begin, sd_close, turn_sd},
};
enum { OUTERS = sizeof outers / sizeof *outers };

/* --- One after another, each begun by the callback before ------------------------------------------------ */

static const inner_loop *inner;
static int step, last_step;
static void next_step(void);
static void start_step(void) {
    called = next_step;
    switch (step % 3) {
    case 0: return inner->later();
    case 1: return inner->soon();
    default:
        CHECK_INT(write(letters[1], "x", 1), 1);
        return inner->watch();
    }
}
static void start_in_ours(void *info) { (void)info, start_step(); }
static void fire_in_ours(treadle_timer timer, void *info) { (void)timer, (void)info, start_step(); }
/* By a callback of the inner loop, by a post and by a timer of ours, and then by the outer loop. */
static void next_step(void) {
    progress();
    if (++step >= last_step) return;
    switch (step / 3 % 4) {
    case 0: return start_step();
    case 1: CHECK_INT(treadle_loop_post(loop, start_in_ours, NULL), TREADLE_OK); return;
    case 2: CHECK_INT(treadle_timer_start(MILLISECONDS(1), 0, fire_in_ours, NULL, NULL), TREADLE_OK); return;
    default: asked = start_step;
    }
}

static void play(const outer_loop *outer, int steps) {
    loop = treadle_loop_current();
    CHECK_INT(pipe2(letters, O_CLOEXEC | O_NONBLOCK), 0);
    outer->begin();
    inner->add();
    step = 0, last_step = steps;
    start_step();
    while (step < last_step) outer->turn();
    /* With nothing to do all three loops sleep: one that spins turns thousands of times. */
    uint64_t passes = count_passes();
    int turns = 0;
    milliseconds = 50, called = next_step, asked = inner->later;
    for (last_step++; step < last_step; turns++) outer->turn();
    CHECK(turns <= IDLE_TURNS && count_passes() - passes <= IDLE_TURNS);
    milliseconds = 1;
    treadle_foreign_remove(foreign);
    outer->end();
    inner->end();
    close(letters[0]), close(letters[1]);
}
TEST(what_is_started_of_an_inner_loop_is_served_by_any_outer_loop, "ABI-9 ABI-13") {
    for (int i = 0; i < OUTERS * INNERS; i++) {
        inner = &inners[i % INNERS];
        play(&outers[i / INNERS], 12);
    }
}

/* --- A loop that is always busy -------------------------------------------------------------------------- */

/* Each callback takes longer than the inner loop's timer. */
static int busy_calls;
static void be_busy(treadle_source source, void *info) {
    int64_t until = treadle_time_now() + MILLISECONDS(2);
    (void)info;
    while (treadle_time_now() < until) {}
    busy_calls++;
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
static int most_calls;
static void fire_again(void) {
    if (busy_calls > most_calls) most_calls = busy_calls;
    busy_calls = 0;
    called = fire_again;
    if (++step < last_step) inner->later();
    else CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
}
TEST(a_busy_loop_serves_the_timers_of_an_inner_loop_by_time, "ABI-9 PASS-7") {
    treadle_source source;
    for (int i = 0; i < INNERS; i++) {
        inner = &inners[i];
        loop = treadle_loop_current();
        CHECK_INT(pipe2(letters, O_CLOEXEC | O_NONBLOCK), 0);
        inner->add();
        CHECK_INT(treadle_source_start(be_busy, NULL, &source), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        step = 0, last_step = 20, busy_calls = 0, most_calls = 0, called = fire_again;
        inner->later();
        CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_STOPPED);
        CHECK(most_calls <= 4);
        discard(source);
        treadle_foreign_remove(foreign);
        inner->end();
        close(letters[0]), close(letters[1]);
    }
}

TEST_MAIN()
