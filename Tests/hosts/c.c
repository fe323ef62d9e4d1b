/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * c.c: the list of host tests, in C. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "c.h"

const char *case_name;
treadle_loop loop;
char seen[256];
void note(const char *word) { strncat(seen, word, sizeof seen - strlen(seen) - 1); }
void fire_note(treadle_timer timer, void *info) { (void)timer, note(info); }
static int64_t first_date, dates[10];
static int beats;
static void beat(treadle_timer timer, void *info) {
    (void)info;
    OK(treadle_timer_get_next_fire(timer, &dates[beats]));
    REQUIRE(treadle_time_now() >= dates[beats]);
    if (++beats == 10) OK(treadle_invalidate(timer));
}
static treadle_timer timer_at(int64_t date, int64_t interval, treadle_timer_fn fire, void *info) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire, .info = info, .fire_at = date, .interval_ns = interval};
    treadle_timer timer;
    OK(treadle_timer_create(&context, &timer));
    OK(treadle_loop_add(loop, timer, TREADLE_DEFAULT_MODE));
    OK(treadle_release(timer));
    return timer;
}
static void timers(void) {
    int64_t now = treadle_time_now();
    timer_at(now + 3 * MILLISECOND, 0, fire_note, "c");
    timer_at(now + 1 * MILLISECOND, 0, fire_note, "a");
    timer_at(now + 3 * MILLISECOND, 0, fire_note, "d");
    timer_at(now + 2 * MILLISECOND, 0, fire_note, "b");
    first_date = now + MILLISECOND;
    timer_at(first_date, MILLISECOND, beat, NULL);
    REQUIRE(treadle_loop_run_default(loop) == TREADLE_RUN_FINISHED);
    REQUIRE(strcmp(seen, "abcd") == 0);
    for (int i = 0; i < 10; i++) REQUIRE((dates[i] - first_date) % MILLISECOND == 0 && (i == 0 || dates[i] > dates[i - 1]));
}

void perform_note(treadle_source source, void *info) { (void)source, note(info); }
static void scheduled(treadle_source source, treadle_loop which, const char *mode, void *info) { (void)source, (void)which, (void)mode, (void)info, note("+"); }
static void cancelled(treadle_source source, treadle_loop which, const char *mode, void *info) { (void)source, (void)which, (void)mode, (void)info, note("-"); }
static treadle_source source_of(const char *word, int64_t order) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform_note, .info = (void *)word, .order = order,
                                      .schedule = scheduled, .cancel = cancelled};
    treadle_source source;
    OK(treadle_source_create(&context, &source));
    OK(treadle_loop_add(loop, source, TREADLE_DEFAULT_MODE));
    return source;
}
static void sources(void) {
    treadle_source all[] = {source_of("a", 1), source_of("b", 0), source_of("c", 0)};
    OK(treadle_loop_add(loop, all[0], "other"));
    REQUIRE(treadle_loop_add(loop, all[0], "other") == TREADLE_IGNORED);
    for (int i = 0; i < 2; i++) OK(treadle_source_signal(all[0]));
    OK(treadle_source_signal(all[2])), OK(treadle_source_signal(all[1]));
    OK(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0));
    OK(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0));
    for (int i = 0; i < 3; i++) OK(treadle_invalidate(all[i])), OK(treadle_release(all[i]));
    REQUIRE(strcmp(seen, "++++cba----") == 0);
}

static void observed(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer;
    note(activity == TREADLE_ENTRY ? "E" : activity == TREADLE_BEFORE_TIMERS ? "t" : activity == TREADLE_BEFORE_SOURCES ? "s" :
         activity == TREADLE_BEFORE_WAITING ? "w" : activity == TREADLE_AFTER_WAITING ? "a" : "X");
    /* Not before, or the first pass could fire it. */
    if (activity == TREADLE_BEFORE_WAITING) OK(treadle_timer_set_next_fire(info, treadle_time_now()));
}
static void observers(void) {
    treadle_timer timer = timer_at(treadle_time_now() + 100000 * MILLISECOND, 0, fire_note, "!");
    OK(treadle_observer_start(TREADLE_ALL_ACTIVITIES, observed, timer, NULL));
    REQUIRE(treadle_loop_run_default(loop) == TREADLE_RUN_FINISHED);
    REQUIRE(strcmp(seen, "Etswa!X") == 0);
}

static void run_nested(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    note("(");
    REQUIRE(treadle_loop_run(loop, "other", TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED);
    note(")");
}
static void nested(void) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire_note, .info = "n", .fire_at = treadle_time_now() + 5 * MILLISECOND};
    treadle_timer timer;
    OK(treadle_timer_create(&context, &timer));
    OK(treadle_loop_add(loop, timer, "other")), OK(treadle_release(timer));
    timer_at(treadle_time_now(), 0, run_nested, NULL);
    timer_at(treadle_time_now() + MILLISECOND, 0, fire_note, "o");
    REQUIRE(treadle_loop_run_default(loop) == TREADLE_RUN_FINISHED);
    REQUIRE(strcmp(seen, "(n)o") == 0);
}

static void stop_it(treadle_timer timer, void *info) { (void)timer, (void)info, OK(treadle_loop_stop(loop)); }
static void run_and_stop(treadle_timer timer, void *info) {
    (void)info;
    OK(treadle_loop_add(loop, timer_at(treadle_time_now(), 0, stop_it, NULL), "inner"));
    REQUIRE(treadle_loop_run(loop, "inner", TREADLE_FOREVER, 0) == TREADLE_RUN_STOPPED);
    note("inner"), (void)timer;
}
static void stop_inside(void) {
    timer_at(treadle_time_now(), 0, run_and_stop, NULL);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED);
    REQUIRE(strcmp(seen, "inner") == 0);
    timer_at(treadle_time_now(), 0, stop_it, NULL);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
}

static void *stop_sleeper(void *info) {
    while (!treadle_loop_is_waiting(loop)) sched_yield();
    OK(treadle_loop_stop(loop));
    return info;
}
static void stop_outside(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, stop_sleeper, NULL) == 0);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(treadle_loop_request_stop(loop, 0));
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
}

enum { THREADS = 8, EACH = 12500 };
static int next_of[THREADS], arrived;
static pthread_t loop_thread;
static void arrive(void *info) {
    uintptr_t number = (uintptr_t)info;
    REQUIRE(pthread_equal(pthread_self(), loop_thread));
    REQUIRE(next_of[number / EACH] == (int)(number % EACH));
    next_of[number / EACH]++;
    if (++arrived == THREADS * EACH) OK(treadle_loop_stop(loop));
}
static void *post_all(void *info) {
    for (uintptr_t i = 0; i < EACH; i++) OK(treadle_loop_post(loop, arrive, (void *)((uintptr_t)info * EACH + i)));
    return NULL;
}
static void performs(void) {
    pthread_t threads[THREADS];
    loop_thread = pthread_self();
    for (uintptr_t i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, post_all, (void *)i) == 0);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    REQUIRE(arrived == THREADS * EACH);
}

treadle_thread start_worker(void) {
    treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
    treadle_thread worker;
    OK(treadle_thread_create(&config, &worker));
    OK(treadle_thread_start_and_wait(worker, TREADLE_FOREVER));
    return worker;
}
static int doubled(int number) {
    REQUIRE(!pthread_equal(pthread_self(), loop_thread));
    return 2 * number;
}
static void wait_value(void) {
    treadle_thread worker = start_worker();
    treadle_invocation_config config = {.struct_size = sizeof config, .code = (void (*)(void))doubled, .signature = "ii"};
    treadle_invocation_options options = {.struct_size = sizeof options, .wait = TREADLE_WAIT_BLOCK};
    treadle_invocation invocation;
    int number = 21, result = 0;
    loop_thread = pthread_self();
    OK(treadle_thread_copy_loop(worker, &options.loop));
    OK(treadle_invocation_create(&config, &invocation));
    OK(treadle_invocation_set_argument(invocation, 0, &number, sizeof number));
    OK(treadle_invocation_perform(invocation, &options));
    OK(treadle_invocation_get_result(invocation, &result, sizeof result));
    REQUIRE(result == 42);
    OK(treadle_release(invocation)), OK(treadle_release(options.loop));
    OK(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, NULL)), OK(treadle_release(worker));
}

/* C has no exceptions; a host language's function tells by its result that it did not complete. */
static uint64_t complete_second(uint64_t ticket, const treadle_event *event) { return event->token == 2 ? ~ticket : 0; }
static void errors(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = complete_second};
    treadle_host host;
    OK(treadle_host_register(&config, &host));
    OK(treadle_host_post(host, 1, loop)), OK(treadle_host_post(host, 2, loop));
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) == TREADLE_E_CALLBACK);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_TIMED_OUT);
}

static void on_signal(int signal) { (void)signal; }
static void *interrupt_sleeper(void *info) {
    while (!treadle_loop_is_waiting(loop)) sched_yield();
    while (!atomic_load((atomic_int *)info)) pthread_kill(loop_thread, SIGINT), sched_yield();
    return NULL;
}
static void interrupt(void) {
    struct sigaction action = {.sa_handler = on_signal};
    atomic_int is_over = 0;
    pthread_t thread;
    loop_thread = pthread_self();
    REQUIRE(sigaction(SIGINT, &action, NULL) == 0);
    REQUIRE(pthread_create(&thread, NULL, interrupt_sleeper, &is_over) == 0);
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY | TREADLE_RUN_RETURN_ON_INTERRUPT) ==
            TREADLE_RUN_INTERRUPTED);
    atomic_store(&is_over, 1);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static atomic_int busy;
static void be_busy(treadle_timer timer, void *info) { (void)timer, (void)info, atomic_fetch_add(&busy, 1); }
static void begin_busy(void *info) { (void)info, OK(treadle_timer_start(0, 1000, be_busy, NULL, NULL)); }
static void leave_busy(void) {
    treadle_thread worker = start_worker();
    treadle_loop of_worker;
    OK(treadle_thread_copy_loop(worker, &of_worker));
    OK(treadle_loop_post(of_worker, begin_busy, NULL));
    while (atomic_load(&busy) < 10) sched_yield();
}
static void ends(void) { ends_well(leave_busy); }

static void forks(void) {
    int status = -1;
    treadle_source source = source_of("s", 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (treadle_source_signal(source) != TREADLE_E_FORKED) _exit(1);
        if (treadle_after_fork_child() < 0) _exit(2);
        loop = treadle_loop_current();
        if (treadle_timer_start(0, 0, stop_it, NULL, NULL) < 0) _exit(3);
        _exit(treadle_loop_run_default(loop) == TREADLE_RUN_STOPPED ? 0 : 4);
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    OK(treadle_source_signal(source));
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0) == TREADLE_RUN_TIMED_OUT);
    REQUIRE(strcmp(seen, "+s") == 0);
}

static void make_and_drop(int count) {
    for (int i = 0; i < count; i++) {
        treadle_source source;
        treadle_timer timer;
        OK(treadle_source_start(perform_note, "", &source));
        OK(treadle_timer_start(TREADLE_FOREVER, 0, fire_note, "", &timer));
        OK(treadle_invalidate(source)), OK(treadle_release(source));
        OK(treadle_invalidate(timer)), OK(treadle_release(timer));
    }
}
static void growth(void) {
    make_and_drop(10000);
    long pages = resident_pages();
    int descriptors = open_descriptors();
    make_and_drop(100000);
    REQUIRE(resident_pages() - pages < 256 && open_descriptors() == descriptors); /* a page is 4 KiB: ten bytes an item */
}

static int polled;
static void count_post(void *info) { (void)info, polled++; }
static void count_fire(treadle_timer timer, void *info) { (void)timer, (void)info, polled++; }
static void *post_one(void *info) { return OK(treadle_loop_post(loop, count_post, NULL)), info; }
static void polls(void) {
    struct pollfd entry = {.events = POLLIN};
    pthread_t thread;
    OK(treadle_loop_open_pollable(loop, TREADLE_DEFAULT_MODE, &entry.fd));
    OK(treadle_timer_start(5 * MILLISECOND, 0, count_fire, NULL, NULL));
    REQUIRE(pthread_create(&thread, NULL, post_one, NULL) == 0);
    while (polled < 2) {
        REQUIRE(poll(&entry, 1, 60000) == 1);
        OK(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY));
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    close(entry.fd);
}

static void stale(void) {
    treadle_source source = source_of("s", 0);
    OK(treadle_invalidate(source));
    REQUIRE(treadle_source_signal(source) == TREADLE_IGNORED && !treadle_is_valid(source));
    OK(treadle_release(source));
    REQUIRE(treadle_source_signal(source) == TREADLE_E_STALE && treadle_loop_add(loop, source, TREADLE_DEFAULT_MODE) == TREADLE_E_STALE);
    REQUIRE(treadle_source_signal((treadle_source)loop) == TREADLE_E_KIND);
}

static const struct host_case cases[] = {
    {"timers", timers, NULL}, {"source", sources, NULL}, {"observer", observers, NULL}, {"nested", nested, NULL},
    {"stop-inside", stop_inside, NULL}, {"stop-outside", stop_outside, NULL}, {"perform", performs, NULL},
    {"wait-value", wait_value, NULL}, {"wait-error", NULL, "C has no exceptions"}, {"errors", errors, NULL},
    {"interrupt", interrupt, NULL}, {"exit", ends, NULL}, {"fork", forks, NULL}, {"growth", growth, NULL},
    {"poll", polls, NULL}, {"stale", stale, NULL}, {NULL, NULL, NULL}};

int main(int count, char **arguments) {
    const struct host_case *const tables[] = {cases, item_cases, thread_cases, NULL};
    int i = 1;
    if (count > 1 && strcmp(arguments[1], "exit") != 0) loop = treadle_loop_current();
    while (i < count && run_case(tables, arguments[i])) seen[0] = 0, i++;
    return i < count;
}
