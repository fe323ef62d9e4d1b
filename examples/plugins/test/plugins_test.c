/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugins_test.c: hosts the plugins, each alone and all together, and unloads them: at rest, at work, from another thread, and
 * a hundred times. */
#include "host.h"
#include "listening.h"
#include "storing.h"
#include "../lines.h"
#include "../words.h"

/* --- The watcher ------------------------------------------------------------------------------------- */

static void watch_once(void) {
    const char *folder = new_folder(), *file = in_folder(folder, "a file");
    treadle_plugin plugin = load("watcher", SETTINGS("path", folder));
    const example_watcher *watcher = start(plugin, EXAMPLE_WATCHER);
    CHECK_INT(watcher->add_listener(watcher->instance, be_told, &told), TREADLE_OK);
    told = 0;
    append(file, "text");
    wait_for(&told, 1);
    CHECK_TEXT(told_text, "a file");
    unload(plugin, "watcher");
    remove_folder(folder);
}

TEST(the_watcher_tells_what_was_written, "") {
    const char *folder = new_folder(), *other = new_folder();
    treadle_plugin plugin = load("watcher", SETTINGS("path", folder));
    const example_watcher *watcher = start(plugin, EXAMPLE_WATCHER);
    CHECK_INT(watcher->add_listener(watcher->instance, be_told, &told), TREADLE_OK);
    CHECK_INT(watcher->add_listener(watcher->instance, be_told, &told), TREADLE_E_EXISTS);
    append(in_folder(folder, "one"), "1");
    wait_for(&told, 1);
    CHECK_TEXT(told_text, "one");
    append(in_folder(folder, "one"), "2");
    wait_for(&told, 2);
    CHECK_TEXT(told_text, "one");
    /* Another directory; one that is not there is refused. */
    CHECK(treadle_plugin_set(plugin, "path", in_folder(folder, "nothing")) < 0);
    CHECK_INT(treadle_plugin_set(plugin, "path", other), TREADLE_OK);
    append(in_folder(folder, "one"), "3");
    append(in_folder(other, "two"), "1");
    wait_for(&told, 3);
    CHECK_TEXT(told_text, "two");
    CHECK_INT(watcher->remove_listener(watcher->instance, be_told, &told), TREADLE_OK);
    CHECK_INT(watcher->remove_listener(watcher->instance, be_told, &told), TREADLE_E_NOT_FOUND);
    unload(plugin, "watcher");
    CHECK_INT(told, 3);
    remove_folder(folder), remove_folder(other);
}

/* --- The store --------------------------------------------------------------------------------------- */

static void store_once(void) {
    treadle_plugin plugin = load("store", NULL);
    const struct example_store *store = start(plugin, EXAMPLE_STORE);
    answers = 0;
    put_rows(store, 0, 10);
    wait_for(&answers, 10);
    check_count(store, 10, 10);
    put_rows(store, 10, 10); /* at work */
    unload(plugin, "store");
    CHECK_INT(answers, 20);
}

TEST(the_store_keeps_its_rows_when_it_is_reloaded, "") {
    needs("store");
    const char *folder = new_folder(), *file = in_folder(folder, "rows.db");
    treadle_plugin plugin = load("store", SETTINGS("file", file)), new;
    const struct example_store *store = start(plugin, EXAMPLE_STORE);
    put_rows(store, 0, 1000);
    wait_for(&answers, 1000);
    check_count(store, 1000, 1000);
    CHECK_INT(store->get(store->instance, "77", take_answer, NULL), TREADLE_OK);
    wait_for(&answers, 1001);
    CHECK(last_answer.status == TREADLE_OK);
    CHECK_TEXT(answered_text, "row 77");
    CHECK_INT(store->get(store->instance, "nothing", take_answer, NULL), TREADLE_OK);
    wait_for(&answers, 1002);
    CHECK_INT(last_answer.status, TREADLE_E_NOT_FOUND);
    /* What was taken before the end is written, and each is answered. */
    put_rows(store, 900, 200);
    treadle_plugin_config config = config_of("store", SETTINGS("file", file));
    CHECK_INT(treadle_plugin_reload(plugin, &config, SECONDS(60), &new), TREADLE_OK);
    CHECK_INT(answers, 1202);
    CHECK_INT(last_answer.status, TREADLE_E_CLOSED);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    store = extension_of(new, EXAMPLE_STORE);
    check_count(store, 1100, 1200);
    put_rows(store, 1100, 1);
    check_count(store, 1101, 1201);
    unload(new, "store");
    remove_folder(folder);
}

/* --- The pipeline ------------------------------------------------------------------------------------ */

enum { SINK, FILTER, SOURCE, WATCHER, STORE, STAGES };
static const char *const names[STAGES] = {"sink", "filter", "source_log", "watcher", "store"};
struct pipeline {
    const char *folder, *log, *file;
    treadle_plugin stages[STAGES];
};
/* Those that are required are loaded last, and started first. */
static void pipeline_start(struct pipeline *self) {
    self->folder = new_folder(), self->log = in_folder(self->folder, "log"), self->file = in_folder(self->folder, "rows.db");
    const char *const *settings[STAGES] = {NULL, SETTINGS("word", "error"), SETTINGS("file", self->log),
                                           SETTINGS("path", self->folder), SETTINGS("file", self->file)};
    append(self->log, "an error before the start\n");
    for (int i = 0; i < STAGES; i++) self->stages[i] = load(names[i], settings[i]);
    wanted_logs = 0;
    start(self->stages[SINK], NULL);
}
static void pipeline_end(struct pipeline *self) {
    for (int i = 0; i < STAGES; i++) unload(self->stages[i], names[i]);
}
static void log_once(void) {
    struct pipeline all;
    wanted_log = "stored 1 lines";
    pipeline_start(&all);
    append(all.log, "all is well\nan error\nan unfinished error");
    wait_for(&wanted_logs, 1);
    pipeline_end(&all);
    remove_folder(all.folder);
}

TEST(the_pipeline_stores_the_lines_that_match, "") {
    needs("store");
    struct pipeline all;
    char rows[256] = "";
    wanted_log = "stored 3 lines";
    pipeline_start(&all);
    append(all.log, "all is well\nan error\n");
    append(all.log, "another er");
    append(all.log, "ror\nwell\n\nnothing else");
    append(in_folder(all.folder, "other"), "an error of somebody else\n");
    append(all.log, "\nthe last error\n");
    wait_for(&wanted_logs, 1);
    /* Who is needed is not ended. */
    for (int i = FILTER; i < STAGES; i++) CHECK_INT(treadle_plugin_close(all.stages[i], 0), TREADLE_E_TIMEOUT);
    wanted_log = "stored 4 lines";
    CHECK_INT(treadle_plugin_set(all.stages[FILTER], "word", "well"), TREADLE_OK);
    append(all.log, "an error that is not wanted\nthe well of lines\n");
    wait_for(&wanted_logs, 2);
    pipeline_end(&all);
    read_rows(all.file, rows);
    CHECK_TEXT(rows, "an error\nanother error\nthe last error\nthe well of lines\n");
    remove_folder(all.folder);
}

/* --- Ends -------------------------------------------------------------------------------------------- */

static void write_on(treadle_timer timer, void *info) {
    (void)timer;
    append(info, "an error\n");
}
static atomic_int ended;
static void *end_from_here(void *info) {
    pipeline_end(info);
    atomic_store(&ended, 1);
    has_come();
    return NULL;
}
TEST(another_thread_ends_the_pipeline_at_work, "") {
    needs("store");
    wanted_log = "stored ";
    for (int i = 0; i < 20; i++) {
        struct pipeline all;
        treadle_timer timer;
        pthread_t thread;
        pipeline_start(&all);
        CHECK_INT(treadle_timer_start(0, MILLISECONDS(1) / 4, write_on, (void *)all.log, &timer), TREADLE_OK);
        wait_for(&wanted_logs, 1 + i);
        ended = 0;
        CHECK_INT(pthread_create(&thread, NULL, end_from_here, &all), 0);
        wait_for(&ended, 1);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(treadle_invalidate(timer), TREADLE_OK);
        CHECK_INT(treadle_release(timer), TREADLE_OK);
        remove_folder(all.folder);
    }
}

/* Whoever is closed from inside of a listener is in the middle of telling. */
struct inside {
    struct pipeline *pipeline;
    int stage;
    treadle_status status;
};
static void close_from_here(void *info, const char *line) {
    struct inside *self = info;
    (void)line;
    self->status = treadle_plugin_close(self->pipeline->stages[self->stage], TREADLE_FOREVER);
    atomic_fetch_add(&told, 1);
    has_come();
}
TEST(a_listener_closes_who_has_told_it, "") {
    needs("store");
    struct pipeline all;
    wanted_log = "stored 1 lines";
    pipeline_start(&all);
    for (int stage = FILTER; stage <= WATCHER; stage++) {
        static const char *const ids[] = {NULL, EXAMPLE_LINES, EXAMPLE_ALL_LINES, EXAMPLE_WATCHER};
        struct inside inside = {&all, stage, TREADLE_OK};
        unload(all.stages[stage - 1], names[stage - 1]);
        const struct example_texts *texts = extension_of(all.stages[stage], ids[stage]);
        CHECK_INT(texts->add_listener(texts->instance, close_from_here, &inside), TREADLE_OK);
        told = 0;
        append(all.log, "an error\n");
        wait_for(&told, 1);
        CHECK_INT(inside.status, TREADLE_DEFERRED);
        CHECK(!treadle_is_valid(all.stages[stage]));
    }
    unload(all.stages[WATCHER], "watcher");
    unload(all.stages[STORE], "store");
    remove_folder(all.folder);
}

static void greet_once(void) {
    wanted_log = "hello from Swift", wanted_logs = 0;
    treadle_plugin plugin = load("hello", SETTINGS("interval-ms", "1"));
    start(plugin, NULL);
    wait_for(&wanted_logs, 2);
    unload(plugin, "hello");
}

TEST(the_watcher_leaves_nothing, "") { many_times(watch_once); }
TEST(the_store_leaves_nothing, "") {
    needs("store");
    many_times(store_once);
}
TEST(the_pipeline_leaves_nothing, "") {
    needs("store");
    many_times(log_once);
}
TEST(the_swift_plugin_leaves_nothing, "") {
    needs("hello");
    many_times(greet_once);
}

/* --- A class in C++ ------------------------------------------------------------------------------------ */

static void beat_once(void) {
    treadle_plugin plugin = load("pulse", SETTINGS("interval-ms", "1", "word", "tock"));
    wanted_log = "tock", wanted_logs = 0;
    start(plugin, NULL);
    wait_for(&wanted_logs, 2);
    CHECK_TEXT(last_log, "tock 2");
    unload(plugin, "pulse");
}
static bool last_error_says(const char *text) {
    treadle_error_info error = {.struct_size = sizeof error};
    return treadle_last_error(&error) == TREADLE_OK && strstr(error.message, text);
}
TEST(exceptions_of_a_class_are_failures_of_the_plugin, "PLUG-2 PLUG-6") {
    treadle_plugin plugin = load("pulse", SETTINGS("word", "")), next = NULL;
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_E_PLUGIN);
    CHECK(last_error_says("org.example.pulse: the word is empty"));
    unload(plugin, "pulse");
    plugin = load("pulse", SETTINGS("interval-ms", "1"));
    wanted_log = "beat", wanted_logs = 0;
    start(plugin, NULL);
    wait_for(&wanted_logs, 1);
    CHECK_INT(treadle_plugin_set(plugin, "word", ""), TREADLE_E_CALLBACK);
    CHECK(last_error_says("word: the word is empty"));
    CHECK_INT(treadle_plugin_set(plugin, "interval-ms", "2"), TREADLE_E_STATE);
    CHECK(last_error_says("stays what it was"));
    CHECK_INT(treadle_plugin_set(plugin, "word", "tick"), TREADLE_OK);
    wanted_log = "tick", wanted_logs = 0;
    wait_for(&wanted_logs, 1);
    /* The one that takes its place goes on counting. */
    int beats = atoi(last_log + strlen("tick "));
    treadle_plugin_config config = config_of("pulse", SETTINGS("interval-ms", "1", "word", "tack"));
    CHECK_INT(treadle_plugin_reload(plugin, &config, SECONDS(60), &next), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    wanted_log = "tack", wanted_logs = 0;
    wait_for(&wanted_logs, 1);
    CHECK(beats > 0 && atoi(last_log + strlen("tack ")) > beats);
    unload(next, "pulse");
}
TEST(the_class_leaves_nothing, "PLUG-5") { many_times(beat_once); }

/* It brings Swift's runtime, which is not unmapped; all else of it goes each time. */
static void count_words_once(void) {
    atomic_store(&wanted_logs, 0);
    wanted_log = "has occurred";
    treadle_plugin plugin = load("words", SETTINGS("interval-ms", "1"));
    const struct example_words *words = start(plugin, EXAMPLE_WORDS);
    words->add(words->instance, "The loop waits. THE post wakes the loop: \xC3\xA9t\xC3\xA9.");
    CHECK_INT(words->count(words->instance, "the"), 3);
    CHECK_INT(words->count(words->instance, "Loop"), 2);
    CHECK_INT(words->count(words->instance, "\xC3\x89T\xC3\x89"), 1);
    CHECK_INT(words->count(words->instance, "timer"), 0);
    wait_for(&wanted_logs, 2);
    CHECK_TEXT(last_log, "\"the\" has occurred 3 times");
    wanted_log = "stays mapped";
    CHECK_INT(treadle_plugin_close(plugin, SECONDS(60)), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    CHECK_TEXT(last_log, "stays mapped: it brings a Swift runtime, or hides whether it does");
    CHECK(is_mapped("words"));
}
TEST(a_plugin_in_ordinary_swift_leaves_its_code_alone, "PLUG-5") {
    needs("words");
    many_times(count_words_once);
}

#include "python.h"

TEST_MAIN()
