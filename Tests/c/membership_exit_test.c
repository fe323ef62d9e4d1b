/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * membership_exit_test.c: threads that end inside of what adding, removing and closing items call: schedule, cancel, the functions
 * that name a descriptor or compare sources. Whatever they held is dropped: the item, its scope and the loop end as they should. */
#include "helpers.h"

enum callback { NONE, SCHEDULE, CANCEL, GET_FD, EQUAL, DESCRIBE };
static struct {
    enum callback ends_in; /* where the thread ends, */
    int times;             /* and how many times more */
    int schedules, cancels, releases, ends;
    int fd;
    treadle_loop loop;
    treadle_object item, other;
    treadle_scope scope;
} scene;

static void may_end(enum callback callback) {
    if (scene.ends_in != callback || scene.times == 0) return;
    scene.times--;
    scene.ends++;
    pthread_exit(NULL);
}
static void schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode, (void)info;
    scene.schedules++;
    may_end(SCHEDULE);
}
static void cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode, (void)info;
    scene.cancels++;
    may_end(CANCEL);
}
static int get_fd(void *info) {
    (void)info;
    may_end(GET_FD);
    return scene.fd;
}
static int equal(void *one, void *other) {
    (void)one, (void)other;
    may_end(EQUAL);
    return false;
}
static uint64_t hash(void *info) { return (void)info, 7; }
static void describe(void *info, char *buffer, size_t size) {
    (void)info, (void)buffer, (void)size;
    may_end(DESCRIBE);
}
static void release(void *info) { (void)info, scene.releases++; }

static treadle_object make_told_source(void) {
    treadle_source_context context = {.struct_size = sizeof context, .info = &scene, .schedule = schedule, .cancel = cancel,
                                      .release = release, .describe = describe};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    return source;
}
static treadle_object make_comparable(void) {
    treadle_source_context context = {
        .struct_size = sizeof context, .info = &scene, .equal = equal, .hash = hash, .release = release};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    return source;
}
static treadle_object make_asked(void) {
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = &scene, .ready = ready_for_nothing,
                                          .get_fd = get_fd, .fd = -1, .events = TREADLE_READABLE, .release = release};
    treadle_descriptor descriptor = NULL;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    return descriptor;
}

/* --- What the thread does that ends ----------------------------------------------------------------- */

static void add(void) { treadle_loop_add(scene.loop, scene.item, "a"); }
static void add_to_default(void) { treadle_loop_add(scene.loop, scene.item, TREADLE_DEFAULT_MODE); }
static void add_to_common(void) { treadle_loop_add(scene.loop, scene.item, TREADLE_COMMON_MODES); }
static void add_common_mode(void) { treadle_loop_add_common_mode(scene.loop, "joining"); }
static void contains(void) { treadle_loop_contains(scene.loop, scene.item, "a"); }
static void remove_it(void) { treadle_loop_remove(scene.loop, scene.item, "a"); }
static void remove_from_common(void) { treadle_loop_remove(scene.loop, scene.item, TREADLE_COMMON_MODES); }
static void invalidate(void) { treadle_invalidate(scene.item); }
static void close_it(void) { treadle_close(scene.item, TREADLE_FOREVER); }
static void describe_it(void) {
    char text[1000];
    size_t length;
    treadle_describe(scene.item, text, sizeof text, &length);
}
static void add_two(void) {
    treadle_loop_add(scene.loop, scene.item, "a");
    treadle_loop_add(scene.loop, scene.item, "b");
}
static void add_other(void) { treadle_loop_add(scene.loop, scene.other, "a"); }
static void add_to_two_common(void) {
    treadle_loop_add_common_mode(scene.loop, "b");
    treadle_loop_add(scene.loop, scene.item, TREADLE_COMMON_MODES);
    treadle_loop_add(scene.loop, scene.other, TREADLE_COMMON_MODES);
}

static const struct way {
    treadle_object (*make)(void);
    void (*prepare)(void);
    enum callback ends_in;
    void (*act)(void);
    int leaves; /* how many cancels the act causes, each of which may end the thread */
} ways[] = {
    {make_told_source, NULL, SCHEDULE, add, 0},
    {make_told_source, NULL, SCHEDULE, add_to_default, 0},
    {make_told_source, NULL, SCHEDULE, add_to_common, 0},
    {make_told_source, add_to_two_common, SCHEDULE, add_common_mode, 0},
    {make_told_source, add_two, CANCEL, remove_it, 1},
    {make_told_source, add_to_two_common, CANCEL, remove_from_common, 2},
    {make_told_source, add_two, CANCEL, invalidate, 2},
    {make_told_source, add, CANCEL, invalidate, 1},
    {make_told_source, add_two, CANCEL, close_it, 2},
    {make_told_source, add, CANCEL, close_it, 1},
    {make_told_source, NULL, DESCRIBE, describe_it, 0},
    {make_comparable, add_other, EQUAL, add, 0},
    {make_comparable, add_other, EQUAL, contains, 0},
    {make_asked, NULL, GET_FD, add, 0},
    {make_asked, NULL, GET_FD, add_to_default, 0},
    {make_asked, NULL, GET_FD, add_to_common, 0},
    {make_asked, add_to_two_common, GET_FD, add_common_mode, 0},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void *act(void *info) {
    const struct way *way = info;
    if (!scene.loop) {
        scene.loop = treadle_loop_current();
        if (way->prepare) way->prepare();
    }
    scene.ends_in = way->ends_in;
    way->act();
    CHECK(!"it returned");
    return NULL;
}
/* Both items end at once, as if the thread had returned from its call. */
static void must_end(void) {
    scene.ends_in = NONE;
    CHECK_INT(treadle_close(scene.item, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_close(scene.other, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scene.item), TREADLE_OK);
    CHECK_INT(treadle_release(scene.other), TREADLE_OK);
    CHECK_INT(scene.releases, 2);
    CHECK_INT(scene.schedules, scene.cancels);
}
static void make_scene(const struct way *way, int times) {
    memset(&scene, 0, sizeof scene);
    scene.times = times;
    scene.item = way->make();
    scene.other = way->make();
    scene.fd = eventfd(0, EFD_CLOEXEC);
}
TEST(a_thread_that_ends_in_schedule_or_cancel_holds_nothing, "OBJ-3 OBJ-4 SRC0-3 SRC1-3 RL-8") {
    for (int i = 0; i < WAYS; i++) {
        make_scene(&ways[i], 1);
        on_thread(act, (void *)(uintptr_t)&ways[i]);
        CHECK_INT(scene.ends, 1);
        CHECK_INT(treadle_retain(scene.loop), TREADLE_E_STALE);
        must_end();
        close(scene.fd);
    }
}

static sem_t is_there, may_go;
static void *have_a_loop(void *info) {
    scene.loop = treadle_loop_current();
    sem_post(&is_there);
    await(&may_go);
    return info;
}
static void end_inside_of_another_loop(const struct way *way, int times) {
    pthread_t owner;
    make_scene(way, times);
    CHECK_INT(pthread_create(&owner, NULL, have_a_loop, NULL), 0);
    await(&is_there);
    treadle_loop loop = scene.loop;
    if (way->prepare) way->prepare();
    on_thread(act, (void *)(uintptr_t)way);
    CHECK_INT(scene.ends, times);
    if (way->act == invalidate || way->act == close_it || way->act == remove_from_common) {
        CHECK(!treadle_loop_contains(loop, scene.item, "a"));
        CHECK(!treadle_loop_contains(loop, scene.item, "b"));
        CHECK(!treadle_loop_contains(loop, scene.item, TREADLE_DEFAULT_MODE));
    }
    must_end();
    sem_post(&may_go);
    CHECK_INT(pthread_join(owner, NULL), 0);
    CHECK_INT(treadle_retain(loop), TREADLE_E_STALE);
    close(scene.fd);
}
TEST(a_thread_that_ends_while_it_changes_another_s_loop_leaves_that_whole, "OBJ-3 OBJ-4 SRC0-3 SRC0-4 MODE-8 RL-9") {
    CHECK_INT(sem_init(&is_there, 0, 0), 0);
    CHECK_INT(sem_init(&may_go, 0, 0), 0);
    for (int i = 0; i < WAYS; i++) {
        end_inside_of_another_loop(&ways[i], 1);
        if (ways[i].leaves > 1) end_inside_of_another_loop(&ways[i], ways[i].leaves);
    }
}

/* --- A sleeping loop -------------------------------------------------------------------------------- */

static struct sleep_watch watch;
static void perform(treadle_source source, void *info) {
    (void)source, (void)info;
    treadle_loop_stop(treadle_loop_current());
}
static void *add_signalled(void *info) {
    scene.ends_in = SCHEDULE;
    CHECK_INT(treadle_source_signal(scene.item), TREADLE_OK);
    treadle_loop_add(scene.loop, scene.item, TREADLE_DEFAULT_MODE);
    CHECK(!"it returned");
    return info;
}
static void *sleep_and_perform(void *info) {
    treadle_source keeper = make_source(NULL, NULL);
    scene.loop = treadle_loop_current();
    CHECK_INT(treadle_loop_add_source(scene.loop, keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    watch_sleep(&watch, scene.loop, TREADLE_DEFAULT_MODE);
    sem_post(&is_there);
    CHECK_INT(treadle_loop_run(scene.loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_observer_release(watch.observer), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    return info;
}
TEST(a_source_wakes_the_loop_that_it_joins_if_its_schedule_ends_the_thread, "MODE-10 SRC0-3") {
    pthread_t owner;
    treadle_source_context context = {
        .struct_size = sizeof context, .perform = perform, .schedule = schedule, .release = release};
    memset(&scene, 0, sizeof scene);
    scene.times = 1;
    CHECK_INT(sem_init(&is_there, 0, 0), 0);
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    scene.item = source;
    CHECK_INT(pthread_create(&owner, NULL, sleep_and_perform, NULL), 0);
    await(&is_there);
    while (!is_fast_asleep(&watch)) sched_yield();
    on_thread(add_signalled, NULL);
    CHECK_INT(scene.ends, 1);
    CHECK_INT(pthread_join(owner, NULL), 0);
    CHECK_INT(treadle_close(scene.item, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scene.item), TREADLE_OK);
    CHECK_INT(scene.releases, 1);
}

/* --- Scopes ----------------------------------------------------------------------------------------- */

static void *close_scope(void *info) {
    scene.ends_in = CANCEL;
    treadle_scope_close(scene.scope, TREADLE_FOREVER);
    CHECK(!"it returned");
    return info;
}
static void *release_scope(void *info) {
    scene.ends_in = CANCEL;
    treadle_release(scene.scope);
    CHECK(!"it returned");
    return info;
}
static atomic_int destroyed;
static void note_destroyed(void *info) { (void)info, destroyed++; }
static treadle_scope make_noted_scope(void) {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = note_destroyed};
    treadle_scope scope = NULL;
    CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
    return scope;
}
/* Two sources in a scope inside of `scene.scope`, in two modes of a loop of the calling thread. */
static void fill_scope(void) {
    memset(&scene, 0, sizeof scene);
    destroyed = 0;
    scene.times = 1;
    scene.loop = treadle_loop_current();
    scene.scope = make_noted_scope();
    CHECK_INT(treadle_scope_enter(scene.scope), TREADLE_OK);
    treadle_scope inner = make_noted_scope();
    CHECK_INT(treadle_scope_enter(inner), TREADLE_OK);
    scene.other = make_told_source();
    scene.item = make_told_source();
    CHECK_INT(treadle_scope_leave(inner), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(scene.scope), TREADLE_OK);
    add_two();
    add_other();
    CHECK_INT(scene.schedules, 3);
}
TEST(a_scope_is_closed_after_a_thread_that_ended_in_a_member_s_cancel, "SCOPE-3 SCOPE-4 OBJ-3 SRC0-3") {
    fill_scope();
    on_thread(close_scope, NULL);
    CHECK_INT(scene.ends, 1);
    CHECK_INT(treadle_scope_close(scene.scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(scene.cancels, 3);
    CHECK_INT(scene.releases, 2);
    CHECK_INT(destroyed, 2);
    CHECK_INT(treadle_release(scene.scope), TREADLE_OK);
    CHECK_INT(treadle_retain(scene.scope), TREADLE_E_STALE);
}
TEST(a_scope_that_nobody_waits_for_ends_with_the_thread_that_ended_in_a_member_s_cancel, "SCOPE-3 SCOPE-4 OBJ-3 SRC0-3") {
    fill_scope();
    on_thread(release_scope, NULL);
    CHECK_INT(scene.ends, 1);
    CHECK_INT(scene.cancels, 3);
    CHECK_INT(scene.releases, 2);
    CHECK_INT(destroyed, 2);
    CHECK_INT(treadle_retain(scene.scope), TREADLE_E_STALE);
}

TEST_MAIN()
