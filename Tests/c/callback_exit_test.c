/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * callback_exit_test.c: callbacks outside of runs, and the ends of threads: a timer that is being fired by hand when the
 * thread of its loop ends, and functions that end the thread which calls them. */
#include "helpers.h"

static const char *const lists[][2] = {
    {TREADLE_DEFAULT_MODE, NULL}, {TREADLE_DEFAULT_MODE, "second"}, {TREADLE_COMMON_MODES, NULL}};
enum { LISTS = sizeof lists / sizeof lists[0] };

static struct {
    treadle_timer timer;
    treadle_loop loop; /* that the timer is in; retained */
    pthread_t thread;  /* whose loop that is */
    sem_t is_set_up, may_end;
    void (*in_callback)(void);
    const char *const *modes;
    int fires, held, ended;
} scene;

static void *retain(void *info) {
    scene.held++;
    return info;
}
static void release(void *info) {
    (void)info;
    if (--scene.held == 0) scene.ended++;
}
static void fire(treadle_timer timer, void *info) {
    CHECK(timer == scene.timer && info == &scene);
    scene.fires++;
    if (scene.in_callback) scene.in_callback();
}
static void make_scene(bool repeats, const char *const *modes, void (*in_callback)(void)) {
    memset(&scene, 0, sizeof scene);
    treadle_timer_context context = {.struct_size = sizeof context, .info = &scene, .retain = retain, .release = release,
                                     .fire = fire, .fire_at = FAR_AWAY, .interval_ns = repeats ? SECONDS(1000) : 0,
                                     .flags = TREADLE_TIMER_ENDS_AFTER_FIRING};
    CHECK_INT(treadle_timer_create(&context, &scene.timer), TREADLE_OK);
    CHECK_INT(sem_init(&scene.is_set_up, 0, 0), 0);
    CHECK_INT(sem_init(&scene.may_end, 0, 0), 0);
    scene.modes = modes;
    scene.in_callback = in_callback;
}
static void add_to(treadle_loop loop) {
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    scene.loop = loop;
    for (int i = 0; i < 2 && scene.modes[i]; i++)
        CHECK_INT(treadle_loop_add_timer(loop, scene.timer, scene.modes[i]), TREADLE_OK);
}
static bool is_in_loop(treadle_loop loop) {
    static const char *const all[] = {TREADLE_DEFAULT_MODE, "second", TREADLE_COMMON_MODES};
    for (int i = 0; i < 3; i++)
        if (treadle_loop_contains_timer(loop, scene.timer, all[i])) return true;
    return false;
}
/* It is in no loop, is like new for the calling thread's, and then nobody keeps it. */
static void must_be_free(void) {
    treadle_loop loop = treadle_loop_current();
    int fires = scene.fires;
    CHECK(treadle_timer_is_valid(scene.timer));
    CHECK(!is_in_loop(loop));
    if (scene.loop) CHECK(!is_in_loop(scene.loop));
    scene.in_callback = NULL;
    CHECK_INT(treadle_loop_add_timer(loop, scene.timer, "other"), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, "other", 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(scene.fires, fires);
    CHECK_INT(treadle_timer_set_next_fire(scene.timer, 1), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, "other", 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(scene.fires, fires + 1);
}
static void end_scene(void) {
    CHECK_INT(treadle_timer_close(scene.timer, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(scene.held, 0);
    CHECK_INT(scene.ended, 1);
    CHECK_INT(treadle_timer_release(scene.timer), TREADLE_OK);
    if (scene.loop) CHECK_INT(treadle_loop_release(scene.loop), TREADLE_OK);
    sem_destroy(&scene.is_set_up);
    sem_destroy(&scene.may_end);
}

/* --- The thread of its loop ------------------------------------------------------------------------ */

static void *have_it_for_a_while(void *unused) {
    add_to(treadle_loop_current());
    sem_post(&scene.is_set_up);
    await(&scene.may_end);
    return unused;
}
static void outlive_the_loop(void) {
    sem_post(&scene.may_end);
    CHECK_INT(pthread_join(scene.thread, NULL), 0);
    CHECK(!is_in_loop(scene.loop));
    CHECK_INT(treadle_loop_release(scene.loop), TREADLE_OK); /* its memory serves others from here on */
    scene.loop = NULL;
}
TEST(a_timer_that_is_fired_by_hand_leaves_the_loop_that_ends, "RL-8 MODE-5 NST-3") {
    for (int list = 0; list < LISTS; list++) {
        make_scene(true, lists[list], outlive_the_loop);
        CHECK_INT(pthread_create(&scene.thread, NULL, have_it_for_a_while, NULL), 0);
        await(&scene.is_set_up);
        CHECK_INT(treadle_timer_fire(scene.timer), TREADLE_OK);
        CHECK_INT(scene.fires, 1);
        must_be_free();
        end_scene();
    }
}

/* --- The thread that calls it ---------------------------------------------------------------------- */

static void end_thread(void) { pthread_exit(NULL); }
static void *fire_own(void *unused) {
    add_to(treadle_loop_current());
    treadle_timer_fire(scene.timer);
    CHECK(!"it returned");
    return unused;
}
static void *fire_other(void *unused) {
    treadle_timer_fire(scene.timer);
    CHECK(!"it returned");
    return unused;
}
TEST(a_callback_fired_by_hand_may_end_its_own_loop, "RL-8 MODE-5 NST-3 OBJ-8") {
    for (int list = 0; list < LISTS; list++) {
        make_scene(true, lists[list], end_thread);
        on_thread(fire_own, NULL);
        CHECK_INT(scene.held, 1); /* the timer's own */
        must_be_free();
        end_scene();
    }
}
TEST(a_timer_in_no_loop_outlives_the_thread_that_fired_it, "NST-3 OBJ-3 TMR-7") {
    make_scene(true, lists[0], end_thread);
    on_thread(fire_other, NULL);
    CHECK_INT(scene.held, 1);
    must_be_free();
    end_scene();
}
TEST(a_timer_goes_on_in_its_loop_when_another_thread_ends_in_it, "NST-3 TMR-16 TMR-19") {
    for (int list = 0; list < LISTS; list++) {
        make_scene(true, lists[list], end_thread);
        add_to(treadle_loop_current());
        on_thread(fire_other, NULL);
        CHECK_INT(scene.held, 1);
        CHECK(is_in_loop(scene.loop));
        scene.in_callback = NULL;
        CHECK_INT(treadle_timer_set_next_fire(scene.timer, 1), TREADLE_OK);
        CHECK_INT(treadle_loop_run(scene.loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(scene.fires, 2);
        end_scene();
    }
}
static treadle_timer outer_timer;
static void fire_the_scene_s(treadle_timer timer, void *info) { (void)timer, (void)info, treadle_timer_fire(scene.timer); }
static void *fire_outer(void *unused) {
    treadle_timer_fire(outer_timer);
    CHECK(!"it returned");
    return unused;
}
TEST(a_thread_may_end_in_a_timer_fired_in_another, "NST-3 OBJ-3") {
    make_scene(true, lists[0], end_thread);
    outer_timer = make_timer(fire_the_scene_s, NULL, FAR_AWAY, SECONDS(1000));
    on_thread(fire_outer, NULL);
    CHECK_INT(treadle_timer_close(outer_timer, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_timer_release(outer_timer), TREADLE_OK);
    must_be_free();
    end_scene();
}
TEST(a_one_shot_fired_by_hand_is_over_when_its_thread_ends, "NST-3 TMR-15 TMR-7") {
    for (int in_loop = 0; in_loop < 2; in_loop++) {
        make_scene(false, lists[0], end_thread);
        on_thread(in_loop ? fire_own : fire_other, NULL);
        CHECK(!treadle_timer_is_valid(scene.timer));
        CHECK_INT(scene.ended, 1);
        end_scene();
    }
}
static void *fire_by_run(void *unused) {
    add_to(treadle_loop_current());
    CHECK_INT(treadle_timer_set_next_fire(scene.timer, 1), TREADLE_OK);
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
    CHECK(!"it returned");
    return unused;
}
TEST(a_callback_of_a_run_may_end_the_run_s_thread, "RL-8 TMR-15 TMR-16 TMR-7") {
    for (int list = 0; list < LISTS; list++) {
        make_scene(true, lists[list], end_thread);
        on_thread(fire_by_run, NULL);
        must_be_free();
        end_scene();
        make_scene(false, lists[list], end_thread);
        on_thread(fire_by_run, NULL);
        CHECK(!treadle_timer_is_valid(scene.timer));
        CHECK_INT(scene.ended, 1);
        end_scene();
    }
}

/* The loop's teardown gives the call's reference back, and that runs the loop, makes new timers: none of them is taken for the
 * one whose callback has ended the thread. */
static treadle_timer newer[8];
static int releases_left;
static void run_and_make_newer(void *info) {
    (void)info;
    if (--releases_left != 1) return;
    poll_mode(TREADLE_DEFAULT_MODE);
    for (int i = 0; i < 8; i++) newer[i] = make_timer(NULL, NULL, SECONDS(1000000) + i, i % 2 ? SECONDS(1) : 0);
}
static void end_it_and_the_thread(treadle_timer timer, void *info) {
    (void)info;
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    pthread_exit(NULL);
}
static void *same(void *info) {
    releases_left++;
    return info;
}
static void *fire_the_last_of_it(void *repeats) {
    treadle_timer_context context = {.struct_size = sizeof context, .info = &scene, .retain = same, .release = run_and_make_newer,
                                     .fire = end_it_and_the_thread, .fire_at = 1, .interval_ns = repeats ? SECONDS(1000) : 0};
    treadle_loop loop = treadle_loop_current();
    treadle_source keeper = make_source(NULL, NULL);
    treadle_timer timer;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK(!"it returned");
    return NULL;
}
TEST(what_follows_an_abandoned_callback_concerns_its_timer_alone, "OBJ-3 OBJ-11 RL-8 TMR-7") {
    for (int repeats = 0; repeats < 2; repeats++) {
        releases_left = 0;
        on_thread(fire_the_last_of_it, repeats ? &scene : NULL);
        CHECK_INT(releases_left, 0);
        for (int i = 0; i < 8; i++) {
            CHECK(treadle_timer_is_valid(newer[i]));
            CHECK_INT(next_fire(newer[i]), SECONDS(1000000) + i);
            CHECK_INT(discard(newer[i]), TREADLE_OK);
        }
    }
}

TEST(a_shutdown_does_not_wait_for_a_callback_that_ended_its_thread, "THR-21 NST-3") {
    make_scene(true, lists[0], end_thread);
    on_thread(fire_other, NULL);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_timer_release(scene.timer), TREADLE_OK);
    CHECK_INT(scene.ended, 1);
}

static void end_thread_told(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    pthread_exit(NULL);
}
static void *be_told(void *observer) {
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK(!"it returned");
    return NULL;
}
TEST(an_observer_told_once_is_over_when_its_thread_ends, "OBS-6 OBS-8 RL-8") {
    for (int once = 0; once < 2; once++) {
        treadle_observer_context context = {.struct_size = sizeof context, .info = &scene, .release = release,
                                            .notify = end_thread_told, .activities = TREADLE_ENTRY, .once = once};
        treadle_observer observer;
        memset(&scene, 0, sizeof scene);
        scene.held = 1;
        CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
        on_thread(be_told, observer);
        CHECK(treadle_observer_is_valid(observer) == !once);
        CHECK_INT(scene.ended, once);
        CHECK_INT(treadle_observer_close(observer, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(scene.ended, 1);
        CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    }
}

/* --- What is asked on the thread after its callback has gone --------------------------------------- */

static treadle_status (*close_it)(int64_t timeout);
static treadle_status close_timer(int64_t timeout) { return treadle_timer_close(scene.timer, timeout); }
static treadle_source source;
static treadle_status close_source(int64_t timeout) { return treadle_source_close(source, timeout); }
static pthread_key_t key;
static atomic_int late_calls;
static void close_late(void *unused) {
    char room[4096];
    memset(room, 0xA5, sizeof room); /* where the callback's caller was */
    __asm__ volatile("" : : "r"(room) : "memory");
    (void)unused;
    treadle_status status = close_it(0);
    CHECK(status == TREADLE_OK || status == TREADLE_E_TIMEOUT || status == TREADLE_E_DEADLOCK);
    late_calls++;
}
static void end_thread_late(void) {
    CHECK_INT(pthread_setspecific(key, &scene), 0);
    pthread_exit(NULL);
}
TEST(a_destructor_may_close_what_its_thread_has_ended_in, "NST-3 OBJ-9") {
    CHECK_INT(pthread_key_create(&key, close_late), 0);
    close_it = close_timer;
    for (int round = 0; round < 2; round++) {
        late_calls = 0;
        make_scene(true, lists[0], end_thread_late);
        on_thread(round ? fire_own : fire_other, NULL);
        CHECK_INT(late_calls, 1);
        end_scene();
    }
    CHECK_INT(pthread_key_delete(key), 0);
}
static void end_thread_cancelled(treadle_source cancelled, treadle_loop loop, const char *mode, void *info) {
    (void)cancelled, (void)loop, (void)mode, (void)info;
    end_thread_late();
}
static void *remove_it(void *loop) {
    treadle_loop_remove_source(loop, source, TREADLE_DEFAULT_MODE);
    CHECK(!"it returned");
    return NULL;
}
TEST(a_destructor_may_close_a_source_whose_cancel_has_ended_the_thread, "SRC0-3 OBJ-9") {
    treadle_source_context context = {.struct_size = sizeof context, .cancel = end_thread_cancelled};
    CHECK_INT(pthread_key_create(&key, close_late), 0);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    close_it = close_source;
    on_thread(remove_it, treadle_loop_current());
    CHECK_INT(late_calls, 1);
    CHECK(!treadle_source_is_valid(source));
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(pthread_key_delete(key), 0);
}

TEST_MAIN()
