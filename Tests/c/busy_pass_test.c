/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * busy_pass_test.c: a run that never sleeps, since a source signals itself in each pass. Whatever else comes up has its
 * turn in the next pass at the latest, early in the run and late. */
#include "coming_up.h"

/* A source that signals itself in each pass, so that the run never sleeps, and what comes up meanwhile: `come_up`
 * is called in one pass, or by another thread once the loop is busy; `seen` says how many passes there were
 * when the loop noticed. */
static treadle_source spinner;
static atomic_long passes, seen, known;
enum { BUSY = 3000 };
static long come_at = THIRD;

static void note(void) {
    atomic_store(&seen, atomic_load(&passes));
    if (treadle_loop_is_current(loop)) CHECK(treadle_loop_stop(loop) >= 0);
}
static void spin(treadle_source source, void *info) {
    (void)info;
    long pass = atomic_fetch_add(&passes, 1) + 1;
    if (pass == come_at && come_up) come_up();
    if (treadle_source_is_valid(source)) CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
static void come_stop(void) {
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
    note();
}
static void come_requested_stop(void) {
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    atomic_store(&seen, atomic_load(&passes));
}
static void (*const events[])(void) = {ALL_THAT_COMES, come_stop, come_requested_stop};
enum { EVENTS = sizeof events / sizeof *events };

static int64_t deadline = TREADLE_FOREVER;
static uint32_t flags;

/* A plain observer, which is told twice a pass, and a descriptor that is not ready: the kernel is asked in each pass. */
static bool has_company;
static atomic_long told;
static void count_told(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    atomic_fetch_add(&told, 1);
}
static treadle_observer told_observer;
static treadle_descriptor silent;
static void invite(void) {
    atomic_store(&told, 0);
    told_observer = make_observer(count_told, NULL, TREADLE_BEFORE_TIMERS | TREADLE_BEFORE_SOURCES);
    silent = make_descriptor(note_ready, NULL, eventfd(0, EFD_CLOEXEC), TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_observer(loop, told_observer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, silent, MODE), TREADLE_OK);
}
static void send_away(void) {
    CHECK(atomic_load(&told) >= 2 * atomic_load(&passes));
    CHECK_INT(treadle_observer_invalidate(told_observer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_invalidate(silent), TREADLE_OK);
    CHECK_INT(treadle_observer_release(told_observer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(silent), TREADLE_OK);
}

/* Runs the loop of the calling thread, with the spinner alone in the mode, until something stops it. */
static treadle_status run_spinner(void) {
    loop = treadle_loop_current();
    loop_thread = treadle_thread_current();
    atomic_store(&passes, 0);
    atomic_store(&seen, -1);
    spinner = make_source(spin, NULL);
    CHECK_INT(treadle_loop_add_source(loop, spinner, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(spinner), TREADLE_OK);
    if (has_company) invite();
    treadle_status status = treadle_loop_run(loop, MODE, deadline, flags);
    if (has_company) send_away();
    CHECK(treadle_source_invalidate(spinner) >= 0);
    CHECK_INT(treadle_source_release(spinner), TREADLE_OK);
    return status;
}

static void *see_in_time(void *event) {
    come_up = *(void (**)(void))event;
    CHECK_INT(run_spinner(), TREADLE_RUN_STOPPED);
    CHECK_INT(atomic_load(&seen), come_at);
    CHECK(atomic_load(&passes) <= come_at + 1); /* the pass that is stopped is completed */
    return NULL;
}
/* Early, and when the source has long been performed in one pass after the other. */
static void see_early_and_late(void (*const *event)(void)) {
    for (come_at = THIRD; come_at <= BUSY; come_at += BUSY - THIRD) on_thread(see_in_time, (void *)event);
    come_at = THIRD;
}
TEST(what_comes_up_in_a_callback_has_its_turn_before_the_next_one, "PASS-2 PASS-6 PASS-12 PASS-14 STOP-4 SRC0-9 PERF-5") {
    /* Each on a thread of its own, whose loop has never had any of the others. */
    for (int i = 0; i < 2 * EVENTS; i++) {
        has_company = i >= EVENTS;
        see_early_and_late(&events[i % EVENTS]);
    }
    has_company = false;
}

/* In another mode there is a source, or nothing: a run there only looks whether a request is for it, or leaves a block alone.
 * Neither is among what has just come in any more. */
static void run_elsewhere(bool is_empty) {
    treadle_source other = make_source(note_source, NULL);
    CHECK_INT(treadle_loop_add_source(loop, other, "elsewhere"), TREADLE_OK);
    if (is_empty) CHECK_INT(treadle_loop_remove_source(loop, other, "elsewhere"), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, "elsewhere", 0, 0), is_empty ? TREADLE_RUN_FINISHED : TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_source_invalidate(other), TREADLE_OK);
    CHECK_INT(treadle_source_release(other), TREADLE_OK);
}
static void come_request_before_look(void) {
    come_request();
    run_elsewhere(true);
}
static void come_block_before_inner_run(void) {
    come_block();
    run_elsewhere(false);
}
static void (*const hidden[])(void) = {come_request_before_look, come_block_before_inner_run};
TEST(what_is_not_at_hand_any_more_has_its_turn_as_well, "PERF-5 PERF-6 BLK-5") {
    for (int i = 0; i < 2; i++) see_early_and_late(&hidden[i]);
}

/* A source that has been performed in one pass after the other is kept while its callback runs, also after a callback with
 * another run in it. */
static atomic_int info_released, is_calling;
static void release_info(void *info) {
    (void)info;
    CHECK_INT(atomic_load(&is_calling), 0);
    atomic_fetch_add(&info_released, 1);
}
static void end_itself(treadle_source source, void *info) {
    (void)info;
    long pass = atomic_fetch_add(&passes, 1) + 1;
    atomic_store(&is_calling, 1);
    if (pass == BUSY) run_elsewhere(false);
    if (pass <= BUSY) {
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    } else {
        CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
        CHECK_INT(atomic_load(&info_released), 0);
    }
    atomic_store(&is_calling, 0);
}
TEST(a_source_is_kept_until_its_callback_returns, "OBJ-3 SRC0-2 SRC0-9") {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source source;
    loop = treadle_loop_current();
    atomic_store(&passes, 0);
    context.perform = end_itself;
    context.info = &info_released;
    context.release = release_info;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(atomic_load(&passes), BUSY + 1);
    CHECK_INT(atomic_load(&info_released), 1);
}

/* --- From outside --------------------------------------------------------------------------------- */

static void *come_from_outside(void *event) {
    while (atomic_load(&passes) < BUSY) sched_yield();
    (*(void (**)(void))event)();
    atomic_exchange(&known, atomic_load(&passes)); /* behind what was done, for whoever looks from outside */
    atomic_store(&known, atomic_load(&passes));
    return NULL;
}
static void *see_from_outside(void *event) {
    pthread_t other;
    come_up = NULL;
    atomic_store(&known, 0);
    atomic_store(&passes, 0);
    CHECK_INT(pthread_create(&other, NULL, come_from_outside, event), 0);
    CHECK_INT(run_spinner(), TREADLE_RUN_STOPPED);
    CHECK_INT(pthread_join(other, NULL), 0);
    CHECK(atomic_load(&seen) >= BUSY);
    /* The pass that had begun with its sources just before does not see it, the next one does. */
    CHECK(atomic_load(&seen) <= atomic_load(&known) + 1);
    CHECK(atomic_load(&passes) <= atomic_load(&known) + 2);
    return NULL;
}
TEST(what_comes_up_outside_has_its_turn_in_the_next_pass, "PASS-2 PASS-6 PASS-12 PASS-14 STOP-7 SRC0-9 PERF-5 OBJ-6") {
    for (int round = scaled(30); round > 0; round--) {
        has_company = round % 2 == 0;
        for (int i = 0; i < EVENTS; i++) on_thread(see_from_outside, (void *)&events[i]);
    }
}

/* What an observer does in such a pass has its turn in the same one. */
static void (*come_of_observer)(void);
static void observe_and_do(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    if (atomic_load(&passes) == BUSY && come_of_observer) {
        void (*now)(void) = come_of_observer;
        come_of_observer = NULL;
        now();
    }
}
static void *see_of_observer(void *event) {
    loop = treadle_loop_current();
    treadle_observer observer = make_observer(observe_and_do, NULL, TREADLE_BEFORE_SOURCES);
    CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
    come_of_observer = *(void (**)(void))event;
    come_up = NULL;
    CHECK_INT(run_spinner(), TREADLE_RUN_STOPPED);
    /* The pass whose sources are next counts as the same. */
    CHECK(atomic_load(&seen) >= BUSY && atomic_load(&seen) <= BUSY + 1);
    CHECK(atomic_load(&passes) <= BUSY + 2);
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    return NULL;
}
TEST(what_an_observer_brings_up_has_its_turn_in_the_pass, "PASS-3 PASS-4 PASS-5 PASS-14 SRC0-13") {
    for (int i = 0; i < EVENTS; i++) on_thread(see_of_observer, (void *)&events[i]);
}

/* A request that was made before a source was signalled is performed before it, in whichever pass. */
static atomic_int performed;
static int checked;
static sem_t has_checked;
static treadle_source behind;
static void count_request(void *target, void *argument) { (void)target, (void)argument, atomic_fetch_add(&performed, 1); }
static void check_requests(treadle_source source, void *info) {
    (void)source, (void)info;
    CHECK_INT(atomic_load(&performed), ++checked);
    CHECK_INT(sem_post(&has_checked), 0);
}
static void *request_and_signal(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = count_request};
    while (atomic_load(&passes) < BUSY) sched_yield();
    for (int i = scaled(2000); i > 0; i--) {
        CHECK_INT(perform_on(loop_thread, &request, NULL, 0, 0), TREADLE_OK);
        CHECK_INT(treadle_source_signal(behind), TREADLE_OK);
        await(&has_checked);
    }
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
    return info;
}
TEST(a_request_is_performed_before_what_was_signalled_later, "PERF-5 SRC0-7") {
    pthread_t other;
    come_up = NULL;
    CHECK_INT(sem_init(&has_checked, 0, 0), 0);
    behind = make_source(check_requests, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), behind, MODE), TREADLE_OK);
    loop = treadle_loop_current();
    loop_thread = treadle_thread_current();
    CHECK_INT(pthread_create(&other, NULL, request_and_signal, NULL), 0);
    CHECK_INT(run_spinner(), TREADLE_RUN_STOPPED);
    CHECK_INT(pthread_join(other, NULL), 0);
    CHECK_INT(treadle_source_release(behind), TREADLE_OK);
}

/* --- The other ends of a run, and of its passes --------------------------------------------------- */

static void leave_the_mode(void) { CHECK_INT(treadle_loop_remove_source(loop, spinner, MODE), TREADLE_OK); }
static void invalidate(void) { CHECK_INT(treadle_source_invalidate(spinner), TREADLE_OK); }
TEST(a_source_that_leaves_ends_the_run, "MODE-7 RUN-4 SRC0-4") {
    come_up = leave_the_mode;
    CHECK_INT(run_spinner(), TREADLE_RUN_FINISHED);
    CHECK_INT(atomic_load(&passes), THIRD);
    come_up = invalidate;
    CHECK_INT(run_spinner(), TREADLE_RUN_FINISHED);
    CHECK_INT(atomic_load(&passes), THIRD);
}

static void shut_down(void) { CHECK_INT(treadle_shutdown(0), TREADLE_OK); }
TEST(a_shutdown_in_a_callback_is_the_end, "THR-21 ABI-5") {
    come_up = shut_down;
    CHECK_INT(run_spinner(), TREADLE_E_CLOSED);
    CHECK_INT(atomic_load(&passes), THIRD);
}
static void *shut_down_from_outside(void *info) {
    while (atomic_load(&passes) < BUSY) sched_yield();
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    return info;
}
TEST(a_shutdown_by_another_thread_is_the_end, "THR-21") {
    pthread_t other;
    CHECK_INT(pthread_create(&other, NULL, shut_down_from_outside, NULL), 0);
    CHECK_INT(run_spinner(), TREADLE_E_CLOSED);
    CHECK_INT(pthread_join(other, NULL), 0);
}

static void release_and_note(void *info) { (void)info, note(); }
static void put_off(void) { CHECK_INT(treadle_pool_add(&loop, release_and_note), TREADLE_OK); }
TEST(what_was_put_off_is_released_before_the_next_pass, "POOL-3") {
    come_up = put_off;
    for (come_at = THIRD; come_at <= BUSY; come_at += BUSY - THIRD) {
        CHECK_INT(run_spinner(), TREADLE_RUN_STOPPED);
        CHECK_INT(atomic_load(&seen), come_at);
        CHECK_INT(atomic_load(&passes), come_at);
    }
}

TEST(a_run_that_is_to_end_by_itself_does, "RUN-2 RUN-6") {
    come_up = NULL;
    deadline = MILLISECONDS(1);
    CHECK_INT(run_spinner(), TREADLE_RUN_TIMED_OUT);
    deadline = 0;
    CHECK_INT(run_spinner(), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(atomic_load(&passes), 1);
    deadline = TREADLE_FOREVER;
    flags = TREADLE_RUN_RETURN_AFTER_SOURCE;
    CHECK_INT(run_spinner(), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(atomic_load(&passes), 1);
}

static int64_t limit;
static treadle_status inner;
static uint32_t inner_flags;
static void run_inside(void) {
    inner = treadle_loop_run(loop, MODE, limit, inner_flags);
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
}
TEST(inner_runs_that_are_to_end_by_themselves_do, "RUN-2 RUN-5 RUN-6 RUN-12") {
    come_up = run_inside;
    for (int i = 0; i < 3; i++) {
        limit = i == 0 ? 0 : i == 1 ? MILLISECONDS(1) : TREADLE_FOREVER;
        inner_flags = i == 2 ? TREADLE_RUN_RETURN_AFTER_SOURCE : 0;
        static treadle_source other;
        other = make_source(spin, NULL); /* the inner run's: the outer one's is not signalled now */
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), other, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal(other), TREADLE_OK);
        CHECK_INT(run_spinner(), TREADLE_RUN_STOPPED);
        CHECK_INT(inner, i == 2 ? TREADLE_RUN_HANDLED_SOURCE : TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_source_invalidate(other), TREADLE_OK);
        CHECK_INT(treadle_source_release(other), TREADLE_OK);
    }
}

/* Two that signal each other and themselves: the order of the first signals, pass for pass. */
static treadle_source others[3];
static void chain(treadle_source source, void *info) {
    (void)source;
    intptr_t number = (intptr_t)info;
    if (strlen(trace_text) > 60) return;
    trace("%d", (int)number);
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_source_signal(others[(number + i) % 3]), TREADLE_OK);
    if (strlen(trace_text) > 60) CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
TEST(an_observer_changes_no_order, "SRC0-7 SRC0-9") {
    /* The first round has one. */
    static char expected[sizeof trace_text];
    for (int round = 0; round < 2; round++) {
        treadle_observer observer = round ? NULL : make_observer(NULL, NULL, TREADLE_ALL_ACTIVITIES);
        if (observer) CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, MODE), TREADLE_OK);
        for (intptr_t i = 0; i < 3; i++) {
            others[i] = make_source(chain, (void *)i);
            CHECK_INT(treadle_loop_add_source(treadle_loop_current(), others[i], MODE), TREADLE_OK);
        }
        CHECK_INT(treadle_source_signal(others[1]), TREADLE_OK);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
        if (round) CHECK_TRACE(expected);
        strcpy(expected, trace_text);
        trace_clear();
        for (int i = 0; i < 3; i++) CHECK_INT(treadle_source_invalidate(others[i]), TREADLE_OK);
        for (int i = 0; i < 3; i++) CHECK_INT(treadle_source_release(others[i]), TREADLE_OK);
        if (observer) {
            CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
            CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
        }
    }
}
TEST_MAIN()
