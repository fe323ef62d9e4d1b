/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * wake_test.c: wake-ups: which sleep they end, which not, and that none is lost. */
#include "scene.h"

TEST(a_wake_up_ends_the_sleep, "WAKE-1 WAKE-5 PASS-11") {
    struct outsider outsider = {.does = {{WAKE}, {WAKE}, {STOP}}};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE);
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources sleep wake timers sources sleep wake timers sources sleep wake exit stopped");
}

/* The callback waits until another thread has woken the loop: a wake-up ahead of the sleep. */
static void *wake_the_stage(void *unused) {
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_loop_wake(the_stage()), TREADLE_OK);
    return unused;
}
static void have_it_woken(actor *self) { on_thread(wake_the_stage, self); }

TEST(a_wake_up_ends_the_next_sleep, "WAKE-1 WAKE-3 WAKE-4") {
    static const uint32_t activities[] = {TREADLE_BEFORE_TIMERS, TREADLE_BEFORE_SOURCES, TREADLE_BEFORE_WAITING};
    static const char *modes[] = {"timers", "sources", "sleep"};
    for (int i = 0; i < 3; i++) {
        static actor wakers[3], stoppers[3];
        wakers[i] = (actor){OBSERVER, "x", {{CALL, .call = have_it_woken}}, .activities = activities[i]};
        stoppers[i] = (actor){OBSERVER, "", {{STOP}}, .skip = 1, .activities = TREADLE_BEFORE_WAITING};
        watch_mode(modes[i]);
        enter(&wakers[i], modes[i]);
        enter(&stoppers[i], modes[i]);
        keep_mode(modes[i]);
        play(modes[i], TREADLE_FOREVER, 0); /* three wake-ups, one sleep that ends at once */
    }
    CHECK_TRACE("entry timers x sources sleep wake timers x sources sleep wake exit stopped "
                "entry timers sources x sleep wake timers sources x sleep wake exit stopped "
                "entry timers sources sleep x wake timers sources sleep x wake exit stopped");
}

TEST(a_wake_up_by_a_block_ends_the_next_sleep, "WAKE-4 WAKE-5") {
    static actor waker = {BLOCK, "waker", {{WAKE}}};
    static actor stopper = {OBSERVER, "", {{STOP}}, .skip = 1, .activities = TREADLE_BEFORE_WAITING};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    enter(&stopper, MODE_A);
    PERFORM(QUEUE, &waker);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources waker sleep wake timers sources sleep wake exit stopped");
}

TEST(a_wake_up_without_a_run_is_ignored, "WAKE-2 WAKE-3") {
    static actor block = {BLOCK, "block"};
    watch_mode(MODE_A);
    PERFORM(WAKE);
    on_thread(wake_the_stage, NULL);
    PERFORM(QUEUE, &block);
    play(MODE_A, TREADLE_FOREVER, 0); /* a pending wake-up would show as a sleep (RUN-10) */
    CHECK_TRACE("entry timers sources block exit finished");
    stop_later(MODE_A);
    PERFORM(WAKE);
    play(MODE_A, TREADLE_FOREVER, 0); /* and here as a second pass */
    CHECK_TRACE("entry timers sources sleep wake later exit stopped");
}

TEST(a_wake_up_after_the_sleep_is_ignored, "WAKE-3") {
    /* The loop looks at everything again anyway; a second sleep that is cut short would show as a third pass. */
    static actor ender = {TIMER, "ender", {{STOP}}, .after = FAR}, block = {BLOCK, "block", {{WAKE}}};
    static actor timer = {TIMER, "timer", {{WAKE}, {QUEUE, &block}, {MOVE, &ender, .ns = MILLISECONDS(30)}}};
    static actor observer = {OBSERVER, "", {{WAKE}}, .times = ALWAYS,
        .activities = TREADLE_AFTER_WAITING | TREADLE_EXIT};
    static actor only = {BLOCK, "only"};
    watch_mode(MODE_A);
    enter(&ender, MODE_A);
    enter(&timer, MODE_A);
    enter(&observer, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources sleep wake timer block timers sources sleep wake ender exit stopped");
    /* Nor does the one of the exit observer reach the next run. */
    watch_mode(MODE_B);
    PERFORM(QUEUE, &only, MODE_B);
    play(MODE_B, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources only exit finished");
}

TEST(a_wake_up_reaches_the_innermost_run, "WAKE-1 WAKE-3 STOP-7") {
    /* It ends the inner sleep; the outer run's own sleep comes later and is not cut short. */
    struct outsider outsider = {.does = {{WAKE}, {STOP}}};
    static actor block = {BLOCK, "block", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    watch_mode(MODE_A);
    watch_mode(MODE_B);
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    outsider_start(&outsider, MODE_B);
    PERFORM(QUEUE, &block, MODE_A);
    play(MODE_A, MILLISECONDS(300), 0);
    outsider_join(&outsider);
    /* A machine that is slow just here may leave no time for the sleep. */
    char *sleep = strstr(trace_text, ")stopped sleep wake exit timed-out");
    if (sleep) strcpy(sleep, ")stopped exit timed-out");
    CHECK_TRACE("entry timers sources block ( entry timers sources sleep wake timers sources sleep wake exit )stopped "
                "exit timed-out");
}

/* Each round hands over one thing and waits for its arrival: one lost wake-up, and the test never ends. */
enum { PRODUCERS = 3 };
static int rounds;
static atomic_int arrived;
struct producer {
    void (*hand_over)(struct producer *);
    treadle_source source;
    pthread_t thread;
    sem_t done;
};
static void acknowledge(void *info) {
    struct producer *producer = info;
    if (atomic_fetch_add(&arrived, 1) + 1 == rounds * PRODUCERS) CHECK_INT(treadle_loop_stop(the_stage()), TREADLE_OK);
    sem_post(&producer->done);
}
static void perform_acknowledge(treadle_source source, void *info) {
    (void)source;
    acknowledge(info);
}
static void signal_then_wake(struct producer *producer) {
    CHECK_INT(treadle_source_signal(producer->source), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(the_stage()), TREADLE_OK);
}
static void signal_and_wake(struct producer *producer) {
    CHECK_INT(treadle_source_signal_and_wake(producer->source), TREADLE_OK);
}
static void queue_then_wake(struct producer *producer) {
    treadle_post block = {.struct_size = sizeof block, .fn = acknowledge, .info = producer};
    CHECK_INT(post_block(the_stage(), &block), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(the_stage()), TREADLE_OK);
}
static void post(struct producer *producer) {
    CHECK_INT(treadle_loop_post(the_stage(), acknowledge, producer), TREADLE_OK);
}
static void *producer_main(void *info) {
    struct producer *producer = info;
    for (int i = 0; i < rounds; i++) {
        producer->hand_over(producer);
        await(&producer->done);
    }
    return NULL;
}
static void run_producers(void (*hand_over)(struct producer *)) {
    struct producer producers[PRODUCERS];
    rounds = scaled(5000);
    keep_mode(MODE_A);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i].hand_over = hand_over;
        producers[i].source = make_source(perform_acknowledge, &producers[i]);
        CHECK_INT(treadle_loop_add_source(the_stage(), producers[i].source, MODE_A), TREADLE_OK);
        CHECK_INT(sem_init(&producers[i].done, 0, 0), 0);
        CHECK_INT(pthread_create(&producers[i].thread, NULL, producer_main, &producers[i]), 0);
    }
    play(MODE_A, TREADLE_FOREVER, 0);
    for (int i = 0; i < PRODUCERS; i++) {
        CHECK_INT(pthread_join(producers[i].thread, NULL), 0);
        CHECK_INT(treadle_source_invalidate(producers[i].source), TREADLE_OK);
        CHECK_INT(treadle_source_release(producers[i].source), TREADLE_OK);
    }
    CHECK_INT(atomic_load(&arrived), rounds * PRODUCERS);
    CHECK_TRACE("stopped");
}

TEST(no_signal_with_a_wake_up_is_lost, "WAKE-3 SRC0-6") { run_producers(signal_then_wake); }
TEST(no_signal_and_wake_is_lost, "WAKE-3") { run_producers(signal_and_wake); }
TEST(no_block_with_a_wake_up_is_lost, "WAKE-3 BLK-2") { run_producers(queue_then_wake); }
TEST(no_post_is_lost, "WAKE-3") { run_producers(post); }

TEST(waiting_is_true_in_the_sleep_alone, "WAKE-6") {
    /* Every callback of a scene checks that the loop does not wait; this one has all kinds of them. */
    static actor source = {SOURCE, "source"}, timer = {TIMER, "timer"}, descriptor = {DESCRIPTOR, "descriptor"};
    static actor block = {BLOCK, "block"};
    struct outsider outsider = {.does = {{WAKE}, {STOP}}}; /* it comes to its deeds only if the loop waits */
    CHECK(!treadle_loop_is_waiting(the_stage()));
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    enter_signalled(&source, MODE_A);
    enter(&timer, MODE_A);
    enter(&descriptor, MODE_A);
    PERFORM(QUEUE, &block);
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&outsider);
    CHECK(!treadle_loop_is_waiting(the_stage()));
    CHECK_INT(source.calls + timer.calls + descriptor.calls + block.calls, 4);
    CHECK(!treadle_loop_is_waiting(NULL));
}

/* Signal handlers may wake, whatever the thread was doing: here it never leaves Treadle for long. */
static atomic_int ticks;
static void wake_from_handler(int number) {
    (void)number;
    if (treadle_loop_wake(the_stage()) != TREADLE_OK) abort();
    if (atomic_fetch_add(&ticks, 1) == 300 && treadle_loop_request_stop(the_stage(), 0) != TREADLE_OK) abort();
}

TEST(a_signal_handler_may_wake_and_request_a_stop, "WAKE-1 STOP-9 OBJ-10") {
    static actor block = {BLOCK, NULL}, source = {SOURCE, NULL, {{QUEUE, &block}, {SIGNAL}}, .times = ALWAYS};
    struct sigaction action = {.sa_handler = wake_from_handler};
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec period = {.it_interval.tv_nsec = 200000, .it_value.tv_nsec = 200000};
    enter_signalled(&source, MODE_A);
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_INT(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    CHECK_INT(timer_settime(timer, 0, &period, NULL), 0);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_INT(timer_delete(timer), 0);
    CHECK_TRACE("stopped");
    CHECK(source.calls > 0 && block.calls == source.calls);
}

TEST_MAIN()
