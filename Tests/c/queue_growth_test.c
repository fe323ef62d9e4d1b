/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * queue_growth_test.c: queues grow while no other thread has to wait for it, keep their order, and give back what a burst took. */
#include "faults.h"

#ifndef SANITIZED
enum { MANY = 5000, LARGE = 2048 };

/* A thread that is to be stopped when it takes LARGE bytes, until the test lets it go on. */
static _Thread_local bool is_to_stop;
static _Thread_local int times_memory_was_taken;
static sem_t has_stopped, may_go_on;
static void stop_before_memory(size_t size) {
    times_memory_was_taken++;
    if (!is_to_stop || size < LARGE) return;
    is_to_stop = false;
    sem_post(&has_stopped);
    while (sem_wait(&may_go_on) != 0) {}
}

static treadle_loop loop;
static treadle_source sources[MANY];
static int called, created;
static void count_call(void *info) { called += (int)(intptr_t)info; }
static void count_perform(treadle_source source, void *info) { (void)source, count_call(info); }
static void post_one(void) { CHECK_INT(treadle_loop_post(loop, count_call, (void *)1), TREADLE_OK); }
static void create_one(void) { sources[created++] = make_source(count_perform, (void *)1); }

static void post_until_stopped(void) {
    while (is_to_stop) post_one();
}
static void signal_until_stopped(void) {
    for (int i = 0; is_to_stop; i++) CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
}
static void create_until_stopped(void) {
    while (is_to_stop && created < MANY) create_one();
}
static void *do_until_stopped(void *work) {
    is_to_stop = true;
    ((void (*)(void))work)();
    return NULL;
}

/* Another thread does `work` until it takes memory; while it does, this one does `other`. */
static void while_another_grows(void (*work)(void), void (*other)(void)) {
    pthread_t thread;
    sem_init(&has_stopped, 0, 0);
    sem_init(&may_go_on, 0, 0);
    atomic_store(&before_memory, stop_before_memory);
    CHECK_INT(pthread_create(&thread, NULL, do_until_stopped, (void *)work), 0);
    while (sem_wait(&has_stopped) != 0) {}
    other();
    sem_post(&may_go_on);
    CHECK_INT(pthread_join(thread, NULL), 0);
    atomic_store(&before_memory, NULL);
}
static bool have_stops(void) { return have_memory_faults() || is_way("static") || is_way("debug"); }
static void call_all(void) {
    while (treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE) == TREADLE_RUN_HANDLED_SOURCE) {}
}

/* The other thread was the first to find half of the room used: the other half is there while it takes memory for more. */
static void post_in_second_half(void) {
    int before = times_memory_was_taken;
    for (int i = 0; i < LARGE / 16 / 2 / 2 - 2; i++) post_one();
    CHECK_INT(times_memory_was_taken, before);
}
TEST(a_post_does_not_wait_for_another_threads_memory, "BLK-1 BLK-5 WAKE-2") {
    if (!have_stops()) return;
    loop = treadle_loop_current();
    while_another_grows(post_until_stopped, post_in_second_half);
    call_all();
    /* 16 places, doubled until there are LARGE bytes of 16 each; the one that did not fit; and that of this thread. */
    CHECK(called > LARGE / 16 / 2);
}

static void signal_last(void) { CHECK_INT(treadle_source_signal(sources[MANY - 1]), TREADLE_OK); }
TEST(a_signal_does_not_wait_for_another_threads_memory, "SRC0-6 WAKE-2") {
    if (!have_stops()) return;
    loop = treadle_loop_current();
    while (created < MANY) {
        create_one();
        CHECK_INT(treadle_loop_add_source(loop, sources[created - 1], TREADLE_DEFAULT_MODE), TREADLE_OK);
    }
    while_another_grows(signal_until_stopped, post_one);
    signal_last();
    call_all();
    CHECK(called > LARGE / 16 / 2 + 1);
}

static treadle_source own;
static void create_own(void) { own = make_source(count_perform, NULL); }
TEST(an_object_is_created_while_another_thread_takes_memory_for_its_kind, "OBJ-2") {
    if (!have_stops()) return;
    loop = treadle_loop_current();
    create_one();
    /* Both find no place, and take memory for places; this thread has its own first. */
    while_another_grows(create_until_stopped, create_own);
    CHECK(own && treadle_is_valid(own) && created > 1);
    for (int i = 0; i < created; i++) {
        CHECK(treadle_is_valid(sources[i]) && sources[i] != own);
        CHECK_INT(discard(sources[i]), TREADLE_OK);
    }
    CHECK_INT(discard(own), TREADLE_OK);
}

static int next;
static void check_next(void *info) { CHECK_INT((intptr_t)info, next++); }
/* Numbered posts, some of them of a scope. */
static void post_in_order(int first, int count, treadle_scope scope) {
    for (int i = first; i < first + count; i++) {
        if (scope && i % 7 == 0) CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
        CHECK_INT(treadle_loop_post(loop, check_next, (void *)(intptr_t)i), TREADLE_OK);
        if (scope && i % 7 == 2) CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    }
}

TEST(a_queue_that_has_grown_keeps_its_order, "BLK-3 BLK-5 SCOPE-1") {
    loop = treadle_loop_current();
    treadle_scope scope = NULL;
    treadle_scope_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
    post_in_order(0, 7 * 1000, scope);
    call_all();
    CHECK_INT(next, 7 * 1000);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}

TEST(a_queue_that_has_grown_is_called_without_memory_too, "BLK-3 BLK-5 OBJ-2") {
    if (!have_memory_faults()) return;
    loop = treadle_loop_current();
    /* The first run takes memory for its own state. */
    post_one();
    call_all();
    post_in_order(0, MANY, NULL);
    arm(FAULT_MEMORY, ENOMEM, 1, true);
    call_all();
    CHECK(disarm() > 0 && next > 0);
    post_in_order(MANY, 10, NULL);
    while (next < MANY + 10) call_all();
}

/* The loop's own thread takes the memory, at its drains. */
static void *post_without_memory(void *unused) {
    for (int i = 0; i < LARGE; i++) post_one();
    CHECK_INT(times_memory_was_taken, 0);
    return unused;
}
TEST(a_queue_that_was_as_long_before_takes_no_memory_of_a_post, "BLK-5 OBJ-6") {
    if (!have_stops()) return;
    pthread_t thread;
    loop = treadle_loop_current();
    for (int i = 0; i < LARGE; i++) post_one();
    call_all();
    atomic_store(&before_memory, stop_before_memory);
    CHECK_INT(pthread_create(&thread, NULL, post_without_memory, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    atomic_store(&before_memory, NULL);
    call_all();
    CHECK_INT(called, 2 * LARGE);
}

/* What the C library's heap has handed out. */
static size_t heap(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
TEST(a_burst_of_posts_leaves_little_memory_behind, "BLK-5 OBJ-2") {
    if (!have_stops()) return;
    loop = treadle_loop_current();
    post_one();
    call_all();
    size_t before = heap();
    enum { BURST = 400000 };
    for (int i = 0; i < BURST; i++) post_one();
    CHECK(heap() - before >= BURST * 16);
    call_all();
    CHECK_INT(called, BURST + 1);
    /* Some drains later: a flood keeps its room. */
    for (int i = 0; i < 20; i++) post_one(), call_all();
    CHECK(heap() < before + 2 * 1024 * 1024);
}

/* Its entry stays with the loop's thread at each drain, in a room that does not come back. */
static void post_again(void *times) {
    intptr_t more = (intptr_t)times - 1;
    called++;
    if (more >= 0) CHECK_INT(treadle_loop_post(loop, post_again, (void *)more), TREADLE_OK);
    else treadle_loop_stop(loop);
}
TEST(a_post_that_nobody_takes_lets_no_queue_grow, "BLK-3 BLK-5") {
    if (!have_stops()) return;
    enum { FLOOD = 40000, TIMES = 100 };
    static const char *const modes[] = {"a mode that nobody runs"};
    treadle_post post = TREADLE_INIT(treadle_post);
    post.fn = count_call, post.modes = modes, post.mode_count = 1;
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_post_in(loop, &post), TREADLE_OK);
    for (int i = 0; i < FLOOD; i++) post_one();
    call_all();
    size_t before = heap();
    CHECK_INT(treadle_loop_post(loop, post_again, (void *)TIMES), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_STOPPED);
    CHECK_INT(called, FLOOD + TIMES + 1);
    CHECK(heap() <= before);
}
#endif /* SANITIZED */

TEST_MAIN()
