/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal_threads_test.c: sources that the thread of their loop signals, and that another thread signals, asks, moves, ends
 * or gives up, one after the other and at the same moment. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE
#define SECOND "test.second"
enum { MANY = 8 };

static treadle_loop loop;
static treadle_source sources[MANY];

static void signal_own(int number) { CHECK_INT(treadle_source_signal(sources[number]), TREADLE_OK); }
static void poll_for(const char *mode, const char *expected) {
    CHECK_INT(poll_mode(mode), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE(expected);
}
/* The info of each is its number. */
static void add_sources(int count, treadle_perform_fn perform) {
    loop = treadle_loop_current();
    for (intptr_t i = 0; i < count; i++) {
        sources[i] = make_source(perform, (void *)i);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
    }
}

/* On another thread. */
static void *signal_there(void *source) {
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    return NULL;
}
static void *leave_there(void *source) {
    CHECK_INT(treadle_loop_remove_source(loop, source, MODE), TREADLE_OK);
    return NULL;
}

static void (*scene)(void); /* what the next callback of source 0 does besides */

static void note(treadle_source source, void *info) {
    (void)source;
    trace("%d", (int)(intptr_t)info);
    if ((intptr_t)info == 0 && scene) {
        void (*now)(void) = scene;
        scene = NULL;
        now();
    }
}
/* --- One thing after the other --------------------------------------------------------------------- */

static void *join_there(void *source) {
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    return NULL;
}
static void *ask_there(void *source) { return treadle_source_is_signalled(source) ? source : NULL; }
static void *invalidate_there(void *source) {
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    return NULL;
}
static void *join_second_there(void *source) {
    CHECK_INT(treadle_loop_add_source(loop, source, SECOND), TREADLE_OK);
    return NULL;
}

TEST(a_signal_of_another_thread_joins_the_owner_s, "SRC0-6 SRC0-7") {
    add_sources(3, note);
    for (int round = 0; round < 3; round++) {
        /* The first signal's time counts, whoever gives it. */
        signal_own(0), signal_own(1);
        on_thread(signal_there, sources[0]);
        on_thread(signal_there, sources[2]);
        signal_own(2);
        poll_for(MODE, "0 1 2");
        poll_for(MODE, "");
        on_thread(signal_there, sources[1]);
        signal_own(0), signal_own(1);
        poll_for(MODE, "1 0");
    }
}
TEST(others_see_the_owner_s_signal, "SRC0-14") {
    add_sources(2, note);
    signal_own(0);
    CHECK(on_thread(ask_there, sources[0]) && !on_thread(ask_there, sources[1]));
    CHECK(treadle_source_is_signalled(sources[0]));
    poll_for(MODE, "0");
    CHECK(!on_thread(ask_there, sources[0]));
    signal_own(0);
    on_thread(invalidate_there, sources[0]);
    CHECK(!treadle_source_is_signalled(sources[0]));
}
TEST(a_signal_goes_with_a_source_that_another_thread_moves, "SRC0-6 SRC0-10 MODE-6") {
    add_sources(2, note);
    signal_own(0), signal_own(1);
    on_thread(leave_there, sources[0]);
    poll_for(MODE, "1");
    on_thread(join_there, sources[0]);
    poll_for(MODE, "0");
    poll_for(MODE, "");
    /* Without a signal, too. */
    on_thread(leave_there, sources[1]);
    on_thread(join_there, sources[1]);
    poll_for(MODE, "");
    signal_own(1), signal_own(0);
    poll_for(MODE, "1 0");
}
static void *perform_there(void *source) {
    treadle_loop there = treadle_loop_current();
    CHECK_INT(treadle_loop_remove_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(there, source, MODE), TREADLE_OK);
    poll_for(MODE, "0");
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    poll_for(MODE, "0");
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(there, source, MODE), TREADLE_OK);
    return NULL;
}
TEST(a_signal_goes_to_another_loop, "SRC0-6 SRC0-11 MODE-5") {
    add_sources(2, note);
    signal_own(0), signal_own(1);
    on_thread(perform_there, sources[0]);
    poll_for(MODE, "1");
    CHECK_INT(treadle_loop_add_source(loop, sources[0], MODE), TREADLE_OK);
    poll_for(MODE, "0");
}
TEST(a_signal_counts_in_a_second_mode, "SRC0-6 SRC0-11 MODE-4") {
    add_sources(2, note);
    signal_own(0), signal_own(1);
    on_thread(join_second_there, sources[0]);
    CHECK_INT(treadle_loop_add_source(loop, sources[1], SECOND), TREADLE_OK);
    poll_for(SECOND, "0 1");
    poll_for(MODE, "");
    signal_own(1), signal_own(0);
    poll_for(MODE, "1 0");
    poll_for(SECOND, "");
}
TEST(an_invalid_source_is_not_performed, "SRC0-4 SRC0-14 OBJ-5") {
    add_sources(2, note);
    signal_own(0), signal_own(1);
    on_thread(invalidate_there, sources[0]);
    poll_for(MODE, "1");
    CHECK_INT(treadle_source_signal(sources[0]), TREADLE_IGNORED);
    poll_for(MODE, "");
}

/* --- In a callback --------------------------------------------------------------------------------- */

static void signal_itself_and_others(void) { signal_own(1), signal_own(0), signal_own(2); }
static void run_inside(void) {
    signal_own(0);
    poll_for(MODE, "0 1 2 0");
    signal_own(0); /* after the run inside of it */
}
static void move_itself(void) {
    signal_own(0);
    on_thread(leave_there, sources[0]);
    CHECK_INT(treadle_source_signal(sources[0]), TREADLE_OK);
    on_thread(join_there, sources[0]);
    signal_own(0);
}
static void signal_elsewhere(void) {
    signal_own(0);
    on_thread(signal_there, sources[0]);
    on_thread(signal_there, sources[1]); /* collected, but not performed yet: the same signal still */
    signal_own(0);
}
static void take_out_the_next(void) { on_thread(leave_there, sources[1]); }
TEST(sources_signal_themselves_and_each_other, "SRC0-8 SRC0-9 SRC0-12 RUN-13") {
    add_sources(3, note);
    for (int round = 0; round < 3; round++) {
        scene = signal_itself_and_others;
        signal_own(0), signal_own(1), signal_own(2);
        poll_for(MODE, "0 1 2");
        poll_for(MODE, "0"); /* the others had not been performed yet when they were signalled once more */
        scene = run_inside;
        signal_own(0), signal_own(1), signal_own(2);
        poll_for(MODE, "");
        poll_for(MODE, "0");
        scene = move_itself;
        signal_own(0), signal_own(1);
        poll_for(MODE, "0 1");
        poll_for(MODE, "0");
        scene = signal_elsewhere;
        signal_own(0), signal_own(1);
        poll_for(MODE, "0 1");
        poll_for(MODE, "0");
        poll_for(MODE, "");
    }
}
TEST(what_another_thread_takes_out_of_a_pass_is_not_performed, "SRC0-7 OBJ-9 MODE-10") {
    add_sources(3, note);
    scene = take_out_the_next;
    signal_own(0), signal_own(1), signal_own(2);
    poll_for(MODE, "0 2");
    on_thread(join_there, sources[1]);
    poll_for(MODE, "1");
}

/* The handle of a source means nothing any more once it is gone, though it be the source that is being performed. */
static treadle_source replacements[64];
static void perish(void) {
    treadle_source old = sources[0];
    signal_own(0);
    CHECK_INT(treadle_source_invalidate(old), TREADLE_OK);
    CHECK_INT(treadle_source_release(old), TREADLE_OK);
    poll_for(MODE, "0 1"); /* another run, in which other sources are performed */
    for (int i = 0; i < 64; i++) {
        replacements[i] = make_source(note, (void *)(intptr_t)(100 + i));
        CHECK_INT(treadle_loop_add_source(loop, replacements[i], MODE), TREADLE_OK);
    }
    CHECK(treadle_source_signal(old) != TREADLE_OK);
    CHECK(!treadle_source_is_valid(old));
}
TEST(the_handle_of_a_source_that_is_gone_means_nothing, "OBJ-4 SRC0-4 ABI-5") {
    add_sources(2, note);
    scene = perish;
    signal_own(0), signal_own(1);
    poll_for(MODE, "");
    CHECK(treadle_source_signal(sources[0]) != TREADLE_OK);
    poll_for(MODE, "");
}
/* So many others have had its place that the next one looks like it in all but the handle. */
TEST(the_handle_of_the_source_performed_last_means_nothing_once_it_is_gone, "OBJ-4 ABI-5") {
    add_sources(1, note);
    treadle_source old = sources[0];
    signal_own(0);
    poll_for(MODE, "0");
    CHECK_INT(treadle_source_invalidate(old), TREADLE_OK);
    CHECK_INT(treadle_source_release(old), TREADLE_OK);
    for (int i = 0; i < 127; i++) {
        treadle_source other = make_source(note, (void *)1);
        CHECK_INT(treadle_loop_add_source(loop, other, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_invalidate(other), TREADLE_OK);
        CHECK_INT(treadle_source_release(other), TREADLE_OK);
    }
    sources[1] = make_source(note, (void *)1);
    CHECK_INT(treadle_loop_add_source(loop, sources[1], MODE), TREADLE_OK);
    signal_own(1);
    CHECK_INT(treadle_source_signal(old), TREADLE_E_STALE);
    poll_for(MODE, "1");
    CHECK_INT(treadle_source_signal(old), TREADLE_E_STALE);
    poll_for(MODE, "");
}
static void *give_up_there(void *source) {
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return NULL;
}
static void perish_elsewhere(void) {
    signal_own(0);
    on_thread(give_up_there, sources[0]);
    CHECK(treadle_source_signal(sources[0]) != TREADLE_OK);
}
TEST(a_source_may_be_given_up_while_it_is_performed, "OBJ-3 OBJ-4 SRC0-4") {
    add_sources(2, note);
    scene = perish_elsewhere;
    signal_own(0), signal_own(1);
    poll_for(MODE, "0 1");
    poll_for(MODE, "");
}

static void fork_inside(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_INT(treadle_source_signal(sources[0]), TREADLE_E_FORKED);
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        CHECK(treadle_source_signal(sources[0]) < 0);
        _exit(0);
    }
    int status = 1;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    signal_own(0);
}
TEST(the_child_of_a_fork_in_a_callback_has_no_source, "RL-11") {
    add_sources(1, note);
    scene = fork_inside;
    signal_own(0);
    poll_for(MODE, "0");
    poll_for(MODE, "0");
}

/* --- While it waits -------------------------------------------------------------------------------- */

/* A thread that signals source 1 again and again while the loop cannot perform it, since it is in the callback of source 0; then, as soon
 * as the loop sleeps in the second mode, once more: that coalesces, and ends the sleep all the same. */
static struct sleep_watch second_sleep;
static sem_t has_signalled;
static pthread_t waker;
static void *signal_and_wake_later(void *unused) {
    for (int i = 0; i < 200; i++) CHECK_INT(treadle_source_signal_and_wake(sources[1]), TREADLE_OK);
    CHECK_INT(sem_post(&has_signalled), 0);
    await_sleep(&second_sleep);
    CHECK_INT(treadle_source_signal_and_wake(sources[1]), TREADLE_OK);
    return unused;
}
static void begin_burst(void) {
    CHECK_INT(pthread_create(&waker, NULL, signal_and_wake_later, NULL), 0);
    await(&has_signalled);
}
static void stop_at_second_look(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    if (++*(int *)info == 2) CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
}
/* Each pass begins with a look, and the second one comes by a wake-up alone. */
static void run_second_until_woken(void) {
    int looks = 0;
    treadle_observer observer = make_observer(stop_at_second_look, &looks, TREADLE_BEFORE_TIMERS);
    CHECK_INT(treadle_loop_add_observer(loop, observer, SECOND), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, SECOND, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(pthread_join(waker, NULL), 0);
    CHECK_INT(looks, 2);
    CHECK_INT(discard(observer), TREADLE_OK);
}
static void run_inside_until_woken(void) { begin_burst(), run_second_until_woken(); }
static void stop_in_the_burst(void) {
    begin_burst();
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
}
static void move_in_the_burst(void) {
    begin_burst();
    CHECK_INT(treadle_loop_remove_source(loop, sources[1], MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, sources[1], "third"), TREADLE_OK);
    run_second_until_woken();
}
TEST(one_signal_more_wakes_a_run_that_does_not_perform_it, "WAKE-1 WAKE-2 SRC0-6") {
    static const struct { void (*scene)(void); treadle_status result; const char *performs_it; } rows[] = {
        {run_inside_until_woken, TREADLE_RUN_TIMED_OUT, MODE}, {stop_in_the_burst, TREADLE_RUN_STOPPED, MODE},
        {move_in_the_burst, TREADLE_RUN_TIMED_OUT, "third"}};
    add_sources(3, note);
    CHECK_INT(treadle_loop_add_source(loop, sources[2], SECOND), TREADLE_OK); /* which is not empty by that */
    CHECK_INT(sem_init(&has_signalled, 0, 0), 0);
    watch_sleep(&second_sleep, loop, SECOND);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scene = rows[i].scene;
        signal_own(0);
        CHECK_INT(poll_mode(MODE), rows[i].result);
        if (rows[i].result == TREADLE_RUN_STOPPED) run_second_until_woken(); /* and its first sleep was one: WAKE-2 */
        CHECK_TRACE("0");
        poll_for(rows[i].performs_it, "1");
    }
    unwatch_sleep(&second_sleep);
}

/* --- At the same moment ---------------------------------------------------------------------------- */

/* A thread whose sources signal themselves, so that each has exactly one signal at any time, except while it is being
 * performed; and one that takes them away. */
static atomic_long performed[MANY];
static void go_on(treadle_source source, void *info) {
    /* A second signal would be one that was there twice. */
    CHECK(!treadle_source_is_signalled(source));
    atomic_fetch_add(&performed[(intptr_t)info], 1);
    CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
}
static void *run_them(void *info) {
    (void)info;
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    return NULL;
}
static pthread_t owner;
static sem_t is_ready;
static void *own_them(void *info) {
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    for (intptr_t i = 0; i < MANY; i++) {
        sources[i] = make_source(go_on, (void *)i);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
        signal_own((int)i);
    }
    CHECK_INT(sem_post(&is_ready), 0);
    return run_them(info);
}
static void start_owner(void) {
    CHECK_INT(sem_init(&is_ready, 0, 0), 0);
    CHECK_INT(treadle_source_release(make_source(NULL, NULL)), TREADLE_OK); /* before there is a second thread */
    CHECK_INT(pthread_create(&owner, NULL, own_them, NULL), 0);
    await(&is_ready);
}
static void stop_owner(void) {
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    CHECK_INT(pthread_join(owner, NULL), 0);
    for (int i = 0; i < MANY; i++) CHECK_INT(treadle_source_release(sources[i]), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}
static unsigned seed = 1;
static unsigned random_below(unsigned limit) { return (unsigned)rand_r(&seed) % limit; }
static void await_performs(int number, long count) {
    long goal = atomic_load(&performed[number]) + count;
    while (atomic_load(&performed[number]) < goal) sched_yield();
}
static void pause_a_moment(void) {
    for (volatile unsigned i = random_below(3000); i > 0; i--) {}
}
/* Each signal is the owner's own, given in the callback, while another thread changes the modes: the explorer has the steps of a signal of
 * another thread (signal.c, second_modes.c), and those of an end (signal.c, callee.c). */
TEST(no_own_signal_is_lost_or_doubled_by_a_change_of_modes, "SRC0-6 SRC0-8 SRC0-10 SRC0-11 OBJ-6 MODE-5 MODE-10") {
    start_owner();
    treadle_loop here = treadle_loop_current();
    for (int round = scaled(500); round > 0; round--) {
        int number = (int)random_below(MANY), change = (int)random_below(4);
        pause_a_moment();
        if (change > 0) CHECK_INT(treadle_loop_remove_source(loop, sources[number], MODE), TREADLE_OK);
        switch (change) {
        case 0:
        case 1: /* a second mode, beside the first and in its place */
            CHECK_INT(treadle_loop_add_source(loop, sources[number], SECOND), TREADLE_OK);
            pause_a_moment();
            CHECK_INT(treadle_loop_remove_source(loop, sources[number], SECOND), TREADLE_OK);
            break;
        case 2: /* its signals are this thread's for a while */
            CHECK_INT(treadle_loop_add_source(here, sources[number], MODE), TREADLE_OK);
            for (int i = (int)random_below(40); i > 0; i--) CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
            CHECK_INT(treadle_loop_remove_source(here, sources[number], MODE), TREADLE_OK);
            break;
        default: pause_a_moment();
        }
        if (change > 0) CHECK_INT(treadle_loop_add_source(loop, sources[number], MODE), TREADLE_OK);
        await_performs(number, 3);
    }
    stop_owner();
}

/* Rows of signals, faster than the loop performs their source; behind each the last value must be seen, though nobody signals again. */
static atomic_long written, wanted;
static sem_t last_is_seen;
static void look(treadle_source source, void *info) {
    long *last_seen = info, value = atomic_load_explicit(&written, memory_order_relaxed);
    (void)source;
    if (value == *last_seen) return;
    CHECK(value > *last_seen);
    *last_seen = value;
    if (value == atomic_load(&wanted)) CHECK_INT(sem_post(&last_is_seen), 0);
}
TEST(the_last_signal_of_a_burst_is_seen, "SRC0-6 SRC0-8 WAKE-1 WAKE-3") {
    struct worker worker;
    long last_seen = 0;
    treadle_source source = make_source(look, &last_seen);
    CHECK_INT(sem_init(&last_is_seen, 0, 0), 0);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_source(worker.loop, source, MODE), TREADLE_OK);
    for (int row = scaled(50000); row > 0; row--) {
        long value = atomic_load(&written), count = random_below(4) ? 1 + (long)random_below(400) : 1;
        atomic_store(&wanted, value + count);
        for (; count > 0; count--) {
            atomic_store_explicit(&written, ++value, memory_order_relaxed);
            CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        }
        await(&last_is_seen);
    }
    worker_stop(&worker);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

TEST_MAIN()
