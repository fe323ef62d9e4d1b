/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * run_exit_test.c: the table of exits, emptied modes, overrun deadlines, interrupted sleeps. */
#include "scene.h"

/* One row of RUN-8's table: who is in the mode, how it is run, and everything that is notified. */
struct row {
    const char *cause;
    actor cast;
    bool keeper, signalled;
    deed outside; /* done by another thread during the first sleep */
    int64_t timeout_ns;
    uint32_t flags;
    const char *expected;
};
static struct row rows[] = {
    {"empty on entry", {OBSERVER}, .timeout_ns = TREADLE_FOREVER, .expected = "finished"},
    {"emptied by a source", {SOURCE, "source", {{INVALIDATE}}}, .signalled = true, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources source exit finished"},
    {"emptied by a timer", {TIMER, "timer"}, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources sleep wake timer exit finished"},
    {"emptied by a descriptor source", {DESCRIPTOR, "descriptor", {{INVALIDATE}}}, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources descriptor exit finished"},
    {"emptied by its last block", {BLOCK, "block"}, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources block exit finished"},
    {"stopped on entry", {OBSERVER, "x", {{STOP}}, .activities = TREADLE_ENTRY}, .keeper = true,
     .timeout_ns = TREADLE_FOREVER, .expected = "entry x exit stopped"},
    {"stopped before timers", {OBSERVER, "x", {{STOP}}, .activities = TREADLE_BEFORE_TIMERS}, .keeper = true,
     .timeout_ns = TREADLE_FOREVER, .expected = "entry timers x sources sleep wake exit stopped"},
    {"stopped before the sleep", {OBSERVER, "x", {{STOP}}, .activities = TREADLE_BEFORE_WAITING}, .keeper = true,
     .timeout_ns = TREADLE_FOREVER, .expected = "entry timers sources sleep x wake exit stopped"},
    {"stopped by a source", {SOURCE, "source", {{STOP}}}, .signalled = true, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources source exit stopped"},
    {"stopped by a block", {BLOCK, "block", {{STOP}}}, .keeper = true, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources block sleep wake exit stopped"},
    {"stopped by a timer", {TIMER, "timer", {{STOP}}, .interval = FAR}, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources sleep wake timer exit stopped"},
    {"stopped by a descriptor source", {DESCRIPTOR, "descriptor", {{STOP}}}, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources descriptor exit stopped"},
    {"stopped by another thread while asleep", {SOURCE, "source"}, .outside = {STOP}, .timeout_ns = TREADLE_FOREVER,
     .expected = "entry timers sources sleep wake exit stopped"},
    {"a positive timeout", {SOURCE, "source"}, .timeout_ns = MILLISECONDS(20),
     .expected = "entry timers sources sleep wake exit timed-out"},
    {"no timeout", {SOURCE, "source"}, .expected = "entry timers sources exit timed-out"},
    {"no timeout, after a source", {SOURCE, "source"}, .signalled = true,
     .expected = "entry timers sources source exit timed-out"},
    {"a source was handled", {SOURCE, "source"}, .signalled = true, .timeout_ns = TREADLE_FOREVER,
        .flags = AFTER_SOURCE,
     .expected = "entry timers sources source exit handled"},
    {"a source was handled in a poll", {SOURCE, "source"}, .signalled = true, .flags = AFTER_SOURCE,
     .expected = "entry timers sources source exit handled"},
    {"a ready descriptor source was handled", {DESCRIPTOR, "descriptor"}, .timeout_ns = TREADLE_FOREVER,
     .flags = AFTER_SOURCE, .expected = "entry timers sources descriptor exit handled"},
    {"a descriptor source became ready in the sleep", {DESCRIPTOR, "descriptor", .idle = true}, .outside = {FEED},
     .timeout_ns = TREADLE_FOREVER, .flags = AFTER_SOURCE,
     .expected = "entry timers sources sleep wake descriptor exit handled"},
};

TEST(each_exit_has_its_notifications, "RUN-8 RUN-1 OBS-9 STOP-5 PASS-14") {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct row *row = &rows[i];
        struct outsider outsider = {.does = {row->outside}};
        watch_mode(row->cause); /* each row has a mode of its own */
        if (row->keeper) keep_mode(row->cause);
        if (row->cast.kind == BLOCK) PERFORM(QUEUE, &row->cast, row->cause);
        else if (row->cast.kind != OBSERVER || row->cast.name) enter(&row->cast, row->cause);
        if (row->signalled) PERFORM(SIGNAL, &row->cast);
        if (row->outside.verb) {
            outsider.does[0].whom = &row->cast;
            outsider_start(&outsider, row->cause);
        }
        if (row->timeout_ns > 0 && row->timeout_ns < TREADLE_FOREVER) play_through_a_sleep(row->cause, row->timeout_ns);
        else play(row->cause, row->timeout_ns, row->flags);
        if (row->outside.verb) outsider_join(&outsider);
        if (strcmp(trace_text, row->expected) != 0) fprintf(stderr, "%s:\n", row->cause);
        CHECK_TRACE(row->expected);
    }
}

static void overrun(actor *self) { idle_until(self->called_at + MILLISECONDS(40)); }
static actor late = {TIMER, "late", {{CALL, .call = overrun}}};

TEST(a_nested_run_that_overruns_the_deadline_costs_no_sleep, "RUN-9 RUN-12 PASS-7 D-12") {
    static actor block = {BLOCK, "block", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    enter(&late, MODE_B); /* ends the inner run, after the outer's deadline */
    PERFORM(QUEUE, &block);
    play(MODE_A, MILLISECONDS(20), 0);
    CHECK_TRACE("entry timers sources block ( late )finished exit timed-out");
}

TEST(a_nested_run_before_the_sleep_does_not_swallow_the_deadline, "RUN-9 D-12") {
    static actor observer = {OBSERVER, NULL, {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}, TREADLE_BEFORE_WAITING};
    enter(&observer, MODE_A);
    keep_mode(MODE_A);
    enter(&late, MODE_B);
    play(MODE_A, MILLISECONDS(30), 0);
    /* If the thread was held up for 30 ms before the sleep, there was no sleep to begin with. */
    if (!late.calls) trace_clear();
    else CHECK_TRACE("entry timers sources sleep ( late )finished wake exit timed-out");
}

TEST(a_nested_run_inside_the_deadline_does_not_swallow_it, "RUN-9 D-12") {
    static actor inner = {TIMER, "inner"}, block = {BLOCK, "block", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    keep_mode(MODE_A);
    enter(&inner, MODE_B);
    PERFORM(QUEUE, &block);
    int64_t before = treadle_time_now();
    play(MODE_A, MILLISECONDS(40), 0);
    CHECK(treadle_time_now() >= before + MILLISECONDS(40));
    CHECK_TRACE("block ( inner )finished timed-out");
}

TEST(a_run_with_nothing_but_blocks_is_finished, "RUN-10 PASS-7 D-07") {
    static actor one = {BLOCK, "one"};
    watch_mode(MODE_A);
    PERFORM(QUEUE, &one);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources one exit finished");
    PERFORM(QUEUE, &one);
    play(MODE_A, 0, 0);
    CHECK_TRACE("entry timers sources one exit timed-out");
    /* A pending wake-up, like a stop, still has its effect. */
    static actor waker = {BLOCK, "waker", {{WAKE}}}, stopper = {BLOCK, "stopper", {{STOP}}};
    PERFORM(QUEUE, &waker);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources waker sleep wake exit finished");
    PERFORM(QUEUE, &stopper);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK(strstr(trace_text, "stopper") && strstr(trace_text, "exit stopped"));
}

TEST(a_mode_emptied_before_the_sleep_is_not_slept_in, "RUN-10 D-07") {
    static actor keeper = {SOURCE, "keeper"};
    static actor observer = {OBSERVER, NULL, {{REMOVE, &keeper}}, TREADLE_BEFORE_WAITING};
    enter(&observer, MODE_A);
    enter(&keeper, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0); /* a sleep would never end */
    CHECK_TRACE("entry timers sources sleep wake exit finished");
    /* The same one step earlier: then the sleep is not even announced. */
    static actor second = {OBSERVER, NULL, {{REMOVE, &keeper, MODE_B}}, TREADLE_BEFORE_SOURCES};
    enter(&second, MODE_B);
    enter(&keeper, MODE_B);
    play(MODE_B, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources exit finished");
}

/* Signals. The handler is installed without SA_RESTART, so that the kernel's wait fails with EINTR. */
static atomic_int handled;
static void on_signal(int number) {
    (void)number;
    atomic_fetch_add(&handled, 1);
}
struct signaller {
    struct sleep_watch watch;
    pthread_t target, thread;
    int32_t target_id;
    atomic_bool done;
};
static void catch_signal(struct signaller *signaller) {
    struct sigaction action = {.sa_handler = on_signal};
    signaller->target = pthread_self();
    signaller->target_id = thread_id();
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
}
/* Returns when the kernel has delivered the signal. (The handler itself may run later under a sanitizer.) */
static void deliver_signal(struct signaller *signaller) {
    char name[64], line[256];
    unsigned long long pending = 1;
    CHECK_INT(pthread_kill(signaller->target, SIGUSR1), 0);
    snprintf(name, sizeof name, "/proc/self/task/%d/status", signaller->target_id);
    while (pending) {
        FILE *file = fopen(name, "r");
        CHECK(file);
        while (fgets(line, sizeof line, file) && sscanf(line, "SigPnd: %llx", &pending) != 1) {}
        fclose(file);
    }
}
static void *interrupt_and_stop(void *info) {
    struct signaller *signaller = info;
    for (int i = 0; i < 50; i++) {
        await_sleep(&signaller->watch);
        deliver_signal(signaller);
    }
    CHECK_INT(treadle_loop_stop(the_stage()), TREADLE_OK);
    return NULL;
}
static void *interrupt_until_done(void *info) {
    struct signaller *signaller = info;
    while (!atomic_load(&signaller->done)) deliver_signal(signaller);
    return NULL;
}

TEST(a_signal_is_no_wake_up, "RUN-14") {
    struct signaller signaller = {0};
    catch_signal(&signaller);
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    watch_sleep(&signaller.watch, the_stage(), MODE_A);
    CHECK_INT(pthread_create(&signaller.thread, NULL, interrupt_and_stop, &signaller), 0);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_INT(pthread_join(signaller.thread, NULL), 0);
    CHECK_TRACE("entry timers sources sleep wake exit stopped");
    CHECK(atomic_load(&handled) > 0);
}

TEST(a_signal_does_not_move_the_deadline, "RUN-14 RUN-11") {
    struct signaller signaller = {0};
    catch_signal(&signaller);
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    CHECK_INT(pthread_create(&signaller.thread, NULL, interrupt_until_done, &signaller), 0);
    int64_t before = treadle_time_now();
    play_through_a_sleep(MODE_A, MILLISECONDS(100)); /* a wait restarted in full would never end */
    CHECK(treadle_time_now() >= before + MILLISECONDS(100));
    atomic_store(&signaller.done, true);
    CHECK_INT(pthread_join(signaller.thread, NULL), 0);
    CHECK_TRACE("entry timers sources sleep wake exit timed-out");
}

TEST(a_run_returns_on_a_signal_if_asked, "RUN-14 ABI-4") {
    struct signaller signaller = {0};
    catch_signal(&signaller);
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    /* Many signals: one that comes just before the kernel's wait begins does not count. */
    CHECK_INT(pthread_create(&signaller.thread, NULL, interrupt_until_done, &signaller), 0);
    play(MODE_A, TREADLE_FOREVER, TREADLE_RUN_RETURN_ON_INTERRUPT);
    atomic_store(&signaller.done, true);
    CHECK_INT(pthread_join(signaller.thread, NULL), 0);
    CHECK_TRACE("entry timers sources sleep wake exit interrupted");
}

TEST_MAIN()
