/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_test.c: a plugin's life: its start and those before it, what it makes, its end, what is left of it. */
#include "plugins.h"

TEST(a_plugin_lives_and_is_gone, "PLUG-1 PLUG-2 PLUG-4 PLUG-5") {
    treadle_plugin_info info = {.struct_size = sizeof info};
    treadle_plugin plugin = load("provider"), all[4];
    size_t count;
    CHECK_SAID("");
    CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_OK);
    CHECK(info.state == TREADLE_PLUGIN_LOADED && info.abi == TREADLE_PLUGIN_ABI && strcmp(info.path, path_of("provider")) == 0);
    CHECK(strcmp(info.description->id, "org.example.provider") == 0);
    CHECK_INT(treadle_plugin_copy_all(all, 4, &count), TREADLE_OK);
    CHECK(count == 1 && all[0] == plugin);
    CHECK_INT(treadle_release(all[0]), TREADLE_OK);
    const void *extension = all;
    CHECK_INT(treadle_plugin_get_extension(plugin, "example.number/1", &extension), TREADLE_E_STATE);
    CHECK(!extension);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_SAID("provider.init provider.start");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_IGNORED);
    CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_OK);
    CHECK_INT(info.state, TREADLE_PLUGIN_STARTED);
    CHECK_INT(treadle_plugin_get_extension(plugin, "example.other/1", &extension), TREADLE_E_NOT_FOUND);
    CHECK_INT(treadle_plugin_get_extension(plugin, "example.number/1", &extension), TREADLE_OK);
    CHECK_INT(((int (*)(void))(uintptr_t)extension)(), 42);
    CHECK_SAID("provider.get_extension");
    CHECK(is_mapped("provider") && treadle_is_valid(plugin));
    CHECK_INT(treadle_plugin_close(plugin, 0), TREADLE_OK);
    CHECK_SAID("?.stop ?.deinit");
    CHECK(!treadle_is_valid(plugin));
    CHECK(!is_mapped("provider"));
    CHECK_INT(treadle_plugin_close(plugin, 0), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_CLOSED);
    CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_E_CLOSED);
    CHECK_INT(treadle_plugin_copy_all(NULL, 0, &count), TREADLE_OK);
    CHECK_INT(count, 0);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_STALE);
    /* One that was never started. */
    unload(load("provider"));
    CHECK_SAID("");
    CHECK(!is_mapped("provider"));
}

/* All references, or none; the one of the first plugin is taken before the second one's cannot be. */
TEST(plugins_are_copied_with_all_their_references_or_not_at_all, "OBJ-2 PLUG-1") {
    treadle_plugin first = load("provider"), full = load("user"), all[2] = {NULL, NULL};
    size_t count = 7;
    int added = take_all_references(full);
    CHECK_ERROR(treadle_plugin_copy_all(all, 2, &count), TREADLE_E_RANGE, "references");
    CHECK(count == 0 && !all[0] && !all[1]);
    CHECK_INT(treadle_plugin_copy_all(all, 1, &count), TREADLE_OK);
    CHECK(count == 2 && all[0] == first);
    CHECK_INT(treadle_release(first), TREADLE_OK);
    return_references(full, added);
    unload(full);
    unload(first);
}

TEST(what_may_harm_stays_mapped, "PLUG-5") {
    for (int i = 0; i < 3; i++) {
        treadle_plugin plugin = load_and_start("stays");
        CHECK_SAID("stays.init stays.start");
        unload(plugin);
        CHECK_SAID("?.stop ?.deinit");
        CHECK(is_mapped("stays"));
        CHECK_TEXT(logged, "2 stays mapped: it has not said that it may be unmapped");
    }
}

TEST(what_the_loader_keeps_is_named_with_its_remedy, "PLUG-5") {
    unload(load("unique"));
    CHECK(is_mapped("unique"));
    CHECK(strstr(logged, "stays mapped: the loader keeps it") && strstr(logged, "version script plugin.map"));
}

TEST(those_that_are_required_start_before_and_end_after, "PLUG-2 PLUG-4") {
    treadle_plugin user = load("user"), wisher = load("wisher");
    CHECK_INT(treadle_plugin_start(user), TREADLE_E_NOT_FOUND);
    CHECK_ERROR_SAYS("example.number/1");
    CHECK_SAID("");
    /* It goes without. */
    CHECK_INT(treadle_plugin_start(wisher), TREADLE_OK);
    CHECK_SAID("wisher.init wisher.start");
    unload(wisher);
    said[0] = 0;
    treadle_plugin provider = load("provider");
    CHECK_INT(treadle_plugin_start(user), TREADLE_OK);
    CHECK_SAID("provider.init provider.start user.init user.start");
    /* Who is needed is not ended. */
    treadle_scope_holder holder;
    size_t count;
    CHECK_INT(treadle_plugin_close(provider, 0), TREADLE_E_TIMEOUT);
    CHECK(treadle_is_valid(provider));
    CHECK_INT(treadle_scope_copy_holders(provider, &holder, sizeof(treadle_scope_holder), 1, &count), TREADLE_OK);
    CHECK(count == 1 && holder.kind == TREADLE_HOLDER_PLUGIN && holder.object == (treadle_object)user);
    CHECK(strcmp(holder.label, "org.example.user") == 0);
    CHECK_SAID("");
    unload(user);
    CHECK_SAID("?.stop ?.deinit");
    unload(provider);
    CHECK_SAID("?.stop ?.deinit");
}

/* --- What it says, and is told ------------------------------------------------------------------- */

static const char *refused_step;
static treadle_status refuse_and_look(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)who;
    CHECK_TEXT(host->path, path_of("excuse"));
    return strcmp(what, refused_step) == 0 ? TREADLE_E_STATE : TREADLE_OK;
}
/* Starts it; its step fails, for this reason. */
static treadle_plugin start_with(const char *step, const char *excuse, treadle_status wanted) {
    refused_step = step;
    setenv("EXCUSE", excuse, 1);
    treadle_plugin plugin = load("excuse");
    CHECK_INT(treadle_plugin_start(plugin), wanted);
    return plugin;
}
TEST(a_plugin_knows_its_file_and_says_why_it_fails, "PLUG-2 PLUG-6") {
    on_step = refuse_and_look;
    const char *const steps[] = {"init", "start"};
    for (size_t i = 0; i < COUNT(steps); i++) {
        treadle_plugin plugin = start_with(steps[i], "the disk is full", TREADLE_E_PLUGIN);
        CHECK_ERROR_SAYS("org.example.excuse: the disk is full");
        unload(plugin);
    }
    /* What is no text is no reason. */
    treadle_plugin plugin = start_with("init", "\xff", TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("org.example.excuse: TREADLE_E_STATE");
    unload(plugin);
    /* Nor is it cut in the middle of a character. */
    char longest[401];
    treadle_error_info error = {.struct_size = sizeof error};
    for (size_t i = 0; i < sizeof longest - 1; i++) longest[i] = i % 2 ? '\xa4' : '\xc3';
    longest[sizeof longest - 1] = 0;
    plugin = start_with("init", longest, TREADLE_E_PLUGIN);
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    size_t length = strlen(error.message);
    CHECK(length > 100 && error.message[length - 1] == '\xa4' && error.message[length - 2] == '\xc3');
    unload(plugin);
    /* The same for a setting that it refuses, where what it has said before is of something else. */
    plugin = start_with("set", "it is too late", TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "size", "4"), TREADLE_E_STATE);
    CHECK_ERROR_SAYS("org.example.excuse: size");
    error.struct_size = sizeof error;
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    CHECK(!strstr(error.message, "excuse of before") && !strstr(error.message, "too late"));
    CHECK_INT(treadle_plugin_set(plugin, "greeting", "hi"), TREADLE_E_STATE);
    CHECK_ERROR_SAYS("org.example.excuse: greeting: it is too late");
    unload(plugin);
    CHECK(!is_mapped("excuse"));
    said[0] = 0;
}

static const char *told_path = "";
static treadle_status keep_path(const treadle_plugin_host *host, void **out_instance) {
    *out_instance = NULL;
    told_path = host->path;
    return TREADLE_OK;
}
static void nothing_to_end(void *instance) { (void)instance; }
static const treadle_plugin_description *query_own(uint32_t host_abi) {
    static const treadle_plugin_description own = {TREADLE_PLUGIN_COMMON, .id = "org.example.own", .name = "a plugin of the program", .version = "1",
                                                   .init = keep_path, .deinit = nothing_to_end};
    return (void)host_abi, &own;
}
TEST(one_that_is_part_of_the_program_has_no_file, "PLUG-2") {
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_of(NULL);
    config.query = query_own;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK(!told_path);
    unload(plugin);
}

static treadle_status close_in_time(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)who;
    if (strcmp(what, "get_extension") == 0) CHECK_INT(treadle_plugin_close(host->plugin, SECONDS(60)), TREADLE_DEFERRED);
    return TREADLE_OK;
}

TEST(one_that_is_closed_from_inside_has_the_time_that_it_was_given, "PLUG-4 SCOPE-4") {
    const void *extension;
    treadle_plugin plugin = load_and_start("patient");
    said[0] = 0;
    on_step = close_in_time;
    treadle_plugin_get_extension(plugin, "example.patience/1", &extension);
    on_step = NULL;
    CHECK_SAID("patient.get_extension ?.stop_in_time ?.deinit");
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    plugin = load_and_start("patient");
    said[0] = 0;
    CHECK_INT(treadle_plugin_close(plugin, 0), TREADLE_OK);
    CHECK_SAID("?.stop_at_once ?.deinit");
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
}

TEST(a_scope_that_plugins_were_loaded_in_ends_them_in_their_order, "PLUG-4 SCOPE-2") {
    treadle_scope scope;
    treadle_scope_config config = TREADLE_INIT(treadle_scope_config);
    CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    treadle_plugin provider = load("provider"), user = load("user");
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(user), TREADLE_OK);
    said[0] = 0;
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_SAID("?.stop ?.deinit ?.stop ?.deinit");
    CHECK_INT(treadle_release(provider), TREADLE_E_STALE);
    CHECK_INT(treadle_release(user), TREADLE_E_STALE);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}

TEST(a_circle_is_refused_by_name, "PLUG-2") {
    treadle_plugin one = load("ring_one"), two = load("ring_two");
    CHECK_INT(treadle_plugin_start(one), TREADLE_E_DEADLOCK);
    CHECK_ERROR_SAYS("org.example.ring-one");
    CHECK_ERROR_SAYS("org.example.ring-two");
    CHECK_INT(treadle_plugin_start(two), TREADLE_E_DEADLOCK);
    CHECK_SAID("");
    unload(one);
    unload(two);
}

static treadle_status refuse_step(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)host, (void)who;
    return strcmp(what, getenv("REFUSED")) == 0 ? TREADLE_E_STATE : TREADLE_OK;
}
TEST(who_fails_to_start_is_ended, "PLUG-2") {
    on_step = refuse_step;
    setenv("REFUSED", "init", 1);
    treadle_plugin plugin = load("provider");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("org.example.provider: TREADLE_E_STATE");
    CHECK_SAID("provider.init");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_CLOSED);
    unload(plugin);
    setenv("REFUSED", "start", 1);
    plugin = load("provider");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_PLUGIN);
    CHECK_SAID("provider.init provider.start ?.deinit");
    unload(plugin);
    /* One that it was started for has not begun, and can be started again. */
    plugin = load("provider");
    treadle_plugin user = load("user");
    CHECK_INT(treadle_plugin_start(user), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("org.example.provider");
    unload(plugin);
    said[0] = 0;
    plugin = load("provider");
    setenv("REFUSED", "stop", 1);
    CHECK_INT(treadle_plugin_start(user), TREADLE_OK);
    CHECK_SAID("provider.init provider.start user.init user.start");
    /* An end cannot be refused. */
    unload(user);
    CHECK(strstr(logged, "stop has failed"));
    unload(plugin);
    CHECK(!is_mapped("provider") && !is_mapped("user"));
}

TEST(what_was_forgotten_ends_with_its_plugin, "PLUG-3 PLUG-5 SCOPE-2") {
    treadle_loop loop = treadle_loop_current();
    for (int i = 0; i < scaled(100) + 1; i++) {
        treadle_plugin plugin = load_and_start("forgetful");
        for (int n = 0; n < i % 7; n++) treadle_loop_run(loop, TREADLE_DEFAULT_MODE, MILLISECONDS(1), 0);
        int (*code)(void) = (int (*)(void))given_code;
        if (i % 2 == 0) CHECK_INT(code(), 7);
        unload(plugin);
        CHECK(!is_mapped("forgetful"));
        CHECK_INT(treadle_thread_get_value(treadle_thread_current(), "org.example.forgetful", &(void *){NULL}), TREADLE_E_NOT_FOUND);
        /* A library that never forgets a pointer may call it for ever. */
        CHECK_INT(code(), -1);
        said[0] = 0;
        treadle_loop_run(loop, TREADLE_DEFAULT_MODE, MILLISECONDS(2), 0);
        treadle_loop_run(loop, "a mode that nobody runs", 0, 0);
        CHECK_SAID("");
        CHECK_INT(code(), -1);
    }
}

static treadle_plugin own;
static treadle_status close_own(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)who;
    if (strcmp(what, getenv("CLOSES")) == 0) {
        CHECK(host->plugin == own);
        CHECK_INT(treadle_plugin_close(own, TREADLE_FOREVER), TREADLE_DEFERRED);
        CHECK_INT(treadle_plugin_start(own), TREADLE_E_CLOSED);
    }
    return TREADLE_OK;
}
TEST(one_that_is_closed_from_inside_ends_afterwards, "PLUG-4 SCOPE-4") {
    const char *const steps[] = {"init", "start", "get_extension", "set"};
    on_step = close_own;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        setenv("CLOSES", steps[i], 1);
        own = load("provider");
        treadle_status status = treadle_plugin_start(own);
        const void *extension;
        if (i == 2) CHECK_INT(treadle_plugin_get_extension(own, "example.number/1", &extension), TREADLE_OK);
        if (i == 3) CHECK_INT(treadle_plugin_set(own, "size", "4"), TREADLE_OK);
        (void)status;
        CHECK(strstr(said, "?.stop ?.deinit"));
        said[0] = 0;
        CHECK_INT(treadle_plugin_close(own, 0), TREADLE_OK);
        CHECK_INT(treadle_release(own), TREADLE_OK);
    }
    /* Its own timers. */
    setenv("CLOSES", "a timer", 1);
    own = load_and_start("forgetful");
    size_t count = 1;
    while (count) {
        treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, MILLISECONDS(1), 0);
        CHECK_INT(treadle_plugin_copy_all(NULL, 0, &count), TREADLE_OK);
    }
    /* Whoever ended it is just about to say so. */
    CHECK_INT(treadle_plugin_close(own, TREADLE_FOREVER), TREADLE_OK);
    CHECK(!is_mapped("forgetful"));
    CHECK_INT(treadle_release(own), TREADLE_OK);
}

/* --- A stop that is over later -------------------------------------------------------------------- */

static const treadle_plugin_host *stopping;
static bool says_at_once;
static treadle_status defer_stop(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)who;
    CHECK(host->struct_size > offsetof(treadle_plugin_host, stopped));
    stopping = host;
    if (strcmp(what, "stop") != 0) return TREADLE_OK;
    if (says_at_once) host->stopped(host);
    return TREADLE_DEFERRED;
}
static void *say_stopped(void *info) {
    stopping->stopped(stopping);
    return info;
}
TEST(a_stop_may_be_over_later_and_is_named_meanwhile, "PLUG-4 SCOPE-3") {
    treadle_scope_holder holders[4];
    size_t count;
    pthread_t thread;
    on_step = defer_stop;
    treadle_plugin plugin = load_and_start("provider");
    said[0] = 0;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(treadle_plugin_close(plugin, MILLISECONDS(5 * i)), TREADLE_E_TIMEOUT);
        CHECK_INT(treadle_scope_copy_holders(plugin, holders, sizeof(treadle_scope_holder), 4, &count), TREADLE_OK);
        CHECK(count == 1 && holders[0].kind == TREADLE_HOLDER_CALL && holders[0].thread_id == 0);
        CHECK_TEXT(holders[0].label, "stop");
    }
    CHECK_SAID("?.stop"); /* once */
    CHECK_INT(pthread_create(&thread, NULL, say_stopped, NULL), 0);
    unload(plugin);
    CHECK_SAID("?.deinit");
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK(!is_mapped("provider"));
    /* It was faster than the stop's return. */
    says_at_once = true;
    plugin = load_and_start("provider");
    said[0] = 0;
    unload(plugin);
    CHECK_SAID("?.stop ?.deinit");
    /* Before its stop it has no effect. */
    says_at_once = false;
    plugin = load_and_start("provider");
    stopping->stopped(stopping);
    CHECK_INT(treadle_plugin_close(plugin, 0), TREADLE_E_TIMEOUT);
    stopping->stopped(stopping);
    CHECK_INT(treadle_plugin_close(plugin, 0), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    CHECK(!is_mapped("provider"));
}

static sem_t inside, go_on;
static treadle_status stay_inside(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)host, (void)who;
    if (strcmp(what, "a timer of a thread") == 0) {
        sem_post(&inside);
        await(&go_on);
    }
    return TREADLE_OK;
}
TEST(a_callback_that_blocks_is_named_until_it_returns, "PLUG-4 SCOPE-3") {
    treadle_scope_holder holders[8];
    size_t count;
    sem_init(&inside, 0, 0), sem_init(&go_on, 0, 0);
    on_step = stay_inside;
    treadle_plugin plugin = load_and_start("forgetful");
    await(&inside);
    CHECK_INT(treadle_plugin_close(plugin, MILLISECONDS(5)), TREADLE_E_TIMEOUT);
    CHECK_INT(treadle_scope_copy_holders(plugin, holders, sizeof(treadle_scope_holder), 8, &count), TREADLE_OK);
    bool has_timer = false, has_thread = false;
    for (size_t i = 0; i < count && i < 8; i++) {
        if (holders[i].kind == TREADLE_KIND_TIMER) has_timer = holders[i].thread_id != 0;
        if (holders[i].kind == TREADLE_KIND_THREAD) has_thread = true;
    }
    CHECK(has_timer && has_thread && is_mapped("forgetful"));
    on_step = NULL;
    sem_post(&go_on);
    unload(plugin);
    CHECK(!is_mapped("forgetful"));
}

TEST_MAIN()
