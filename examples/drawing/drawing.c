/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * drawing.c: draws sixty frames a second while its plugin crashes once a second, and is started again each time with the state that it
 * has saved last.
 *
 *     drawing CRASHING_PLUGIN.so [CRASHES [MILLISECONDS]]
 *
 * The main thread draws. Another thread's loop receives from the plugin's process, and starts the next one: so no frame waits for that.
 * Behind so many crashes (5), MILLISECONDS apart (1000), it tells what it has seen. */
#include <treadle.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS INT64_C(1000000)
#define FRAME (1000 * MS / 60)

static atomic_int crashes, count;
static int wanted, frames;
static int64_t last_frame, longest_gap;

static void check(treadle_status status, const char *what) {
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    if (status >= 0) return;
    treadle_last_error(&error);
    fprintf(stderr, "%s: %s\n", what, error.message);
    exit(1);
}

/* --- The thread of the plugin ------------------------------------------------------------------------------- */

struct thread {
    treadle_loop loop;
    sem_t is_there;
};
static void *serve_plugin(void *info) {
    struct thread *thread = info;
    thread->loop = treadle_loop_current();
    sem_post(&thread->is_there);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    return NULL;
}
static void log_line(void *info, treadle_plugin plugin, uint32_t level, const char *text) {
    int number;
    (void)info, (void)plugin, (void)level;
    if (sscanf(text, "count %d", &number) == 1) atomic_store(&count, number);
}
static void ended(void *info, treadle_plugin plugin, const treadle_plugin_ending *ending) {
    (void)info, (void)plugin, (void)ending;
    if (atomic_fetch_add(&crashes, 1) + 1 == wanted) treadle_loop_request_stop(treadle_loop_main(), 0);
}

/* --- The main thread ---------------------------------------------------------------------------------------- */

static void draw(treadle_timer timer, void *info) {
    static const char hands[] = "|/-\\";
    int64_t now = treadle_time_now();
    (void)timer, (void)info;
    if (frames > 0 && now - last_frame > longest_gap) longest_gap = now - last_frame;
    last_frame = now;
    frames++;
    if (!isatty(STDOUT_FILENO)) return;
    printf("\r%c  the plugin counts %d, and has crashed %d times ", hands[frames / 6 % 4], atomic_load(&count), atomic_load(&crashes));
    fflush(stdout);
}

int main(int words_count, char **words) {
    const char *settings[] = {"crash-ms", words_count > 3 ? words[3] : "1000", NULL};
    treadle_plugin_restart restart = TREADLE_INIT(treadle_plugin_restart);
    treadle_plugin_config config = TREADLE_INIT(treadle_plugin_config);
    struct thread thread = {NULL};
    treadle_plugin plugin;
    pthread_t number;
    if (words_count < 2) return fprintf(stderr, "drawing CRASHING_PLUGIN.so [CRASHES [MILLISECONDS]]\n"), 2;
    wanted = words_count > 2 ? atoi(words[2]) : 5;
    treadle_loop_main(); /* is this thread's */
    sem_init(&thread.is_there, 0, 0);
    pthread_create(&number, NULL, serve_plugin, &thread);
    sem_wait(&thread.is_there);

    restart.most = 65535;
    restart.within_ns = TREADLE_FOREVER;
    config.path = words[1];
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.loop = thread.loop;
    config.settings = settings;
    config.restart = &restart;
    config.log = log_line;
    config.ended = ended;
    check(treadle_plugin_load(&config, &plugin), "the plugin");
    check(treadle_plugin_start(plugin), "the plugin");
    check(treadle_timer_start(0, FRAME, draw, NULL, NULL), "the timer");
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    check(treadle_plugin_close(plugin, 1000 * MS), "the end of the plugin");
    treadle_release(plugin);
    treadle_loop_request_stop(thread.loop, 0);
    pthread_join(number, NULL);
    printf("%s%d frames, at most %d ms apart; the plugin has counted to %d and crashed %d times\n", isatty(STDOUT_FILENO) ? "\n" : "", frames,
           (int)(longest_gap / MS), atomic_load(&count), atomic_load(&crashes));
    return 0;
}
