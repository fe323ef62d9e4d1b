/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_model.h: random programs of CFFileDescriptor, from a seed, beside a plain model. The toolchain's
 * CoreFoundation has no file descriptors on Linux; so the model says what a pass has to do: a call is for a valid object
 * in the running mode, of a kind that was armed and is not any more, Read before Write, for one object a pass; and what is
 * armed and ready is told before the loop has nothing to do.
 * TREADLE_TEST_SEED plays one program, and shows it; TREADLE_TEST_SCALE sets how many there are. */
#ifndef CF_TEST_DESCRIPTOR_MODEL_H
#define CF_TEST_DESCRIPTOR_MODEL_H

#include "helpers.h"

#include <poll.h>
#include <sys/socket.h>

enum { ENDS = 5, WATCHES = 8, MODES = 2, STEPS = 40, ACTIONS = 4, READ = kCFFileDescriptorReadCallBack, WRITE = kCFFileDescriptorWriteCallBack };

/* A descriptor and what is at its other end. */
struct end {
    enum { READER, WRITER, PAIR, EVENT, PLAIN, KINDS } kind;
    int fd, other, copy; /* copy: another number for the same file; -1 for none, as all of them */
    int is_open;
    int is_doubtful; /* its file lives on without its number: reports of it may still come */
};
struct watch {
    CFFileDescriptorRef ref;
    CFRunLoopSourceRef source;
    struct end *end;
    int number, closes, armed, left, in_mode[MODES];
    int seen[MODES];  /* kinds that the kernel may have reported already */
    int is_uncertain; /* its number was closed while it was armed: it may be told, or not, until it is armed anew */
};
static struct end ends[ENDS];
static struct watch watches[WATCHES], *told_in_pass;
static int has_pasts; /* numbers are closed, brought back and watched again */
static int running = -1, is_settling, calls, last_kind, is_shown;
static uint64_t state, seed_now;

static unsigned any(unsigned below) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (unsigned)((z ^ (z >> 31)) >> 33) % below;
}
#define SHOW(...) do { if (is_shown) printf(__VA_ARGS__), putchar(' '); } while (0)
#define EXPECT(condition) \
    do { if (!(condition)) check_failed(__FILE__, __LINE__, "TREADLE_TEST_SEED=%" PRIu64 ": not true: %s", seed_now, #condition); } while (0)

static CFStringRef mode_name(int mode) { return mode ? CFSTR("other") : kCFRunLoopDefaultMode; }
static int is_valid(const struct watch *watch) { return watch->ref && CFFileDescriptorIsValid(watch->ref); }

/* The armed kinds that its descriptor is ready for. */
static int due(const struct watch *watch) {
    if (!is_valid(watch) || !watch->end->is_open) return 0;
    struct pollfd one = {.fd = watch->end->fd, .events = POLLIN | POLLOUT};
    if (poll(&one, 1, 0) <= 0) return 0;
    int broken = one.revents & (POLLHUP | POLLERR);
    return watch->armed & ((broken || one.revents & POLLIN ? READ : 0) | (broken || one.revents & POLLOUT ? WRITE : 0));
}

static void act(struct watch *caller);
static void ready(CFFileDescriptorRef ref, CFOptionFlags kinds, void *info) {
    struct watch *watch = info;
    SHOW("told%d:%lu", watch->number, kinds);
    EXPECT(kinds == READ || kinds == WRITE);
    EXPECT(watch->ref == ref && is_valid(watch) && watch->armed & kinds);
    EXPECT(running >= 0 && watch->in_mode[running]);
    EXPECT(!told_in_pass || (told_in_pass == watch && last_kind == READ && kinds == WRITE));
    EXPECT((due(watch) | watch->seen[running]) & kinds || watch->is_uncertain || watch->end->is_doubtful);
    told_in_pass = watch;
    last_kind = (int)kinds;
    calls++;
    watch->armed &= ~(int)kinds;
    watch->seen[running] &= ~(int)kinds;
    if (is_settling) return;
    int times = (int)any(3);
    while (times-- > 0 && watch->left-- > 0) act(watch);
}

/* --- Descriptors and objects ------------------------------------------------------------------------------- */

static void open_end(struct end *end) {
    int two[2] = {-1, -1};
    *end = (struct end){.kind = any(KINDS), .copy = -1, .is_open = 1};
    switch (end->kind) {
    case READER: case WRITER: CHECK(pipe2(two, O_NONBLOCK | O_CLOEXEC) == 0); break;
    case PAIR: CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, two) == 0); break;
    case EVENT: two[0] = eventfd(any(2), EFD_NONBLOCK | EFD_CLOEXEC); break;
    default: two[0] = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600); break;
    }
    CHECK(two[0] >= 0);
    /* Numbers that nobody else gets while they are closed, within what any system allows. */
    end->fd = fcntl(two[end->kind == WRITER], F_DUPFD_CLOEXEC, 200);
    CHECK(end->fd >= 200);
    close(two[end->kind == WRITER]);
    end->other = two[end->kind != WRITER];
}
static void close_all_of(struct end *end) {
    int all[] = {end->is_open ? end->fd : -1, end->other, end->copy};
    for (int i = 0; i < 3; i++)
        if (all[i] >= 0) close(all[i]);
    end->is_open = 0;
    end->other = end->copy = -1;
}
static int watches_of(const struct end *end) {
    int count = 0;
    for (int i = 0; i < WATCHES; i++) count += is_valid(&watches[i]) && watches[i].end == end;
    return count;
}
/* Which other object watches the same number in a mode (SRC1-7). */
static const struct watch *owner(const struct watch *watch, int mode) {
    for (int i = 0; i < WATCHES; i++)
        if (&watches[i] != watch && is_valid(&watches[i]) && watches[i].end == watch->end && watches[i].in_mode[mode]) return &watches[i];
    return NULL;
}
static void begin(struct watch *watch) {
    struct end *end = &ends[any(ENDS)];
    int count = watches_of(end);
    if (!end->is_open || (!has_pasts && count)) return;
    if (watch->source) CFRelease(watch->source);
    if (watch->ref) CFRelease(watch->ref);
    CFFileDescriptorContext context = {.info = watch};
    int number = watch->number;
    *watch = (struct watch){.number = number, .end = end, .closes = !has_pasts && any(2), .left = ACTIONS};
    watch->ref = CFFileDescriptorCreate(NULL, end->fd, (unsigned char)watch->closes, ready, &context);
    CHECK(watch->ref != NULL);
    watch->source = CFFileDescriptorCreateRunLoopSource(NULL, watch->ref, 0);
    CHECK(watch->source != NULL);
    SHOW("begin%d(%d:%d)", number, (int)(end - ends), end->kind);
}
static void finish(struct watch *watch) {
    if (!is_valid(watch)) return;
    SHOW("end%d", watch->number);
    if (watch->armed && !watch->closes && !has_pasts) return; /* what it leaves behind is a past */
    CFFileDescriptorInvalidate(watch->ref);
    EXPECT(!CFFileDescriptorIsValid(watch->ref) && !CFRunLoopSourceIsValid(watch->source));
    memset(watch->in_mode, 0, sizeof watch->in_mode);
    if (watch->closes) {
        watch->closes = 0;
        watch->end->is_open = 0;
        close_all_of(watch->end);
        open_end(watch->end);
    }
}
static void change_mode(struct watch *watch, int mode) {
    if (!is_valid(watch)) return;
    if (watch->in_mode[mode]) {
        SHOW("remove%d:%d", watch->number, mode);
        CFRunLoopRemoveSource(CFRunLoopGetCurrent(), watch->source, mode_name(mode));
        watch->in_mode[mode] = 0;
    } else if (watch->end->is_open) {
        const struct watch *other = owner(watch, mode);
        if (other && other->is_uncertain) return; /* its number may have been given up */
        SHOW("add%d:%d", watch->number, mode);
        CFRunLoopAddSource(CFRunLoopGetCurrent(), watch->source, mode_name(mode));
        watch->in_mode[mode] = !other;
    }
    watch->seen[mode] = 0;
    EXPECT(CFRunLoopContainsSource(CFRunLoopGetCurrent(), watch->source, mode_name(mode)) == watch->in_mode[mode]);
}
static void enable(struct watch *watch, int kinds) {
    if (!is_valid(watch) || !watch->end->is_open) return;
    SHOW("enable%d:%d", watch->number, kinds);
    if (watch->is_uncertain) { /* anew */
        CFFileDescriptorDisableCallBacks(watch->ref, 3);
        watch->armed = watch->is_uncertain = 0;
    }
    CFFileDescriptorEnableCallBacks(watch->ref, (CFOptionFlags)kinds);
    watch->armed |= kinds;
}
static void disable(struct watch *watch, int kinds) {
    if (!is_valid(watch)) return;
    SHOW("disable%d:%d", watch->number, kinds);
    CFFileDescriptorDisableCallBacks(watch->ref, (CFOptionFlags)kinds);
    watch->armed &= ~kinds;
    if (!watch->armed) watch->is_uncertain = 0;
}

/* --- Numbers with a past ------------------------------------------------------------------------------------ */

static void lose(struct end *end) {
    if (!end->is_open) return;
    int is_armed = 0;
    for (int i = 0; i < WATCHES; i++)
        if (is_valid(&watches[i]) && watches[i].end == end && watches[i].armed) is_armed = watches[i].is_uncertain = 1;
    if (end->copy < 0 && any(2)) end->copy = fcntl(end->fd, F_DUPFD_CLOEXEC, 100);
    SHOW("close%d%s", (int)(end - ends), end->copy < 0 ? "" : "+");
    close(end->fd);
    end->is_open = 0;
    if (is_armed && end->copy >= 0) end->is_doubtful = 1;
}
/* The number means the same file again, or another. */
static void bring_back(struct end *end) {
    if (end->is_open) return;
    SHOW("back%d", (int)(end - ends));
    int from = end->copy;
    if (from < 0) {
        from = eventfd(any(2), EFD_NONBLOCK | EFD_CLOEXEC);
        if (end->other >= 0) close(end->other);
        end->kind = EVENT;
        end->other = -1;
    }
    CHECK(dup3(from, end->fd, O_CLOEXEC) == end->fd);
    end->is_open = 1;
    if (end->copy < 0) close(from);
}

/* --- Actions ------------------------------------------------------------------------------------------------ */

static void feed(struct end *end) {
    static const uint64_t one = 1;
    if (!end->is_open) return;
    SHOW("feed%d", (int)(end - ends));
    if (end->kind == EVENT) CHECK(write(end->fd, &one, sizeof one) == sizeof one);
    else if (end->other >= 0 && end->kind != WRITER) CHECK(write(end->other, "x", 1) == 1 || errno == EAGAIN || errno == EPIPE);
}
static void drain(struct end *end, int fd) {
    char bytes[65536];
    if (!end->is_open || fd < 0 || end->kind == PLAIN) return;
    SHOW("drain%d", (int)(end - ends));
    while (read(fd, bytes, sizeof bytes) > 0) {}
}
static void fill(struct end *end) {
    static const char bytes[4096];
    if (!end->is_open || (end->kind != WRITER && end->kind != PAIR) || end->other < 0) return;
    SHOW("fill%d", (int)(end - ends));
    while (write(end->fd, bytes, sizeof bytes) > 0) {}
}
static void hang_up(struct end *end) {
    if (end->other < 0) return;
    SHOW("hangup%d", (int)(end - ends));
    if (end->kind == PAIR && any(2)) {
        shutdown(end->other, SHUT_WR);
        return;
    }
    close(end->other);
    end->other = -1;
}
static void act(struct watch *caller) {
    struct watch *watch = caller && any(2) ? caller : &watches[any(WATCHES)];
    struct end *end = &ends[any(ENDS)];
    switch (any(has_pasts ? 15 : 13)) {
    case 0: case 1: case 2: enable(watch, 1 + (int)any(3)); break;
    case 3: disable(watch, 1 + (int)any(3)); break;
    case 4: case 5: change_mode(watch, (int)any(MODES)); break;
    case 6: if (any(2)) finish(watch); break;
    case 7: if (!is_valid(watch) && watch != caller) begin(watch); break;
    case 8: case 9: feed(end); break;
    case 10: drain(end, any(2) ? end->fd : end->other); break;
    case 11: fill(end); break;
    case 12: if (any(3) == 0) hang_up(end); break;
    case 13: lose(end); break;
    case 14: bring_back(end); break;
    }
}

/* --- Passes -------------------------------------------------------------------------------------------------- */

static CFRunLoopRunResult pass(int mode) {
    for (int i = 0; i < WATCHES; i++)
        if (watches[i].in_mode[mode]) watches[i].seen[mode] |= watches[i].is_uncertain ? 3 : due(&watches[i]);
    running = mode;
    told_in_pass = NULL;
    int before = calls;
    CFRunLoopRunResult result = CFRunLoopRunInMode(mode_name(mode), 0, true);
    SHOW("(%d=%d)", mode, (int)result);
    running = -1;
    EXPECT(result == kCFRunLoopRunHandledSource || (result == kCFRunLoopRunTimedOut && calls == before));
    return result;
}
/* Until there is nothing to do: then all that was due has been told, and nothing turns for ever. */
static void settle(int mode) {
    is_settling = 1;
    int idle = 0;
    for (int passes = 0; idle < 2; passes++) {
        EXPECT(passes < 200 * WATCHES); /* a number that was given up may report some more */
        idle = pass(mode) == kCFRunLoopRunTimedOut ? idle + 1 : 0;
    }
    is_settling = 0;
    for (int i = 0; i < WATCHES; i++) {
        watches[i].seen[mode] = 0;
        EXPECT(!watches[i].in_mode[mode] || watches[i].is_uncertain || !due(&watches[i]));
    }
}
static void stop(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    CFRunLoopStop(CFRunLoopGetCurrent());
}
/* Nothing is due, so the loop is awake for a moment only. */
static void sleep_for_a_while(int mode, int again) {
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 0.02, 0, 0, 0, stop, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, mode_name(mode));
    is_settling = 1;
    running = mode;
    told_in_pass = NULL;
    int64_t before = own_time();
    EXPECT(CFRunLoopRunInMode(mode_name(mode), 1e9, false) == kCFRunLoopRunStopped);
    int64_t awake = own_time() - before;
    is_settling = 0;
    running = -1;
    CFRelease(timer);
    EXPECT(awake < MILLISECONDS(10) || !again);
    if (awake >= MILLISECONDS(10)) sleep_for_a_while(mode, 1); /* the program had to be brought into memory, perhaps */
}
static void *play(void *info) {
    (void)info;
    for (int mode = 0; mode < MODES; mode++) keep_busy(CFRunLoopGetCurrent(), mode_name(mode));
    for (int i = 0; i < ENDS; i++) open_end(&ends[i]);
    for (int i = 0; i < WATCHES; i++) watches[i] = (struct watch){.number = i};
    for (int i = 0; i < WATCHES; i++) begin(&watches[i]);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < 4; i++) act(NULL);
        if (any(4)) pass((int)any(MODES));
        else settle((int)any(MODES));
    }
    for (int mode = 0; mode < MODES; mode++) {
        settle(mode);
        if (any(20) == 0) sleep_for_a_while(mode, 0);
    }
    for (int i = 0; i < WATCHES; i++) {
        if (watches[i].ref) CFFileDescriptorInvalidate(watches[i].ref), CFRelease(watches[i].ref), CFRelease(watches[i].source);
        if (watches[i].closes) watches[i].end->is_open = 0;
        watches[i] = (struct watch){.number = i};
    }
    for (int i = 0; i < ENDS; i++) close_all_of(&ends[i]);
    return NULL;
}
static void play_seeds(int count) {
    const char *only = getenv("TREADLE_TEST_SEED");
    uint64_t first = only ? strtoull(only, NULL, 10) : (uint64_t)treadle_time_now();
    is_shown = only != NULL;
    if (is_shown) setvbuf(stdout, NULL, _IONBF, 0);
    signal(SIGPIPE, SIG_IGN);
    if (only) count = 1;
    else if (test_scale != 1) count = (int)(count * test_scale) + 1;
    for (seed_now = first; seed_now < first + (uint64_t)count; seed_now++) {
        pthread_t thread;
        state = seed_now * UINT64_C(0x100000001B3) + 1;
        CHECK(pthread_create(&thread, NULL, play, NULL) == 0);
        pthread_join(thread, NULL);
    }
    if (is_shown) putchar('\n');
    CHECK(only || calls > count);
}

#endif
