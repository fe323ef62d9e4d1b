/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * main.c: the main thread: reads the input, gives its lines to the worker as commands, and puts the
 * results together.
 *
 * Usage: demo FILE     FILE may be -, standard input. With TREADLE_TRACE=file it writes a trace for the picture.
 *
 * There is no flag that says "stop" and no sleep in this program. Each loop ends by itself when there
 * is nothing left that it could wait for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "input.h"
#include "report.h"
#include "worker.h"

enum {
    /* How much the worker may be behind before the reading pauses, so that an input of any size needs
     * little memory. Half of it is when reading goes on. */
    MOST_LINES_BEHIND = 64,
    MOST_BYTES_BEHIND = 4 << 20
};

struct demo {
    treadle_loop loop;
    struct timeline timeline;
    struct input input;
    struct queue results;
    treadle_source results_source;
    struct worker worker;
    struct registration *commands; /* how to reach the command source, while it is registered */
    uint64_t lines_sent, lines_behind, bytes_behind;
    bool complete; /* the last result is here */
    struct summary summary;
};

static void send_command(struct demo *demo, const unsigned char *line, size_t length, bool last) {
    struct command *command = allocate(sizeof *command + length);
    command->last = last;
    command->length = length;
    if (!last) {
        if (length) memcpy(command->line, line, length);
        command->number = ++demo->lines_sent;
        demo->lines_behind++;
        demo->bytes_behind += length;
    }
    registration_add_command(demo->commands, command, &demo->timeline);
}

static void input_line(const unsigned char *line, size_t length, void *info) {
    send_command(info, line, length, false);
}

static void input_read(void *info) {
    struct demo *demo = info;
    registration_fire(demo->commands, &demo->timeline);
    if (demo->lines_behind > MOST_LINES_BEHIND || demo->bytes_behind > MOST_BYTES_BEHIND) input_pause(&demo->input, true);
}

static void input_end(void *info) {
    struct demo *demo = info;
    send_command(demo, NULL, 0, true);
    registration_fire(demo->commands, &demo->timeline);
}

/* Once the command source is withdrawn and the last result is here, nothing more can come. Without the
 * source of the results the main loop has nothing left to wait for. Both have to be seen, since a pass
 * runs what was posted before it performs what was signalled. */
static void end_if_done(struct demo *demo) {
    if (demo->commands || !demo->complete) return;
    require_ok(treadle_source_invalidate(demo->results_source), "invalidate the results' source");
}

static void take_results(treadle_source source, void *info) {
    (void)source;
    struct demo *demo = info;
    int64_t taken = 0;
    bool more;
    timeline_begin(&demo->timeline, SPAN_RESULTS);
    for (struct message *message = queue_take(&demo->results, SIZE_MAX, &more), *next; message; message = next, taken++) {
        struct result *result = (struct result *)message;
        next = message->next;
        summary_add(&demo->summary, result);
        if (result->words) {
            demo->complete = true;
        } else {
            demo->lines_behind--;
            demo->bytes_behind -= result->length;
        }
        free(result);
    }
    if (demo->lines_behind < MOST_LINES_BEHIND / 2 && demo->bytes_behind < MOST_BYTES_BEHIND / 2) input_pause(&demo->input, false);
    end_if_done(demo);
    timeline_end(&demo->timeline, SPAN_RESULTS, taken);
}

/* The worker's command source joined its loop: commands have somewhere to go, so the reading begins. */
static void registered(struct registration *registration, void *info) {
    struct demo *demo = info;
    timeline_begin(&demo->timeline, SPAN_POSTED);
    demo->commands = registration;
    input_start(&demo->input, demo->loop);
    timeline_end(&demo->timeline, SPAN_POSTED, 0);
}

/* It left its loop. */
static void withdrawn(struct registration *registration, void *info) {
    struct demo *demo = info;
    timeline_begin(&demo->timeline, SPAN_POSTED);
    registration_free(registration);
    registration_free(demo->commands);
    demo->commands = NULL;
    end_if_done(demo);
    timeline_end(&demo->timeline, SPAN_POSTED, 0);
}

static treadle_source make_results_source(struct demo *demo) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    context.info = demo;
    context.perform = take_results;
    context.label = "results";
    treadle_source source;
    require_ok(treadle_source_create(&context, &source), "make the results' source");
    require_ok(treadle_loop_add_source(demo->loop, source, TREADLE_DEFAULT_MODE), "add the results' source");
    return source;
}

/* Runs the loop until everything is done, beside the worker, and waits for that one's end. */
static void run(struct demo *demo) {
    worker_start(&demo->worker);
    timeline_begin(&demo->timeline, SPAN_RUN);
    treadle_status result = require(treadle_loop_run(demo->loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), "run the main loop");
    timeline_end(&demo->timeline, SPAN_RUN, result);
    timeline_begin(&demo->timeline, SPAN_JOIN);
    worker_join(&demo->worker);
    timeline_end(&demo->timeline, SPAN_JOIN, 0);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s FILE\n", arguments[0]);
        return 2;
    }
    static struct demo demo;
    timeline_init(&demo.timeline, "main");
    demo.loop = treadle_loop_current();
    if (!demo.loop) require(TREADLE_E_NOMEM, "get the main loop");
    timeline_observe(&demo.timeline, demo.loop);
    demo.input = (struct input){
        .fd = input_open(arguments[1]),
        .line = input_line,
        .read = input_read,
        .end = input_end,
        .info = &demo,
        .timeline = &demo.timeline,
    };
    queue_init(&demo.results);
    demo.results_source = make_results_source(&demo);

    struct command_client client = {.loop = demo.loop, .registered = registered, .withdrawn = withdrawn, .info = &demo};
    demo.worker.client = &client;
    demo.worker.results = &demo.results;
    demo.worker.results_source = demo.results_source;
    timeline_init(&demo.worker.timeline, "worker");
    run(&demo);

    require_ok(treadle_source_release(demo.results_source), "release the results' source");
    timeline_stop_observing(&demo.timeline);
    demo.summary.bytes = demo.input.bytes;
    report_summary(&demo.summary, stdout);
    report_time(&demo.timeline, &demo.worker.timeline, stdout);
    worker_destroy(&demo.worker);
    queue_destroy(&demo.results);
    return 0;
}
