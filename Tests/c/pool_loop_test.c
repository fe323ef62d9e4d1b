/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pool_loop_test.c: the pools that a run loop opens around its passes and its Entry and Exit observers. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE
#define INNER "inner mode"

static void write_word(void *word) { trace("%s", (const char *)word); }
static void add_word(const char *word) { CHECK_INT(treadle_pool_add((void *)(uintptr_t)word, write_word), TREADLE_OK); }
static uint64_t push(void) {
    uint64_t token = 0;
    CHECK_INT(treadle_pool_push(&token), TREADLE_OK);
    return token;
}
static void must_not_be_open(uint64_t token) { CHECK_ERROR(treadle_pool_pop(token), TREADLE_E_ARG, "token"); }
static void post(treadle_post_fn fn, void *info) { CHECK_INT(treadle_loop_post(treadle_loop_current(), fn, info), TREADLE_OK); }

/* Each activity writes its name, and adds a release that writes it with a minus. */
static void add_activity(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)info;
    const char *words = activity == TREADLE_ENTRY            ? "-entry"
                        : activity == TREADLE_BEFORE_TIMERS  ? "-timers"
                        : activity == TREADLE_BEFORE_SOURCES ? "-sources"
                        : activity == TREADLE_BEFORE_WAITING ? "-sleep"
                        : activity == TREADLE_AFTER_WAITING  ? "-wake"
                                                             : "-exit";
    trace("%s", words + 1);
    add_word(words);
}
static treadle_observer observe(const char *mode) {
    treadle_observer observer = make_observer(add_activity, NULL, TREADLE_ALL_ACTIVITIES);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, mode), TREADLE_OK);
    return observer;
}
static treadle_source keep(const char *mode) {
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, mode), TREADLE_OK);
    return source;
}

static uint64_t token;
TEST(a_pass_that_polls_has_a_pool, "POOL-3 POOL-1") {
    treadle_source keeper = keep(MODE);
    treadle_observer observer = observe(MODE);
    add_word("base");
    for (int i = 0; i < 4; i++) {
        if (i == 2) token = push(); /* also in a client's pool */
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("entry -entry timers sources -sources -timers exit -exit");
    }
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_TRACE("");
    treadle_observer_release(observer);
    treadle_source_release(keeper);
}

/* Every kind of callback in one pass; all of it is released at the end of that pass. */
static void on_perform(treadle_source source, void *info) {
    (void)source;
    trace("perform");
    add_word(info);
}
static void on_fire(treadle_timer timer, void *info) {
    (void)timer;
    trace("fire");
    add_word(info);
}
static void on_block(void *word) {
    trace("block");
    add_word(word);
}
TEST(whatever_a_pass_calls_adds_to_its_pool, "POOL-3") {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = make_source(on_perform, "-perform");
    treadle_timer timer = make_timer(on_fire, "-fire", 1, SECONDS(100000));
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    treadle_observer observer = observe(MODE);
    treadle_source_signal(source);
    post(on_block, "-block");
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("entry -entry timers sources block perform fire -fire -perform -block -sources -timers exit -exit");
    treadle_observer_release(observer);
    treadle_source_release(source);
    treadle_timer_release(timer);
}

/* What is added in a sleeping pass waits for the end of that pass, behind the sleep; each pass has its own. */
static struct sleep_watch watch;
static void block_and_stop(void *word) {
    on_block(word);
    CHECK_INT(treadle_loop_stop(watch.loop), TREADLE_OK);
}
static void *post_when_asleep(void *unused) {
    await_sleep(&watch);
    CHECK_INT(treadle_loop_post(watch.loop, on_block, "-first"), TREADLE_OK);
    while (watch.sleeps < 2) sched_yield();
    await_sleep(&watch);
    CHECK_INT(treadle_loop_post(watch.loop, block_and_stop, "-second"), TREADLE_OK);
    return unused;
}
TEST(a_pass_that_sleeps_has_a_pool, "POOL-3") {
    treadle_source keeper = keep(MODE);
    treadle_observer observer = observe(MODE);
    pthread_t thread;
    watch_sleep(&watch, treadle_loop_current(), MODE);
    CHECK_INT(pthread_create(&thread, NULL, post_when_asleep, NULL), 0);
    CHECK_INT(treadle_loop_run(watch.loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    pthread_join(thread, NULL);
    CHECK(strncmp(trace_text, "entry -entry timers sources sleep wake block -first -wake -sleep -sources -timers timers ", 86) == 0);
    CHECK(strstr(trace_text, " block -second -wake -sleep -sources -timers exit -exit"));
    unwatch_sleep(&watch);
    treadle_observer_release(observer);
    treadle_source_release(keeper);
}

/* A release at the end of a pass that adds is repeated until nothing is left, before the next pass. */
static void add_three(void *count) {
    trace("r%d", *(int *)count);
    if (++*(int *)count < 3) CHECK_INT(treadle_pool_add(count, add_three), TREADLE_OK);
}
static void add_first(void *count) { CHECK_INT(treadle_pool_add(count, add_three), TREADLE_OK); }
TEST(releases_of_a_pass_may_add, "POOL-5 POOL-3") {
    treadle_source keeper = keep(MODE);
    treadle_observer observer = observe(MODE);
    int count = 0;
    post(add_first, &count);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("entry -entry timers sources r0 r1 r2 -sources -timers exit -exit");
    treadle_observer_release(observer);
    treadle_source_release(keeper);
}

/* --- Nested runs ---------------------------------------------------------------------------------- */

static void run_inner(void *unused) {
    (void)unused;
    add_word("-outer");
    CHECK_INT(poll_mode(INNER), TREADLE_RUN_TIMED_OUT);
    trace("back");
}
TEST(a_nested_run_releases_its_own_only, "POOL-3 RUN-12") {
    treadle_source keeper = keep(MODE), inner = make_source(on_perform, "-inner");
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), inner, INNER), TREADLE_OK);
    treadle_source_signal(inner);
    treadle_observer observer = observe(MODE);
    add_word("base");
    post(run_inner, NULL);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("entry -entry timers sources perform -inner back -outer -sources -timers exit -exit");
    treadle_observer_release(observer);
    treadle_source_release(inner);
    treadle_source_release(keeper);
}

/* --- Clients' pools and those of the loop --------------------------------------------------------- */

static void push_in_callback(void *unused) {
    (void)unused;
    add_word("-before");
    token = push();
    add_word("-inside");
}
TEST(a_pool_that_a_callback_leaves_open_ends_with_the_pass, "POOL-3 POOL-2") {
    treadle_source keeper = keep(MODE);
    for (int with_outer = 0; with_outer < 2; with_outer++) {
        uint64_t outer = with_outer ? push() : 0;
        if (with_outer) add_word("outer");
        post(push_in_callback, NULL);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("-inside -before");
        must_not_be_open(token);
        if (with_outer) CHECK_INT(treadle_pool_pop(outer), TREADLE_OK);
        CHECK_TRACE(with_outer ? "outer" : "");
    }
    treadle_source_release(keeper);
}
static void push_alone(void *unused) { (void)unused, token = push(); }
TEST(an_empty_pool_that_a_callback_leaves_open_ends_with_the_pass, "POOL-3 POOL-2") {
    treadle_source keeper = keep(MODE);
    uint64_t outer = push();
    post(push_alone, NULL);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    must_not_be_open(token);
    CHECK_INT(treadle_pool_pop(outer), TREADLE_OK);
    treadle_source_release(keeper);
}

/* A pool from outside of the run, closed by a callback, takes the pass's pool along: what is added to the pool below
 * after that is not released early, by the pass's end. */
static void pop_outer(void *words) {
    const char *const *word = words;
    add_word("in-pass");
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    trace("popped");
    for (; *word; word++) add_word(*word);
}
TEST(a_callback_may_close_a_pool_from_outside_of_the_run, "POOL-3 POOL-2") {
    static const char *words[] = {"x", "y", "z", NULL};
    treadle_source keeper = keep(MODE);
    uint64_t base = push();
    token = push();
    add_word("outer");
    post(pop_outer, words);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("in-pass outer popped");
    must_not_be_open(token);
    CHECK_INT(treadle_pool_pop(base), TREADLE_OK);
    CHECK_TRACE("z y x");
    treadle_source_release(keeper);
}

/* A thread that exits inside of a callback: the run is left, everything is released. */
static void exit_in_callback(void *unused) {
    add_word("in-pass");
    pthread_exit(unused);
}
static void *exit_from_a_run(void *unused) {
    add_word("base");
    post(exit_in_callback, NULL);
    poll_mode(MODE);
    CHECK(0);
    return unused;
}
TEST(a_thread_may_end_in_a_pass, "POOL-2 POOL-3 RL-8") {
    on_thread(exit_from_a_run, NULL);
    CHECK_TRACE("in-pass base");
}

/* A run of many passes does not pile up what they add. */
static int pending, most;
static void release_one(void *unused) { (void)unused, pending--; }
static void on_tick(void *left) {
    if (++pending > most) most = pending;
    CHECK_INT(treadle_pool_add(NULL, release_one), TREADLE_OK);
    if (--*(int *)left > 0) post(on_tick, left);
    else treadle_loop_stop(treadle_loop_current());
}
TEST(a_long_run_releases_in_each_pass, "POOL-1 POOL-3") {
    treadle_source keeper = keep(MODE);
    int left = scaled(10000);
    post(on_tick, &left);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(left, 0);
    CHECK_INT(pending, 0);
    CHECK(most <= 2); /* a pass drains the blocks twice */
    treadle_source_release(keeper);
}

/* --- Hosts ---------------------------------------------------------------------------------------- */

static bool fails;
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    if (event->kind == TREADLE_EVENT_RELEASE) {
        CHECK_INT(event->struct_size, sizeof *event);
        CHECK_INT(event->value, 0);
        CHECK(!event->loop && !event->subject && !event->mode && !event->argument);
        CHECK_INT(event->late_ns, 0);
        CHECK_INT(event->descriptor, -1);
    }
    trace("%s%" PRIu64, event->kind == TREADLE_EVENT_RELEASE ? "r" : "b", event->token);
    return fails ? 0 : ~ticket;
}
static treadle_host register_host(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_host host;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    return host;
}
static void must_retire(treadle_host host, size_t expected, uint64_t sum) {
    uint64_t tokens[8] = {0}, total = 0;
    size_t count = 0;
    CHECK_INT(treadle_host_take_retired(host, tokens, 8, &count), TREADLE_OK);
    CHECK_INT(count, expected);
    for (size_t i = 0; i < count; i++) total += tokens[i];
    CHECK_INT(total, sum);
}
static void *add_for_host(void *host) {
    CHECK_INT(treadle_host_pool_add(host, 9), TREADLE_OK);
    return NULL;
}
TEST(a_host_gets_releases_as_events, "POOL-2 ABI-2 ABI-3") {
    treadle_host host = register_host();
    uint64_t outer = push();
    CHECK_INT(treadle_host_pool_add(host, 11), TREADLE_OK);
    add_word("plain");
    CHECK_INT(treadle_host_pool_add(host, 12), TREADLE_OK);
    CHECK_INT(treadle_host_pool_add(host, 0), TREADLE_OK);
    must_retire(host, 0, 0);
    CHECK_INT(treadle_pool_pop(outer), TREADLE_OK);
    CHECK_TRACE("r0 r12 plain r11");
    must_retire(host, 3, 23);
    on_thread(add_for_host, host); /* at the end of a thread */
    CHECK_TRACE("r9");
    must_retire(host, 1, 9);
}

TEST(a_quiet_host_gets_no_release, "POOL-2 ABI-5") {
    treadle_host host = register_host();
    uint64_t outer = push(), dropped = 0;
    CHECK_INT(treadle_host_pool_add(host, 11), TREADLE_OK);
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
    CHECK_ERROR(treadle_host_pool_add(host, 12), TREADLE_E_CLOSED, "host");
    CHECK_INT(treadle_pool_pop(outer), TREADLE_OK);
    CHECK_TRACE("");
    CHECK_INT(treadle_host_get_dropped(host, &dropped), TREADLE_OK);
    CHECK_INT(dropped, 1);
    must_retire(host, 1, 11);
}

static void add_host_release(void *host) {
    CHECK_INT(treadle_host_pool_add(host, 7), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(treadle_loop_current()), TREADLE_OK); /* the pass's pool is behind its sleep */
}
static void pop_host_release(void *host) {
    uint64_t inner = push();
    add_host_release(host);
    CHECK_INT(treadle_pool_pop(inner), TREADLE_OK);
}
TEST(a_release_that_fails_ends_the_run, "POOL-3 ABI-3") {
    treadle_host host = register_host();
    treadle_source keeper = keep(MODE);
    fails = true;
    /* By the end of the pass, and by a callback. */
    post(add_host_release, host);
    CHECK_ERROR(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    post(pop_host_release, host);
    CHECK_ERROR(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    CHECK_TRACE("r7 r7");
    must_retire(host, 2, 14);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT); /* as good as before */
    pop_host_release(host);                             /* outside of every run: nothing to end */
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    treadle_source_release(keeper);
}

TEST_MAIN()
