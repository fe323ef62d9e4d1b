/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * guest_test.c: a loop that another loop dispatches in slices, here one of poll(): what each budget leads on to, when there is
 * something to do, and hosts that do it badly. */
#include "helpers.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

static const char *const M = TREADLE_DEFAULT_MODE, *const OTHER = "other";
static treadle_loop loop;
static int pollable = -1;

static void start(void) {
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_open_pollable(loop, M, &pollable), TREADLE_OK);
}
static bool is_readable(int timeout) {
    struct pollfd one = {.fd = pollable, .events = POLLIN};
    int result;
    while ((result = poll(&one, 1, timeout)) < 0 && errno == EINTR) {}
    return result == 1 && one.revents == POLLIN;
}
static treadle_status dispatch(size_t items) { return treadle_loop_dispatch(loop, M, TREADLE_FOREVER, items); }
static int64_t date_of(const char *mode) {
    int64_t date = -1;
    CHECK_INT(treadle_loop_prepare(loop, mode, &date), TREADLE_OK);
    return date;
}
/* Every slice, until there is nothing to do. How many there were. */
static int dispatch_all(size_t items) {
    int slices = 1;
    treadle_status status;
    for (; (status = dispatch(items)) == TREADLE_OK; slices++) {
        CHECK(is_readable(0) && date_of(M) == 0);
        CHECK(slices < 1000000);
    }
    CHECK_INT(status, TREADLE_RUN_TIMED_OUT);
    return slices;
}

static void say(void *info) { trace("%s", (char *)info); }
static void perform(treadle_source source, void *info) { (void)source, say(info); }
static void fire(treadle_timer timer, void *info) { (void)timer, say(info); }
static void call(void *target, void *argument) { (void)target, say(argument); }
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)events, say(info);
    CHECK_INT(treadle_invalidate(descriptor), TREADLE_OK);
}
static void notice(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)info;
    trace("%s", activity == TREADLE_ENTRY ? "<" : ">");
}
static treadle_source add_source(treadle_perform_fn fn, char *word, const char *mode) {
    treadle_source source = make_source(fn, word);
    CHECK_INT(treadle_loop_add(loop, source, mode), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    return source;
}
static void post(char *word) { CHECK_INT(treadle_loop_post(loop, say, word), TREADLE_OK); }
static void set_scene(void) {
    static int bells[2];
    post("p1");
    add_source(perform, "s1", M), add_source(perform, "s2", M);
    treadle_request asked = {.struct_size = sizeof asked, .fn = call, .argument = "r"};
    CHECK_INT(treadle_perform(loop, &asked), TREADLE_OK);
    post("p2");
    for (int i = 0; i < 2; i++) {
        treadle_timer timer = make_ending_timer(fire, i ? "t2" : "t1", 1 + i);
        CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
        bells[i] = eventfd(1, EFD_CLOEXEC);
        CHECK_INT(treadle_loop_add(loop, make_descriptor(ready, i ? "d2" : "d1", bells[i], TREADLE_READABLE), M), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_add(loop, make_observer(notice, NULL, TREADLE_ENTRY | TREADLE_EXIT), M), TREADLE_OK);
    post("p3");
}
static const char *const all = "< p1 p2 p3 s1 s2 r t1 t2 d1 d2 >";
static void *play(void *items) {
    start();
    set_scene();
    int slices = dispatch_all((size_t)(uintptr_t)items);
    if (items == (void *)1) CHECK_INT(slices, 11);
    CHECK_TRACE(all);
    CHECK(!is_readable(0) && date_of(M) == TREADLE_FOREVER);
    close(pollable);
    return NULL;
}
TEST(slices_lead_on_to_all_that_a_pass_would_call, "ABI-13 PASS-4 PASS-5 PASS-12 RUN-16") {
    for (size_t items = 1; items < 12; items++) on_thread(play, (void *)(uintptr_t)items);
    on_thread(play, (void *)(uintptr_t)SIZE_MAX);
}

/* However small the budget is. */
static atomic_int late;
static void signal_again(treadle_source source, void *info) {
    (void)info;
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
static void post_again(void *info) { CHECK_INT(treadle_loop_post(loop, post_again, info), TREADLE_OK); }
static void fire_again(treadle_timer timer, void *info) { (void)timer, (void)info; }
static void ready_again(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }
static void count_late(void *info) { (void)info, atomic_fetch_add(&late, 1); }
static void perform_late(treadle_source source, void *info) { (void)source, count_late(info); }
static void fire_late(treadle_timer timer, void *info) { (void)timer, count_late(info); }
TEST(a_budget_of_one_passes_nobody_over, "ABI-13 PASS-12 SRC0-7") {
    start();
    for (int i = 0; i < 3; i++) add_source(signal_again, NULL, M);
    post_again(NULL);
    CHECK_INT(treadle_loop_add(loop, make_timer(fire_again, NULL, 1, 1), M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, make_descriptor(ready_again, NULL, eventfd(1, EFD_CLOEXEC), TREADLE_READABLE), M), TREADLE_OK);
    for (int i = 0; i < 100; i++) CHECK_INT(dispatch(1), TREADLE_OK);
    for (int round = 1; round <= 20; round++) {
        treadle_source source = add_source(perform_late, NULL, M);
        treadle_timer timer = make_ending_timer(fire_late, NULL, treadle_time_now());
        CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
        CHECK_INT(treadle_loop_post(loop, count_late, NULL), TREADLE_OK);
        for (int i = 0; atomic_load(&late) < 3 * round; i++) {
            CHECK(i < 100);
            CHECK_INT(dispatch(1), TREADLE_OK);
        }
        CHECK_INT(discard(source), TREADLE_OK);
        CHECK_INT(treadle_release(timer), TREADLE_OK);
    }
}

/* A callback that takes longer than the budget is the last one. */
static int64_t budget_end;
static void take_long(void *info) {
    while (treadle_time_now() < budget_end) {}
    say(info);
}
TEST(a_budget_of_time_ends_with_the_callback_that_uses_it_up, "ABI-13") {
    start();
    for (int64_t budget = -1; budget < MILLISECONDS(2); budget += MILLISECONDS(1)) {
        for (int i = 0; i < 3; i++) CHECK_INT(treadle_loop_post(loop, take_long, "p"), TREADLE_OK);
        for (int i = 0; i < 3; i++) {
            budget_end = treadle_time_now() + budget + MILLISECONDS(1);
            CHECK_INT(treadle_loop_dispatch(loop, M, budget, SIZE_MAX), TREADLE_OK);
            CHECK_TRACE("p");
        }
        CHECK_INT(treadle_loop_dispatch(loop, M, budget, SIZE_MAX), TREADLE_RUN_TIMED_OUT);
    }
    CHECK_INT(treadle_loop_dispatch(loop, M, SECONDS(60), 0), TREADLE_RUN_TIMED_OUT);
}

TEST(runs_between_slices_lose_nothing, "ABI-13 ABI-9 RUN-12 WAKE-1") {
    start();
    for (int round = 0; round < 20; round++) {
        post("a"), post("b"), post("c");
        treadle_source source = add_source(perform, "s", M), other = add_source(perform, "o", OTHER);
        CHECK_INT(dispatch(1), TREADLE_OK);
        CHECK_INT(treadle_loop_run(loop, OTHER, 0, 0), TREADLE_RUN_TIMED_OUT);
        CHECK(is_readable(0));
        CHECK_INT(treadle_loop_run(loop, "third", MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_loop_run(loop, "unknown", 0, 0), TREADLE_RUN_FINISHED);
        CHECK(is_readable(0));
        /* A run of the same mode gets what the slice has not taken; its posts come when it goes on. */
        CHECK_INT(treadle_loop_run(loop, M, 0, 0), TREADLE_RUN_TIMED_OUT);
        CHECK(is_readable(0) && date_of(M) == 0);
        dispatch_all(1);
        CHECK_TRACE("a o s b c");
        CHECK(!is_readable(0));
        CHECK_INT(discard(source), TREADLE_OK);
        CHECK_INT(discard(other), TREADLE_OK);
    }
}

TEST(what_ends_between_slices_is_not_called, "ABI-13 SRC0-9 TMR-13 STOP-2") {
    start();
    treadle_source first = add_source(perform, "a", M), second = add_source(perform, "b", M), third = add_source(perform, "c", M);
    treadle_timer timer = make_timer(fire, "t", 1, 0);
    CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
    CHECK_INT(dispatch(1), TREADLE_OK);
    CHECK_INT(discard(second), TREADLE_OK);
    CHECK_INT(discard(first), TREADLE_OK);
    CHECK_INT(treadle_loop_remove(loop, timer, M), TREADLE_OK);
    dispatch_all(1);
    CHECK_TRACE("a c");
    CHECK_INT(treadle_loop_stop(loop), TREADLE_IGNORED);
    post("p"), post("q");
    CHECK_INT(dispatch(1), TREADLE_OK);
    CHECK_INT(treadle_loop_stop(loop), TREADLE_OK); /* it is in progress */
    CHECK_INT(dispatch(SIZE_MAX), TREADLE_RUN_STOPPED);
    CHECK_TRACE("p q");
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    CHECK(date_of(M) == 0);
    CHECK_INT(dispatch(1), TREADLE_RUN_STOPPED);
    discard(third), discard(timer);
}

/* In a callback: as the client leaves it there, it ends. */
static void dispatch_inside(void *info) {
    trace("(");
    CHECK_INT(treadle_loop_dispatch(loop, OTHER, TREADLE_FOREVER, 1), TREADLE_OK);
    if (info) CHECK_INT(treadle_loop_dispatch(loop, "third", TREADLE_FOREVER, 1), TREADLE_OK);
    trace(")");
}
TEST(a_slice_left_in_a_callback_ends_with_it, "ABI-13 ABI-10 RUN-12") {
    start();
    for (int i = 0; i < 2; i++) {
        treadle_source sources[] = {add_source(perform, "a", OTHER), add_source(perform, "b", OTHER), add_source(perform, "c", "third")};
        CHECK_INT(treadle_loop_post(loop, dispatch_inside, i ? "" : NULL), TREADLE_OK);
        post("next");
        dispatch_all(SIZE_MAX);
        CHECK_TRACE(i ? "( a c ) next" : "( a ) next");
        CHECK_INT(treadle_loop_run(loop, OTHER, 0, 0), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_loop_run(loop, "third", 0, 0), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE(i ? "b" : "b c");
        for (int k = 0; k < 3; k++) CHECK_INT(discard(sources[k]), TREADLE_OK);
    }
}

/* Two hosts, or one that has forgotten what it does: for one mode they go on with each other's slices, for two they nest. */
TEST(two_hosts_dispatch_one_loop, "ABI-13") {
    start();
    treadle_source a = add_source(perform, "a", M), b = add_source(perform, "b", M), c = add_source(perform, "c", M);
    treadle_source x = add_source(perform, "x", OTHER), y = add_source(perform, "y", OTHER);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(dispatch(1), TREADLE_OK);
        CHECK_INT(treadle_loop_dispatch(loop, OTHER, TREADLE_FOREVER, 1), i < 2 ? TREADLE_OK : TREADLE_RUN_TIMED_OUT);
        CHECK(is_readable(0));
    }
    dispatch_all(1);
    CHECK_TRACE("a x b y c");
    CHECK(!is_readable(0));
    discard(a), discard(b), discard(c), discard(x), discard(y);
}

static void *ask(void *info) {
    treadle_request asked = {.struct_size = sizeof asked, .fn = call, .argument = "r", .flags = TREADLE_PERFORM_WAIT};
    CHECK_INT(treadle_perform(info, &asked), TREADLE_OK);
    return NULL;
}
TEST(who_waits_for_the_last_callback_goes_on_at_once, "ABI-13 PERF-3") {
    pthread_t thread;
    start();
    treadle_source source = add_source(perform, "s", M);
    dispatch_all(1);
    CHECK_TRACE("s");
    CHECK_INT(pthread_create(&thread, NULL, ask, treadle_thread_current()), 0);
    CHECK(is_readable(60000));
    treadle_status status;
    while ((status = dispatch(1)) == TREADLE_RUN_TIMED_OUT) CHECK(is_readable(60000));
    CHECK_INT(status, TREADLE_OK);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_TRACE("r");
    dispatch_all(1);
    discard(source);
}

/* The date, and who is told when it moves: an observer of the end of each run. */
static int64_t told_date;
static void note_date(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    told_date = date_of(M);
}
static treadle_timer timer;
static int64_t far;
static void *move_timer(void *date) {
    CHECK_INT(treadle_timer_set_next_fire(timer, *(int64_t *)date), TREADLE_OK);
    return NULL;
}
TEST(a_host_with_a_timer_of_its_own_is_told_when_the_date_moves, "ABI-13 ABI-9 TMR-9") {
    start();
    far = FAR_AWAY;
    CHECK(date_of(M) == 0); /* what was there before was told to nobody */
    dispatch_all(SIZE_MAX);
    CHECK(date_of(M) == TREADLE_FOREVER && date_of("unknown") == TREADLE_FOREVER);
    treadle_observer observer = make_observer(note_date, NULL, TREADLE_EXIT);
    CHECK_INT(treadle_loop_add(loop, observer, M), TREADLE_OK);
    timer = make_timer(fire, "t", far, 0);
    CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
    CHECK(date_of(M) == 0 && is_readable(60000)); /* it has to look again */
    dispatch_all(SIZE_MAX);
    CHECK(told_date == far && date_of(M) == far && !is_readable(0));
    for (int64_t i = 1; i <= 10; i++) {
        int64_t date = far - SECONDS(10 * i);
        if (i % 2) move_timer(&date);
        else on_thread(move_timer, &date);
        CHECK(is_readable(60000));
        dispatch_all(SIZE_MAX);
        CHECK(told_date == date && date_of(M) == date);
    }
    CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK);
    CHECK(date_of(M) == 0 && is_readable(60000));
    dispatch_all(SIZE_MAX);
    CHECK_TRACE("t");
    CHECK(told_date == TREADLE_FOREVER);
    treadle_source source = make_source(perform, "s");
    CHECK_INT(treadle_loop_add(loop, source, M), TREADLE_OK);
    dispatch_all(1);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK(date_of(M) == 0);
    int bell = eventfd(0, EFD_CLOEXEC);
    treadle_descriptor descriptor = make_descriptor(ready, "d", bell, TREADLE_READABLE);
    for (int i = 0; i < 2; i++) {
        /* A mode without a pollable descriptor, too. */
        const char *mode = i ? OTHER : M;
        if (i) descriptor = make_descriptor(ready, "d", bell, TREADLE_READABLE);
        CHECK_INT(treadle_loop_add(loop, descriptor, mode), TREADLE_OK);
        CHECK(treadle_loop_dispatch(loop, mode, TREADLE_FOREVER, SIZE_MAX) == TREADLE_RUN_TIMED_OUT && date_of(mode) == TREADLE_FOREVER);
        CHECK_INT(write(bell, &(uint64_t){1}, 8), 8);
        CHECK(date_of(mode) == 0);
        CHECK_INT(treadle_loop_dispatch(loop, mode, TREADLE_FOREVER, SIZE_MAX), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE(i ? "d" : "s d");
        CHECK_INT(read(bell, &(uint64_t){0}, 8), 8);
    }
    discard(observer), discard(timer), discard(source);
}

/* A host that never drains: it is told, nothing is lost, and nothing is in anybody's way. */
enum { POSTS = 20000, THREADS = 4 };
static int arrived;
static void arrive(void *info) {
    CHECK(info == &arrived);
    arrived++;
}
static void *post_many(void *info) {
    for (int i = 0; i < scaled(POSTS); i++) CHECK_INT(treadle_loop_post(loop, arrive, &arrived), TREADLE_OK);
    return info;
}
TEST(a_host_that_does_not_drain_is_waited_for, "ABI-13 ABI-9 BLK-3") {
    start();
    int wanted = 0;
    for (int round = 0; round < 3; round++) {
        pthread_t threads[THREADS];
        wanted += THREADS * scaled(POSTS);
        for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, post_many, NULL), 0);
        if (round == 0) {
            for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
            CHECK(is_readable(0) && is_readable(0) && arrived == 0);
        }
        for (size_t items = 1; arrived < wanted; items = items % 100 + 1) {
            int before = arrived;
            CHECK(is_readable(60000));
            CHECK(dispatch(items) >= TREADLE_OK && arrived - before <= (int)items);
        }
        if (round) for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
        dispatch_all(1);
        CHECK_INT(arrived, wanted);
    }
}

TEST(a_descriptor_that_the_host_has_closed_costs_nothing, "ABI-13 ABI-9") {
    start();
    post("a");
    close(pollable);
    CHECK_INT(dispatch(1), TREADLE_OK);
    CHECK_INT(dispatch(1), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_open_pollable(loop, M, &pollable), TREADLE_OK);
    dispatch_all(1);
    post("b");
    CHECK(is_readable(60000));
    dispatch_all(1);
    CHECK_TRACE("a b");
}

static void *leave_a_slice(void *info) {
    start();
    post("a"), post("b");
    treadle_source source = add_source(perform, "c", M);
    CHECK_INT(treadle_release(source), TREADLE_OK);
    CHECK_INT(dispatch(1), TREADLE_OK);
    return info;
}
TEST(a_slice_ends_with_its_thread_and_is_none_of_a_forks, "ABI-13 RL-8 RL-11") {
    for (int i = 0; i < 20; i++) {
        on_thread(leave_a_slice, NULL);
        CHECK_TRACE("a");
        CHECK(!is_readable(0));
        close(pollable);
    }
    leave_a_slice(NULL);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int64_t date;
        alarm(60);
        CHECK_ERROR(dispatch(1), TREADLE_E_FORKED, "");
        CHECK_ERROR(treadle_loop_prepare(loop, M, &date), TREADLE_E_FORKED, "");
        _exit(0);
    }
    int status = 1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK_INT(status, 0);
    dispatch_all(1);
    CHECK_TRACE("a b c");
}

static void *from_elsewhere(void *info) {
    int64_t date = 7;
    CHECK_ERROR(dispatch(1), TREADLE_E_WRONG_THREAD, "loop");
    CHECK_ERROR(treadle_loop_prepare(loop, M, &date), TREADLE_E_WRONG_THREAD, "loop");
    CHECK_INT(date, 0);
    return info;
}
TEST(bad_input_is_refused_by_name_and_dispatches_nothing, "ABI-13 ABI-7") {
    int64_t date = 7;
    start();
    post("a");
    on_thread(from_elsewhere, NULL);
    CHECK_ERROR(treadle_loop_dispatch(NULL, M, 0, 1), TREADLE_E_ARG, "loop");
    CHECK_ERROR(treadle_loop_dispatch(loop, NULL, 0, 1), TREADLE_E_ARG, "mode");
    CHECK_ERROR(treadle_loop_dispatch(loop, TREADLE_COMMON_MODES, 0, 1), TREADLE_E_ARG, "mode");
    CHECK_ERROR(treadle_loop_dispatch(loop, "\xff", 0, 1), TREADLE_E_ARG, "mode");
    CHECK_ERROR(treadle_loop_prepare(NULL, M, &date), TREADLE_E_ARG, "loop");
    CHECK_ERROR(treadle_loop_prepare(loop, NULL, &date), TREADLE_E_ARG, "mode");
    CHECK_ERROR(treadle_loop_prepare(loop, TREADLE_COMMON_MODES, &date), TREADLE_E_ARG, "mode");
    CHECK_ERROR(treadle_loop_prepare(loop, "\xff", &date), TREADLE_E_ARG, "mode");
    CHECK_INT(date, 0);
    CHECK_ERROR(treadle_loop_prepare(loop, M, NULL), TREADLE_E_ARG, "out_date");
    CHECK_TRACE("");
    dispatch_all(SIZE_MAX);
    CHECK_TRACE("a");
    post("b"), post("c");
    CHECK_INT(dispatch(1), TREADLE_OK);
    CHECK_INT(treadle_shutdown(SECONDS(60)), TREADLE_OK);
    CHECK_ERROR(dispatch(1), TREADLE_E_CLOSED, "process");
    CHECK_ERROR(dispatch(1), TREADLE_E_CLOSED, "process");
    CHECK_ERROR(treadle_loop_prepare(loop, M, &date), TREADLE_E_CLOSED, "process");
    CHECK_TRACE("b");
}

/* What a callback creates belongs to no scope that the host has entered around the slice. */
static treadle_source created;
static void create_one(void *unused) { (void)unused, created = make_source(perform, NULL); }
TEST(what_callbacks_of_a_slice_create_is_in_no_scope, "ABI-13 SCOPE-1") {
    treadle_scope_config config = {.struct_size = sizeof config};
    treadle_scope scope;
    start();
    CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, create_one, NULL), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    dispatch_all(SIZE_MAX);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK(treadle_source_is_valid(created));
    CHECK_INT(discard(created), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}

TEST_MAIN()
