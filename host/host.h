/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host.h: what the parts of treadle-host know of each other. */
#ifndef TREADLE_HOST_H
#define TREADLE_HOST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <treadle.h>

#include "treadle_host.h"

#define PRINTED(text, first) __attribute__((format(printf, text, first)))

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* --- options.c: what the command line says ------------------------------------------------------- */

struct options {
    const char **sets;  /* of --set, ID.KEY=VALUE */
    size_t set_count;
    const char **paths; /* plugins and directories */
    size_t path_count;
    int64_t timeout_ns; /* that each plugin has for its end */
    bool writable, quiet, keeps_going, lists, checks;
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
    bool has_started;      /* its end is told of */
    struct stat file;      /* as it was when it was loaded */
};
extern struct plugin *plugins;
extern size_t plugin_count;

/* Loads what a path names: a file, or all *.so of a directory in the order of their names. False if one was refused. */
bool load_path(const char *path);
/* Loads one into a place of its own, which is not in the list. */
bool load_one(const char *path, struct plugin *out_plugin);
bool start_one(struct plugin *plugin);
/* Hands the values of --set to those they are for: to all of the list, or, if it is not NULL, to another one alone. False if
 * one is refused. */
bool apply_settings(struct plugin *other);
bool start_all(void);
/* Each plugin whose file is another one now. */
void reload_changed(void);
/* From the last to the first, users before those that they use. False if one has not ended in time. */
bool close_all(void);
bool close_one(struct plugin *plugin);
void forget(struct plugin *plugin);

/* --- report.c: what people are told --------------------------------------------------------------- */

void say(const char *format, ...) PRINTED(1, 2);      /* a line to standard output */
void tell(const char *format, ...) PRINTED(1, 2);     /* the same, of the program; not if it is to be quiet */
void complain(const char *format, ...) PRINTED(1, 2); /* a line to standard error */
void complain_of(const char *path);                   /* the last error of Treadle, about a path */
void log_of_plugin(void *info, treadle_plugin plugin, uint32_t level, const char *text);
void list_plugins(void);
void report_plugins(void);
/* The id of a plugin that uses this one; NULL if none does. Valid until the next call. */
const char *find_user(treadle_plugin plugin);
/* What is in a plugin, a line each. */
void report_holders(FILE *to, treadle_plugin plugin);

/* --- main.c: the main loop ------------------------------------------------------------------------ */

extern bool is_silent; /* what plugins print is dropped */
extern treadle_loop main_loop;
const void *extension_of_host(void *info, const char *id);

/* --- crash.c: who crashed ------------------------------------------------------------------------- */

void watch_crashes(void);
/* Between the two a crash of this thread, which nothing else explains, is the plugin's. */
void enter_call(const char *id, const char *where);
void leave_call(void);
/* Remembers and forgets where a plugin's code is. */
void note_code(const char *id, const void *address);
void forget_code(const char *id);

/* --- check.c, pressure.c: the proof of a plugin's contract ---------------------------------------- */

int check_plugin(void);
/* Threads that post to the main loop and wake it, until they are joined. */
bool begin_pressure(void);
void end_pressure(void);

#endif
