/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_test.c: plugins in processes of their own: what a plugin does there is a status here, and nothing else. */
#include "../plugins/isolated.h"
#include "plugin_lines.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static treadle_status load_isolated(const char *name, const char *what, treadle_plugin *out) {
    const char *given[] = {"what", what, NULL};
    treadle_plugin_config config = isolated_config(name);
    config.settings = what ? given : NULL;
    return treadle_plugin_load(&config, out);
}
static treadle_plugin isolate(const char *what) {
    treadle_plugin plugin = NULL;
    CHECK_INT(load_isolated("isolated", what, &plugin), TREADLE_OK);
    return plugin;
}

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
    CHECK(!has_line("stays mapped"));
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

static pid_t pid_of_plugin(void) {
    const char *line = strstr(lines, "pid ");
    return line ? (pid_t)atoi(line + 4) : 0;
}
TEST(a_process_ends_with_a_host_that_is_killed, "PLUG-5") {
    int made[2];
    pid_t plugin = 0;
    CHECK_INT(pipe(made), 0);
    pid_t host = fork();
    if (host == 0) {
        treadle_plugin loaded = isolate("start:pid");
        CHECK_INT(treadle_plugin_start(loaded), TREADLE_OK);
        await_line("pid ");
        plugin = pid_of_plugin();
        CHECK(write(made[1], &plugin, sizeof plugin) == sizeof plugin);
        for (;;) pause();
    }
    CHECK(read(made[0], &plugin, sizeof plugin) == sizeof plugin && plugin > 0);
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, plugin, 0), .events = POLLIN};
    CHECK(end.fd >= 0);
    CHECK_INT(poll(&end, 1, 0), 0);
    CHECK_INT(kill(host, SIGKILL), 0);
    CHECK_INT(waitpid(host, NULL, 0), host);
    CHECK_INT(poll(&end, 1, -1), 1);
    close(made[0]), close(made[1]), close(end.fd);
}
static void *load_on_this_thread(void *info) {
    *(treadle_plugin *)info = isolate("start:pid");
    CHECK_INT(treadle_plugin_start(*(treadle_plugin *)info), TREADLE_OK);
    return NULL;
}
TEST(a_process_lives_on_when_the_thread_ends_that_loaded_it, "PLUG-5") {
    treadle_plugin plugin = NULL;
    pthread_t loader;
    signal(SIGCHLD, SIG_IGN);
    CHECK_INT(pthread_create(&loader, NULL, load_on_this_thread, &plugin), 0);
    CHECK_INT(pthread_join(loader, NULL), 0);
    CHECK_INT(treadle_plugin_set(plugin, "size", "4"), TREADLE_OK);
    await_line("at tick");
    unload(plugin);
    CHECK(has_line("at deinit"));
}
static treadle_plugin_ending ended_as;
static char ended_reason[256];
static int ended_calls;
static void note_end(void *info, treadle_plugin plugin, const treadle_plugin_ending *ending) {
    CHECK(info == &ended_as && treadle_is_valid(plugin));
    CHECK(ending->struct_size == sizeof *ending);
    ended_as = *ending;
    snprintf(ended_reason, sizeof ended_reason, "%s", ending->reason);
    ended_calls++;
}
static treadle_plugin isolate_noting(const char *what) {
    static const char *given[] = {"what", NULL, NULL};
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_of(path_of("isolated"));
    given[1] = what;
    config.settings = given;
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.get_extension = NULL;
    config.ended = note_end;
    config.info = &ended_as;
    ended_calls = 0;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    return plugin;
}
TEST(the_program_is_called_when_a_process_ends, "PLUG-5") {
    treadle_plugin plugin = isolate_noting("tick:exit");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    while (ended_calls == 0) treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, MILLISECONDS(10), TREADLE_RUN_WHEN_EMPTY);
    CHECK(ended_as.by_signal == 0 && ended_as.number == 7);
    unload(plugin);
    CHECK_INT(ended_calls, 1);
    plugin = isolate_noting("start:segv");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS(is_way("musl") ? "signal 11" : " at isolated.so+0x"); /* that library cannot unwind */
    unload(plugin);
    CHECK_INT(ended_calls, 1);
    CHECK(ended_as.by_signal == 1 && ended_as.number == SIGSEGV);
    CHECK(is_way("musl") || strstr(ended_reason, " at isolated.so+0x") != NULL);
    plugin = isolate_noting("nothing");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    unload(plugin);
    CHECK_INT(ended_calls, 0);
}
/* Its answer may have come by memory that both share, which it has not closed. */
TEST(a_process_that_closes_its_connection_is_ended, "PLUG-5") {
    treadle_plugin plugin = isolate("start:close");
    treadle_status status = treadle_plugin_start(plugin);
    CHECK(status == TREADLE_OK || status == TREADLE_E_PLUGIN);
    if (status == TREADLE_OK) CHECK_ERROR(treadle_plugin_set(plugin, "size", "5"), TREADLE_E_PLUGIN, "process");
    unload(plugin);
    have_no_children();
}
/* The connection alone would not tell: a process that the plugin has left holds it open. */
TEST(the_end_of_a_process_that_leaves_another_one_is_seen, "PLUG-5") {
    treadle_plugin plugin = isolate("start:fork");
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, "SIGSEGV");
    unload(plugin);
    plugin = isolate("tick:fork");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    await_line("SIGSEGV");
    unload(plugin);
    have_no_children();
}
TEST(a_failure_has_the_reason_that_the_plugin_gives, "PLUG-4") {
    treadle_plugin plugin = isolate("start:fail");
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, "because it was asked to");
    unload(plugin);
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
/* As often as it is given an id, each in a process of its own, with settings and a state of its own. */
TEST(a_file_is_isolated_several_times_by_ids_of_the_program, "PLUG-1 PLUG-7") {
    treadle_plugin plugins[2], other;
    treadle_plugin_config config = isolated_config("isolated");
    treadle_plugin_info info = {.struct_size = sizeof info};
    const char *settings[] = {"what", "start:pid", NULL};
    char id[32], value[8];
    size_t length;
    pid_t first = 0;
    config.id = id;
    config.settings = settings;
    for (int i = 0; i < 2; i++) {
        snprintf(id, sizeof id, "org.example.number-%d", i);
        CHECK_INT(treadle_plugin_load(&config, &plugins[i]), TREADLE_OK);
        CHECK_ERROR(treadle_plugin_load(&config, &other), TREADLE_E_EXISTS, id);
        CHECK_INT(treadle_plugin_start(plugins[i]), TREADLE_OK);
        await_line("pid ");
        CHECK(pid_of_plugin() != first);
        first = pid_of_plugin();
        forget_lines();
    }
    config.id = NULL;
    CHECK_INT(treadle_plugin_load(&config, &other), TREADLE_OK);
    unload(other);
    CHECK_INT(treadle_plugin_get_info(plugins[0], &info), TREADLE_OK);
    CHECK_TEXT(info.description->id, "org.example.number-0");
    CHECK_INT(treadle_plugin_set(plugins[0], "size", "4"), TREADLE_OK);
    CHECK_INT(treadle_plugin_copy_setting(plugins[1], "size", value, sizeof value, &length), TREADLE_OK);
    CHECK(strcmp(value, "4") != 0);
    CHECK_INT(treadle_plugin_set(plugins[1], "kept", "of number 1"), TREADLE_OK);
    /* The one of the same name takes its place. */
    config.id = "org.example.number-0";
    CHECK_ERROR(treadle_plugin_reload(plugins[1], &config, TREADLE_FOREVER, &other), TREADLE_E_PLUGIN, "another id");
    config.id = id;
    CHECK_INT(treadle_plugin_reload(plugins[1], &config, TREADLE_FOREVER, &other), TREADLE_OK);
    await_line("restored of number 1");
    CHECK_INT(treadle_release(plugins[1]), TREADLE_OK);
    unload(plugins[0]), unload(other);
    have_no_children();
}
TEST(an_id_of_the_program_is_one_and_of_an_isolated_plugin, "PLUG-1 ABI-7") {
    static const char *const wrong[] = {"", "one", "org.Example", "org..example", "org.example."};
    treadle_plugin plugin;
    treadle_plugin_config config = isolated_config("isolated");
    for (size_t i = 0; i < COUNT(wrong); i++) {
        config.id = wrong[i];
        CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "id");
    }
    config.id = "org.example.other";
    config.flags = 0;
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "id");
    have_no_children();
}
static void *call_it(void *found) {
    CHECK_INT(((const struct isolated *)found)->call(), TREADLE_OK);
    return NULL;
}
static void *set_it(void *plugin) {
    CHECK_INT(treadle_plugin_set(plugin, "size", "5"), TREADLE_OK);
    return NULL;
}
TEST(a_function_that_blocks_keeps_other_callers_waiting, "PLUG-9") {
    pthread_t caller, setter;
    const void *found = NULL;
    treadle_plugin plugin = isolate("call:block");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_get_extension(plugin, ISOLATED_ID, &found), TREADLE_OK);
    CHECK_INT(pthread_create(&caller, NULL, call_it, (void *)found), 0);
    await_line("blocks in ");
    CHECK_INT(pthread_create(&setter, NULL, set_it, plugin), 0);
    for (int i = 0; i < 5; i++) run_briefly();
    CHECK(!has_line("at set"));
    CHECK_INT(kill((pid_t)atoi(strstr(lines, "blocks in ") + strlen("blocks in ")), SIGUSR1), 0);
    CHECK_INT(pthread_join(caller, NULL), 0);
    CHECK_INT(pthread_join(setter, NULL), 0);
    await_line("at set");
    CHECK(strstr(lines, "goes on") < strstr(lines, "at set"));
    unload(plugin);
    have_no_children();
}
/* Tables grow until they have room for whatever comes at the same time; what is left of each plugin is left of those that follow, too. */
TEST(plugins_that_come_and_go_leave_no_memory, "PLUG-5 OBJ-4") {
    enum { ROUNDS = 15, TRIES = 20 };
    size_t left = SIZE_MAX;
    for (int try = 0; try < TRIES && left >= 1000; try++) {
        size_t before = bytes_in_use();
        for (int i = 0; i < ROUNDS; i++) {
            treadle_plugin plugin = isolate("");
            CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
            unload(plugin);
        }
        left = bytes_in_use() > before ? bytes_in_use() - before : 0;
        progress();
    }
    if (left >= 1000) check_failed(__FILE__, __LINE__, "%zu bytes are left", left);
}
TEST(nothing_is_left_of_plugins_that_crash, "PLUG-5") {
    int before = 0;
    for (int i = 0; i < scaled(400); i++) {
        treadle_plugin plugin = isolate("start:segv");
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_PLUGIN);
        unload(plugin);
        progress();
        if (i == 0) before = count_descriptors();
    }
    CHECK_INT(count_descriptors(), before);
    have_no_children();
}

TEST_MAIN()
