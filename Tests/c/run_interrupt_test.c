/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * run_interrupt_test.c: runs that return when a signal comes, or a descriptor that stands for signals. */
#include "scene.h"

#include <sys/syscall.h>

#define ON_INTERRUPT TREADLE_RUN_RETURN_ON_INTERRUPT

/* The interrupt descriptor of most tests: an eventfd, written to as a signal handler would. */
static int bell = -1;
static void ring(actor *self) {
    (void)self;
    CHECK_INT(write(bell, &(uint64_t){1}, 8), 8);
}
static uint64_t silence(void) {
    uint64_t count = 0;
    return read(bell, &count, sizeof count) == sizeof count ? count : 0;
}
static void hang_bell(void) {
    CHECK((bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
    CHECK_INT(treadle_loop_set_interrupt_descriptor(the_stage(), bell), TREADLE_OK);
}

TEST(an_interrupt_before_the_sleep_is_not_lost, "RUN-14 ABI-4") {
    hang_bell();
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    ring(NULL);
    for (int i = 0; i < 3; i++) {
        play(MODE_A, TREADLE_FOREVER, ON_INTERRUPT);
        CHECK_TRACE("entry timers sources sleep wake exit interrupted"); /* again, as long as it is readable */
    }
    CHECK_INT(silence(), 1); /* Treadle has not read it */
    static actor ringer = {OBSERVER, "", {{CALL, .call = ring}}, .activities = TREADLE_BEFORE_WAITING};
    enter(&ringer, MODE_A);
    play(MODE_A, TREADLE_FOREVER, ON_INTERRUPT);
    CHECK_TRACE("entry timers sources sleep wake exit interrupted");
}

TEST(an_interrupt_ends_the_sleep, "RUN-14 ABI-4") {
    /* Whether the mode watches descriptors or not. */
    static actor descriptor = {DESCRIPTOR, "descriptor", .idle = true};
    hang_bell();
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    for (int i = 0; i < 2; i++) {
        struct outsider outsider = {.does = {{CALL, .call = ring}}};
        outsider_start(&outsider, MODE_A);
        play(MODE_A, TREADLE_FOREVER, ON_INTERRUPT);
        outsider_join(&outsider);
        CHECK_TRACE("entry timers sources sleep wake exit interrupted");
        CHECK_INT(silence(), 1);
        if (i == 0) enter(&descriptor, MODE_A);
    }
    /* Silenced, it interrupts no more. */
    stop_later(MODE_A);
    play(MODE_A, TREADLE_FOREVER, ON_INTERRUPT);
    CHECK_TRACE("entry timers sources sleep wake later exit stopped");
}

TEST(only_runs_that_ask_are_interrupted, "RUN-14 RUN-5 MODE-7 ABI-4") {
    static actor timer = {TIMER, "timer", {{STOP}}, .after = FAR};
    hang_bell();
    watch_mode(MODE_A);
    ring(NULL);
    play(MODE_A, TREADLE_FOREVER, ON_INTERRUPT); /* it is no content */
    CHECK_TRACE("finished");
    enter(&timer, MODE_A);
    play(MODE_A, 0, ON_INTERRUPT); /* a poll does not sleep */
    CHECK_TRACE("entry timers sources exit timed-out");
    PERFORM(MOVE, &timer, .ns = MILLISECONDS(20));
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE); /* one sleep, and no source */
    CHECK_TRACE("entry timers sources sleep wake timer exit stopped");
}

TEST(a_nested_run_is_interrupted_alone, "RUN-12 RUN-14 ABI-4") {
    static actor block = {BLOCK, "block", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER, .flags = ON_INTERRUPT}}};
    struct outsider outsider = {.does = {{STOP}}};
    hang_bell();
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    ring(NULL);
    PERFORM(QUEUE, &block, MODE_A);
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources block ( )interrupted sleep wake exit stopped");
}

TEST(an_interrupt_hides_no_other_result, "RUN-14 RUN-6 PASS-14") {
    /* There is a reason to return besides the interrupt, from before or after the sleep. Either may be served
     * first; but a pass that has done something tells that. */
    static actor descriptor = {DESCRIPTOR, "", .idle = true};
    static actor timer = {TIMER, "", {{STOP}}, .times = ALWAYS, .after = FAR, .interval = FAR};
    static const deed reasons[] = {{FEED, &descriptor}, {MOVE, &timer, .ns = -1}};
    static const treadle_status results[] = {TREADLE_RUN_HANDLED_SOURCE, TREADLE_RUN_STOPPED};
    hang_bell();
    ring(NULL);
    enter(&descriptor, MODE_A);
    enter(&timer, MODE_A);
    for (int i = 0; i < 4; i++) {
        static actor observers[4];
        observers[i] = (actor){OBSERVER, "", {reasons[i % 2]},
            .activities = i < 2 ? TREADLE_BEFORE_WAITING : TREADLE_AFTER_WAITING};
        enter(&observers[i], MODE_A);
        int calls = descriptor.calls + timer.calls;
        treadle_status result = treadle_loop_run(the_stage(), MODE_A, TREADLE_FOREVER, ON_INTERRUPT | AFTER_SOURCE);
        if (result == TREADLE_RUN_INTERRUPTED) {
            CHECK_INT(descriptor.calls + timer.calls, calls);
            CHECK_INT(treadle_loop_run(the_stage(), MODE_A, 0, AFTER_SOURCE), results[i % 2]); /* it comes now */
        } else {
            CHECK_INT(result, results[i % 2]);
        }
        CHECK_INT(descriptor.calls + timer.calls, calls + 1);
        PERFORM(INVALIDATE, &observers[i]);
    }
}

static void hang_and_ring(actor *self) {
    int readable[2];
    (void)self;
    CHECK_INT(pipe(readable), 0);
    CHECK_INT(write(readable[1], "!", 1), 1);
    CHECK_INT(treadle_loop_set_interrupt_descriptor(the_stage(), readable[0]), TREADLE_OK);
}

TEST(the_interrupt_descriptor_may_be_changed_at_any_time, "RUN-14 ABI-4") {
    struct outsider outsider = {.does = {{CALL, .call = hang_and_ring}}};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, ON_INTERRUPT);
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources sleep wake exit interrupted");
    CHECK_INT(treadle_loop_set_interrupt_descriptor(the_stage(), -1), TREADLE_OK);
    stop_later(MODE_A);
    play(MODE_A, TREADLE_FOREVER, ON_INTERRUPT);
    CHECK_TRACE("entry timers sources sleep wake later exit stopped");
    CHECK_ERROR(treadle_loop_set_interrupt_descriptor(the_stage(), 1000), TREADLE_E_ARG, "fd");
}

/* Thread sanitizer keeps a signal back until the next call that it knows of; the wait of a run is none, so that a signal just
 * before it would stay there for ever. So the handler goes to the kernel by the C library's other name, past the sanitizer,
 * and calls what that does not know. */
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *former);
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
__attribute__((no_sanitize("thread")))
#endif
#endif
static void ring_from_handler(int number) {
    static const uint64_t one = 1;
    (void)number;
    if (syscall(SYS_write, bell, &one, 8) != 8) abort();
}
struct sender {
    pthread_t target;
    atomic_int runs; /* how many the other side has begun */
};
static void *send_signals(void *info) {
    struct sender *sender = info;
    for (int i = 0; i < 200; i++) {
        while (atomic_load(&sender->runs) <= i) sched_yield();
        CHECK_INT(pthread_kill(sender->target, SIGUSR1), 0);
    }
    return NULL;
}

TEST(no_signal_is_lost_with_an_interrupt_descriptor, "RUN-14 ABI-4") {
    /* Each run waits for one signal, which may come at any moment from its begin on; a lost one is a run that
     * never returns. */
    struct sigaction action = {.sa_handler = ring_from_handler};
    struct sender sender = {.target = pthread_self()};
    pthread_t thread;
    CHECK_INT(__sigaction(SIGUSR1, &action, NULL), 0);
    hang_bell();
    keep_mode(MODE_A);
    CHECK_INT(pthread_create(&thread, NULL, send_signals, &sender), 0);
    for (int i = 0; i < 200; i++) {
        atomic_store(&sender.runs, i + 1);
        CHECK_INT(treadle_loop_run(the_stage(), MODE_A, TREADLE_FOREVER, ON_INTERRUPT), TREADLE_RUN_INTERRUPTED);
        /* The signal may have ended the wait before its handler has run; it has when this thread goes on. */
        CHECK_INT(silence(), 1);
    }
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST_MAIN()
