/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * options.c: the command line. */
#include "host.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct options options = {.timeout_ns = 5000000000};

static const char help[] =
    "treadle-host runs plugins of Treadle until SIGTERM or SIGINT.\n"
    "\n"
    "    treadle-host [OPTIONS] PLUGIN.so|DIRECTORY...\n"
    "    treadle-host --list [OPTIONS] PLUGIN.so|DIRECTORY...\n"
    "    treadle-host --check [OPTIONS] PLUGIN.so [PROVIDER.so|DIRECTORY...]\n"
    "\n"
    "A directory stands for every *.so in it, in the order of their names.\n"
    "\n"
    "    --set ID.KEY=VALUE   gives the plugin ID a setting's value\n"
    "    --timeout SECONDS    how long each plugin may take to end (5)\n"
    "    --writable           takes files that others may write or replace\n"
    "    --isolate            runs each plugin in a process of its own\n"
    "    --keep-going         goes on without a plugin that is refused\n"
    "    --quiet              prints only what plugins print, reports, warnings and errors\n"
    "    --list               shows what each plugin is, and starts none\n"
    "    --check              proves the contract of one plugin; the others are those that it requires\n"
    "    --json               with --check: writes a JSON object in place of lines\n"
    "    --help, --version\n"
    "\n"
    "SIGUSR1 prints a report; SIGHUP reloads the plugins whose files have changed.\n"
    "The status is 0, or what a plugin has asked for; 1 for a plugin that is refused, does not end in time, or fails its\n"
    "check; 2 for bad options.\n";

static int misuse(const char *text, const char *word) {
    complain("%s%s%s: treadle-host --help tells how it is used", text, word ? " " : "", word ? word : "");
    return STATUS_USAGE;
}

static bool read_seconds(const char *text, int64_t *out_ns) {
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !isfinite(seconds) || seconds < 0) return false;
    return treadle_time_from_seconds(seconds, out_ns) == TREADLE_OK;
}

/* An id, a point, a key, =: which of the points it is depends on the plugins that are there. */
static bool is_set(const char *text) {
    const char *equal = strchr(text, '='), *point = strchr(text, '.');
    return equal && point && point != text && point < equal && equal[-1] != '.';
}

int read_options(int count, char **words) {
    enum { SET = 1, TIMEOUT, WRITABLE, ISOLATE, KEEP_GOING, QUIET, LIST, CHECK, JSON, HELP, VERSION };
    static const struct option known[] = {
        {"set", required_argument, NULL, SET},    {"timeout", required_argument, NULL, TIMEOUT},
        {"writable", no_argument, NULL, WRITABLE}, {"isolate", no_argument, NULL, ISOLATE},
        {"keep-going", no_argument, NULL, KEEP_GOING},
        {"quiet", no_argument, NULL, QUIET},      {"list", no_argument, NULL, LIST},
        {"check", no_argument, NULL, CHECK},      {"json", no_argument, NULL, JSON},
        {"help", no_argument, NULL, HELP},
        {"version", no_argument, NULL, VERSION},  {NULL, 0, NULL, 0}};
    options.sets = calloc((size_t)count + 1, sizeof *options.sets);
    options.paths = calloc((size_t)count + 1, sizeof *options.paths);
    if (!options.sets || !options.paths) return complain("out of memory"), STATUS_FAILED;
    opterr = 0;
    for (int found; (found = getopt_long(count, words, ":", known, NULL)) != -1;) {
        switch (found) {
        case SET:
            if (!is_set(optarg)) return misuse("--set wants ID.KEY=VALUE, not", optarg);
            options.sets[options.set_count++] = optarg;
            break;
        case TIMEOUT:
            if (!read_seconds(optarg, &options.timeout_ns)) return misuse("--timeout wants seconds, not", optarg);
            break;
        case WRITABLE: options.writable = true; break;
        case ISOLATE: options.isolates = true; break;
        case KEEP_GOING: options.keeps_going = true; break;
        case QUIET: options.quiet = true; break;
        case LIST: options.lists = true; break;
        case CHECK: options.checks = true; break;
        case JSON: options.json = true; break;
        case HELP: return fputs(help, stdout), STATUS_OK;
        case VERSION: return say("treadle-host %s", treadle_version_string()), STATUS_OK;
        case ':': return misuse("a value is missing behind", words[optind - 1]);
        default: return misuse("there is no such option:", words[optind - 1]);
        }
    }
    while (optind < count) options.paths[options.path_count++] = words[optind++];
    if (options.lists && options.checks) return misuse("--list and --check exclude each other", NULL);
    if (options.isolates && options.checks) return misuse("--isolate and --check exclude each other", NULL);
    if (options.json && !options.checks) return misuse("--json is for --check", NULL);
    if (options.path_count == 0) return misuse("no plugin is named", NULL);
    return -1;
}
