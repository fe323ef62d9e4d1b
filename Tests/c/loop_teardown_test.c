/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loop_teardown_test.c: what becomes of a loop and of what is in it when its thread exits. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

static int32_t exiting; /* the id of the thread that exits */
static int cancelled;
static void cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    char *modes = info;
    (void)loop;
    CHECK(treadle_source_is_valid(source));
    CHECK_INT(thread_id(), exiting);
    strcat(strcat(modes, mode), " ");
    cancelled++;
}
static treadle_source left_behind;
static char cancelled_modes[256];
static void *leave_a_source(void *by_exit) {
    treadle_loop loop = treadle_loop_current();
    exiting = thread_id();
    CHECK_INT(treadle_loop_add_source(loop, left_behind, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, left_behind, "second"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, left_behind, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    if (by_exit) pthread_exit(NULL);
    return NULL;
}
TEST(sources_are_cancelled_and_stay_valid, "RL-8 SRC0-3 OBJ-8") {
    treadle_source_context context = {.struct_size = sizeof context, .info = cancelled_modes, .cancel = cancel};
    for (int by_exit = 0; by_exit < 2; by_exit++) {
        cancelled = 0;
        cancelled_modes[0] = 0;
        CHECK_INT(treadle_source_create(&context, &left_behind), TREADLE_OK);
        on_thread(leave_a_source, by_exit ? "" : NULL);
        CHECK_INT(cancelled, 2); /* once for each mode */
        CHECK(strstr(cancelled_modes, MODE) && strstr(cancelled_modes, "second"));
        /* It lives on, in another loop. */
        exiting = thread_id();
        CHECK(treadle_source_is_valid(left_behind));
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), left_behind, MODE), TREADLE_OK);
        treadle_source_signal(left_behind);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        CHECK_INT(treadle_loop_remove_source(treadle_loop_current(), left_behind, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_release(left_behind), TREADLE_OK);
    }
}

static struct probe leaving[KINDS];
static void *leave_items(void *unused) {
    for (int k = 0; k < KINDS; k++) {
        CHECK_INT(kinds[k]->add(treadle_loop_current(), leaving[k].item, MODE), TREADLE_OK);
        CHECK_INT(kinds[k]->add(treadle_loop_current(), leaving[k].item, TREADLE_COMMON_MODES), TREADLE_OK);
    }
    return unused;
}
TEST(items_can_move_to_another_loop, "RL-8 TMR-16 OBS-7") {
    int64_t date = treadle_time_now() - SECONDS(1), next = 0;
    for (int k = 0; k < KINDS; k++) probe_make(&leaving[k], kinds[k]);
    CHECK_INT(treadle_timer_set_next_fire(leaving[1].item, date), TREADLE_OK);
    on_thread(leave_items, NULL);
    CHECK_INT(treadle_timer_get_next_fire(leaving[1].item, &next), TREADLE_OK);
    CHECK_INT(next, date); /* a repeating timer keeps its schedule */
    for (int k = 0; k < KINDS; k++) {
        CHECK(kinds[k]->is_valid(leaving[k].item));
        CHECK_INT(leaving[k].held, 1);
        CHECK_INT(leaving[k].calls, 0);
        CHECK_INT(kinds[k]->add(treadle_loop_current(), leaving[k].item, MODE), TREADLE_OK);
    }
    poll_mode(MODE);
    CHECK(leaving[0].calls == 1 && leaving[2].calls == 1);
    poll_mode(MODE); /* one class of events a pass: the timer or the descriptor may have waited */
    CHECK(leaving[1].calls == 1 && leaving[3].calls >= 1);
    for (int k = 0; k < KINDS; k++) probe_end(&leaving[k]);
}

static void *leave_last_references(void *unused) {
    exiting = thread_id();
    leave_items(NULL);
    for (int k = 0; k < KINDS; k++) CHECK_INT(kinds[k]->release(leaving[k].item), TREADLE_OK);
    return unused;
}
TEST(what_only_the_loop_held_is_ended, "RL-8 OBJ-4 ABI-2 OBJ-8") {
    for (int k = 0; k < KINDS; k++) probe_make(&leaving[k], kinds[k]);
    on_thread(leave_last_references, NULL);
    for (int k = 0; k < KINDS; k++) {
        CHECK_INT(leaving[k].ended, 1);
        CHECK_INT(leaving[k].release_thread, exiting);
        CHECK(!kinds[k]->is_valid(leaving[k].item));
        CHECK_ERROR(kinds[k]->retain(leaving[k].item), TREADLE_E_STALE, "object");
        probe_end(&leaving[k]);
    }
}

static void trace_word(void *word) { trace("%s", (const char *)word); }
static void trace_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode;
    trace_word(info);
}
static void *leave_all(void *unused) {
    treadle_loop loop = treadle_loop_current();
    treadle_post block = {.struct_size = sizeof block, .fn = trace_word, .info = "block", .destroy = trace_word};
    treadle_timer_context timer_context = {.struct_size = sizeof timer_context, .info = "timer", .release = trace_word};
    treadle_observer_context observer_context = {.struct_size = sizeof observer_context, .info = "observer", .release = trace_word};
    treadle_source_context source_context = {.struct_size = sizeof source_context, .info = "source", .cancel = trace_cancel};
    treadle_timer timer;
    treadle_observer observer;
    treadle_source source;
    /* Put in in the reverse of the order in which they go. */
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, trace_word, "post"), TREADLE_OK); /* no destroy: dropped in silence */
    CHECK_INT(treadle_timer_create(&timer_context, &timer), TREADLE_OK);
    CHECK_INT(treadle_observer_create(&observer_context, &observer), TREADLE_OK);
    CHECK_INT(treadle_source_create(&source_context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return unused;
}
TEST(sources_go_first_and_blocks_last, "RL-8 BLK-1") {
    on_thread(leave_all, NULL);
    CHECK(strcmp(trace_text, "source timer observer block") == 0 || strcmp(trace_text, "source observer timer block") == 0);
}

/* Destructors of the client's own. glibc runs those of thread_local objects, which are registered with
 * this function, before those of pthread keys. */
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *dso_symbol);
extern void *__dso_handle;
static treadle_loop loop_of_thread;
static int destructors;
static void early_destructor(void *info) {
    struct probe *probe = info;
    CHECK(treadle_loop_current() == loop_of_thread && treadle_loop_is_current(loop_of_thread));
    CHECK_INT(probe->kind->add(loop_of_thread, probe->item, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(probe->calls, 1);
    CHECK_INT(probe->cancels, 0);
    destructors++;
}
static void *thread_with_destructor(void *probe) {
    loop_of_thread = treadle_loop_current();
    CHECK_INT(__cxa_thread_atexit_impl(early_destructor, probe, &__dso_handle), 0);
    return NULL;
}
TEST(the_loop_works_in_the_client_s_destructors, "RL-8") {
    struct probe probe = {0};
    probe_make(&probe, &source_kind);
    on_thread(thread_with_destructor, &probe);
    CHECK_INT(destructors, 1);
    CHECK_INT(probe.cancels, 1); /* added in the destructor, and taken out by the teardown after it */
    probe_end(&probe);
}

/* Destructors of pthread keys: in their first round the thread still has the loop that it had, and a loop
 * that only a destructor asked for is torn down too. */
static pthread_key_t late_key;
static void late_destructor(void *info) {
    struct probe *probe = info;
    treadle_loop loop = treadle_loop_current();
    CHECK(loop && (!loop_of_thread || loop == loop_of_thread));
    CHECK_INT(treadle_loop_add_source(loop, probe->item, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(probe->calls, 1);
    destructors++;
}
static void *thread_with_key(void *probe) {
    pthread_setspecific(late_key, probe);
    return loop_of_thread = treadle_loop_current();
}
static void *thread_with_key_and_no_loop(void *probe) {
    pthread_setspecific(late_key, probe);
    return probe;
}
TEST(a_loop_made_by_a_destructor_is_torn_down_too, "RL-8 RL-1") {
    CHECK_INT(pthread_key_create(&late_key, late_destructor), 0);
    for (int has_loop = 0; has_loop < 2; has_loop++) {
        struct probe probe = {0};
        probe_make(&probe, &source_kind);
        on_thread(has_loop ? thread_with_key : thread_with_key_and_no_loop, &probe);
        CHECK_INT(destructors, has_loop + 1);
        CHECK_INT(probe.cancels, 1);
        CHECK_INT(probe.schedules, probe.cancels);
        CHECK_INT(source_kind.release(probe.item), TREADLE_OK);
        CHECK_INT(probe.ended, 1); /* no loop holds it any more */
        probe_end(&probe);
    }
}

static void *make_loop(void *unused) {
    treadle_loop loop = treadle_loop_current();
    (void)unused;
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add_common_mode(loop, "common too"), TREADLE_OK);
    return loop;
}
static void count(void *info) { ++*(int *)info; }
TEST(a_retained_loop_outlives_its_thread, "RL-9 D-19 BLK-1") {
    treadle_loop loop = on_thread(make_loop, NULL);
    int blocks = 0, posts = 0;
    treadle_post block = {.struct_size = sizeof block, .fn = count, .info = &blocks, .destroy = count};
    char text[64];
    size_t length = 0;
    int32_t id = 1;
    int64_t date = 1;
    CHECK(treadle_loop_wake(loop) >= 0);
    CHECK(treadle_loop_stop(loop) >= 0);
    CHECK(treadle_loop_request_stop(loop, 0) >= 0);
    CHECK(!treadle_loop_is_waiting(loop) && !treadle_loop_is_current(loop));
    CHECK_INT(treadle_loop_get_thread_id(loop, &id), TREADLE_OK);
    CHECK_INT(id, 0);
    CHECK_ERROR(treadle_loop_run(loop, MODE, 0, 0), TREADLE_E_WRONG_THREAD, "thread");
    CHECK_ERROR(treadle_loop_get_current_mode(loop, text, sizeof text, &length), TREADLE_E_NOT_FOUND, "");
    CHECK_INT(treadle_loop_get_modes(loop, text, sizeof text, &length), TREADLE_OK);
    CHECK_INT(treadle_loop_get_next_fire(loop, MODE, &date), TREADLE_OK);
    CHECK_INT(date, 0);
    for (int k = 0; k < KINDS; k++) {
        static const char *const modes[] = {MODE, "brand new", TREADLE_COMMON_MODES};
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        for (int m = 0; m < 3; m++) {
            CHECK_INT(kinds[k]->add(loop, probe.item, modes[m]), TREADLE_IGNORED);
            CHECK(!kinds[k]->contains(loop, probe.item, modes[m]));
            CHECK_INT(kinds[k]->remove(loop, probe.item, modes[m]), TREADLE_IGNORED);
        }
        CHECK_INT(probe.schedules, 0);
        /* Not bound to the dead loop: it goes to a living one. */
        CHECK_INT(kinds[k]->add(treadle_loop_current(), probe.item, MODE), TREADLE_OK);
        probe_end(&probe);
    }
    CHECK_INT(post_block(loop, &block), TREADLE_IGNORED);
    CHECK_INT(blocks, 1); /* destroyed, not run */
    CHECK_ERROR(treadle_loop_post(loop, count, &posts), TREADLE_E_CLOSED, "loop");
    CHECK_INT(posts, 0);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(loop), TREADLE_E_STALE);
}

/* Another thread uses the loop while its thread goes: the most common crash of all run loops. */
static _Atomic(treadle_loop) going;
static void *go_at_once(void *unused) {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    atomic_store(&going, loop);
    treadle_loop_run(loop, MODE, MILLISECONDS(1), 0);
    return unused;
}
static void nothing(void *info) { (void)info; }
TEST(a_loop_may_be_used_while_its_thread_exits, "RL-9 OBJ-6 RL-8 STOP-9") {
    for (int i = scaled(300); i > 0; i--) {
        pthread_t thread;
        struct probe probe = {0};
        treadle_loop loop;
        int posted = 0;
        probe_make(&probe, kinds[i % KINDS]);
        CHECK_INT(pthread_create(&thread, NULL, go_at_once, NULL), 0);
        while (!(loop = atomic_load(&going))) sched_yield();
        while ((posted = treadle_loop_post(loop, nothing, NULL)) == TREADLE_OK) {
            treadle_status added = probe.kind->add(loop, probe.item, MODE);
            CHECK(added == TREADLE_OK || added == TREADLE_IGNORED);
            CHECK(treadle_loop_wake(loop) >= 0 && treadle_loop_stop(loop) >= 0 && treadle_loop_request_stop(loop, 0) >= 0);
            CHECK(probe.kind->remove(loop, probe.item, MODE) >= 0);
        }
        CHECK_INT(posted, TREADLE_E_CLOSED);
        pthread_join(thread, NULL);
        CHECK(!probe.kind->contains(loop, probe.item, MODE));
        CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
        atomic_store(&going, NULL);
        probe_end(&probe);
    }
}

TEST_MAIN()
