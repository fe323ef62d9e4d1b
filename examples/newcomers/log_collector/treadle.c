/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * log_collector FILE: writes the lines of four producers, and those that are appended to FILE, until SIGTERM. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <treadle.h>
#include <unistd.h>

enum { PRODUCERS = 4, LINES = 1000 };

static treadle_loop collector;
static FILE *followed;
static int collected;

static void require(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

static void write_line(void *line) {
    fputs(line, stdout);
    free(line);
    collected++;
}

static void *produce(void *name) {
    for (int i = 0; i < LINES && !treadle_thread_is_cancelled(treadle_thread_current()); i++) {
        char *line;
        require(asprintf(&line, "%s: line %d\n", (char *)name, i) >= 0, "asprintf");
        require(treadle_loop_post(collector, write_line, line) == TREADLE_OK, "treadle_loop_post");
    }
    return NULL;
}

static void follow(treadle_descriptor source, uint32_t events, void *descriptor) {
    (void)source, (void)events;
    char changes[4096], line[4096];
    while (read(*(int *)descriptor, changes, sizeof changes) > 0) continue;
    while (fgets(line, sizeof line, followed)) {
        printf("file: %s", line);
        collected++;
    }
    clearerr(followed);
}

static void end(treadle_descriptor source, uint32_t events, void *info) {
    (void)source, (void)events, (void)info;
    treadle_loop_stop(collector);
}

int main(int argc, char **argv) {
    static char *names[PRODUCERS] = {"north", "east", "south", "west"};
    treadle_thread producers[PRODUCERS];
    sigset_t signals;
    collector = treadle_loop_current();

    setvbuf(stdout, NULL, _IOLBF, 0);
    require(argc == 2 && (followed = fopen(argv[1], "r")) != NULL, "log_collector FILE");
    int changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    require(changes >= 0 && inotify_add_watch(changes, argv[1], IN_MODIFY) >= 0, "inotify");
    require(treadle_descriptor_start(changes, TREADLE_READABLE, follow, &changes, NULL) == TREADLE_OK, "follow");
    follow(NULL, 0, &changes);

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    require(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0, "pthread_sigmask");
    int ends = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    require(treadle_descriptor_start(ends, TREADLE_READABLE, end, NULL, NULL) == TREADLE_OK, "signalfd");

    for (int i = 0; i < PRODUCERS; i++) {
        treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
        config.fn = produce;
        config.info = names[i];
        require(treadle_thread_create(&config, &producers[i]) == TREADLE_OK, "treadle_thread_create");
        require(treadle_thread_start(producers[i]) == TREADLE_OK, "treadle_thread_start");
    }
    require(treadle_loop_run_default(collector) == TREADLE_RUN_STOPPED, "treadle_loop_run_default");

    for (int i = 0; i < PRODUCERS; i++) {
        require(treadle_thread_stop_and_join(producers[i], TREADLE_FOREVER, NULL) == TREADLE_OK, "join");
        treadle_thread_release(producers[i]);
    }
    treadle_loop_run(collector, TREADLE_DEFAULT_MODE, 0, 0);
    printf("%d lines\n", collected);
    fclose(followed);
    close(changes);
    close(ends);
    return 0;
}
