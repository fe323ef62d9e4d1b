/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * source_test.c: custom sources: when they are performed, in which order, by whom, and how often. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

/* A source that writes its name to the trace. */
struct named {
    const char *name;
    treadle_source source;
    int performs;
};
static void note(treadle_source source, void *info) {
    struct named *named = info;
    CHECK(source == named->source);
    named->performs++;
    trace("%s", named->name);
}
static void add_named(struct named *named, const char *name, int64_t order) {
    treadle_source_context context = {.struct_size = sizeof context, .info = named, .perform = note, .order = order};
    *named = (struct named){.name = name};
    CHECK_INT(treadle_source_create(&context, &named->source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), named->source, M), TREADLE_OK);
}
static treadle_source add_performer(treadle_perform_fn perform, void *info, int64_t order) {
    treadle_source_context context = {.struct_size = sizeof context, .info = info, .perform = perform, .order = order};
    treadle_source source;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, M), TREADLE_OK);
    return source;
}
static void signal_all(int count, struct named **all) {
    for (int i = 0; i < count; i++) CHECK_INT(treadle_source_signal(all[i]->source), TREADLE_OK);
}

static void count_perform(treadle_source source, void *info) {
    (void)source;
    ++*(int *)info;
}
TEST(signal_outside_of_modes_is_kept, "SRC0-6") {
    treadle_loop loop = treadle_loop_current();
    int performs = 0;
    treadle_source source = make_source(count_perform, &performs);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK); /* coalesces */
    CHECK_INT(treadle_loop_add_source(loop, source, "first"), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(loop, source, "first"), TREADLE_OK);
    CHECK(treadle_source_is_signalled(source)); /* removal does not clear it */
    CHECK_INT(treadle_loop_add_source(loop, source, "first"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, "second"), TREADLE_OK);
    CHECK_INT(poll_mode("second"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(performs, 1);
    CHECK_INT(poll_mode("first"), TREADLE_RUN_TIMED_OUT); /* a flag of the source, not of the mode */
    CHECK_INT(performs, 1);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_IGNORED);
    CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_IGNORED);
    CHECK(!treadle_source_is_signalled(source));
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

struct signaller {
    struct sleep_watch watch;
    treadle_source source;
    treadle_status (*signal)(treadle_source);
    atomic_bool over;
    bool signalled;
};
static void *signal_a_sleeper(void *info) {
    struct signaller *signaller = info;
    while (!is_fast_asleep(&signaller->watch) && !atomic_load(&signaller->over)) sched_yield();
    signaller->signalled = !atomic_load(&signaller->over);
    if (signaller->signalled) CHECK_INT(signaller->signal(signaller->source), TREADLE_OK);
    return NULL;
}

TEST(signal_does_not_wake, "SRC0-6") {
    struct signaller signaller = {.signal = treadle_source_signal};
    struct named a;
    pthread_t thread;
    add_named(&a, "a", 0);
    signaller.source = a.source;
    watch_sleep(&signaller.watch, treadle_loop_current(), M);
    do { /* again if the other thread missed the sleep */
        atomic_store(&signaller.over, false);
        CHECK_INT(pthread_create(&thread, NULL, signal_a_sleeper, &signaller), 0);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(100), 0), TREADLE_RUN_TIMED_OUT);
        atomic_store(&signaller.over, true);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(a.performs, 0);
    } while (!signaller.signalled);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(a.performs, 1);
}

TEST(signal_and_wake_wakes, "SRC0-6 WAKE-1") {
    struct signaller signaller = {.signal = treadle_source_signal_and_wake};
    struct named a;
    pthread_t thread;
    add_named(&a, "a", 0);
    signaller.source = a.source;
    watch_sleep(&signaller.watch, treadle_loop_current(), M);
    CHECK_INT(pthread_create(&thread, NULL, signal_a_sleeper, &signaller), 0);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE),
              TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(a.performs, 1);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST(order_then_time_of_first_signal, "SRC0-7 SRC0-6") {
    struct named a, b, c, d;
    add_named(&a, "a", 5);
    add_named(&b, "b", 5);
    add_named(&c, "c", -1);
    add_named(&d, "d", INT64_MAX);
    signal_all(6, (struct named *[]){&d, &b, &a, &b, &d, &c}); /* the second b and d change nothing */
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("c b a d");
    signal_all(3, (struct named *[]){&a, &b, &a});
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("a b");
}

TEST(return_after_source_leaves_the_others_signalled, "SRC0-7 RUN-6") {
    struct named a, b, c;
    treadle_loop loop = treadle_loop_current();
    add_named(&a, "a", 2);
    add_named(&b, "b", 1);
    add_named(&c, "c", 3);
    signal_all(3, (struct named *[]){&a, &b, &c});
    for (int i = 0; i < 3; i++)
        CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("b a c");
    CHECK(!treadle_source_is_signalled(c.source));
}

static void *signal_source(void *source) {
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    return NULL;
}
static void perform_and_signal_again(treadle_source source, void *info) {
    int *performs = info;
    CHECK(!treadle_source_is_signalled(source)); /* cleared before */
    ++*performs;
    if (*performs == 1) CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    if (*performs == 2) on_thread(signal_source, source);
    CHECK(treadle_source_is_signalled(source) == (*performs < 3));
}
TEST(signal_during_perform_is_a_new_one, "SRC0-8") {
    int performs = 0;
    treadle_source source = add_performer(perform_and_signal_again, &performs, 0);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    for (int pass = 1; pass <= 4; pass++) {
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(performs, pass < 3 ? pass : 3);
    }
}

static void signal_the_next(treadle_source source, void *info) {
    (void)source;
    trace("first");
    CHECK_INT(treadle_source_signal(((struct named *)info)->source), TREADLE_OK);
}
static void stop_after(treadle_observer observer, uint32_t activity, void *info) {
    struct named *named = info;
    (void)observer;
    trace(activity == TREADLE_BEFORE_WAITING ? "sleep" : "pass");
    if (named->performs || activity == TREADLE_BEFORE_WAITING) treadle_loop_stop(treadle_loop_current());
}
TEST(signalled_while_performing_waits_for_the_next_pass, "SRC0-9") {
    struct named early, late;
    add_named(&early, "early", -10); /* neither order makes a source join the pass */
    add_named(&late, "late", 10);
    treadle_source to_early = add_performer(signal_the_next, &early, 0), to_late = add_performer(signal_the_next, &late, 0);
    CHECK_INT(treadle_source_signal(to_early), TREADLE_OK);
    CHECK_INT(treadle_source_signal(to_late), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("first first");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("early late");
    /* The pass that follows comes at once, without a sleep between. */
    late.performs = 0;
    treadle_observer observer = make_observer(stop_after, &late, TREADLE_BEFORE_TIMERS | TREADLE_BEFORE_WAITING);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(to_late), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_TRACE("pass first pass late pass sleep"); /* the stop ends that one */
}

static void poll_nested(treadle_source source, void *info) {
    (void)source, (void)info;
    trace("(");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    trace(")");
}
TEST(what_a_nested_run_performed_is_skipped, "SRC0-10 RUN-13") {
    struct named b, c;
    treadle_source a = add_performer(poll_nested, NULL, 0);
    add_named(&b, "b", 1);
    add_named(&c, "c", 2);
    signal_all(2, (struct named *[]){&b, &c});
    CHECK_INT(treadle_source_signal(a), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("( b c )");
}

/* A source in the loops of two threads. */
struct shared {
    treadle_source source;
    struct worker worker;
    atomic_int performs, running, together;
    atomic_bool hold; /* the worker's perform waits for `go` */
    sem_t entered, go;
};
static void perform_shared(treadle_source source, void *info) {
    struct shared *shared = info;
    (void)source;
    atomic_fetch_add(&shared->performs, 1);
    if (atomic_fetch_add(&shared->running, 1) == 1) atomic_store(&shared->together, 1);
    if (treadle_loop_is_current(shared->worker.loop)) {
        if (atomic_exchange(&shared->hold, false)) {
            sem_post(&shared->entered);
            await(&shared->go);
        }
    }
    atomic_fetch_sub(&shared->running, 1);
}
static void share(struct shared *shared) {
    memset(shared, 0, sizeof *shared);
    sem_init(&shared->entered, 0, 0);
    sem_init(&shared->go, 0, 0);
    worker_start(&shared->worker);
    shared->source = add_performer(perform_shared, shared, 1);
    CHECK_INT(treadle_loop_add_source(shared->worker.loop, shared->source, M), TREADLE_OK);
}
static void stop_sharing(struct shared *shared) {
    CHECK_INT(treadle_source_invalidate(shared->source), TREADLE_OK);
    CHECK_INT(treadle_source_release(shared->source), TREADLE_OK);
    worker_stop(&shared->worker);
}
static void post_semaphore(void *semaphore) { sem_post(semaphore); }

TEST(one_signal_is_one_perform_in_two_loops, "SRC0-11") {
    static struct shared shared;
    share(&shared);
    sem_t passed;
    sem_init(&passed, 0, 0);
    for (int i = 1; i <= scaled(2000) && rounds_go_on(); i++) {
        CHECK_INT(treadle_source_signal_and_wake(shared.source), TREADLE_OK);
        poll_mode(M);
        CHECK_INT(treadle_loop_post(shared.worker.loop, post_semaphore, &passed), TREADLE_OK);
        await(&passed); /* a block of a pass that began after the signal */
        while (treadle_source_is_signalled(shared.source)) sched_yield();
        while (atomic_load(&shared.performs) < i) sched_yield();
        CHECK_INT(shared.performs, i);
    }
    stop_sharing(&shared);
}

TEST(two_loops_perform_at_the_same_time, "SRC0-11") {
    static struct shared shared;
    share(&shared);
    atomic_store(&shared.hold, true);
    CHECK_INT(treadle_source_signal_and_wake(shared.source), TREADLE_OK);
    await(&shared.entered);
    CHECK_INT(treadle_source_signal(shared.source), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(shared.performs, 2);
    CHECK_INT(shared.together, 1);
    sem_post(&shared.go);
    stop_sharing(&shared);
}

static void let_the_other_loop_perform(treadle_source source, void *info) {
    struct shared *shared = info;
    (void)source;
    CHECK(treadle_source_is_signalled(shared->source)); /* collected for this pass already */
    treadle_loop_wake(shared->worker.loop);
    while (atomic_load(&shared->performs) == 0) sched_yield();
}
TEST(what_another_loop_performed_is_skipped, "SRC0-10") {
    static struct shared shared;
    share(&shared);
    worker_await_sleep(&shared.worker);
    CHECK_INT(treadle_source_signal(shared.source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(add_performer(let_the_other_loop_perform, &shared, 0)), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(shared.performs, 1);
    stop_sharing(&shared);
}

static void perform_recursively(treadle_source source, void *info) {
    int *depth = info;
    trace("%d", ++*depth);
    if (*depth < 4) {
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    }
    trace("-%d", (*depth)--);
}
TEST(a_source_may_be_performed_recursively, "SRC0-12") {
    int depth = 0;
    CHECK_INT(treadle_source_signal(add_performer(perform_recursively, &depth, 0)), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 2 3 4 -4 -3 -2 -1");
}

static bool wakes_too;
static void signal_before_waiting(treadle_observer observer, uint32_t activity, void *info) {
    (void)activity;
    treadle_observer_invalidate(observer);
    CHECK_INT(treadle_source_signal(((struct named *)info)->source), TREADLE_OK);
    if (wakes_too) CHECK_INT(treadle_loop_wake(treadle_loop_current()), TREADLE_OK);
}
TEST(signal_before_the_sleep_is_not_lost, "SRC0-13 WAKE-4") {
    struct named a;
    treadle_loop loop = treadle_loop_current();
    add_named(&a, "a", 0);
    for (int round = 0; round < 2; round++) {
        wakes_too = round == 1;
        treadle_observer observer = make_observer(signal_before_waiting, &a, TREADLE_BEFORE_WAITING);
        CHECK_INT(treadle_loop_add_observer(loop, observer, M), TREADLE_OK);
        if (wakes_too) { /* with a wake it must not wait for anything */
            CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        } else { /* without one it may sleep first; either way it is performed once */
            while (treadle_is_valid(observer)) CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(20), 0), TREADLE_RUN_TIMED_OUT);
            CHECK(a.performs == 1 || treadle_source_is_signalled(a.source));
            CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        }
        CHECK_INT(a.performs, round + 1);
        CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    }
}

TEST(queries_of_signal_and_order, "SRC0-14 OBJ-5") {
    struct named a;
    int64_t order = 0;
    add_named(&a, "a", INT64_MIN);
    CHECK(!treadle_source_is_signalled(a.source));
    CHECK_INT(treadle_source_signal(a.source), TREADLE_OK);
    CHECK(treadle_source_is_signalled(a.source));
    CHECK(treadle_source_is_signalled(a.source)); /* asking changes nothing */
    CHECK_INT(treadle_source_invalidate(a.source), TREADLE_OK);
    CHECK(!treadle_source_is_signalled(a.source));
    CHECK_INT(treadle_source_get_order(a.source, &order), TREADLE_OK);
    CHECK_INT(order, INT64_MIN);
    CHECK(!treadle_source_is_signalled(NULL));
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
    CHECK_TRACE("");
}

TEST_MAIN()
