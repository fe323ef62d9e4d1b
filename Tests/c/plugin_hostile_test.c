/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_hostile_test.c: plugins that do what they must not: threads of their own that go on, a stop that takes its time, ends of
 * others from inside of these, one file under several names. */
#include "plugins.h"

#include <sys/stat.h>

/* --- Threads of its own ------------------------------------------------------------------------- */

static atomic_int taken, refused, nothing, others, left;
static atomic_bool is_enough;
static treadle_status count_turn(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)host, (void)who;
    pthread_mutex_lock(&said_lock);
    said[0] = 0;
    pthread_mutex_unlock(&said_lock);
    if (strcmp(what, "turn") == 0) return is_enough ? TREADLE_E_CANCELLED : TREADLE_OK;
    if (strcmp(what, "taken") == 0) atomic_fetch_add(&taken, 1);
    if (strcmp(what, "refused") == 0) atomic_fetch_add(&refused, 1);
    if (strcmp(what, "nothing") == 0) atomic_fetch_add(&nothing, 1);
    if (strcmp(what, "something else") == 0) atomic_fetch_add(&others, 1);
    if (strcmp(what, "left") == 0) atomic_fetch_add(&left, 1);
    return TREADLE_OK;
}
TEST(threads_that_go_on_after_the_end_are_refused, "PLUG-3 PLUG-4 PLUG-5") {
    on_step = count_turn;
    for (int i = 0; i < 5; i++) {
        taken = refused = nothing = left = 0;
        is_enough = false;
        treadle_plugin plugin = load_and_start("restless");
        while (taken < 200) treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0);
        CHECK(refused == 0);
        CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
        CHECK(!treadle_is_valid(plugin));
        /* What each was about to say. */
        int before = taken + 2;
        while (refused < 200 || nothing < 200) sched_yield();
        CHECK(taken <= before);
        CHECK(is_mapped("restless"));
        is_enough = true;
        while (left < 2) sched_yield();
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
    }
    CHECK_INT(others, 0);
}

/* --- A stop that refuses ------------------------------------------------------------------------ */

static sem_t in_stop, go_on;
static treadle_status stay_in_stop(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)host, (void)who;
    if (strcmp(what, "stop") == 0) {
        sem_post(&in_stop);
        await(&go_on);
    }
    return strcmp(what, "stop") == 0 ? TREADLE_E_STATE : TREADLE_OK;
}
static void *close_soon(void *plugin) { return (void *)(intptr_t)treadle_plugin_close(plugin, 1); }
TEST(a_stop_that_takes_longer_and_refuses_ends_the_plugin_all_the_same, "PLUG-4 SCOPE-3") {
    treadle_scope_holder holder;
    size_t count;
    void *status;
    pthread_t closer;
    sem_init(&in_stop, 0, 0), sem_init(&go_on, 0, 0);
    on_step = stay_in_stop;
    treadle_plugin plugin = load_and_start("provider");
    CHECK_INT(pthread_create(&closer, NULL, close_soon, plugin), 0);
    await(&in_stop);
    /* Its time is over; nobody goes on to its end before it returns. */
    CHECK_INT(treadle_plugin_close(plugin, MILLISECONDS(2)), TREADLE_E_TIMEOUT);
    CHECK_INT(treadle_scope_copy_holders(plugin, &holder, sizeof(treadle_scope_holder), 1, &count), TREADLE_OK);
    CHECK(count == 1 && holder.kind == TREADLE_HOLDER_CALL && holder.thread_id != 0 && holder.held_ns > 0);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_CLOSED);
    CHECK(!strstr(said, "deinit"));
    sem_post(&go_on);
    CHECK_INT(pthread_join(closer, &status), 0);
    CHECK((intptr_t)status == TREADLE_OK || (intptr_t)status == TREADLE_E_TIMEOUT);
    unload(plugin);
    CHECK(strstr(said, "stop ?.deinit") && strstr(logged, "stop has failed"));
    CHECK(!is_mapped("provider"));
}

/* --- Ends of others ----------------------------------------------------------------------------- */

TEST(one_that_ends_its_caller_from_inside_of_the_call, "PLUG-4 PLUG-5 SCOPE-4") {
    treadle_plugin meeter = load("meeter"), visitor = load_and_start("visitor");
    said[0] = 0;
    while (!strstr(said, "deinit")) treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, MILLISECONDS(10), TREADLE_RUN_WHEN_EMPTY);
    char expected[64];
    snprintf(expected, sizeof expected, "visitor.back ?.back ?.met %d ?.stop ?.deinit", TREADLE_DEFERRED);
    CHECK_SAID(expected);
    CHECK_INT(treadle_plugin_close(visitor, TREADLE_FOREVER), TREADLE_OK);
    /* Whose code has asked for it is not known. */
    CHECK(is_mapped("visitor"));
    CHECK_INT(treadle_release(visitor), TREADLE_OK);
    unload(meeter);
    CHECK(!is_mapped("meeter"));
}

static treadle_status stay_at_back(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)host;
    if (strcmp(what, "back") == 0 && strcmp(who, "visitor") == 0) {
        sem_post(&in_stop);
        await(&go_on);
    }
    return TREADLE_OK;
}
TEST(one_that_ends_another_whose_thread_is_in_a_call_of_it, "PLUG-4 SCOPE-3") {
    const void *meeting;
    treadle_scope_holder holders[4];
    size_t count;
    bool has_timer = false;
    sem_init(&in_stop, 0, 0), sem_init(&go_on, 0, 0);
    setenv("ALONE", "1", 1);
    on_step = stay_at_back;
    treadle_plugin meeter = load("meeter"), visitor = load_and_start("visitor");
    CHECK_INT(treadle_plugin_get_extension(meeter, "example.meeting/1", &meeting), TREADLE_OK);
    treadle_status (*meet)(treadle_plugin, int64_t, void (*)(void)) = *(treadle_status (*const *)(treadle_plugin, int64_t, void (*)(void)))meeting;
    await(&in_stop);
    CHECK_INT(meet(visitor, 0, NULL), TREADLE_E_TIMEOUT);
    CHECK_INT(treadle_scope_copy_holders(visitor, holders, sizeof(treadle_scope_holder), 4, &count), TREADLE_OK);
    for (size_t i = 0; i < count && i < 4; i++) has_timer = has_timer || (holders[i].kind == TREADLE_KIND_TIMER && holders[i].thread_id != 0);
    CHECK(has_timer && !strstr(said, "deinit"));
    /* The one that it uses waits for it. */
    CHECK_INT(treadle_plugin_close(meeter, 0), TREADLE_E_TIMEOUT);
    sem_post(&go_on);
    CHECK_INT(meet(visitor, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK(strstr(said, "?.deinit"));
    CHECK_INT(treadle_release(visitor), TREADLE_OK);
    unload(meeter);
}
TEST(one_that_ends_the_one_it_uses_is_told_that_it_is_needed, "PLUG-4") {
    char handle[32];
    treadle_plugin meeter = load("meeter"), visitor = load("visitor");
    snprintf(handle, sizeof handle, "%" PRIxPTR, (uintptr_t)meeter);
    setenv("ENDS", handle, 1);
    CHECK_INT(treadle_plugin_start(visitor), TREADLE_OK);
    said[0] = 0;
    while (!said[0]) treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, MILLISECONDS(10), TREADLE_RUN_WHEN_EMPTY);
    snprintf(handle, sizeof handle, "visitor.ended %d", TREADLE_E_TIMEOUT);
    CHECK_SAID(handle);
    CHECK(treadle_is_valid(meeter));
    unload(visitor);
    unload(meeter);
}

/* --- One file ----------------------------------------------------------------------------------- */

static char folder[] = "/tmp/treadle-plugins-XXXXXX";
static const char *in_folder(const char *name) {
    static __thread char path[2][256];
    static __thread int next;
    next = !next;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}
static treadle_status load_path(const char *path, treadle_plugin *out_plugin) {
    treadle_plugin_config config = config_of(path);
    return treadle_plugin_load(&config, out_plugin);
}
TEST(one_file_is_one_plugin_whatever_it_is_called, "PLUG-1 PLUG-5 PLUG-7") {
    const char *const names[] = {"copy.so", "link.so", "symbolic.so"};
    treadle_plugin plugin, other;
    char text[4096];
    CHECK(mkdtemp(folder));
    snprintf(text, sizeof text, "cp '%s' '%s'", path_of("provider"), in_folder("copy.so"));
    CHECK_INT(system(text), 0);
    CHECK_INT(link(in_folder("copy.so"), in_folder("link.so")), 0);
    CHECK_INT(symlink(in_folder("copy.so"), in_folder("symbolic.so")), 0);
    /* Each after the other, and none beside another: not the same path, nor another name of the file, nor a copy. */
    for (int i = 0; i < 9; i++) {
        CHECK_INT(load_path(in_folder(names[i % 3]), &plugin), TREADLE_OK);
        if (i % 2) CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        for (int k = 0; k < 4; k++) {
            CHECK_INT(load_path(k < 3 ? in_folder(names[k]) : path_of("provider"), &other), TREADLE_E_EXISTS);
            CHECK_ERROR_SAYS("org.example.provider");
        }
        CHECK(treadle_is_valid(plugin));
        unload(plugin);
        CHECK(!is_mapped("provider"));
        for (int k = 0; k < 3; k++) CHECK(!dlopen(in_folder(names[k]), RTLD_NOLOAD | RTLD_LAZY));
    }
    /* It is replaced by its own file under another name. */
    CHECK_INT(load_path(in_folder(names[0]), &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    for (int i = 1; i < 9; i++) {
        treadle_plugin_config config = config_of(in_folder(names[i % 3]));
        said[0] = 0;
        CHECK_INT(treadle_plugin_reload(plugin, &config, TREADLE_FOREVER, &other), TREADLE_OK);
        CHECK_SAID("?.stop ?.save ?.deinit provider.init provider.new provider.start");
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
        plugin = other;
    }
    unload(plugin);
    for (int k = 0; k < 3; k++) CHECK_INT(unlink(in_folder(names[k])), 0);
    rmdir(folder);
}

TEST_MAIN()
