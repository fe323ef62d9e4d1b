/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugins.h: loading the plugins of Tests/plugins, and what they say. */
#ifndef TREADLE_TEST_PLUGINS_H
#define TREADLE_TEST_PLUGINS_H

#include <dlfcn.h>
#include <sys/wait.h>

#include "../plugins/script.h"
#include "closures.h"

/* What the plugins have said, as "provider.init user.init": the last part of the id, and the step. */
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static char said[4096];
static _Atomic(void *) given_code; /* a closure's */
/* What a step returns, and does; NULL: TREADLE_OK, nothing. */
static treadle_status (*on_step)(const treadle_plugin_host *host, const char *who, const char *what);

static treadle_status say(const treadle_plugin_host *host, const char *what) {
    treadle_plugin_info info = {.struct_size = sizeof info};
    char who[64] = "?";
    size_t length;
    (void)length;
    if (treadle_plugin_get_info(host->plugin, &info) == TREADLE_OK)
        snprintf(who, sizeof who, "%s", strrchr(info.description->id, '.') + 1);
    pthread_mutex_lock(&said_lock);
    size_t at = strlen(said);
    snprintf(said + at, sizeof said - at, "%s%s.%s", at ? " " : "", who, what);
    pthread_mutex_unlock(&said_lock);
    return on_step ? on_step(host, who, what) : TREADLE_OK;
}
static void take_code(void (*code)(void)) { given_code = (void *)code; }
static const struct script the_script = {say, take_code};
static const void *host_extension(void *info, const char *id) { return (void)info, strcmp(id, SCRIPT) == 0 ? &the_script : NULL; }

static char logged[512];
static void keep_log(void *info, treadle_plugin plugin, uint32_t level, const char *text) {
    (void)info, (void)plugin;
    snprintf(logged, sizeof logged, "%u %s", level, text);
}

HELPER const char *path_of(const char *name) {
    static __thread char path[4096];
    const char *folder = getenv("TREADLE_TEST_PLUGINS");
    snprintf(path, sizeof path, "%s/%s.so", folder ? folder : ".", name);
    return path;
}
HELPER treadle_plugin_config config_of(const char *path) {
    return (treadle_plugin_config){.struct_size = sizeof(treadle_plugin_config), .path = path, .host_name = "a test", .host_version = "1",
                                   .get_extension = host_extension, .log = keep_log};
}
/* A call that succeeds, or fails with a message. */
#define SANE(call) sane((call), #call)
HELPER treadle_status sane(treadle_status status, const char *call) {
    treadle_error_info error = {.struct_size = sizeof error};
    if (status >= 0) return status;
    treadle_last_error(&error);
    if (error.code != status || !error.message[0]) check_failed(__FILE__, __LINE__, "%s returned %d without a message", call, status);
    return status;
}
HELPER treadle_plugin load(const char *name) {
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_of(path_of(name));
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    return plugin;
}
HELPER treadle_plugin load_and_start(const char *name) {
    treadle_plugin plugin = load(name);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    return plugin;
}
/* Closes it, and returns the reference. */
HELPER void unload(treadle_plugin plugin) {
    CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
}
HELPER void have_no_children(void) { CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); }
HELPER bool is_mapped(const char *name) {
    void *image = dlopen(path_of(name), RTLD_NOLOAD | RTLD_LAZY);
    if (image) dlclose(image);
    return image != NULL;
}
#define CHECK_SAID(expected)                                                                    \
    do {                                                                                        \
        if (strcmp(said, expected)) check_failed(__FILE__, __LINE__, "said \"%s\"", said);      \
        said[0] = 0;                                                                            \
    } while (0)
/* That the last error says something. */
#define CHECK_ERROR_SAYS(part)                                                                          \
    do {                                                                                                \
        treadle_error_info check_info = {.struct_size = sizeof check_info};                             \
        treadle_last_error(&check_info);                                                                \
        if (!strstr(check_info.message, part)) check_failed(__FILE__, __LINE__, "does not say %s", part); \
    } while (0)

#endif
