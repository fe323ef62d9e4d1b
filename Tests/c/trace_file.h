/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * trace_file.h: a trace that was written, by a reader of Protocol Buffers: its threads and events. Starting and stopping one. */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include "helpers.h"

#include <sys/stat.h>

#define MODE TREADLE_DEFAULT_MODE

/* Reading protocol buffers: the fields of a message, one after the other. */
struct message {
    const unsigned char *at, *end;
};
struct field {
    unsigned number, wire;
    uint64_t value;         /* of a number */
    struct message message; /* of bytes */
};
HELPER uint64_t varint(struct message *m) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        CHECK(m->at < m->end && shift < 64);
        value |= (uint64_t)(*m->at & 127) << shift;
        if (!(*m->at++ & 128)) return value;
    }
}
HELPER bool next_field(struct message *m, struct field *field) {
    if (m->at == m->end) return false;
    uint64_t tag = varint(m);
    field->number = (unsigned)(tag >> 3), field->wire = tag & 7;
    field->value = 0;
    if (field->wire == 0) {
        field->value = varint(m);
    } else if (field->wire == 1) {
        CHECK(m->end - m->at >= 8);
        memcpy(&field->value, m->at, 8);
        m->at += 8;
    } else {
        CHECK_INT(field->wire, 2);
        uint64_t length = varint(m);
        CHECK(length <= (uint64_t)(m->end - m->at));
        field->message = (struct message){m->at, m->at + length};
        m->at += length;
    }
    return true;
}

/* The events of a trace, and its threads. */
enum { BEGIN = 1, END = 2, INSTANT = 3 };
struct event {
    uint64_t time, type, track, flow, last_flow;
    char name[64], category[32];
    int64_t number;
};
static struct event events[20000];
HELPER int event_count;
static struct {
    uint64_t track;
    int tid;
    char name[32];
} threads[256];
HELPER int thread_count;
static pid_t traced; /* whose trace it is */

HELPER void copy(char *to, size_t room, struct message m) { snprintf(to, room, "%.*s", (int)(m.end - m.at), (const char *)m.at); }
HELPER void read_event(struct message m, uint64_t time) {
    CHECK(event_count < 20000);
    struct event *event = &events[event_count++];
    memset(event, 0, sizeof *event);
    event->time = time;
    for (struct field f; next_field(&m, &f);) {
        if (f.number == 9) event->type = f.value;
        if (f.number == 11) event->track = f.value;
        if (f.number == 22) copy(event->category, sizeof event->category, f.message);
        if (f.number == 23) copy(event->name, sizeof event->name, f.message);
        if (f.number == 47) event->flow = f.value;
        if (f.number == 48) event->last_flow = f.value;
        if (f.number != 4) continue;
        for (struct field a; next_field(&f.message, &a);)
            if (a.number == 4) event->number = (int64_t)a.value;
    }
}
HELPER void read_track(struct message m) {
    uint64_t uuid = 0;
    for (struct field f; next_field(&m, &f);) {
        if (f.number == 1) uuid = f.value;
        if (f.number != 4) continue;
        CHECK(thread_count < 256);
        threads[thread_count].track = uuid;
        for (struct field t; next_field(&f.message, &t);) {
            if (t.number == 1) CHECK_INT(t.value, traced);
            if (t.number == 2) threads[thread_count].tid = (int)t.value;
            if (t.number == 5) copy(threads[thread_count].name, sizeof threads[0].name, t.message);
        }
        thread_count++;
    }
}
HELPER void read_trace(const char *path) {
    struct stat about;
    CHECK_INT(stat(path, &about), 0);
    unsigned char *bytes = malloc((size_t)about.st_size + 1);
    FILE *file = fopen(path, "rb");
    CHECK(bytes && file);
    CHECK_INT(fread(bytes, 1, (size_t)about.st_size, file), about.st_size);
    fclose(file);
    event_count = thread_count = 0;
    struct message trace = {bytes, bytes + about.st_size};
    for (struct field packet; next_field(&trace, &packet);) {
        uint64_t time = 0;
        CHECK(packet.number == 1 && packet.wire == 2);
        struct message all = packet.message;
        for (struct field f; next_field(&all, &f);)
            if (f.number == 8) time = f.value;
        for (struct field f; next_field(&packet.message, &f);) {
            if (f.number == 11) read_event(f.message, time);
            if (f.number == 60) read_track(f.message);
        }
    }
    free(bytes);
    /* On each track every slice ends, in the order of time. */
    for (int t = 0; t < thread_count; t++) {
        int depth = 0;
        uint64_t last = 0;
        for (int i = 0; i < event_count; i++) {
            if (events[i].track != threads[t].track) continue;
            CHECK(events[i].time >= last);
            last = events[i].time;
            depth += events[i].type == BEGIN ? 1 : events[i].type == END ? -1 : 0;
            CHECK(depth >= 0);
        }
        CHECK_INT(depth, 0);
    }
}
HELPER uint64_t track_of(int tid) {
    for (int t = 0; t < thread_count; t++)
        if (threads[t].tid == tid) return threads[t].track;
    return 0;
}
HELPER const struct event *find(uint64_t type, const char *category, const char *name) {
    for (int i = 0; i < event_count; i++)
        if (events[i].type == type && !strcmp(events[i].category, category) && !strcmp(events[i].name, name)) return &events[i];
    fprintf(stderr, "no event of type %d, category %s, name %s among %d\n", (int)type, category, name, event_count);
    CHECK(false);
    return NULL;
}
HELPER int count(uint64_t type, const char *name) {
    int found = 0;
    for (int i = 0; i < event_count; i++) found += events[i].type == type && !strcmp(events[i].name, name);
    return found;
}

HELPER const char *trace_file(void) {
    static char path[64];
    if (!*path) snprintf(path, sizeof path, "/tmp/treadle-trace-%d", getpid());
    return path;
}
HELPER void start(void) {
    traced = getpid();
    CHECK_INT(treadle_trace_start(trace_file()), TREADLE_OK);
}
HELPER void stop(void) {
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
    read_trace(trace_file());
    CHECK_INT(unlink(trace_file()), 0);
}

/* Where a slice ends. */
HELPER const struct event *end_of(const struct event *begin) {
    int depth = 0;
    for (const struct event *event = begin; event < events + event_count; event++) {
        if (event->track != begin->track) continue;
        depth += event->type == BEGIN ? 1 : event->type == END ? -1 : 0;
        if (depth == 0) return event;
    }
    CHECK(false);
    return NULL;
}

#endif
