/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal_safe_test.c: functions that a signal handler may call, called by one 2,000 times a second, whatever the thread that it
 * interrupts is doing: they take no lock, write no message, allocate nothing, and leave the last error and errno alone. */
#include "faults.h"

#include "signal_safe_cases.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct worker sleeper;            /* a loop that sleeps, and is woken again and again */
static treadle_loop parked;              /* a loop that nobody runs */
static treadle_loop own;                 /* that of the interrupted thread, which may be under its lock */
static treadle_loop stale;
static treadle_source source;

static int64_t wake_sleeper(void) { return treadle_loop_wake(sleeper.loop); }
static int64_t wake_own(void) { return treadle_loop_wake(own); }
static int64_t wake_stale(void) { return treadle_loop_wake(stale); }
static int64_t wake_source(void) { return treadle_loop_wake((treadle_loop)source); }
static int64_t wake_nothing(void) { return treadle_loop_wake(NULL); }
static int64_t stop_parked(void) { return treadle_loop_request_stop(parked, 0); }
static int64_t stop_stale(void) { return treadle_loop_request_stop(stale, 0); }
static int64_t stop_source(void) { return treadle_loop_request_stop((treadle_loop)source, TREADLE_STOP_ALL_LEVELS); }
static int64_t stop_nothing(void) { return treadle_loop_request_stop(NULL, 0); }
static int64_t stop_oddly(void) { return treadle_loop_request_stop(parked, 1u << 31); }
static int64_t ask_time(void) { return treadle_time_now() > 0 ? 0 : -1; }

static const struct attempt {
    const char *function;
    int64_t (*call)(void);
    int64_t result;
} attempts[] = {
    {"treadle_loop_wake", wake_sleeper, TREADLE_OK},
    {"treadle_loop_wake", wake_own, TREADLE_OK},
    {"treadle_loop_wake", wake_stale, TREADLE_E_STALE},
    {"treadle_loop_wake", wake_source, TREADLE_E_KIND},
    {"treadle_loop_wake", wake_nothing, TREADLE_E_ARG},
    {"treadle_loop_request_stop", stop_parked, TREADLE_OK},
    {"treadle_loop_request_stop", stop_stale, TREADLE_E_STALE},
    {"treadle_loop_request_stop", stop_source, TREADLE_E_KIND},
    {"treadle_loop_request_stop", stop_nothing, TREADLE_E_ARG},
    {"treadle_loop_request_stop", stop_oddly, TREADLE_E_ARG},
    {"treadle_time_now", ask_time, 0},
};

static const struct attempt *volatile attempt;
static volatile sig_atomic_t handled, wrong_results, wrong_errnos, allocations;

static void on_signal(int number) {
    const struct attempt *its = attempt;
    (void)number;
    int before = errno;
#ifndef SANITIZED
    /* A handler may come while the test arms a fault itself: never here, no fault is armed. */
    arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, 1, true);
#endif
    errno = ENOTTY;
    if (its->call() != its->result) wrong_results++;
    if (errno != ENOTTY) wrong_errnos++;
#ifndef SANITIZED
    if (disarm() > 0) allocations++;
#endif
    errno = before;
    handled++;
}

static void write_nowhere(const char *message, void *info) { (void)message, (void)info; }
static void do_nothing(treadle_timer self, void *info) { (void)self, (void)info; }
static void count_call(void *info) { ++*(int *)info; }

/* What the interrupted thread does: calls that fail and are told, and others that lock, allocate, and run the loop. */
static void work(void) {
    static int calls;
    char text[512];
    size_t length;
    treadle_source made;
    treadle_timer timer;
    CHECK_ERROR(treadle_source_signal((treadle_source)stale), TREADLE_E_STALE, "source");
    CHECK_INT(treadle_describe(source, text, sizeof text, &length), TREADLE_OK);
    CHECK_INT(treadle_source_create(&TREADLE_INIT(treadle_source_context), &made), TREADLE_OK);
    CHECK_INT(treadle_release(made), TREADLE_OK);
    CHECK_INT(treadle_timer_start(SECONDS(3600), 0, do_nothing, NULL, &timer), TREADLE_OK);
    CHECK_INT(treadle_timer_set_time(timer, SECONDS(7200), 0), TREADLE_OK);
    CHECK_INT(treadle_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_release(timer), TREADLE_OK);
    int before = calls;
    CHECK_INT(treadle_loop_post(treadle_loop_current(), count_call, &calls), TREADLE_OK);
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(calls, before + 1);
}

static void *get_loop(void *info) {
    treadle_loop loop = NULL;
    CHECK((loop = treadle_loop_current()) != NULL);
    CHECK_INT(treadle_retain(loop), TREADLE_OK);
    *(treadle_loop *)info = loop;
    return NULL;
}

TEST(functions_that_are_signal_safe, "OBJ-10") {
    for (size_t i = 0; i < COUNT(signal_safe_names); i++) {
        bool is_known = false;
        for (size_t k = 0; k < COUNT(attempts); k++) is_known |= strcmp(attempts[k].function, signal_safe_names[i]) == 0;
        if (!is_known) check_failed(__FILE__, __LINE__, "no attempt calls %s", signal_safe_names[i]);
    }
    on_thread(get_loop, &stale);
    CHECK_INT(treadle_release(stale), TREADLE_OK);
    on_thread(get_loop, &parked);
    own = treadle_loop_current();
    source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    worker_start(&sleeper);
    CHECK_INT(treadle_set_log(write_nowhere, NULL, NULL), TREADLE_OK);
    attempt = attempts;
    CHECK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL) == 0);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = thread_id();
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &(struct itimerspec){.it_interval = {.tv_nsec = 500000}, .it_value = {.tv_nsec = 500000}}, NULL) == 0);
    for (size_t i = 0; i < COUNT(attempts); i++) {
        int enough = handled + scaled(400);
        attempt = &attempts[i];
        while (handled < enough) work();
        if (wrong_results + wrong_errnos + allocations > 0)
            check_failed(__FILE__, __LINE__, "%s, attempt %zu: %d wrong results, %d of errno, %d allocations", attempts[i].function, i,
                         (int)wrong_results, (int)wrong_errnos, (int)allocations);
    }
    CHECK(timer_delete(timer) == 0);
    CHECK_INT(treadle_set_log(NULL, NULL, NULL), TREADLE_OK);
    worker_stop(&sleeper);
    CHECK_INT(treadle_release(parked), TREADLE_OK);
}

TEST_MAIN()
