/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * input.c: a descriptor source that splits what it reads into lines. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum {
    /* The first reads are small, so that even a short text takes many passes; a long one is soon read
     * in large pieces. */
    SMALL_READ = 256,
    SMALL_READS = 64,
    LARGE_READ = 65536
};

int input_open(const char *path) {
    if (strcmp(path, "-") == 0) return STDIN_FILENO;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail_system("open", path, errno);
    return fd;
}

static void keep_partial(struct input *input, const unsigned char *bytes, size_t length) {
    if (length > input->partial_room - input->partial_length) {
        input->partial_room = 2 * (input->partial_length + length);
        input->partial = realloc(input->partial, input->partial_room);
        if (!input->partial) fail_system("keep a long line", NULL, ENOMEM);
    }
    if (length) memcpy(input->partial + input->partial_length, bytes, length);
    input->partial_length += length;
}

/* Gives the bytes to the client as a line, together with what came before them. */
static void give_line(struct input *input, const unsigned char *bytes, size_t length) {
    if (input->partial_length == 0) {
        input->line(bytes, length, input->info);
        return;
    }
    keep_partial(input, bytes, length);
    input->line(input->partial, input->partial_length, input->info);
    input->partial_length = 0;
}

static int64_t split(struct input *input, const unsigned char *bytes, size_t length) {
    int64_t lines = 0;
    for (const unsigned char *newline; (newline = memchr(bytes, '\n', length)) != NULL; lines++) {
        size_t line = (size_t)(newline - bytes);
        give_line(input, bytes, line);
        bytes += line + 1;
        length -= line + 1;
    }
    keep_partial(input, bytes, length);
    return lines;
}

static void finish(struct input *input) {
    if (input->partial_length) give_line(input, NULL, 0);
    free(input->partial);
    require_ok(treadle_descriptor_invalidate(input->descriptor), "invalidate the input's source");
    require_ok(treadle_descriptor_release(input->descriptor), "release the input's source");
    input->descriptor = NULL;
    if (input->fd != STDIN_FILENO) close(input->fd);
    input->end(input->info);
}

static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    /* Whatever was seen (readable, the other end closed, an error): read() tells which. */
    (void)descriptor, (void)events;
    static unsigned char buffer[LARGE_READ];
    struct input *input = info;
    int64_t lines = 0;
    timeline_begin(input->timeline, SPAN_READ);
    /* One read a call: level-triggered, so more input means another call. This program alone reads the
     * descriptor, so a readable one does not block; standard input is left in the mode it came in,
     * since others may share it. */
    ssize_t length = read(input->fd, buffer, input->reads < SMALL_READS ? SMALL_READ : LARGE_READ);
    if (length > 0) {
        input->reads++;
        input->bytes += (uint64_t)length;
        lines = split(input, buffer, (size_t)length);
        input->read(input->info);
    } else if (length == 0) {
        finish(input);
    } else if (errno != EINTR && errno != EAGAIN) {
        fail_system("read the input", NULL, errno);
    }
    timeline_end(input->timeline, SPAN_READ, lines);
}

void input_start(struct input *input, treadle_loop loop) {
    treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
    context.info = input;
    context.ready = ready;
    context.label = "read";
    context.fd = input->fd;
    context.events = TREADLE_READABLE;
    require_ok(treadle_descriptor_create(&context, &input->descriptor), "watch the input");
    require_ok(treadle_loop_add_descriptor(loop, input->descriptor, TREADLE_DEFAULT_MODE), "watch the input");
}

void input_pause(struct input *input, bool paused) {
    if (!input->descriptor || input->paused == paused) return;
    input->paused = paused;
    input->timeline->pauses += paused;
    require_ok(treadle_descriptor_set_events(input->descriptor, paused ? 0 : TREADLE_READABLE), "pause the input");
}
