/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * pool_test.c: pools: pushing, popping, adding; threads that end; releases that do things. pool_loop_test.c
 * has the pools of the run loop. */
#include "helpers.h"

static void write_word(void *word) { trace("%s", (const char *)word); }
static void add_word(const char *word) { CHECK_INT(treadle_pool_add((void *)(uintptr_t)word, write_word), TREADLE_OK); }
static uint64_t push(void) {
    uint64_t token = 0;
    CHECK_INT(treadle_pool_push(&token), TREADLE_OK);
    CHECK(token != 0);
    return token;
}
static void must_not_be_open(uint64_t token) { CHECK_ERROR(treadle_pool_pop(token), TREADLE_E_ARG, "token"); }

TEST(a_pool_releases_the_latest_first, "POOL-1 POOL-2") {
    uint64_t token = push();
    add_word("a");
    add_word("b");
    add_word("c");
    CHECK_TRACE("");
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_TRACE("c b a");
    must_not_be_open(token);
    CHECK_TRACE("");
}

TEST(pools_nest, "POOL-2") {
    uint64_t outer = push();
    add_word("a");
    uint64_t inner = push();
    CHECK(inner != outer);
    add_word("b");
    CHECK_INT(treadle_pool_pop(inner), TREADLE_OK);
    CHECK_TRACE("b");
    add_word("c");
    uint64_t empty = push();
    CHECK_INT(treadle_pool_pop(empty), TREADLE_OK);
    CHECK_TRACE("");
    CHECK_INT(treadle_pool_pop(outer), TREADLE_OK);
    CHECK_TRACE("c a");
}

TEST(a_pool_closes_those_that_were_left_open_in_it, "POOL-2") {
    uint64_t below = push();
    add_word("a");
    uint64_t outer = push();
    add_word("b");
    uint64_t one = push(), two = push();
    add_word("c");
    uint64_t three = push();
    add_word("d");
    CHECK_INT(treadle_pool_pop(outer), TREADLE_OK);
    CHECK_TRACE("d c b");
    must_not_be_open(one);
    must_not_be_open(two);
    must_not_be_open(three);
    must_not_be_open(outer);
    add_word("e");
    CHECK_INT(treadle_pool_pop(below), TREADLE_OK);
    CHECK_TRACE("e a");
}

static sem_t there_is_a_pool, may_end;
static void *keep_a_pool(void *out_token) {
    *(uint64_t *)out_token = push();
    sem_post(&there_is_a_pool);
    await(&may_end);
    CHECK_INT(treadle_pool_pop(*(uint64_t *)out_token), TREADLE_OK);
    return NULL;
}
TEST(tokens_that_are_none, "POOL-2") {
    pthread_t thread;
    uint64_t token = 0, foreign = 0;
    static const uint64_t garbage[] = {0, 1, 2, 1000, UINT32_MAX, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX};
    sem_init(&there_is_a_pool, 0, 0);
    sem_init(&may_end, 0, 0);
    CHECK_INT(pthread_create(&thread, NULL, keep_a_pool, &foreign), 0);
    await(&there_is_a_pool);
    for (int round = 0; round < 3; round++) { /* without a stack; with an open pool; with an empty stack */
        if (round == 1) token = push();
        for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++)
            if (garbage[i] != token) must_not_be_open(garbage[i]);
        must_not_be_open(foreign);
        if (round == 1) {
            must_not_be_open(token + 1);
            must_not_be_open(token - 1);
            must_not_be_open(token | (uint64_t)1 << 63);
            CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
        }
    }
    must_not_be_open(token);
    sem_post(&may_end);
    pthread_join(thread, NULL);
    must_not_be_open(foreign);
}

TEST(tokens_are_not_used_again, "POOL-2") {
    enum { COUNT = 1000 };
    static uint64_t tokens[COUNT];
    for (int i = 0; i < COUNT; i++) {
        tokens[i] = push();
        CHECK_INT(treadle_pool_pop(tokens[i]), TREADLE_OK);
    }
    uint64_t last = push();
    for (int i = 0; i < COUNT; i++) {
        CHECK(tokens[i] != last);
        if (i > 0) CHECK(tokens[i] != tokens[i - 1]);
        must_not_be_open(tokens[i]);
    }
    CHECK_INT(treadle_pool_pop(last), TREADLE_OK);
}

static int nulls;
static void take_null(void *object) {
    CHECK(object == NULL);
    nulls++;
}
TEST(bad_arguments_of_pools, "POOL-2") {
    CHECK_ERROR(treadle_pool_push(NULL), TREADLE_E_ARG, "out_token");
    CHECK_ERROR(treadle_pool_add("object", NULL), TREADLE_E_ARG, "release");
    CHECK_ERROR(treadle_pool_add(NULL, NULL), TREADLE_E_ARG, "release");
    uint64_t token = push();
    CHECK_ERROR(treadle_pool_add("object", NULL), TREADLE_E_ARG, "release");
    CHECK_INT(treadle_pool_add(NULL, take_null), TREADLE_OK); /* an object like any other */
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_INT(nulls, 1);
}

/* --- The end of a thread -------------------------------------------------------------------------- */

static void told(uint32_t name, void *object, void *info) {
    CHECK_INT(name, TREADLE_NOTIFY_THREAD_WILL_EXIT);
    CHECK(object && object == (void *)treadle_thread_current());
    trace("will-exit");
    if (info) add_word(info);
}
static void *leave_things(void *how) {
    CHECK(treadle_thread_current());
    add_word("a");
    push();
    add_word("b");
    trace("end");
    if (how) pthread_exit(NULL);
    return NULL;
}
TEST(a_thread_s_end_releases_after_its_notification, "POOL-2 THR-14") {
    uint64_t token;
    CHECK_INT(add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, told, "c", NULL, &token), TREADLE_OK);
    on_thread(leave_things, NULL);
    CHECK_TRACE("end will-exit c b a");
    on_thread(leave_things, "by pthread_exit");
    CHECK_TRACE("end will-exit c b a");
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
}

static void *leave_a_word(void *word) { return add_word(word), NULL; }
TEST(a_thread_without_object_and_loop_releases_too, "POOL-2") {
    on_thread(leave_a_word, "word");
    CHECK_TRACE("word");
}

static void *entry_function(void *how) {
    add_word("a");
    push();
    add_word("b");
    trace("end");
    if (how) treadle_thread_exit(NULL);
    return NULL;
}
TEST(a_thread_of_treadle_has_a_pool_around_its_function, "POOL-4") {
    uint64_t token;
    CHECK_INT(add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, told, "c", NULL, &token), TREADLE_OK);
    for (int exits = 0; exits < 2; exits++) {
        treadle_thread thread;
        CHECK_INT(create_thread(entry_function, exits ? "by exit" : NULL, NULL, &thread), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
        /* A thread that exits in the middle of its function leaves its pool to its end. */
        CHECK_TRACE(exits ? "end will-exit c b a" : "end b a will-exit c");
    }
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
}

static pthread_key_t key;
static void add_late(void *word) { add_word(word); }
static void *with_a_destructor(void *unused) {
    CHECK_INT(pthread_setspecific(key, "late"), 0);
    add_word("early");
    return unused;
}
TEST(a_thread_specific_destructor_may_add, "POOL-2 RL-8") {
    push(); /* the library's key comes first; its destructor waits for the others all the same */
    CHECK_INT(pthread_key_create(&key, add_late), 0);
    for (int i = 0; i < 10; i++) {
        on_thread(with_a_destructor, NULL);
        CHECK(strstr(trace_text, "early") && strstr(trace_text, "late"));
        CHECK_INT(strlen(trace_text), strlen("early late"));
        trace_clear();
    }
}

static void exit_thread(void *unused) {
    trace("exit");
    pthread_exit(unused);
}
static void *exit_in_a_release(void *unused) {
    add_word("a");
    uint64_t token = push();
    add_word("b");
    CHECK_INT(treadle_pool_add(NULL, exit_thread), TREADLE_OK);
    add_word("c");
    treadle_pool_pop(token);
    CHECK(0);
    return unused;
}
TEST(a_release_may_end_the_thread, "POOL-5") {
    on_thread(exit_in_a_release, NULL);
    CHECK_TRACE("c exit b a");
}

/* --- Releases that do things ---------------------------------------------------------------------- */

static void add_again(void *count) {
    if (--*(int *)count > 0) CHECK_INT(treadle_pool_add(count, add_again), TREADLE_OK);
}
static void add_two(void *unused) {
    (void)unused;
    add_word("first");
    add_word("second");
}
TEST(releases_that_add, "POOL-5") {
    int count = scaled(10000);
    uint64_t outer = push(), token = push();
    add_word("below");
    CHECK_INT(treadle_pool_add(NULL, add_two), TREADLE_OK);
    CHECK_INT(treadle_pool_add(&count, add_again), TREADLE_OK);
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_INT(count, 0);
    CHECK_TRACE("second first below");
    CHECK_INT(treadle_pool_pop(outer), TREADLE_OK);
    CHECK_TRACE("");
}

static void *add_at_the_end(void *count) {
    CHECK_INT(treadle_pool_add(count, add_again), TREADLE_OK);
    CHECK_INT(treadle_pool_add(NULL, add_two), TREADLE_OK);
    return NULL;
}
TEST(releases_that_add_at_the_end_of_the_thread, "POOL-5 POOL-2") {
    int count = scaled(10000);
    on_thread(add_at_the_end, &count);
    CHECK_INT(count, 0);
    CHECK_TRACE("second first");
}

static void use_a_pool(void *unused) {
    (void)unused;
    trace("(");
    uint64_t token = push();
    add_word("inside");
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    trace(")");
}
static void leave_a_pool_open(void *unused) {
    (void)unused;
    push();
    add_word("left");
}
TEST(releases_that_open_pools, "POOL-5 POOL-2") {
    uint64_t token = push();
    add_word("a");
    CHECK_INT(treadle_pool_add(NULL, use_a_pool), TREADLE_OK);
    CHECK_INT(treadle_pool_add(NULL, leave_a_pool_open), TREADLE_OK);
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_TRACE("left ( inside ) a");
    must_not_be_open(token);
}

/* A pool that is being closed may be closed, from inside, for the second time, or with one below it: what was
 * added to the one below in between stays there. */
static uint64_t to_pop;
static void pop_and_add(void *words) {
    const char *const *word = words;
    CHECK_INT(treadle_pool_pop(to_pop), TREADLE_OK);
    for (; *word; word++) add_word(*word);
}
TEST(a_release_may_close_its_own_pool, "POOL-5 POOL-2") {
    static const char *words[] = {"x", "y", "z", NULL};
    uint64_t below = push(), token = to_pop = push();
    add_word("a");
    CHECK_INT(treadle_pool_add(words, pop_and_add), TREADLE_OK);
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_TRACE("a");
    must_not_be_open(token);
    CHECK_INT(treadle_pool_pop(below), TREADLE_OK);
    CHECK_TRACE("z y x");
}
TEST(a_release_may_close_a_pool_below, "POOL-5 POOL-2") {
    static const char *words[] = {"v", "w", "x", "y", "z", NULL};
    uint64_t base = push();
    to_pop = push();
    add_word("a");
    uint64_t token = push();
    add_word("b");
    CHECK_INT(treadle_pool_add(words, pop_and_add), TREADLE_OK);
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_TRACE("b a");
    must_not_be_open(token);
    must_not_be_open(to_pop);
    CHECK_INT(treadle_pool_pop(base), TREADLE_OK);
    CHECK_TRACE("z y x w v");
}

static void run_a_loop(void *unused) {
    (void)unused;
    CHECK_INT(treadle_loop_post(treadle_loop_current(), write_word, "posted"), TREADLE_OK);
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
}
TEST(a_release_may_run_a_loop, "POOL-5 POOL-3") {
    uint64_t token = push();
    add_word("a");
    CHECK_INT(treadle_pool_add(NULL, run_a_loop), TREADLE_OK);
    add_word("b");
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_TRACE("b posted a");
}

/* --- Many ----------------------------------------------------------------------------------------- */

static _Thread_local int64_t next_release;
static void in_order(void *number) {
    CHECK_INT((intptr_t)number, next_release);
    next_release--;
}
static void *many(void *unused) {
    enum { COUNT = 10000 };
    static _Thread_local uint64_t tokens[COUNT];
    for (intptr_t i = 0; i < COUNT; i++) { /* nested */
        tokens[i] = push();
        CHECK_INT(treadle_pool_add((void *)i, in_order), TREADLE_OK);
    }
    next_release = COUNT - 1;
    for (int i = COUNT - 1; i >= COUNT / 2; i--) CHECK_INT(treadle_pool_pop(tokens[i]), TREADLE_OK);
    CHECK_INT(next_release, COUNT / 2 - 1);
    CHECK_INT(treadle_pool_pop(tokens[1]), TREADLE_OK); /* all that are left but one, at once */
    CHECK_INT(next_release, 0);
    must_not_be_open(tokens[2]);
    CHECK_INT(treadle_pool_pop(tokens[0]), TREADLE_OK);
    CHECK_INT(next_release, -1);
    for (int i = 0; i < COUNT; i++) { /* one after the other */
        uint64_t token = push();
        next_release = 1;
        CHECK_INT(treadle_pool_add((void *)1, in_order), TREADLE_OK);
        CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
        CHECK_INT(next_release, 0);
    }
    int count = scaled(1000000);
    uint64_t token = push();
    for (intptr_t i = 1; i <= count; i++) CHECK_INT(treadle_pool_add((void *)i, in_order), TREADLE_OK);
    next_release = count;
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_INT(next_release, 0);
    next_release = 3;
    for (intptr_t i = 1; i <= 3; i++) CHECK_INT(treadle_pool_add((void *)i, in_order), TREADLE_OK);
    return unused; /* the last three by the end of the thread */
}
TEST(ten_thousand_pools, "POOL-2") { on_thread(many, NULL); }
TEST(pools_of_many_threads_do_not_meet, "POOL-2") {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, many, NULL), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* An emptied stack keeps no more than the usual memory; threads that end keep none. */
static void nothing(void *unused) { (void)unused; }
static void *some(void *unused) {
    uint64_t token = push();
    for (int i = 0; i < 1000; i++) CHECK_INT(treadle_pool_add(NULL, nothing), TREADLE_OK);
    if (thread_id() % 2) CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    return unused;
}
TEST(ended_threads_leave_no_memory, "POOL-2") {
    for (int i = 0; i < 20; i++) on_thread(some, NULL);
    long before = resident_kilobytes();
    for (int i = scaled(2000); i > 0; i--) on_thread(some, NULL);
    if (!THREAD_SANITIZER && !ADDRESS_SANITIZER) CHECK(resident_kilobytes() < before + 8192); /* one stack: 24 kB */
}

TEST_MAIN()
