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

/* --- At each instruction of what a thread does to its own loop ------------------------------------------------- */

#if defined __x86_64__ && !defined SANITIZED
enum { TRAP_FLAG = 0x100 }; /* behind each instruction comes SIGTRAP, but in its handler */
static volatile bool is_stepping;
static volatile long steps;

static void on_step(int number, siginfo_t *info, void *context) {
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    (void)info;
    steps++;
    on_signal(number);
    if (!is_stepping) *flags &= ~(greg_t)TRAP_FLAG;
}
static int performed, called;
static treadle_timer stepped_timer;
static treadle_source stepped_source;
static void perform(treadle_source self, void *info) { (void)self, (void)info, performed++; }
static void start_one(void) { CHECK_INT(treadle_timer_start(SECONDS(3600), 0, do_nothing, NULL, &stepped_timer), TREADLE_OK); }
static void set_it(void) { CHECK_INT(treadle_timer_set_time(stepped_timer, treadle_time_now() + SECONDS(60), 0), TREADLE_OK); }
static void add_one(void) { CHECK_INT(treadle_loop_add(own, stepped_source, TREADLE_DEFAULT_MODE), TREADLE_OK); }
static void signal_it(void) { CHECK_INT(treadle_source_signal(stepped_source), TREADLE_OK); }
static void post_one(void) { CHECK_INT(treadle_loop_post(own, count_call, &called), TREADLE_OK); }
static void run_once(void) { CHECK(treadle_loop_run(own, TREADLE_DEFAULT_MODE, 0, 0) > 0); }
static void remove_it(void) { CHECK_INT(treadle_loop_remove(own, stepped_source, TREADLE_DEFAULT_MODE), TREADLE_OK); }
static void end_it(void) { CHECK_INT(treadle_invalidate(stepped_timer), TREADLE_OK); }
static void release_it(void) { CHECK_INT(treadle_release(stepped_timer), TREADLE_OK); }
static void (*const calls[])(void) = {start_one, set_it, add_one, signal_it, post_one, run_once, set_it, remove_it, end_it, release_it};

static treadle_status run_to_the_end(void) {
    treadle_status status;
    while ((status = poll_mode(TREADLE_DEFAULT_MODE)) == TREADLE_RUN_STOPPED) {}
    return status;
}
static void step_through(const struct attempt *its) {
    attempt = its;
    called = performed = 0;
    for (size_t i = 0; i < COUNT(calls); i++) {
        long before = steps;
        is_stepping = true;
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
        calls[i]();
        is_stepping = false;
        __asm__ volatile("nop");
        CHECK(steps > before + 50);
        /* What a stop has left to the next run. */
        if (calls[i] == run_once) CHECK_INT(run_to_the_end(), TREADLE_RUN_TIMED_OUT);
    }
    if (wrong_results + wrong_errnos + allocations > 0)
        check_failed(__FILE__, __LINE__, "%s: %d wrong results, %d of errno, %d allocations", its->function, (int)wrong_results, (int)wrong_errnos,
                     (int)allocations);
    CHECK_INT(called, 1);
    CHECK_INT(performed, 1);
}
static void *visit(void *info) {
    CHECK_INT(treadle_loop_add(own, info, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_remove(own, info, TREADLE_DEFAULT_MODE), TREADLE_OK);
    return NULL;
}
static int64_t stop_own(void) { return treadle_loop_request_stop(own, 0); }

/* One of them is anywhere between its entry of its loop's lock and its leave, by its bias and, once another thread has visited, without. */
TEST(a_handler_interrupts_each_instruction_of_a_loops_own_thread, "OBJ-10") {
    static const struct attempt own_attempts[] = {
        {"treadle_loop_wake", wake_own, TREADLE_OK}, {"treadle_loop_request_stop", stop_own, TREADLE_OK}};
    if (is_way("valgrind")) return; /* which has no trap flag */
    own = treadle_loop_current();
    source = make_source(NULL, NULL);
    CHECK(sigaction(SIGTRAP, &(struct sigaction){.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, NULL) == 0);
    for (size_t i = 0; i < COUNT(own_attempts); i++) {
        for (int visits = 0; visits < 2; visits++) {
            stepped_source = make_source(perform, NULL);
            if (visits > 0) on_thread(visit, source);
            step_through(&own_attempts[i]);
            CHECK_INT(treadle_release(stepped_source), TREADLE_OK);
        }
    }
    CHECK(signal(SIGTRAP, SIG_DFL) != SIG_ERR);
    CHECK_INT(treadle_release(source), TREADLE_OK);
}
#endif

TEST_MAIN()
