/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_restart_test.c: processes of isolated plugins that are started again when they have ended. */
#include "../plugins/counter.h"
#include "../plugins/store.h"
#include "plugin_lines.h"

#include <signal.h>

static treadle_status store_do(const char *deed) { return (void)deed, TREADLE_OK; }
static int ended_calls;
static void note_end(void *info, treadle_plugin plugin, const treadle_plugin_ending *ending) {
    CHECK(!info && treadle_is_valid(plugin) && ending->reason[0]);
    ended_calls++;
}
static treadle_plugin_restart quick(uint32_t most) {
    return (treadle_plugin_restart){.struct_size = sizeof(treadle_plugin_restart), .most = most, .within_ns = TREADLE_FOREVER};
}
static treadle_status load_with(const char *what, const treadle_plugin_restart *restart, treadle_plugin *out) {
    const char *given[] = {"what", what, NULL};
    treadle_plugin_config config = isolated_config("isolated");
    config.settings = given;
    config.ended = note_end;
    config.restart = restart;
    ended_calls = 0;
    return treadle_plugin_load(&config, out);
}
static treadle_plugin start_with(const char *what, const treadle_plugin_restart *restart) {
    treadle_plugin plugin = NULL;
    CHECK_INT(load_with(what, restart, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    return plugin;
}
/* Kills the process that has said its number, and forgets what was said. */
static void kill_process(void) {
    await_line("pid ");
    pid_t process = (pid_t)atoi(strstr(lines, "pid ") + 4);
    forget_lines();
    CHECK_INT(kill(process, SIGKILL), 0);
}

TEST(a_process_that_has_ended_is_started_again_with_the_state_that_was_saved_last, "PLUG-11") {
    treadle_plugin_restart restart = quick(3);
    char value[8];
    size_t length;
    treadle_plugin plugin = start_with("start:pid set:checkpoint", &restart);
    CHECK_INT(treadle_plugin_set(plugin, "kept", "first"), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "kept", "second"), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "size", "7"), TREADLE_OK);
    for (int i = 0; i < 3; i++) {
        kill_process();
        await_line("has been started again");
        CHECK(has_line("restored second") && has_line("at init") && has_line("SIGKILL"));
        CHECK_INT(ended_calls, i + 1);
    }
    CHECK_INT(treadle_plugin_copy_setting(plugin, "size", value, sizeof value, &length), TREADLE_OK);
    CHECK_TEXT(value, "7");
    CHECK_INT(treadle_plugin_set(plugin, "kept", "third"), TREADLE_OK);
    kill_process();
    await_line("no restart left");
    CHECK_INT(ended_calls, 4);
    CHECK_ERROR(treadle_plugin_set(plugin, "size", "5"), TREADLE_E_PLUGIN, "SIGKILL");
    unload(plugin);
    CHECK_INT(ended_calls, 4);
    have_no_children();
}
TEST(without_a_restart_a_process_that_has_ended_stays_so, "PLUG-5 PLUG-11") {
    treadle_plugin_restart never = quick(0);
    treadle_plugin plugin = start_with("start:pid", &never);
    kill_process();
    await_line("no restart left");
    unload(plugin);
    CHECK_INT(ended_calls, 1);
}
TEST(a_call_in_the_pause_names_it_and_a_close_ends_it, "PLUG-11 SCOPE-5") {
    treadle_plugin_restart restart = quick(5);
    restart.first_pause_ns = SECONDS(1000);
    treadle_plugin plugin = start_with("start:pid", &restart);
    kill_process();
    while (ended_calls == 0) run_briefly();
    CHECK_ERROR(treadle_plugin_set(plugin, "size", "5"), TREADLE_E_PLUGIN, "in the pause before its restart");
    unload(plugin);
    CHECK_INT(ended_calls, 1);
    CHECK(!has_line("stop has failed"));
    have_no_children();
}
TEST(pauses_grow_up_to_the_longest_one, "PLUG-11") {
    treadle_plugin_restart restart = quick(5);
    restart.first_pause_ns = MILLISECONDS(10);
    restart.longest_pause_ns = MILLISECONDS(40);
    static const int64_t pauses[] = {10, 20, 40, 40};
    treadle_plugin plugin = start_with("start:pid", &restart);
    for (size_t i = 0; i < COUNT(pauses); i++) {
        int64_t before = treadle_time_now();
        kill_process();
        await_line("has been started again");
        CHECK(treadle_time_now() - before >= MILLISECONDS(pauses[i]));
    }
    unload(plugin);
}
TEST(restarts_that_are_long_ago_do_not_count, "PLUG-11") {
    treadle_plugin_restart restart = quick(1);
    restart.within_ns = 1;
    treadle_plugin plugin = start_with("start:pid", &restart);
    for (int i = 0; i < 4; i++) {
        kill_process();
        await_line("has been started again");
    }
    unload(plugin);
}
static treadle_status close_status;
static void close_when_ended(void *info, treadle_plugin plugin, const treadle_plugin_ending *ending) {
    (void)info, (void)ending;
    close_status = treadle_plugin_close(plugin, TREADLE_FOREVER);
    ended_calls++;
}
TEST(a_plugin_that_is_closed_when_its_process_ends_is_not_started_again, "PLUG-11 SCOPE-4") {
    treadle_plugin_restart restart = quick(5);
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = isolated_config("isolated");
    config.settings = (const char *const[]){"what", "start:pid", NULL};
    config.ended = close_when_ended;
    config.restart = &restart;
    ended_calls = 0;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    kill_process();
    while (ended_calls == 0) run_briefly();
    CHECK_INT(close_status, TREADLE_DEFERRED);
    while (treadle_is_valid(plugin)) run_briefly();
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    CHECK(!has_line("has been started again"));
    have_no_children();
}
/* Each of them is told, and followed by the next; one that hangs is ended in its time. */
TEST(a_restart_that_fails_or_hangs_is_followed_by_the_next, "PLUG-11") {
    static const char *const whats[] = {"start:segv", "start:fail", "init:exit", "start:hang"};
    for (size_t i = 0; i < COUNT(whats); i++) {
        treadle_plugin_restart restart = quick(3);
        if (strstr(whats[i], "hang")) restart.timeout_ns = MILLISECONDS(50);
        treadle_plugin plugin = start_with("start:pid", &restart);
        CHECK_INT(treadle_plugin_set(plugin, "what", whats[i]), TREADLE_OK);
        kill_process();
        await_line("no restart left");
        CHECK_INT(ended_calls, 4);
        CHECK(!has_line("has been started again"));
        unload(plugin);
    }
    have_no_children();
}
static void *close_while_it_starts(void *plugin) {
    while (!has_line("at start")) sched_yield();
    CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
    return NULL;
}
TEST(a_close_ends_a_restart_that_hangs, "PLUG-11 SCOPE-5") {
    treadle_plugin_restart restart = quick(2);
    pthread_t closer;
    restart.timeout_ns = TREADLE_FOREVER;
    treadle_plugin plugin = start_with("start:pid", &restart);
    CHECK_INT(treadle_plugin_set(plugin, "what", "start:hang"), TREADLE_OK);
    kill_process();
    CHECK_INT(pthread_create(&closer, NULL, close_while_it_starts, plugin), 0);
    while (treadle_is_valid(plugin)) run_briefly();
    CHECK_INT(pthread_join(closer, NULL), 0);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    have_no_children();
}
TEST(a_plugin_that_fails_in_its_first_start_is_not_started_again, "PLUG-11") {
    treadle_plugin_restart restart = quick(5);
    treadle_plugin plugin = NULL;
    CHECK_INT(load_with("start:segv", &restart, &plugin), TREADLE_OK);
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, "SIGSEGV");
    unload(plugin);
    CHECK(!has_line("has been started again"));
}
TEST(a_successor_gets_the_state_that_was_saved_last_of_a_process_that_was_lost, "PLUG-7 PLUG-11") {
    treadle_plugin_config config = isolated_config("isolated");
    treadle_plugin successor, plugin = start_with("start:pid set:checkpoint", NULL);
    CHECK_INT(treadle_plugin_set(plugin, "kept", "the last"), TREADLE_OK);
    kill_process();
    while (ended_calls == 0) run_briefly();
    CHECK_INT(treadle_plugin_reload(plugin, &config, TREADLE_FOREVER, &successor), TREADLE_OK);
    await_line("restored the last");
    treadle_release(plugin);
    unload(successor);
}
TEST(extensions_reach_the_process_that_is_started_again, "PLUG-9 PLUG-11") {
    treadle_plugin_restart restart = quick(5);
    treadle_plugin plugin = NULL;
    const void *found = NULL;
    treadle_plugin_config config = isolated_config("store");
    config.restart = &restart;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_get_extension(plugin, STORE_ID, &found), TREADLE_OK);
    const struct store *store = found;
    struct thing *thing = NULL;
    double weight = 0;
    CHECK_INT(treadle_plugin_get_extension(plugin, COUNTER_ID, &found), TREADLE_OK);
    const struct counter *counter = found;
    CHECK_INT(counter->add(counter->instance, 2), 2);
    CHECK_INT(store->put("key", "value", 5), TREADLE_OK);
    CHECK_INT(store->open("key", &thing), TREADLE_OK);
    CHECK_INT(store->add(2, 3), 5);
    CHECK_INT(store->act("segv"), TREADLE_E_PLUGIN);
    await_line("has been started again");
    CHECK_INT(store->add(2, 4), 6);
    CHECK_INT(counter->add(counter->instance, 3), 3);
    CHECK_ERROR(store->weigh(thing, &weight), TREADLE_E_ARG, "token");
    CHECK_INT(treadle_plugin_get_extension(plugin, STORE_ID, &found), TREADLE_OK);
    CHECK(found == store);
    unload(plugin);
    have_no_children();
}
TEST(a_checkpoint_outside_of_its_time_is_refused, "PLUG-11") {
    treadle_plugin plugin = NULL;
    CHECK_INT(load_with("init:checkpoint", NULL, &plugin), TREADLE_OK);
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, "TREADLE_E_STATE");
    unload(plugin);
    plugin = start_with("stop:checkpoint", NULL);
    unload(plugin);
    CHECK(has_line("stop has failed"));
    plugin = start_with("start:checkpoint", NULL);
    await_line("at save");
    unload(plugin);
    treadle_plugin_config config = config_of(path_of("isolated"));
    config.settings = (const char *const[]){"what", "set:checkpoint", NULL};
    config.get_extension = NULL;
    config.log = keep_line;
    forget_lines();
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "kept", "here"), TREADLE_OK);
    CHECK(!has_line("at save"));
    unload(plugin);
}
TEST(a_restart_with_values_outside_of_their_ranges_is_refused, "PLUG-11") {
    treadle_plugin plugin = NULL;
    treadle_plugin_restart wrong[7];
    static const char *const named[] = {"most", "reserved", "within_ns", "first_pause_ns", "longest_pause_ns", "timeout_ns", "struct_size"};
    for (size_t i = 0; i < COUNT(wrong); i++) wrong[i] = quick(1);
    wrong[0].most = 65536;
    wrong[1].reserved = 1;
    wrong[2].within_ns = 0;
    wrong[3].first_pause_ns = -1;
    wrong[4].first_pause_ns = 2, wrong[4].longest_pause_ns = 1;
    wrong[5].timeout_ns = -1;
    wrong[6].struct_size = 1;
    for (size_t i = 0; i < COUNT(wrong); i++) CHECK_ERROR(load_with("nothing", &wrong[i], &plugin), TREADLE_E_ARG, named[i]);
    treadle_plugin_config config = config_of(path_of("isolated"));
    config.restart = &wrong[0];
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "restart");
    have_no_children();
}
TEST(nothing_is_left_of_processes_that_are_started_again, "PLUG-5 PLUG-11") {
    treadle_plugin_restart restart = quick(65535);
    treadle_plugin plugin = start_with("start:pid set:checkpoint", &restart);
    int descriptors = 0, crashes = scaled(400) > 5 ? scaled(400) : 5;
    size_t memory = 0;
    CHECK_INT(treadle_plugin_set(plugin, "kept", "the state"), TREADLE_OK);
    for (int i = 0; i < crashes; i++) {
        kill_process();
        await_line("has been started again");
        CHECK(has_line("restored the state"));
        if (i == 2) descriptors = count_descriptors(), memory = bytes_in_use();
        progress();
    }
    CHECK_INT(count_descriptors(), descriptors);
    /* The dates of restarts that count still are 8 bytes each. */
    CHECK(bytes_in_use() < memory + 4096 + (size_t)crashes * 2 * sizeof(int64_t));
    unload(plugin);
    have_no_children();
}

TEST_MAIN()
