/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_past_test.c: sources for numbers with a past: watched before by a source that ended, closed while a copy
 * stays open, brought back by dup2 for the same file or another, paused meanwhile. Whatever happened, what is enabled is
 * told when it is ready, what is not keeps no loop awake, and nobody is told of another's file. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE, *const N = "another mode";

struct watched {
    treadle_descriptor source;
    int reads, writes, performs;
    uint32_t events;
};
static void on_ready(treadle_descriptor source, uint32_t events, void *info) {
    struct watched *watched = info;
    CHECK(source == watched->source);
    watched->performs++;
    watched->events = events;
}
static void open_pipe(struct watched *watched) {
    int ends[2];
    CHECK_INT(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    *watched = (struct watched){.reads = ends[0], .writes = ends[1]};
}
static void add(struct watched *watched, const char *mode) {
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), watched->source, mode), TREADLE_OK);
}
static void make(struct watched *watched) { watched->source = make_descriptor(on_ready, watched, watched->reads, TREADLE_READABLE); }
static void set_events(struct watched *watched, uint32_t events) {
    CHECK_INT(treadle_descriptor_set_events(watched->source, events), TREADLE_OK);
}
static void watch(struct watched *watched) {
    make(watched);
    add(watched, M);
}
static void fill(struct watched *watched) { CHECK_INT(write(watched->writes, "x", 1), 1); }
static void end(struct watched *watched) { CHECK_INT(treadle_descriptor_discard(watched->source), TREADLE_OK); }
/* The read end's number means another pipe now, which is in `other`. */
static void reuse_number(struct watched *watched, struct watched *other) {
    open_pipe(other);
    if (other->reads == watched->reads) return; /* it was free */
    CHECK_INT(dup3(other->reads, watched->reads, O_CLOEXEC), watched->reads);
    close(other->reads);
    other->reads = watched->reads;
}
/* How often a source is performed in so many passes. */
static int performs_of(struct watched *watched, int passes) {
    int before = watched->performs;
    while (passes-- > 0) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    return watched->performs - before;
}

/* Runs a mode for a while: the loop begins to wait, sleeps, and the time ends it. One that spins passes thousands of times,
 * or goes to sleep thousands of times; one that was told something stale does so once more. */
static int activities[2];
static void count(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer;
    ((int *)info)[activity == TREADLE_BEFORE_WAITING || activity == TREADLE_AFTER_WAITING]++;
}
static void check_sleeps(const char *mode) {
    treadle_loop loop = treadle_loop_current();
    treadle_observer observer =
        make_observer(count, activities, TREADLE_BEFORE_TIMERS | TREADLE_BEFORE_WAITING | TREADLE_AFTER_WAITING);
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_observer(loop, observer, mode), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, keeper, mode), TREADLE_OK);
    activities[0] = activities[1] = 0;
    CHECK_INT(treadle_loop_run(loop, mode, MILLISECONDS(30), 0), TREADLE_RUN_TIMED_OUT);
    CHECK(activities[0] <= 3 && activities[1] <= 6);
    CHECK_INT(treadle_observer_invalidate(observer) + treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer) + treadle_source_release(keeper), TREADLE_OK);
}

/* --- Watched again ---------------------------------------------------------------------------------------- */

static treadle_status by_invalidation(struct watched *watched) { return treadle_descriptor_invalidate(watched->source); }
static treadle_status by_discard(struct watched *watched) { return treadle_descriptor_discard(watched->source); }
static treadle_status by_closing(struct watched *watched) { return treadle_descriptor_close(watched->source, 0); }
static treadle_status by_removal(struct watched *watched) {
    return treadle_loop_remove_descriptor(treadle_loop_current(), watched->source, M);
}
static treadle_status by_pausing_first(struct watched *watched) {
    set_events(watched, 0);
    return by_removal(watched);
}
static void *invalidate_there(void *watched) {
    CHECK_INT(by_invalidation(watched), TREADLE_OK);
    return NULL;
}
static treadle_status by_another_thread(struct watched *watched) {
    on_thread(invalidate_there, watched);
    return TREADLE_OK;
}
static treadle_status (*const ends[])(struct watched *) = {by_invalidation,  by_discard,       by_closing,
                                                           by_removal,       by_pausing_first, by_another_thread};
enum { ENDS = sizeof ends / sizeof *ends };

/* A source that is watched ends, another for the same descriptor comes paused, and is enabled then. */
static void watch_again(treadle_status (*by)(struct watched *), int variant) {
    bool is_ready_before = variant & 1, passes_between = variant & 2, sleeps_between = variant & 4;
    struct watched first, second;
    open_pipe(&first);
    second = first;
    watch(&first);
    if (is_ready_before) fill(&first);
    if (passes_between) CHECK_INT(performs_of(&first, 2), is_ready_before ? 2 : 0);
    CHECK_INT(by(&first), TREADLE_OK);
    first.performs = 0;
    make(&second);
    set_events(&second, 0);
    add(&second, M);
    if (sleeps_between) check_sleeps(M);
    CHECK_INT(performs_of(&second, 2), 0);
    set_events(&second, TREADLE_READABLE);
    if (!is_ready_before) fill(&second);
    CHECK_INT(performs_of(&second, 3), 3);
    CHECK_INT(second.events, TREADLE_READABLE);
    set_events(&second, 0);
    check_sleeps(M);
    CHECK_INT(first.performs, 0);
    end(&second);
    close(first.reads), close(first.writes);
}
TEST(a_number_is_watched_again_after_a_source_ended, "SRC1-11 SRC1-9 PASS-10") {
    for (int i = 0; i < ENDS; i++)
        for (int variant = 0; variant < 8; variant++) watch_again(ends[i], variant);
}

TEST(another_mode_watches_on_after_a_source_ended, "SRC1-11 SRC1-7") {
    struct watched first, other;
    open_pipe(&first);
    other = first;
    watch(&first);
    make(&other);
    add(&other, N);
    fill(&first);
    end(&first);
    set_events(&other, 0);
    add(&other, M);
    check_sleeps(M);
    check_sleeps(N);
    set_events(&other, TREADLE_READABLE);
    CHECK_INT(performs_of(&other, 2), 2);
    CHECK_INT(poll_mode(N), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(other.performs, 3);
}

/* Closed while a copy is open, removed, and brought back for the same file: the kernel knows it still. */
static void restore(bool is_paused, bool is_enabled_first) {
    struct watched watched;
    open_pipe(&watched);
    watch(&watched);
    int copy = dup(watched.reads);
    close(watched.reads);
    CHECK_INT(by_removal(&watched), TREADLE_OK);
    CHECK_INT(dup2(copy, watched.reads), watched.reads);
    if (is_paused) set_events(&watched, 0);
    fill(&watched);
    add(&watched, M);
    if (is_paused) {
        if (!is_enabled_first) check_sleeps(M);
        set_events(&watched, TREADLE_READABLE);
    }
    CHECK_INT(performs_of(&watched, 3), 3);
    CHECK_INT(read(watched.reads, &(char){0}, 1), 1);
    check_sleeps(M);
    end(&watched);
    close(copy), close(watched.reads), close(watched.writes);
}
TEST(a_number_is_restored_from_a_copy, "SRC1-11 SRC1-8") {
    restore(false, false);
    restore(true, true);
    restore(true, false);
}

/* --- Closed while it is watched ----------------------------------------------------------------------------- */

TEST(one_that_is_closed_then_paused_keeps_no_loop_awake, "SRC1-8 SRC1-11 PASS-10") {
    for (int variant = 0; variant < 8; variant++) {
        struct watched watched, other;
        open_pipe(&watched);
        watch(&watched);
        int copy = variant & 1 ? dup(watched.reads) : -1;
        if (variant & 2) fill(&watched);
        close(watched.reads);
        if (variant & 4) reuse_number(&watched, &other), fill(&other);
        treadle_descriptor_set_events(watched.source, 0);
        if (copy >= 0) fill(&watched);
        check_sleeps(M);
        CHECK_INT(watched.performs, 0);
        end(&watched);
        if (copy >= 0) close(copy);
        if (variant & 4) close(other.reads), close(other.writes);
        close(watched.writes);
    }
}

/* A change of its events goes to what the number means now. */
TEST(a_change_of_events_forgets_the_file_before, "SRC1-8 SRC1-11") {
    struct watched watched, other;
    open_pipe(&watched);
    watch(&watched);
    int copy = dup(watched.reads);
    reuse_number(&watched, &other);
    set_events(&watched, TREADLE_READABLE | TREADLE_WRITABLE);
    CHECK_INT(write(watched.writes, "x", 1), 1); /* the copy is readable; the other is not */
    check_sleeps(M);
    CHECK_INT(watched.performs, 0);
    fill(&other);
    CHECK_INT(performs_of(&watched, 3), 3);
    CHECK_INT(read(other.reads, &(char){0}, 1), 1);
    close(other.reads);
    CHECK_ERROR(treadle_descriptor_set_events(watched.source, TREADLE_READABLE), TREADLE_E_SYSTEM, "fd");
    end(&watched);
    check_sleeps(M);
    close(copy);
}

/* What is stale is dropped, and with it no other source comes to a file that is not its own. */
TEST(dropping_a_stale_one_gives_nobody_another_s_file, "SRC1-8") {
    struct watched stale, closed, other, third;
    open_pipe(&stale), open_pipe(&closed), open_pipe(&third);
    watch(&stale), watch(&closed), watch(&third);
    close(closed.writes);
    reuse_number(&closed, &other); /* its file is gone */
    int copy = dup(stale.reads);
    close(stale.reads);
    CHECK_INT(by_removal(&stale), TREADLE_OK);
    fill(&stale), fill(&other);
    check_sleeps(M);
    CHECK_INT(stale.performs, 0);
    CHECK_INT(closed.performs, 0);
    fill(&third); /* and others of the mode go on */
    CHECK_INT(performs_of(&third, 2), 2);
    other.source = NULL;
    watch(&other);
    CHECK_INT(performs_of(&other, 2), 1);
    CHECK_INT(closed.performs, 0);
    close(copy);
}

/* Another source took the number over. The first one gets it back when it is enabled, or learns that it does not. */
TEST(a_number_that_was_taken_over_comes_back, "SRC1-7 SRC1-8 SRC1-11") {
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        struct watched first, second;
        open_pipe(&first);
        watch(&first);
        if (is_closed) close(first.writes);
        reuse_number(&first, &second);
        watch(&second);
        fill(&second);
        CHECK_INT(performs_of(&second, 2), 2);
        set_events(&first, 0);
        CHECK_ERROR(treadle_descriptor_set_events(first.source, TREADLE_READABLE), TREADLE_E_EXISTS, "fd");
        CHECK_INT(performs_of(&second, 2), 2);
        end(&second);
        set_events(&first, TREADLE_READABLE);
        CHECK_INT(first.performs, 0);
        CHECK_INT(performs_of(&first, 3), 3);
        set_events(&first, 0);
        check_sleeps(M);
        end(&first);
        close(second.reads), close(second.writes);
    }
}

/* --- TREADLE_DEBUG ------------------------------------------------------------------------------------------ */

static void run_until_told(struct watched *watched, const char *mode) {
    int before = watched->performs;
    CHECK_INT(treadle_loop_run(treadle_loop_current(), mode, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE),
              TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(watched->performs, before + 1);
    CHECK_INT(watched->events, TREADLE_FAILED);
    check_sleeps(mode); /* and once it is */
    CHECK_INT(watched->performs, before + 1);
}
TEST(closed_descriptors_are_told_when_debugging, "SRC1-8 PASS-10") {
    setenv("TREADLE_DEBUG", "1", 1);
    struct watched watched, other;
    for (int variant = 0; variant < 4; variant++) { /* closed, with a copy open, used again, both */
        open_pipe(&watched);
        watch(&watched);
        check_sleeps(M);
        int copy = variant & 1 ? dup(watched.reads) : -1;
        if (variant & 2) {
            reuse_number(&watched, &other);
            fill(&other);
        } else {
            close(watched.reads);
        }
        run_until_told(&watched, M);
        CHECK(treadle_loop_contains_descriptor(treadle_loop_current(), watched.source, M)); /* stays scheduled */
        if (variant & 2) { /* enabled after a pause it is the number's new file that is watched */
            set_events(&watched, 0);
            set_events(&watched, TREADLE_READABLE);
            CHECK_INT(performs_of(&watched, 2), 2);
            CHECK_INT(watched.events, TREADLE_READABLE);
            close(other.reads), close(other.writes);
        }
        end(&watched);
        if (copy >= 0) close(copy);
        close(watched.writes);
    }
}
TEST(only_what_is_watched_is_looked_at, "SRC1-8 SRC1-2 SRC1-11") {
    setenv("TREADLE_DEBUG", "1", 1);
    struct watched paused, counter = {.reads = eventfd(0, EFD_NONBLOCK)}, other;
    open_pipe(&paused);
    watch(&paused);
    set_events(&paused, 0);
    close(paused.reads);
    check_sleeps(M);
    CHECK_INT(paused.performs, 0);
    CHECK_ERROR(treadle_descriptor_set_events(paused.source, TREADLE_READABLE), TREADLE_E_SYSTEM, "fd");
    /* A counter that Treadle reads: nothing is read from what its number means now. */
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = &counter, .ready = on_ready,
        .fd = counter.reads, .events = TREADLE_READABLE, .flags = TREADLE_DESCRIPTOR_ACKNOWLEDGED};
    CHECK_INT(treadle_descriptor_create(&context, &counter.source), TREADLE_OK);
    add(&counter, N);
    reuse_number(&counter, &other);
    for (int i = 0; i < 8; i++) fill(&other);
    run_until_told(&counter, N);
    CHECK_INT(read(other.reads, &(char[20]){0}, 20), 8);
}
TEST(closed_descriptors_go_silent, "SRC1-8 PASS-10") {
    unsetenv("TREADLE_DEBUG");
    struct watched watched;
    open_pipe(&watched);
    watch(&watched);
    close(watched.reads);
    check_sleeps(M);
    CHECK_INT(watched.performs, 0);
}

TEST_MAIN()
