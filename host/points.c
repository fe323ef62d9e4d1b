/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * points.c: the points of a check, as lines or as JSON. They are told by two processes, one after the other: the one that the plugin is
 * checked in, and the one that waits for it (guard.c). */
#include "host.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TEXT = 1024, FIRST_OWN = 10 };

/* Standard output as it was at first: a plugin may close it, or put another stream in its place. */
static FILE *out;

static void print_json_text(const char *text, size_t length) {
    fputc('"', out);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\') fprintf(out, "\\%c", byte);
        else if (byte < 0x20) fprintf(out, "\\u%04x", byte);
        else fputc(byte, out);
    }
    fputc('"', out);
}

static void print_json_lines(const char *lines) {
    fputs(", \"details\": [", out);
    for (const char *at = lines; *at;) {
        size_t length = strcspn(at, "\n"), indent = strspn(at, " ");
        if (at != lines) fputs(", ", out);
        print_json_text(at + indent, length - indent);
        at += length + (at[length] == '\n');
    }
    fputc(']', out);
}

void begin_points(const char *path) {
    int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_OWN);
    out = copy < 0 ? NULL : fdopen(copy, "w");
    if (!out) out = stdout;
    if (!options.json) return;
    fputs("{\"path\": ", out);
    print_json_text(path, strlen(path));
    fputs(", \"points\": [", out);
    fflush(out);
}

bool point_with(const char *details, bool is_good, const char *name, const char *format, ...) {
    char text[MOST_TEXT];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    flockfile(out);
    if (options.json) {
        fprintf(out, "%s\n  {\"name\": \"%s\", \"ok\": %s, \"text\": ", progress->points ? "," : "", name, is_good ? "true" : "false");
        print_json_text(text, strlen(text));
        if (details) print_json_lines(details);
        fputc('}', out);
    } else {
        fprintf(out, "%s %s\n%s", is_good ? "ok" : "FAILED", text, details ? details : "");
    }
    progress->points++;
    if (!is_good) progress->has_failed = true;
    fflush(out);
    funlockfile(out);
    return is_good;
}

void end_points(void) {
    if (options.json) fprintf(out, "\n], \"ok\": %s}\n", progress->has_failed ? "false" : "true");
    fflush(out);
}
