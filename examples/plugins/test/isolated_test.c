/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_test.c: each of the example plugins in a process of its own: it does there what it does in the host's, or is refused with a
 * text that names why. docs/guide/plugins.md has the list. */
#include "host.h"
#include "listening.h"
#include "../fetcher.h"
#include "../lines.h"
#include "../store.h"
#include "../words.h"

static treadle_plugin isolate(const char *name, const char *const *settings) {
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_of(name, settings);
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    home = treadle_loop_current();
    wanted_logs = 0;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK(!is_mapped(name));
    return plugin;
}
static void refuse(treadle_status status, const char *reason) {
    treadle_error_info error = {.struct_size = sizeof error};
    treadle_last_error(&error);
    CHECK(status < 0);
    if (!strstr(error.message, reason)) check_failed(__FILE__, __LINE__, "\"%s\" does not name %s", error.message, reason);
}

static void log_isolated(const char *name, const char *line, const char *const *settings) {
    needs(name);
    wanted_log = line;
    treadle_plugin plugin = isolate(name, settings);
    start(plugin, NULL);
    wait_for(&wanted_logs, 1);
    unload(plugin, name);
}
TEST(the_pulse_beats_in_another_process, "PLUG-9") { log_isolated("pulse", "beat 1", SETTINGS("word", "beat")); }
TEST(swift_greets_in_another_process, "PLUG-9") { log_isolated("hello", "hello from Swift", NULL); }
/* It brings a Swift runtime, with which it stays mapped in any process: here that is not the host's. */
TEST(words_are_counted_in_another_process, "PLUG-9") {
    needs("words");
    treadle_plugin plugin = isolate("words", NULL);
    const struct example_words *words = start(plugin, EXAMPLE_WORDS);
    words->add(words->instance, "one and one");
    CHECK_INT(words->count(words->instance, "one"), 2);
    CHECK_INT(words->count(words->instance, "and"), 1);
    unload(plugin, "words");
}
TEST(the_watcher_tells_a_host_from_another_process, "PLUG-9") {
    const char *folder = new_folder();
    treadle_plugin plugin = isolate("watcher", SETTINGS("path", folder));
    const example_watcher *watcher = start(plugin, EXAMPLE_WATCHER);
    CHECK_INT(watcher->add_listener(watcher->instance, be_told, &told), TREADLE_OK);
    CHECK_INT(watcher->add_listener(watcher->instance, be_told, &told), TREADLE_E_EXISTS);
    told = 0;
    append(in_folder(folder, "a file"), "text");
    wait_for(&told, 1);
    CHECK_TEXT(told_text, "a file");
    CHECK_INT(watcher->remove_listener(watcher->instance, be_told, &told), TREADLE_OK);
    CHECK_INT(watcher->remove_listener(watcher->instance, be_told, &told), TREADLE_E_NOT_FOUND);
    unload(plugin, "watcher");
    remove_folder(folder);
}
/* Three processes, each of which uses an extension of another one by way of the host. */
TEST(the_pipeline_runs_in_processes_of_its_own, "PLUG-9") {
    const char *folder = new_folder(), *log = in_folder(folder, "log");
    append(log, "an error before the start\n");
    treadle_plugin filter = isolate("filter", SETTINGS("word", "error"));
    treadle_plugin source = isolate("source_log", SETTINGS("file", log)), watcher = isolate("watcher", SETTINGS("path", folder));
    const example_lines *lines = start(filter, EXAMPLE_LINES);
    CHECK_INT(lines->add_listener(lines->instance, be_told, &told), TREADLE_OK);
    told = 0;
    append(log, "all is well\nan error\nanother er");
    wait_for(&told, 1);
    CHECK_TEXT(told_text, "an error");
    append(log, "ror\n");
    wait_for(&told, 2);
    CHECK_TEXT(told_text, "another error");
    CHECK_INT(treadle_plugin_close(watcher, 0), TREADLE_E_TIMEOUT);
    unload(filter, "filter"), unload(source, "source_log"), unload(watcher, "watcher");
    remove_folder(folder);
}
/* Their callbacks get a struct with pointers in it, which no descriptor can tell: they run, and their extension stays with them. */
static treadle_plugin start_undescribed(const char *name, const char *id) {
    const void *found;
    needs(name);
    treadle_plugin plugin = isolate(name, NULL);
    start(plugin, NULL);
    refuse(treadle_plugin_get_extension(plugin, id, &found), id);
    return plugin;
}
TEST(the_fetcher_keeps_its_extension_to_itself, "PLUG-9") { unload(start_undescribed("fetcher", EXAMPLE_FETCHER), "fetcher"); }
TEST(the_sink_cannot_reach_a_store_in_another_process, "PLUG-9") {
    const char *folder = new_folder();
    treadle_plugin store = start_undescribed("store", EXAMPLE_STORE);
    treadle_plugin sink = isolate("sink", NULL), filter = isolate("filter", SETTINGS("word", "error"));
    treadle_plugin source = isolate("source_log", SETTINGS("file", in_folder(folder, "log"))), watcher = isolate("watcher", SETTINGS("path", folder));
    append(in_folder(folder, "log"), "");
    refuse(treadle_plugin_start(sink), EXAMPLE_STORE);
    unload(sink, "sink"), unload(filter, "filter"), unload(source, "source_log"), unload(watcher, "watcher"), unload(store, "store");
    remove_folder(folder);
}
TEST(nats_keeps_its_extension_to_itself, "PLUG-9") { unload(start_undescribed("treadle-nats", "treadle.nats/1"), "treadle-nats"); }
/* The interpreter is that process's; a file that wants extensions finds those that its own process has. */
TEST(a_file_of_python_runs_in_another_process, "PLUG-9") {
    static const char file[] = "import os, treadle\nID, VERSION = 'org.example.file', '1'\n"
                               "def init(host):\n    host.log('python runs in %d' % os.getpid())\n";
    const char *folder = new_folder(), *path = in_folder(folder, "file.py");
    needs("treadle-python-plugin");
    append(path, file);
    wanted_log = "python runs in ";
    treadle_plugin plugin =
        isolate("treadle-python-plugin", SETTINGS("files", path, "python-path", getenv("TREADLE_PYTHON_PATH")));
    start(plugin, NULL);
    wait_for(&wanted_logs, 1);
    CHECK(atoi(strstr(last_log, wanted_log) + strlen(wanted_log)) != getpid());
    unload(plugin, "treadle-python-plugin");
    remove_folder(folder);
}

/* Each waits for the other with its interpreter's lock held, which a PyDLL keeps: in one interpreter, or one after the other, they would
 * wait for ever. */
static const char meeting[] =
    "import ctypes, os, treadle\n"
    "ID, VERSION = 'org.example.%s', '1'\n"
    "def init(host):\n"
    "    own, other = os.open('%s', os.O_RDWR), os.open('%s', os.O_RDWR)\n"
    "    os.write(other, b'%%16d' %% os.getpid())\n"
    "    room = ctypes.create_string_buffer(17)\n"
    "    assert ctypes.PyDLL(None).read(own, room, 16) == 16\n"
    "    assert int(room.value) != os.getpid()\n";
static treadle_plugin isolate_file(const char *folder, const char *name, const char *other) {
    char id[64], file[64], text[sizeof meeting + 3 * PATH_MAX];
    treadle_plugin plugin = NULL;
    snprintf(id, sizeof id, "org.example.%s", name);
    snprintf(file, sizeof file, "%s.py", name);
    const char *path = in_folder(folder, file), *own = in_folder(folder, name);
    snprintf(text, sizeof text, meeting, name, own, in_folder(folder, other));
    CHECK_INT(mkfifo(own, 0600), 0);
    append(path, text);
    treadle_plugin_config config =
        config_of("treadle-python-plugin", SETTINGS("files", path, "python-path", getenv("TREADLE_PYTHON_PATH")));
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.id = id;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    return plugin;
}
static void *start_on_this_thread(void *plugin) { return start(plugin, NULL), NULL; }
TEST(two_files_of_python_work_at_the_same_time_in_processes_of_their_own, "PLUG-9") {
    needs("treadle-python-plugin");
    const char *folder = new_folder();
    pthread_t thread;
    wanted_log = "nothing that is said";
    home = treadle_loop_current();
    treadle_plugin one = isolate_file(folder, "one", "other"), other = isolate_file(folder, "other", "one");
    CHECK_INT(pthread_create(&thread, NULL, start_on_this_thread, one), 0);
    start(other, NULL);
    CHECK_INT(pthread_join(thread, NULL), 0);
    unload(one, "treadle-python-plugin"), unload(other, "treadle-python-plugin");
    remove_folder(folder);
}

TEST_MAIN()
