/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * busy.c: lengths of time on a busy machine. What a plugin may take is a limit of its own work and waits: the time that its threads were
 * ready to run, and had no processor, is not its fault. */
#include "host.h"

#include <dirent.h>
#include <stdlib.h>

/* How long a thread has been ready to run without a processor, in nanoseconds; 0 where the kernel does not tell. */
static int64_t read_waited(const char *thread) {
    char path[64];
    long long ran, waited = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", thread);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%lld %lld", &ran, &waited) != 2) waited = 0;
    if (file) fclose(file);
    return waited;
}

/* Calls body with each thread of the process that there is room for. */
static void for_each_thread(void (*body)(const char *thread, int64_t waited, void *info), void *info) {
    DIR *directory = opendir("/proc/self/task");
    size_t count = 0;
    for (struct dirent *entry; directory && count < THREADS_OF_SPAN && (entry = readdir(directory));) {
        if (*entry->d_name == '.') continue;
        body(entry->d_name, read_waited(entry->d_name), info);
        count++;
    }
    if (directory) closedir(directory);
}

static void note(const char *thread, int64_t waited, void *info) {
    struct span *span = info;
    span->threads[span->count].id = atoi(thread), span->threads[span->count++].waited = waited;
}
void begin_span(struct span *span) {
    span->count = 0;
    for_each_thread(note, span);
    span->began = treadle_time_now();
}

struct longest {
    const struct span *span;
    int64_t waited;
};
static void compare(const char *thread, int64_t waited, void *info) {
    struct longest *longest = info;
    int id = atoi(thread);
    for (size_t i = 0; i < longest->span->count; i++)
        if (longest->span->threads[i].id == id) waited -= longest->span->threads[i].waited;
    if (waited > longest->waited) longest->waited = waited;
}
int64_t length_of(const struct span *span) {
    int64_t length = treadle_time_now() - span->began;
    struct longest longest = {.span = span};
    for_each_thread(compare, &longest);
    return longest.waited < length ? length - longest.waited : 0;
}
