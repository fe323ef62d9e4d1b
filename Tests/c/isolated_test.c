/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_test.c: plugins in processes of their own: what a plugin does there is a status here, and nothing else. */
#include "plugins.h"

#include <signal.h>
#include <sys/wait.h>

/* Every line of the log since, each with its level. */
static char lines[8192];
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
static void keep_line(void *info, treadle_plugin plugin, uint32_t level, const char *text) {
    (void)info, (void)plugin;
    pthread_mutex_lock(&lines_lock);
    size_t at = strlen(lines);
    snprintf(lines + at, sizeof lines - at, "%u %s\n", level, text);
    pthread_mutex_unlock(&lines_lock);
    progress();
}
static bool has_line(const char *line) {
    pthread_mutex_lock(&lines_lock);
    bool found = strstr(lines, line) != NULL;
    pthread_mutex_unlock(&lines_lock);
    return found;
}
static void await_line(const char *line) {
    while (!has_line(line)) treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, MILLISECONDS(10), TREADLE_RUN_WHEN_EMPTY);
}

static treadle_status load_isolated(const char *name, const char *what, treadle_plugin *out) {
    const char *given[] = {"what", what, NULL};
    treadle_plugin_config config = config_of(path_of(name));
    config.settings = what ? given : NULL;
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.log = keep_line;
    config.get_extension = NULL;
    lines[0] = 0;
    return treadle_plugin_load(&config, out);
}
static treadle_plugin isolate(const char *what) {
    treadle_plugin plugin = NULL;
    CHECK_INT(load_isolated("isolated", what, &plugin), TREADLE_OK);
    return plugin;
}
static void have_no_children(void) { CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); }

static volatile sig_atomic_t child_signals;
static void count_child(int number) { (void)number, child_signals++; }

TEST(a_plugin_in_a_process_of_its_own_lives_as_any_other, "PLUG-2 PLUG-4 PLUG-6") {
    treadle_plugin_info info = {.struct_size = sizeof info};
    char value[32];
    size_t length;
    signal(SIGCHLD, count_child);
    treadle_plugin plugin = isolate("start:fail");
    CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_OK);
    CHECK_TEXT(info.description->id, "org.example.isolated");
    CHECK(!info.description->init && !info.description->start && !info.description->stop && !info.description->deinit);
    CHECK_INT(info.description->setting_count, 3);
    CHECK_INT(info.state, TREADLE_PLUGIN_LOADED);
    CHECK(!is_mapped("isolated"));
    CHECK_INT(treadle_plugin_set(plugin, "what", "start:print"), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_IGNORED);
    await_line("2 at tick");
    await_line("2 printed by the plugin");
    CHECK(has_line("2 at init") && has_line("2 at start"));
    CHECK_INT(treadle_plugin_set(plugin, "size", "4"), TREADLE_OK);
    CHECK_ERROR(treadle_plugin_set(plugin, "size", "10"), TREADLE_E_ARG, "value");
    CHECK_INT(treadle_plugin_copy_setting(plugin, "size", value, sizeof value, &length), TREADLE_OK);
    CHECK_TEXT(value, "4");
    CHECK(!is_mapped("isolated"));
    unload(plugin);
    CHECK(has_line("2 at stop") && has_line("2 at deinit"));
    have_no_children();
    CHECK_INT(child_signals, 0);
}

TEST(what_cannot_be_isolated_is_refused_by_name, "PLUG-1 PLUG-8") {
    treadle_plugin plugin;
    treadle_plugin_config config = {.struct_size = sizeof config, .query = (treadle_plugin_query_fn)(void (*)(void))abort, .flags = TREADLE_PLUGIN_LOAD_ISOLATED};
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "query");
    CHECK_ERROR(load_isolated("nothing", NULL, &plugin), TREADLE_E_SYSTEM, "nothing.so");
    CHECK_ERROR(load_isolated("no_plugin", NULL, &plugin), TREADLE_E_PLUGIN, "treadle_plugin_query");
    CHECK_ERROR(load_isolated("isolated", "start:\xff", &plugin), TREADLE_E_ARG, "settings");
    CHECK_INT(load_isolated("user", NULL, &plugin), TREADLE_OK);
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_NOT_FOUND, "example.");
    unload(plugin);
    have_no_children();
}

static const char *const deaths[][2] = {
    {"segv", "SIGSEGV"}, {"abort", "SIGABRT"}, {"overflow", "SIGSEGV"}, {"exit", "exit status 7"}, {"_exit", "exit status 8"}, {"kill", "SIGKILL"},
};
TEST(a_death_in_any_function_is_a_status, "PLUG-4 PLUG-5") {
    static const char *const steps[] = {"init", "start", "set", "stop", "save", "deinit"};
    for (size_t d = 0; d < COUNT(deaths); d++) {
        for (size_t s = 0; s < COUNT(steps); s++) {
            char what[32];
            snprintf(what, sizeof what, "%s:%s", steps[s], deaths[d][0]);
            treadle_plugin plugin = isolate(what);
            progress();
            if (s < 2) {
                CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, deaths[d][1]);
            } else {
                CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
                if (s == 2) CHECK_ERROR(treadle_plugin_set(plugin, "size", "5"), TREADLE_E_PLUGIN, deaths[d][1]);
            }
            CHECK_INT(treadle_plugin_close(plugin, SECONDS(10)), TREADLE_OK);
            CHECK_INT(treadle_release(plugin), TREADLE_OK);
        }
    }
    have_no_children();
}
TEST(a_death_between_calls_is_logged_with_its_reason, "PLUG-5") {
    for (size_t d = 0; d < COUNT(deaths); d++) {
        char what[32], line[96];
        snprintf(what, sizeof what, "tick:%s", deaths[d][0]);
        snprintf(line, sizeof line, "0 its process has ended: ");
        treadle_plugin plugin = isolate(what);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        await_line(line);
        CHECK(has_line(deaths[d][1]));
        CHECK_ERROR(treadle_plugin_set(plugin, "size", "5"), TREADLE_E_PLUGIN, deaths[d][1]);
        unload(plugin);
    }
    have_no_children();
}
/* Its answer may have come by memory that both share, which it has not closed. */
TEST(a_process_that_closes_its_connection_is_ended, "PLUG-5") {
    treadle_plugin plugin = isolate("start:close");
    treadle_status status = treadle_plugin_start(plugin);
    CHECK(status == TREADLE_OK || status == TREADLE_E_PLUGIN);
    if (status == TREADLE_OK) CHECK_ERROR(treadle_plugin_set(plugin, "size", "5"), TREADLE_E_PLUGIN, "process");
    CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    have_no_children();
}
TEST(a_close_ends_a_plugin_that_hangs, "PLUG-5 SCOPE-5") {
    static const char *const steps[] = {"stop:hang", "deinit:hang", "tick:hang"};
    for (size_t s = 0; s < COUNT(steps); s++) {
        treadle_plugin plugin = isolate(steps[s]);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        if (s == 2) await_line("at tick");
        CHECK_INT(treadle_plugin_close(plugin, MILLISECONDS(20)), TREADLE_OK);
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
    }
    have_no_children();
}
static void *start_on_this_thread(void *plugin) {
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, "SIGKILL");
    return NULL;
}
TEST(a_close_ends_a_plugin_that_hangs_in_its_start_on_another_thread, "PLUG-5 SCOPE-5") {
    static const char *const steps[] = {"init:hang", "start:hang"};
    for (size_t s = 0; s < COUNT(steps); s++) {
        treadle_plugin plugin = isolate(steps[s]);
        treadle_plugin_info info = {.struct_size = sizeof info};
        pthread_t starter;
        CHECK_INT(pthread_create(&starter, NULL, start_on_this_thread, plugin), 0);
        while (info.state != TREADLE_PLUGIN_STARTING) CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_OK);
        /* The start has failed by then, but its thread may be on its way out. */
        treadle_status status = treadle_plugin_close(plugin, MILLISECONDS(20));
        CHECK(status == TREADLE_OK || status == TREADLE_E_TIMEOUT);
        CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(pthread_join(starter, NULL), 0);
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
    }
    have_no_children();
}
TEST(a_failure_has_the_reason_that_the_plugin_gives, "PLUG-4") {
    treadle_plugin plugin = isolate("start:fail");
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, "because it was asked to");
    CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
    treadle_release(plugin);
    plugin = isolate("set:fail");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "size", "5"), TREADLE_E_PLUGIN);
    unload(plugin);
}
TEST(a_successor_gets_the_state_of_its_predecessor, "PLUG-7") {
    treadle_plugin successor, plugin = isolate(NULL);
    treadle_plugin_config config = config_of(path_of("isolated"));
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.log = keep_line;
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "kept", "the state"), TREADLE_OK);
    CHECK_INT(treadle_plugin_reload(plugin, &config, TREADLE_FOREVER, &successor), TREADLE_OK);
    await_line("restored the state");
    treadle_release(plugin);
    unload(successor);
}
static int open_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}
TEST(nothing_is_left_of_plugins_that_crash, "PLUG-5") {
    int before = 0;
    for (int i = 0; i < scaled(20); i++) {
        treadle_plugin plugin = isolate("start:segv");
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_PLUGIN);
        CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
        progress();
        if (i == 0) before = open_descriptors();
    }
    CHECK_INT(open_descriptors(), before);
    have_no_children();
}

TEST_MAIN()
