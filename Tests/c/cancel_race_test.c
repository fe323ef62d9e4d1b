/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * cancel_race_test.c: a source leaves its modes while the thread of their loop ends: each of them is told of, once, and the
 * loop and the mode are there for as long as that takes. */
#include "helpers.h"

enum { MODES = 3 };
static const char *const modes[MODES] = {TREADLE_DEFAULT_MODE, "a mode with a name of some length", "another"};

static struct {
    treadle_source source;
    treadle_loop loop; /* not retained by the test */
    pthread_t thread;
    sem_t is_set_up, may_end;
    bool waits; /* the first cancel, until the thread has ended */
    atomic_int scheduled, cancelled[MODES];
} scene;

static int mode_number(const char *mode) {
    for (int i = 0; i < MODES; i++)
        if (strcmp(mode, modes[i]) == 0) return i;
    check_failed(__FILE__, __LINE__, "there is no mode \"%s\"", mode);
}
static void must_be_there(treadle_loop loop, const char *mode) {
    char text[256];
    size_t length;
    CHECK(loop == scene.loop);
    mode_number(mode);
    CHECK_INT(treadle_loop_get_modes(loop, text, sizeof text, &length), TREADLE_OK);
    CHECK(memmem(text, length, mode, strlen(mode)));
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}
static void on_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)info;
    scene.loop = loop;
    must_be_there(loop, mode);
    scene.scheduled++;
}
static void on_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)info;
    must_be_there(loop, mode);
    if (scene.waits) {
        scene.waits = false;
        sem_post(&scene.may_end);
        CHECK_INT(pthread_join(scene.thread, NULL), 0);
    }
    must_be_there(loop, mode);
    scene.cancelled[mode_number(mode)]++;
}
static void *have_it_for_a_while(void *common) {
    treadle_loop loop = treadle_loop_current();
    for (int i = 0; i < MODES; i++) {
        if (common) CHECK(treadle_loop_add_common_mode(loop, modes[i]) >= 0);
        else CHECK_INT(treadle_loop_add_source(loop, scene.source, modes[i]), TREADLE_OK);
    }
    if (common) CHECK_INT(treadle_loop_add_source(loop, scene.source, TREADLE_COMMON_MODES), TREADLE_OK);
    sem_post(&scene.is_set_up);
    await(&scene.may_end);
    return NULL;
}
static void begin_scene(bool waits, bool common) {
    treadle_source_context context = {.struct_size = sizeof context, .schedule = on_schedule, .cancel = on_cancel};
    memset(&scene, 0, sizeof scene);
    scene.waits = waits;
    CHECK_INT(treadle_source_create(&context, &scene.source), TREADLE_OK);
    CHECK_INT(sem_init(&scene.is_set_up, 0, 0), 0);
    CHECK_INT(sem_init(&scene.may_end, 0, 0), 0);
    CHECK_INT(pthread_create(&scene.thread, NULL, have_it_for_a_while, common ? &scene : NULL), 0);
    await(&scene.is_set_up);
    CHECK_INT(scene.scheduled, MODES);
}
static void end_scene(void) {
    for (int i = 0; i < MODES; i++) CHECK_INT(scene.cancelled[i], 1);
    CHECK_INT(treadle_source_release(scene.source), TREADLE_OK);
    sem_destroy(&scene.is_set_up);
    sem_destroy(&scene.may_end);
}

TEST(the_loop_and_its_mode_are_there_until_a_cancel_returns, "OBJ-3 SRC0-3 SRC0-4 RL-9") {
    for (int common = 0; common < 2; common++) {
        begin_scene(true, common);
        CHECK_INT(treadle_source_invalidate(scene.source), TREADLE_OK); /* the first cancel outlives the thread */
        end_scene();
    }
}

TEST(every_mode_is_cancelled_once_whoever_is_first, "SRC0-3 SRC0-4 RL-8 OBJ-3") {
    for (int round = scaled(2000); round > 0; round--) {
        begin_scene(false, round % 2);
        sem_post(&scene.may_end);
        linger(MICROSECONDS(round % 7));
        CHECK_INT(treadle_source_invalidate(scene.source), TREADLE_OK);
        CHECK_INT(pthread_join(scene.thread, NULL), 0);
        end_scene();
    }
}

TEST_MAIN()
