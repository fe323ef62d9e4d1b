/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * input.h: the lines of a descriptor, read whenever a loop finds it readable. */
#ifndef DEMO_INPUT_H
#define DEMO_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline.h"

/* Where lines come from, and where they go. */
struct input {
    /* Set before the start. */
    int fd;
    void (*line)(const unsigned char *line, size_t length, void *info); /* without the newline */
    void (*read)(void *info);                                          /* after the lines of one read */
    void (*end)(void *info);                                           /* no more lines */
    void *info;
    struct timeline *timeline;

    /* The input's own. */
    treadle_descriptor descriptor;
    uint64_t bytes, reads;
    unsigned char *partial; /* a line that has no end yet */
    size_t partial_length, partial_room;
    bool paused;
};

/* Opens a file for reading; "-" is standard input. A failure ends the program with its reason. */
int input_open(const char *path);
/* Watches the descriptor in the loop's default mode, until its end. */
void input_start(struct input *input, treadle_loop loop);
/* Stops watching for a while, or goes on. Nothing if that is so already, or after the end. */
void input_pause(struct input *input, bool paused);

#endif
