/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * command_source.c: the custom input source. */
#include "command_source.h"

#include <stdlib.h>

#include "check.h"

/* A perform that goes on for long would keep the loop's timers waiting. It handles so many commands, and
 * signals its own source for the rest of them: the next pass follows at once. */
enum { COMMANDS_A_PASS = 16 };

/* The info of the source: retained and released by Treadle with it. */
struct command_source {
    const struct command_client *client;
    struct queue buffer;
    void (*handle)(struct command *command, void *info);
    void *info;
    struct timeline *timeline;
};

static struct registration *registration_create(treadle_source source, treadle_loop loop, struct command_source *commands) {
    struct registration *registration = allocate(sizeof *registration);
    registration->client = commands->client;
    registration->buffer = &commands->buffer;
    registration->source = source;
    registration->loop = loop;
    /* The other thread may use them when this one has let go of them already. */
    require_ok(treadle_source_retain(source), "retain the command source");
    require_ok(treadle_loop_retain(loop), "retain a loop");
    return registration;
}

void registration_free(struct registration *registration) {
    require_ok(treadle_source_release(registration->source), "release the command source");
    require_ok(treadle_loop_release(registration->loop), "release a loop");
    free(registration);
}

static void tell_registered(void *info) {
    struct registration *registration = info;
    registration->client->registered(registration, registration->client->info);
}

static void tell_withdrawn(void *info) {
    struct registration *registration = info;
    registration->client->withdrawn(registration, registration->client->info);
}

static void schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)mode;
    struct command_source *commands = info;
    timeline_begin(commands->timeline, SPAN_SCHEDULE);
    struct registration *registration = registration_create(source, loop, commands);
    timeline_post(commands->timeline, commands->client->loop, tell_registered, registration);
    timeline_end(commands->timeline, SPAN_SCHEDULE, 0);
}

static void cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)mode;
    struct command_source *commands = info;
    timeline_begin(commands->timeline, SPAN_CANCEL);
    struct registration *registration = registration_create(source, loop, commands);
    timeline_post(commands->timeline, commands->client->loop, tell_withdrawn, registration);
    timeline_end(commands->timeline, SPAN_CANCEL, 0);
}

static void perform(treadle_source source, void *info) {
    struct command_source *commands = info;
    int64_t handled = 0;
    bool more;
    timeline_begin(commands->timeline, SPAN_COMMANDS);
    struct message *message = queue_take(&commands->buffer, COMMANDS_A_PASS, &more), *next;
    /* Before the commands are handled: the last of them makes the source invalid. */
    if (more) timeline_signal(commands->timeline, SIGNAL_COMMANDS, source);
    for (; message; message = next) {
        next = message->next;
        commands->handle((struct command *)message, commands->info);
        handled++;
    }
    timeline_end(commands->timeline, SPAN_COMMANDS, handled);
}

static void release(void *info) {
    struct command_source *commands = info;
    queue_destroy(&commands->buffer);
    free(commands);
}

treadle_source command_source_create(const struct command_client *client, void (*handle)(struct command *command, void *info),
                                     void *info, struct timeline *timeline) {
    struct command_source *commands = allocate(sizeof *commands);
    commands->client = client;
    commands->handle = handle;
    commands->info = info;
    commands->timeline = timeline;
    queue_init(&commands->buffer);

    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    context.info = commands;
    context.release = release;
    context.schedule = schedule;
    context.cancel = cancel;
    context.perform = perform;
    context.label = "commands";
    treadle_source source;
    require_ok(treadle_source_create(&context, &source), "make the command source");
    return source;
}

void registration_add_command(const struct registration *registration, struct command *command, struct timeline *timeline) {
    queue_put(registration->buffer, &command->link);
    timeline_signal(timeline, SIGNAL_COMMANDS, registration->source);
}

void registration_fire(const struct registration *registration, struct timeline *timeline) {
    timeline_wake(timeline, registration->loop);
}
