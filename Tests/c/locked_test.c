/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * locked_test.c: how many locked instructions each call executes that a thread makes for its own loop. They are what such a call costs
 * most: none depends on the number of processors or on the load. The table is what the library reaches; a count that grows is a
 * fault, and one that falls gets a lower limit here. TREADLE_TEST_VERBOSE=1 prints all. */
#include "steps.h"

#ifdef __x86_64__

static treadle_loop loop;
static treadle_timer timer;
static treadle_source sources[2];
static treadle_observer observers[2];

static void on_timer(treadle_timer which, void *info) { (void)which, (void)info; }
static void on_source(treadle_source which, void *info) { (void)which, (void)info; }
static void on_post(void *info) { (void)info; }
static void on_observer(treadle_observer which, uint32_t activity, void *info) { (void)which, (void)activity, (void)info; }

#define FAR SECONDS(3600)
static void create_timer(void) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = on_timer, .fire_at = treadle_time_now() + FAR};
    treadle_timer_create(&context, &timer);
}
static void create_source(void) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = on_source};
    treadle_source_create(&context, &sources[0]);
}
static void add_timer(void) { treadle_loop_add(loop, timer, TREADLE_DEFAULT_MODE); }
static void set_later(void) { treadle_timer_set_time(timer, FAR + SECONDS(1), 0); }
static void set_sooner(void) { treadle_timer_set_time(timer, FAR - SECONDS(1), 0); }
static void invalidate_timer(void) { treadle_invalidate(timer); }
static void release_timer(void) { treadle_release(timer); }
static void start_timer(void) { treadle_timer_start(FAR, 0, on_timer, NULL, &timer); }
static void end_timer(void) { invalidate_timer(), release_timer(); }
static void add_source(void) { treadle_loop_add(loop, sources[0], TREADLE_DEFAULT_MODE); }
static void end_source(void) { treadle_invalidate(sources[0]), treadle_release(sources[0]); }
static void new_source(void) { create_source(), add_source(); }
static void two_sources(void) { new_source(), sources[1] = sources[0], new_source(); }
static void signal_source(void) { treadle_source_signal(sources[0]); }
static void signal_both(void) { treadle_source_signal(sources[0]), treadle_source_signal(sources[1]); }
static void post(void) { treadle_loop_post(loop, on_post, NULL); }
static void pass(void) { treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0); }
static void ten_posts(void) {
    for (int i = 0; i < 10; i++) post();
}
static void due(int count) {
    int64_t last = 0;
    for (int i = 0; i < count; i++) treadle_timer_start(1, 0, on_timer, NULL, NULL);
    for (int64_t begun = last = treadle_time_now(); last <= begun + 1000;) last = treadle_time_now();
}
static void one_due(void) { due(1); }
static void two_due(void) { due(2); }
static void observe(int which) {
    treadle_observer_context context = {.struct_size = sizeof context, .notify = on_observer, .activities = TREADLE_BEFORE_SOURCES};
    treadle_observer_create(&context, &observers[which]);
    treadle_loop_add(loop, observers[which], TREADLE_DEFAULT_MODE);
}
static void one_observer(void) { observe(0); }
static void other_observer(void) { observe(1); }
static void nothing(void) {}

/* In this order, each behind what it names first. */
static const struct row {
    const char *name;
    void (*prepare)(void), (*call)(void);
    long most;
} rows[] = {
    {"nothing", nothing, nothing, 0},
    {"create a timer", nothing, create_timer, 0},
    {"add a timer", nothing, add_timer, 1},
    {"set its time", nothing, set_later, 1},
    {"set its time again", nothing, set_later, 0},
    {"set its time to a sooner one", nothing, set_sooner, 0},
    {"invalidate a timer", nothing, invalidate_timer, 1},
    {"release a timer, the last reference", nothing, release_timer, 1},
    {"start a timer, the short form", nothing, start_timer, 1},
    {"create a source", end_timer, create_source, 0},
    {"add a source", nothing, add_source, 1},
    {"signal a source", nothing, signal_source, 1},
    {"a pass that performs a source", nothing, pass, 3},
    {"a pass that performs two", two_sources, pass, 2},
    {"a pass that performs both", signal_both, pass, 4},
    {"a pass with nothing to do", nothing, pass, 2},
    {"post", nothing, post, 1},
    {"a pass that calls a post", nothing, pass, 4},
    {"a pass that calls ten posts", ten_posts, pass, 4},
    {"a pass in which one timer fires", one_due, pass, 3},
    {"a pass in which two fire", two_due, pass, 4},
    {"a pass that notifies an observer", one_observer, pass, 2},
    {"a pass that notifies two", other_observer, pass, 2},
};

static void *other_thread(void *info) { return pause(), info; }
static void call_row(void *info) { ((const struct row *)info)->call(); }
enum { ROWS = sizeof rows / sizeof *rows };

static void program(void *info) {
    long *results = info;
    pthread_t other;
    loop = treadle_loop_current();
    /* The process has more than one thread, and the loop something that stays. */
    CHECK_INT(pthread_create(&other, NULL, other_thread, NULL), 0);
    start_timer();
    /* What is allocated for the first of a kind is there. */
    for (int i = 0; i < 100; i++) post();
    for (int i = 0; i < 3; i++) start_timer(), end_timer(), create_timer(), add_timer(), end_timer(), new_source(), signal_source(), pass(), end_source();
    for (size_t i = 0; i < ROWS; i++) {
        rows[i].prepare();
        steps_of(call_row, (void *)&rows[i]);
        results[i] = meter->locked;
    }
}

TEST(what_the_owner_does_takes_no_more_locked_instructions_than_it_did, "RL-5") {
    long *results = mmap(NULL, sizeof *results * ROWS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(results != MAP_FAILED);
    meter = mmap(NULL, sizeof *meter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(meter != MAP_FAILED);
    meter->counts_locked = true;
    if (!run_counted(program, results, 100000)) {
        fprintf(stderr, "locked: this machine does not permit to count steps\n");
        return;
    }
    int failures = 0;
    for (size_t i = 0; i < ROWS; i++) {
        long locked = results[i] - results[0];
        if (getenv("TREADLE_TEST_VERBOSE")) printf("%-40s %3ld\n", rows[i].name, locked);
        if (locked <= rows[i].most) continue;
        fprintf(stderr, "%s: %ld locked instructions, %ld before\n", rows[i].name, locked, rows[i].most);
        failures++;
    }
    CHECK_INT(failures, 0);
}

#else
TEST(counts_of_locked_instructions_are_of_x86, "RL-5") { printf("locked: skipped, since only instructions of x86-64 are known\n"); }
#endif

TEST_MAIN()
