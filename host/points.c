/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * points.c: the points of a check, as lines or as JSON. They are told by two processes, one after the other: the one that the plugin is
 * checked in, and the one that waits for it (guard.c). */
#include "host.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1024 };

static void print_json_text(const char *text, size_t length) {
    putchar('"');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\') printf("\\%c", byte);
        else if (byte < 0x20) printf("\\u%04x", byte);
        else putchar(byte);
    }
    putchar('"');
}

static void print_json_lines(const char *lines) {
    fputs(", \"details\": [", stdout);
    for (const char *at = lines; *at;) {
        size_t length = strcspn(at, "\n"), indent = strspn(at, " ");
        if (at != lines) fputs(", ", stdout);
        print_json_text(at + indent, length - indent);
        at += length + (at[length] == '\n');
    }
    putchar(']');
}

void begin_points(const char *path) {
    if (!options.json) return;
    fputs("{\"path\": ", stdout);
    print_json_text(path, strlen(path));
    fputs(", \"points\": [", stdout);
    fflush(stdout);
}

bool point_with(const char *details, bool is_good, const char *name, const char *format, ...) {
    char text[MOST_TEXT];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    flockfile(stdout);
    if (options.json) {
        printf("%s\n  {\"name\": \"%s\", \"ok\": %s, \"text\": ", progress->points ? "," : "", name, is_good ? "true" : "false");
        print_json_text(text, strlen(text));
        if (details) print_json_lines(details);
        putchar('}');
    } else {
        printf("%s %s\n%s", is_good ? "ok" : "FAILED", text, details ? details : "");
    }
    progress->points++;
    if (!is_good) progress->has_failed = true;
    fflush(stdout);
    funlockfile(stdout);
    return is_good;
}

void end_points(void) {
    if (options.json) printf("\n], \"ok\": %s}\n", progress->has_failed ? "false" : "true");
    fflush(stdout);
}
