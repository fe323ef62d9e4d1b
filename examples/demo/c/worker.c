/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * worker.c: examines lines until the last command, then has nothing left to wait for. */
#include "worker.h"

#include <stdlib.h>

#include "check.h"
#include "summary.h"

/* A heartbeat every 0.25 ms while there is work; without any each pause is twice as long, up to 0.5 s,
 * so that a worker who waits for somebody at a terminal hardly costs anything. */
#define SHORTEST_PAUSE 250000
#define LONGEST_PAUSE 500000000

static void beat_after(struct worker *worker, int64_t pause) {
    worker->pause = pause;
    require_ok(treadle_timer_set_next_fire(worker->heartbeat, treadle_time_now() + pause), "move the heartbeat");
}

static void beat(treadle_timer timer, void *info) {
    (void)timer;
    struct worker *worker = info;
    timeline_begin(&worker->timeline, SPAN_HEARTBEAT);
    if (worker->lines == worker->lines_at_heartbeat) {
        beat_after(worker, worker->pause * 2 < LONGEST_PAUSE ? worker->pause * 2 : LONGEST_PAUSE);
    }
    worker->lines_at_heartbeat = worker->lines;
    timeline_end(&worker->timeline, SPAN_HEARTBEAT, (int64_t)worker->lines);
}

static void send(struct worker *worker, struct result *result) {
    queue_put(worker->results, &result->link);
    timeline_signal(&worker->timeline, SIGNAL_RESULTS, worker->results_source);
}

static void examine(struct worker *worker, struct command *command) {
    struct result *result = allocate(sizeof *result);
    result->number = command->number;
    result->length = command->length;
    result->checksum = checksum_of(0, command->line, command->length);
    result->word_count = words_count(&worker->words, command->line, command->length);
    worker->lines++;
    send(worker, result);
}

/* The last command: with the source and the timer gone the loop's mode is empty, so its run returns
 * TREADLE_RUN_FINISHED. Observers do not keep a loop running. */
static void finish(struct worker *worker) {
    struct result *result = allocate(sizeof *result);
    result->words = &worker->words;
    send(worker, result);
    require_ok(treadle_timer_invalidate(worker->heartbeat), "invalidate the heartbeat");
    require_ok(treadle_source_invalidate(worker->commands), "invalidate the command source");
}

static void handle(struct command *command, void *info) {
    struct worker *worker = info;
    if (command->last) {
        finish(worker);
    } else {
        if (worker->pause > SHORTEST_PAUSE) beat_after(worker, SHORTEST_PAUSE);
        examine(worker, command);
    }
    free(command);
    /* After every line, not once for all: the other thread can begin while this one goes on. A wake
     * costs no system call unless that thread sleeps. */
    timeline_wake(&worker->timeline, worker->client->loop);
}

static void *life(void *info) {
    struct worker *worker = info;
    treadle_loop loop = treadle_loop_current();
    if (!loop) require(TREADLE_E_NOMEM, "get the worker's loop");
    require_ok(treadle_thread_set_name(treadle_thread_current(), worker->timeline.name), "name the worker");
    timeline_observe(&worker->timeline, loop);

    worker->pause = SHORTEST_PAUSE;
    treadle_timer_context heartbeat = TREADLE_INIT(treadle_timer_context);
    heartbeat.info = worker;
    heartbeat.fire = beat;
    heartbeat.fire_at = treadle_time_now() + SHORTEST_PAUSE;
    heartbeat.interval_ns = SHORTEST_PAUSE;
    heartbeat.label = "heartbeat";
    require_ok(treadle_timer_create(&heartbeat, &worker->heartbeat), "make the heartbeat");
    require_ok(treadle_loop_add_timer(loop, worker->heartbeat, TREADLE_DEFAULT_MODE), "add the heartbeat");

    worker->commands = command_source_create(worker->client, handle, worker, &worker->timeline);
    require_ok(treadle_loop_add_source(loop, worker->commands, TREADLE_DEFAULT_MODE), "add the command source");

    timeline_begin(&worker->timeline, SPAN_RUN);
    treadle_status result = require(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), "run the worker's loop");
    timeline_end(&worker->timeline, SPAN_RUN, result);

    require_ok(treadle_source_release(worker->commands), "release the command source");
    require_ok(treadle_timer_release(worker->heartbeat), "release the heartbeat");
    timeline_stop_observing(&worker->timeline);
    return NULL;
}

void worker_start(struct worker *worker) {
    words_init(&worker->words);
    int error = pthread_create(&worker->thread, NULL, life, worker);
    if (error) fail_system("start the worker", NULL, error);
}

void worker_join(struct worker *worker) {
    int error = pthread_join(worker->thread, NULL);
    if (error) fail_system("join the worker", NULL, error);
}

void worker_destroy(struct worker *worker) {
    words_destroy(&worker->words);
}
