/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * perform_scale_test.c: a million requests from four threads to one loop: each arrives once, in its sender's order. */
#include "thread_jobs.h"

enum { SENDERS = 4 };

/* What the receiver knows of each sender; the argument is the number of the request. */
static struct sender {
    pthread_t thread;
    treadle_thread target;
    int count;
    uint32_t flags;
    int64_t received, out_of_order; /* written by the receiver alone */
    atomic_int releases;
    struct gate done;
} senders[SENDERS];

static void receive(void *target, void *argument) {
    struct sender *sender = target;
    if ((int64_t)(intptr_t)argument != sender->received) sender->out_of_order++;
    if (++sender->received == sender->count) gate_open(&sender->done);
}
static void release_sender(void *target) { atomic_fetch_add(&((struct sender *)target)->releases, 1); }
static void *send_all(void *info) {
    struct sender *sender = info;
    treadle_request request = {.struct_size = sizeof request, .fn = receive, .target = sender, .release_target = release_sender};
    for (int i = 0; i < sender->count; i++) {
        request.argument = (void *)(intptr_t)i;
        CHECK_INT(perform_on(sender->target, &request, NULL, 0, sender->flags), TREADLE_OK);
        if (sender->flags) CHECK_INT(sender->received, i + 1);
    }
    return NULL;
}
static void send_from_four(treadle_thread target, int count, uint32_t flags) {
    for (int i = 0; i < SENDERS; i++) {
        memset(&senders[i], 0, sizeof senders[i]);
        senders[i].target = target;
        senders[i].count = count;
        senders[i].flags = flags;
        gate_make(&senders[i].done);
        CHECK_INT(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    for (int i = 0; i < SENDERS; i++) CHECK_INT(pthread_join(senders[i].thread, NULL), 0);
    for (int i = 0; i < SENDERS; i++) gate_pass(&senders[i].done);
}
static void check_senders(int count) {
    for (int i = 0; i < SENDERS; i++) {
        CHECK_INT(senders[i].received, count);
        CHECK_INT(senders[i].out_of_order, 0);
        CHECK_INT(senders[i].releases, count);
    }
}
TEST(a_million_requests_from_four_threads, "PERF-3 PERF-4 PERF-8") {
    struct server server;
    int count = scaled(250000);
    server_start(&server);
    send_from_four(server.thread, count, 0);
    server_end(&server);
    check_senders(count);
}
TEST(round_trips_from_four_threads, "PERF-7 PERF-4 PERF-8") {
    struct server server;
    int count = scaled(10000);
    server_start(&server);
    send_from_four(server.thread, count, TREADLE_PERFORM_WAIT);
    server_end(&server);
    check_senders(count);
}

/* Two threads that perform on each other, with their loops running, and more and more of it. */
static struct server ends[2];
static atomic_int hops;
static struct gate all_hops;
static void hop(void *target, void *argument) {
    intptr_t left = (intptr_t)argument;
    int next = target == &ends[0] ? 1 : 0;
    atomic_fetch_add(&hops, 1);
    if (left == 0) {
        gate_open(&all_hops);
        return;
    }
    treadle_request request = {.struct_size = sizeof request, .fn = hop, .target = &ends[next], .argument = (void *)(left - 1)};
    CHECK_INT(perform_on(ends[next].thread, &request, NULL, 0, 0), TREADLE_OK);
}
TEST(requests_that_hop_between_two_threads, "PERF-3 PERF-4") {
    int count = scaled(20000), chains = 8;
    gate_make(&all_hops);
    for (int i = 0; i < 2; i++) server_start(&ends[i]);
    for (int i = 0; i < chains; i++) {
        struct server *first = &ends[i % 2];
        treadle_request request = {.struct_size = sizeof request, .fn = hop, .target = first, .argument = (void *)(intptr_t)count};
        CHECK_INT(perform_on(first->thread, &request, NULL, 0, 0), TREADLE_OK);
    }
    for (int i = 0; i < chains; i++) gate_pass(&all_hops);
    for (int i = 0; i < 2; i++) server_end(&ends[i]);
    CHECK_INT(hops, chains * (count + 1));
}

TEST_MAIN()
