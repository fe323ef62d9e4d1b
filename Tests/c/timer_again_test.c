/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timer_again_test.c: timers that are armed again after they have fired, what they are meanwhile, and how they end. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

static atomic_int fires, releases;
static void count(treadle_timer timer, void *info) {
    (void)info;
    CHECK(treadle_timer_is_valid(timer));
    atomic_fetch_add(&fires, 1);
}
static void fire(treadle_timer timer, void *info) {
    CHECK(treadle_time_now() >= next_fire(timer));
    count(timer, info);
}
static void count_release(void *info) {
    (void)info;
    atomic_fetch_add(&releases, 1);
}
static int take(atomic_int *count) { return atomic_exchange(count, 0); }
static treadle_timer make_with(treadle_timer_fn fn, void *info, int64_t fire_at, int64_t interval_ns, uint32_t flags) {
    return make_timer_with(flags, fn, info, count_release, fire_at, interval_ns);
}
static void add(treadle_timer timer, const char *mode) {
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, mode), TREADLE_OK);
}
static treadle_timer armed(treadle_timer_fn fn, int64_t fire_at, int64_t interval_ns) {
    treadle_timer timer = make_with(fn, NULL, fire_at, interval_ns, 0);
    add(timer, M);
    return timer;
}
static treadle_status run_in(const char *mode) {
    return treadle_loop_run(treadle_loop_current(), mode, TREADLE_FOREVER, 0);
}
/* Until nothing is left to wait for. */
static void run(void) { CHECK_INT(run_in(M), TREADLE_RUN_FINISHED); }
static int64_t next_of_mode(const char *mode) {
    int64_t date = -1;
    CHECK_INT(treadle_loop_get_next_fire(treadle_loop_current(), mode, &date), TREADLE_OK);
    return date;
}
static void check_idle(treadle_timer timer, const char *mode) {
    CHECK(treadle_timer_is_valid(timer));
    CHECK_INT(next_fire(timer), 0);
    CHECK_INT(next_of_mode(mode), 0);
    CHECK(treadle_loop_contains_timer(treadle_loop_current(), timer, mode));
    CHECK_INT(run_in(mode), TREADLE_RUN_FINISHED); /* it keeps no mode from being empty */
}
static void check_gone(treadle_timer timer) {
    CHECK_INT(take(&releases), 1);
    CHECK_INT(treadle_timer_retain(timer), TREADLE_E_STALE);
    run();
}

TEST(a_one_shot_that_has_fired_is_idle, "TMR-24 TMR-9 MODE-7") {
    treadle_timer timer = armed(fire, 1, 0);
    for (int i = 0; i < 100; i++) {
        run();
        CHECK_INT(take(&fires), 1);
        check_idle(timer, M);
        int64_t date = treadle_time_now() + i * 100;
        if (i % 2) CHECK_INT(treadle_timer_set_next_fire(timer, date), TREADLE_OK);
        else CHECK_INT(treadle_timer_arm(timer, i * 100), TREADLE_OK);
        if (i % 2) CHECK_INT(next_of_mode(M), date);
    }
    CHECK_INT(releases, 0);
    CHECK_INT(discard(timer), TREADLE_OK);
    check_gone(timer);
}

static void arm_again(treadle_timer timer, void *info) {
    fire(timer, info);
    int64_t recent = treadle_time_recent();
    if (fires < 50) {
        CHECK_INT(treadle_timer_arm(timer, 1000), TREADLE_OK);
        CHECK_INT(next_fire(timer), recent + 1000); /* from the time of the pass */
    } else if (fires < 100) {
        CHECK_INT(treadle_timer_set_next_fire(timer, treadle_time_now()), TREADLE_OK);
    }
}
TEST(it_is_armed_in_its_own_callback, "TMR-24 TMR-17 TMR-22 RUN-14") {
    for (int owned = 0; owned < 2; owned++) {
        treadle_timer timer = armed(arm_again, 1, 0);
        if (!owned) CHECK_INT(treadle_timer_release(timer), TREADLE_OK); /* a date is enough to go on */
        run();
        CHECK_INT(take(&fires), 100);
        if (owned) check_idle(timer, M);
        if (owned) CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
        check_gone(timer);
    }
}

static void release_inside(treadle_timer timer, void *info) {
    fire(timer, info);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK(treadle_timer_is_valid(timer));
    CHECK_INT(releases, 0);
}
static void *release_it(void *timer) {
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    return NULL;
}
TEST(an_idle_timer_that_nobody_owns_ends, "TMR-24 OBJ-4 TMR-7") {
    treadle_timer timer = armed(fire, 1, 0); /* nobody does when it has fired */
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    run();
    check_gone(timer);
    timer = armed(release_inside, 1, 0);
    run();
    check_gone(timer);
    for (int i = 0; i < 2; i++) { /* or when it is idle already */
        timer = armed(fire, 1, 0);
        CHECK_INT(treadle_timer_retain(timer), TREADLE_OK);
        run();
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
        check_idle(timer, M);
        if (i) on_thread(release_it, timer);
        else release_it(timer);
        check_gone(timer);
    }
    timer = make_with(fire, NULL, TREADLE_FOREVER, 0, 0); /* in no loop */
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    check_gone(timer);
    timer = armed(fire, FAR_AWAY, 0); /* one with a date is the loop's */
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK(treadle_timer_is_valid(timer));
    CHECK_INT(treadle_timer_arm(timer, TREADLE_FOREVER), TREADLE_OK);
    check_gone(timer);
    timer = NULL; /* never armed, and nobody could */
    CHECK_INT(treadle_timer_start(TREADLE_FOREVER, 0, fire, NULL, NULL), TREADLE_OK);
    run();
    CHECK_INT(treadle_timer_start(TREADLE_FOREVER, 1000, fire, NULL, &timer), TREADLE_OK);
    check_idle(timer, M);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_retain(timer), TREADLE_E_STALE);
}

static void disarm_inside(treadle_timer timer, void *info) {
    fire(timer, info);
    CHECK_INT(treadle_timer_arm(timer, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(next_fire(timer), 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT); /* while it fires it counts (TMR-20) */
}
TEST(without_a_date_it_is_idle, "TMR-24 TMR-20") {
    for (int repeats = 0; repeats < 2; repeats++) {
        int64_t interval = repeats ? 1000 : 0;
        treadle_timer timer = make_with(fire, NULL, TREADLE_FOREVER, interval, 0);
        add(timer, M);
        check_idle(timer, M);
        CHECK_INT(treadle_timer_set_tolerance(timer, 500), TREADLE_OK);
        check_idle(timer, M);
        CHECK_INT(treadle_timer_arm(timer, SECONDS(1000)), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_timer_set_next_fire(timer, TREADLE_FOREVER), TREADLE_OK);
        check_idle(timer, M);
        CHECK_INT(treadle_timer_set_next_fire(timer, TREADLE_FOREVER - 1), TREADLE_OK); /* a date, if a far one */
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_timer_arm(timer, TREADLE_FOREVER - 1), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(discard(timer), TREADLE_OK);
        check_gone(timer);
        timer = armed(disarm_inside, 1, interval);
        run();
        CHECK_INT(take(&fires), 1);
        check_idle(timer, M);
        CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
        run();
        CHECK_INT(take(&fires), 1);
        check_gone(timer);
    }
}

static treadle_timer victim;
static void disarm_victim(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    CHECK_INT(treadle_timer_arm(victim, TREADLE_FOREVER), TREADLE_OK);
}
TEST(one_that_was_collected_is_disarmed, "TMR-24 TMR-13") {
    treadle_timer first = armed(disarm_victim, 1, 0);
    victim = armed(fire, 2, 0);
    run();
    CHECK_INT(fires, 0);
    check_idle(victim, M);
    CHECK_INT(discard(first), TREADLE_OK);
    CHECK_INT(discard(victim), TREADLE_OK);
}

/* In several modes, and in the common ones, it is idle in all. */
TEST(it_is_idle_in_every_mode, "TMR-24 TMR-6 MODE-8") {
    static const char *const modes[] = {"a", "b", TREADLE_DEFAULT_MODE};
    for (int common = 0; common < 2; common++) {
        for (int round = 0; round < 6; round++) {
            treadle_timer timer = make_with(fire, NULL, round % 2 ? 1 : TREADLE_FOREVER, 0, 0);
            for (int i = 0; i < 2; i++) {
                if (common) CHECK_INT(treadle_loop_add_common_mode(treadle_loop_current(), modes[i]) >= 0, 1);
                if (!common) add(timer, modes[i]);
            }
            add(timer, common ? TREADLE_COMMON_MODES : M);
            for (int i = 0; i < 3; i++) {
                if (i || round % 2) CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK);
                if (i || round % 2) CHECK_INT(run_in(modes[i]), TREADLE_RUN_FINISHED);
                for (int k = 0; k < 3; k++) check_idle(timer, modes[k]);
            }
            CHECK_INT(take(&fires), round % 2 ? 3 : 2);
            if (round < 2) CHECK_INT(discard(timer), TREADLE_OK);
            else if (round < 4) CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
            else {
                CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK);
                CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
                CHECK_INT(run_in("b"), TREADLE_RUN_FINISHED);
                CHECK_INT(take(&fires), 1);
            }
            check_gone(timer);
        }
    }
}

TEST(an_idle_timer_goes_from_loop_to_loop, "TMR-24 TMR-6") {
    struct worker worker;
    treadle_timer timer = armed(fire, 1, 0);
    run();
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_IGNORED); /* it is here */
    CHECK_INT(treadle_loop_remove_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    CHECK(treadle_timer_is_valid(timer));
    run();
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, M), TREADLE_OK);
    for (int i = 2; i < 100; i++) {
        worker_await_sleep(&worker);
        CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK); /* also in a sleeping loop (TMR-8) */
        while (fires < i) sched_yield();
    }
    CHECK_INT(treadle_loop_remove_timer(worker.loop, timer, M), TREADLE_OK);
    int64_t before = treadle_time_now();
    CHECK_INT(treadle_timer_arm(timer, SECONDS(1)), TREADLE_OK); /* in no loop it counts from now */
    CHECK(next_fire(timer) >= before + SECONDS(1) && next_fire(timer) <= treadle_time_now() + SECONDS(1));
    worker_stop(&worker);
    CHECK_INT(discard(timer), TREADLE_OK);
    check_gone(timer);
}

/* A mode with nothing but an idle timer has no content, but is not given up when many others are made and left. */
TEST(its_mode_stays, "TMR-24 RL-7") {
    treadle_timer timer = make_with(fire, NULL, TREADLE_FOREVER, 0, 0), other = make_with(fire, NULL, FAR_AWAY, 0, 0);
    add(timer, "its own");
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "mode %d", i);
        add(other, name);
        CHECK_INT(treadle_loop_remove_timer(treadle_loop_current(), other, name), TREADLE_OK);
    }
    check_idle(timer, "its own");
    CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK);
    CHECK_INT(run_in("its own"), TREADLE_RUN_FINISHED);
    CHECK_INT(fires, 1);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(discard(other), TREADLE_OK);
}

TEST(one_that_is_fired_by_hand_is_idle, "TMR-24 NST-3") {
    treadle_timer timer = armed(count, FAR_AWAY, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
        CHECK_INT(take(&fires), 1);
        check_idle(timer, M);
    }
    CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK);
    run();
    CHECK_INT(take(&fires), 1);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    check_gone(timer);
    timer = armed(count, FAR_AWAY, 0);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
    check_gone(timer);
}

static void set_inside(treadle_timer timer, void *info) {
    fire(timer, info);
    CHECK_INT(treadle_timer_set_next_fire(timer, treadle_time_now()), TREADLE_OK);
    CHECK_INT(treadle_timer_arm(timer, 0), TREADLE_OK);
}
TEST(one_that_ends_after_firing, "TMR-4 TMR-15") {
    for (int i = 0; i < 4; i++) {
        treadle_timer timer = make_with(i % 2 ? set_inside : count, NULL, 1, 0, TREADLE_TIMER_ENDS_AFTER_FIRING);
        add(timer, M);
        if (i < 2) run();
        else CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
        CHECK_INT(take(&fires), 1);
        CHECK(!treadle_timer_is_valid(timer));
        CHECK_INT(take(&releases), 1);
        CHECK(!treadle_loop_contains_timer(treadle_loop_current(), timer, M));
        CHECK_INT(treadle_timer_arm(timer, 1), TREADLE_IGNORED);
        CHECK_INT(treadle_timer_set_next_fire(timer, 1), TREADLE_IGNORED);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
    treadle_timer timer = make_with(fire, NULL, 1, 1000, TREADLE_TIMER_ENDS_AFTER_FIRING); /* a repeating one goes on */
    add(timer, M);
    while (fires < 3) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(discard(timer), TREADLE_OK);
    treadle_timer_context context = {.struct_size = sizeof context, .flags = 1u << 31};
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_ARG, "flags");
    CHECK(!timer);
    context = (treadle_timer_context){.struct_size = sizeof context, .reserved = 1};
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_ARG, "reserved");
}

/* Another thread gives up the last reference, or arms it again, while it fires or just has. */
TEST(the_last_reference_goes_while_it_fires, "TMR-24 OBJ-4 OBJ-6 TMR-7") {
    for (int round = 0; round < scaled(1000); round++) {
        pthread_t thread;
        treadle_timer timer = armed(fire, treadle_time_now() + round % 64 * 1000, 0);
        CHECK_INT(pthread_create(&thread, NULL, release_it, timer), 0);
        run();
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(take(&fires), 1);
        check_gone(timer);
    }
}
static void *arm_often(void *timer) {
    for (int i = 0; i < 200; i++) CHECK_INT(treadle_timer_arm(timer, i % 4 ? i * 10 : TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    return NULL;
}
TEST(threads_arm_it_and_let_it_go, "TMR-24 TMR-17 OBJ-6") {
    for (int round = 0; round < scaled(200); round++) {
        pthread_t threads[2];
        treadle_timer timer = armed(count, 1, 0);
        CHECK_INT(treadle_timer_retain(timer), TREADLE_OK);
        for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, arm_often, timer), 0);
        while (!releases) CHECK(treadle_loop_run(treadle_loop_current(), M, 10000, 0) >= 0);
        for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
        check_gone(timer);
    }
}

TEST_MAIN()
