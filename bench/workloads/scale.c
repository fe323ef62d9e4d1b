/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scale.c: what one event costs while 100, 1,000, 10,000 or 100,000 sources, timers or descriptors are registered (or
 * as many descriptors as the process may have).
 * One of them is active at a time, and its callback picks the next one by chance: signals it, moves it to the
 * present, or writes to it. Each number is measured in a process of its own. */
#include "../harness/support.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t sizes[] = {100, 1000, 10000, 100000};
enum { SIZES = sizeof sizes / sizeof *sizes, EVENTS = 10000 };
/* A library that slows down with the number does fewer events, and none if it cannot be made ready by then. */
static const uint64_t most_time = 60000000u, most_preparation = 1000000000u, far = 1000000000000u;

enum kind { SOURCES, TIMERS, DESCRIPTORS };
static const char *const kind_names[] = {"source", "timer", "descriptor"};

struct field {
    enum kind kind;
    void *loop;
    size_t size, asked, seen, wanted;
    uint64_t end;
    struct member *members;
};
struct member {
    struct field *field;
    void *item;
    int fd;
};

static void activate(struct member *member) {
    struct field *field = member->field;
    field->asked++;
    switch (field->kind) {
    case SOURCES: library.source_signal(field->loop, member->item); break;
    case TIMERS: library.timer_move(field->loop, member->item, 0); break;
    case DESCRIPTORS: demand(eventfd_write(member->fd, 1) == 0, "an eventfd can be written"); break;
    }
}

CALLBACK(on_event);
static void on_event(void *info) {
    struct member *member = info;
    struct field *field = member->field;
    eventfd_t value;
    if (field->kind == DESCRIPTORS && !library.reads_descriptors && eventfd_read(member->fd, &value) != 0) return;
    if (field->kind == TIMERS) library.timer_move(field->loop, member->item, far);
    demand(++field->seen == field->asked, "each event is seen once, and before the next one");
    bool is_over = field->seen == field->wanted || (field->seen % 16 == 0 && clock_ns() > field->end);
    if (is_over) library.loop_stop(field->loop);
    else activate(&field->members[chance() % field->size]);
}

/* False if it takes too long. */
static bool prepare(struct field *field) {
    uint64_t end = clock_ns() + most_preparation;
    for (size_t i = 0; i < field->size; i++) {
        struct member *member = &field->members[i];
        *member = (struct member){.field = field, .fd = -1};
        switch (field->kind) {
        case SOURCES: member->item = library.source_make(field->loop, &on_event_callback, member); break;
        case TIMERS: member->item = library.timer_make(field->loop, far, TIMER_MOVED, &on_event_callback, member); break;
        case DESCRIPTORS:
            member->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
            if (member->fd < 0) return false;
            member->item = library.descriptor_make(field->loop, member->fd, &on_event_callback, member);
            break;
        }
        if (!member->item) return false;
        if (i % 64 == 0 && clock_ns() > end) return false;
    }
    return true;
}

static void measure(enum kind kind, size_t size, const char *figure) {
    if (kind == TIMERS && library.most_timers && size > library.most_timers) {
        tell_none(figure, "more timers than the library can cope with");
        return;
    }
    struct field field = {.kind = kind, .loop = new_loop(), .size = size};
    field.members = allocate(size, sizeof *field.members);
    if (!prepare(&field)) {
        tell_none(figure, "so many cannot be registered in a reasonable time, or at all");
        return;
    }
    /* Once around for the caches, then what counts. */
    for (int turn = 0; turn < 2; turn++) {
        field.asked = field.seen = 0;
        field.wanted = amount(turn ? EVENTS : EVENTS / 10);
        uint64_t begun = clock_ns();
        field.end = begun + most_time;
        activate(&field.members[chance() % size]);
        library.loop_run(field.loop);
        uint64_t took = clock_ns() - begun;
        demand(field.seen == field.asked && field.seen > 0, "each event is seen");
        if (turn) tell(figure, (double)took / (double)field.seen, "ns");
    }
}

static size_t size_for(enum kind kind, size_t size) {
    struct rlimit limit;
    enum { OTHERS = 200 };
    if (kind != DESCRIPTORS || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= size + OTHERS) return size;
    return limit.rlim_cur / 1000 * 1000 - OTHERS;
}

static void measure_all(enum kind kind) {
    for (size_t i = 0; i < (is_quick ? 2 : SIZES); i++) {
        char figure[64];
        size_t size = size_for(kind, sizes[i]);
        snprintf(figure, sizeof figure, "scale_%s_%zu", kind_names[kind], size);
        pid_t child = fork();
        demand(child >= 0, "a process can be made");
        if (child == 0) {
            measure(kind, size, figure);
            _exit(0); /* without freeing all of it, which is no part of the figure */
        }
        int status;
        demand(waitpid(child, &status, 0) == child && status == 0, "the measuring process succeeds");
    }
}
static void scale_source(void) { measure_all(SOURCES); }
static void scale_timer(void) { measure_all(TIMERS); }
static void scale_descriptor(void) { measure_all(DESCRIPTORS); }

const struct workload scale_workloads[] = {
    {"scale_source", scale_source, NEEDS_LOOP | NEEDS_SOURCE},
    {"scale_timer", scale_timer, NEEDS_LOOP | NEEDS_TIMER | NEEDS_MOVE},
    {"scale_descriptor", scale_descriptor, NEEDS_LOOP | NEEDS_DESCRIPTOR},
    {NULL, NULL, 0},
};
