/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_model.h: a plain model of what descriptor sources are owed. Numbers mean files; a source in a mode has, unless
 * it is paused, an entry for its number and the file that this meant when the entry was made. The entry ends with its file,
 * or when the source leaves, is paused or gets another one. Once the number means something else, while a copy keeps the
 * file, there are doubts: the entry may report or not, until it is renewed. Whether a file is ready, poll() says. */
#ifndef TREADLE_TEST_DESCRIPTOR_MODEL_H
#define TREADLE_TEST_DESCRIPTOR_MODEL_H

#include "helpers.h"

#include <poll.h>
#include <sys/socket.h>

enum { NUMBERS = 6, FIRST_NUMBER = 200, SOURCES = 6, MODES = 2, READ = TREADLE_READABLE, WRITE = TREADLE_WRITABLE };
static const char *const mode_names[MODES] = {TREADLE_DEFAULT_MODE, "another mode"};

struct file {
    enum { READER, WRITER, PAIR, COUNTER, KINDS } kind;
    int other, numbers; /* its other end, -1 for none; how many numbers mean it: it ends with the last */
};
struct entry {
    bool is_in;       /* in the mode */
    int file;         /* what is watched for certain; -1 for none: it is paused, or was lost */
    uint32_t doubts;  /* files that may be watched still: a mask */
    uint32_t seen;    /* what the kernel may have reported already */
    uint32_t told;    /* what was told since this was cleared, and how often */
    int times;
};
struct source {
    treadle_descriptor handle;
    bool is_valid;
    int index, number, left; /* left: how many actions its callbacks may take still */
    uint32_t events;
    _Atomic(treadle_descriptor) closed; /* none of its callbacks may begin any more; those of one that just ended may */
    struct entry in[MODES];
};
static struct file files[NUMBERS];
static int table[NUMBERS]; /* the file that a number means; -1 for none */
static struct source sources[SOURCES];
static struct source *owners[MODES][NUMBERS]; /* whose number it is in a mode */
static uint32_t stale[MODES][NUMBERS];        /* files for which the kernel may have an entry that is nobody's: masks */
static atomic_bool is_racing;                 /* numbers may change at any moment of the loop's look at them */
static treadle_loop loop;
static uint64_t random_state, seed_now;
static bool is_shown;

static uint32_t any(uint32_t below) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) >> 32) % below;
}
#define SHOW(...) do { if (is_shown) printf(__VA_ARGS__), putchar(' '); } while (0)
#define EXPECT(condition) \
    do { if (!(condition)) check_failed(__FILE__, __LINE__, "TREADLE_TEST_SEED=%" PRIu64 ": not true: %s", seed_now, #condition); } while (0)
#define EXPECT_INT(value, expected)                                                                                             \
    do {                                                                                                                        \
        int value_ = (int)(value), expected_ = (int)(expected);                                                                 \
        if (value_ != expected_)                                                                                                \
            check_failed(__FILE__, __LINE__, "TREADLE_TEST_SEED=%" PRIu64 ": %s is %d, not %d", seed_now, #value, value_, expected_); \
    } while (0)

/* --- Files and numbers ---------------------------------------------------------------------------------------- */

static int number_of(int file) {
    for (int n = 0; n < NUMBERS; n++)
        if (table[n] == file) return n;
    return -1;
}
/* What epoll says of a file to one who watches for `events`. */
static uint32_t ready_for(int file, uint32_t events) {
    if (file < 0 || !events) return 0;
    struct pollfd one = {.fd = FIRST_NUMBER + number_of(file), .events = POLLIN | POLLOUT | POLLRDHUP};
    if (poll(&one, 1, 0) <= 0) return 0;
    CHECK(!(one.revents & POLLNVAL));
    uint32_t ready = (one.revents & POLLIN ? READ : 0) | (one.revents & POLLOUT ? WRITE : 0);
    if (one.revents & POLLHUP || (one.revents & POLLRDHUP && events & READ)) ready |= TREADLE_HANGUP;
    if (one.revents & POLLERR) ready |= TREADLE_FAILED;
    if (one.revents & (POLLHUP | POLLERR)) ready |= READ | WRITE;
    return ready & (events | TREADLE_HANGUP | TREADLE_FAILED);
}
/* What must be told, what the kernel may report, and what may be told, if only of what it has reported before. */
static uint32_t owed(const struct source *source, int mode) { return ready_for(source->in[mode].file, source->events); }
static uint32_t may_report(const struct source *source, int mode) {
    uint32_t ready = owed(source, mode);
    for (int file = 0; file < NUMBERS; file++)
        if (source->in[mode].doubts >> file & 1) ready |= ready_for(file, source->events);
    return ready;
}
static uint32_t may_be_told(const struct source *source, int mode) {
    return may_report(source, mode) | source->in[mode].seen;
}

/* The number does not mean its file any more, which may be gone with it. */
static void number_changes(int n) {
    int file = table[n];
    if (file < 0) return;
    table[n] = -1;
    bool is_gone = --files[file].numbers == 0;
    if (is_gone && files[file].other >= 0) close(files[file].other);
    for (int mode = 0; mode < MODES; mode++) {
        for (struct source *s = sources; s < sources + SOURCES; s++) {
            struct entry *entry = &s->in[mode];
            if (entry->file == file && s->number == n) entry->file = -1, entry->doubts |= 1u << file;
            if (is_gone) entry->doubts &= ~(1u << file);
        }
        for (int m = 0; m < NUMBERS && is_gone; m++) stale[mode][m] &= ~(1u << file);
    }
}
/* A stale entry for both would become that of a source which has lost its own. */
static void mean(int n, int file) {
    table[n] = file;
    files[file].numbers++;
    for (int mode = 0; mode < MODES; mode++) {
        struct source *owner = owners[mode][n];
        if (owner && owner->events && owner->in[mode].file < 0) owner->in[mode].doubts |= stale[mode][n] & 1u << file;
    }
}
static void open_file(int n) {
    int two[2] = {-1, -1}, file = 0;
    if (table[n] >= 0) return;
    while (files[file].numbers) file++;
    files[file].kind = any(KINDS);
    switch (files[file].kind) {
    case READER: case WRITER: CHECK_INT(pipe2(two, O_NONBLOCK | O_CLOEXEC), 0); break;
    case PAIR: CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, two), 0); break;
    default: two[0] = eventfd(any(2), EFD_NONBLOCK | EFD_CLOEXEC); break;
    }
    bool second = files[file].kind == WRITER;
    CHECK_INT(dup3(two[second], FIRST_NUMBER + n, O_CLOEXEC), FIRST_NUMBER + n);
    close(two[second]);
    files[file].other = two[!second];
    mean(n, file);
    SHOW("open%d:%d", n, files[file].kind);
}
static void close_number(int n) {
    if (table[n] < 0) return;
    SHOW("close%d", n);
    CHECK_INT(close(FIRST_NUMBER + n), 0);
    number_changes(n);
}
static void copy_number(int from, int to) {
    if (table[from] < 0 || from == to) return;
    SHOW("dup%d>%d", from, to);
    int file = table[from];
    CHECK_INT(dup3(FIRST_NUMBER + from, FIRST_NUMBER + to, O_CLOEXEC), FIRST_NUMBER + to);
    if (table[to] == file) return; /* the same entry goes on */
    number_changes(to);
    mean(to, file);
}

static char bytes[65536];
static void feed(int n) {
    static const uint64_t one = 1;
    if (table[n] < 0) return;
    const struct file *file = &files[table[n]];
    SHOW("feed%d", n);
    if (file->kind == COUNTER) CHECK_INT(write(FIRST_NUMBER + n, &one, sizeof one), sizeof one);
    else if (file->kind != WRITER && file->other >= 0) CHECK(write(file->other, "x", 1) == 1 || errno == EAGAIN || errno == EPIPE);
}
static void drain(int n, bool at_the_other_end) {
    if (table[n] < 0) return;
    int fd = at_the_other_end ? files[table[n]].other : FIRST_NUMBER + n;
    SHOW("drain%d%s", n, at_the_other_end ? "'" : "");
    while (fd >= 0 && read(fd, bytes, sizeof bytes) > 0) {}
}
static void fill(int n) {
    if (table[n] < 0 || files[table[n]].other < 0 || files[table[n]].kind == READER) return;
    SHOW("fill%d", n);
    while (write(FIRST_NUMBER + n, bytes, sizeof bytes) > 0) {}
}
static void hang_up(int n, bool half) {
    if (table[n] < 0 || files[table[n]].other < 0) return;
    SHOW("hangup%d%s", n, half ? "'" : "");
    struct file *file = &files[table[n]];
    if (file->kind == PAIR && half) {
        shutdown(file->other, SHUT_WR);
        return;
    }
    close(file->other);
    file->other = -1;
}

/* --- Sources, with the status that each call owes -------------------------------------------------------------- */

static void check_state(const struct source *source) {
    uint32_t events = 0;
    EXPECT(treadle_descriptor_is_valid(source->handle) == source->is_valid);
    for (int mode = 0; mode < MODES; mode++)
        EXPECT(treadle_loop_contains_descriptor(loop, source->handle, mode_names[mode]) == source->in[mode].is_in);
    if (!source->is_valid) return;
    EXPECT_INT(treadle_descriptor_get_events(source->handle, &events), TREADLE_OK);
    EXPECT_INT(events, source->events);
}
/* Takes the number in a mode, for what it means now: what the call may answer. 1: TREADLE_OK or TREADLE_E_EXISTS, which
 * depends on whether the loop has noticed that another source has lost it. */
static int may_take(const struct source *source, int mode) {
    const struct source *owner = owners[mode][source->number];
    if (table[source->number] < 0) return TREADLE_E_SYSTEM;
    if (!owner || owner == source) return TREADLE_OK;
    const struct entry *entry = &owner->in[mode];
    if (owner->events == 0 || entry->file >= 0) return TREADLE_E_EXISTS;
    return entry->doubts >> table[source->number] & 1 || atomic_load(&is_racing) ? 1 : TREADLE_OK;
}
static void forget(struct source *source, int mode) {
    stale[mode][source->number] |= source->in[mode].doubts;
    source->in[mode].doubts = 0;
    source->in[mode].file = -1;
}
static void give_up(struct source *source, int mode) {
    forget(source, mode);
    if (owners[mode][source->number] == source) owners[mode][source->number] = NULL;
}
static void take(struct source *source, int mode, uint32_t events) {
    struct source *owner = owners[mode][source->number];
    if (owner) forget(owner, mode);
    owners[mode][source->number] = source;
    forget(source, mode);
    if (!events) return;
    source->in[mode].file = table[source->number];
    stale[mode][source->number] &= ~(1u << source->in[mode].file);
}
static void add(struct source *source, int mode) {
    if (!source->handle) return;
    int expected = !source->is_valid || source->in[mode].is_in ? TREADLE_IGNORED : may_take(source, mode);
    int status = treadle_loop_add_descriptor(loop, source->handle, mode_names[mode]);
    SHOW("add%d.%d=%d", source->index, mode, status);
    if (expected == 1) EXPECT(status == TREADLE_OK || status == TREADLE_E_EXISTS);
    else EXPECT_INT(status, expected);
    if (status == TREADLE_OK) {
        source->in[mode] = (struct entry){.is_in = true, .file = -1};
        take(source, mode, source->events);
    }
    check_state(source);
}
static void leave(struct source *source, int mode) {
    give_up(source, mode);
    source->in[mode] = (struct entry){.file = -1};
}
static void remove_from(struct source *source, int mode) {
    if (!source->handle) return;
    int status = treadle_loop_remove_descriptor(loop, source->handle, mode_names[mode]);
    SHOW("remove%d.%d=%d", source->index, mode, status);
    EXPECT_INT(status, source->in[mode].is_in ? TREADLE_OK : TREADLE_IGNORED);
    leave(source, mode);
    check_state(source);
}
/* All modes change, or none. */
static void set_events(struct source *source, uint32_t events) {
    if (!source->handle) return;
    bool changes = source->is_valid && events != source->events;
    int expected = source->is_valid ? TREADLE_OK : TREADLE_E_STATE, answers[MODES] = {0};
    for (int mode = 0; mode < MODES && changes && events; mode++) {
        if (!source->in[mode].is_in) continue;
        answers[mode] = may_take(source, mode);
        if (expected == TREADLE_OK) expected = answers[mode];
        if (answers[mode] == 1 && source->in[!mode].is_in) return; /* who knows what is changed and changed back */
    }
    int status = treadle_descriptor_set_events(source->handle, events);
    SHOW("events%d:%u=%d", source->index, events, status);
    if (expected == 1) EXPECT(status == TREADLE_OK || status == TREADLE_E_EXISTS);
    else EXPECT_INT(status, expected);
    if (status == TREADLE_OK) source->events = events;
    for (int mode = 0; mode < MODES && changes; mode++) {
        struct entry *entry = &source->in[mode];
        if (!entry->is_in || (status != TREADLE_OK && answers[mode] != TREADLE_OK)) continue;
        if (source->events) take(source, mode, source->events);
        else forget(source, mode);
        if (status != TREADLE_OK) owners[mode][source->number] = source; /* changed, and changed back */
        entry->seen = 0;
    }
    check_state(source);
}
static void end(struct source *source, bool by_discard) {
    if (!source->handle) return;
    SHOW("end%d", source->index);
    for (int mode = 0; mode < MODES; mode++) leave(source, mode);
    source->is_valid = false;
    if (!by_discard) {
        EXPECT_INT(treadle_descriptor_invalidate(source->handle), TREADLE_OK);
        check_state(source);
    }
    EXPECT_INT(by_discard ? discard(source->handle) : treadle_descriptor_release(source->handle), TREADLE_OK);
    source->handle = NULL;
}
static void make(struct source *source, int n, treadle_ready_fn told) {
    if (source->handle) return;
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready = told, .info = source,
        .fd = FIRST_NUMBER + n, .events = 1 + any(3)};
    int status = treadle_descriptor_create(&context, &source->handle);
    SHOW("make%d(%d):%u", source->index, n, context.events);
    EXPECT_INT(status, table[n] < 0 ? TREADLE_E_ARG : TREADLE_OK);
    if (status != TREADLE_OK) return;
    source->is_valid = true;
    source->number = n, source->events = context.events, source->left = 6;
    for (int mode = 0; mode < MODES; mode++) source->in[mode] = (struct entry){.file = -1};
}

#endif
