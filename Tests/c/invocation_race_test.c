/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_race_test.c: many threads that perform, cancel, give up and end at the same time: every call is over
 * once, and nothing is left. */
#include "invocations.h"

enum { THREADS = 4, LOOPS = 2, TOTAL = 10000 };
static struct server servers[LOOPS];

static uint32_t next(uint32_t *state) { return *state = *state * 1664525 + 1013904223, *state >> 8; }

/* One call with what it comes to: whether it ran, whether it was told, counted by all who know. */
struct record {
    treadle_invocation invocation;
    atomic_int ran, completed, released;
    uint32_t state; /* when it completed */
};
static atomic_int outstanding; /* completions that have not been released */
static int64_t run_record(struct record *record, int64_t value) {
    atomic_fetch_add(&record->ran, 1);
    return value * 2;
}
static void complete_record(void *target, void *argument) {
    struct record *record = target;
    (void)argument;
    record->state = invocation_state(record->invocation);
    atomic_fetch_add(&record->completed, 1);
}
static void release_record(void *target) {
    struct record *record = target;
    atomic_fetch_add(&record->released, 1);
    atomic_fetch_sub(&outstanding, 1);
}
static treadle_request record_request(struct record *record) {
    atomic_fetch_add(&outstanding, 1);
    return (treadle_request){.struct_size = sizeof(treadle_request), .fn = complete_record, .target = record, .release_target = release_record};
}

/* What a waited call may come to, and what must hold then. */
static void check_waited(struct record *record, treadle_status status, int64_t value) {
    uint32_t state = invocation_state(record->invocation);
    switch (status) {
    case TREADLE_OK:
        CHECK_INT(record->ran, 1);
        CHECK_INT(state, TREADLE_INVOCATION_DONE);
        CHECK_INT(INVOCATION_RESULT(record->invocation, int64_t), value * 2);
        break;
    case TREADLE_E_CANCELLED:
        CHECK_INT(record->ran, 0);
        CHECK_INT(state, TREADLE_INVOCATION_CANCELLED);
        break;
    case TREADLE_E_TIMEOUT: /* it may still run */
        while (invocation_state(record->invocation) == TREADLE_INVOCATION_RUNNING) sched_yield();
        state = invocation_state(record->invocation);
        CHECK(state == TREADLE_INVOCATION_CANCELLED ? record->ran == 0 : state == TREADLE_INVOCATION_DONE && record->ran == 1);
        break;
    default: check_failed(__FILE__, __LINE__, "a call gave %s", treadle_status_name(status));
    }
}

static atomic_uintptr_t target; /* what the thread that cancels is to cancel */
static atomic_int quit;
static void *cancel_all(void *unused) {
    while (!atomic_load(&quit)) {
        treadle_invocation i = (treadle_invocation)atomic_load(&target);
        treadle_status status = treadle_invocation_cancel(i);
        CHECK(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STALE || status == TREADLE_E_ARG);
        sched_yield();
    }
    return unused;
}

static int per_thread;
static void *perform_many(void *seed) {
    uint32_t random = (uint32_t)(uintptr_t)seed;
    struct record *records = calloc((size_t)per_thread, sizeof *records);
    for (int n = 0; n < per_thread; n++) {
        struct record *record = &records[n];
        struct server *server = &servers[next(&random) % LOOPS];
        int64_t value = n;
        record->invocation = INVOCATION(run_record, "q^vq");
        INVOCATION_SET(record->invocation, 0, void *, record);
        INVOCATION_SET(record->invocation, 1, int64_t, value);
        atomic_store(&target, (uintptr_t)record->invocation);
        uint32_t wait = next(&random) % 3;
        if (wait == TREADLE_WAIT_NONE) {
            treadle_request request = record_request(record);
            CHECK_INT(treadle_invocation_perform(record->invocation, OPTIONS(.loop = server->loop, .completion = &request,
                                                                             .completion_loop = servers[next(&random) % LOOPS].loop)), TREADLE_OK);
            if (next(&random) % 4 == 0) treadle_invocation_cancel(record->invocation);
        } else {
            int64_t timeout = next(&random) % 4 ? 0 : 1000 * (1 + next(&random) % 200);
            check_waited(record, treadle_invocation_perform(record->invocation, OPTIONS(.loop = server->loop, .wait = wait, .timeout_ns = timeout)), value);
        }
    }
    return records;
}
TEST(ten_thousand_calls_by_four_threads, "PERF-4 PERF-7 PERF-8 OBJ-6") {
    treadle_thread threads[THREADS], canceller;
    per_thread = scaled(TOTAL / THREADS);
    for (int i = 0; i < LOOPS; i++) server_start(&servers[i]);
    canceller = thread_begin(cancel_all, NULL);
    for (uintptr_t i = 0; i < THREADS; i++) threads[i] = thread_begin(perform_many, (void *)(i + 1));
    int ran = 0;
    struct record *all[THREADS];
    for (int i = 0; i < THREADS; i++) all[i] = thread_end(threads[i]);
    atomic_store(&quit, 1);
    thread_end(canceller);
    while (atomic_load(&outstanding)) sched_yield();
    for (int i = 0; i < THREADS; i++) {
        for (int n = 0; n < per_thread; n++) {
            struct record *record = &all[i][n];
            uint32_t state = invocation_state(record->invocation);
            CHECK_INT(record->ran, state == TREADLE_INVOCATION_DONE);
            CHECK(state == TREADLE_INVOCATION_DONE || state == TREADLE_INVOCATION_CANCELLED);
            CHECK_INT(record->completed, record->released);
            CHECK(record->completed <= 1);
            if (record->completed) CHECK_INT(record->state, state);
            ran += record->ran;
            invocation_end(record->invocation);
        }
        free(all[i]);
    }
    CHECK(ran > 0);
    for (int i = 0; i < LOOPS; i++) server_end(&servers[i]);
    CHECK_INT(invocations_destroyed, THREADS * per_thread);
}

/* The function returns when the wait's time is up: either it was waited for, and the buffer is there, or it was not. */
static int64_t last_until(int64_t date, int64_t *out) {
    while (treadle_time_now() < date) {}
    *out = date;
    return date;
}
TEST(a_wait_ends_in_time_or_not_and_the_buffer_agrees, "PERF-7 PERF-8") {
    uint32_t random = 1;
    server_start(&servers[0]);
    for (int n = scaled(20000); n > 0; n--) {
        treadle_invocation i = INVOCATION(last_until, "qqo^q");
        int64_t timeout = 30000 + next(&random) % 20000, out = 0;
        int64_t date = treadle_time_now() + timeout + next(&random) % 8000 - 4000;
        INVOCATION_SET(i, 0, int64_t, date);
        CHECK_INT(treadle_invocation_set_buffer(i, 1, &out, sizeof out), TREADLE_OK);
        treadle_status status = treadle_invocation_perform(
            i, OPTIONS(.loop = servers[0].loop, .wait = 1 + n % 2, .timeout_ns = timeout));
        if (status == TREADLE_OK) {
            CHECK_INT(invocation_state(i), TREADLE_INVOCATION_DONE);
            CHECK_INT(out, date);
        } else {
            CHECK_INT(status, TREADLE_E_TIMEOUT);
            while (invocation_state(i) == TREADLE_INVOCATION_RUNNING) sched_yield();
            CHECK_INT(out, 0);
        }
        invocation_end(i);
    }
    server_end(&servers[0]);
}

/* Loops that end under those who wait for them, and those who are to complete. */
static void *perform_until_closed(void *info) {
    struct server *server = info;
    for (uint32_t n = 0;; n++) {
        struct record record = {0};
        record.invocation = INVOCATION(run_record, "q^vq");
        INVOCATION_SET(record.invocation, 0, void *, &record);
        INVOCATION_SET(record.invocation, 1, int64_t, n);
        treadle_status status = invoke(record.invocation, server->loop, n % 2 ? TREADLE_WAIT_BLOCK : TREADLE_WAIT_RUNNING);
        CHECK(status == TREADLE_OK || status == TREADLE_E_CLOSED);
        CHECK_INT(record.ran, status == TREADLE_OK);
        invocation_end(record.invocation);
        if (status != TREADLE_OK) return NULL;
    }
}
TEST(loops_end_while_they_are_called, "PERF-9 RL-8") {
    for (int round = scaled(40); round; round--) {
        struct server server;
        struct record record = {0};
        treadle_thread threads[THREADS];
        server_start(&server);
        for (int i = 0; i < THREADS; i++) threads[i] = thread_begin(perform_until_closed, &server);
        record.invocation = INVOCATION(run_record, "q^vq");
        INVOCATION_SET(record.invocation, 0, void *, &record);
        treadle_request request = record_request(&record);
        CHECK_INT(treadle_invocation_perform(record.invocation, OPTIONS(.loop = server.loop, .completion = &request, .completion_loop = server.loop)), TREADLE_OK);
        treadle_thread_stop(server.thread);
        thread_end(server.thread);
        for (int i = 0; i < THREADS; i++) thread_end(threads[i]);
        while (atomic_load(&outstanding)) sched_yield();
        CHECK_INT(record.released, 1);
        CHECK_INT(record.ran, invocation_state(record.invocation) == TREADLE_INVOCATION_DONE);
        invocation_end(record.invocation);
        unwatch_sleep(&server.watch);
        treadle_source_release(server.keeper);
        treadle_loop_release(server.loop);
    }
}

/* Threads that call each other with waits that run: nobody is refused, nobody hangs. */
static int64_t pong(int64_t depth, int64_t self) {
    if (depth == 0) return 0;
    treadle_invocation i = INVOCATION(pong, "qqq");
    INVOCATION_SET(i, 0, int64_t, depth - 1);
    INVOCATION_SET(i, 1, int64_t, 1 - self);
    CHECK_INT(invoke(i, servers[1 - self].loop, TREADLE_WAIT_RUNNING), TREADLE_OK);
    int64_t result = 1 + INVOCATION_RESULT(i, int64_t);
    invocation_end(i);
    return result;
}
static void *play(void *side) {
    int64_t where = (intptr_t)side;
    for (int n = scaled(60); n; n--) {
        treadle_invocation i = INVOCATION(pong, "qqq");
        INVOCATION_SET(i, 0, int64_t, 6);
        INVOCATION_SET(i, 1, int64_t, where);
        CHECK_INT(invoke(i, servers[where].loop, n % 2 ? TREADLE_WAIT_BLOCK : TREADLE_WAIT_RUNNING), TREADLE_OK);
        CHECK_INT(INVOCATION_RESULT(i, int64_t), 6);
        invocation_end(i);
    }
    return NULL;
}
TEST(two_loops_that_call_each_other_at_the_same_time, "PERF-7 PERF-6") {
    treadle_thread threads[THREADS];
    for (int i = 0; i < LOOPS; i++) server_start(&servers[i]);
    for (intptr_t i = 0; i < THREADS; i++) threads[i] = thread_begin(play, (void *)(i % 2));
    for (int i = 0; i < THREADS; i++) thread_end(threads[i]);
    for (int i = 0; i < LOOPS; i++) server_end(&servers[i]);
}

/* The same with waits that block: whoever would close the circle is refused, and then it goes on. */
static int64_t refused_pong(int64_t depth, int64_t self) {
    if (depth == 0) return 0;
    treadle_invocation i = INVOCATION(refused_pong, "qqq");
    INVOCATION_SET(i, 0, int64_t, depth - 1);
    INVOCATION_SET(i, 1, int64_t, 1 - self);
    treadle_status status = invoke(i, servers[1 - self].loop, TREADLE_WAIT_BLOCK);
    CHECK(status == TREADLE_OK || status == TREADLE_E_DEADLOCK);
    invocation_end(i);
    return 0;
}
static void *play_blocking(void *side) {
    int64_t where = (intptr_t)side;
    for (int n = scaled(60); n; n--) {
        treadle_invocation i = INVOCATION(refused_pong, "qqq");
        INVOCATION_SET(i, 0, int64_t, 3);
        INVOCATION_SET(i, 1, int64_t, where);
        CHECK_INT(invoke(i, servers[where].loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
        invocation_end(i);
    }
    return NULL;
}
TEST(two_loops_that_block_for_each_other_at_the_same_time, "PERF-7") {
    treadle_thread threads[THREADS];
    for (int i = 0; i < LOOPS; i++) server_start(&servers[i]);
    for (intptr_t i = 0; i < THREADS; i++) threads[i] = thread_begin(play_blocking, (void *)(i % 2));
    for (int i = 0; i < THREADS; i++) thread_end(threads[i]);
    for (int i = 0; i < LOOPS; i++) server_end(&servers[i]);
}

/* Two threads perform one invocation: one of them is refused, or comes later. */
static int64_t constant(void) { return 5; }
static treadle_invocation shared;
static void *share(void *unused) {
    for (int n = scaled(500); n;) {
        treadle_status status = invoke(shared, servers[0].loop, TREADLE_WAIT_BLOCK);
        CHECK(status == TREADLE_OK || status == TREADLE_E_STATE);
        if (status == TREADLE_OK) n--;
    }
    return unused;
}
TEST(one_invocation_by_two_threads, "OBJ-6") {
    treadle_thread threads[2];
    server_start(&servers[0]);
    shared = INVOCATION(constant, "q");
    for (int i = 0; i < 2; i++) threads[i] = thread_begin(share, NULL);
    for (int i = 0; i < 2; i++) thread_end(threads[i]);
    CHECK_INT(INVOCATION_RESULT(shared, int64_t), 5);
    server_end(&servers[0]);
    invocation_end(shared);
}

TEST_MAIN()
