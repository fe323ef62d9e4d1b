/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * close_between_test.c: what is not being called is closed without a wait, by whatever the loop calls next: the loop keeps no
 * item that it has called before, or is to call after. Who closes may wait for ever, on the loop's own thread or on one that the
 * loop's thread waits for. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE
static treadle_object to_close;
static int closings;
static bool closes_elsewhere;

static void *close_it(void *unused) {
    CHECK_INT(treadle_close(to_close, TREADLE_FOREVER), TREADLE_OK);
    return unused;
}
static void closer(void *unused) {
    if (closes_elsewhere)
        on_thread(close_it, unused);
    else
        close_it(unused);
    closings++;
    CHECK_INT(treadle_loop_request_stop(treadle_loop_current(), 0), TREADLE_OK);
}

/* What the loop calls after the item. */
static void post(void) { CHECK_INT(treadle_loop_post(treadle_loop_current(), closer, NULL), TREADLE_OK); }
static void close_in_request(void *target, void *argument) {
    (void)target;
    closer(argument);
}
static void request(void) {
    treadle_request request = {.struct_size = sizeof request, .fn = close_in_request};
    CHECK_INT(treadle_perform(treadle_loop_current(), &request), TREADLE_OK);
}
static void put_off(void) { CHECK_INT(treadle_pool_add(&closings, closer), TREADLE_OK); }
static void (*const ways[])(void) = {post, request, put_off};
enum { WAYS = sizeof ways / sizeof *ways };

static void go_this_way(struct probe *probe) {
    if (atomic_load(&probe->calls) > 1) return;
    (*(void (*const *)(void))probe->user)();
    CHECK_INT(treadle_loop_wake(treadle_loop_current()), TREADLE_OK); /* the pass goes on to its end */
}
static void play(const struct kind *kind, void (*const *way)(void), bool in_scope) {
    struct probe probe = {.on_call = go_this_way, .user = (void *)way};
    treadle_scope_config config = {.struct_size = sizeof config};
    treadle_scope scope = NULL;
    if (in_scope) {
        CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
        CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    }
    probe_make(&probe, kind);
    to_close = in_scope ? (treadle_object)scope : probe.item;
    if (in_scope) CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(kind->add(treadle_loop_current(), probe.item, MODE), TREADLE_OK);
    closings = 0;
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(closings, 1);
    if (in_scope) {
        CHECK_INT(atomic_load(&probe.ended), 1);
        CHECK_INT(treadle_release(scope), TREADLE_OK);
    }
    probe_end(&probe);
}
static void play_all(bool in_scope) {
    keep_mode(MODE);
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        closes_elsewhere = elsewhere;
        for (int way = 0; way < WAYS; way++) {
            for (int i = 0; i < KINDS; i++) play(kinds[i], &ways[way], in_scope);
        }
    }
}
TEST(the_last_item_that_was_called_is_closed_at_once, "OBJ-5 OBJ-9") { play_all(false); }
TEST(the_scope_of_the_last_item_that_was_called_is_closed_at_once, "OBJ-5 OBJ-9 SCOPE-2") { play_all(true); }

/* The end of a timer calls its release between its callback and that of the next one, which is not being called yet. */
static struct probe next;
static void close_the_next(struct probe *probe) {
    (void)probe;
    closer(NULL);
}
static void lose_itself(struct probe *probe) { CHECK_INT(discard(probe->item), TREADLE_OK); }
static void play_two(bool elsewhere) {
    struct probe first = {.on_call = lose_itself, .on_release = close_the_next, .order = -1};
    closes_elsewhere = elsewhere;
    memset(&next, 0, sizeof next);
    probe_make(&first, &timer_kind);
    probe_make(&next, &timer_kind);
    to_close = next.item;
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), first.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), next.item, MODE), TREADLE_OK);
    closings = 0;
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(closings, 1);
    CHECK_INT(atomic_load(&first.calls), 1);
    CHECK_INT(atomic_load(&next.calls), 0);
    probe_end(&first);
    probe_end(&next);
}
TEST(the_end_of_a_timer_may_close_the_next_one, "OBJ-5 OBJ-9 TMR-13") {
    keep_mode(MODE);
    play_two(false);
    play_two(true);
}

/* A loop that another one dispatches is left after each callback: what it has called may be closed there. */
static void count(struct probe *probe) { (void)probe; }
TEST(what_a_slice_has_called_is_closed_behind_it, "OBJ-5 OBJ-9 ABI-13") {
    treadle_loop loop = treadle_loop_current();
    keep_mode(MODE);
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        for (int i = 0; i < KINDS; i++) {
            if (kinds[i] == &observer_kind) continue; /* no slice ends behind one */
            struct probe probe = {.on_call = count};
            probe_make(&probe, kinds[i]);
            to_close = probe.item;
            CHECK_INT(kinds[i]->add(loop, probe.item, MODE), TREADLE_OK);
            while (!atomic_load(&probe.calls)) CHECK_INT(treadle_loop_dispatch(loop, MODE, TREADLE_FOREVER, 1), TREADLE_OK);
            CHECK(elsewhere ? on_thread(close_it, NULL) == NULL : close_it(NULL) == NULL);
            while (treadle_loop_dispatch(loop, MODE, TREADLE_FOREVER, 1) == TREADLE_OK) {}
            CHECK_INT(atomic_load(&probe.calls), 1);
            probe_end(&probe);
        }
    }
}

TEST_MAIN()
