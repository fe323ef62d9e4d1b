/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * python.h: plugins in Python, hosted in C by treadle-python-plugin. Part of plugins_test.c. */
#ifndef EXAMPLE_PYTHON_H
#define EXAMPLE_PYTHON_H

#include <treadle_python.h>

#include "host.h"

static const char python_name[] = "treadle-python-plugin";

/* Loads the plugin that brings Python, and starts it with these files and settings. */
HELPER treadle_plugin load_python(const char *files, const char *settings) {
    return load(python_name, SETTINGS("files", files, "settings", settings, "python-path", getenv("TREADLE_PYTHON_PATH")));
}
HELPER void close_plugin(treadle_plugin plugin) {
    CHECK_INT(treadle_plugin_close(plugin, SECONDS(60)), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
}
/* A file in a folder, in place of the one that has the name. */
HELPER const char *write_file(const char *folder, const char *name, const char *text) {
    const char *path = in_folder(folder, name), *new = in_folder(folder, "new");
    append(new, text);
    CHECK_INT(rename(new, path), 0);
    return path;
}
/* With a reference; NULL if it is not loaded. */
HELPER treadle_plugin find_plugin(const char *id) {
    treadle_plugin all[16], found = NULL;
    size_t count;
    CHECK_INT(treadle_plugin_copy_all(all, 16, &count), TREADLE_OK);
    for (size_t i = 0; i < count; i++) {
        treadle_plugin_info info = {.struct_size = sizeof info};
        if (treadle_plugin_get_info(all[i], &info) == TREADLE_OK && strcmp(info.description->id, id) == 0) found = all[i];
        else CHECK_INT(treadle_release(all[i]), TREADLE_OK);
    }
    return found;
}

/* --- The counter ------------------------------------------------------------------------------------- */

TEST(the_counter_counts_the_lines_of_the_pipeline, "PLUG-2 PLUG-4") {
    needs(python_name);
    const char *folder = new_folder(), *log = in_folder(folder, "log");
    append(log, "");
    treadle_plugin python = load_python(in_folder(getenv("TREADLE_PYTHON_FILES"), "counter.py"),
                                        "org.example.log-counter.interval=0.01\norg.example.log-counter.words=first,second");
    treadle_plugin filter = load("filter", SETTINGS("word", "error")), source = load("source_log", SETTINGS("file", log));
    treadle_plugin watcher = load("watcher", SETTINGS("path", folder));
    wanted_log = "first: 2, second: 1", wanted_logs = 0;
    start(python, NULL);
    append(log, "the first error\nthe first of all\nthe second error\n");
    append(log, "the first error again\n");
    wait_for(&wanted_logs, 2);
    treadle_plugin counter = find_plugin("org.example.log-counter");
    CHECK(counter);
    uint64_t (*count)(const char *) = (uint64_t(*)(const char *))(uintptr_t)extension_of(counter, "example.counts/1");
    CHECK_INT(count("first"), 2);
    CHECK_INT(count("third"), 0);
    CHECK_INT(treadle_plugin_set(counter, "interval", "soon"), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_set(counter, "words", "other"), TREADLE_E_NOT_SUPPORTED);
    CHECK_INT(treadle_plugin_set(counter, "interval", "0.001"), TREADLE_OK);
    wait_for(&wanted_logs, 4);
    /* Whom it uses is not ended before it. */
    CHECK_INT(treadle_plugin_close(filter, 0), TREADLE_E_TIMEOUT);
    close_plugin(python);
    CHECK(!find_plugin("org.example.log-counter"));
    CHECK_INT(count("first"), 0);
    /* It was loaded inside of the plugin that brings Python, and its handle is gone with that. */
    CHECK_INT(treadle_release(counter), TREADLE_E_STALE);
    unload(filter, "filter"), unload(source, "source_log"), unload(watcher, "watcher");
    remove_folder(folder);
}

/* --- Failures ---------------------------------------------------------------------------------------- */

static const char failing[] =
    "import treadle\n"
    "ID, VERSION, PROVIDED, SETTINGS = 'org.example.failing', '1', ['example.failing/1'], {'where': ''}\n"
    "def fail(where, host):\n"
    "    if host.setting('where') == where: raise RuntimeError('as wanted')\n"
    "def init(host):\n"
    "    treadle.RunLoop.current().every(100)(print)\n" /* belongs to it, whatever fails */
    "    fail('init', host)\n"
    "    return host\n"
    "def start(host): fail('start', host)\n"
    "def stop(host, timeout): fail('stop', host)\n"
    "def deinit(host): fail('deinit', host)\n"
    "def get_extension(host, name): fail('get_extension', host)\n"
    "def set(host, key, value):\n"
    "    if value == 'refused': raise ValueError(value)\n"
    "    fail('set', host)\n"
    "def save(host):\n"
    "    fail('save', host)\n"
    "    return b'state'\n"
    "def restore(host, state): fail('restore', host)\n";

TEST(an_exception_of_any_function_is_a_status_and_a_message, "PLUG-2 PLUG-4 PLUG-6 PLUG-7") {
    needs(python_name);
    static const char *const functions[] = {"init", "start", "stop", "deinit", "get_extension", "set", "save", "restore"};
    const char *folder = new_folder(), *path = write_file(folder, "failing.py", failing);
    treadle_plugin python = load_python("", ""), plugin, new;
    const struct treadle_python *files = start(python, TREADLE_PYTHON);
    const void *extension;
    wanted_log = "RuntimeError: as wanted";
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *where = functions[i];
        wanted_logs = 0;
        CHECK_INT(files->load(path, SETTINGS("where", where), &plugin), TREADLE_OK);
        bool starts = strcmp(where, "init") != 0 && strcmp(where, "start") != 0;
        CHECK_INT(treadle_plugin_start(plugin), starts ? TREADLE_OK : TREADLE_E_PLUGIN);
        CHECK(treadle_is_valid(plugin) == starts);
        if (starts) {
            CHECK_INT(treadle_plugin_get_extension(plugin, "example.failing/1", &extension), TREADLE_E_NOT_FOUND);
            CHECK_INT(treadle_plugin_set(plugin, "where", "refused"), TREADLE_E_ARG);
            CHECK_INT(treadle_plugin_set(plugin, "where", where), strcmp(where, "set") == 0 ? TREADLE_E_CALLBACK : TREADLE_OK);
            bool restores = strcmp(where, "restore") != 0;
            CHECK_INT(files->reload(plugin, SECONDS(60), &new), restores ? TREADLE_OK : TREADLE_E_PLUGIN);
            if (restores) close_plugin(new);
        }
        CHECK(atomic_load(&wanted_logs) > 0);
        CHECK(strncmp(strstr(last_log, ": ") + 2, where, strlen(where)) == 0);
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
        CHECK(!find_plugin("org.example.failing"));
    }
    wanted_log = "ZeroDivisionError", wanted_logs = 0;
    CHECK_INT(files->load(write_file(folder, "body.py", "1 / 0\n"), NULL, &plugin), TREADLE_E_CALLBACK);
    CHECK_INT(wanted_logs, 1);
    CHECK_INT(files->load(in_folder(folder, "nothing.py"), NULL, &plugin), TREADLE_E_SYSTEM);
    CHECK_INT(files->load(write_file(folder, "none.py", "pass\n"), NULL, &plugin), TREADLE_E_PLUGIN);
    wanted_log = "creates objects while it is loaded: timer", wanted_logs = 0;
    CHECK_INT(files->load(write_file(folder, "early.py", "import treadle\ntimer = treadle.Timer(print, delay=1)\n"), NULL, &plugin),
              TREADLE_E_PLUGIN);
    CHECK_INT(wanted_logs, 1);
    CHECK_INT(treadle_plugin_close(python, SECONDS(60)), TREADLE_OK);
    CHECK_INT(treadle_release(python), TREADLE_OK);
    remove_folder(folder);
}

/* --- Ends -------------------------------------------------------------------------------------------- */

/* Whatever is forgotten: timers that make timers, threads of both kinds, posts that post again. */
static const char busy[] =
    "import threading, treadle\n"
    "ID, VERSION = 'org.example.busy', '1'\n"
    "class Busy: is_over = False\n"
    "def init(host):\n"
    "    busy = Busy()\n"
    "    busy.host = host\n"
    "    return busy\n"
    "def start(busy):\n"
    "    loop = treadle.RunLoop.current()\n"
    "    def tick(timer):\n"
    "        busy.host.log('tick')\n"
    "        loop.every(0.0005)(lambda timer: None)\n"
    "        loop.post(again)\n"
    "    def again():\n"
    "        pass\n"
    "    loop.every(0.0002)(tick)\n"
    "    def body():\n"
    "        treadle.RunLoop.current().every(0.0002)(lambda timer: loop.post(again))\n"
    "        treadle.RunLoop.current().run()\n"
    "    for _ in range(2): treadle.Thread(body).start()\n"
    "    def python_body():\n"
    "        try:\n"
    "            while True: loop.perform(again).result()\n"
    "        except treadle.LoopClosed:\n" /* the plugin has ended */
    "            busy.is_over = True\n"
    "    busy.thread = threading.Thread(target=python_body)\n"
    "    busy.thread.start()\n"
    "def deinit(busy):\n"
    "    busy.thread.join()\n"
    "    assert busy.is_over\n";

static void *close_from_another_thread(void *python) {
    close_plugin(python);
    atomic_store(&ended, 1);
    has_come();
    return NULL;
}
TEST(an_exception_of_a_callback_closes_its_plugin_alone, "PLUG-4") {
    needs(python_name);
    static const char text[] = "import treadle\nNAME, VERSION = 'one with a timer', '1'\nID = 'org.example.%s'\n"
                               "def start(_none):\n    treadle.RunLoop.current().every(0.001)(fire)\n"
                               "def fire(timer):\n    %s\n";
    static const char init[] = "def init(host):\n    global log\n    log = host.log\n";
    char failing_one[1024], good_one[1024], files_setting[2 * PATH_MAX];
    const char *folder = new_folder();
    snprintf(failing_one, sizeof failing_one, text, "failing", "raise RuntimeError('as wanted')");
    int length = snprintf(good_one, sizeof good_one, text, "good", "log('goes on')");
    snprintf(good_one + length, sizeof good_one - (size_t)length, "%s", init);
    const char *bad = write_file(folder, "bad.py", failing_one), *good = write_file(folder, "good.py", good_one);
    snprintf(files_setting, sizeof files_setting, "%s:%s", bad, good);
    treadle_plugin python = load_python(files_setting, "");
    wanted_log = "a callback has raised RuntimeError: as wanted", wanted_logs = 0;
    start(python, NULL);
    wait_for(&wanted_logs, 1);
    wanted_log = "goes on", wanted_logs = 0;
    wait_for(&wanted_logs, 20);
    CHECK(!find_plugin("org.example.failing"));
    treadle_plugin other = find_plugin("org.example.good");
    CHECK(other);
    CHECK_INT(treadle_release(other), TREADLE_OK);
    close_plugin(python);
    remove_folder(folder);
}

TEST(python_is_closed_at_its_busiest, "PLUG-3 PLUG-4") {
    needs(python_name);
    const char *folder = new_folder(), *path = write_file(folder, "busy.py", busy);
    wanted_log = "tick";
    for (int i = 0; i < 6; i++) {
        pthread_t thread;
        treadle_plugin python = load_python(path, "");
        start(python, NULL);
        wanted_logs = 0;
        wait_for(&wanted_logs, 20);
        if (i % 2 == 0) {
            close_plugin(python);
        } else {
            ended = 0;
            CHECK_INT(pthread_create(&thread, NULL, close_from_another_thread, python), 0);
            wait_for(&ended, 1);
            CHECK_INT(pthread_join(thread, NULL), 0);
        }
        CHECK(!find_plugin("org.example.busy"));
    }
    remove_folder(folder);
}

TEST(a_host_exits_while_python_is_busy, "PLUG-4") {
    needs(python_name);
    const char *folder = new_folder(), *path = write_file(folder, "busy.py", busy);
    wanted_log = "tick";
    start(load_python(path, ""), NULL);
    wait_for(&wanted_logs, 20);
    remove_folder(folder);
}

static const char second_text[] =
    "import treadle\n"
    "ID, VERSION = 'org.example.state', '%d'\n"
    "def init(host): return [host, %d]\n"
    "def start(state): state[0].log('state %%d' %% state[1])\n"
    "def save(state): return b'%%d' %% (state[1] + 1)\n"
    "def restore(state, bytes): state[1] = int(bytes)\n";
static const char *state_file(const char *folder, int version) {
    char text[sizeof second_text + 16];
    snprintf(text, sizeof text, second_text, version, 40);
    return write_file(folder, "state.py", text);
}
TEST(a_changed_file_takes_over_the_state, "PLUG-7") {
    needs(python_name);
    const char *folder = new_folder(), *path = state_file(folder, 1);
    treadle_plugin python = load_python(path, ""), plugin, new;
    treadle_plugin_info info = {.struct_size = sizeof info};
    wanted_log = "state";
    const struct treadle_python *files = start(python, TREADLE_PYTHON);
    plugin = find_plugin("org.example.state");
    for (int version = 2; version < 6; version++) {
        state_file(folder, version);
        CHECK_INT(files->reload(plugin, SECONDS(60), &new), TREADLE_OK);
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
        plugin = new;
        CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_OK);
        CHECK_INT(atoi(info.description->version), version);
        CHECK_INT(atoi(strstr(last_log, "state ") + 6), 39 + version);
    }
    CHECK_INT(files->reload(python, SECONDS(60), &new), TREADLE_E_PLUGIN);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    treadle_status (*load_late)(const char *, const char *const *, treadle_plugin *) = files->load;
    close_plugin(python);
    CHECK_INT(load_late(path, NULL, &new), TREADLE_E_CLOSED);
    remove_folder(folder);
}

static const char *state_path;
static void python_once(void) {
    treadle_plugin python = load_python(state_path, "");
    start(python, NULL);
    close_plugin(python);
}
TEST(python_leaves_nothing, "PLUG-5") {
    needs(python_name);
    const char *folder = new_folder();
    state_path = state_file(folder, 1);
    for (int i = 0; i < 10; i++) python_once();
    struct holdings before = holdings();
    for (int i = 0; i < 100; i++) python_once();
    struct holdings after = holdings();
    CHECK_INT(after.descriptors, before.descriptors);
    remove_folder(folder);
}

TEST(a_host_with_the_library_inside_is_refused, "PLUG-2") {
    needs(python_name);
    char command[2 * PATH_MAX], line[512];
    bool is_told = false;
    snprintf(command, sizeof command, "'%s/static-host' '%s' 2>&1", getenv("TREADLE_EXAMPLE_PLUGINS"), path_of(python_name));
    FILE *output = popen(command, "r");
    CHECK(output);
    while (fgets(line, sizeof line, output)) is_told = is_told || strstr(line, "linked with libtreadle.so.1");
    int status = pclose(output);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CHECK(is_told);
}

#endif
