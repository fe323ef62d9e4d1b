/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * prepare_test.c: observers of TREADLE_PREPARE, who are called before another loop waits for this one, and may have something to add
 * to what it waits for. */
#include "helpers.h"

#include <poll.h>

static const char *const M = TREADLE_DEFAULT_MODE, *const OTHER = "other";
static treadle_loop loop;
static int pollable = -1;

static bool is_readable(int timeout) {
    struct pollfd one = {.fd = pollable, .events = POLLIN};
    int result;
    while ((result = poll(&one, 1, timeout)) < 0 && errno == EINTR) {}
    return result == 1 && one.revents == POLLIN;
}
static int64_t date_of(const char *mode) {
    int64_t date = -1;
    CHECK_INT(treadle_loop_prepare(loop, mode, &date), TREADLE_OK);
    return date;
}
static void dispatch_all(void) { CHECK_INT(treadle_loop_dispatch(loop, M, TREADLE_FOREVER, SIZE_MAX), TREADLE_RUN_TIMED_OUT); }
static void start(void) {
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_open_pollable(loop, M, &pollable), TREADLE_OK);
    dispatch_all();
    CHECK(!is_readable(0) && date_of(M) == TREADLE_FOREVER);
}
static void say(void *info) { trace("%s", (char *)info); }
static void fire(treadle_timer timer, void *info) { (void)timer, say(info); }

/* The observer of each test: says that it was called, and does what it is to. */
static void (*then)(void);
static void note(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer;
    CHECK_INT(activity, TREADLE_PREPARE);
    trace("%s", info ? (char *)info : "!");
    if (then) then();
}
static treadle_observer observe(uint32_t activities, const char *mode) {
    treadle_observer observer = make_observer(note, NULL, activities);
    CHECK_INT(treadle_loop_add(loop, observer, mode), TREADLE_OK);
    return observer;
}

static treadle_timer timer;
static int64_t next_date;
static void arm(void) { CHECK_INT(treadle_timer_set_next_fire(timer, next_date), TREADLE_OK); }
static void post_one(void) { CHECK_INT(treadle_loop_post(loop, say, "p"), TREADLE_OK); }
static void signal_one(void);

TEST(what_they_add_is_in_the_date_and_in_the_descriptor, "ABI-13 ABI-9 OBS-1") {
    start();
    timer = make_timer(fire, "t", TREADLE_FOREVER, 0);
    CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
    dispatch_all();
    treadle_observer observer = observe(TREADLE_PREPARE, M);
    CHECK(date_of(M) == TREADLE_FOREVER && !is_readable(0));
    CHECK_TRACE("!");
    /* A date, which may move in each of many calls without anything to do. */
    then = arm;
    for (int i = 0; i < 10; i++) {
        next_date = FAR_AWAY - SECONDS(10 * (i % 3));
        CHECK(date_of(M) == next_date && !is_readable(0));
        CHECK_TRACE("!");
    }
    next_date = treadle_time_now() + MILLISECONDS(20);
    date_of(M);
    CHECK(is_readable(60000));
    then = NULL;
    dispatch_all();
    CHECK_TRACE("! t");
    /* Something to do now. */
    then = post_one;
    CHECK(date_of(M) == 0 && is_readable(0));
    CHECK(date_of(M) == 0); /* and nobody is told again before it is done */
    CHECK_TRACE("!");
    dispatch_all();
    CHECK_TRACE("p");
    then = signal_one;
    CHECK(date_of(M) == 0 && is_readable(0));
    dispatch_all();
    CHECK_TRACE("! s");
    discard(observer), discard(timer);
    then = NULL;
    CHECK(date_of(M) == TREADLE_FOREVER);
    CHECK_TRACE("");
}
static void perform(treadle_source source, void *info) {
    say(info);
    CHECK_INT(discard(source), TREADLE_OK);
}
static void signal_one(void) {
    treadle_source source = make_source(perform, "s");
    CHECK_INT(treadle_loop_add(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}

TEST(nobody_else_is_told_and_no_run_tells_them, "ABI-13 OBS-1 OBS-3 OBS-9 STOP-9") {
    start();
    treadle_observer all = observe(TREADLE_ALL_ACTIVITIES, M), other = observe(TREADLE_PREPARE, OTHER);
    CHECK(date_of(M) == TREADLE_FOREVER);
    CHECK_TRACE("");
    CHECK(date_of(OTHER) == TREADLE_FOREVER);
    CHECK_TRACE("!");
    discard(all);
    treadle_observer observer = observe(TREADLE_PREPARE, M);
    dispatch_all();
    CHECK_INT(treadle_loop_run(loop, M, MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("");
    /* With something to do already, or to heed, which stays. */
    post_one();
    CHECK(date_of(M) == 0);
    dispatch_all();
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    CHECK(date_of(M) == 0);
    dispatch_all();
    for (int i = 0; i < 2; i++) {
        CHECK_INT(treadle_loop_request_stop(loop, i ? TREADLE_STOP_AT_ONCE : 0), TREADLE_OK);
        CHECK(date_of(M) == 0);
        CHECK_INT(treadle_loop_dispatch(loop, M, TREADLE_FOREVER, 1), TREADLE_RUN_STOPPED);
    }
    CHECK_TRACE("p");
    discard(observer), discard(other);
}

/* In their order, once, and not inside of themselves; and one that ends another, which is not called then. */
static treadle_observer victim;
static void ask_again(void) { CHECK(date_of(M) == TREADLE_FOREVER); }
static void end_victim(void) { CHECK_INT(treadle_invalidate(victim), TREADLE_OK); }
static void run_inside(void) { CHECK_INT(treadle_loop_run(loop, M, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT); }
static void stop_them(void) {
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
}
TEST(they_are_observers_like_any_others, "ABI-13 OBS-2 OBS-4 OBS-5 OBS-6 STOP-2 STOP-9") {
    start();
    treadle_observer observers[3];
    for (int i = 0; i < 3; i++) {
        treadle_observer_context context = {.struct_size = sizeof context, .notify = note, .info = (char *[]){"c", "b", "a"}[i],
                                            .activities = TREADLE_PREPARE, .once = i == 2, .order = -i};
        CHECK_INT(treadle_observer_create(&context, &observers[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add(loop, observers[i], M), TREADLE_OK);
    }
    CHECK(date_of(M) == TREADLE_FOREVER);
    CHECK_TRACE("a b c");
    CHECK(!treadle_is_valid(observers[2]));
    then = ask_again; /* those inside of b, of c, and of c in b are not called again */
    CHECK(date_of(M) == TREADLE_FOREVER);
    CHECK_TRACE("b c c b");
    then = run_inside;
    CHECK(date_of(M) == TREADLE_FOREVER);
    CHECK_TRACE("b c");
    then = stop_them; /* the first stop ends the notification, the second the next run */
    CHECK(date_of(M) == 0);
    CHECK_TRACE("b c");
    CHECK_INT(treadle_loop_dispatch(loop, M, TREADLE_FOREVER, 1), TREADLE_RUN_STOPPED);
    then = end_victim, victim = observers[0];
    CHECK(date_of(M) == TREADLE_FOREVER);
    CHECK_TRACE("b");
    for (int i = 0; i < 3; i++) discard(observers[i]);
}

/* A host that follows the date by an observer of the end of each run; and a callback that asks, in whose pass there is something to do. */
static int64_t told_date;
static void follow(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    told_date = date_of(M);
}
static void ask_in_callback(void *info) {
    CHECK(date_of(M) <= next_date);
    say(info);
}
TEST(a_date_that_is_asked_for_in_a_run_has_it_too, "ABI-13 OBS-9") {
    start();
    timer = make_timer(fire, "t", TREADLE_FOREVER, 0);
    CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
    treadle_observer observer = observe(TREADLE_PREPARE, M), end = make_observer(follow, NULL, TREADLE_EXIT);
    CHECK_INT(treadle_loop_add(loop, end, M), TREADLE_OK);
    then = arm, next_date = FAR_AWAY;
    dispatch_all();
    CHECK(told_date == next_date && !is_readable(0));
    CHECK_INT(treadle_loop_post(loop, ask_in_callback, "p"), TREADLE_OK);
    dispatch_all();
    CHECK(told_date == next_date);
    CHECK_TRACE("! ! p !");
    discard(observer), discard(end), discard(timer);
}

/* Posts of other threads, while they are called, are seen by the host. */
static atomic_int arrived;
static void arrive(void *info) { (void)info, atomic_fetch_add(&arrived, 1); }
static void *post_many(void *info) {
    for (int i = 0; i < scaled(20000); i++) {
        CHECK_INT(treadle_loop_post(info, arrive, NULL), TREADLE_OK);
        if (i % 16 == 0) usleep(1);
    }
    return NULL;
}
static void do_nothing(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info; }
TEST(no_post_of_another_thread_is_lost_in_a_notification, "ABI-13 ABI-9 WAKE-1") {
    pthread_t thread;
    start();
    treadle_observer observer = make_observer(do_nothing, NULL, TREADLE_PREPARE);
    CHECK_INT(treadle_loop_add(loop, observer, M), TREADLE_OK);
    CHECK_INT(pthread_create(&thread, NULL, post_many, loop), 0);
    while (atomic_load(&arrived) < scaled(20000)) {
        progress();
        if (date_of(M) != 0) CHECK(is_readable(60000));
        dispatch_all();
    }
    CHECK_INT(pthread_join(thread, NULL), 0);
    discard(observer);
}

TEST_MAIN()
