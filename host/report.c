/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * report.c: what people are told: lines of the program and of plugins, what each plugin is, what it has registered. */
#include "host.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_HOLDERS = 4096 };

/* --- Lines --------------------------------------------------------------------------------------- */

/* Whole lines: whoever else writes to the stream waits meanwhile. */
static void write_line(FILE *to, const char *before, const char *format, va_list values) {
    flockfile(to);
    fputs(before, to);
    vfprintf(to, format, values);
    fputc('\n', to);
    fflush(to);
    funlockfile(to);
}

void say(const char *format, ...) {
    va_list values;
    va_start(values, format);
    write_line(stdout, "", format, values);
    va_end(values);
}

void tell(const char *format, ...) {
    if (options.quiet || options.checks || options.lists) return;
    va_list values;
    va_start(values, format);
    write_line(stdout, "treadle-host: ", format, values);
    va_end(values);
}

void complain(const char *format, ...) {
    va_list values;
    va_start(values, format);
    write_line(stderr, "treadle-host: ", format, values);
    va_end(values);
}

const char *last_message(void) {
    static char text[512];
    treadle_error_info error = {.struct_size = sizeof error};
    treadle_last_error(&error);
    const char *why = error.os_errno ? strerror(error.os_errno) : NULL;
    snprintf(text, sizeof text, "%s%s%s", error.message, why ? ": " : "", why ? why : "");
    return text;
}

/* What to do with a file that is no library. */
const char *hint_of(const char *path) {
    static char text[512];
    const char *end = strrchr(path, '.');
    if (!end || strcmp(end, ".py") != 0) return "";
    snprintf(text, sizeof text, "; for a plugin in Python: treadle-host [--check] treadle-python-plugin.so --set org.treadle.python.files=%s", path);
    return text;
}

void complain_of(const char *path) {
    complain("%s: %s%s", path, last_message(), hint_of(path));
}

void log_of_plugin(void *info, treadle_plugin plugin, uint32_t level, const char *text) {
    static const char *const words[] = {"error", "warning", "info"};
    treadle_plugin_info about = {.struct_size = sizeof about};
    const char *id = info;
    if (level >= 2 && (options.quiet || is_silent)) return;
    /* A plugin that ends tells nothing of itself any more. */
    if (!id && treadle_plugin_get_info(plugin, &about) == TREADLE_OK) id = about.description->id;
    flockfile(stderr);
    fprintf(stderr, "%s: %s: %s\n", id && *id ? id : "a plugin", words[level < 2 ? level : 2], text);
    funlockfile(stderr);
}

/* --- What is in a plugin ------------------------------------------------------------------------- */

static const char *word_of(uint32_t kind) {
    switch (kind) {
    case TREADLE_KIND_LOOP: return "loop";
    case TREADLE_KIND_SOURCE: return "source";
    case TREADLE_KIND_TIMER: return "timer";
    case TREADLE_KIND_OBSERVER: return "observer";
    case TREADLE_KIND_DESCRIPTOR: return "descriptor";
    case TREADLE_KIND_PORT: return "port";
    case TREADLE_KIND_SIGNATURE: return "signature";
    case TREADLE_KIND_ROUTINE: return "routine";
    case TREADLE_KIND_HOST: return "host";
    case TREADLE_KIND_THREAD: return "thread";
    case TREADLE_KIND_LOCK: return "lock";
    case TREADLE_KIND_CONDITION: return "condition";
    case TREADLE_KIND_INVOCATION: return "invocation";
    case TREADLE_KIND_CLOSURE: return "closure";
    case TREADLE_KIND_SCOPE: return "scope";
    case TREADLE_HOLDER_POST: return "post";
    case TREADLE_HOLDER_REQUEST: return "request";
    case TREADLE_HOLDER_NOTIFICATION: return "notification";
    case TREADLE_HOLDER_POOLED: return "release";
    case TREADLE_HOLDER_PLUGIN: return "plugin";
    case TREADLE_HOLDER_CALL: return "call";
    case TREADLE_HOLDER_VALUE: return "value";
    default: return "something";
    }
}

/* What is in it now, and how many of that there is room for here; to be freed. */
static treadle_scope_holder *copy_holders(treadle_plugin plugin, size_t *out_count, size_t *out_kept) {
    treadle_scope_holder *holders = calloc(MOST_HOLDERS, sizeof *holders);
    if (!holders || treadle_scope_copy_holders(plugin, holders, sizeof(treadle_scope_holder), MOST_HOLDERS, out_count) != TREADLE_OK) *out_count = 0;
    *out_kept = *out_count < MOST_HOLDERS ? *out_count : MOST_HOLDERS;
    return holders;
}

void for_each_user(treadle_plugin plugin, void (*body)(const char *id, void *info), void *info) {
    size_t count, kept;
    treadle_scope_holder *holders = copy_holders(plugin, &count, &kept);
    for (size_t i = 0; i < kept; i++)
        if (holders[i].kind == TREADLE_HOLDER_PLUGIN) body(holders[i].label, info);
    free(holders);
}

const char *find_user(treadle_plugin plugin) {
    static char id[64];
    size_t count, kept;
    treadle_scope_holder *holders = copy_holders(plugin, &count, &kept);
    bool is_found = false;
    for (size_t i = 0; i < kept && !is_found; i++) {
        if (holders[i].kind != TREADLE_HOLDER_PLUGIN) continue;
        is_found = true;
        snprintf(id, sizeof id, "%s", holders[i].label);
    }
    free(holders);
    return is_found ? id : NULL;
}

/* The first line of what Treadle says about an object; the others are its modes. */
static void print_description(FILE *to, treadle_object object) {
    char text[1024];
    size_t length;
    if (!object || treadle_describe(object, text, sizeof text, &length) != TREADLE_OK) return;
    text[strcspn(text, "\n")] = 0;
    fprintf(to, ": %s", text);
}

static void print_holder(FILE *to, const treadle_scope_holder *holder) {
    fprintf(to, "    %s", word_of(holder->kind));
    if (*holder->label) fprintf(to, " \"%s\"", holder->label);
    if (holder->thread_id) fprintf(to, ", in thread %d", holder->thread_id);
    if (*holder->thread_name) fprintf(to, " \"%s\"", holder->thread_name);
    if (*holder->callback && strcmp(holder->callback, holder->label)) fprintf(to, ", in the callback of \"%s\"", holder->callback);
    if (holder->held_ns) fprintf(to, ", %.3f s since the end began", (double)holder->held_ns / 1e9);
    print_description(to, holder->object);
    fputc('\n', to);
}

void report_holders(FILE *to, treadle_plugin plugin) {
    size_t count, kept;
    treadle_scope_holder *holders = copy_holders(plugin, &count, &kept);
    for (size_t i = 0; i < kept; i++) print_holder(to, &holders[i]);
    if (kept < count) fprintf(to, "    and %zu more\n", count - kept);
    free(holders);
}

void report_plugins(void) {
    static const char *const states[] = {"loaded", "starting", "started"};
    flockfile(stdout);
    printf("report of %zu plugin%s\n", plugin_count, plugin_count == 1 ? "" : "s");
    for (size_t i = 0; i < plugin_count; i++) {
        treadle_plugin_info info = {.struct_size = sizeof info};
        size_t count = 0;
        if (plugins[i].handle && treadle_plugin_get_info(plugins[i].handle, &info) == TREADLE_OK) {
            treadle_scope_copy_holders(plugins[i].handle, NULL, sizeof(treadle_scope_holder), 0, &count);
            const char *state = states[info.state < 2 ? info.state : 2];
            printf("%s %s: %s, holds %zu\n", plugins[i].id, info.description->version, state, count);
            report_holders(stdout, plugins[i].handle);
        } else if (plugins[i].handle) {
            printf("%s: ends, and is held by\n", plugins[i].id);
            report_holders(stdout, plugins[i].handle);
        } else {
            const char *name = *plugins[i].id ? plugins[i].id : plugins[i].path, *fault = plugins[i].fault;
            printf("%s: ended%s%s\n", name, fault ? ": " : "", fault ? fault : "");
        }
    }
    puts("end of the report");
    fflush(stdout);
    funlockfile(stdout);
}

/* --- What a plugin is ---------------------------------------------------------------------------- */

static void print_names(const char *word, const char *const *names) {
    for (; names && *names; names++) printf("    %s %s\n", word, *names);
}

static void print_setting(const treadle_plugin_setting *setting) {
    static const char *const types[] = {"text", "boolean", "integer", "real"};
    printf("    setting %s: %s", setting->key, types[setting->type < 4 ? setting->type : 0]);
    bool has_bounds = setting->type == TREADLE_SETTING_INTEGER && (setting->minimum || setting->maximum);
    if (has_bounds) printf(" from %lld to %lld", (long long)setting->minimum, (long long)setting->maximum);
    printf(", \"%s\" by default", setting->default_value ? setting->default_value : "");
    if (setting->description) printf(": %s", setting->description);
    putchar('\n');
}

void list_plugins(void) {
    for (size_t i = 0; i < plugin_count; i++) {
        treadle_plugin_info info = {.struct_size = sizeof info};
        if (treadle_plugin_get_info(plugins[i].handle, &info) != TREADLE_OK) continue;
        const treadle_plugin_description *about = info.description;
        printf("%s\n    name %s\n    version %s\n    path %s\n", about->id, about->name, about->version, plugins[i].path);
        print_names("requires", about->required);
        print_names("may use", about->optional);
        print_names("provides", about->provided);
        for (uint32_t k = 0; k < about->setting_count; k++) print_setting(treadle_plugin_get_setting(about, k));
    }
    fflush(stdout);
}
