/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * undrained_test.c: a descriptor that nobody drains keeps its loop from sleeping, and is named as what does. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE

static int told;
static char last[4096];
static void keep(const char *message, void *info) {
    (void)info;
    if (!strstr(message, "is not drained")) return;
    told++;
    snprintf(last, sizeof last, "%s", message);
}

static int pipe_ends[2], calls, limit;
static char byte = 'x';
/* Ends the run after so many calls. */
static void count_call(void) {
    if (++calls == limit) CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
static void leave(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info, count_call(); }
static void shrink(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events, (void)info;
    char one;
    CHECK_INT(read(pipe_ends[0], &one, 1), 1);
    count_call();
}

static treadle_descriptor watch(int fd, uint32_t events, treadle_ready_fn ready, const char *label) {
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready = ready, .fd = fd, .events = events, .label = label};
    treadle_descriptor descriptor;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), descriptor, MODE), TREADLE_OK);
    return descriptor;
}
static void run(int count) {
    calls = 0;
    limit = count;
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(calls, count);
}
static void begin(void) {
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    CHECK_INT(pipe(pipe_ends), 0);
}

TEST(what_nobody_reads_is_named_once, "RL-15") {
    begin();
    CHECK_INT(write(pipe_ends[1], "hello", 5), 5);
    treadle_descriptor descriptor = watch(pipe_ends[0], TREADLE_READABLE, leave, "wire");
    run(64);
    CHECK_INT(told, 0);
    run(1000);
    CHECK_INT(told, 1);
    CHECK(strstr(last, "128 calls of its callback have left it ready with 5 bytes to read: descriptor \"wire\" 0x"));
    CHECK_INT(discard(descriptor), TREADLE_OK);
}

TEST(the_end_of_what_comes_is_named, "RL-15") {
    begin();
    close(pipe_ends[1]);
    treadle_descriptor descriptor = watch(pipe_ends[0], TREADLE_READABLE, leave, "ended");
    run(1000);
    CHECK_INT(told, 1);
    CHECK(strstr(last, "at the end of what comes, stop watching it") && strstr(last, "\"ended\""));
    CHECK_INT(discard(descriptor), TREADLE_OK);
}

TEST(room_to_write_that_nobody_uses_is_named, "RL-15") {
    begin();
    treadle_descriptor descriptor = watch(pipe_ends[1], TREADLE_WRITABLE, leave, "out");
    run(1000);
    CHECK_INT(told, 1);
    CHECK(strstr(last, "watch for that only while there is something to write") && strstr(last, "\"out\""));
    CHECK_INT(discard(descriptor), TREADLE_OK);
}

TEST(an_event_counter_that_nobody_reads_is_named, "RL-15") {
    int fd = eventfd(1, EFD_CLOEXEC);
    begin();
    treadle_descriptor descriptor = watch(fd, TREADLE_READABLE, leave, "counter");
    run(1000);
    CHECK_INT(told, 1);
    CHECK(strstr(last, "\"counter\""));
    CHECK_INT(discard(descriptor), TREADLE_OK);
}

TEST(what_is_read_a_little_at_a_time_is_not_meant, "RL-15") {
    begin();
    static char much[4096];
    CHECK_INT(write(pipe_ends[1], much, sizeof much), (int)sizeof much);
    treadle_descriptor descriptor = watch(pipe_ends[0], TREADLE_READABLE, shrink, "slow");
    run(2000);
    CHECK_INT(told, 0);
    CHECK_INT(discard(descriptor), TREADLE_OK);
}

static void answer(treadle_descriptor descriptor, uint32_t events, void *info) {
    shrink(descriptor, events, NULL);
    sem_post(info);
}
TEST(a_loop_that_sleeps_in_between_is_not_meant, "RL-15") {
    struct worker worker;
    sem_t called;
    begin();
    CHECK_INT(sem_init(&called, 0, 0), 0);
    worker_start(&worker);
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready = answer, .fd = pipe_ends[0],
                                          .events = TREADLE_READABLE, .info = &called};
    treadle_descriptor descriptor;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add(worker.loop, descriptor, MODE), TREADLE_OK);
    for (int i = 0; i < 200; i++) {
        worker_await_sleep(&worker);
        CHECK_INT(write(pipe_ends[1], &byte, 1), 1);
        await(&called);
    }
    CHECK_INT(treadle_invalidate(descriptor), TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(treadle_release(descriptor), TREADLE_OK);
    CHECK_INT(told, 0);
}

/* What is written is not left. */
static void write_one(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events, (void)info;
    CHECK_INT(write(pipe_ends[1], &byte, 1), 1);
    count_call();
}
TEST(what_is_written_a_little_at_a_time_is_not_meant, "RL-15") {
    begin();
    treadle_descriptor descriptor = watch(pipe_ends[1], TREADLE_WRITABLE, write_one, "log");
    run(2000);
    CHECK_INT(told, 0);
    CHECK_INT(discard(descriptor), TREADLE_OK);
}

TEST_MAIN()
