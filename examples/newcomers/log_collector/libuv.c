/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * log_collector FILE: writes the lines of four producers, and those that are appended to FILE, until SIGTERM. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { PRODUCERS = 4, LINES = 1000 };

struct line {
    struct line *next;
    char *text;
};

static uv_loop_t collector;
static uv_async_t arrived;
static uv_mutex_t lock;
static struct line *first, **last = &first;
static atomic_bool cancelled;
static FILE *followed;
static int collected;

static void require(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

static void write_lines(uv_async_t *async) {
    (void)async;
    uv_mutex_lock(&lock);
    struct line *line = first;
    first = NULL;
    last = &first;
    uv_mutex_unlock(&lock);
    while (line != NULL) {
        struct line *next = line->next;
        fputs(line->text, stdout);
        free(line->text);
        free(line);
        line = next;
        collected++;
    }
}

static void produce(void *name) {
    for (int i = 0; i < LINES && !atomic_load(&cancelled); i++) {
        struct line *line = calloc(1, sizeof *line);
        require(line != NULL && asprintf(&line->text, "%s: line %d\n", (char *)name, i) >= 0, "asprintf");
        uv_mutex_lock(&lock);
        *last = line;
        last = &line->next;
        uv_mutex_unlock(&lock);
        require(uv_async_send(&arrived) == 0, "uv_async_send");
    }
}

static void follow(uv_fs_event_t *event, const char *name, int events, int status) {
    (void)event, (void)name, (void)events, (void)status;
    char line[4096];
    while (fgets(line, sizeof line, followed)) {
        printf("file: %s", line);
        collected++;
    }
    clearerr(followed);
}

static void end(uv_signal_t *signal, int number) {
    (void)signal, (void)number;
    uv_stop(&collector);
}

int main(int argc, char **argv) {
    static char *names[PRODUCERS] = {"north", "east", "south", "west"};
    uv_thread_t producers[PRODUCERS];
    uv_fs_event_t changes;
    uv_signal_t ends;
    require(uv_loop_init(&collector) == 0, "uv_loop_init");

    setvbuf(stdout, NULL, _IOLBF, 0);
    require(argc == 2 && (followed = fopen(argv[1], "r")) != NULL, "log_collector FILE");
    require(uv_fs_event_init(&collector, &changes) == 0, "uv_fs_event_init");
    require(uv_fs_event_start(&changes, follow, argv[1], 0) == 0, "uv_fs_event_start");
    follow(&changes, NULL, 0, 0);

    require(uv_signal_init(&collector, &ends) == 0, "uv_signal_init");
    require(uv_signal_start(&ends, end, SIGTERM) == 0, "uv_signal_start");

    require(uv_mutex_init(&lock) == 0, "uv_mutex_init");
    require(uv_async_init(&collector, &arrived, write_lines) == 0, "uv_async_init");
    for (int i = 0; i < PRODUCERS; i++)
        require(uv_thread_create(&producers[i], produce, names[i]) == 0, "uv_thread_create");
    uv_run(&collector, UV_RUN_DEFAULT);

    atomic_store(&cancelled, 1);
    for (int i = 0; i < PRODUCERS; i++) require(uv_thread_join(&producers[i]) == 0, "uv_thread_join");
    write_lines(&arrived);
    printf("%d lines\n", collected);
    fclose(followed);

    uv_close((uv_handle_t *)&changes, NULL);
    uv_close((uv_handle_t *)&ends, NULL);
    uv_close((uv_handle_t *)&arrived, NULL);
    uv_run(&collector, UV_RUN_DEFAULT);
    require(uv_loop_close(&collector) == 0, "uv_loop_close");
    uv_mutex_destroy(&lock);
    return 0;
}
