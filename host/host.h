/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host.h: what the parts of treadle-host know of each other. */
#ifndef TREADLE_HOST_H
#define TREADLE_HOST_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <treadle.h>

#include "treadle_host.h"

#define PRINTED(text, first) __attribute__((format(printf, text, first)))

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_GIVEN_UP = 70 };

/* --- options.c: what the command line says ------------------------------------------------------- */

struct options {
    const char **sets;  /* of --set, ID.KEY=VALUE */
    size_t set_count;
    const char **paths; /* plugins and directories */
    size_t path_count;
    int64_t timeout_ns; /* that each plugin has for its end */
    bool writable, isolates, quiet, keeps_going, lists, checks, json;
};
extern struct options options;

/* -1 if the program goes on, else the status that it ends with. */
int read_options(int count, char **words);

/* --- plugins.c: the plugins that were named ------------------------------------------------------ */

struct plugin {
    treadle_plugin handle; /* NULL: it has ended */
    char *path;            /* with a slash in it, so that it is no name that a loader would search for */
    char *id;              /* lives as long as the program: what plugins log names it */
    const char **settings; /* keys and values by turns, NULL at the end */
    char *fault;           /* why it has ended, or was not loaded; NULL: nothing was wrong */
    bool has_started;      /* its end is told of */
    bool is_of_directory;  /* nobody has named it: without it the others go on */
    struct stat file;      /* as it was when it was loaded; of one that was not reloaded, the file that was refused */
    FILE *original;        /* what it was loaded from, and as that was then; NULL: not known */
    struct stat original_file;
};
extern struct plugin *plugins;
extern size_t plugin_count;

/* Loads what a path names: a file, or all *.so of a directory in the order of their names. False if one was refused. */
bool load_path(const char *path);
bool same_file(const char *one, const char *other);
/* How one is loaded. */
treadle_plugin_config config_of(const struct plugin *plugin);
/* What one that is loaded is called. */
void take_id(struct plugin *plugin);
/* Loads one into a place of its own, which is not in the list. */
bool load_one(const char *path, struct plugin *out_plugin);
bool start_one(struct plugin *plugin);
/* Hands the values of --set to those they are for: to all of the list, or, if it is not NULL, to another one alone. False if
 * one is refused. */
bool apply_settings(struct plugin *other);
bool apply_settings_of_providers(void);
bool start_all(void);
/* Each plugin whose file is another one now. */
void reload_changed(void);
/* From the last to the first, users before those that they use. False if one has not ended in time. */
bool close_all(void);
bool close_one(struct plugin *plugin, int64_t timeout_ns);
bool is_other_file(const struct stat *one, const struct stat *other);
void forget(struct plugin *plugin);

/* --- rollback.c: a reload that can be undone ------------------------------------------------------- */

/* Puts another file of a plugin in its place. If that fails, why says so, and out_plugin is the old one, started again with its
 * state, or NULL: plugin->handle may be valid still, and goes on then. */
treadle_status replace(struct plugin *plugin, const treadle_plugin_config *config, treadle_plugin *out_plugin, char *why, size_t size);

/* --- report.c: what people are told --------------------------------------------------------------- */

void say(const char *format, ...) PRINTED(1, 2);      /* a line to standard output */
void tell(const char *format, ...) PRINTED(1, 2);     /* the same, of the program; not if it is to be quiet */
void complain(const char *format, ...) PRINTED(1, 2); /* a line to standard error */
void complain_of(const char *path);                   /* the last error of Treadle, about a path */
void log_of_plugin(void *info, treadle_plugin plugin, uint32_t level, const char *text);
void list_plugins(void);
void report_plugins(void);
/* The last error of Treadle. Valid until the next call. */
const char *last_message(void);
const char *hint_of(const char *path);
/* Calls body with the id of each plugin that uses this one. */
void for_each_user(treadle_plugin plugin, void (*body)(const char *id, void *info), void *info);
/* The id of a plugin that uses this one; NULL if none does. Valid until the next call. */
const char *find_user(treadle_plugin plugin);
/* What is in a plugin, a line each. */
void report_holders(FILE *to, treadle_plugin plugin);

/* --- main.c: the main loop ------------------------------------------------------------------------ */

extern bool is_silent; /* what plugins print is dropped */
extern treadle_loop main_loop;
const void *extension_of_host(void *info, const char *id);
extern const treadle_extension_descriptor *const host_descriptors[];

/* --- crash.c: who crashed ------------------------------------------------------------------------- */

void watch_crashes(void);
/* Has each thread that begins from here on tell of its crash on a stack of its own. */
void watch_threads(void);
/* From here on an exit that is not expected is a plugin's. */
void watch_exit(void);
void expect_exit(void);
/* Between the two a crash of this thread, which nothing else explains, is the plugin's. */
void enter_call(const char *id, const char *where);
void leave_call(void);
/* Remembers and forgets where a plugin's code is. */
void note_code(const char *id, const void *address);
void forget_code(const char *id);

/* --- busy.c: lengths of time on a busy machine ----------------------------------------------------- */

enum { THREADS_OF_SPAN = 256 };
/* A span of time, and how long each thread had waited for a processor as it began. It should be short: of a thread that ends during it
 * nobody knows how long it has waited. */
struct span {
    int64_t began;
    size_t count;
    struct {
        int id;
        int64_t waited;
    } threads[THREADS_OF_SPAN];
};
void begin_span(struct span *span);
/* Nanoseconds since then, without those for which the thread that waited longest was ready to run and had no processor. */
int64_t length_of(const struct span *span);

/* --- check.c, pressure.c: the proof of a plugin's contract ---------------------------------------- */

int check_plugin(void);
/* How many entries a directory of /proc has. */
int count_entries(const char *name);
/* Whether it has at most so many, for a moment at least. */
bool comes_down_to(const char *name, int limit, int *out_count);
/* What is allocated and not given back, by anybody. */
int64_t heap_in_use(void);
/* isolated.c: the same of a plugin in a process of its own. */
void check_isolated(const char *path);

/* --- guard.c, points.c, process.c: the process of a check, what it says, what it is left with ------- */

/* How far a check has come; both processes see it. */
struct progress {
    char where[128]; /* what the plugin is called for; empty: the main loop runs */
    int points;
    bool has_failed, is_over;
};
extern struct progress *progress;
/* Runs a check in a process of its own, and tells how that ended, if it did not by itself. The status of the program. */
int run_guarded(int (*check)(void));

void begin_points(const char *path);
void end_points(void);
/* A point: its name for programs, its text for people. Returns is_good. details: lines, or NULL. */
bool point_with(const char *details, bool is_good, const char *name, const char *format, ...) PRINTED(4, 5);
#define point(...) point_with(NULL, __VA_ARGS__)

struct process;
struct process *copy_process(void);
void free_process(struct process *process);
/* A failed point for each difference, and puts back what it can. False if there is one. */
bool compare_process(struct process *old, const char *own_path, bool may_unmap);
/* Whether a key was left, a library was opened and not closed, in each of so many lives. */
bool compare_keys(const struct process *old, int lives);
bool compare_libraries(const struct process *old, const char *own_path, int lives);

/* --- remains.c: pointers that are left of it ------------------------------------------------------- */

/* Of a plugin that has ended, and whose code is there still. */
bool compare_pointers(const char *own_path);
/* Threads that post to the main loop and wake it, until they are joined. */
bool begin_pressure(void);
/* False if the main loop does not run any more. */
bool end_pressure(void);

#endif
