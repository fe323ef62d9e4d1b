/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host.h: a program that hosts the plugins, for their test: loading, waiting for what they tell, and what the process holds. */
#ifndef EXAMPLE_HOST_H
#define EXAMPLE_HOST_H

#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* --- Plugins ----------------------------------------------------------------------------------------- */

/* How often a plugin has logged what is waited for, and what it has logged last. */
static const char *wanted_log = "";
static atomic_int wanted_logs;
static char last_log[256];
static treadle_loop home;

/* Whatever is waited for may have come: wait_for looks. */
static void has_come(void) { CHECK_INT(treadle_loop_request_stop(home, 0), TREADLE_OK); }
static void take_log(void *info, treadle_plugin plugin, uint32_t level, const char *text) {
    (void)info, (void)plugin;
    if (level == 0) fprintf(stderr, "a plugin says: %s\n", text);
    if (!strstr(text, wanted_log)) return;
    snprintf(last_log, sizeof last_log, "%s", text);
    atomic_fetch_add(&wanted_logs, 1);
    has_come();
}

/* What escapes to the last resort: here, calls on the pointers of closures that are over. */
static atomic_int late_calls;
static bool count_late_call(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)info;
    if (strcmp(kind, "closure") != 0) check_failed(__FILE__, __LINE__, "uncaught %s: %s", kind, message);
    atomic_fetch_add(&late_calls, 1);
    return true;
}

HELPER const char *path_of(const char *name) {
    static __thread char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s.so", getenv("TREADLE_EXAMPLE_PLUGINS"), name);
    return path;
}
/* A test of a plugin that scripts/test-plugins could not build is skipped, with the reason that this gives in NAME.left-out. */
HELPER void needs(const char *name) {
    char file[PATH_MAX], reason[256] = "";
    snprintf(file, sizeof file, "%s/%s.left-out", getenv("TREADLE_EXAMPLE_PLUGINS"), name);
    FILE *opened = fopen(file, "re");
    if (!opened) return;
    if (fgets(reason, sizeof reason, opened)) reason[strcspn(reason, "\n")] = 0;
    fclose(opened);
    skip("%s: %s", name, reason);
}
HELPER treadle_plugin_config config_of(const char *name, const char *const *settings) {
    return (treadle_plugin_config){.struct_size = sizeof(treadle_plugin_config), .path = path_of(name), .host_name = "the test",
                                   .host_version = "1", .settings = settings, .log = take_log};
}
HELPER treadle_plugin load(const char *name, const char *const *settings) {
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_of(name, settings);
    home = treadle_loop_current();
    CHECK_INT(treadle_set_last_resort(count_late_call, NULL, NULL), TREADLE_OK);
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    return plugin;
}
#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})
HELPER const void *extension_of(treadle_plugin plugin, const char *id) {
    const void *extension = NULL;
    CHECK_INT(treadle_plugin_get_extension(plugin, id, &extension), TREADLE_OK);
    return extension;
}
HELPER const void *start(treadle_plugin plugin, const char *id) {
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    return id ? extension_of(plugin, id) : NULL;
}
HELPER bool is_mapped(const char *name) {
    void *image = dlopen(path_of(name), RTLD_NOLOAD | RTLD_LAZY);
    if (image) dlclose(image);
    return image != NULL;
}
HELPER void unload(treadle_plugin plugin, const char *name) {
    CHECK_INT(treadle_plugin_close(plugin, SECONDS(60)), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    CHECK(!is_mapped(name));
}

/* Runs the loop until *value is so much, under the watchdog. */
HELPER void wait_for(const atomic_int *value, int least) {
    while (atomic_load(value) < least)
        CHECK(treadle_loop_run(home, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) > 0);
}

/* --- Files ------------------------------------------------------------------------------------------- */

/* Names last as long as the test. */
static char all_names[1 << 16];
static size_t names_size;
HELPER const char *in_folder(const char *folder, const char *name) {
    char *path = all_names + names_size;
    names_size += (size_t)snprintf(path, sizeof all_names - names_size, "%s/%s", folder, name) + 1;
    CHECK(names_size <= sizeof all_names);
    return path;
}
HELPER const char *new_folder(void) {
    const char *name = in_folder("/tmp", "treadle-plugins-XXXXXX");
    CHECK(mkdtemp((char *)name));
    return name;
}
HELPER void append(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    CHECK(file >= 0);
    CHECK_INT(write(file, text, strlen(text)), (ssize_t)strlen(text));
    CHECK_INT(close(file), 0);
}
HELPER void remove_folder(const char *folder) {
    DIR *opened = opendir(folder);
    CHECK(opened);
    for (struct dirent *entry; (entry = readdir(opened));)
        if (entry->d_name[0] != '.') CHECK_INT(unlinkat(dirfd(opened), entry->d_name, 0), 0);
    closedir(opened);
    CHECK_INT(rmdir(folder), 0);
}

HELPER int add_row(void *info, int columns, char **values, char **keys) {
    (void)columns, (void)keys;
    strcat(strcat(info, values[0]), "\n");
    return 0;
}
/* The texts that the store has left in a file, each with a line end. */
HELPER void read_rows(const char *file, char *rows) {
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW), *database;
    CHECK(library);
    CHECK_INT(((int (*)(const char *, void **))dlsym(library, "sqlite3_open"))(file, &database), 0);
    int (*execute)(void *, const char *, int (*)(void *, int, char **, char **), void *, char **) =
        dlsym(library, "sqlite3_exec");
    CHECK_INT(execute(database, "SELECT text FROM texts ORDER BY key", add_row, rows, NULL), 0);
    CHECK_INT(((int (*)(void *))dlsym(library, "sqlite3_close"))(database), 0);
    dlclose(library);
}

/* --- What the process holds -------------------------------------------------------------------------- */

struct holdings {
    int descriptors, mappings;
};
HELPER int count_entries(const char *folder) {
    int count = 0;
    DIR *opened = opendir(folder);
    CHECK(opened);
    for (struct dirent *entry; (entry = readdir(opened));) count += entry->d_name[0] != '.';
    closedir(opened);
    return count;
}
/* Until the process has no more threads. One that was joined is in the kernel's list for a moment still. */
HELPER void await_threads(int most) {
    while (count_entries("/proc/self/task") > most) sched_yield();
}
/* The only thread is the caller. */
HELPER struct holdings holdings(void) {
    struct holdings held = {0};
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 128];
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) held.mappings++;
#ifdef __SANITIZE_ADDRESS__
    held.mappings = 0; /* of which the sanitizer makes its own */
#endif
    fclose(maps);
    held.descriptors = count_entries("/proc/self/fd");
    await_threads(1);
    return held;
}

/* --- The server -------------------------------------------------------------------------------------- */

static struct server {
    pid_t process;
    int input, output, port;
} server;
HELPER void server_start(void) {
    int input[2], output[2];
    const char *script = getenv("TREADLE_EXAMPLE_SERVER");
    char port[16] = "";
    CHECK(script && access(script, R_OK) == 0);
    CHECK(pipe2(input, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0);
    server.process = fork();
    CHECK(server.process >= 0);
    if (server.process == 0) {
        dup2(input[0], 0), dup2(output[1], 1);
        execlp("python3", "python3", script, (char *)NULL);
        _exit(127);
    }
    close(input[0]), close(output[1]);
    server.input = input[1], server.output = output[0];
    for (size_t i = 0; i < sizeof port - 1 && read(server.output, port + i, 1) == 1 && port[i] != '\n'; i++) {}
    CHECK((server.port = atoi(port)) > 0);
}
HELPER void server_stop(void) {
    int status;
    close(server.input);
    CHECK_INT(waitpid(server.process, &status, 0), server.process);
    CHECK_INT(status, 0);
    close(server.output);
}
HELPER const char *url_of(const char *name) {
    static char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", server.port, name);
    return url;
}

/* The test's own copy of a library stays when the plugins are gone. */
HELPER void *in_library(const char *file, const char *name) {
    void *library = dlopen(file, RTLD_NOW);
    CHECK(library);
    void *function = dlsym(library, name);
    CHECK(function);
    return function;
}
/* What the first rounds leave is the libraries' own: what is allocated once, and for ever. */
HELPER void many_times(void (*once)(void)) {
    for (int i = 0; i < 10; i++) once();
    struct holdings before = holdings();
    for (int i = 0; i < 100; i++) once();
    struct holdings after = holdings();
    CHECK_INT(after.descriptors, before.descriptors);
    /* A hundred rounds that each left one would show; the C library adds an arena now and then, when threads meet in it. */
    CHECK(after.mappings < before.mappings + 10);
}

#endif
