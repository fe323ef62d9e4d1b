/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * command_source.h: a custom input source: a command buffer that any thread fills and one loop drains.
 *
 * The three routines of such a source:
 *   schedule  the source joined a loop: its client is told how to reach it
 *   perform   the source was signalled: the buffer is drained, each command is handled
 *   cancel    the source left the loop: its client is told to forget it
 * A client gives work in three steps: add a command, signal the source, wake the loop. */
#ifndef DEMO_COMMAND_SOURCE_H
#define DEMO_COMMAND_SOURCE_H

#include "messages.h"
#include "timeline.h"

/* What a client needs to reach a source; the handles in it are retained. */
struct registration {
    const struct command_client *client;
    struct queue *buffer;
    treadle_source source;
    treadle_loop loop;
};

/* Who gives the commands: functions that are called on its own loop. */
struct command_client {
    treadle_loop loop;
    /* The registration is the client's from here on. */
    void (*registered)(struct registration *registration, void *info);
    void (*withdrawn)(struct registration *registration, void *info);
    void *info;
};

/* Makes the source. handle is called on the loop's thread, for each command, and frees it; timeline is
 * that thread's. client outlives the source. */
treadle_source command_source_create(const struct command_client *client, void (*handle)(struct command *command, void *info),
                                     void *info, struct timeline *timeline);

/* On the client's thread: adds a command to the buffer and signals the source. The loop may sleep on. */
void registration_add_command(const struct registration *registration, struct command *command, struct timeline *timeline);
/* On the client's thread: wakes the loop, for all the commands added before. */
void registration_fire(const struct registration *registration, struct timeline *timeline);
/* Lets go of the handles. */
void registration_free(struct registration *registration);

#endif
