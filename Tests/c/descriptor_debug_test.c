/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_debug_test.c: descriptors that are closed while they are watched: of these the kernel says nothing, so their
 * sources go silent; with TREADLE_DEBUG the loop looks before it sleeps, and tells them once. */
#include "watched_pipes.h"

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
