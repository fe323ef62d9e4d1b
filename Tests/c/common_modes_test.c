/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * common_modes_test.c: the common set, and changes of a mode while its loop sleeps. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE
#define COMMON TREADLE_COMMON_MODES

TEST(the_common_set_grows_and_never_shrinks, "MODE-8 RL-4 RL-7") {
    treadle_loop loop = treadle_loop_current();
    size_t length = 0;
    CHECK(treadle_loop_is_common_mode(loop, MODE) && !treadle_loop_is_common_mode(loop, "new"));
    CHECK_INT(treadle_loop_add_common_mode(loop, MODE), TREADLE_IGNORED);
    CHECK_INT(treadle_loop_add_common_mode(loop, "new"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_common_mode(loop, "new"), TREADLE_IGNORED);
    CHECK_INT(treadle_loop_get_modes(loop, NULL, 0, &length), TREADLE_OK);
    CHECK_INT(length, sizeof MODE); /* in the set, but not made yet */
    treadle_source source = keep_mode("new");
    treadle_source_invalidate(source);
    treadle_source_release(source);
    CHECK(treadle_loop_is_common_mode(loop, MODE) && treadle_loop_is_common_mode(loop, "new"));
}

TEST(a_common_item_is_in_every_common_mode, "MODE-8") {
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        treadle_loop loop = treadle_loop_current();
        char later[16];
        snprintf(later, sizeof later, "later %d", k);
        probe_make(&probe, kinds[k]);
        CHECK(treadle_loop_add_common_mode(loop, "early") >= 0);
        /* 1: in every mode of the set. */
        CHECK_INT(kinds[k]->add(loop, probe.item, COMMON), TREADLE_OK);
        CHECK(kinds[k]->contains(loop, probe.item, MODE) && kinds[k]->contains(loop, probe.item, "early"));
        if (k == 0) CHECK(probe.schedules >= 2);
        int schedules = probe.schedules;
        CHECK_INT(kinds[k]->add(loop, probe.item, COMMON), TREADLE_IGNORED);
        CHECK_INT(probe.schedules, schedules);
        /* 2: and in one that joins later, at that moment. */
        CHECK(!kinds[k]->contains(loop, probe.item, later));
        CHECK_INT(treadle_loop_add_common_mode(loop, later), TREADLE_OK);
        CHECK(kinds[k]->contains(loop, probe.item, later));
        CHECK_INT(probe.schedules, schedules + (k == 0));
        /* 3: contains answers from the record. */
        CHECK(kinds[k]->contains(loop, probe.item, COMMON));
        /* 5: out of one mode, but still recorded: the next that joins gets it. */
        CHECK_INT(kinds[k]->remove(loop, probe.item, MODE), TREADLE_OK);
        CHECK(!kinds[k]->contains(loop, probe.item, MODE) && kinds[k]->contains(loop, probe.item, COMMON));
        snprintf(later, sizeof later, "latest %d", k);
        CHECK_INT(treadle_loop_add_common_mode(loop, later), TREADLE_OK);
        CHECK(kinds[k]->contains(loop, probe.item, later) && !kinds[k]->contains(loop, probe.item, MODE));
        /* 1, again: it comes back where it had left. */
        CHECK_INT(kinds[k]->add(loop, probe.item, COMMON), TREADLE_OK);
        CHECK(kinds[k]->contains(loop, probe.item, MODE));
        CHECK_INT(kinds[k]->add(loop, probe.item, COMMON), TREADLE_IGNORED);
        CHECK_INT(kinds[k]->remove(loop, probe.item, MODE), TREADLE_OK);
        /* 4: out of every mode of the set, also one to which it was added alone; not out of others. */
        CHECK_INT(kinds[k]->add(loop, probe.item, MODE), TREADLE_OK);
        CHECK_INT(kinds[k]->add(loop, probe.item, "private"), TREADLE_OK);
        CHECK_INT(kinds[k]->remove(loop, probe.item, COMMON), TREADLE_OK);
        CHECK(!kinds[k]->contains(loop, probe.item, MODE) && !kinds[k]->contains(loop, probe.item, "early"));
        CHECK(!kinds[k]->contains(loop, probe.item, later) && !kinds[k]->contains(loop, probe.item, COMMON));
        CHECK(kinds[k]->contains(loop, probe.item, "private"));
        CHECK_INT(probe.schedules - probe.cancels, k == 0);
        /* 4: not recorded: nothing, even if it is in Default. */
        CHECK_INT(kinds[k]->add(loop, probe.item, MODE), TREADLE_OK);
        CHECK(!kinds[k]->contains(loop, probe.item, COMMON));
        CHECK_INT(kinds[k]->remove(loop, probe.item, COMMON), TREADLE_IGNORED);
        CHECK(kinds[k]->contains(loop, probe.item, MODE));
        /* 6: invalid: recorded no more. */
        CHECK_INT(kinds[k]->add(loop, probe.item, COMMON), TREADLE_OK);
        CHECK_INT(kinds[k]->invalidate(probe.item), TREADLE_OK);
        CHECK(!kinds[k]->contains(loop, probe.item, COMMON));
        snprintf(later, sizeof later, "too late %d", k);
        CHECK_INT(treadle_loop_add_common_mode(loop, later), TREADLE_OK);
        CHECK(!kinds[k]->contains(loop, probe.item, later));
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        probe_end(&probe);
    }
}

static void trace_number(struct probe *probe) { trace("%d", (int)(intptr_t)probe->user); }
TEST(a_mode_that_joins_keeps_the_order_of_recording, "MODE-8 OBS-2") {
    enum { COUNT = 40 };
    static struct probe probes[COUNT];
    static char expected[256];
    treadle_loop loop = treadle_loop_current();
    /* Recorded in an order of its own; the order of making must not matter. */
    for (int i = 0; i < COUNT; i++) {
        probes[i] = (struct probe){.on_call = trace_number, .user = (void *)(intptr_t)i};
        probe_make(&probes[i], &observer_kind);
    }
    for (int i = 0; i < COUNT; i++) {
        int n = (i * 7 + 3) % COUNT;
        CHECK_INT(observer_kind.add(loop, probes[n].item, COMMON), TREADLE_OK);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), i ? " %d" : "%d", n);
    }
    CHECK_INT(treadle_loop_add_common_mode(loop, "joins"), TREADLE_OK);
    treadle_source keeper = keep_mode("joins");
    CHECK_INT(poll_mode("joins"), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE(expected);
    for (int i = 0; i < COUNT; i++) probe_end(&probes[i]);
    treadle_source_release(keeper);
}

static void schedule_trace(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop;
    trace("%s:%s", (const char *)info, mode);
}
TEST(a_mode_that_joins_is_announced_to_each_source_in_order, "MODE-8 SRC0-3") {
    static char *names[] = {"c", "a", "b"};
    treadle_source sources[3];
    for (int i = 0; i < 3; i++) {
        treadle_source_context context = {.struct_size = sizeof context, .info = names[i], .schedule = schedule_trace};
        CHECK_INT(treadle_source_create(&context, &sources[i]), TREADLE_OK);
    }
    for (int i = 2; i >= 0; i--) CHECK_INT(treadle_loop_add_source(treadle_loop_current(), sources[i], COMMON), TREADLE_OK);
    CHECK_TRACE("b:" MODE " a:" MODE " c:" MODE);
    CHECK_INT(treadle_loop_add_common_mode(treadle_loop_current(), "joins"), TREADLE_OK);
    CHECK_TRACE("b:joins a:joins c:joins");
    for (int i = 0; i < 3; i++) treadle_source_invalidate(sources[i]);
    for (int i = 0; i < 3; i++) treadle_source_release(sources[i]);
}

TEST(a_common_timer_fires_once_a_date, "MODE-8 MODE-4") {
    struct probe timer = {0};
    CHECK_INT(treadle_loop_add_common_mode(treadle_loop_current(), "second"), TREADLE_OK);
    probe_make(&timer, &timer_kind);
    CHECK_INT(timer_kind.add(treadle_loop_current(), timer.item, COMMON), TREADLE_OK);
    for (int i = 1; i <= 4; i++) {
        CHECK_INT(poll_mode(i % 2 ? "second" : MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(timer.calls, i);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(poll_mode("second"), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(timer.calls, i);
        CHECK_INT(treadle_timer_set_next_fire(timer.item, i), TREADLE_OK);
    }
    probe_end(&timer);
}

static void drain_and_tell(struct probe *probe) {
    uint64_t value;
    if (probe->fd >= 0) CHECK_INT(read(probe->fd, &value, sizeof value), sizeof value);
    sem_post(probe->user);
}
/* Without a wake. A source that is signalled already must be performed too, since adding it wakes. */
TEST(an_item_added_to_a_sleeping_loop_takes_part_at_once, "MODE-10 D-03 TMR-8") {
    static const struct kind *const added[] = {&descriptor_kind, &timer_kind, &source_kind};
    struct worker worker;
    worker_start(&worker);
    for (int k = 0; k < 3; k++) {
        for (int common = 0; common < 2; common++) {
            sem_t called;
            struct probe probe = {.on_call = drain_and_tell, .user = &called};
            sem_init(&called, 0, 0);
            probe_make(&probe, added[k]);
            worker_await_sleep(&worker);
            CHECK_INT(added[k]->add(worker.loop, probe.item, common ? COMMON : MODE), TREADLE_OK);
            await(&called);
            worker_await_sleep(&worker);
            probe_end(&probe);
        }
    }
    worker_stop(&worker);
}

TEST(a_source_for_another_mode_does_not_wake, "MODE-10 D-03") {
    struct worker worker;
    treadle_source source = make_source(NULL, NULL);
    struct probe probe = {0};
    worker_start(&worker);
    worker_await_sleep(&worker);
    int sleeps = worker.watch.sleeps;
    CHECK_INT(treadle_loop_add_source(worker.loop, source, "other"), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(worker.loop, source, "other"), TREADLE_OK);
    /* What would have woken it is in the past when the next wake has been served. */
    sem_t called;
    sem_init(&called, 0, 0);
    probe.on_call = drain_and_tell;
    probe.user = &called;
    probe_make(&probe, &descriptor_kind);
    CHECK_INT(descriptor_kind.add(worker.loop, probe.item, MODE), TREADLE_OK);
    await(&called);
    worker_await_sleep(&worker);
    CHECK_INT(worker.watch.sleeps, sleeps + 1);
    probe_end(&probe);
    treadle_source_release(source);
    worker_stop(&worker);
}

TEST(removing_the_last_item_does_not_end_the_sleep, "MODE-10 RUN-10") {
    struct worker worker;
    worker_start(&worker);
    worker_await_sleep(&worker);
    int sleeps = worker.watch.sleeps;
    CHECK_INT(treadle_loop_remove_source(worker.loop, worker.keeper, MODE), TREADLE_OK);
    for (int i = 0; i < 200; i++) {
        sched_yield();
        CHECK(is_asleep(&worker.watch)); /* nothing that the other thread could be in the middle of */
    }
    CHECK_INT(worker.watch.sleeps, sleeps);
    CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
    CHECK_INT(pthread_join(worker.thread, NULL), 0);
    CHECK_INT(worker.result, TREADLE_RUN_FINISHED);
    unwatch_sleep(&worker.watch);
    treadle_source_release(worker.keeper);
    treadle_loop_release(worker.loop);
}

static void fired(treadle_timer timer, void *info) {
    (void)timer;
    atomic_fetch_add((atomic_int *)info, 1);
}
TEST(what_was_removed_from_a_sleeping_loop_takes_no_part, "MODE-10 TMR-10 OBJ-9") {
    struct worker worker;
    struct probe descriptor = {0};
    atomic_int fires = 0;
    uint64_t value = 1;
    treadle_timer timer = make_timer(fired, &fires, FAR_AWAY, 0);
    probe_make(&descriptor, &descriptor_kind);
    CHECK_INT(read(descriptor.fd, &value, sizeof value), sizeof value);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_descriptor(worker.loop, descriptor.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, MODE), TREADLE_OK);
    worker_await_sleep(&worker);
    CHECK_INT(descriptor_kind.remove(worker.loop, descriptor.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_timer(worker.loop, timer, MODE), TREADLE_OK);
    CHECK_INT(write(descriptor.fd, &value, sizeof value), sizeof value);
    CHECK_INT(treadle_timer_set_next_fire(timer, 1), TREADLE_OK);
    for (int i = 0; i < 3; i++) {
        worker_await_sleep(&worker);
        int sleeps = worker.watch.sleeps;
        CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        while (worker.watch.sleeps == sleeps) sched_yield();
    }
    CHECK_INT(descriptor.calls, 0);
    CHECK_INT(fires, 0);
    probe_end(&descriptor);
    treadle_timer_release(timer);
    worker_stop(&worker);
}

TEST_MAIN()
