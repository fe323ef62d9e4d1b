/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loop_test.c: whose loop it is, what a new one holds, what it tells about itself. */
#include "probe.h"

#include <dlfcn.h>
#include <threads.h>

#define MODE TREADLE_DEFAULT_MODE

static int count_modes(treadle_loop loop) {
    char names[1024];
    size_t length = 0;
    int count = 0;
    CHECK_INT(treadle_loop_get_modes(loop, names, sizeof names, &length), TREADLE_OK);
    for (size_t i = 0; i < length; i++) count += names[i] == 0;
    return count;
}

static void loop_in_callback(struct probe *probe) {
    CHECK(treadle_loop_current() == probe->user && treadle_loop_is_current(probe->user));
}
static void *has_its_own_loop(void *others) {
    treadle_loop loop = treadle_loop_current(), copy = NULL;
    int32_t id = 0;
    treadle_source keeper = keep_mode(MODE);
    CHECK(loop && loop != others);
    CHECK(treadle_loop_is_current(loop) && !treadle_loop_is_current(others));
    CHECK_INT(treadle_loop_get_thread_id(loop, &id), TREADLE_OK);
    CHECK_INT(id, thread_id());
    CHECK_INT(treadle_loop_copy_of_thread(id, &copy), TREADLE_OK);
    CHECK(copy == loop);
    CHECK_INT(treadle_loop_release(copy), TREADLE_OK);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {.on_call = loop_in_callback, .user = loop};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(loop, probe.item, MODE), TREADLE_OK);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(probe.calls, 1);
        probe_end(&probe);
        CHECK(treadle_loop_current() == loop);
    }
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    return loop;
}
static int has_its_own_loop_in_c11(void *others) { return has_its_own_loop(others) != NULL; }
TEST(each_thread_has_one_loop, "RL-1 RL-2") {
    treadle_loop mine = has_its_own_loop(NULL);
    thrd_t thread;
    int result = 0;
    CHECK(on_thread(has_its_own_loop, mine));
    if (!THREAD_SANITIZER) { /* which knows the threads of POSIX alone */
        CHECK_INT(thrd_create(&thread, has_its_own_loop_in_c11, mine), thrd_success);
        CHECK_INT(thrd_join(thread, &result), thrd_success);
        CHECK_INT(result, 1);
    }
    CHECK(treadle_loop_current() == mine);
}

TEST(a_loop_is_found_by_its_living_thread, "RL-9 OBJ-2") {
    struct worker worker;
    treadle_loop loop = NULL;
    worker_start(&worker);
    CHECK_INT(treadle_loop_copy_of_thread(worker.thread_id, &loop), TREADLE_OK);
    CHECK(loop == worker.loop);
    worker_stop(&worker);
    int32_t id = 1;
    CHECK_INT(treadle_loop_get_thread_id(loop, &id), TREADLE_OK);
    CHECK_INT(id, 0);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_ERROR(treadle_loop_copy_of_thread(worker.thread_id, &loop), TREADLE_E_NOT_FOUND, "");
    CHECK(loop == NULL);
    CHECK_ERROR(treadle_loop_copy_of_thread(-1, &loop), TREADLE_E_NOT_FOUND, "");
}

static void *get_main(void *unused) {
    int32_t id = 0;
    (void)unused;
    treadle_loop loop = treadle_loop_main();
    CHECK(loop && !treadle_loop_is_current(loop) && treadle_loop_current() != loop);
    CHECK_INT(treadle_loop_get_thread_id(loop, &id), TREADLE_OK);
    CHECK_INT(id, getpid());
    CHECK(treadle_loop_main() == loop);
    return loop;
}
TEST(the_main_loop_is_the_initial_thread_s, "RL-3") {
    /* Asked for by another thread first, which makes it. */
    treadle_loop loop = on_thread(get_main, NULL);
    CHECK(treadle_loop_current() == loop && treadle_loop_main() == loop);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}

/* The address sanitizer takes the second copy of the library below for a mistake. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_odr_violation=0"; }

/* A second copy of the library, in another file, is loaded by a thread that is not the initial one. */
static void *load_on_this_thread(void *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    treadle_loop (*main_loop)(void);
    bool (*is_current)(treadle_loop);
    treadle_status (*get_thread_id)(treadle_loop, int32_t *);
    *(void **)&main_loop = dlsym(library, "treadle_loop_main");
    *(void **)&is_current = dlsym(library, "treadle_loop_is_current");
    *(void **)&get_thread_id = dlsym(library, "treadle_loop_get_thread_id");
    int32_t id = 0;
    CHECK(main_loop && main_loop != treadle_loop_main && is_current && get_thread_id);
    treadle_loop loop = main_loop();
    CHECK(loop && !is_current(loop));
    CHECK_INT(get_thread_id(loop, &id), TREADLE_OK);
    CHECK_INT(id, getpid());
    return NULL;
}
TEST(the_loading_thread_is_not_the_main_thread, "RL-3") {
    Dl_info info;
    char path[] = "/tmp/treadle-copy-XXXXXX", buffer[65536];
    if (is_way("musl-static")) return; /* musl's dladdr knows nothing of a static program */
    CHECK(dladdr((void *)(uintptr_t)treadle_version, &info));
    if (!strstr(info.dli_fname, ".so")) return; /* linked statically: nothing can be loaded late */
    int from = open(info.dli_fname, O_RDONLY), to = mkstemp(path);
    CHECK(from >= 0 && to >= 0);
    for (ssize_t count; (count = read(from, buffer, sizeof buffer)) > 0;) CHECK_INT(write(to, buffer, (size_t)count), count);
    close(from);
    close(to);
    on_thread(load_on_this_thread, path);
    unlink(path);
}

TEST(a_new_loop_has_the_default_mode_alone, "RL-4 RL-7 MODE-8") {
    treadle_loop loop = treadle_loop_current();
    char names[64];
    size_t length = 0;
    CHECK_INT(treadle_loop_get_modes(loop, names, sizeof names, &length), TREADLE_OK);
    CHECK_INT(length, sizeof MODE);
    CHECK_TEXT(names, MODE);
    CHECK(treadle_loop_is_common_mode(loop, MODE));
    CHECK(!treadle_loop_is_common_mode(loop, TREADLE_COMMON_MODES) && !treadle_loop_is_common_mode(loop, "x"));
}

static treadle_loop never_run;
static sem_t made, configured;
static void *make_loop_and_wait(void *unused) {
    never_run = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(never_run), TREADLE_OK);
    sem_post(&made);
    await(&configured);
    return unused;
}
static void ran(void *info) { ++*(int *)info; }
TEST(a_loop_that_never_ran_accepts_everything, "RL-5 OBJ-6 STOP-1 WAKE-2") {
    pthread_t thread;
    int blocks = 0, posts = 0;
    treadle_post block = {.struct_size = sizeof block, .fn = ran, .info = &blocks, .destroy = ran};
    int64_t date = 1;
    sem_init(&made, 0, 0);
    sem_init(&configured, 0, 0);
    CHECK_INT(pthread_create(&thread, NULL, make_loop_and_wait, NULL), 0);
    await(&made);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(never_run, probe.item, MODE), TREADLE_OK);
        CHECK_INT(kinds[k]->add(never_run, probe.item, TREADLE_COMMON_MODES), TREADLE_OK);
        CHECK_INT(kinds[k]->remove(never_run, probe.item, MODE), TREADLE_OK);
        CHECK(kinds[k]->contains(never_run, probe.item, TREADLE_COMMON_MODES));
        probe_end(&probe);
    }
    CHECK_INT(treadle_loop_add_common_mode(never_run, "common too"), TREADLE_OK);
    CHECK_INT(treadle_loop_get_next_fire(never_run, MODE, &date), TREADLE_OK);
    CHECK_INT(date, 0);
    CHECK_INT(post_block(never_run, &block), TREADLE_OK);
    CHECK_INT(treadle_loop_post(never_run, ran, &posts), TREADLE_OK);
    CHECK_INT(treadle_loop_stop(never_run), TREADLE_IGNORED);
    CHECK(treadle_loop_wake(never_run) >= 0);
    CHECK(!treadle_loop_is_waiting(never_run));
    CHECK_INT(blocks + posts, 0);
    sem_post(&configured);
    pthread_join(thread, NULL);
    CHECK_INT(blocks, 1); /* discarded */
    CHECK_INT(posts, 0);
    CHECK_INT(treadle_loop_release(never_run), TREADLE_OK);
}

static void must_be_mode(const char *expected) {
    char text[64];
    size_t length = 99;
    treadle_loop loop = treadle_loop_current();
    if (!expected) {
        CHECK_ERROR(treadle_loop_get_current_mode(loop, text, sizeof text, &length), TREADLE_E_NOT_FOUND, "");
        CHECK_INT(length, 0);
        return;
    }
    CHECK_INT(treadle_loop_get_current_mode(loop, text, sizeof text, &length), TREADLE_OK);
    CHECK_TEXT(text, expected);
    CHECK_INT(length, strlen(expected));
}
static void run_inner(struct probe *probe) {
    must_be_mode(MODE);
    probe->on_call = NULL;
    CHECK_INT(poll_mode("inner"), TREADLE_RUN_TIMED_OUT);
    must_be_mode(MODE);
    CHECK_INT(poll_mode("empty"), TREADLE_RUN_FINISHED);
    must_be_mode(MODE);
}
static void in_inner(struct probe *probe) {
    (void)probe;
    must_be_mode("inner");
}
TEST(the_current_mode_follows_nested_runs, "RL-6 RUN-12") {
    struct probe outer = {.on_call = run_inner}, inner = {.on_call = in_inner};
    must_be_mode(NULL);
    probe_make(&outer, &source_kind);
    probe_make(&inner, &source_kind);
    CHECK_INT(source_kind.add(treadle_loop_current(), outer.item, MODE), TREADLE_OK);
    CHECK_INT(source_kind.add(treadle_loop_current(), inner.item, "inner"), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK(outer.calls == 1 && inner.calls == 1);
    must_be_mode(NULL);
    probe_end(&outer);
    probe_end(&inner);
}

TEST(the_current_mode_is_seen_from_other_threads, "RL-6 WAKE-6") {
    struct worker worker;
    char text[8];
    size_t length = 0;
    worker_start_in_mode(&worker, "a long mode");
    worker_await_sleep(&worker);
    CHECK(treadle_loop_is_waiting(worker.loop));
    CHECK_INT(treadle_loop_get_current_mode(worker.loop, NULL, 0, &length), TREADLE_OK);
    CHECK_INT(length, 11);
    memset(text, 'x', sizeof text);
    CHECK_INT(treadle_loop_get_current_mode(worker.loop, text, 5, &length), TREADLE_OK);
    CHECK_INT(length, 11);
    CHECK_TEXT(text, "a lo");
    CHECK(text[5] == 'x');
    worker_stop(&worker);
}

static void nothing(void *info) { (void)info; }
TEST(what_makes_a_mode_exist, "RL-7 MODE-6 BLK-4 D-20") {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = make_source(NULL, NULL);
    const char *queued = "queued", *common = TREADLE_COMMON_MODES;
    treadle_post block = {.struct_size = sizeof block, .modes = &queued, .mode_count = 1, .fn = nothing};
    int64_t date;
    /* Not running, asking, removing, nor joining the common set. */
    CHECK_INT(poll_mode("never"), TREADLE_RUN_FINISHED);
    CHECK(!treadle_loop_contains_source(loop, source, "never") && !treadle_loop_is_common_mode(loop, "never"));
    CHECK_INT(treadle_loop_get_next_fire(loop, "never", &date), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_source(loop, source, "never"), TREADLE_IGNORED);
    CHECK_INT(treadle_loop_add_common_mode(loop, "never"), TREADLE_OK);
    CHECK_INT(count_modes(loop), 1);
    /* Adding and queueing do; for the common modes no mode of that name. */
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK(mode_exists(loop, "queued"));
    CHECK_INT(count_modes(loop), 2);
    block.modes = &common;
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, nothing, NULL), TREADLE_OK);
    CHECK(!mode_exists(loop, TREADLE_COMMON_MODES));
    CHECK_INT(treadle_loop_add_source(loop, source, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK(mode_exists(loop, "never") && !mode_exists(loop, TREADLE_COMMON_MODES));
    /* A mode stays, empty or not, and is named once. */
    treadle_source_invalidate(source);
    CHECK_INT(poll_mode("queued"), TREADLE_RUN_TIMED_OUT);
    CHECK(mode_exists(loop, "never") && mode_exists(loop, "queued") && mode_exists(loop, MODE));
    CHECK_INT(count_modes(loop), 3);
    treadle_source_release(source);
}

TEST(mode_names_are_copied_whole, "RL-7") {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = keep_mode("ab");
    char names[64];
    size_t all = sizeof MODE + 3, length = 0;
    for (size_t capacity = 0; capacity <= all; capacity++) {
        memset(names, 'x', sizeof names);
        CHECK_INT(treadle_loop_get_modes(loop, capacity ? names : NULL, capacity, &length), TREADLE_OK);
        CHECK_INT(length, all);
        size_t used = 0;
        while (used < capacity && names[used] != 'x') used += strlen(names + used) + 1;
        CHECK(used <= capacity && (used == 0 || used == 3 || used == sizeof MODE || used == all));
        if (capacity == all) CHECK_INT(used, all);
        for (size_t i = used; i < sizeof names; i++) CHECK_INT(names[i], 'x');
    }
    treadle_source_release(source);
}

TEST(the_main_loop_is_not_special, "RL-10 D-04") {
    treadle_loop loop = treadle_loop_main();
    treadle_source source = make_source(NULL, NULL);
    CHECK(loop == treadle_loop_current());
    CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_add_common_mode(loop, "also common"), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, "also common", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    treadle_source_invalidate(source);
    CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_FINISHED);
    treadle_source_release(source);
}

static void describe_in_callback(struct probe *probe) {
    char text[200];
    size_t length = 0;
    CHECK(probe->kind->describe(probe->item, text, sizeof text, &length) == TREADLE_OK && strstr(text, "a probe"));
    CHECK_INT(treadle_loop_describe(treadle_loop_current(), text, sizeof text, &length), TREADLE_OK);
}
static void describe_half_destroyed(struct probe *probe) {
    char text[200];
    size_t length = 0;
    probe->kind->describe(probe->item, text, sizeof text, &length); /* any answer, but no crash */
}
TEST(descriptions_survive_any_state, "RL-12 OBJ-5") {
    treadle_loop loop = treadle_loop_current();
    treadle_source keeper = keep_mode(MODE);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {.on_call = describe_in_callback, .on_release = describe_half_destroyed};
        char text[400], small[4];
        size_t length = 0, again = 0;
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->describe(probe.item, text, sizeof text, &length), TREADLE_OK);
        CHECK_INT(length, strlen(text));
        CHECK(strstr(text, "a probe") && !strchr(text, '\n'));
        memset(small, 'x', sizeof small);
        CHECK_INT(kinds[k]->describe(probe.item, small, 3, &again), TREADLE_OK);
        CHECK(again == length && small[2] == 0 && small[3] == 'x' && memcmp(small, text, 2) == 0);
        CHECK_INT(kinds[k]->describe(probe.item, NULL, 0, &again), TREADLE_OK);
        CHECK_INT(again, length);
        CHECK_INT(kinds[k]->add(loop, probe.item, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_describe(loop, text, sizeof text, &length), TREADLE_OK);
        CHECK(length > 0 && strchr(text, '\n')); /* describe_test.c has what it tells */
        poll_mode(MODE);
        CHECK_INT(probe.calls, 1);
        CHECK_INT(kinds[k]->invalidate(probe.item), TREADLE_OK);
        CHECK_INT(kinds[k]->describe(probe.item, text, sizeof text, &length), TREADLE_OK);
        CHECK(length > 0);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        probe_end(&probe);
    }
    struct worker worker;
    char text[200];
    size_t length = 0;
    worker_start(&worker);
    worker_await_sleep(&worker);
    CHECK_INT(treadle_loop_describe(worker.loop, text, sizeof text, &length), TREADLE_OK);
    CHECK_INT(treadle_loop_retain(worker.loop), TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(treadle_loop_describe(worker.loop, text, sizeof text, &length), TREADLE_OK);
    CHECK(length > 0);
    CHECK_INT(treadle_loop_release(worker.loop), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

TEST_MAIN()
