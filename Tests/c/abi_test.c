/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * abi_test.c: what bindings of other languages rely on. */
#include "probe.h"
#include "host_items.h"

#define MODE TREADLE_DEFAULT_MODE

_Static_assert(TREADLE_RUN_FINISHED == 1 && TREADLE_RUN_STOPPED == 2 && TREADLE_RUN_TIMED_OUT == 3 && TREADLE_RUN_HANDLED_SOURCE == 4, "");
_Static_assert(TREADLE_ENTRY == 1 && TREADLE_BEFORE_TIMERS == 2 && TREADLE_BEFORE_SOURCES == 4 && TREADLE_BEFORE_WAITING == 32, "");
_Static_assert(TREADLE_AFTER_WAITING == 64 && TREADLE_EXIT == 128 && TREADLE_ALL_ACTIVITIES == 0x0FFFFFFF, "");
_Static_assert(sizeof(treadle_status) == 4 && sizeof(treadle_loop) == sizeof(void *), "");

/* The library answers with these values, not only the headers. */
static void stop(void *info) { treadle_loop_stop(info); }
TEST(results_have_the_documented_values, "ABI-6 RUN-4 OBS-1") {
    treadle_loop loop = treadle_loop_current();
    struct probe source = {0};
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), 1);
    probe_make(&source, &source_kind);
    CHECK_INT(treadle_loop_add_source(loop, source.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), 4);
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), 3);
    CHECK_INT(treadle_loop_post(loop, stop, loop), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), 2);
    probe_end(&source);
}

/* A foreign-function trampoline that fails leaves anything behind: 0, or what was in a register. */
static void *retain_nothing(void *info) { return (void)info, NULL; }
static int32_t equal_to_all(void *one, void *two) { return (void)one, (void)two, INT32_MIN; }
static uint64_t hash_of_all(void *info) { return (void)info, UINT64_MAX; }
static void describe_nothing(void *info, char *buffer, size_t capacity) { (void)info, (void)buffer, (void)capacity; }
static void expect_null(treadle_source source, void *info) {
    (void)source;
    CHECK(info == NULL);
    trace("performed");
}
TEST(any_return_value_is_borne, "ABI-3 SRC0-2 SRC0-5") {
    treadle_source_context context = {.struct_size = sizeof context, .info = (void *)1, .retain = retain_nothing, .describe = describe_nothing,
                                      .equal = equal_to_all, .hash = hash_of_all, .perform = expect_null};
    treadle_source one, two;
    treadle_loop loop = treadle_loop_current();
    char text[200];
    size_t length = 0;
    CHECK_INT(treadle_source_create(&context, &one), TREADLE_OK);
    CHECK_INT(treadle_source_create(&context, &two), TREADLE_OK);
    CHECK_INT(treadle_source_describe(one, text, sizeof text, &length), TREADLE_OK);
    CHECK_INT(length, strlen(text));
    CHECK_INT(treadle_loop_add_source(loop, one, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, two, MODE), TREADLE_IGNORED); /* equal, as they say */
    treadle_source_signal(one);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("performed");
    treadle_source_release(one);
    treadle_source_release(two);
}

static void count_performs(treadle_source source, void *info) {
    (void)source;
    ++*(int *)info;
}
static int32_t equal_infos(void *one, void *two) { return one == two; }
static int32_t equal_infos_too(void *one, void *two) { return one == two; }
static uint64_t same_hash(void *info) { return (void)info, 5; }
TEST(identity_is_the_object_unless_both_say_equal, "SRC0-5 D-09 SRC1-10 MODE-6") {
    int performs = 0, other = 0;
    treadle_loop loop = treadle_loop_current();
    treadle_source_context context = {.struct_size = sizeof context, .info = &performs, .perform = count_performs};
    /* Two of everything: without equal; with it; with it on one side; with another; and other infos. */
    const struct {
        treadle_equal_fn equal[2];
        void *info[2];
        int performs;
    } cases[] = {{{NULL, NULL}, {&performs, &performs}, 2},
                 {{equal_infos, equal_infos}, {&performs, &performs}, 1},
                 {{equal_infos, NULL}, {&performs, &performs}, 2},
                 {{equal_infos, equal_infos_too}, {&performs, &performs}, 2},
                 {{equal_infos, equal_infos}, {&performs, &other}, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        treadle_source pair[2];
        performs = other = 0;
        for (int i = 0; i < 2; i++) {
            context.equal = cases[c].equal[i];
            context.hash = context.equal ? same_hash : NULL;
            context.info = cases[c].info[i];
            CHECK_INT(treadle_source_create(&context, &pair[i]), TREADLE_OK);
            CHECK_INT(treadle_loop_add_source(loop, pair[i], MODE), i && cases[c].performs == 1 ? TREADLE_IGNORED : TREADLE_OK);
            CHECK(treadle_loop_contains_source(loop, pair[i], MODE));
        }
        for (int i = 0; i < 2; i++) treadle_source_signal(pair[i]);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(performs + other, cases[c].performs);
        for (int i = 0; i < 2; i++) treadle_source_invalidate(pair[i]);
        for (int i = 0; i < 2; i++) treadle_source_release(pair[i]);
    }
}

static uint64_t wrong_tickets[] = {0, 1, UINT64_MAX, 0xdeadbeef};
static unsigned dispatches;
static uint64_t fail_to_dispatch(uint64_t ticket, const treadle_event *event) {
    CHECK_INT(event->kind, TREADLE_EVENT_PERFORM);
    uint64_t answer = dispatches < 4 ? wrong_tickets[dispatches] : ticket;
    dispatches++;
    return answer == ~ticket ? ticket : answer;
}
TEST(a_host_s_failure_ends_the_run, "ABI-3") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = fail_to_dispatch};
    treadle_host host;
    treadle_source source;
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_source(host, 1, 0, 0, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    for (unsigned i = 0; i < 5; i++) {
        treadle_source_signal(source);
        CHECK_ERROR(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
        CHECK_INT(dispatches, i + 1);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT); /* the loop is as good as before */
    }
    treadle_source_release(source);
}

static atomic_int interrupts;
static void count_interrupt(int number) { (void)number, atomic_fetch_add(&interrupts, 1); }
static uint32_t run_flags;
static void *run_with_flags(void *info) {
    struct worker *worker = info;
    worker->loop = treadle_loop_current();
    treadle_source keeper = keep_mode(MODE);
    watch_sleep(&worker->watch, worker->loop, MODE);
    sem_post(&worker->ready);
    worker->result = treadle_loop_run(worker->loop, MODE, TREADLE_FOREVER, run_flags);
    treadle_source_release(keeper);
    unwatch_sleep(&worker->watch);
    sem_post(&worker->ready);
    return NULL;
}
TEST(a_signal_interrupts_a_run_that_asked_for_it, "ABI-4 RUN-14") {
    struct sigaction action = {.sa_handler = count_interrupt};
    sigaction(SIGUSR1, &action, NULL);
    for (run_flags = 0; run_flags <= TREADLE_RUN_RETURN_ON_INTERRUPT; run_flags += TREADLE_RUN_RETURN_ON_INTERRUPT) {
        for (int i = scaled(20); i > 0; i--) {
            struct worker worker;
            memset(&worker, 0, sizeof worker);
            sem_init(&worker.ready, 0, 0);
            CHECK_INT(pthread_create(&worker.thread, NULL, run_with_flags, &worker), 0);
            await(&worker.ready);
            await_sleep(&worker.watch);
            if (run_flags) {
                /* A signal that comes just before the sleep does not end it: again, until one has. */
                while (sem_trywait(&worker.ready) != 0) {
                    pthread_kill(worker.thread, SIGUSR1);
                    sched_yield();
                }
            } else {
                int sleeps = worker.watch.sleeps;
                for (int k = 0; k < 20; k++) {
                    /* A sanitizer keeps a signal that comes just before the sleep for itself: again, until one
                     * has been delivered. */
                    int before = interrupts;
                    while (interrupts == before) {
                        pthread_kill(worker.thread, SIGUSR1);
                        sched_yield();
                    }
                    CHECK(is_asleep(&worker.watch)); /* no wake-up */
                }
                CHECK_INT(worker.watch.sleeps, sleeps);
                CHECK_INT(treadle_loop_stop(worker.loop), TREADLE_OK);
            }
            pthread_join(worker.thread, NULL);
            CHECK_INT(worker.result, run_flags ? TREADLE_RUN_INTERRUPTED : TREADLE_RUN_STOPPED);
        }
    }
}

/* The same by a descriptor, which cannot come too early: it stays readable. */
TEST(a_descriptor_interrupts_a_run_that_asked_for_it, "ABI-4 RL-7") {
    treadle_loop loop = treadle_loop_current();
    treadle_source keeper = keep_mode(MODE);
    uint64_t value = 1;
    int fd = eventfd(1, EFD_CLOEXEC);
    CHECK_ERROR(treadle_loop_set_interrupt_descriptor(loop, closed_number()), TREADLE_E_ARG, "fd");
    CHECK_INT(treadle_loop_set_interrupt_descriptor(loop, fd), TREADLE_OK);
    for (int i = 0; i < 3; i++)
        CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_ON_INTERRUPT), TREADLE_RUN_INTERRUPTED);
    CHECK_INT(treadle_loop_run(loop, MODE, MILLISECONDS(1), 0), TREADLE_RUN_TIMED_OUT); /* this one did not ask */
    CHECK_INT(read(fd, &value, sizeof value), sizeof value);
    CHECK_INT(value, 1); /* it was never read */
    run_flags = TREADLE_RUN_RETURN_ON_INTERRUPT;
    for (int i = scaled(20); i > 0; i--) {
        struct worker worker;
        memset(&worker, 0, sizeof worker);
        sem_init(&worker.ready, 0, 0);
        CHECK_INT(pthread_create(&worker.thread, NULL, run_with_flags, &worker), 0);
        await(&worker.ready);
        if (i % 2) await_sleep(&worker.watch); /* set before it sleeps, or in its sleep */
        CHECK_INT(treadle_loop_set_interrupt_descriptor(worker.loop, fd), TREADLE_OK);
        CHECK_INT(write(fd, &value, sizeof value), sizeof value);
        pthread_join(worker.thread, NULL);
        CHECK_INT(worker.result, TREADLE_RUN_INTERRUPTED);
        CHECK_INT(read(fd, &value, sizeof value), sizeof value);
    }
    CHECK_INT(treadle_loop_set_interrupt_descriptor(loop, -1), TREADLE_OK);
    close(fd);
    CHECK_INT(treadle_loop_run(loop, MODE, MILLISECONDS(1), TREADLE_RUN_RETURN_ON_INTERRUPT), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

/* The end of an interpreter: the gate closes, what is in flight is waited for, nothing starts again. */
static sem_t in_dispatch, leave_dispatch;
static atomic_int host_events, thread_exits;
static uint64_t slow_dispatch(uint64_t ticket, const treadle_event *event) {
    (void)event;
    atomic_fetch_add(&host_events, 1);
    sem_post(&in_dispatch);
    await(&leave_dispatch);
    return ~ticket;
}
static void count_thread_exit(void *user) { (void)user, atomic_fetch_add(&thread_exits, 1); }
static void *finish_dispatch(void *unused) { return sem_post(&leave_dispatch), unused; }
TEST(a_quiet_host_is_not_called, "ABI-5") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = slow_dispatch, .thread_exit = count_thread_exit};
    struct worker worker;
    treadle_host host;
    treadle_source source;
    pthread_t thread;
    uint64_t dropped = 99;
    sem_init(&in_dispatch, 0, 0);
    sem_init(&leave_dispatch, 0, 0);
    worker_start(&worker);
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_source(host, 1, 0, 0, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(worker.loop, source, MODE), TREADLE_OK);
    treadle_source_signal_and_wake(source);
    await(&in_dispatch);
    CHECK_ERROR(treadle_host_quiesce(host, 0), TREADLE_E_TIMEOUT, "");
    CHECK_INT(pthread_create(&thread, NULL, finish_dispatch, NULL), 0);
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
    pthread_join(thread, NULL);
    CHECK_INT(treadle_host_get_dropped(host, &dropped), TREADLE_OK);
    CHECK_INT(dropped, 0);
    for (uint64_t i = 1; i <= 3; i++) {
        treadle_source_signal_and_wake(source);
        do CHECK_INT(treadle_host_get_dropped(host, &dropped), TREADLE_OK);
        while (dropped < i && sched_yield() == 0);
        CHECK_INT(dropped, i);
    }
    CHECK_INT(host_events, 1);
    CHECK_ERROR(host_source(host, 2, 0, 0, &source), TREADLE_E_CLOSED, "host");
    CHECK(source == NULL);
    worker_stop(&worker);
    CHECK_INT(thread_exits, 0);
}

/* Tokens take the place of release: each is retired once, when it will never be named again. */
static uint64_t give_ticket(uint64_t ticket, const treadle_event *event) { return (void)event, ~ticket; }
static void must_retire(treadle_host host, uint64_t token) {
    uint64_t tokens[4] = {0};
    size_t count = 0;
    CHECK_INT(*treadle_host_get_retired_count(host), token ? 1 : 0);
    CHECK_INT(treadle_host_take_retired(host, tokens, 4, &count), TREADLE_OK);
    CHECK_INT(count, token ? 1 : 0);
    CHECK_INT(tokens[0], token);
    CHECK_INT(*treadle_host_get_retired_count(host), 0);
}
static void *dead_loop(void *unused) {
    (void)unused;
    CHECK_INT(treadle_loop_retain(treadle_loop_current()), TREADLE_OK);
    return treadle_loop_current();
}
TEST(tokens_are_retired_once, "ABI-2 OBS-8 TMR-7 BLK-1") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = give_ticket};
    treadle_loop loop = treadle_loop_current(), dead = on_thread(dead_loop, NULL);
    const char *never = "never run";
    int fd = eventfd(1, EFD_CLOEXEC);
    treadle_host host;
    treadle_source source;
    treadle_timer timer;
    treadle_observer observer;
    treadle_descriptor descriptor;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_source(host, 11, 0, 0, &source), TREADLE_OK);
    CHECK_INT(host_descriptor(host, 12, fd, TREADLE_READABLE, 0, &descriptor), TREADLE_OK);
    CHECK_INT(host_timer(host, 13, 1, 0, &timer), TREADLE_OK);
    CHECK_INT(host_observer(host, 14, TREADLE_EXIT, 1, &observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    treadle_source_invalidate(source);
    must_retire(host, 0); /* a source and a descriptor: when freed */
    treadle_source_release(source);
    must_retire(host, 11);
    treadle_descriptor_invalidate(descriptor);
    must_retire(host, 0);
    treadle_descriptor_release(descriptor);
    must_retire(host, 12);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    must_retire(host, 13); /* a timer and an observer: when invalid; both ended by themselves */
    CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
    CHECK_INT(host_post_block(host, 15, loop, NULL, 0), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    must_retire(host, 14); /* the post's event has used its token up */
    CHECK_INT(host_post_block(host, 16, dead, &never, 1), TREADLE_IGNORED);
    must_retire(host, 16);
    treadle_timer_release(timer);
    treadle_observer_release(observer);
    must_retire(host, 0); /* not once more */
    CHECK_INT(treadle_loop_release(dead), TREADLE_OK);
    close(fd);
}

TEST_MAIN()
