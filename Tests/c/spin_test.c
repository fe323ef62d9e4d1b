/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * spin_test.c: a loop that was called from another processor waits awake for a moment before it sleeps. No call
 * is lost between the two, whenever it comes, and a loop that nobody calls sleeps. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE
enum { LONGEST_PAUSE = 50000 }; /* nanoseconds; the wait is up to 20,000 */

/* A loop without observers, so that nothing is called on its way to the sleep. */
static treadle_loop loop;
static treadle_thread thread;
static treadle_source source;
static sem_t ready, answered;
static int32_t loop_thread;

static void answer(void) { CHECK_INT(sem_post(&answered), 0); }
static void answer_post(void *info) { (void)info, answer(); }
static void answer_signal(treadle_source self, void *info) { (void)self, (void)info, answer(); }
static void answer_request(void *target, void *argument) { (void)target, (void)argument, answer(); }
static void answer_timer(treadle_timer timer, void *info) { (void)timer, (void)info, answer(); }

static void *run_loop(void *info) {
    loop = treadle_loop_current();
    thread = treadle_thread_current();
    loop_thread = thread_id();
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    source = make_source(answer_signal, NULL);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(sem_post(&ready), 0);
    for (;;) {
        treadle_status status = treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0);
        if (status == TREADLE_RUN_FINISHED) return info;
        CHECK_INT(status, TREADLE_RUN_STOPPED);
        answer();
    }
}
static pthread_t start(void) {
    pthread_t made;
    CHECK_INT(sem_init(&ready, 0, 0), 0);
    CHECK_INT(sem_init(&answered, 0, 0), 0);
    CHECK_INT(pthread_create(&made, NULL, run_loop, NULL), 0);
    await(&ready);
    return made;
}
static void end(pthread_t made) {
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK); /* nothing is left to wait for */
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    CHECK_INT(pthread_join(made, NULL), 0);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}

static void call_post(void) { CHECK_INT(treadle_loop_post(loop, answer_post, NULL), TREADLE_OK); }
static void call_signal(void) { CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK); }
static void call_signal_then_wake(void) {
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
}
static void call_request(void) {
    treadle_request request = {.struct_size = sizeof request, .fn = answer_request};
    CHECK_INT(perform_on(thread, &request, NULL, 0, 0), TREADLE_OK);
}
static void call_timer(void) {
    treadle_timer timer = make_timer(answer_timer, NULL, 1, 0);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}
static void call_stop(void) { CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK); }
static void (*const calls[])(void) = {call_post, call_signal, call_signal_then_wake, call_request, call_timer, call_stop};
enum { CALLS = sizeof calls / sizeof *calls };

static uint32_t state = 1;
static uint32_t any_number(uint32_t limit) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % limit;
}
/* Awake, so that the next call comes from a processor in use, at any moment of the loop's way to its sleep. */
static void pause_for(int64_t duration) {
    for (int64_t until = treadle_time_now() + duration; treadle_time_now() < until;) {}
}
TEST(no_call_is_lost_between_the_wait_and_the_sleep, "WAKE-1 WAKE-3 WAKE-4 SRC0-6 STOP-9 PERF-1 OBJ-6") {
    pthread_t made = start();
    for (int round = scaled(20000); round > 0; round--) {
        calls[any_number(CALLS)]();
        await(&answered);
        pause_for(any_number(LONGEST_PAUSE));
    }
    end(made);
}

/* Whoever waits for a perform spins, too: its end comes at any moment between that and the waiter's sleep. */
static _Atomic uint32_t duration; /* a call that nobody waits for any longer may read it still */
static void take_a_while(void *target, void *argument) {
    (void)target;
    pause_for(duration);
    *(int *)argument += 1;
}
TEST(no_answer_is_lost_between_the_wait_and_the_sleep, "PERF-7 OBJ-6") {
    pthread_t made = start();
    int answers = 0, count = scaled(10000);
    treadle_request request = {.struct_size = sizeof request, .fn = take_a_while, .argument = &answers};
    for (int round = 0; round < count; round++) {
        duration = any_number(2) ? 0 : any_number(LONGEST_PAUSE);
        CHECK_INT(perform_on(thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
        CHECK_INT(answers, round + 1);
        if (any_number(4) == 0) pause_for(any_number(LONGEST_PAUSE));
    }
    end(made);
}
/* The loop may be gone before the waiter has looked at it for the last time. */
static void end_the_thread(void *target, void *argument) {
    (void)target, (void)argument;
    pthread_exit(NULL);
}
static void do_nothing(void *target, void *argument) { (void)target, (void)argument; }
TEST(a_waiter_outlives_the_loop_that_answers, "PERF-7 PERF-9 RL-9") {
    for (int round = scaled(200); round > 0; round--) {
        pthread_t made = start();
        treadle_thread kept = thread;
        CHECK_INT(treadle_thread_retain(kept), TREADLE_OK);
        treadle_request request = {.struct_size = sizeof request, .fn = do_nothing};
        for (int i = 0; i < 5; i++) CHECK_INT(perform_on(kept, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
        request.fn = end_the_thread;
        CHECK_INT(perform_on(kept, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED);
        CHECK_INT(pthread_join(made, NULL), 0);
        CHECK_INT(perform_on(kept, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_E_CLOSED);
        CHECK_INT(treadle_thread_release(kept), TREADLE_OK);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
        CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    }
}

/* So does whoever waits for a call that a closure or an invocation carries to the loop. */
static int32_t take_a_while_for_two(int32_t left, int32_t right) {
    pause_for(duration);
    return left + right;
}
static treadle_status handle_two(treadle_call *call, void *info) {
    int32_t sum = take_a_while_for_two(*(const int32_t *)call->arguments[0], *(const int32_t *)call->arguments[1]);
    *(int *)info += 1;
    return treadle_call_set_result(call, &sum, sizeof sum);
}
static const int32_t not_handled = -1;
static treadle_closure make_hop(int *handled, int64_t timeout, int32_t (**code)(int32_t, int32_t)) {
    treadle_closure_config config = {
        .struct_size = sizeof config, .signature = "iii", .handler = handle_two, .info = handled, .loop = loop,
        .delivery = TREADLE_DELIVERY_SYNC, .timeout_ns = timeout, .default_result = &not_handled, .default_result_size = sizeof not_handled};
    treadle_closure closure = NULL;
    void (*any)(void) = NULL;
    CHECK_INT(treadle_closure_create(&config, &closure), TREADLE_OK);
    CHECK_INT(treadle_closure_get_code(closure, &any), TREADLE_OK);
    *code = (int32_t (*)(int32_t, int32_t))any;
    return closure;
}
static void invoke_two(treadle_invocation invocation, int32_t left, int32_t right) {
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = TREADLE_WAIT_BLOCK};
    int32_t sum = 0;
    CHECK_INT(treadle_invocation_set_argument(invocation, 0, &left, sizeof left), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_argument(invocation, 1, &right, sizeof right), TREADLE_OK);
    CHECK_INT(treadle_invocation_perform(invocation, &options), TREADLE_OK);
    CHECK_INT(treadle_invocation_get_result(invocation, &sum, sizeof sum), TREADLE_OK);
    CHECK_INT(sum, left + right);
}
TEST(no_answer_of_a_carried_call_is_lost_between_the_wait_and_the_sleep, "PERF-7 OBJ-6") {
    pthread_t made = start();
    int handled = 0, hops = 0, count = scaled(10000);
    int32_t (*hop)(int32_t, int32_t);
    treadle_closure closure = make_hop(&handled, 0, &hop);
    treadle_invocation_config config = {.struct_size = sizeof config, .code = (void (*)(void))take_a_while_for_two, .signature = "iii"};
    treadle_invocation invocation = NULL;
    CHECK_INT(treadle_invocation_create(&config, &invocation), TREADLE_OK);
    for (int round = 0; round < count; round++) {
        duration = any_number(2) ? 0 : any_number(LONGEST_PAUSE);
        if (any_number(2)) {
            CHECK_INT(hop(round, 1), round + 1);
            hops++;
        } else {
            invoke_two(invocation, round, 2);
        }
        if (any_number(4) == 0) pause_for(any_number(LONGEST_PAUSE));
    }
    CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(handled, hops);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
    end(made);
}
/* The time of a wait may pass while its caller spins: what it gets then is the default, and the call is counted. */
TEST(a_wait_for_a_carried_call_ends_while_it_spins, "PERF-7") {
    for (int64_t timeout = 1; timeout <= 4 * LONGEST_PAUSE; timeout *= 7) {
        pthread_t made = start();
        int handled = 0, answers = 0, count = scaled(1000);
        int32_t (*hop)(int32_t, int32_t);
        treadle_closure closure = make_hop(&handled, timeout, &hop);
        for (int round = 0; round < count; round++) {
            duration = any_number(2) ? 0 : any_number(LONGEST_PAUSE);
            int32_t result = hop(round, 1);
            CHECK(result == round + 1 || result == not_handled);
            if (result == round + 1) answers++;
        }
        CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
        treadle_closure_info info = {.struct_size = sizeof info};
        CHECK_INT(treadle_closure_get_info(closure, &info), TREADLE_OK);
        CHECK_INT(info.timed_out, count - answers);
        CHECK_INT(info.handled, handled);
        CHECK(handled >= answers);
        CHECK_INT(info.dropped + info.failed, 0);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
        end(made);
    }
}

/* Two loops call each other and make each other wait, through all kinds of calls. */
static struct side {
    treadle_loop loop;
    treadle_source source;
    struct side *other;
    int left;
    pthread_t made;
    sem_t ready;
} sides[2];
static void reply(struct side *side);
static void reply_post(void *info) { reply(info); }
static void reply_signal(treadle_source self, void *info) { (void)self, reply(info); }
static void reply(struct side *side) {
    if (side->left-- == 0) {
        CHECK_INT(treadle_loop_request_stop(side->other->loop, 0), TREADLE_OK);
        CHECK_INT(treadle_loop_request_stop(side->loop, 0), TREADLE_OK);
        return;
    }
    if (side->left % 16 == 0) pause_for(side->left % 512 * 100);
    if (side->left % 3 == 0) CHECK_INT(treadle_loop_post(side->other->loop, reply_post, side->other), TREADLE_OK);
    else CHECK_INT(treadle_source_signal_and_wake(side->other->source), TREADLE_OK);
}
static void *run_side(void *info) {
    struct side *side = info;
    side->loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(side->loop), TREADLE_OK);
    side->source = make_source(reply_signal, side);
    CHECK_INT(treadle_loop_add_source(side->loop, side->source, MODE), TREADLE_OK);
    CHECK_INT(sem_post(&side->ready), 0);
    CHECK_INT(treadle_loop_run(side->loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    return NULL;
}
TEST(two_loops_that_wait_for_each_other_lose_nothing, "WAKE-1 WAKE-3 SRC0-6 BLK-2") {
    for (int i = 0; i < 2; i++) {
        struct side *side = &sides[i];
        side->other = &sides[1 - i];
        side->left = scaled(50000);
        CHECK_INT(sem_init(&side->ready, 0, 0), 0);
        CHECK_INT(pthread_create(&side->made, NULL, run_side, side), 0);
    }
    for (int i = 0; i < 2; i++) await(&sides[i].ready);
    CHECK_INT(treadle_loop_post(sides[0].loop, reply_post, &sides[0]), TREADLE_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(pthread_join(sides[i].made, NULL), 0);
        CHECK_INT(treadle_source_release(sides[i].source), TREADLE_OK);
        CHECK_INT(treadle_loop_release(sides[i].loop), TREADLE_OK);
    }
}

/* --- Idle ----------------------------------------------------------------------------------------- */

static int64_t processor_time(pthread_t of) {
    clockid_t clock;
    struct timespec time;
    CHECK_INT(pthread_getcpuclockid(of, &clock), 0);
    CHECK_INT(clock_gettime(clock, &time), 0);
    return SECONDS(time.tv_sec) + time.tv_nsec;
}
TEST(a_loop_that_nobody_calls_sleeps, "WAKE-1 WAKE-6 PASS-10") {
    pthread_t made = start();
    for (int round = scaled(20); round > 0; round--) {
        for (int call = 0; call < 100; call++) {
            calls[any_number(CALLS)]();
            await(&answered);
        }
        while (!is_in_kernel_wait(loop_thread)) sched_yield();
        CHECK(treadle_loop_is_waiting(loop));
        /* For good: it does nothing until it is called, however much goes on elsewhere. */
        int64_t before = processor_time(made);
        long blocks = count_blocks(loop_thread);
        linger(MILLISECONDS(5));
        CHECK_INT(count_blocks(loop_thread), blocks);
        CHECK_INT(processor_time(made), before);
    }
    end(made);
}
TEST_MAIN()
