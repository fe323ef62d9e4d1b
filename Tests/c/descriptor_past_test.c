/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_past_test.c: sources for numbers with a past: watched before by a source that ended, closed while a copy
 * stays open, brought back by dup2 for the same file or another, paused meanwhile. Whatever happened, what is enabled is
 * told when it is ready, what is not keeps no loop awake, and nobody is told of another's file. */
#include "watched_pipes.h"

/* --- Watched again ---------------------------------------------------------------------------------------- */

static treadle_status by_invalidation(struct watched *watched) { return treadle_descriptor_invalidate(watched->source); }
static treadle_status by_discard(struct watched *watched) { return discard(watched->source); }
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

/* The trap of epoll: the file stays registered while a copy of the descriptor lives, and its number can no longer be used to take it
 * out. */
static treadle_status by_itself(struct watched *watched) {
    watched->victim = watched->source;
    return poll_mode(M) == TREADLE_RUN_TIMED_OUT && !treadle_descriptor_is_valid(watched->source) ? TREADLE_OK : TREADLE_E_STATE;
}
static void end_with_a_copy_open(treadle_status (*by)(struct watched *), bool is_reused) {
    struct watched watched, other, third;
    open_pipe(&watched);
    watch(&watched);
    CHECK_INT(performs_of(&watched, 1), 0);
    int copy = dup(watched.reads);
    close(watched.reads);
    if (is_reused) reuse_number(&watched, &other);
    fill(&watched); /* readable for ever: nobody reads the copy */
    CHECK_INT(by(&watched), TREADLE_OK);
    watched.performs = 0;
    check_sleeps(M);
    if (is_reused) { /* the new one works */
        fill(&other);
        watch(&other);
        CHECK_INT(performs_of(&other, 1), 1);
    }
    open_pipe(&third); /* and so do others of the mode */
    watch(&third);
    fill(&third);
    CHECK_INT(performs_of(&third, 2), is_reused ? 1 : 2);
    CHECK_INT(watched.performs, 0);
    end(&third);
    if (is_reused) end(&other), close(other.reads), close(other.writes);
    close(copy), close(third.reads), close(third.writes), close(watched.writes);
}
TEST(one_that_is_closed_with_a_copy_open_ends, "SRC1-8 SRC1-9") {
    for (int i = 0; i < ENDS; i++)
        for (int is_reused = 0; is_reused < 2; is_reused++) end_with_a_copy_open(ends[i], is_reused);
    end_with_a_copy_open(by_itself, false);
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

/* The second of two that are reported at once is changed by the first one's callback. */
static struct watched *batch[2];
static void change_the_other(treadle_descriptor source, uint32_t events, void *info) {
    struct watched *watched = info, *other = batch[0] == watched ? batch[1] : batch[0];
    CHECK(source == watched->source);
    CHECK_INT(events, TREADLE_READABLE);
    watched->performs++;
    set_events(other, TREADLE_WRITABLE); /* which a read end never is */
}
TEST(what_was_reported_before_a_change_of_events_is_not_told, "SRC1-2 SRC1-11") {
    struct watched pipes[2];
    for (int i = 0; i < 2; i++) {
        batch[i] = &pipes[i];
        open_pipe(&pipes[i]);
        pipes[i].source = make_descriptor(change_the_other, &pipes[i], pipes[i].reads, TREADLE_READABLE);
        add(&pipes[i], M);
        fill(&pipes[i]);
    }
    for (int pass = 0; pass < 4; pass++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK(pipes[0].performs == 0 || pipes[1].performs == 0);
    CHECK_INT(pipes[0].performs + pipes[1].performs, 4);
}

/* A number means one file, another, and the first one again, and copies keep both: the entries of both are in the kernel's
 * set, and what is stale of them is told to nobody. */
TEST(a_number_that_goes_to_and_fro_has_one_file, "SRC1-8 SRC1-11") {
    struct watched first, second, other;
    open_pipe(&first);
    second = first;
    watch(&first);
    int copy = dup(first.reads);
    reuse_number(&first, &other);
    int other_copy = dup(other.reads);
    watch(&second); /* takes the number over, for the other file */
    CHECK_INT(dup3(copy, second.reads, O_CLOEXEC), second.reads);
    set_events(&second, TREADLE_READABLE | TREADLE_WRITABLE);
    fill(&other); /* for which only the copy is left */
    check_sleeps(M);
    CHECK_INT(second.performs, 0);
    fill(&first);
    CHECK_INT(performs_of(&second, 3), 3);
    CHECK_INT(second.events, TREADLE_READABLE);
    CHECK_INT(first.performs, 0);
    close(copy), close(other_copy);
}

/* A pass that comes upon something stale still tells of what is ready. */
TEST(a_stale_one_hides_nobody, "SRC1-8 SRC1-11 PASS-12") {
    struct watched stale, ready;
    open_pipe(&stale), open_pipe(&ready);
    watch(&stale), watch(&ready);
    int copy = dup(stale.reads);
    close(stale.reads);
    end(&stale);
    fill(&stale), fill(&ready);
    CHECK_INT(performs_of(&ready, 1), 1);
    CHECK_INT(performs_of(&ready, 2), 2);
    close(copy);
}

/* A counter that Treadle reads for its client is closed, with a copy open, and its number means a pipe. */
TEST(nothing_is_read_from_another_s_file, "SRC1-2 SRC1-8") {
    struct watched counter = {.reads = eventfd(0, EFD_NONBLOCK)}, other;
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = &counter, .ready = on_ready,
        .fd = counter.reads, .events = TREADLE_READABLE, .flags = TREADLE_DESCRIPTOR_ACKNOWLEDGED};
    CHECK_INT(treadle_descriptor_create(&context, &counter.source), TREADLE_OK);
    add(&counter, M);
    int copy = dup(counter.reads);
    reuse_number(&counter, &other);
    for (int i = 0; i < 16; i++) fill(&other);
    CHECK_INT(eventfd_write(copy, 1), 0);
    CHECK_INT(performs_of(&counter, 3), 1);
    CHECK_INT(counter.events, TREADLE_FAILED);
    check_sleeps(M);
    CHECK_INT(counter.performs, 1);
    CHECK_INT(read(other.reads, &(char[20]){0}, 20), 16);
    set_events(&counter, 0);
    CHECK_INT(dup3(copy, counter.reads, O_CLOEXEC), counter.reads);
    set_events(&counter, TREADLE_READABLE); /* the counter again */
    CHECK_INT(performs_of(&counter, 3), 1);
    CHECK_INT(counter.events, TREADLE_READABLE);
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
        fill(&second);
        check_sleeps(M); /* the number is not served for the old source */
        CHECK_INT(first.performs, 0);
        watch(&second);
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

TEST_MAIN()
